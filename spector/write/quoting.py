"""Memories that hold words of others: of the question that they answer, of what they correct."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, Final

from spector.errors import ImmutableRecordError, UnknownRecordError
from spector.knowledge import KnowledgeReader
from spector.records import MemoryRecord
from spector.store.catalog import newer_than
from spector.tiers import Finder, TierRouter

__all__ = ["quoted", "requote"]

#: characters of words by whose end a quotation is known
_KNOWN_BY: Final = 100


def quoted(router: TierRouter, finder: Finder, ids: Collection[int]) -> dict[int, str]:
    """Memories that answer or correct some others -> the words of these that they hold.

    The caller has the lock.
    """
    store, out = router.durable_store(), dict[int, str]()
    waiting = dict.fromkeys(ids, "")
    while waiting:
        with store.catalog.latest() as db:
            reader = KnowledgeReader(db, store.catalog.path)
            later = {(each.target, each.source) for each in reader.edges(
                waiting, direction="in", kinds=("may_change",)
            )} | {(each.source, each.target) for each in reader.edges(
                waiting, direction="out", kinds=("followed_by",)
            )}  # fmt: skip
        rows = store.catalog.fetch(sorted(waiting))
        later |= {(row.id, new) for row in rows.values() for new in newer_than(store.catalog, row)}
        known, waiting = waiting, {}
        for old, new in sorted(later):
            with suppress(UnknownRecordError):
                words = finder.get(new).turn_before[1]
                said = known[old] or finder.get(old).said or finder.get(old).text
                if new not in out and words and (said[-_KNOWN_BY:] in words or words in said):
                    out[new] = waiting[new] = said
    return out


def requote(
    quotes: Mapping[int, str], text: str, finder: Finder,
    change: Callable[[int, dict[str, Any]], MemoryRecord],
) -> None:
    """Have memories hold new words in place of those that they quote; "" for none."""
    for each, said in quotes.items():
        with suppress(UnknownRecordError, ImmutableRecordError):
            name, words = finder.get(each).turn_before
            kept = words.replace(said, text) if text and said in words else None
            if name:
                change(each, {"metadata": {**finder.get(each).metadata, name: kept}})
