"""Stand-ins for models: deterministic, fast, and close enough to mean something."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spector.errors import EmbeddingError

_WORD = re.compile(r"\w+|[^\w\s]")


class FakeEmbedder:
    """Hashed word n-grams: the same words give the same vector, shared words a high cosine.

    ``seed`` stands for another model: other vectors and another fingerprint at the same dimension.
    """

    def __init__(self, dim: int = 32, *, seed: int = 0) -> None:
        self.dim = dim
        self.model_id = f"fake-{dim}" if seed == 0 else f"fake-{dim}-{seed}"
        self.fingerprint = f"fake:{dim}:{seed}:v1"
        self._seed = seed
        #: every list of texts that embed() was called with
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        return np.stack([self._one(text) for text in texts])

    def _one(self, text: str) -> NDArray[np.float32]:
        words = _WORD.findall(text.lower())
        if not words:
            raise EmbeddingError("the text has no words")
        total = np.zeros(self.dim, dtype=np.float64)
        for gram in [*words, *(f"{a} {b}" for a, b in pairwise(words))]:
            total += _direction(gram, self.dim, self._seed)
        norm = float(np.linalg.norm(total))
        unit: NDArray[np.float32] = (total / norm).astype(np.float32)
        return unit


class FailingEmbedder(FakeEmbedder):
    """Works until told otherwise: ``fail_from`` is the number of the first call that raises."""

    def __init__(self, dim: int = 32, *, fail_from: int = 0) -> None:
        super().__init__(dim)
        self.fail_from = fail_from

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(self.calls) >= self.fail_from:
            raise EmbeddingError("the fake model is out of order")
        return super().embed(texts)


@lru_cache(maxsize=20_000)
def _direction(gram: str, dim: int, seed: int) -> NDArray[np.float64]:
    """A pseudo-random direction that only the n-gram decides."""
    digest = hashlib.sha256(f"{seed}:{gram}".encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(list(digest)).standard_normal(dim)
