"""Rows and bytes of records that are about to change."""

from __future__ import annotations

import numpy as np

from spector.language.statements import speaker_in
from spector.layout import MUTABLE_BYTES, MUTABLE_DTYPE, MUTABLE_OFFSET, Flag
from spector.records import aliases_in, turn_before_in
from spector.store.catalog import Row
from spector.store.core import Store, verified_image
from spector.store.files import Bytes
from spector.write.drafts import Draft

__all__ = ["current_bytes", "indexed_of", "row_of", "with_flag", "words_of_row"]


def current_bytes(store: Store, row: Row) -> Bytes:
    """(stride,) u8 copy of a record with the catalog's mutable half, which is authoritative.

    The partition's copy of that half has no checksum, so damage to it must not spread.
    """
    image = verified_image(store, row).copy()
    image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = np.frombuffer(row.mutable, np.uint8)
    return image


def words_of_row(row: Row) -> tuple[object, ...]:
    """The readable content of a row; none of it may outlive its replacement."""
    return (
        row.text,
        row.tags,
        row.metadata,
        row.session_id,
        row.agent_id,
        row.user_id,
        row.role,
        row.source,
    )


def indexed_of(memory: Row | Draft) -> tuple[object, ...]:
    """What the index of words has of a memory and its record has not."""
    return (
        memory.text,
        speaker_in(memory.role, memory.metadata),
        memory.role,
        memory.source,
        aliases_in(memory.metadata),
        turn_before_in(memory.metadata),
    )


def with_flag(block: bytes, flag: Flag) -> bytes:
    array = np.frombuffer(block, dtype=MUTABLE_DTYPE).copy()
    array["flags"] |= int(flag)
    return array.tobytes()


def row_of(draft: Draft, record_id: int, mutable: bytes, event_ms: int, recorded_ms: int) -> Row:
    """The row of a draft; placing it fills in segment and slot."""
    return Row(
        record_id,
        -1,
        -1,
        event_ms,
        recorded_ms,
        draft.valid_from_ms,
        draft.valid_until_ms,
        draft.session_id,
        draft.agent_id,
        draft.user_id,
        mutable,
        draft.text,
        draft.tags,
        draft.metadata or {},
        draft.role,
        draft.source,
        draft.parents,
        draft.metadata_json if draft.metadata else None,
    )
