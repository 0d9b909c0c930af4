"""Repair: what is intact in a damaged store goes into a new one, and the rest is listed.

What a memory needs is looked for in two places, the catalog's row with its words and the
partition's record with its vector. Where both are whole it is taken over; where the mutable half
differs the catalog's wins. A vector whose words are lost is kept apart (quarantined, without a
text). Words whose vector is lost are embedded again if the store's model is at hand. Whatever the
catalog may have forgotten stays forgotten.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector._version import __version__
from spector.errors import FormatVersionError, SpectorError, StoreError
from spector.kernel.crc import crc32c_rows
from spector.kernel.quantize import normalize, quantize
from spector.layout import (
    FORMAT_VERSION,
    HEADER_BYTES,
    MAX_DIM,
    MUTABLE_BYTES,
    MUTABLE_DTYPE,
    MUTABLE_OFFSET,
    RECORD_DTYPE,
    RECORD_VERSION,
    Flag,
    PartitionState,
    stride_of,
)
from spector.records import Loss
from spector.store.belonging import ROW, belong, bloom, row_of_words
from spector.store.fates import Fates, behind, survey
from spector.store.files import Bytes, DiskFiles
from spector.store.redo import lay_over, sound_runs
from spector.store.salvage import Remains, SavedPartition, read_partition
from spector.store.transaction import JOURNAL_RECORDS

__all__ = ["Identity", "Salvage", "Saved", "identify", "refuse_newer", "salvage"]

#: texts -> (n, dim) f32 vectors of the model that the store was made with
Embed = Callable[[list[str]], NDArray[np.float32]]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose bytes these are; what is not known of the model is empty."""

    uuid: bytes
    dim: int
    model_id: str = ""
    fingerprint: str = ""


@dataclass(slots=True)
class Saved:
    """One memory on its way into the new store."""

    id: int
    tier: int
    #: (stride,) u8, its checksum still that of the source
    image: Bytes
    row: dict[str, Any]
    words: dict[str, Any]


@dataclass(slots=True)
class Salvage:
    """Everything that was found."""

    saved: list[Saved] = field(default_factory=list)
    lost: list[Loss] = field(default_factory=list)
    notes: list[Loss] = field(default_factory=list)
    wordless: int = 0
    mended: int = 0
    seen: set[int] = field(default_factory=set)
    #: the catalog has lost commits: memories may be missing that nothing names
    commits_lost: bool = False
    #: what became of each memory, where the catalog does not know
    fates: Fates | None = None
    #: partitions of commits that the catalog does not have
    later: set[str] = field(default_factory=set)


def identify(files: DiskFiles, remains: Remains) -> Identity:
    """Uuid and dimension, from the catalog or else from what most partitions say.

    Raises:
        StoreError: there is nothing that says so.
    """
    meta = remains.meta
    try:
        uuid, dim = bytes.fromhex(meta["uuid"]), int(meta["dim"])
        if len(uuid) == 16 and 1 <= dim <= MAX_DIM:
            return Identity(uuid, dim, meta.get("model_id", ""), meta.get("fingerprint", ""))
    except (KeyError, ValueError):
        pass
    found: Counter[tuple[bytes, int]] = Counter()
    for name in _partitions(files):
        try:
            each = read_partition(files, name, uuid=None, dim=None, slots=0)
        except SpectorError:
            continue
        if each is not None:
            found[each.uuid, each.dim] += 1
    if not found:
        raise StoreError(
            f"{files.root}: neither catalog nor partitions say what store this was",
            hint="restore a backup",
        )
    (uuid, dim), _ = found.most_common(1)[0]
    return Identity(uuid, dim)


def refuse_newer(files: DiskFiles, remains: Remains) -> None:
    """Nobody can tell damage from what a later format means.

    A catalog that alone says so is damaged itself: every partition repeats the format.

    Raises:
        FormatVersionError
    """
    said = remains.meta.get("format_version", "")
    if not said.isdecimal() or len(said) > 9 or int(said) <= FORMAT_VERSION:
        return
    for name in _partitions(files):
        with contextlib.suppress(SpectorError):
            if read_partition(files, name, uuid=None, dim=None, slots=0) is not None:
                return
    raise FormatVersionError(
        f"{files.root} has format {said}; spector {__version__} reads up to {FORMAT_VERSION}",
        hint="upgrade: pip install -U spector; then repair it",
    )


def _partitions(files: DiskFiles) -> list[str]:
    return [name for name in files.listing() if name.endswith(".mem")]


# -- finding -------------------------------------------------------------------------------------


def salvage(
    files: DiskFiles, remains: Remains, who: Identity, *, embed: Embed | None,
    progress: Progress | None = None,
) -> Salvage:
    """Bring together what catalog and partitions still have of each memory."""
    named = _named(remains)
    later = behind(files, remains, who.uuid, named)
    out = Salvage(commits_lost=bool(later) or not remains.log.exact)
    out.notes += [*_catalog_notes(remains), *later]
    rows, torn = _rows_by_place(remains, out)
    paths = sorted({*_partitions(files), *(str(s["path"]) for s in named.values())})
    by_path = {str(s["path"]): s for s in named.values()}
    if out.commits_lost:
        out.fates = survey(
            paths, lambda path: _read(files, path, by_path.get(path), who, remains, Salvage(
                commits_lost=True, later=_files_of(later)))
        )
    out.later = _files_of(later)
    for done, path in enumerate(paths):
        segment = by_path.get(path)
        own = rows.pop(segment["id"], {}) if segment else {}
        partition = _read(files, path, segment, who, remains, out)
        if partition is None:
            torn += [(row, _tier_of(segment)) for row in own.values()]
        else:
            torn += _take(partition, segment, own, remains, out)
        if progress is not None:
            progress(done + 1, len(paths))
    for orphans in rows.values():
        torn += [(row, -1) for row in orphans.values()]
    _mend(torn, named, remains, who, embed, out)
    _list_the_rest(remains, who, out)
    return out


def _catalog_notes(remains: Remains) -> Iterator[Loss]:
    for name, where in remains.unread:
        yield Loss(file=name, reason=f"{where} cannot be read from the disk")
    for lost in remains.lost:
        span = "" if lost.low == 0 else f" from id {lost.low}"
        yield Loss(
            file="catalog.db", reason=f"table {lost.table}{span} cannot be read: {lost.reason}"
        )
    log = remains.log
    if log.damaged_at is not None:
        how = "they were read all the same" if log.exact else "not all of them can be read"
        yield Loss(
            file="catalog.db-wal",
            reason=f"damaged at byte {log.damaged_at}, commits behind it: {log.commits}; {how}",
        )
    elif not log.exact:
        yield Loss(file="catalog.db-wal", reason="commits may be missing at its end")


def _files_of(later: list[Loss]) -> set[str]:
    return {each.file for each in later if each.file is not None}


def _rows_by_place(
    remains: Remains, out: Salvage
) -> tuple[dict[int, dict[int, dict[str, Any]]], list[tuple[dict[str, Any], int]]]:
    """Rows by partition and slot, and those whose place another one has."""
    rows: dict[int, dict[int, dict[str, Any]]] = {}
    others = []
    for row in remains.records.values():
        if not _is_row(row):
            out.lost.append(_loss(row, remains, None, "its row is damaged"))
            out.seen.add(row["id"])
        elif rows.setdefault(row["segment_id"], {}).setdefault(row["slot"], row) is not row:
            others.append((row, -1))
    return rows, others


def _is_row(row: dict[str, Any]) -> bool:
    whole = all(type(row.get(name)) is int for name in ROW[:5])
    mutable = row.get("mutable")
    return whole and row["slot"] >= 0 and type(mutable) is bytes and len(mutable) == MUTABLE_BYTES


def _named(remains: Remains) -> dict[int, dict[str, Any]]:
    """Rows of partitions that have a file, by id."""
    return {
        row["id"]: row for row in remains.segments
        if type(row.get("path")) is str and row.get("state") != PartitionState.COMPACTED
        and all(type(row.get(name)) is int for name in ("tier", "day", "slots"))
    }


def _tier_of(segment: dict[str, Any] | None) -> int:
    return int(segment["tier"]) if segment else -1


def _read(
    files: DiskFiles, path: str, segment: dict[str, Any] | None, who: Identity, remains: Remains,
    out: Salvage,
) -> SavedPartition | None:
    if segment is None and path not in out.later and not _is_lost(remains, "segment", 0):
        out.notes.append(Loss(file=path, reason="no partition of this store; left out"))
        return None
    try:
        if not files.exists(path):
            out.notes.append(Loss(file=path, reason="the partition is missing"))
            return None
        found = read_partition(
            files, path, uuid=who.uuid, dim=who.dim,
            slots=None if segment is None else segment["slots"], ahead=out.commits_lost,
        )
    except SpectorError as error:
        out.notes.append(Loss(file=path, reason=error.message))
        return None
    if found is None:
        out.notes.append(Loss(file=path, reason="it belongs to another store; left out"))
        return None
    if found.problem is not None:
        out.notes.append(Loss(file=path, reason=found.problem))
    if segment is not None:
        _overlay(found, segment, remains, who, out)
    return found


def _overlay(
    found: SavedPartition, segment: dict[str, Any], remains: Remains, who: Identity, out: Salvage
) -> None:
    """What was committed and not yet copied, as a recovery would have."""
    pending = [
        (row["kind"], row["slot"], row["image"]) for row in remains.journal
        if row.get("segment_id") == segment["id"] and type(row.get("image")) is bytes
        and type(row.get("slot")) is int
    ]
    if not pending:
        return
    whole = np.zeros((max(len(found.images), int(segment["slots"])), stride_of(who.dim)), np.uint8)
    whole[: len(found.images)] = found.images
    before = whole.copy() if out.commits_lost else whole
    refused = lay_over(whole, pending, who.uuid)
    if out.commits_lost:
        _keep_later_halves(before, whole)
    for slot in refused:
        reason = "the journal's image of this record is damaged; what the partition has was taken"
        out.notes.append(Loss(file=found.path, slot=slot, reason=reason))
    found.images = whole
    crc = np.empty(len(whole), dtype=np.uint32)
    crc32c_rows(whole, crc, who.uuid)
    found.sound = whole[:, 36:40].copy().view("<u4")[:, 0] == crc


def _keep_later_halves(before: Bytes, after: Bytes) -> None:
    """Take back older mutable halves from records (n, stride) that had been copied long ago.

    A journal of a moment ago does not know what has been written since: it would bring back to life
    what was forgotten. Only the deaths that it knows of count.
    """
    end = MUTABLE_OFFSET + MUTABLE_BYTES
    same = (before[:, :MUTABLE_OFFSET] == after[:, :MUTABLE_OFFSET]).all(axis=1)
    same &= (before[:, end:] == after[:, end:]).all(axis=1)
    flags = after[:, MUTABLE_OFFSET : MUTABLE_OFFSET + 2].copy().view("<u2")[:, 0]
    same &= (flags & int(Flag.TOMBSTONE)) == 0
    after[same, MUTABLE_OFFSET:end] = before[same, MUTABLE_OFFSET:end]


def _is_lost(remains: Remains, table: str, record_id: int) -> bool:
    return any(
        lost.table in ("*", table) and (table == "segment" or lost.low <= record_id <= lost.high)
        for lost in remains.lost
    )


def _take(
    partition: SavedPartition, segment: dict[str, Any] | None, own: dict[int, dict[str, Any]],
    remains: Remains, out: Salvage,
) -> list[tuple[dict[str, Any], int]]:
    """Match a partition's records with the catalog's rows; returns rows without a record."""
    torn = []
    headers, alive = partition.headers, partition.alive
    tier = _tier_of(segment) if segment else (partition.tier or 0)
    for slot in range(len(partition.images)):
        row = own.pop(slot, None)
        record_id = int(headers["id"][slot])
        whole = bool(partition.sound[slot]) and 0 < record_id < 1 << 62
        if row is not None and (not whole or record_id != row["id"]):
            torn.append((row, tier))
            row = None
        if whole and out.fates is not None:
            _take_newest(partition, slot, tier, record_id, row, remains, out)
        elif row is not None:
            _keep(partition, slot, tier, row, remains, out)
        elif whole and alive[slot] and record_id not in out.seen:
            known = remains.records.get(record_id)
            if known is None and _is_lost(remains, "record", record_id):
                _keep(partition, slot, tier, None, remains, out)
            elif known is not None and segment is None:  # its partition's row is lost, not its own
                _keep(partition, slot, tier, known, remains, out)
        elif not whole and alive[slot] and _is_lost(remains, "record", 0):
            out.lost.append(Loss(
                file=partition.path, slot=slot, reason="its record is damaged, its row is lost"
            ))
    return torn + [(row, tier) for row in own.values()]


def _take_newest(
    partition: SavedPartition, slot: int, tier: int, record_id: int, row: dict[str, Any] | None,
    remains: Remains, out: Salvage,
) -> None:
    """The same where the catalog has lost commits: a memory lives where it was written last."""
    assert out.fates is not None
    if record_id in out.seen or out.fates.places[record_id] != (partition.path, slot):
        return
    if record_id in out.fates.dead:
        out.seen.add(record_id)
        if record_id in remains.records:
            reason = "it was forgotten later than the catalog knows, or its newer place is lost"
            out.notes.append(Loss(id=record_id, file=partition.path, slot=slot, reason=reason))
        return
    if row is None and record_id not in out.fates.moved:
        # only a compaction, or a page that is of a moment ago, makes it have another place
        row = remains.records.get(record_id, remains.older_records.get(record_id))
        row = row if row is None or _is_row(row) else None
    _keep(partition, slot, tier, row, remains, out, newest=True)


def _keep(
    partition: SavedPartition, slot: int, tier: int, row: dict[str, Any] | None,
    remains: Remains, out: Salvage, *, newest: bool = False,
) -> None:
    """``newest``: the record is, and row and words may be of a moment ago."""
    image = partition.images[slot].copy()
    header = image[:HEADER_BYTES].view(RECORD_DTYPE)
    record_id = int(header["id"][0])
    words = remains.contents.get(record_id)
    if row is not None and words is not None and not newest and not belong(row, words):
        out.lost.append(_loss(row, remains, partition.path, "its words are not what was written"))
        out.seen.add(record_id)
        return
    if row is not None and not newest:
        block = image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
        if block.tobytes() != row["mutable"]:
            block[:] = np.frombuffer(row["mutable"], np.uint8)
            out.mended += 1
    if row is None or words is None or newest:
        row, words = _together(header, row, remains, out)
    if words is None or row is None:
        out.wordless += 1
        reason = "its words are lost; its vector is kept, in quarantine and without a text"
        text = _text_of(record_id, remains)
        if text is not None:
            reason += "; these may be what it said before"
        out.notes.append(
            Loss(id=record_id, file=partition.path, slot=slot, reason=reason, text=text)
        )
        row = _row_of(header, row)
        words = {"id": record_id, "text": ""}
        header["flags"] |= int(Flag.QUARANTINED)
    if not _usable(header):
        out.lost.append(_loss(row, remains, partition.path, "its strength is damaged"))
        out.seen.add(record_id)
        return
    header["tags"] = bloom(row, words)
    out.seen.add(record_id)
    out.saved.append(Saved(record_id, tier, image, row, words))


def _together(
    header: NDArray[np.void], row: dict[str, Any] | None, remains: Remains, out: Salvage
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """A row and words that the seal says belong together, and to this record."""
    record_id, event_ms = int(header["id"][0]), int(header["event_ms"][0])
    moved = out.fates is not None and record_id in out.fates.moved
    if moved and row is None:  # its words were changed, and which these are nobody knows
        return None, None
    rows = [row, remains.older_records.get(record_id)]
    found = [remains.contents.get(record_id), remains.older_contents.get(record_id)]
    for words in filter(None, found):
        for each in filter(None, rows):
            if each.get("event_ms") == event_ms and belong(each, words):
                return each, words
        again = row_of_words(record_id, event_ms, remains.hints.get(record_id, {}), words)
        if again is not None and int(header["tags"][0]) == bloom(again, words):
            return again, words
    return row, None


def _text_of(record_id: int, remains: Remains) -> str | None:
    for contents in (remains.contents, remains.older_contents):
        text = contents.get(record_id, {}).get("text")
        if isinstance(text, str):
            return text
    return None


def _row_of(header: NDArray[np.void], row: dict[str, Any] | None) -> dict[str, Any]:
    if row is not None:
        return row
    event_ms = int(header["event_ms"][0])
    return {"id": int(header["id"][0]), "event_ms": event_ms, "recorded_ms": event_ms}


def _usable(header: NDArray[np.void]) -> bool:
    """No number that a check of the new store would have to report."""
    numbers = [float(header[name][0]) for name in ("scale", "importance", "utility")]
    stability = float(header["stability_days"][0])
    return all(0 <= n <= 1 for n in numbers) and 0 < stability < 1e30


def _loss(row: dict[str, Any], remains: Remains, path: str | None, reason: str) -> Loss:
    text = remains.contents.get(row["id"], {}).get("text")
    slot = row.get("slot")
    return Loss(
        id=row["id"], file=path, slot=slot if isinstance(slot, int) else None, reason=reason,
        text=text if isinstance(text, str) else None,
    )


# -- words whose record is gone ------------------------------------------------------------------


def _mend(
    torn: Iterable[tuple[dict[str, Any], int]], named: dict[int, dict[str, Any]],
    remains: Remains, who: Identity, embed: Embed | None, out: Salvage,
) -> None:
    """Make records anew from the catalog's rows and freshly embedded words."""
    bare = 0
    for row, tier in torn:
        if row["id"] in out.seen:
            continue
        if tier < 0:
            tier = _tier_of(named.get(row["segment_id"]))
        out.seen.add(row["id"])
        segment = named.get(row["segment_id"])
        path = str(segment["path"]) if segment else None
        words = remains.contents.get(row["id"])
        if words is None or not belong(row, words):
            out.lost.append(_loss(row, remains, path, "its record and its words are damaged"))
        elif embed is None or tier < 0:
            out.lost.append(_loss(row, remains, path, "its vector is lost; its text is whole"))
            bare += tier >= 0
        else:
            image = _new_image(row, words, tier, who, embed)
            if not _usable(image[:HEADER_BYTES].view(RECORD_DTYPE)):
                out.lost.append(_loss(row, remains, path, "its strength is damaged"))
                continue
            out.mended += 1
            reason = "its vector was damaged and made anew; category, modality, confidence are lost"
            out.notes.append(Loss(id=row["id"], file=path, slot=row["slot"], reason=reason))
            out.saved.append(Saved(row["id"], tier, image, row, words))
    if bare and who.fingerprint:
        out.notes.append(Loss(
            reason=f"memories with a text and without a vector: {bare}; a repair with the store's"
            f" embedder ({who.model_id}) makes their vectors anew: embedder=, --embedder"
        ))


def _new_image(
    row: dict[str, Any], words: dict[str, Any], tier: int, who: Identity, embed: Embed
) -> Bytes:
    image = np.zeros(stride_of(who.dim), dtype=np.uint8)
    header = image[:HEADER_BYTES].view(RECORD_DTYPE)
    codes, scales = quantize(normalize(embed([words["text"]])))
    header["version"], header["tier"], header["id"] = RECORD_VERSION, tier, row["id"]
    header["event_ms"], header["tags"] = row["event_ms"], bloom(row, words)
    header["confidence"], header["scale"] = 255, scales[0]
    block = np.frombuffer(row["mutable"], dtype=MUTABLE_DTYPE)[0]
    for name in MUTABLE_DTYPE.names or ():
        header[name] = block[name]
    image[HEADER_BYTES : HEADER_BYTES + who.dim] = codes[0].view(np.uint8)
    return image


def _list_the_rest(remains: Remains, who: Identity, out: Salvage) -> None:
    """Whatever else is known to have been there, if nothing that is known says that it went."""
    if not out.commits_lost and not _is_lost(remains, "record", 0):
        return
    gone = out.fates.dead if out.fates is not None else set()
    for record_id, words in remains.contents.items():
        if record_id not in out.seen and record_id not in gone:
            out.seen.add(record_id)
            reason = "its row and its vector are lost"
            out.lost.append(_loss({**words, "slot": None}, remains, None, reason))
    stride = stride_of(who.dim)
    for entry in remains.journal:
        if entry["kind"] != JOURNAL_RECORDS or type(entry["image"]) is not bytes:
            continue
        for _, images, sound in sound_runs(entry["image"], stride, who.uuid):
            for record_id in images[:, 8:16].copy().view("<u8")[:, 0].tolist() if sound else ():
                if record_id not in out.seen and record_id not in gone:
                    out.seen.add(record_id)
                    reason = "only the journal has its vector, and not for which partition"
                    out.lost.append(Loss(id=record_id, file="catalog.db", reason=reason))
    last = remains.last_id
    if out.commits_lost and last and last not in out.seen and last not in gone:
        out.notes.append(Loss(id=last, reason="the last id that was given out; nothing is left"))
