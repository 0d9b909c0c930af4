"""Entities that were merged, when memories go: no name stays that only those memories used.

The row of an entity keeps what was merged into it, so that the merge can be undone. Once no memory
is left that mentioned the other entity, what is kept of it goes; once none is left that mentioned
the entity itself, it goes on as the one that was merged into it last.

A mention that came after a merge is entered for the entity as a whole. The words of its memory say
which of the merged ones it names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from spector.knowledge.changes import Changes
from spector.knowledge.reader import KnowledgeReader, ids_in
from spector.language.words import folded
from spector.store.payloads import compact_json

__all__ = ["entity_of_mention", "plan_lost_mentions"]

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
        text = compact_json(about)
        changes.put("item", item_id=item, sort="entity", scope=row["scope"], json=text)
        after = {(sort, name) for sort, name in names}
        for sort, name in before:
            if (sort, name) not in after:
                changes.drop("name", row["scope"], sort, name, item)
        for sort, name in sorted(after.difference(before)):
            changes.put("name", scope=row["scope"], sort=sort, folded=name, id=item)


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
