"""Commits that a catalog has lost, although SQLite finds nothing wrong with it.

SQLite ends a log at the first frame that is damaged, shows what is in front of it, and says
nothing. Nor can it know that its log was deleted, or that an older file was put in its place. What
is outside of the catalog tells:

- the writer's word in LOCK: the change that it last knew to be durable (see ``lock``);
- partitions. They are written after the commit has become durable, so one that is ahead of its row
  (``segment.is_ahead``), or that holds records and has no row, is of a commit that is gone;
- the log itself: commits that lie behind the damage (see ``frames``).

In relaxed mode a power cut may take the newest commits back, and that looks like the last two. So
these hold only where the catalog does not say that its writer was a relaxed one.
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
    "NAME", "broken_log", "lost_by_mark", "lost_in_log", "lost_with", "records_in",
    "refuse_lost", "refuse_lost_schema", "stem_of", "unnamed_partitions",
]

#: a partition's name: that of all its generations, and which one it is
NAME = re.compile(r"(?P<stem>.+?)(?:\.g(?P<generation>\d+))?\.mem")
_HINT = "restore a backup, or salvage what there is: spector check PATH --repair DEST"


def refuse_lost(
    files: Files, catalog: Catalog, meta: Mapping[str, str], mark: DurableMark | None
) -> None:
    """Raise when the catalog is known to have lost commits. Nothing is changed.

    Args:
        word: of the last writer, read before any of the catalog was.

    Raises:
        CatalogCorruptError: it is behind the writer's word, or its log is damaged.
        PartitionCorruptError: there are partitions of commits that it does not have.
    """
    lost = lost_by_mark(mark, meta, catalog.head().change_seq)
    if lost:
        raise CatalogCorruptError(
            f"{catalog.path}: {lost}",
            hint=f"{_HINT}; if an older copy of the whole store was put here on purpose, delete the"
            " file LOCK while nobody has the store open",
        )
    broken = broken_log(files, catalog, meta)
    if broken is not None:
        raise CatalogCorruptError(f"{catalog.path}-wal: {lost_in_log(broken)}", hint=_HINT)
    if UNSYNCED not in meta:
        for name, records in unnamed_partitions(files, catalog, bytes.fromhex(meta["uuid"])):
            raise PartitionCorruptError(f"{name}: {lost_with(records)}", hint=_HINT)


def refuse_lost_schema(files: Files, catalog: Catalog) -> None:
    """Raise when a catalog that looks as if it had never been written has lost even its tables.

    Raises:
        CatalogCorruptError: its log is damaged in front of commits.
    """
    broken = broken_log(files, catalog, {})
    if broken is not None:
        raise CatalogCorruptError(f"{catalog.path}-wal: {lost_in_log(broken)}", hint=_HINT)


def lost_by_mark(mark: DurableMark | None, meta: Mapping[str, str], change_seq: int) -> str:
    """What the writer's word says of a catalog that ends at ``change_seq``; "" if nothing."""
    if mark is None or mark.uuid.hex() != meta["uuid"] or mark.change_seq <= change_seq:
        return ""
    return (
        f"the catalog ends at change {change_seq}, but change {mark.change_seq} had become durable:"
        " it has lost commits"
    )


def lost_in_log(broken: Broken) -> str:
    return (
        f"the log is damaged at byte {broken.offset}, and {broken.commits} or more commits behind"
        " that place are lost"
    )


def lost_with(records: int) -> str:
    return (
        f"a partition of this store with {counted(records, 'record')} that the catalog does not"
        " know: it has lost commits"
    )


def broken_log(files: Files, catalog: Catalog, meta: Mapping[str, str]) -> Broken | None:
    """Where the log of a catalog is damaged, if that is certain."""
    if not files.durable or UNSYNCED in meta:
        return None
    try:
        file = files.open(LOG_NAME, writable=False)
    except StoreNotFoundError:
        return None
    try:
        # what a relaxed writer left behind the end of this log may be anything
        if not file.size() or meta.get(RELAXED_LOG) == salts_of(file):
            return None
        return broken_at(file, page_bytes(catalog), partial(catalog.raw_file, files))
    finally:
        file.close()


def unnamed_partitions(
    files: Files, catalog: Catalog, uuid: bytes
) -> Iterator[tuple[str, int]]:
    """(name, records) of partitions of this store which are of commits that the catalog lacks.

    Their headers are read before the rows. A writer beside us writes a header after the commit, so
    what it makes meanwhile has a row by then. Another generation of a partition is none of these: a
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
    """How many records, dead ones too, a file's header counts; 0 if it is no such partition."""
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
    """The name that all generations of a partition have in common."""
    match = NAME.fullmatch(path)
    return match["stem"] if match else path


def _paths(catalog: Catalog) -> set[str]:
    """Of every partition that the catalog knows now, gone or not."""
    with catalog.latest() as db:
        return {str(path) for (path,) in db.execute("SELECT path FROM segment")}
