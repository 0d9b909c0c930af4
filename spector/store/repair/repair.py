"""Repair: copy what is intact in a damaged store into a new one, and list the rest.

A memory has two parts: the catalog's row with its text and the partition's record with its vector.
Where both are whole the memory is copied. Where the mutable halves differ, the catalog's is taken
if it is possible, and a note says so. A vector whose text is lost is kept in quarantine without a
text. A text whose vector is lost is embedded again if the store's model is available. What the
catalog may have forgotten stays forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spector._types import Progress
from spector.layout import PartitionState, stride_of
from spector.records import Loss
from spector.store.catalog import JOURNAL_RECORDS
from spector.store.files import DiskFiles
from spector.store.integrity import sound_runs
from spector.store.repair.history import later_partitions, read_history
from spector.store.repair.identity import partitions_in
from spector.store.repair.mending import mend_records
from spector.store.repair.overlay import read_saved
from spector.store.repair.pairing import pair_misplaced, pair_partition
from spector.store.repair.remnants import RecoveredCatalog
from spector.store.repair.salvage import (
    Embed,
    Identity,
    Salvage,
    is_lost,
    is_row,
    loss_of,
    tier_of,
)

__all__ = ["salvage"]


#: no partition has this number: stands in for a place that is not a number
_NOWHERE: Final = {"segment_id": 0, "slot": 0}
#: the largest possible values of what a salvage reads in a partition's row
_MOST: Final = {"tier": 255, "slots": (1 << 32) - 1}


def salvage(
    files: DiskFiles,
    recovered: RecoveredCatalog,
    identity: Identity,
    *,
    embed: Embed | None,
    progress: Progress | None = None,
) -> Salvage:
    """Pair what the catalog and the partitions still have of each memory."""
    named = _named(recovered)
    later = later_partitions(files, recovered, identity.uuid, named)
    out = Salvage(commits_lost=bool(later) or not recovered.log.exact)
    out.notes += [*_catalog_notes(recovered), *later]
    rows, unpaired = _rows_by_place(recovered, out)
    paths = sorted({*partitions_in(files), *(str(s["path"]) for s in named.values())})
    by_path = {str(s["path"]): s for s in named.values()}
    if out.commits_lost:
        out.history = read_history(
            paths,
            lambda path: read_saved(
                files,
                path,
                by_path.get(path),
                identity,
                recovered,
                Salvage(commits_lost=True, later=_files_of(later)),
            ),
        )
    out.later = _files_of(later)
    for done, path in enumerate(paths):
        segment = by_path.get(path)
        own = rows.pop(segment["id"], {}) if segment else {}
        partition = read_saved(files, path, segment, identity, recovered, out)
        if partition is None:
            unpaired += [(row, tier_of(segment)) for row in own.values()]
        else:
            unpaired += pair_partition(partition, segment, own, recovered, out)
        if progress is not None:
            progress(done + 1, len(paths))
    for orphans in rows.values():
        unpaired += [(row, -1) for row in orphans.values()]
    pair_misplaced(unpaired, recovered, out)
    mend_records(unpaired, named, recovered, identity, embed, out)
    _list_losses(recovered, identity, out)
    return out


def _catalog_notes(recovered: RecoveredCatalog) -> Iterator[Loss]:
    for name, where in recovered.unread:
        yield Loss(file=name, reason=f"{where} cannot be read from the disk")
    for lost in recovered.lost:
        span = "" if lost.low == 0 else f" from id {lost.low}"
        yield Loss(
            file="catalog.db", reason=f"table {lost.table}{span} cannot be read: {lost.reason}"
        )
    log = recovered.log
    if log.damaged_at is not None:
        how = "all of them were read" if log.exact else "not all of them can be read"
        yield Loss(
            file="catalog.db-wal",
            reason=f"damaged at byte {log.damaged_at}, commits after it: {log.commits}; {how}",
        )
    elif not log.exact:
        yield Loss(file="catalog.db-wal", reason="commits may be missing at its end")


def _files_of(later: list[Loss]) -> set[str]:
    return {each.file for each in later if each.file is not None}


def _rows_by_place(
    recovered: RecoveredCatalog, out: Salvage
) -> tuple[dict[int, dict[int, dict[str, Any]]], list[tuple[dict[str, Any], int]]]:
    """Rows by partition and slot, and the rows whose place is invalid or taken."""
    rows: dict[int, dict[int, dict[str, Any]]] = {}
    others = []
    for row in recovered.records.values():
        if not is_row(row) and is_row({**row, **_NOWHERE}):
            others.append(({**row, **_NOWHERE}, -1))
        elif not is_row(row):
            out.lost.append(loss_of(row, recovered, None, "its row is damaged"))
            out.seen.add(row["id"])
        elif rows.setdefault(row["segment_id"], {}).setdefault(row["slot"], row) is not row:
            others.append((row, -1))
    return rows, others


def _named(recovered: RecoveredCatalog) -> dict[int, dict[str, Any]]:
    """Rows of partitions that have a file, by id; impossible numbers are None."""
    return {
        row["id"]: {**row, **{name: _within(row.get(name), most) for name, most in _MOST.items()}}
        for row in recovered.segments
        if type(row.get("path")) is str and row.get("state") != PartitionState.COMPACTED
    }


def _within(value: object, most: int) -> int | None:
    return value if type(value) is int and 0 <= value <= most else None


def _list_losses(recovered: RecoveredCatalog, identity: Identity, out: Salvage) -> None:
    """List every other memory that is known to have existed and not known to be forgotten."""
    if not out.commits_lost and not is_lost(recovered, "record", 0):
        return
    gone = out.history.dead if out.history is not None else set()
    for record_id, words in recovered.contents.items():
        if record_id not in out.seen and record_id not in gone:
            out.seen.add(record_id)
            reason = "its row and its vector are lost"
            out.lost.append(loss_of({**words, "slot": None}, recovered, None, reason))
    stride = stride_of(identity.dim)
    for entry in recovered.journal:
        if entry["kind"] != JOURNAL_RECORDS or type(entry["image"]) is not bytes:
            continue
        for _, images, sound in sound_runs(entry["image"], stride, identity.uuid):
            for record_id in images[:, 8:16].copy().view("<u8")[:, 0].tolist() if sound else ():
                if record_id not in out.seen and record_id not in gone:
                    out.seen.add(record_id)
                    reason = "only the journal has its vector, and not for which partition"
                    out.lost.append(Loss(id=record_id, file="catalog.db", reason=reason))
    last = recovered.last_id
    if out.commits_lost and last and last not in out.seen and last not in gone:
        out.notes.append(Loss(id=last, reason="the last id that was given out; nothing is left"))
