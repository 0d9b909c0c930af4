"""What a repair finds of each memory, and how a new store gets it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import Progress
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
    PartitionState,
    headers_of,
    stride_of,
)
from spector.messages import counted
from spector.records import BUILTIN_KINDS, Loss
from spector.store.catalog import (
    CATALOG_NAME,
    JOURNAL_RECORDS,
    LOG_NAME,
    ROW,
    UNSYNCED,
    WORDS,
    bloom,
    insert_rows,
    is_sealed_pair,
    row_of_words,
    tags_json,
)
from spector.store.core import Store, Transaction
from spector.store.files import Bytes, DiskFiles, first_bytes
from spector.store.integrity import is_entry, lay_over, sound_runs, stem_of
from spector.store.partitions import record_ids, wrong_checksums
from spector.store.payloads import (
    PAYLOAD_TABLES,
    PayloadTable,
    make_tables,
    new_entry,
    put_rows,
    table_named,
)
from spector.store.repair.remnants import (
    RecoveredCatalog,
    Row,
    SavedPartition,
    Spooled,
    read_partition,
    whole_header,
)
from spector.store.words import stored_words

#: texts -> (n, dim) f32 vectors by the model of the store; None if it does not work
Embed = Callable[[list[str]], NDArray[np.float32] | None]

_END: Final = MUTABLE_OFFSET + MUTABLE_BYTES
_FLAGS: Final = sum(Flag)
#: no partition has this number: stands in for a place that is not a number
_NOWHERE: Final = {"segment_id": 0, "slot": 0}
#: the largest possible values of what a salvage reads in a partition's row
_MOST: Final = {"tier": 255, "slots": (1 << 32) - 1}


@dataclass(frozen=True, slots=True)
class Identity:
    """Which store this is; what is unknown of the model is empty."""

    uuid: bytes
    dim: int
    model_id: str = ""
    fingerprint: str = ""
    #: False when nothing tells which model made the vectors, or that none did
    model_known: bool = True


def identify(files: DiskFiles, recovered: RecoveredCatalog) -> Identity:
    """Uuid and dimension, from the catalog, or else those that most partitions name.

    Raises:
        StoreError: neither tells.
    """
    meta = recovered.meta
    with contextlib.suppress(KeyError, ValueError):
        uuid, dim = bytes.fromhex(meta["uuid"]), int(meta["dim"])
        if len(uuid) == 16 and 1 <= dim <= MAX_DIM:
            known = {"model_id", "fingerprint"} <= meta.keys()
            names = (meta["model_id"], meta["fingerprint"]) if known else ("", "")
            return Identity(uuid, dim, *names, model_known=known)
    found = Counter((each.uuid, each.dim) for each in _whole_partitions(files))
    if not found:
        raise StoreError(
            f"{files.root}: neither catalog nor partitions tell which store this is",
            hint="restore a backup",
        )
    return Identity(*found.most_common(1)[0][0], model_known=False)


def refuse_newer(files: DiskFiles, recovered: RecoveredCatalog) -> None:
    """Refuse a store of a later format, whose bytes could be taken for damage.

    Where only the catalog has the later format, it is damaged: every partition repeats the format.

    Raises:
        FormatVersionError
    """
    said = recovered.meta.get("format_version", "")
    if not said.isdecimal() or len(said) > 9 or int(said) <= FORMAT_VERSION:
        return
    if next(_whole_partitions(files), None) is None:
        raise FormatVersionError(
            f"{files.root} has format {said}; spector {__version__} reads up to {FORMAT_VERSION}",
            hint="upgrade: pip install -U spector-memory; then repair it",
        )


def _whole_partitions(files: DiskFiles) -> Iterator[SavedPartition]:
    """Partitions, without their records, whose own header is whole."""
    for name in partitions_in(files):
        with contextlib.suppress(SpectorError):
            found = read_partition(files, name, uuid=None, dim=None, slots=0)
            if found is not None:
                yield found


def partitions_in(files: DiskFiles) -> list[str]:
    return [name for name in files.listing() if name.endswith(".mem")]


@dataclass(slots=True)
class SavedMemory:
    """One memory on its way into the new store."""

    id: int
    tier: int
    #: (stride,) u8, its checksum still that of the source
    image: Bytes
    row: Row
    words: Row


@dataclass(frozen=True, slots=True, eq=False)
class _Record:
    """A record at its place in a partition."""

    #: (stride,) u8
    image: Bytes
    path: str
    slot: int
    tier: int

    @property
    def header(self) -> NDArray[np.void]:
        """(1,) view."""
        return self.image[:HEADER_BYTES].view(RECORD_DTYPE)


@dataclass(slots=True)
class _History:
    """The last state of every memory of which some partition has a sound image.

    A catalog that has lost commits has rows that are out of date, while partitions are written
    right after each commit. Slots are assigned in order and never reused, so of two images of one
    memory the one in the later slot is newer, and a later tombstone means that it was forgotten.
    """

    #: id -> (path, slot) of its newest image
    places: dict[int, tuple[str, int]] = field(default_factory=dict)
    #: ids whose newest image is a tombstone
    dead: set[int] = field(default_factory=set)
    #: ids that had another place before, not counting moves by a compaction
    moved: set[int] = field(default_factory=set)

    def read(self, partitions: Iterator[SavedPartition]) -> None:
        """Read every partition once, in the order in which they were written."""
        found = []
        for each in partitions:
            sound = np.flatnonzero(each.sound)
            ids, alive = record_ids(each.images)[sound], each.alive[sound]
            found.append((each.order, each.path, sound.tolist(), ids.tolist(), alive.tolist()))
        days: dict[int, int] = {}
        for (day, *_), path, *columns in sorted(found):
            for slot, record_id, lives in zip(*columns, strict=True):
                before = self.places.get(record_id)
                if before is not None:
                    if before[0] == path or stem_of(before[0]) != stem_of(path):
                        self.moved.add(record_id)
                    if not lives and days[record_id] != day and record_id not in self.dead:
                        continue  # it moved from one day to another, in an unknown order
                self.places[record_id], days[record_id] = (path, slot), day
                (self.dead.discard if lives else self.dead.add)(record_id)


class Salvage:
    """Pairs what the catalog and the partitions still have of each memory."""

    def __init__(
        self,
        files: DiskFiles,
        recovered: RecoveredCatalog,
        identity: Identity,
        embed: Embed | None = None,
    ) -> None:
        self.saved: list[SavedMemory] = []
        self.lost: list[Loss] = []
        self.notes: list[Loss] = []
        self.wordless = self.mended = 0
        #: the catalog has lost commits: there may have been memories that nothing names
        self.commits_lost = False
        self._files, self._recovered, self._identity = files, recovered, identity
        self._embed, self._stride = embed, stride_of(identity.dim)
        self._seen: set[int] = set()
        #: id -> living records at other places than the row of the memory names
        self._misplaced: dict[int, list[_Record]] = {}
        #: ids whose rows name a damaged record
        self._hit: set[int] = set()
        #: what became of each memory after the commits that the catalog has lost
        self._history: _History | None = None
        #: rows of partitions that have a file, by id and by path; impossible numbers are None
        self._named = {
            row["id"]: {
                **row,
                **{name: _within(row.get(name), most) for name, most in _MOST.items()},
            }
            for row in recovered.segments
            if type(row.get("path")) is str and row.get("state") != PartitionState.COMPACTED
        }
        self._by_path = {str(row["path"]): row for row in self._named.values()}

    def run(self, progress: Progress | None = None) -> Salvage:
        """Find everything."""
        recovered = self._recovered
        later = list(self._later_partitions())
        self.commits_lost = bool(later) or not recovered.log.exact
        files_later = {each.file for each in later}
        self.notes += [*self._catalog_notes(), *later]
        rows, unpaired = self._rows_by_place()
        paths = sorted({*partitions_in(self._files), *self._by_path})
        if self.commits_lost:
            history, notes = _History(), len(self.notes)
            read = (self._read(path, is_later=path in files_later) for path in paths)
            history.read(part for part in read if part is not None)
            del self.notes[notes:]  # they are made again
            self._history = history
        for done, path in enumerate(paths):
            segment = self._by_path.get(path)
            own = rows.pop(segment["id"], {}) if segment else {}
            partition = self._read(path, is_later=path in files_later)
            if partition is None:
                unpaired += [(row, _tier_of(segment)) for row in own.values()]
            else:
                unpaired += self._pair(partition, segment, own)
            if progress is not None:
                progress(done + 1, len(paths))
        for orphans in rows.values():
            unpaired += [(row, -1) for row in orphans.values()]
        self._pair_misplaced(unpaired)
        self._mend(unpaired)
        self._list_losses()
        return self

    # -- findings --------------------------------------------------------------------------------

    def _note(
        self,
        reason: str,
        file: str | None = None,
        slot: int | None = None,
        record_id: int | None = None,
        text: str | None = None,
    ) -> None:
        self.notes.append(Loss(id=record_id, file=file, slot=slot, reason=reason, text=text))

    def _lose(self, row: Row, path: str | None, reason: str) -> None:
        """List a memory that is lost."""
        self._seen.add(row["id"])
        text = self._recovered.contents.get(row["id"], {}).get("text")
        slot = row.get("slot")
        self.lost.append(
            Loss(
                id=row["id"],
                file=path,
                slot=slot if isinstance(slot, int) else None,
                reason=reason,
                text=text if isinstance(text, str) else None,
            )
        )

    def _catalog_notes(self) -> Iterator[Loss]:
        for name, where in self._recovered.unread:
            yield Loss(file=name, reason=f"{where} cannot be read from the disk")
        for lost in self._recovered.lost:
            span = "" if lost.low == 0 else f" from id {lost.low}"
            reason = f"table {lost.table}{span} cannot be read: {lost.reason}"
            yield Loss(file=CATALOG_NAME, reason=reason)
        log = self._recovered.log
        if log.damaged_at is not None:
            how = "all of them were read" if log.exact else "not all of them can be read"
            reason = f"damaged at byte {log.damaged_at}, commits after it: {log.commits}; {how}"
            yield Loss(file=LOG_NAME, reason=reason)
        elif not log.exact:
            yield Loss(file=LOG_NAME, reason="commits may be missing at its end")

    def _list_losses(self) -> None:
        """List every other memory that is known to have existed and not known to be forgotten."""
        recovered = self._recovered
        if not self.commits_lost and not recovered.is_lost("record", 0):
            return
        gone = self._history.dead if self._history is not None else set()
        for record_id, words in recovered.contents.items():
            if record_id not in self._seen and record_id not in gone:
                self._lose({**words, "slot": None}, None, "its row and its vector are lost")
        for entry in recovered.rows["journal"].values():
            if entry["kind"] != JOURNAL_RECORDS or type(entry["image"]) is not bytes:
                continue
            for _, images, sound in sound_runs(entry["image"], self._stride, self._identity.uuid):
                for record_id in record_ids(images).tolist() if sound else ():
                    if record_id not in self._seen and record_id not in gone:
                        self._seen.add(record_id)
                        reason = "only the journal has its vector, and not for which partition"
                        self.lost.append(Loss(id=record_id, file=CATALOG_NAME, reason=reason))
        last = recovered.last_id
        if self.commits_lost and last and last not in self._seen and last not in gone:
            self._note("the last id that was given out; nothing is left", record_id=last)

    # -- partitions, with the entries of the journal applied -----------------------------------

    def _later_partitions(self) -> Iterator[Loss]:
        """Partitions with commits that the catalog has lost.

        None for a relaxed writer, whose newest commits a power cut may undo.
        """
        recovered = self._recovered
        if UNSYNCED in recovered.meta or recovered.is_lost("segment"):
            return
        present = self._files.listing()
        # generations that a compaction was replacing, or had replaced
        known = {
            stem_of(str(row["path"]))
            for row in recovered.segments
            if row["id"] not in self._named or row["path"] in present
        }
        for path in present:
            header = None
            if path.endswith(".mem"):
                with contextlib.suppress(SpectorError):
                    header = whole_header(first_bytes(self._files, path, PARTITION_HEADER_BYTES))
            if header is None or header["store_uuid"] != self._identity.uuid:
                continue
            dead = header["tombstone_count"]
            slots, row = header["count"] + dead, self._by_path.get(path)
            if row is None:
                if slots and stem_of(path) not in known:
                    has = counted(slots, "record")
                    reason = f"{has} of this store that the catalog does not know"
                    yield Loss(file=path, reason=reason)
                continue
            live, counts = row.get("live"), row["slots"]
            if (
                header["generation"] == row.get("generation")
                and (type(live) is int and counts is not None and 0 <= live <= counts)
                and (slots > counts or dead > counts - live)
            ):
                reason = "it is of a later commit than the catalog, which has lost some"
                yield Loss(file=path, reason=reason)

    def _rows_by_place(self) -> tuple[dict[int, dict[int, Row]], list[tuple[Row, int]]]:
        """Rows by partition and slot, and the rows whose place is invalid or taken."""
        rows: dict[int, dict[int, Row]] = {}
        others = []
        for row in self._recovered.records.values():
            if not _is_row(row) and _is_row({**row, **_NOWHERE}):
                others.append(({**row, **_NOWHERE}, -1))
            elif not _is_row(row):
                self._lose(row, None, "its row is damaged")
            elif rows.setdefault(row["segment_id"], {}).setdefault(row["slot"], row) is not row:
                others.append((row, -1))
        return rows, others

    def _read(self, path: str, *, is_later: bool = False) -> SavedPartition | None:
        segment = self._by_path.get(path)
        if segment is None and not is_later and not self._recovered.is_lost("segment"):
            self._note("not a partition of this store; left out", path)
            return None
        try:
            if not self._files.exists(path):
                self._note("the partition is missing", path)
                return None
            found = read_partition(
                self._files,
                path,
                uuid=self._identity.uuid,
                dim=self._identity.dim,
                slots=None if segment is None else segment["slots"],
                ahead=self.commits_lost,
                placed=segment is not None,
            )
        except SpectorError as error:
            self._note(error.message, path)
            return None
        if found is None:
            self._note("it belongs to another store; left out", path)
            return None
        if found.problem is not None:
            self._note(found.problem, path)
        if segment is not None:
            if segment["slots"] is None:
                self._note("the catalog's count of its records is damaged", path)
            self._overlay(found, segment)
        return found

    def _overlay(self, found: SavedPartition, segment: Row) -> None:
        """Apply what was committed and not yet copied, as a recovery would."""
        entries = (
            tuple(row.get(name) for name in ("segment_id", "kind", "slot", "image"))
            for row in self._recovered.rows["journal"].values()
            if row.get("segment_id") == segment["id"]
        )
        pending = [entry[1:] for entry in entries if is_entry(entry)]
        if not pending:
            return
        whole = np.zeros((self._room(found, segment, pending), self._stride), np.uint8)
        whole[: len(found.images)] = found.images
        before = whole.copy() if self.commits_lost else whole
        refused = lay_over(whole, pending, self._identity.uuid)
        if self.commits_lost:
            _keep_later_halves(before, whole)
        for slot in refused:
            reason = "the journal's image of this record is damaged; the partition's was taken"
            self._note(reason, found.path, slot)
        found.images, found.sound = whole, np.ones(len(whole), dtype=bool)
        found.sound[wrong_checksums(whole, self._identity.uuid)] = False

    def _room(
        self, found: SavedPartition, segment: Row, pending: list[tuple[int, int, bytes]]
    ) -> int:
        """How many slots the file has and the journal adds.

        A damaged entry may name any slot. One beyond the end of the file is accepted where the
        journal continues from there, or where the row of a memory is as far: then the file was cut
        off.
        """
        new = [
            (slot, len(image) // self._stride)
            for kind, slot, image in pending
            if kind == JOURNAL_RECORDS
        ]
        present = len(found.images)
        most = present + sum(count for _, count in new)
        if max((slot + count for slot, count in new), default=0) > most:
            own = [
                row["slot"] + 1
                for row in self._recovered.records.values()
                if row.get("segment_id") == segment["id"] and type(row.get("slot")) is int
            ]
            most = max([most, *own])
        if segment["slots"] is not None:
            most = min(most, segment["slots"])
        return max([present, *(slot + count for slot, count in new if slot + count <= most)])

    # -- records, rows and texts: each memory whole, or what is left of it ----------------------

    def _pair(
        self, partition: SavedPartition, segment: Row | None, own: dict[int, Row]
    ) -> list[tuple[Row, int]]:
        """Match a partition's records with the catalog's rows; returns the rows without a record."""
        unpaired = []
        recovered = self._recovered
        ids, alive = record_ids(partition.images).tolist(), partition.alive
        tier = _tier_of(segment)
        if tier < 0:
            tier = partition.tier or 0
        for slot, record_id in enumerate(ids):
            row = own.pop(slot, None)
            whole = bool(partition.sound[slot]) and 0 < record_id < 1 << 62
            record = _Record(partition.images[slot], partition.path, slot, tier)
            if row is not None and (not whole or record_id != row["id"]):
                unpaired.append((row, tier))
                if not whole:
                    self._hit.add(row["id"])
                row = None
            if whole and self._history is not None:
                self._keep_newest(record, record_id, row, self._history)
            elif row is not None:
                self._keep(record, row)
            elif whole and alive[slot] and record_id not in self._seen:
                known = recovered.records.get(record_id)
                if known is None:
                    if recovered.is_lost("record", record_id):
                        self._keep(record, None)
                elif segment is None:  # its partition's row is lost, not its own
                    self._keep(record, known)
                else:
                    found = replace(record, image=record.image.copy())
                    self._misplaced.setdefault(record_id, []).append(found)
            elif not whole and alive[slot] and recovered.is_lost("record", 0):
                reason = "its record is damaged, its row is lost"
                self.lost.append(Loss(file=partition.path, slot=slot, reason=reason))
        return unpaired + [(row, tier) for row in own.values()]

    def _pair_misplaced(self, unpaired: list[tuple[Row, int]]) -> None:
        """Find memories whose rows name a wrong place by the ids in the records.

        No checksum covers a place. A damaged record shows at the place itself, and a record that a
        memory has left shows in the journal; without the journal nothing is taken.
        """
        if self._recovered.is_lost("journal"):
            return
        for row, _ in unpaired:
            record_id = row["id"]
            found = self._misplaced.get(record_id, ())
            words = self._recovered.contents.get(record_id)
            if len(found) != 1 or words is None or record_id in self._seen | self._hit:
                continue
            each = found[0]
            if (
                not is_sealed_pair(row, words)
                or int(each.header["event_ms"][0]) != row["event_ms"]
                or not self._has_tags(each.header, row, words)
            ):
                continue
            before = len(self.saved)
            self._keep(each, row)
            if len(self.saved) > before:
                self.mended += 1
                reason = "its place in the catalog is damaged; its record was found by its id"
                self._note(reason, each.path, each.slot, record_id)

    def _keep_newest(
        self, record: _Record, record_id: int, row: Row | None, history: _History
    ) -> None:
        """Keep a record of a catalog that has lost commits: only the newest image of a memory."""
        recovered = self._recovered
        if record_id in self._seen or history.places[record_id] != (record.path, record.slot):
            return
        if record_id in history.dead:
            self._seen.add(record_id)
            if record_id in recovered.records:
                reason = "it was forgotten in a lost commit, or its newer record is lost"
                self._note(reason, record.path, record.slot, record_id)
            return
        if row is None and record_id not in history.moved:
            # it has another place only after a compaction, or by an outdated page
            row = recovered.records.get(record_id, recovered.older["record"].get(record_id))
            row = row if row is None or _is_row(row) else None
        self._keep(record, row, newest=True)

    def _keep(self, record: _Record, row: Row | None, *, newest: bool = False) -> None:
        """Keep one memory. With ``newest``, row and text may be older than the record."""
        kept = replace(record, image=record.image.copy())
        header = kept.header
        record_id, recovered = int(header["id"][0]), self._recovered
        words = recovered.contents.get(record_id)
        if row is not None and words is not None and not newest and not is_sealed_pair(row, words):
            self._lose(row, kept.path, "its text is not what was written")
            return
        if row is not None and not newest:
            self._choose_strength(kept, row)
        if row is None or words is None or newest:
            row, words = self._matching_pair(header, row)
        if words is None or row is None:
            self.wordless += 1
            reason = "its text is lost; its vector is kept, in quarantine and without a text"
            found = (recovered.contents, recovered.older["content"])
            texts = [each.get(record_id, {}).get("text") for each in found]
            text = next((each for each in texts if isinstance(each, str)), None)
            if text is not None:
                reason += "; an older text of it may be this one"
            self._note(reason, kept.path, kept.slot, record_id, text)
            if row is None:
                event_ms = int(header["event_ms"][0])
                row = {"id": record_id, "event_ms": event_ms, "recorded_ms": event_ms}
            words = {"id": record_id, "text": ""}
            header["flags"] |= int(Flag.QUARANTINED)
        if self._save(kept, row, words):
            header["tags"] = bloom(row, words, recovered.namespace_of(record_id))

    def _save(self, record: _Record, row: Row, words: Row) -> bool:
        if not _is_usable(record.header, row["event_ms"]):
            self._lose(row, record.path or None, "its strength or time is damaged")
            return False
        self._seen.add(row["id"])
        self.saved.append(SavedMemory(row["id"], record.tier, record.image, row, words))
        return True

    def _choose_strength(self, record: _Record, row: Row) -> None:
        """Choose the mutable half: the catalog's, unless only the partition's is possible.

        No checksum covers either copy. After the journal has been applied they are equal, except
        after a power cut in relaxed mode, when the catalog is right. So a difference means damage,
        and a note asks the user to look at it.
        """
        block, event_ms = record.image[MUTABLE_OFFSET:_END], row["event_ms"]
        if block.tobytes() == row["mutable"]:
            return
        self.mended += 1
        own, in_partition = block.copy(), _is_possible_half(record.header, event_ms)
        block[:] = np.frombuffer(row["mutable"], np.uint8)
        taken = "catalog"
        if in_partition and not _is_possible_half(record.header, event_ms):
            block[:] = own
            taken = "partition"
        if UNSYNCED not in self._recovered.meta:
            reason = (
                "its flags or strength differ in partition and catalog, so one copy is damaged; the "
                f"{taken}'s was taken"
            )
            self._note(reason, record.path, record.slot, row["id"])

    def _matching_pair(
        self, header: NDArray[np.void], row: Row | None
    ) -> tuple[Row | None, Row | None]:
        """A row and a text that the seal proves to belong together, and to this record."""
        recovered = self._recovered
        record_id, event_ms = int(header["id"][0]), int(header["event_ms"][0])
        if row is None and self._history is not None and record_id in self._history.moved:
            return None, None  # its text was changed, and it is unknown which one this is
        rows = [row, recovered.older["record"].get(record_id)]
        for words in (recovered.contents, recovered.older["content"]):
            if record_id not in words:
                continue
            for each in filter(None, rows):
                if each.get("event_ms") == event_ms and is_sealed_pair(each, words[record_id]):
                    return each, words[record_id]
            hints = recovered.hints.get(record_id, {})
            again = row_of_words(record_id, event_ms, hints, words[record_id])
            if again is not None and self._has_tags(header, again, words[record_id]):
                return again, words[record_id]
        return row, None

    def _has_tags(self, header: NDArray[np.void], row: Row, words: Row) -> bool:
        """Whether a record has the bits of these words and this row, and those of its key or none."""
        namespaces = (None, self._recovered.namespace_of(row["id"]))
        return int(header["tags"][0]) in [bloom(row, words, each) for each in namespaces]

    # -- new records for texts whose record is lost ---------------------------------------------

    def _mend(self, unpaired: list[tuple[Row, int]]) -> None:
        """Make records from the catalog's rows and newly embedded texts."""
        bare, embed = 0, self._embed
        for row, tier in unpaired:
            if row["id"] in self._seen:
                continue
            self._seen.add(row["id"])
            segment = self._named.get(row["segment_id"])
            tier = tier if tier >= 0 else _tier_of(segment)
            path = str(segment["path"]) if segment else None
            words = self._recovered.contents.get(row["id"])
            if words is None or not is_sealed_pair(row, words):
                self._lose(row, path, "its record and its text are damaged")
                continue
            vectors = embed([stored_words(words)]) if embed is not None and tier >= 0 else None
            if vectors is None:
                self._lose(row, path, "its vector is lost; its text is whole")
                bare += tier >= 0
                embed = None if tier >= 0 else embed  # it does not work: do not try again
                continue
            record = _Record(self._new_image(row, words, vectors, tier), path or "", 0, tier)
            if self._save(record, row, words):
                self.mended += 1
                reason = (
                    "its damaged vector was made again; category, modality, confidence are lost"
                )
                self._note(reason, path, row["slot"], row["id"])
        if bare and self._identity.fingerprint:
            self._note(
                f"memories with a text and without a vector: {bare}; a repair with the store's"
                f" embedder ({self._identity.model_id}) makes their vectors again: embedder=,"
                " --embedder"
            )

    def _new_image(self, row: Row, words: Row, vectors: NDArray[np.float32], tier: int) -> Bytes:
        image = np.zeros(self._stride, dtype=np.uint8)
        header = image[:HEADER_BYTES].view(RECORD_DTYPE)
        codes, scales = quantize(normalize(vectors))
        header["version"], header["tier"], header["id"] = RECORD_VERSION, tier, row["id"]
        header["event_ms"] = row["event_ms"]
        header["tags"] = bloom(row, words, self._recovered.namespace_of(row["id"]))
        header["confidence"], header["scale"] = 255, scales[0]
        block = np.frombuffer(row["mutable"], dtype=MUTABLE_DTYPE)[0]
        for name in MUTABLE_DTYPE.names or ():
            header[name] = block[name]
        image[HEADER_BYTES : HEADER_BYTES + self._identity.dim] = codes[0].view(np.uint8)
        return image


def _within(value: object, most: int) -> int | None:
    return value if type(value) is int and 0 <= value <= most else None


def _is_row(row: Row) -> bool:
    whole = all(type(row.get(name)) is int for name in ROW[:5])
    mutable = row.get("mutable")
    return whole and row["slot"] >= 0 and type(mutable) is bytes and len(mutable) == MUTABLE_BYTES


def _tier_of(segment: Mapping[str, Any] | None) -> int:
    """The tier of a partition's row, or -1 when it is unknown."""
    return -1 if segment is None or segment["tier"] is None else int(segment["tier"])


def _is_usable(header: NDArray[np.void], event_ms: int) -> bool:
    """True when a check of the new store would accept the header's numbers and time."""
    numbers = [float(header[name][0]) for name in ("scale", "importance", "utility")]
    stability = float(header["stability_days"][0])
    sound = all(0 <= n <= 1 for n in numbers) and 0 < stability < 1e30
    return sound and MIN_MS <= event_ms <= MAX_MS


def _is_possible_half(header: NDArray[np.void], event_ms: int) -> bool:
    """True when a living record may have this mutable half."""
    flags = int(header["flags"][0])
    return _is_usable(header, event_ms) and not flags & ~_FLAGS and not flags & Flag.TOMBSTONE


def _keep_later_halves(before: Bytes, after: Bytes) -> None:
    """Undo older mutable halves that the journal put over records (n, stride).

    An outdated journal lacks later writes: it would revive forgotten memories. Only its tombstones
    count.
    """
    same = (before[:, :MUTABLE_OFFSET] == after[:, :MUTABLE_OFFSET]).all(axis=1)
    same &= (before[:, _END:] == after[:, _END:]).all(axis=1)
    flags = after[:, MUTABLE_OFFSET : MUTABLE_OFFSET + 2].copy().view("<u2")[:, 0]
    same &= (flags & int(Flag.TOMBSTONE)) == 0
    after[same, MUTABLE_OFFSET:_END] = before[same, MUTABLE_OFFSET:_END]


_BATCH = 1024
#: bytes of attachments from which they are committed
_MOST_ATTACHED: Final = 64 << 20

_ATTACHMENT: Final = table_named("attachment")
#: sorts of items that live by ties to memories
_TIED: Final = frozenset({"entity", "association"})
_TIES: Final = frozenset({"mention", "evidence"})
_Rows = dict[str, list[dict[str, Any]]]

#: a tier's way to stage records, (n, stride) u8 with their event times; says partitions and slots
Place = Callable[[Transaction, Bytes, NDArray[np.int64]], Any]


def transplant(
    store: Store,
    found: Salvage,
    places: Mapping[int, Place],
    *,
    last_id: int,
    knowledge: Mapping[str, Sequence[Mapping[str, Any]]],
    progress: Progress | None = None,
) -> None:
    """Write every saved memory into an empty store, and the whole rows of knowledge about them.

    Args:
        places: tier -> its ``Place``.
        knowledge: table -> rows as they were read.
    """
    for each in found.saved:
        if each.tier not in places:
            reason = f"it belongs to tier {each.tier}, which is not registered"
            found.lost.append(Loss(id=each.id, text=each.words.get("text"), reason=reason))
    found.saved = [each for each in found.saved if each.tier in places]
    ordered = sorted(found.saved, key=lambda each: (each.tier, each.id))
    done = 0
    for tier, members in groupby(ordered, key=lambda each: each.tier):
        of_tier = list(members)
        for start in range(0, len(of_tier), _BATCH):
            part = of_tier[start : start + _BATCH]
            _write(store, places[tier], part, last_id)
            done += len(part)
            if progress is not None:
                progress(done, len(ordered))
    _transplant_knowledge(store, found, knowledge)


def _write(store: Store, place: Place, part: list[SavedMemory], last_id: int) -> None:
    images = np.ascontiguousarray(np.stack([each.image for each in part]))
    headers = headers_of(images)
    headers["tier"], headers["centroid"] = part[0].tier, 0
    headers["flags"] &= ~np.uint16(Flag.TOMBSTONE)
    headers["crc"] = crc32c_rows(images, seed=store.uuid)
    record: dict[str, list[Any]] = {
        name: [each.row.get(name) for each in part] for name in ROW if name != "mutable"
    }
    record["mutable"] = [
        bytearray(image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]) for image in images
    ]
    content: dict[str, list[Any]] = {
        name: [each.words.get(name) for each in part] for name in WORDS
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


def _transplant_knowledge(
    store: Store, found: Salvage, recovered: Mapping[str, Sequence[Mapping[str, Any]]]
) -> None:
    """Write rows of knowledge beside the memories that they are of; list the damaged ones.

    Args:
        recovered: table -> rows as they were read.
    """
    if not any(recovered.values()):
        return
    saved = {each.id for each in found.saved}
    rows = _sound(recovered, saved, found)
    items = _items(rows, saved)
    rows["item"] = [row for row in rows["item"] if row["item_id"] in items]
    rows["edge"] = _edges(rows, found)
    rows["entry"] = list(_entries(rows, found))
    with store.transaction() as tx:
        for group in sorted({each.group for each in PAYLOAD_TABLES if rows[each.name]}):
            make_tables(tx.connection, group)
        for table in PAYLOAD_TABLES:
            for row in rows[table.name] if table is not _ATTACHMENT else ():
                ends = [row[each] for each in table.owners if row[each] is not None]
                if all(each in saved or each in items for each in ends):
                    _put(tx.connection, table, row, found)
        tx.note_id(max(items, default=0))
    for part in _by_weight([row for row in rows[_ATTACHMENT.name] if row["id"] in saved]):
        with store.transaction() as tx:
            for row in part:
                data = row["data"]
                whole = row | {"data": data.read() if isinstance(data, Spooled) else data}
                _put(tx.connection, _ATTACHMENT, whole, found)


def _by_weight(rows: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Attachments in parts that a commit has room for."""
    part, weight = list[dict[str, Any]](), 0
    for row in rows:
        part.append(row)
        weight += len(row["data"])
        if weight > _MOST_ATTACHED:
            yield part
            part, weight = [], 0
    if part:
        yield part


def _sound(
    recovered: Mapping[str, Sequence[Mapping[str, Any]]], saved: Collection[int], found: Salvage
) -> _Rows:
    """Rows whose seal fits; of the others, those of saved memories are listed."""
    rows: _Rows = {}
    for table in PAYLOAD_TABLES:
        kept = rows[table.name] = []
        for stored in recovered.get(table.name, ()):
            row, problem = _read(table, stored)
            if problem is None:
                kept.append(row)
                continue
            owner = next((row[each] for each in table.owners if row[each] in saved), None)
            found.lost.append(_loss(owner, table, problem))
    return rows


def _read(table: PayloadTable, stored: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """A row, and what is wrong with it, which is known of one whose data was put aside."""
    data = stored.get("data")
    if not isinstance(data, Spooled):
        return table.read(list(stored.values()))
    return {name: stored[name] for name in table.names}, data.problem


def _edges(rows: _Rows, found: Salvage) -> list[dict[str, Any]]:
    """Edges of relations that are known; what a registered one means may be lost."""
    known = {each.name for each in BUILTIN_KINDS} | {
        json.loads(row["json"]).get("name")
        for row in rows["item"]
        if row["sort"] == "relation_kind"
    }
    for row in rows["edge"]:
        if row["kind"] not in known:
            reason = f"its edge has the relation {row['kind']!r}, whose meaning is lost"
            found.lost.append(Loss(id=row["source_id"], file=CATALOG_NAME, reason=reason))
    return [row for row in rows["edge"] if row["kind"] in known]


def _entries(rows: _Rows, found: Salvage) -> Iterator[dict[str, Any]]:
    """Entries that say what is attached to their memories still; one that is lost is made anew."""
    sizes = {row["id"]: len(row["data"]) for row in rows["attachment"]}
    for row in rows["entry"]:
        yield row | {"attached_bytes": sizes.pop(row["id"], None)}
    for each in found.saved:
        if each.id in sizes:
            entry = new_entry(each.id, each.row.get("user_id"), each.row.get("agent_id"))
            yield entry | {"attached_bytes": sizes[each.id]}


def _items(rows: _Rows, saved: Collection[int]) -> set[int]:
    """Items that something saved is left of, and those that live by nothing."""
    tied = {row["a"] for row in rows["link"] if row["kind"] in _TIES and row["b"] in saved}
    return {
        row["item_id"]
        for row in rows["item"]
        if row["item_id"] not in saved and (row["sort"] not in _TIED or row["item_id"] in tied)
    }


def _put(
    db: sqlite3.Connection, table: PayloadTable, row: Mapping[str, Any], found: Salvage
) -> None:
    try:
        put_rows(db, table, [row])
    except sqlite3.IntegrityError as error:  # an older row that holds as well
        found.lost.append(_loss(row[table.owners[0]], table, str(error)))


def _loss(owner: int | None, table: PayloadTable, problem: str) -> Loss:
    reason = f"its row of {table.name} is damaged: {problem}"
    return Loss(id=owner, file=CATALOG_NAME, reason=reason)
