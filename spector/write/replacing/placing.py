"""Where a memory that takes another one's id stands among its earlier and later versions."""

from __future__ import annotations

from dataclasses import replace

from spector.store.catalog import Row, newer_than, split_reserved_tags, verify_row
from spector.store.core import Store
from spector.write.supersede import Ending, ended, flagged, starts_at, was_ended, with_end

__all__ = ["in_place_of"]


def in_place_of(store: Store, before: Row, after: Row, now_ms: int) -> tuple[Row, list[Ending]]:
    """The row of what takes a memory's place among its versions, and the changes that follow.

    Args:
        after: the new row with its own end, and the links that ``before`` has.
    """
    others: list[Ending] = []
    for row in store.catalog.fetch(split_reserved_tags(before.tags).supersedes).values():
        if was_ended(row):
            verify_row(row, store.catalog.path)
            others.append(Ending(row, ended(row, starts_at(after), now_ms)))
    if not was_ended(before):
        return after, others
    newer = store.catalog.fetch(newer_than(store.catalog, before))
    start_ms = min((starts_at(row) for row in newer.values()), default=before.valid_until_ms)
    if start_ms is not None:
        return ended(after, start_ms, now_ms), others
    tags = with_end(after.tags, (after.valid_until_ms,))
    hidden = replace(after, valid_until_ms=None, mutable=flagged(after, True), tags=tags)
    return hidden, others
