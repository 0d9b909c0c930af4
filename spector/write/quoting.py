"""Memories that hold words of others: of the question that they answer, of what they correct."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Final

from spector.errors import (
    CatalogCorruptError,
    InvalidMetadataError,
    PartitionCorruptError,
    UnknownRecordError,
)
from spector.knowledge import KnowledgeReader
from spector.records import turn_before_in
from spector.store.catalog import Row, newer_than
from spector.store.core import Store, Transaction
from spector.store.erasure import note_erasure
from spector.tiers import Finder, TierRouter
from spector.write.context import WriteContext
from spector.write.speaker_updates import Naming, renoted
from spector.write.supersede import Ending

__all__ = ["quoted", "requoted", "stage_quotes"]

_DAMAGED: Final = (CatalogCorruptError, PartitionCorruptError)

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
            later = {
                (each.target, each.source)
                for each in reader.edges(waiting, direction="in", kinds=("may_change",))
            } | {
                (each.source, each.target)
                for each in reader.edges(waiting, direction="out", kinds=("followed_by",))
            }
        rows = store.catalog.fetch(sorted(waiting))
        later |= {(row.id, new) for row in rows.values() for new in newer_than(store.catalog, row)}
        known, waiting = waiting, {}
        for old, new in sorted(later):
            with suppress(UnknownRecordError, *_DAMAGED):
                words = finder.get(new).turn_before[1]
                said = known[old] or _words_of(finder, old)
                if said is None:
                    said = words
                if new not in out and words and (said[-_KNOWN_BY:] in words or words in said):
                    out[new] = waiting[new] = said
    return out


def requoted(
    parts: WriteContext, store: Store, gone: Sequence[Row], text: str, along: Sequence[Ending]
) -> list[Naming]:
    """The changes of memories that hold words of others which go, or become a text.

    The caller has the lock.

    Args:
        along: changes that are staged before, in the same commit.
    """
    if store is not parts.router.durable_store():
        return []
    ids = {row.id for row in gone}
    quotes = quoted(parts.router, parts.finder, ids)
    rows, out = store.catalog.fetch(sorted(quotes.keys() - ids)), list[Naming]()
    rows |= {each.after.id: each.after for each in along if each.after.id in rows}
    for row in rows.values():
        said = quotes[row.id]
        name, words = turn_before_in(row.metadata)
        rest = {key: value for key, value in row.metadata.items() if key != name}
        if text and said in words:
            rest[name] = words.replace(said, text)
        with suppress(*_DAMAGED, InvalidMetadataError):
            found = renoted(store, parts.router, row, rest, parts.config)
            out += [] if found is None else [found]
    return out


def stage_quotes(tx: Transaction, changes: Sequence[Naming], due_ms: int) -> None:
    """Stage such changes; the words that they replace are gone from the files by a time."""
    for each in changes:
        each.stage(tx)
    if changes:
        note_erasure(tx.connection, [each.before.id for each in changes], due_ms)


def _words_of(finder: Finder, record_id: int) -> str | None:
    """What others quote of a memory; None where damage hides it."""
    try:
        found = finder.get(record_id)
    except _DAMAGED:
        return None
    return found.said or found.text
