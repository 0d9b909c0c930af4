"""Entities: persons, organisations, places and things, and the memories that mention them.

An entity lives as long as a memory mentions it. Names are compared folded, within one scope; an
alias leads to the entity that it is another name of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from spector.knowledge.changes import Changes, New
from spector.knowledge.reader import KnowledgeReader, ids_in
from spector.language.words import entity_uri, folded

#: sorts of names that lead to an entity
ENTITY_NAMES: Final = ("entity", "alias")


def plan_mentions(
    reader: KnowledgeReader,
    changes: Changes,
    scope: str,
    memory: int | New,
    mentions: Mapping[tuple[str, str], int],
) -> list[int | New]:
    """Tie a memory to what it mentions; entities that are new are made.

    Args:
        mentions: (name, type) -> how often.

    Returns:
        The entities, in the order of ``mentions``.
    """
    by_name = {folded(name): name for name, _ in mentions}
    known: dict[str, int] = {}
    for row in reader.named(sorted(by_name), ENTITY_NAMES, scope):
        known.setdefault(row["folded"], row["id"])
    out: list[int | New] = []
    made: dict[str, New] = {}
    for (name, kind), count in mentions.items():
        key = folded(name)
        if not key:
            continue
        item: int | New | None = known.get(key, made.get(key))
        if item is None:
            item = made[key] = make_entity(changes, scope, name, kind)
        if item not in out:
            out.append(item)
            changes.link(item, "mention", memory, count)
    return out


def make_entity(changes: Changes, scope: str, name: str, kind: str) -> New:
    """A new entity, which its name leads to."""
    item = changes.new_item()
    about = {"uri": entity_uri(name, kind), "name": name, "type": kind}
    changes.item(item, "entity", scope, about)
    changes.name(scope, "entity", folded(name), item)
    return item


def plan_alias(
    reader: KnowledgeReader, changes: Changes, scope: str, alias: str, entity: int
) -> None:
    """Another name of an entity; its row keeps how the name is spelled."""
    key = folded(alias)
    changes.name(scope, "alias", key, entity)
    about = reader.items([entity])[entity]["json"]
    about |= {"aliases": {**about.get("aliases", {}), key: alias}}
    changes.item(entity, "entity", scope, about)


def spellings(about: Mapping[str, Any]) -> dict[str, str]:
    """Folded name -> the name as it was first written, of an entity and those merged into it."""
    out = {folded(about["name"]): about["name"], **about.get("aliases", {})}
    for each in about.get("merged", ()):
        out = {**spellings(each["item"]), **out}
    return out


def plan_merge(reader: KnowledgeReader, changes: Changes, kept: int, gone: int) -> None:
    """Make one entity of two: the kept one takes over names and mentions.

    The other's names stay with it as aliases, and what it was is kept in its row, so that the
    merge can be undone.
    """
    items = reader.items([kept, gone])
    ended = items[gone]
    names = reader.names_of([gone]).get(gone, [])
    mentions = reader.links("mention", a=[gone])
    own = {row["b"]: row["n"] or 1 for row in reader.links("mention", a=[kept])}
    for row in names:
        changes.name(row["scope"], "alias", row["folded"], kept)
    for row in mentions:
        count = (row["n"] or 1) + own.get(row["b"], 0)
        changes.link(kept, "mention", row["b"], count)
    about = items[kept]["json"]
    merged = {
        "item": ended["json"],
        "names": [[row["sort"], row["folded"]] for row in names],
        "mentions": [[row["b"], row["n"] or 1] for row in mentions],
    }
    about = about | {"merged": [*about.get("merged", []), merged]}
    changes.item(kept, "entity", items[kept]["scope"], about)
    changes.forget.add(gone)


def plan_split(reader: KnowledgeReader, changes: Changes, entity: int) -> New:
    """Undo the last merge into an entity; the one that was merged is made anew."""
    row = reader.items([entity])[entity]
    merged: list[dict[str, Any]] = list(row["json"]["merged"])
    last, scope = merged.pop(), row["scope"]
    about = {name: value for name, value in row["json"].items() if name != "merged"}
    if merged:
        about["merged"] = merged
    changes.item(entity, "entity", scope, about)
    item = changes.new_item()
    changes.item(item, "entity", scope, last["item"])
    for sort, name in last["names"]:
        changes.drop("name", scope, "alias", name, entity)
        changes.name(scope, sort, name, item)
    present = {link["b"]: link["n"] or 1 for link in reader.links("mention", a=[entity])}
    for memory, count in last["mentions"]:
        if memory not in present:
            continue  # it has been forgotten since
        if present[memory] > count:
            rest = present[memory] - count
            changes.link(entity, "mention", memory, rest)
        else:
            changes.drop("link", entity, "mention", memory)
        changes.link(item, "mention", memory, count)
    return item


# Entities that were merged, when memories go: no name stays that only those memories used.
#
# The row of an entity keeps what was merged into it, so that the merge can be undone. Once no memory
# is left that mentioned the other entity, what is kept of it goes; once none is left that mentioned
# the entity itself, it goes on as the one that was merged into it last.
#
# A mention that came after a merge is entered for the entity as a whole. The words of its memory say
# which of the merged ones it names.

#: sort and folded name, as a row of ``name`` has them
_Names = Sequence[Sequence[str]]


def plan_lost_mentions(
    reader: KnowledgeReader,
    changes: Changes,
    gone: Collection[int],
    dead: Collection[int],
    words: Callable[[Collection[int]], Mapping[int, str]],
) -> None:
    """Reduce merged entities to what memories that stay mention.

    Args:
        gone: memories that go, or that mention nothing any more.
        dead: entities that go anyway.
        words: the words of memories.
    """
    lost = set(ids_in(reader.links("mention", b=gone), "a")) - set(dead)
    for item, row in sorted(reader.items(sorted(lost)).items()):
        if row["sort"] != "entity" or not row["json"].get("merged"):
            continue
        counts = {link["b"]: link["n"] or 1 for link in reader.links("mention", a=[item])}
        before = [(each["sort"], each["folded"]) for each in reader.names_of([item]).get(item, [])]
        said = {each: folded(text) for each, text in words(counts.keys() - set(gone)).items()}
        merged = _by_words(row["json"], counts, said)
        about, names = _reduced(merged, counts, before, frozenset(gone))
        if about == row["json"]:
            continue
        changes.item(item, "entity", row["scope"], about)
        after = {(sort, name) for sort, name in names}
        for sort, name in before:
            if (sort, name) not in after:
                changes.drop("name", row["scope"], sort, name, item)
        for sort, name in sorted(after.difference(before)):
            changes.name(row["scope"], sort, name, item)


def entity_of_mention(about: Mapping[str, Any], memory: int, count: int) -> dict[str, Any]:
    """What a memory mentions of an entity: itself, or one that was merged into it.

    Args:
        about: JSON of the entity.
        count: how often the memory mentions any of them.
    """
    merged = [(each["item"], dict(each["mentions"])) for each in about.get("merged", ())]
    others = sum(counts.get(memory, 0) for _, counts in merged)
    if count <= others:
        item, counts = next(each for each in merged if memory in each[1])
        return entity_of_mention(item, memory, counts[memory])
    return {name: about[name] for name in ("uri", "name", "type")}


def _by_words(
    about: Mapping[str, Any], counts: Mapping[int, int], said: Mapping[int, str]
) -> dict[str, Any]:
    """The JSON of an entity, in which those merged have the mentions that say their names only."""
    own = {folded(about["name"]), *about.get("aliases", ())}
    merged = [{**each, "mentions": dict(each["mentions"])} for each in about.get("merged", ())]
    for memory, text in said.items():
        left = counts.get(memory, 0) - sum(each["mentions"].get(memory, 0) for each in merged)
        if left <= 0 or any(name in text for name in own):
            continue
        for each in merged:
            if any(name in text for _, name in each["names"]):
                each["mentions"][memory] = each["mentions"].get(memory, 0) + left
                break
    if not merged:
        return dict(about)
    return {
        **about,
        "merged": [
            {
                "item": _by_words(each["item"], each["mentions"], said),
                "names": each["names"],
                "mentions": [[memory, n] for memory, n in each["mentions"].items()],
            }
            for each in merged
        ],
    }


def _reduced(
    about: Mapping[str, Any], counts: Mapping[int, int], names: _Names, gone: Collection[int]
) -> tuple[dict[str, Any], list[Sequence[str]]]:
    """The JSON and the names of an entity without those that only lost mentions used."""
    own = {name: value for name, value in about.items() if name != "merged"}
    stay: list[dict[str, Any]] = []
    lost: set[str] = set()
    of_others: dict[int, int] = {}
    for each in about.get("merged", ()):
        for memory, count in each["mentions"]:
            of_others[memory] = of_others.get(memory, 0) + count
        mentions = [[memory, n] for memory, n in each["mentions"] if memory not in gone]
        its_names = {name for _, name in each["names"]}
        if not mentions:
            lost |= its_names
            continue
        item, kept = _reduced(each["item"], dict(each["mentions"]), each["names"], gone)
        lost |= its_names - {name for _, name in kept}
        stay.append({"item": item, "names": [list(name) for name in kept], "mentions": mentions})
    used = {name for each in stay for _, name in each["names"]}
    if stay and not any(
        count > of_others.get(memory, 0) for memory, count in counts.items() if memory not in gone
    ):
        *rest, last = stay
        merged = [*last["item"].get("merged", ()), *rest]
        entity = {**last["item"], **({"merged": merged} if merged else {})}
        mine = {name for _, name in last["names"]}
        return entity, [*last["names"], *(["alias", name] for name in sorted(used - mine))]
    kept = [name for name in names if name[0] == "entity" or name[1] not in lost - used]
    spelled = own.pop("aliases", {})
    left = {name: text for name, text in spelled.items() if name not in lost - used}
    own |= {"aliases": left} if left else {}
    return {**own, **({"merged": stay} if stay else {})}, kept
