"""Choosing among hits: different ones, and few of each session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spector.layout import HEADER_BYTES, RECORD_DTYPE
from spector.read.hits import image_of
from spector.read.rank import diverse
from spector.records import Hit
from spector.store.files import Bytes

__all__ = ["few_of_each", "most_diverse", "vectors_of"]


def few_of_each(hits: Sequence[Hit], most: int | None) -> list[Hit]:
    """Hits in their order without those beyond ``most`` of a session; None leaves all.

    Memories without a session are each their own.
    """
    if most is None:
        return list(hits)
    seen: Counter[str] = Counter()
    out: list[Hit] = []
    for hit in hits:
        session = hit.session_id
        if session is not None:
            seen[session] += 1
            if seen[session] > most:
                continue
        out.append(hit)
    return out


def most_diverse(hits: Sequence[Hit], count: int, weight: float) -> list[Hit]:
    """``count`` hits by maximal marginal relevance over their stored vectors, best first."""
    if not hits:
        return []
    scores = np.array([hit.score for hit in hits], np.float32)
    return [hits[n] for n in diverse(scores, vectors_of(hits), count, weight)]


def vectors_of(hits: Sequence[Hit]) -> NDArray[np.float32]:
    """(n, dim) float32 unit vectors of hits of the read path, as they are stored."""
    images: Bytes = np.stack([image_of(hit) for hit in hits])
    headers = np.ascontiguousarray(images[:, :HEADER_BYTES]).view(RECORD_DTYPE)[:, 0]
    codes = np.ascontiguousarray(images[:, HEADER_BYTES:]).view(np.int8)
    return np.asarray(codes * headers["scale"][:, None], np.float32)
