"""Make new records for texts whose record is lost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import normalize, quantize
from spector.layout import HEADER_BYTES, MUTABLE_DTYPE, RECORD_DTYPE, RECORD_VERSION, stride_of
from spector.records import Loss
from spector.store.catalog import bloom, is_sealed_pair
from spector.store.files import Bytes
from spector.store.repair.remnants import RecoveredCatalog
from spector.store.repair.salvage import (
    Embed,
    Identity,
    Salvage,
    SavedMemory,
    is_usable,
    loss_of,
    tier_of,
)
from spector.store.words import stored_words

__all__ = ["mend_records"]


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
            image = _new_image(row, vectors, words, tier, identity)
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
    words: dict[str, Any],
    tier: int,
    identity: Identity,
) -> Bytes:
    image = np.zeros(stride_of(identity.dim), dtype=np.uint8)
    header = image[:HEADER_BYTES].view(RECORD_DTYPE)
    codes, scales = quantize(normalize(vectors))
    header["version"], header["tier"], header["id"] = RECORD_VERSION, tier, row["id"]
    header["event_ms"], header["tags"] = row["event_ms"], bloom(row, words)
    header["confidence"], header["scale"] = 255, scales[0]
    block = np.frombuffer(row["mutable"], dtype=MUTABLE_DTYPE)[0]
    for name in MUTABLE_DTYPE.names or ():
        header[name] = block[name]
    image[HEADER_BYTES : HEADER_BYTES + identity.dim] = codes[0].view(np.uint8)
    return image
