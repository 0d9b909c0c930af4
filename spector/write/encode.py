"""From drafts and vectors to record images: the bytes that a partition will hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.kernel.crc import crc32c_rows
from spector.kernel.quantize import normalize, quantize
from spector.kernel.tags import scope_tag, tags_mask
from spector.layout import (
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    RECORD_DTYPE,
    RECORD_VERSION,
    Flag,
    stride_of,
)
from spector.store.files import Bytes
from spector.store.segment import image_rows
from spector.write.draft import Draft

__all__ = ["Encoded", "Strength", "bloom_of", "encode", "reseal", "strength_of"]

_MAX_U32 = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Strength:
    """The starting values of the mutable half of a record."""

    flags: Flag
    importance: float
    stability_days: float


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """images (n, stride) u8; headers is the same memory as (n,) RECORD_DTYPE."""

    images: Bytes
    headers: NDArray[np.void]

    def mutable(self, n: int) -> bytes:
        """The 24 mutable bytes of record n."""
        return self.images[n, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES].tobytes()


def strength_of(draft: Draft, importance: float, config: Config) -> Strength:
    """Starting strength: stability grows with importance; strong arousal makes a flashbulb.

    Flashbulb memories (Brown and Kulik; Cognitive Memory v9): pinned, importance at least 0.9,
    stability x 1.5.
    """
    flags = Flag.NONE
    if not (draft.pinned or draft.immutable or draft.unresolved or draft.arousal):
        stability = config.initial_stability_days * (0.5 + importance)
        return Strength(flags, importance, min(stability, config.max_stability_days))
    if draft.pinned:
        flags |= Flag.PINNED
    if draft.immutable:
        flags |= Flag.IMMUTABLE
    if draft.unresolved:
        flags |= Flag.UNRESOLVED
    if draft.arousal >= config.flashbulb_arousal:
        flags |= Flag.FLASHBULB | Flag.PINNED
        importance = max(importance, 0.9)
    stability = config.initial_stability_days * (0.5 + importance)
    if Flag.FLASHBULB in flags:
        stability *= 1.5
    return Strength(flags, importance, min(stability, config.max_stability_days))


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


def encode(
    drafts: Sequence[Draft],
    strengths: Sequence[Strength],
    ids: Sequence[int],
    tier_codes: Sequence[int],
    vectors: NDArray[np.float32] | None,
    *,
    now_ms: int,
    dim: int,
    uuid: bytes,
    config: Config,
) -> Encoded:
    """Record images of drafts. ``vectors`` is (n, dim) f32; zeros, or None, mean without one."""
    count = len(drafts)
    headers = np.zeros(count, dtype=RECORD_DTYPE)
    codes = np.zeros((count, dim), dtype=np.int8)
    if vectors is not None:
        given = vectors.any(axis=1)
        if given.all():
            codes, headers["scale"] = quantize(normalize(vectors))
        else:
            codes[given], headers["scale"][given] = quantize(normalize(vectors[given]))
    events = [now_ms if d.event_ms is None else d.event_ms for d in drafts]
    headers["version"] = RECORD_VERSION
    headers["tier"] = tier_codes
    headers["category"] = [d.category for d in drafts]
    headers["modality"] = [d.modality for d in drafts]
    headers["id"] = ids
    headers["event_ms"] = events
    headers["tags"] = [bloom_of(d.tags, d.user_id, d.agent_id, d.session_id) for d in drafts]
    headers["confidence"] = [
        round(255 * (config.default_confidence if d.confidence is None else d.confidence))
        for d in drafts
    ]
    headers["flags"] = [s.flags for s in strengths]
    headers["valence"] = [round(127 * d.valence) for d in drafts]
    headers["arousal"] = [round(255 * d.arousal) for d in drafts]
    headers["importance"] = [s.importance for s in strengths]
    headers["stability_days"] = [s.stability_days for s in strengths]
    headers["utility"] = 0.5
    headers["last_access_s"] = [max(0, min(_MAX_U32, ms // 1000)) for ms in events]
    images = image_rows(headers, codes, stride_of(dim))
    return reseal(images, uuid)


def reseal(images: Bytes, uuid: bytes) -> Encoded:
    """Set the checksums of record images, in place, and return both views of them."""
    crc = np.empty(len(images), dtype=np.uint32)
    crc32c_rows(images, crc, uuid)
    headers: NDArray[np.void] = np.ndarray(
        (len(images),), dtype=RECORD_DTYPE, buffer=images, strides=(images.shape[1],)
    )
    headers["crc"] = crc
    return Encoded(images, headers)
