"""Commits that a catalog has lost, although SQLite finds nothing wrong with it.

SQLite ends a log at the first damaged frame and silently drops the rest. It cannot notice either
that its log was deleted, or that an older file took its place. Evidence outside the catalog does:

- the durable mark in LOCK: the last change that the writer knew to be durable (see ``lock``);
- partitions, which are written after the commit has become durable. One that is ahead of its row
  (``header.is_ahead``), or has records and no row, belongs to a lost commit;
- the log itself: commits after the damage (see ``wal_frames``).

In relaxed mode a power cut may undo the newest commits, which looks like the last two. So these
count only when the catalog does not note a relaxed writer.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from functools import partial

from spector.errors import (
    CatalogCorruptError,
    PartitionCorruptError,
    SpectorError,
    StoreNotFoundError,
)
from spector.layout import PARTITION_HEADER_BYTES
from spector.messages import counted
from spector.store.catalog import LOG_NAME, RELAXED_LOG, UNSYNCED, Catalog
from spector.store.files import DurableMark, Files
from spector.store.partitions import unpack_header
from spector.store.sqlite import Broken, broken_at, page_bytes, salts_of

__all__ = [
    "NAME",
    "broken_log",
    "lost_by_mark",
    "lost_in_log",
    "lost_with",
    "records_in",
    "refuse_lost",
    "refuse_lost_schema",
    "stem_of",
    "unnamed_partitions",
]

#: a partition's name: that of all its generations, and which one it is
NAME = re.compile(r"(?P<stem>.+?)(?:\.g(?P<generation>\d+))?\.mem")
_HINT = "restore a backup, or salvage what there is: spector check PATH --repair DEST"


def refuse_lost(
    files: Files, catalog: Catalog, meta: Mapping[str, str], mark: DurableMark | None
) -> None:
    """Raise when the catalog is known to have lost commits. Nothing is changed.

    Args:
        mark: of the last writer, read before the catalog.

    Raises:
        CatalogCorruptError: it is behind the durable mark, or its log is damaged.
        PartitionCorruptError: there are partitions of commits that it has lost.
    """
    lost = lost_by_mark(mark, meta, catalog.head().change_seq)
    if lost:
        raise CatalogCorruptError(
            f"{catalog.path}: {lost}",
            hint=f"{_HINT}; if an older copy of the whole store was put here on purpose, close the"
            " store everywhere and delete the file LOCK",
        )
    broken = broken_log(files, catalog, meta)
    if broken is not None:
        raise CatalogCorruptError(f"{catalog.path}-wal: {lost_in_log(broken)}", hint=_HINT)
    if UNSYNCED not in meta:
        for name, records in unnamed_partitions(files, catalog, bytes.fromhex(meta["uuid"])):
            raise PartitionCorruptError(f"{name}: {lost_with(records)}", hint=_HINT)


def refuse_lost_schema(files: Files, catalog: Catalog) -> None:
    """Raise when a catalog that looks new has lost even its tables.

    Raises:
        CatalogCorruptError: its log is damaged before commits.
    """
    broken = broken_log(files, catalog, {})
    if broken is not None:
        raise CatalogCorruptError(f"{catalog.path}-wal: {lost_in_log(broken)}", hint=_HINT)


def lost_by_mark(mark: DurableMark | None, meta: Mapping[str, str], change_seq: int) -> str:
    """How a catalog that ends at ``change_seq`` contradicts the durable mark; "" if it does not."""
    if mark is None or mark.uuid.hex() != meta["uuid"] or mark.change_seq <= change_seq:
        return ""
    return (
        f"the catalog ends at change {change_seq}, but change {mark.change_seq} had become durable:"
        " it has lost commits"
    )


def lost_in_log(broken: Broken) -> str:
    return (
        f"the log is damaged at byte {broken.offset}, and {broken.commits} or more commits after"
        " that place are lost"
    )


def lost_with(records: int) -> str:
    return (
        f"a partition of this store with {counted(records, 'record')} that the catalog does not"
        " know: it has lost commits"
    )


def broken_log(files: Files, catalog: Catalog, meta: Mapping[str, str]) -> Broken | None:
    """Where the log of a catalog is certainly damaged."""
    if not files.durable or UNSYNCED in meta:
        return None
    try:
        file = files.open(LOG_NAME, writable=False)
    except StoreNotFoundError:
        return None
    try:
        # anything may follow the end of a relaxed writer's log
        if not file.size() or meta.get(RELAXED_LOG) == salts_of(file):
            return None
        return broken_at(file, page_bytes(catalog), partial(catalog.raw_file, files))
    finally:
        file.close()


def unnamed_partitions(files: Files, catalog: Catalog, uuid: bytes) -> Iterator[tuple[str, int]]:
    """(name, records) of partitions of this store whose commits the catalog lacks.

    Headers are read before the rows: a writer writes a header after the commit, so a partition that
    it makes meanwhile has a row by then. Another generation of a known partition does not count: a
    compaction writes it before its commit.
    """
    known = _paths(catalog)
    strange = [name for name in files.listing() if name.endswith(".mem") and name not in known]
    if not strange:
        return
    found = {name: records_in(files, name, uuid) for name in strange}
    stems = {stem_of(path) for path in _paths(catalog)}
    for name, records in found.items():
        if records and stem_of(name) not in stems:
            yield name, records


def records_in(files: Files, name: str, uuid: bytes) -> int:
    """How many records a header counts, including dead ones; 0 if it is not such a partition."""
    with contextlib.suppress(SpectorError):
        file = files.open(name, writable=False)
        try:
            raw = file.read_at(0, PARTITION_HEADER_BYTES)
        finally:
            file.close()
        header = unpack_header(raw, where=name, uuid=uuid)
        return int(header["count"]) + int(header["tombstone_count"])
    return 0


def stem_of(path: str) -> str:
    """The name that all generations of a partition share."""
    match = NAME.fullmatch(path)
    return match["stem"] if match else path


def _paths(catalog: Catalog) -> set[str]:
    """Paths of every partition that the catalog has, dropped or not."""
    with catalog.latest() as db:
        return {str(path) for (path,) in db.execute("SELECT path FROM segment")}
