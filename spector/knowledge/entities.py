"""Entities: persons, organisations, places and things, and the memories that mention them.

An entity lives as long as a memory mentions it. Names are compared folded, within one scope; an
alias leads to the entity that it is another name of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spector.knowledge.changes import Changes, New
from spector.knowledge.reader import KnowledgeReader
from spector.language.words import entity_uri, folded
from spector.store.payloads import compact_json

__all__ = ["ENTITY_NAMES", "plan_alias", "plan_mentions", "plan_merge", "plan_split", "spellings"]

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
            item = made[key] = changes.new_item()
            about = {"uri": entity_uri(name, kind), "name": name, "type": kind}
            changes.put("item", item_id=item, sort="entity", scope=scope, json=compact_json(about))
            changes.put("name", scope=scope, sort="entity", folded=key, id=item)
        if item not in out:
            out.append(item)
            changes.put("link", a=item, kind="mention", b=memory, n=count, t_ms=None)
    return out


def plan_alias(
    reader: KnowledgeReader, changes: Changes, scope: str, alias: str, entity: int
) -> None:
    """Another name of an entity; its row keeps how the name is spelled."""
    key = folded(alias)
    changes.put("name", scope=scope, sort="alias", folded=key, id=entity)
    about = reader.items([entity])[entity]["json"]
    about |= {"aliases": {**about.get("aliases", {}), key: alias}}
    changes.put("item", item_id=entity, sort="entity", scope=scope, json=compact_json(about))


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
        changes.put("name", scope=row["scope"], sort="alias", folded=row["folded"], id=kept)
    for row in mentions:
        count = (row["n"] or 1) + own.get(row["b"], 0)
        changes.put("link", a=kept, kind="mention", b=row["b"], n=count, t_ms=None)
    about = items[kept]["json"]
    merged = {
        "item": ended["json"],
        "names": [[row["sort"], row["folded"]] for row in names],
        "mentions": [[row["b"], row["n"] or 1] for row in mentions],
    }
    about = about | {"merged": [*about.get("merged", []), merged]}
    changes.put(
        "item", item_id=kept, sort="entity", scope=items[kept]["scope"], json=compact_json(about)
    )
    changes.forget.add(gone)


def plan_split(reader: KnowledgeReader, changes: Changes, entity: int) -> New | None:
    """Undo the last merge into an entity; the one that was merged is made anew."""
    row = reader.items([entity])[entity]
    merged: list[dict[str, Any]] = list(row["json"].get("merged", []))
    if not merged:
        return None
    last, scope = merged.pop(), row["scope"]
    about = {name: value for name, value in row["json"].items() if name != "merged"}
    if merged:
        about["merged"] = merged
    changes.put("item", item_id=entity, sort="entity", scope=scope, json=compact_json(about))
    item = changes.new_item()
    changes.put("item", item_id=item, sort="entity", scope=scope, json=compact_json(last["item"]))
    for sort, name in last["names"]:
        changes.drop("name", scope, "alias", name, entity)
        changes.put("name", scope=scope, sort=sort, folded=name, id=item)
    present = {link["b"]: link["n"] or 1 for link in reader.links("mention", a=[entity])}
    for memory, count in last["mentions"]:
        if memory not in present:
            continue  # it has been forgotten since
        if present[memory] > count:
            rest = present[memory] - count
            changes.put("link", a=entity, kind="mention", b=memory, n=rest, t_ms=None)
        else:
            changes.drop("link", entity, "mention", memory)
        changes.put("link", a=item, kind="mention", b=memory, n=count, t_ms=None)
    return item
