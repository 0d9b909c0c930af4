"""From a catalog row and a record's bytes to the record that a user sees."""

from __future__ import annotations

from typing import Any

import numpy as np

from spector.errors import PartitionCorruptError
from spector.kernel.crc import crc32c_rows
from spector.layout import (
    HEADER_BYTES,
    RECORD_DTYPE,
    Category,
    Flag,
    Modality,
)
from spector.records import MemoryRecord
from spector.store.catalog import Row
from spector.store.files import Bytes
from spector.store.store import Store

__all__ = ["header_of", "to_record", "verified_image"]


def verified_image(store: Store, row: Row) -> Bytes:
    """(stride,) u8: a record's bytes, after checking that they are this record, undamaged.

    Raises:
        PartitionCorruptError: the checksum or the id does not match.
    """
    image = store.record_image(row.segment_id, row.slot)
    check_image(store, row, image)
    return image


def check_image(store: Store, row: Row, image: Bytes) -> None:
    """Raise when the bytes are not the undamaged record of ``row``."""
    crc = np.empty(1, dtype=np.uint32)
    crc32c_rows(image.reshape(1, -1), crc, store.uuid)
    header = header_of(image)
    if int(header["crc"]) != int(crc[0]) or int(header["id"]) != row.id:
        segment = store.segments.get(row.segment_id)
        where = segment.where if segment else f"partition {row.segment_id}"
        raise PartitionCorruptError(
            f"{where} slot {row.slot}: the record's checksum or id does not match",
            hint="run: spector check PATH",
        )


def header_of(image: Bytes) -> Any:
    """The header fields of one record image."""
    return image[:HEADER_BYTES].view(RECORD_DTYPE)[0]


def to_record(row: Row, header: Any, tier: str) -> MemoryRecord:
    """The user's view of a record."""
    return MemoryRecord(
        id=row.id,
        text=row.text,
        tier=tier,
        tags=row.tags,
        metadata=row.metadata,
        event_ms=int(header["event_ms"]),
        recorded_ms=row.recorded_ms,
        valid_from_ms=row.valid_from_ms,
        valid_until_ms=row.valid_until_ms,
        session_id=row.session_id,
        agent_id=row.agent_id,
        user_id=row.user_id,
        role=row.role,
        source=row.source,
        confidence=int(header["confidence"]) / 255,
        importance=float(header["importance"]),
        valence=max(-1.0, int(header["valence"]) / 127),
        arousal=int(header["arousal"]) / 255,
        stability_days=float(header["stability_days"]),
        utility=float(header["utility"]),
        access_count=int(header["access_count"]),
        last_access_s=int(header["last_access_s"]),
        flags=Flag(int(header["flags"]) & 0x1FF),
        category=_enum(Category, int(header["category"])),
        modality=_enum(Modality, int(header["modality"])),
        parents=row.parents,
    )


def _enum(kind: Any, value: int) -> Any:
    """The member, or the first one for values that a newer version may have written."""
    try:
        return kind(value)
    except ValueError:
        return kind(0)
