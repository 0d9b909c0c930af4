"""What a sound row of knowledge satisfies beyond its seal; the check reports what does not."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from spector.language.words import fact_key, folded
from spector.layout import TierCode
from spector.records import KEY_BYTES, NAMESPACE_END
from spector.store.payloads.sorts import SORTS, decode

__all__ = ["TIER_OF_SORT", "problems_of_row"]

#: tier of the memories that have a payload of a sort
TIER_OF_SORT: Final[Mapping[str, int]] = {
    "fact": TierCode.SEMANTIC,
    "learning": TierCode.SEMANTIC,
    "concept": TierCode.SEMANTIC,
    "statistic": TierCode.SEMANTIC,
    "procedure": TierCode.PROCEDURAL,
}
_ITEM_SORTS: Final = frozenset({"entity", "association", "relation_kind", "predicate"})


def problems_of_row(
    table: str, row: Mapping[str, Any], kinds: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Code and message of everything that is wrong with the values of a row.

    Args:
        kinds: names of the relations that the store knows.
    """
    if table == "payload":
        yield from _payload(row)
    elif table == "fact":
        yield from _fact(row)
    elif table == "edge":
        yield from _edge(row, kinds)
    elif table == "item" and row["sort"] not in _ITEM_SORTS:
        yield "I25", f"the sort {row['sort']!r} of an item is unknown"
    elif table == "entry":
        yield from _entry(row)
    elif table == "attachment":
        yield from _attachment(row)
    elif table == "link" and row["n"] is not None and row["n"] < 0:
        yield "I25", f"a {row['kind']} counts {row['n']}"


def _payload(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if row["sort"] not in SORTS:
        yield "I25", f"the sort {row['sort']!r} is unknown"
        return
    problem = decode(row["sort"], row["json"])[1]
    if problem is not None:
        yield "I25", f"the {row['sort']} is malformed: {problem}"


def _entry(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    key, namespace = row["record_key"], row["namespace"]
    if key is not None and not 0 < len(key.encode("utf-8", "surrogatepass")) <= KEY_BYTES:
        yield "I30", f"its key has {len(key)} characters"
    if row["revision"] < 1:
        yield "I30", f"its revision is {row['revision']}"
    if namespace and (namespace[-1] != NAMESPACE_END or "" in namespace.split(NAMESPACE_END)[:-1]):
        yield "I30", "the namespace of its key has no labels"


def _attachment(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if row["form"] not in ("json", "bytes"):
        yield "I31", f"the form {row['form']!r} of its attachment is unknown"
    elif row["form"] == "json":
        try:
            json.loads(row["data"])
        except (ValueError, RecursionError):
            yield "I31", "its attachment is no JSON"


def _fact(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    said = json.loads(row["json"])
    parts = [said.get(each) for each in ("subject", "predicate", "object")]
    texts = [each for each in parts if isinstance(each, str)]
    if (
        len(texts) != 3
        or fact_key(*texts) != row["fact_key"]
        or [folded(each) for each in texts] != [row["subject"], row["predicate"], row["object"]]
    ):
        yield "I24", "the key of the fact does not fit its triple"
    if not 0.0 <= row["confidence"] <= 1.0:
        yield "I25", f"the confidence of the fact is {row['confidence']}"
    if row["holds"] not in (0, 1):
        yield "I25", f"the fact holds {row['holds']} times"


def _edge(row: Mapping[str, Any], kinds: Collection[str]) -> Iterator[tuple[str, str]]:
    if row["kind"] not in kinds:
        yield "I23", f"the relation {row['kind']!r} of an edge is unknown"
    if not 0.0 < row["weight"] <= 1.0:
        yield "I23", f"an edge weighs {row['weight']}"
    if not 0.0 <= row["confidence"] <= 1.0:
        yield "I25", f"the confidence of an edge is {row['confidence']}"
