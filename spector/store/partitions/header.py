"""The 64 bytes that a partition file begins with: what they should be, and what they are."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from spector._version import __version__
from spector.errors import (
    CatalogCorruptError,
    ForeignPartitionError,
    FormatVersionError,
    PartitionCorruptError,
    SpectorError,
    StateTransitionError,
)
from spector.kernel import crc32c
from spector.layout import (
    FORMAT_VERSION,
    LEGAL_TRANSITIONS,
    PARTITION_DTYPE,
    PARTITION_HEADER_BYTES,
    PartitionState,
)
from spector.messages import counted
from spector.store.catalog import SegmentRow

__all__ = [
    "ExpectedHeader",
    "check_transition",
    "is_ahead",
    "later_than_catalog",
    "pack_header",
    "unpack_header",
]

_FOREIGN = (
    "move it away, over no other file, and put this store's own one back; without it, salvage what"
    " there is: spector check PATH --repair DEST"
)
#: ``PARTITION_DTYPE`` without the checksum
_HEADER = struct.Struct("<8IiI16sI")


def check_transition(before: int, after: int, where: str) -> None:
    """Refuse every state change that the life of a partition does not have."""
    if (before, after) not in LEGAL_TRANSITIONS:
        names = f"{PartitionState(before).name} -> {PartitionState(after).name}"
        raise StateTransitionError(f"{where}: {names} is not a legal transition")


def pack_header(
    row: SegmentRow,
    *,
    magic: int,
    stride: int,
    dim: int,
    uuid: bytes,
    version: int = FORMAT_VERSION,
) -> bytes:
    """The 64 header bytes that a segment row implies.

    Raises:
        CatalogCorruptError: it counts more live slots than slots.
    """
    if row.dead < 0:
        raise CatalogCorruptError(
            f"the catalog's row of {row.path} is impossible: {row.live} of {row.slots} slots live",
            hint="run: spector check PATH; restore a backup, or salvage what there is: spector"
            " check PATH --repair DEST",
        )
    body = _HEADER.pack(
        magic,
        version,
        row.live,
        row.dead,
        row.capacity,
        row.state,
        stride,
        dim,
        row.day,
        row.sequence,
        uuid,
        row.generation,
    )
    return body + crc32c(body).to_bytes(4, "little")


def unpack_header(raw: bytes, *, where: str, uuid: bytes | None) -> dict[str, Any]:
    """Fields of a partition header after checking magic-independent invariants.

    Raises:
        PartitionCorruptError: too short, wrong checksum, impossible values.
        FormatVersionError: newer than this code.
        ForeignPartitionError: a partition of another store.
    """
    hint = "run: spector check PATH"
    if len(raw) < PARTITION_HEADER_BYTES:
        message = f"{where}: only {counted(len(raw), 'byte')}, no room for a header"
        raise PartitionCorruptError(message, hint=hint)
    header = np.frombuffer(raw[:PARTITION_HEADER_BYTES], dtype=PARTITION_DTYPE)[0]
    if int(header["crc"]) != crc32c(raw[:60]):
        raise PartitionCorruptError(f"{where}: the header's checksum does not match", hint=hint)
    if int(header["version"]) > FORMAT_VERSION:
        raise FormatVersionError(
            f"{where} has format {int(header['version'])}; spector {__version__} reads up to "
            f"{FORMAT_VERSION}",
            hint="upgrade: pip install -U spector-memory",
        )
    if uuid is not None and header["store_uuid"].tobytes() != uuid:
        raise ForeignPartitionError(f"{where} belongs to another store", hint=_FOREIGN)
    names = PARTITION_DTYPE.names or ()
    return {
        name: header[name].tobytes() if name == "store_uuid" else int(header[name])
        for name in names
    }


def is_ahead(header: dict[str, Any], row: SegmentRow) -> bool:
    """True for the header of a later commit than the catalog's row of the same file.

    Headers are written after the commit has become durable, and within a generation slots and
    tombstones only grow. So the catalog has lost commits: an old copy, or damage to its log.
    """
    dead = int(header["tombstone_count"])
    return header["generation"] == row.generation and (
        header["count"] + dead > row.slots or dead > row.dead
    )


def later_than_catalog(where: str) -> PartitionCorruptError:
    return PartitionCorruptError(
        f"{where} is of a later commit than the catalog, which has lost some",
        hint="restore a backup, or salvage what there is: spector check PATH --repair DEST",
    )


@dataclass(frozen=True, slots=True)
class ExpectedHeader:
    """What a store's rows and the headers of its partition files must agree in."""

    magic: int
    stride: int
    dim: int
    uuid: bytes
    version: int = FORMAT_VERSION

    def pack(self, row: SegmentRow) -> bytes:
        return pack_header(
            row,
            magic=self.magic,
            stride=self.stride,
            dim=self.dim,
            uuid=self.uuid,
            version=self.version,
        )

    def unpack(self, raw: bytes, row: SegmentRow) -> dict[str, Any]:
        return unpack_header(raw, where=row.path, uuid=self.uuid)

    def check(self, raw: bytes, row: SegmentRow) -> None:
        """Raise when a header is not the one that the catalog's row implies."""
        if raw == self.pack(row):  # the checksum is in it, so equal bytes need no further look
            return
        found = self.unpack(raw, row)
        expected = {
            **self._lasting(row),
            "count": row.live,
            "tombstone_count": row.dead,
            "state": row.state,
            "capacity": row.capacity,
        }
        _compare(
            found,
            expected,
            row.path,
            "partition and catalog are from different moments; restore both together",
        )

    def refuse_other(self, raw: bytes, row: SegmentRow, *, later: bool) -> None:
        """Raise when a header is whole, but of another file or (``later``) of a later commit."""
        if raw == self.pack(row):
            return
        try:
            found = self.unpack(raw, row)
        except PartitionCorruptError as error:
            if "checksum" in error.message:
                return  # torn, and about to be written again
            raise
        if later and is_ahead(found, row):
            raise later_than_catalog(row.path)
        _compare(
            found,
            self._lasting(row),
            row.path,
            "this is another partition's file; move it away and put the right one back, or"
            " salvage what there is: spector check PATH --repair DEST",
        )

    def is_later(self, raw: bytes, row: SegmentRow) -> bool:
        """True when a header is of a later commit than the row."""
        if raw == self.pack(row):
            return False
        try:
            return is_ahead(self.unpack(raw, row), row)
        except SpectorError:
            return False

    def _lasting(self, row: SegmentRow) -> dict[str, int]:
        """What no commit of one generation changes."""
        return {
            "magic": self.magic,
            "version": self.version,
            "stride": self.stride,
            "dim": self.dim,
            "day": row.day,
            "sequence": row.sequence,
            "generation": row.generation,
        }


def _compare(found: dict[str, Any], expected: dict[str, int], where: str, hint: str) -> None:
    for name, value in expected.items():
        if found[name] != value:
            raise PartitionCorruptError(
                f"{where}: {name} is {found[name]}, but the catalog says {value}", hint=hint
            )
