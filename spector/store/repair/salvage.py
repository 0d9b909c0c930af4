"""What a repair finds of a store: which it is, and each memory whole, or what is left of it."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._version import __version__
from spector.clock import MAX_MS, MIN_MS
from spector.errors import FormatVersionError, SpectorError, StoreError
from spector.kernel import crc32c_rows
from spector.kernel.contract import normalize, quantize
from spector.layout import (
    FORMAT_VERSION,
    HEADER_BYTES,
    MAX_DIM,
    MUTABLE_BYTES,
    MUTABLE_DTYPE,
    MUTABLE_OFFSET,
    PARTITION_HEADER_BYTES,
    RECORD_DTYPE,
    RECORD_VERSION,
    Flag,
    stride_of,
)
from spector.messages import counted
from spector.records import Loss
from spector.store.catalog import (
    JOURNAL_RECORDS,
    ROW,
    UNSYNCED,
    bloom,
    is_sealed_pair,
    row_of_words,
)
from spector.store.files import Bytes, DiskFiles
from spector.store.integrity import is_entry, lay_over
from spector.store.repair.remnants import (
    RecoveredCatalog,
    SavedPartition,
    read_partition,
    whole_header,
)
from spector.store.words import stored_words

#: texts -> (n, dim) f32 vectors by the model of the store; None if it does not work
Embed = Callable[[list[str]], NDArray[np.float32] | None]


@dataclass(frozen=True, slots=True)
class Identity:
    """Which store this is; what is unknown of the model is empty."""

    uuid: bytes
    dim: int
    model_id: str = ""
    fingerprint: str = ""
    #: False when nothing tells which model made the vectors, or that none did
    model_known: bool = True


@dataclass(slots=True)
class SavedMemory:
    """One memory on its way into the new store."""

    id: int
    tier: int
    #: (stride,) u8, its checksum still that of the source
    image: Bytes
    row: dict[str, Any]
    words: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class MisplacedRecord:
    """A living record at another place than the row of its memory names."""

    #: (stride,) u8
    image: Bytes
    path: str
    slot: int
    tier: int


@dataclass(slots=True)
class Salvage:
    """Everything that was found."""

    saved: list[SavedMemory] = field(default_factory=list)
    lost: list[Loss] = field(default_factory=list)
    notes: list[Loss] = field(default_factory=list)
    wordless: int = 0
    mended: int = 0
    seen: set[int] = field(default_factory=set)
    #: by id
    misplaced: dict[int, list[MisplacedRecord]] = field(default_factory=dict)
    #: ids whose rows name a damaged record
    hit: set[int] = field(default_factory=set)
    #: the catalog has lost commits: there may have been memories that nothing names
    commits_lost: bool = False
    #: what became of each memory after the commits that the catalog has lost
    history: PartitionHistory | None = None
    #: partitions of commits that the catalog does not have
    later: set[str] = field(default_factory=set)


def is_row(row: dict[str, Any]) -> bool:
    whole = all(type(row.get(name)) is int for name in ROW[:5])
    mutable = row.get("mutable")
    return whole and row["slot"] >= 0 and type(mutable) is bytes and len(mutable) == MUTABLE_BYTES


def is_lost(recovered: RecoveredCatalog, table: str, record_id: int) -> bool:
    return any(
        lost.table in ("*", table) and (table == "segment" or lost.low <= record_id <= lost.high)
        for lost in recovered.lost
    )


def tier_of(segment: dict[str, Any] | None) -> int:
    """The tier of a partition's row, or -1 when it is unknown."""
    return -1 if segment is None or segment["tier"] is None else int(segment["tier"])


def is_usable(header: NDArray[np.void], event_ms: int) -> bool:
    """True when a check of the new store would accept the header's numbers and time."""
    numbers = [float(header[name][0]) for name in ("scale", "importance", "utility")]
    stability = float(header["stability_days"][0])
    sound = all(0 <= n <= 1 for n in numbers) and 0 < stability < 1e30
    return sound and MIN_MS <= event_ms <= MAX_MS


def loss_of(
    row: dict[str, Any], recovered: RecoveredCatalog, path: str | None, reason: str
) -> Loss:
    text = recovered.contents.get(row["id"], {}).get("text")
    slot = row.get("slot")
    return Loss(
        id=row["id"],
        file=path,
        slot=slot if isinstance(slot, int) else None,
        reason=reason,
        text=text if isinstance(text, str) else None,
    )


# What became of each memory, as the partitions alone tell it.
#
# A catalog that has lost commits has rows that are out of date, while partitions are written right
# after each commit. Slots are assigned in order and never reused, so of two images of one memory the
# one in the later slot is newer, and a later tombstone means that it was forgotten.

_GENERATION = re.compile(r"(?:\.g\d+)?\.mem$")


@dataclass(slots=True)
class PartitionHistory:
    """The last state of every memory of which some partition has a sound image."""

    #: id -> (path, slot) of its newest image
    places: dict[int, tuple[str, int]] = field(default_factory=dict)
    #: ids whose newest image is a tombstone
    dead: set[int] = field(default_factory=set)
    #: ids that had another place before, not counting moves by a compaction
    moved: set[int] = field(default_factory=set)


def stem_of(path: str) -> str:
    """The name that all generations of a partition share."""
    return _GENERATION.sub("", path)


def read_history(
    paths: Iterable[str], read: Callable[[str], SavedPartition | None]
) -> PartitionHistory:
    """Read every partition once, in the order in which they were written."""
    found: list[tuple[tuple[int, int, int], str]] = []
    parts: dict[str, tuple[Any, Any, Any]] = {}
    for path in paths:
        part = read(path)
        if part is None:
            continue
        found.append((part.order, path))
        slots = np.flatnonzero(part.sound)
        parts[path] = slots, part.headers["id"][slots].copy(), part.alive[slots]
    out = PartitionHistory()
    days: dict[int, int] = {}
    for order, path in sorted(found):
        slots, ids, alive = parts[path]
        for slot, record_id, lives in zip(
            slots.tolist(), ids.tolist(), alive.tolist(), strict=True
        ):
            before = out.places.get(record_id)
            if before is not None and (before[0] == path or stem_of(before[0]) != stem_of(path)):
                out.moved.add(record_id)
            if (
                before is not None
                and not lives
                and days[record_id] != order[0]
                and record_id not in out.dead
            ):
                continue  # it moved from one day to another, in an unknown order
            out.places[record_id], days[record_id] = (path, slot), order[0]
            out.dead.discard(record_id)
            if not lives:
                out.dead.add(record_id)
    return out


def later_partitions(
    files: DiskFiles,
    recovered: RecoveredCatalog,
    uuid: bytes,
    named: Mapping[int, Mapping[str, Any]],
) -> list[Loss]:
    """Partitions with commits that the catalog has lost.

    None for a relaxed writer, whose newest commits a power cut may undo.
    """
    if UNSYNCED in recovered.meta or any(lost.table in ("*", "segment") for lost in recovered.lost):
        return []
    by_path = {str(row["path"]): row for row in named.values()}
    present = files.listing()
    # generations that a compaction was replacing, or had replaced
    known = {
        stem_of(str(row["path"]))
        for row in recovered.segments
        if row["id"] not in named or row["path"] in present
    }
    out = []
    for path in present:
        header = _header(files, path, uuid) if path.endswith(".mem") else None
        if header is None:
            continue
        slots, dead = int(header["count"] + header["tombstone_count"]), header["tombstone_count"]
        row = by_path.get(path)
        if row is None:
            if slots and stem_of(path) not in known:
                reason = f"{counted(slots, 'record')} of this store that the catalog does not know"
                out.append(Loss(file=path, reason=reason))
        elif (
            header["generation"] == row.get("generation")
            and _has_counts(row)
            and (slots > row["slots"] or dead > row["slots"] - row["live"])
        ):
            reason = "it is of a later commit than the catalog, which has lost some"
            out.append(Loss(file=path, reason=reason))
    return out


def _has_counts(row: Mapping[str, Any]) -> bool:
    """True when the row has possible counts of slots and living memories."""
    live, slots = row.get("live"), row["slots"]
    return type(live) is int and slots is not None and 0 <= live <= slots


def _header(files: DiskFiles, path: str, uuid: bytes) -> Any:
    with contextlib.suppress(SpectorError):
        with contextlib.closing(files.open(path, writable=False)) as file:
            header = whole_header(file.read_at(0, PARTITION_HEADER_BYTES))
        if header is not None and header["store_uuid"].tobytes() == uuid:
            return {name: int(header[name]) for name in ("count", "tombstone_count", "generation")}
    return None


# Partitions as a repair sees them: the file with the entries of the journal applied.


def read_saved(
    files: DiskFiles,
    path: str,
    segment: dict[str, Any] | None,
    identity: Identity,
    recovered: RecoveredCatalog,
    out: Salvage,
) -> SavedPartition | None:
    if segment is None and path not in out.later and not is_lost(recovered, "segment", 0):
        out.notes.append(Loss(file=path, reason="not a partition of this store; left out"))
        return None
    try:
        if not files.exists(path):
            out.notes.append(Loss(file=path, reason="the partition is missing"))
            return None
        found = read_partition(
            files,
            path,
            uuid=identity.uuid,
            dim=identity.dim,
            slots=None if segment is None else segment["slots"],
            ahead=out.commits_lost,
            placed=segment is not None,
        )
    except SpectorError as error:
        out.notes.append(Loss(file=path, reason=error.message))
        return None
    if found is None:
        out.notes.append(Loss(file=path, reason="it belongs to another store; left out"))
        return None
    if found.problem is not None:
        out.notes.append(Loss(file=path, reason=found.problem))
    if segment is not None and segment["slots"] is None:
        reason = "the catalog's count of its records is damaged"
        out.notes.append(Loss(file=path, reason=reason))
    if segment is not None:
        _overlay(found, segment, recovered, identity, out)
    return found


def _overlay(
    found: SavedPartition,
    segment: dict[str, Any],
    recovered: RecoveredCatalog,
    identity: Identity,
    out: Salvage,
) -> None:
    """Apply what was committed and not yet copied, as a recovery would."""
    entries = (
        tuple(row.get(name) for name in ("segment_id", "kind", "slot", "image"))
        for row in recovered.journal
        if row.get("segment_id") == segment["id"]
    )
    pending = [entry[1:] for entry in entries if is_entry(entry)]
    if not pending:
        return
    stride = stride_of(identity.dim)
    whole = np.zeros((_room(found, segment, pending, recovered, stride), stride), np.uint8)
    whole[: len(found.images)] = found.images
    before = whole.copy() if out.commits_lost else whole
    refused = lay_over(whole, pending, identity.uuid)
    if out.commits_lost:
        _keep_later_halves(before, whole)
    for slot in refused:
        reason = "the journal's image of this record is damaged; the partition's was taken"
        out.notes.append(Loss(file=found.path, slot=slot, reason=reason))
    found.images = whole
    crc = np.empty(len(whole), dtype=np.uint32)
    crc32c_rows(whole, crc, identity.uuid)
    found.sound = whole[:, 36:40].copy().view("<u4")[:, 0] == crc


def _room(
    found: SavedPartition,
    segment: dict[str, Any],
    pending: list[tuple[int, int, bytes]],
    recovered: RecoveredCatalog,
    stride: int,
) -> int:
    """How many slots the file has and the journal adds.

    A damaged entry may name any slot. One beyond the end of the file is accepted where the journal
    continues from there, or where the row of a memory is as far: then the file was cut off.
    """
    new = [(slot, len(image) // stride) for kind, slot, image in pending if kind == JOURNAL_RECORDS]
    present = len(found.images)
    most = present + sum(count for _, count in new)
    furthest = max((slot + count for slot, count in new), default=0)
    if furthest > most:
        own = [
            row["slot"]
            for row in recovered.records.values()
            if row.get("segment_id") == segment["id"] and type(row.get("slot")) is int
        ]
        most = max([most, *(slot + 1 for slot in own)])
    if segment["slots"] is not None:
        most = min(most, segment["slots"])
    return max([present, *(slot + count for slot, count in new if slot + count <= most)])


def _keep_later_halves(before: Bytes, after: Bytes) -> None:
    """Undo older mutable halves that the journal put over records (n, stride).

    An outdated journal lacks later writes: it would revive forgotten memories. Only its tombstones
    count.
    """
    end = MUTABLE_OFFSET + MUTABLE_BYTES
    same = (before[:, :MUTABLE_OFFSET] == after[:, :MUTABLE_OFFSET]).all(axis=1)
    same &= (before[:, end:] == after[:, end:]).all(axis=1)
    flags = after[:, MUTABLE_OFFSET : MUTABLE_OFFSET + 2].copy().view("<u2")[:, 0]
    same &= (flags & int(Flag.TOMBSTONE)) == 0
    after[same, MUTABLE_OFFSET:end] = before[same, MUTABLE_OFFSET:end]


# Which store this is, even when its catalog no longer tells.


def identify(files: DiskFiles, recovered: RecoveredCatalog) -> Identity:
    """Uuid and dimension, from the catalog, or else those that most partitions name.

    Raises:
        StoreError: neither tells.
    """
    meta = recovered.meta
    try:
        uuid, dim = bytes.fromhex(meta["uuid"]), int(meta["dim"])
        if len(uuid) == 16 and 1 <= dim <= MAX_DIM:
            known = {"model_id", "fingerprint"} <= meta.keys()
            names = (meta["model_id"], meta["fingerprint"]) if known else ("", "")
            return Identity(uuid, dim, *names, model_known=known)
    except (KeyError, ValueError):
        pass
    found: Counter[tuple[bytes, int]] = Counter()
    for name in partitions_in(files):
        try:
            each = read_partition(files, name, uuid=None, dim=None, slots=0)
        except SpectorError:
            continue
        if each is not None:
            found[each.uuid, each.dim] += 1
    if not found:
        raise StoreError(
            f"{files.root}: neither catalog nor partitions tell which store this is",
            hint="restore a backup",
        )
    (uuid, dim), _ = found.most_common(1)[0]
    return Identity(uuid, dim, model_known=False)


def refuse_newer(files: DiskFiles, recovered: RecoveredCatalog) -> None:
    """Refuse a store of a later format, whose bytes could be taken for damage.

    Where only the catalog has the later format, it is damaged: every partition repeats the format.

    Raises:
        FormatVersionError
    """
    said = recovered.meta.get("format_version", "")
    if not said.isdecimal() or len(said) > 9 or int(said) <= FORMAT_VERSION:
        return
    for name in partitions_in(files):
        with contextlib.suppress(SpectorError):
            if read_partition(files, name, uuid=None, dim=None, slots=0) is not None:
                return
    raise FormatVersionError(
        f"{files.root} has format {said}; spector {__version__} reads up to {FORMAT_VERSION}",
        hint="upgrade: pip install -U spector-memory; then repair it",
    )


def partitions_in(files: DiskFiles) -> list[str]:
    return [name for name in files.listing() if name.endswith(".mem")]


# Pair records, rows and texts: each memory whole, or what is left of it.

_FLAGS: Final = sum(Flag)


def pair_partition(
    partition: SavedPartition,
    segment: dict[str, Any] | None,
    own: dict[int, dict[str, Any]],
    recovered: RecoveredCatalog,
    out: Salvage,
) -> list[tuple[dict[str, Any], int]]:
    """Match a partition's records with the catalog's rows; returns the rows without a record."""
    unpaired = []
    headers, alive = partition.headers, partition.alive
    tier = tier_of(segment)
    if tier < 0:
        tier = partition.tier or 0
    for slot in range(len(partition.images)):
        row = own.pop(slot, None)
        record_id = int(headers["id"][slot])
        whole = bool(partition.sound[slot]) and 0 < record_id < 1 << 62
        if row is not None and (not whole or record_id != row["id"]):
            unpaired.append((row, tier))
            if not whole:
                out.hit.add(row["id"])
            row = None
        if whole and out.history is not None:
            _keep_newest(partition, slot, tier, record_id, row, recovered, out)
        elif row is not None:
            _keep(partition.images[slot], partition.path, slot, tier, row, recovered, out)
        elif whole and alive[slot] and record_id not in out.seen:
            known = recovered.records.get(record_id)
            if known is None and is_lost(recovered, "record", record_id):
                _keep(partition.images[slot], partition.path, slot, tier, None, recovered, out)
            elif known is None:
                continue
            elif segment is None:  # its partition's row is lost, not its own
                _keep(partition.images[slot], partition.path, slot, tier, known, recovered, out)
            else:
                found = MisplacedRecord(partition.images[slot].copy(), partition.path, slot, tier)
                out.misplaced.setdefault(record_id, []).append(found)
        elif not whole and alive[slot] and is_lost(recovered, "record", 0):
            out.lost.append(
                Loss(
                    file=partition.path, slot=slot, reason="its record is damaged, its row is lost"
                )
            )
    return unpaired + [(row, tier) for row in own.values()]


def pair_misplaced(
    unpaired: Iterable[tuple[dict[str, Any], int]], recovered: RecoveredCatalog, out: Salvage
) -> None:
    """Find memories whose rows name a wrong place by the ids in the records.

    No checksum covers a place. A damaged record shows at the place itself, and a record that a
    memory has left shows in the journal; without the journal nothing is taken.
    """
    if any(lost.table in ("*", "journal") for lost in recovered.lost):
        return
    for row, _ in unpaired:
        found, words = out.misplaced.get(row["id"], ()), recovered.contents.get(row["id"])
        if len(found) != 1 or words is None or row["id"] in out.seen or row["id"] in out.hit:
            continue
        each = found[0]
        header = each.image[:HEADER_BYTES].view(RECORD_DTYPE)
        if (
            not is_sealed_pair(row, words)
            or int(header["event_ms"][0]) != row["event_ms"]
            or not _has_tags(header, row, words, recovered)
        ):
            continue
        before = len(out.saved)
        _keep(each.image, each.path, each.slot, each.tier, row, recovered, out)
        if len(out.saved) > before:
            out.mended += 1
            reason = "its place in the catalog is damaged; its record was found by its id"
            out.notes.append(Loss(id=row["id"], file=each.path, slot=each.slot, reason=reason))


def _keep_newest(
    partition: SavedPartition,
    slot: int,
    tier: int,
    record_id: int,
    row: dict[str, Any] | None,
    recovered: RecoveredCatalog,
    out: Salvage,
) -> None:
    """Keep a record of a catalog that has lost commits: only the newest image of a memory."""
    assert out.history is not None
    if record_id in out.seen or out.history.places[record_id] != (partition.path, slot):
        return
    if record_id in out.history.dead:
        out.seen.add(record_id)
        if record_id in recovered.records:
            reason = "it was forgotten in a lost commit, or its newer record is lost"
            out.notes.append(Loss(id=record_id, file=partition.path, slot=slot, reason=reason))
        return
    if row is None and record_id not in out.history.moved:
        # it has another place only after a compaction, or by an outdated page
        row = recovered.records.get(record_id, recovered.older_records.get(record_id))
        row = row if row is None or is_row(row) else None
    _keep(partition.images[slot], partition.path, slot, tier, row, recovered, out, newest=True)


def _keep(
    record: Bytes,
    path: str,
    slot: int,
    tier: int,
    row: dict[str, Any] | None,
    recovered: RecoveredCatalog,
    out: Salvage,
    *,
    newest: bool = False,
) -> None:
    """Keep one memory. With ``newest``, row and text may be older than the record."""
    image = record.copy()
    header = image[:HEADER_BYTES].view(RECORD_DTYPE)
    record_id = int(header["id"][0])
    words = recovered.contents.get(record_id)
    if row is not None and words is not None and not newest and not is_sealed_pair(row, words):
        out.lost.append(loss_of(row, recovered, path, "its text is not what was written"))
        out.seen.add(record_id)
        return
    if row is not None and not newest:
        _choose_strength(image, row, path, slot, recovered, out)
    if row is None or words is None or newest:
        row, words = _matching_pair(header, row, recovered, out)
    if words is None or row is None:
        out.wordless += 1
        reason = "its text is lost; its vector is kept, in quarantine and without a text"
        text = _text_of(record_id, recovered)
        if text is not None:
            reason += "; an older text of it may be this one"
        out.notes.append(Loss(id=record_id, file=path, slot=slot, reason=reason, text=text))
        row = _row_of(header, row)
        words = {"id": record_id, "text": ""}
        header["flags"] |= int(Flag.QUARANTINED)
    if not is_usable(header, row["event_ms"]):
        reason = "its strength or time is damaged"
        out.lost.append(loss_of(row, recovered, path, reason))
        out.seen.add(record_id)
        return
    header["tags"] = bloom(row, words, recovered.namespace_of(record_id))
    out.seen.add(record_id)
    out.saved.append(SavedMemory(record_id, tier, image, row, words))


def _choose_strength(
    image: Bytes,
    row: dict[str, Any],
    path: str,
    slot: int,
    recovered: RecoveredCatalog,
    out: Salvage,
) -> None:
    """Choose the mutable half of a record: the catalog's, unless only the partition's is possible.

    No checksum covers either copy. After the journal has been applied they are equal, except after
    a power cut in relaxed mode, when the catalog is right. So a difference means damage, and a note
    asks the user to look at it.
    """
    block = image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
    if block.tobytes() == row["mutable"]:
        return
    out.mended += 1
    header = image[:HEADER_BYTES].view(RECORD_DTYPE)
    own = block.copy()
    in_partition = _is_possible_half(header, row["event_ms"])
    block[:] = np.frombuffer(row["mutable"], np.uint8)
    taken = "catalog"
    if in_partition and not _is_possible_half(header, row["event_ms"]):
        block[:] = own
        taken = "partition"
    if UNSYNCED not in recovered.meta:
        reason = (
            "its flags or strength differ in partition and catalog, so one copy is damaged; the "
            f"{taken}'s was taken"
        )
        out.notes.append(Loss(id=row["id"], file=path, slot=slot, reason=reason))


def _is_possible_half(header: NDArray[np.void], event_ms: int) -> bool:
    """True when a living record may have this mutable half."""
    flags = int(header["flags"][0])
    return is_usable(header, event_ms) and not flags & ~_FLAGS and not flags & Flag.TOMBSTONE


def _matching_pair(
    header: NDArray[np.void], row: dict[str, Any] | None, recovered: RecoveredCatalog, out: Salvage
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """A row and a text that the seal proves to belong together, and to this record."""
    record_id, event_ms = int(header["id"][0]), int(header["event_ms"][0])
    moved = out.history is not None and record_id in out.history.moved
    if moved and row is None:  # its text was changed, and it is unknown which one this is
        return None, None
    rows = [row, recovered.older_records.get(record_id)]
    found = [recovered.contents.get(record_id), recovered.older_contents.get(record_id)]
    for words in filter(None, found):
        for each in filter(None, rows):
            if each.get("event_ms") == event_ms and is_sealed_pair(each, words):
                return each, words
        again = row_of_words(record_id, event_ms, recovered.hints.get(record_id, {}), words)
        if again is not None and _has_tags(header, again, words, recovered):
            return again, words
    return row, None


def _has_tags(
    header: NDArray[np.void],
    row: dict[str, Any],
    words: dict[str, Any],
    recovered: RecoveredCatalog,
) -> bool:
    """Whether a record has the bits of these words and this row, and those of its key or none."""
    namespaces = (None, recovered.namespace_of(row["id"]))
    return int(header["tags"][0]) in [bloom(row, words, each) for each in namespaces]


def _text_of(record_id: int, recovered: RecoveredCatalog) -> str | None:
    for contents in (recovered.contents, recovered.older_contents):
        text = contents.get(record_id, {}).get("text")
        if isinstance(text, str):
            return text
    return None


def _row_of(header: NDArray[np.void], row: dict[str, Any] | None) -> dict[str, Any]:
    if row is not None:
        return row
    event_ms = int(header["event_ms"][0])
    return {"id": int(header["id"][0]), "event_ms": event_ms, "recorded_ms": event_ms}


# Make new records for texts whose record is lost.


def mend_records(
    unpaired: Iterable[tuple[dict[str, Any], int]],
    named: dict[int, dict[str, Any]],
    recovered: RecoveredCatalog,
    identity: Identity,
    embed: Embed | None,
    out: Salvage,
) -> None:
    """Make records from the catalog's rows and newly embedded texts."""
    bare = 0
    for row, tier in unpaired:
        if row["id"] in out.seen:
            continue
        if tier < 0:
            tier = tier_of(named.get(row["segment_id"]))
        out.seen.add(row["id"])
        segment = named.get(row["segment_id"])
        path = str(segment["path"]) if segment else None
        words = recovered.contents.get(row["id"])
        if words is None or not is_sealed_pair(row, words):
            out.lost.append(loss_of(row, recovered, path, "its record and its text are damaged"))
            continue
        vectors = embed([stored_words(words)]) if embed is not None and tier >= 0 else None
        if vectors is None:
            out.lost.append(loss_of(row, recovered, path, "its vector is lost; its text is whole"))
            bare += tier >= 0
            embed = None if tier >= 0 else embed  # it does not work: do not try again
        else:
            mask = bloom(row, words, recovered.namespace_of(row["id"]))
            image = _new_image(row, vectors, mask, tier, identity)
            if not is_usable(image[:HEADER_BYTES].view(RECORD_DTYPE), row["event_ms"]):
                out.lost.append(loss_of(row, recovered, path, "its strength or time is damaged"))
                continue
            out.mended += 1
            reason = "its damaged vector was made again; category, modality, confidence are lost"
            out.notes.append(Loss(id=row["id"], file=path, slot=row["slot"], reason=reason))
            out.saved.append(SavedMemory(row["id"], tier, image, row, words))
    if bare and identity.fingerprint:
        out.notes.append(
            Loss(
                reason=f"memories with a text and without a vector: {bare}; a repair with the store's"
                f" embedder ({identity.model_id}) makes their vectors again: embedder=, --embedder"
            )
        )


def _new_image(
    row: dict[str, Any],
    vectors: NDArray[np.float32],
    mask: int,
    tier: int,
    identity: Identity,
) -> Bytes:
    image = np.zeros(stride_of(identity.dim), dtype=np.uint8)
    header = image[:HEADER_BYTES].view(RECORD_DTYPE)
    codes, scales = quantize(normalize(vectors))
    header["version"], header["tier"], header["id"] = RECORD_VERSION, tier, row["id"]
    header["event_ms"], header["tags"] = row["event_ms"], mask
    header["confidence"], header["scale"] = 255, scales[0]
    block = np.frombuffer(row["mutable"], dtype=MUTABLE_DTYPE)[0]
    for name in MUTABLE_DTYPE.names or ():
        header[name] = block[name]
    image[HEADER_BYTES : HEADER_BYTES + identity.dim] = codes[0].view(np.uint8)
    return image
