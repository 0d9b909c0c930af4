"""Read a store's files without opening it, so that a damaged one can be inspected.

Damage raises no error: it becomes a note beside what could be read.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spector.clock import iso_of_day, iso_of_ms
from spector.errors import SpectorError, StoreError, StoreNotFoundError
from spector.kernel import crc32c_rows
from spector.layout import (
    HEADER_BYTES,
    PARTITION_DTYPE,
    PARTITION_HEADER_BYTES,
    RECORD_DTYPE,
    Category,
    Flag,
    Modality,
    PartitionState,
    TierCode,
)
from spector.store.catalog import (
    CATALOG_NAME,
    Catalog,
    Row,
    SegmentRow,
    split_reserved_tags,
    successors,
)
from spector.store.files import DiskFiles, first_bytes, written_end
from spector.store.opening import has_partitions, no_store_at
from spector.store.partitions import unpack_header
from spector.store.payloads import rows_naming


@dataclass(slots=True)
class PartitionFile:
    """One .mem file: its header, as far as it can be read, and its problems."""

    file: str
    bytes: int = 0
    state: str = "?"
    day: str | None = None
    live: int = 0
    dead: int = 0
    capacity: int = 0
    generation: int = 0
    stride: int = 0
    dim: int = 0
    problems: list[str] = field(default_factory=list)


class RawStore:
    """The files of a store and its catalog, if that can be read."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        if not os.path.exists(self.root / "catalog.db") and not has_partitions(str(root)):
            raise no_store_at(str(root))
        self._files = DiskFiles(str(root))
        self.problems: list[str] = []
        self.meta: dict[str, str] = {}
        self.segments: list[SegmentRow] = []
        self.catalog = self._open_catalog()
        self.names: list[str] = []
        for path in sorted(self.root.rglob("*.mem")):
            name = path.relative_to(self.root).as_posix()
            if path.is_symlink() or not path.is_file():  # a pipe, or a link to another place
                self.problems.append(f"{name}: not a regular file")
            else:
                self.names.append(name)
        if self.catalog is None and not self.names:
            raise StoreNotFoundError(f"there is no store at {root}", hint="check the path")

    def __enter__(self) -> RawStore:
        return self

    def __exit__(self, *_: object) -> None:
        if self.catalog is not None:
            self.catalog.close()

    def _open_catalog(self) -> Catalog | None:
        path = self.root / CATALOG_NAME
        if not path.exists():
            self.problems.append(f"{CATALOG_NAME} is missing")
            return None
        catalog: Catalog | None = None
        for immutable in (False, True):  # the second attempt is for read-only media
            try:
                catalog = Catalog(str(path), mode="r", durability="strict", immutable=immutable)
                self.meta = catalog.validate()
                self.segments = catalog.segments()
                return catalog
            except Exception as error:  # damage shows in many ways; all of them are reported
                if catalog is not None:
                    catalog.close()
                if immutable:
                    self.problems.append(f"{CATALOG_NAME}: {error}")
        return None

    @property
    def uuid(self) -> bytes | None:
        with contextlib.suppress(KeyError, ValueError):
            return bytes.fromhex(self.meta["uuid"])
        return None

    def partitions(self) -> list[PartitionFile]:
        """Every partition that is on disk or in the catalog, by name."""
        known = {row.path: row for row in self.segments if row.state != PartitionState.COMPACTED}
        found = [self._partition(name, known.get(name)) for name in self.names]
        missing = sorted(known.keys() - set(self.names))
        return found + [
            PartitionFile(name, live=known[name].live, problems=["file is missing"])
            for name in missing
        ]

    def _partition(self, name: str, row: SegmentRow | None) -> PartitionFile:
        out = PartitionFile(name)
        try:
            path = self.root / name
            out.bytes = path.stat().st_size
            raw = first_bytes(self._files, name, PARTITION_HEADER_BYTES)
        except (OSError, StoreError) as error:
            said = error.strerror if isinstance(error, OSError) else None
            out.problems.append(said or str(error))
            return out
        if len(raw) < PARTITION_HEADER_BYTES:
            out.problems.append(f"only {len(raw)} bytes, no room for a header")
            return out
        _fill(out, raw)
        try:
            unpack_header(raw, where=name, uuid=self.uuid)
        except SpectorError as error:
            out.problems.append(error.message.removeprefix(f"{name}: "))
        if self.catalog is None:
            return out
        if row is None:
            out.problems.append("not in the catalog")
        elif (out.live, out.dead) != (row.live, row.dead):
            out.problems.append(f"the catalog says {row.live} live, {row.dead} dead")
        if row is not None and out.bytes < PARTITION_HEADER_BYTES + row.slots * out.stride:
            out.problems.append(f"too short for its {row.slots} records")
        return out

    def find(self, record_id: int) -> dict[str, Any] | None:
        """Everything that can be read of one record; None when there is nothing of it."""
        row: Row | None = None
        newer: list[int] = []
        known: dict[str, list[dict[str, Any]]] = {}
        if self.catalog is not None:
            with self._noting():
                row = self.catalog.fetch([record_id]).get(record_id)
        place = self._place_of(row) if row is not None else None
        if place is None:
            place = self._search(record_id)
        if row is None and place is None:
            return None
        out: dict[str, Any] = {"id": record_id}
        if place is not None:
            out.update(self._record(*place, record_id))
        if self.catalog is not None:
            with self._noting():
                newer = list(successors(self.catalog, [record_id]).get(record_id, ()))
            with self._noting(), self.catalog.reading() as db:
                for table, found, problem in rows_naming(db, record_id):
                    if problem is not None:
                        self.problems.append(f"a row of {table} is damaged: {problem}")
                        found = {**found, "problem": problem}
                    known.setdefault(table, []).append(found)
        out["catalog"] = None if row is None else {**_catalog_view(row), "superseded_by": newer}
        return out | ({"knowledge": known} if known else {})

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except SpectorError as error:
            self.problems.append(error.message)

    def _place_of(self, row: Row) -> tuple[str, int] | None:
        paths = {segment.id: segment.path for segment in self.segments}
        path = paths.get(row.segment_id)
        return (path, row.slot) if path is not None and path in self.names else None

    def _search(self, record_id: int) -> tuple[str, int] | None:
        """Search the headers of all partitions, when the catalog does not name the record."""
        for name in self.names:
            rows = self._rows(name)
            if rows is None:
                continue
            ids = np.ascontiguousarray(rows[:, :HEADER_BYTES]).view(RECORD_DTYPE)["id"][:, 0]
            (slots,) = np.nonzero(ids == np.uint64(record_id))
            if len(slots):
                return name, int(slots[-1])
        return None

    def _rows(self, name: str) -> Any:
        """(n, stride) u8 of the records up to the first hole of a file; None without a header."""
        with contextlib.closing(self._files.open(name, writable=False)) as file:
            raw = file.read_at(0, written_end(file))
        if len(raw) < PARTITION_HEADER_BYTES:
            return None
        stride = int(np.frombuffer(raw[:PARTITION_HEADER_BYTES], PARTITION_DTYPE)["stride"][0])
        if stride < HEADER_BYTES:
            return None
        count = (len(raw) - PARTITION_HEADER_BYTES) // stride
        body = np.frombuffer(raw, np.uint8, count * stride, PARTITION_HEADER_BYTES)
        return body.reshape(count, stride)

    def _record(self, name: str, slot: int, record_id: int) -> dict[str, Any]:
        rows = self._rows(name)
        out: dict[str, Any] = {"file": name, "slot": slot}
        if rows is None or slot >= len(rows):
            self.problems.append(f"{name} slot {slot}: beyond the end of the file")
            return out
        image = np.ascontiguousarray(rows[slot : slot + 1])
        header = image[:, :HEADER_BYTES].copy().view(RECORD_DTYPE)[0, 0]
        out["offset"] = PARTITION_HEADER_BYTES + slot * image.shape[1]
        out["header"] = _header_view(header)
        if int(header["id"]) != record_id:
            self.problems.append(f"{name} slot {slot}: holds record {int(header['id'])}")
        uuid = self.uuid or first_bytes(self._files, name, PARTITION_HEADER_BYTES)[40:56]
        out["crc_ok"] = int(crc32c_rows(image, seed=uuid)[0]) == int(header["crc"])
        return out


def _fill(out: PartitionFile, raw: bytes) -> None:
    header = np.frombuffer(raw, PARTITION_DTYPE)[0]
    out.state = _name(PartitionState, int(header["state"]))
    day = int(header["day"])
    out.day = None if day == -1 else iso_of_day(day)
    out.live, out.dead = int(header["count"]), int(header["tombstone_count"])
    out.capacity, out.generation = int(header["capacity"]), int(header["generation"])
    out.stride, out.dim = int(header["stride"]), int(header["dim"])


def _header_view(header: Any) -> dict[str, Any]:
    flags = Flag(int(header["flags"]))
    return {
        "version": int(header["version"]),
        "tier": _name(TierCode, int(header["tier"])),
        "category": _name(Category, int(header["category"])),
        "modality": _name(Modality, int(header["modality"])),
        "scale": float(header["scale"]),
        "event_time": iso_of_ms(int(header["event_ms"])),
        "tags_bloom": f"{int(header['tags']):016x}",
        "centroid": int(header["centroid"]),
        "confidence": int(header["confidence"]) / 255,
        "crc": f"{int(header['crc']):08x}",
        "flags": [flag.name.lower() for flag in Flag if flag in flags and flag.name],
        "valence": int(header["valence"]) / 127,
        "arousal": int(header["arousal"]) / 255,
        "importance": float(header["importance"]),
        "stability_days": float(header["stability_days"]),
        "utility": float(header["utility"]),
        "access_count": int(header["access_count"]),
        "last_access": iso_of_ms(int(header["last_access_s"]) * 1000),
    }


def _catalog_view(row: Row) -> dict[str, Any]:
    found = split_reserved_tags(row.tags)
    return {
        "text": row.text,
        "tags": list(found.own),
        "metadata": row.metadata,
        "recorded_at": iso_of_ms(row.recorded_ms),
        "valid_from": None if row.valid_from_ms is None else iso_of_ms(row.valid_from_ms),
        "valid_until": None if row.valid_until_ms is None else iso_of_ms(row.valid_until_ms),
        "session_id": row.session_id,
        "agent_id": row.agent_id,
        "user_id": row.user_id,
        "role": row.role,
        "source": row.source,
        "parents": list(row.parents),
        "supersedes": list(found.supersedes),
    }


def _name(kind: Any, value: int) -> str:
    try:
        return str(kind(value).name).lower()
    except ValueError:
        return str(value)
