"""Gives every memory of a store a vector of another model, in one commit."""

from __future__ import annotations

import numpy as np

from spector.kernel.contract import normalize, quantize
from spector.layout import HEADER_BYTES, RECORD_DTYPE, Flag, vector_bytes
from spector.providers import Embedder, embedded
from spector.store.catalog import Row
from spector.store.core import Store
from spector.store.files import Bytes
from spector.store.partitions import image_rows
from spector.store.rewriting import Progress, rewrite_all
from spector.store.words import spoken_words
from spector.write.drafts import reseal
from spector.write.forgetting import flags_of

__all__ = ["reembed_store"]


def reembed_store(store: Store, embedder: Embedder, progress: Progress | None = None) -> int:
    """Rewrite all partitions with vectors of ``embedder``; returns how many memories it embedded.

    One transaction switches every partition and the store's model together; killed before it, the
    store is as it was. The caller must close and open the store afterwards.
    """

    def transform(images: Bytes, rows: list[Row]) -> Bytes:
        vectors = np.zeros((len(rows), embedder.dim), np.float32)
        worded = [n for n, each in enumerate(rows) if not flags_of(each) & Flag.NO_TEXT]
        if worded:
            vectors[worded] = embedded(embedder, [spoken_words(rows[n]) for n in worded])
        return _with_vectors(images, vectors, embedder.dim, store.uuid)

    meta = {
        "dim": str(embedder.dim),
        "model_id": embedder.model_id,
        "fingerprint": embedder.fingerprint,
    }
    return rewrite_all(store, transform, meta, progress=progress)


def _with_vectors(images: Bytes, vectors: np.ndarray, dim: int, uuid: bytes) -> Bytes:
    given = vectors.any(axis=1)  # a memory without a text has none
    unit = np.zeros(vectors.shape, np.float32)
    unit[given] = normalize(vectors[given])
    codes, scales = quantize(unit)
    headers = images[:, :HEADER_BYTES].copy().view(RECORD_DTYPE)[:, 0]
    headers["scale"] = scales
    headers["centroid"] = 0  # the cluster was one of other vectors
    return reseal(image_rows(headers, codes, HEADER_BYTES + vector_bytes(dim)), uuid).images
