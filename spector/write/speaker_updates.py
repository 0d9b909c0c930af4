"""Gives earlier memories their speaker once a later one opens with the same name.

Their words, vectors and ids stay. The speaker is part of a memory's index entry, so each gets a new
slot, in the commit of the later one. Nothing is embedded again: the name in the vectors of a
speaker's first memories hardly changes a rank (bench/log), and embedding them again could make one
write take as long as all of them took.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.arguments import check_metadata
from spector.config import Config
from spector.errors import CatalogCorruptError, InvalidMetadataError, PartitionCorruptError
from spector.kernel.contract import dots, norm
from spector.layout import (
    CERTAIN_BYTE,
    HEADER_BYTES,
    MUTABLE_BYTES,
    MUTABLE_DTYPE,
    MUTABLE_OFFSET,
    RECORD_DTYPE,
    Flag,
)
from spector.store.catalog import Row, verify_row
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction, header_of, verified_image
from spector.store.files import Bytes
from spector.tiers import TierRouter, TierStore
from spector.write.drafts import reseal

__all__ = ["Naming", "is_vector_of", "namings", "renoted"]

#: cosine from which a stored vector, quantized, is the one that the embedder makes
_SAME = 0.995


@dataclass(frozen=True, slots=True, eq=False)
class Naming:
    """A memory's row as it is and will be, and its new bytes, (1, stride) u8."""

    before: Row
    after: Row
    image: Bytes
    tier: TierStore

    def stage(self, tx: Transaction) -> None:
        block = np.frombuffer(self.before.mutable, MUTABLE_DTYPE).copy()
        block["flags"] |= int(Flag.TOMBSTONE)
        segment_id, slot = self.tier.relocate(
            tx, self.before, self.image, self.before.event_ms, block.tobytes()
        )
        after = replace(self.after, segment_id=segment_id, slot=slot)
        catalog_rows.update_row(tx.connection, self.before, after)


def namings(
    store: Store, router: TierRouter, names: Mapping[int, str], config: Config
) -> list[Naming]:
    """The changes that give memories of a store their speakers, by id; the lock is held.

    A memory that is immutable, damaged, uncertain, or has no room in its metadata is skipped.
    """
    out = []
    for record_id, name in names.items():
        try:
            found = _naming(store, router, record_id, name, config)
        except (CatalogCorruptError, PartitionCorruptError, InvalidMetadataError):
            continue
        if found is not None:
            out.append(found)
    return out


def _naming(
    store: Store, router: TierRouter, record_id: int, name: str, config: Config
) -> Naming | None:
    row = store.catalog.fetch([record_id]).get(record_id)
    if row is None:
        return None
    found = renoted(store, router, row, {**row.metadata, "speaker": name}, config)
    certain = found is not None and header_of(found.image[0])["confidence"] >= CERTAIN_BYTE
    return found if certain else None


def renoted(
    store: Store, router: TierRouter, row: Row, metadata: Mapping[str, Any], config: Config
) -> Naming | None:
    """The change that gives a memory other metadata; None where it must not change.

    Raises:
        CatalogCorruptError, PartitionCorruptError: it is damaged.
        InvalidMetadataError: the metadata have no room.
    """
    segment = store.segments.get(row.segment_id)
    if segment is None:
        return None
    verify_row(row, store.catalog.path)
    image = verified_image(store, row).copy()
    image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = np.frombuffer(row.mutable, np.uint8)
    header = image[:HEADER_BYTES].view(RECORD_DTYPE)[0]
    if Flag.IMMUTABLE & int(header["flags"]):
        return None
    header["centroid"] = 0  # its new partition has no clusters yet
    sealed = reseal(image.reshape(1, -1), store.uuid).images
    checked, metadata_json = check_metadata(metadata, config)
    after = replace(row, metadata=checked, metadata_json=metadata_json, stored=None)
    return Naming(row, after, sealed, router.by_code(segment.row.tier))


def is_vector_of(image: Bytes, vector: NDArray[np.float32]) -> bool:
    """Whether a record's bytes, (stride,) u8, hold a vector (dim,), within the codes' precision."""
    if not header_of(image)["scale"]:
        return False
    codes = image[HEADER_BYTES : HEADER_BYTES + len(vector)].view(np.int8).astype(np.float32)
    norms = norm(codes) * norm(vector)
    return norms > 0.0 and float(dots(codes[None], vector)[0]) >= _SAME * norms
