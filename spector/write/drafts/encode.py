"""From drafts and vectors to record images: the bytes that a partition will hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.kernel import crc32c_rows
from spector.kernel.contract import normalize, quantize, scope_tag, tags_mask
from spector.layout import (
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    RECORD_DTYPE,
    RECORD_VERSION,
    headers_of,
    stride_of,
)
from spector.store.files import Bytes
from spector.store.partitions import image_rows
from spector.write.drafts.batch import Batch, Strengths

__all__ = ["Encoded", "bloom_of", "encode_batch", "reseal"]

_MAX_U32 = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """images (n, stride) u8; headers is the same memory as (n,) RECORD_DTYPE."""

    images: Bytes
    headers: NDArray[np.void]

    def mutable(self, n: int) -> bytes:
        """The 24 mutable bytes of record n."""
        return self.images[n, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES].tobytes()

    def mutables(self) -> list[bytearray]:
        """The 24 mutable bytes of every record."""
        whole = bytearray(self.images[:, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES].tobytes())
        return [whole[at : at + MUTABLE_BYTES] for at in range(0, len(whole), MUTABLE_BYTES)]


def bloom_of(
    tags: Sequence[str], user_id: str | None, agent_id: str | None, session_id: str | None
) -> int:
    """The record's Bloom filter: its tags, and its scope ids as reserved tags."""
    mask = tags_mask(tags)
    if user_id is not None:
        mask |= tags_mask((scope_tag("user", user_id),))
    if agent_id is not None:
        mask |= tags_mask((scope_tag("agent", agent_id),))
    if session_id is not None:
        mask |= tags_mask((scope_tag("session", session_id),))
    return mask


def _blooms_of(batch: Batch) -> list[int]:
    """The Bloom filter of every draft; many have the same tags and scopes."""
    keys = list(
        zip(
            batch.column("tags", ()),
            batch.column("user_id"),
            batch.column("agent_id"),
            batch.column("session_id"),
            strict=True,
        )
    )
    known = {key: bloom_of(*key) for key in set(keys)}
    return [known[key] for key in keys]


def encode_batch(
    batch: Batch,
    strengths: Strengths,
    ids: Sequence[int],
    tier_codes: Sequence[int],
    vectors: NDArray[np.float32] | None,
    *,
    now_ms: int,
    dim: int,
    uuid: bytes,
    config: Config,
) -> Encoded:
    """Record images of drafts. ``vectors`` is (n, dim) f32; zeros or None: without a vector."""
    headers = np.zeros(batch.size, dtype=RECORD_DTYPE)
    codes = np.zeros((batch.size, dim), dtype=np.int8)
    if vectors is not None:
        given = vectors.any(axis=1)
        if given.all():
            codes, headers["scale"] = quantize(normalize(vectors))
        else:
            codes[given], headers["scale"][given] = quantize(normalize(vectors[given]))
    headers["version"] = RECORD_VERSION
    headers["tier"] = tier_codes
    headers["id"] = ids
    headers["event_ms"] = [now_ms if ms is None else ms for ms in batch.column("event_ms")]
    headers["tags"] = _blooms_of(batch)
    headers["confidence"] = round(255 * config.default_confidence)
    for name, column in batch.given("category", "modality").items():
        headers[name] = column
    for name, column in batch.given("valence", "arousal", "confidence").items():
        values = [config.default_confidence if each is None else each for each in column]
        headers[name] = np.rint(np.array(values) * (127 if name == "valence" else 255))
    headers["flags"] = strengths.flags
    headers["importance"] = strengths.importance
    headers["stability_days"] = strengths.stability_days
    headers["utility"] = 0.5
    seconds = headers["event_ms"] // 1000
    headers["last_access_s"] = np.minimum(np.maximum(seconds, 0), _MAX_U32)
    for column in batch.given("restored").values():
        for n, restored in enumerate(column):
            for name, value in (restored or {}).items():
                headers[name][n] = value
    images = image_rows(headers, codes, stride_of(dim))
    return reseal(images, uuid)


def reseal(images: Bytes, uuid: bytes) -> Encoded:
    """Set the checksums of record images in place; returns both views of the images."""
    crc = np.empty(len(images), dtype=np.uint32)
    crc32c_rows(images, crc, uuid)
    headers = headers_of(images)
    headers["crc"] = crc
    return Encoded(images, headers)
