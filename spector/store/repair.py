"""Repair: what is intact in a damaged store goes into a new one, and the rest is listed.

What a memory needs is looked for in two places, the catalog's row with its words and the
partition's record with its vector. Where both are whole it is taken over; where the mutable half
differs the catalog's wins. A vector whose words are lost is kept apart (quarantined, without a
text). Words whose vector is lost are embedded again if the store's model is at hand. Whatever the
catalog may have forgotten stays forgotten.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector._version import __version__
from spector.errors import FormatVersionError, SpectorError, StoreError
from spector.kernel.crc import crc32c_rows
from spector.kernel.quantize import normalize, quantize
from spector.kernel.tags import scope_tag, tags_mask
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
from spector.store.catalog import is_sealed
from spector.store.files import Bytes, DiskFiles
from spector.store.redo import lay_over
from spector.store.rows import insert_rows, tags_json
from spector.store.salvage import Remains, SavedPartition, read_partition
from spector.store.store import Store
from spector.store.transaction import Transaction

__all__ = ["Identity", "Salvage", "Saved", "identify", "refuse_newer", "salvage", "transplant"]

#: texts -> (n, dim) f32 vectors of the model that the store was made with
Embed = Callable[[list[str]], NDArray[np.float32]]
Progress = Callable[[int, int], None]
_BATCH = 1024


#: a tier's way to stage records, (n, stride) u8 with their event times; says partitions and slots
Place = Callable[[Transaction, Bytes, NDArray[np.int64]], Any]

_ROW = ("id", "segment_id", "slot", "event_ms", "recorded_ms", "valid_from_ms", "valid_until_ms",
        "session_id", "agent_id", "user_id", "mutable")
_WORDS = ("text", "tags", "metadata", "role", "source", "parents")


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
    out = Salvage()
    for name, where in remains.unread:
        out.notes.append(Loss(file=name, reason=f"{where} cannot be read from the disk"))
    for lost in remains.lost:
        span = "" if lost.low == 0 else f" from id {lost.low}"
        out.notes.append(Loss(
            file="catalog.db", reason=f"table {lost.table}{span} cannot be read: {lost.reason}"
        ))
    rows: dict[int, dict[int, dict[str, Any]]] = {}
    for row in remains.records.values():
        if _is_row(row):
            rows.setdefault(row["segment_id"], {})[row["slot"]] = row
        else:
            out.lost.append(_loss(row, remains, None, "its row is damaged"))
            out.seen.add(row["id"])
    named = _named(remains)
    paths = sorted({*_partitions(files), *(str(s["path"]) for s in named.values())})
    by_path = {str(s["path"]): s for s in named.values()}
    torn: list[tuple[dict[str, Any], int]] = []
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
    return out


def _is_row(row: dict[str, Any]) -> bool:
    whole = all(type(row.get(name)) is int for name in _ROW[:5])
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
    if segment is None and not _is_lost(remains, "segment", 0):
        out.notes.append(Loss(file=path, reason="no partition of this store; left out"))
        return None
    try:
        if not files.exists(path):
            out.notes.append(Loss(file=path, reason="the partition is missing"))
            return None
        found = read_partition(
            files, path, uuid=who.uuid, dim=who.dim,
            slots=None if segment is None else segment["slots"],
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
    for slot in lay_over(whole, pending, who.uuid):
        reason = "the journal's image of this record is damaged; what the partition has was taken"
        out.notes.append(Loss(file=found.path, slot=slot, reason=reason))
    found.images = whole
    crc = np.empty(len(whole), dtype=np.uint32)
    crc32c_rows(whole, crc, who.uuid)
    found.sound = whole[:, 36:40].copy().view("<u4")[:, 0] == crc


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


def _keep(
    partition: SavedPartition, slot: int, tier: int, row: dict[str, Any] | None,
    remains: Remains, out: Salvage,
) -> None:
    image = partition.images[slot].copy()
    header = image[:HEADER_BYTES].view(RECORD_DTYPE)
    record_id = int(header["id"][0])
    words = remains.contents.get(record_id)
    if row is not None and words is not None and not _is_whole(row, words):
        out.lost.append(_loss(row, remains, partition.path, "its words are not what was written"))
        out.seen.add(record_id)
        return
    if row is not None:
        block = image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
        if block.tobytes() != row["mutable"]:
            block[:] = np.frombuffer(row["mutable"], np.uint8)
            out.mended += 1
    if words is None or row is None:
        out.wordless += 1
        reason = "its words are lost; its vector is kept, in quarantine and without a text"
        out.notes.append(Loss(id=record_id, file=partition.path, slot=slot, reason=reason))
        row = _row_of(header, row)
        words = {"id": record_id, "text": ""}
        header["flags"] |= int(Flag.QUARANTINED)
    if not _usable(header):
        out.lost.append(_loss(row, remains, partition.path, "its strength is damaged"))
        out.seen.add(record_id)
        return
    header["tags"] = _bloom(row, words)
    out.seen.add(record_id)
    out.saved.append(Saved(record_id, tier, image, row, words))


def _is_whole(row: dict[str, Any], words: dict[str, Any]) -> bool:
    values = [row[name] for name in _ROW] + [words.get(name) for name in _WORDS]
    try:
        fine = (
            isinstance(words["text"], str)
            and all(isinstance(json.loads(words[name]), kind) for name, kind in (
                ("tags", list), ("metadata", dict), ("parents", list)) if words.get(name))
        )
    except (ValueError, TypeError):
        return False
    return fine and is_sealed([*values, words.get("seal")])


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


def _bloom(row: dict[str, Any], words: dict[str, Any]) -> int:
    names = list(json.loads(words["tags"])) if words.get("tags") else []
    for kind in ("user", "agent", "session"):
        value = row.get(f"{kind}_id")
        if value is not None:
            names.append(scope_tag(kind, value))
    return tags_mask(tuple(names))


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
        out.seen.add(row["id"])
        segment = named.get(row["segment_id"])
        path = str(segment["path"]) if segment else None
        words = remains.contents.get(row["id"])
        if words is None or not _is_whole(row, words):
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
    header["event_ms"], header["tags"] = row["event_ms"], _bloom(row, words)
    header["confidence"], header["scale"] = 255, scales[0]
    block = np.frombuffer(row["mutable"], dtype=MUTABLE_DTYPE)[0]
    for name in MUTABLE_DTYPE.names or ():
        header[name] = block[name]
    image[HEADER_BYTES : HEADER_BYTES + who.dim] = codes[0].view(np.uint8)
    return image


# -- into the new store --------------------------------------------------------------------------


def transplant(
    store: Store, found: Salvage, places: Mapping[int, Place], *, last_id: int,
    progress: Progress | None = None,
) -> None:
    """Write everything that was saved into an empty store; ``places`` has a tier's way to place."""
    for each in found.saved:
        if each.tier not in places:
            found.lost.append(Loss(
                id=each.id, text=each.words.get("text"),
                reason=f"it belongs to tier {each.tier}, which is not registered",
            ))
    found.saved = [each for each in found.saved if each.tier in places]
    ordered = sorted(found.saved, key=lambda each: (each.tier, each.id))
    done = 0
    for tier, members in groupby(ordered, key=lambda each: each.tier):
        for part in batched(list(members)):
            _write(store, places[tier], part, last_id)
            done += len(part)
            if progress is not None:
                progress(done, len(ordered))


def batched(members: list[Saved]) -> Iterator[list[Saved]]:
    for start in range(0, len(members), _BATCH):
        yield members[start : start + _BATCH]


def _write(store: Store, place: Place, part: list[Saved], last_id: int) -> None:
    images = np.ascontiguousarray(np.stack([each.image for each in part]))
    headers: NDArray[np.void] = np.ndarray(
        (len(images),), RECORD_DTYPE, images, strides=(images.shape[1],)
    )
    headers["tier"], headers["centroid"] = part[0].tier, 0
    headers["flags"] &= ~np.uint16(Flag.TOMBSTONE)
    headers["crc"] = crc32c_rows(images, seed=store.uuid)
    record: dict[str, list[Any]] = {
        name: [each.row.get(name) for each in part] for name in _ROW if name != "mutable"
    }
    record["mutable"] = [
        bytearray(image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]) for image in images
    ]
    content: dict[str, list[Any]] = {
        name: [each.words.get(name) for each in part] for name in _WORDS
    }
    tags = [tuple(json.loads(t)) if t else () for t in content["tags"]]
    content["tags"] = [tags_json(each) for each in tags]
    content["id"] = record["id"]
    with store.transaction() as tx:
        placed = place(tx, images, np.array(record["event_ms"], dtype=np.int64))
        record["segment_id"] = placed.segment_ids.tolist()
        record["slot"] = placed.slots.tolist()
        insert_rows(tx.connection, record, content, tags)
        tx.note_id(max(last_id, part[-1].id))


