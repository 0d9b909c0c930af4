"""A cache of recent vectors, so that a repeated cue costs a dictionary lookup."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import EmbeddingError, InvalidInputError
from spector.providers.protocols import Embedder, check_texts, embedded

_Key = tuple[str, bytes]
#: the time at which a vector was made, in seconds of the cache's clock, and the vector
_Entry = tuple[float, NDArray[np.float32]]

#: only differences count, so this is not the wall clock that spector.clock injects
_MONOTONIC: Final[Callable[[], float]] = time.monotonic


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Counts since the cache was made, one per requested text."""

    hits: int
    misses: int
    entries: int

    @property
    def hit_rate(self) -> float:
        """Share of texts answered from the cache, 0..1; 0 before the first text."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0


class CachedEmbedder:
    """An LRU cache with a time to live in front of another embedder.

    Keys are the inner fingerprint and the SHA-256 of the text, so texts are not kept. Safe to share
    between threads. The lock is not held while the inner embedder works, so two threads that miss
    the same text at once both embed it, and get the same vector.

    Args:
        inner: the embedder that answers misses.
        max_entries: most vectors kept; 4096 of 384 dimensions take 6 MB.
        ttl_s: seconds after which a vector is computed again.
        clock: monotonic seconds; tests pass their own.
    """

    def __init__(
        self,
        inner: Embedder,
        max_entries: int = 4096,
        ttl_s: float = 1800,
        clock: Callable[[], float] = _MONOTONIC,
    ) -> None:
        if max_entries < 1 or not ttl_s > 0:
            raise InvalidInputError(
                f"max_entries and ttl_s must be positive, got {max_entries} and {ttl_s}"
            )
        self._inner = inner
        self._max_entries = max_entries
        self._ttl_s = ttl_s
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._hits = 0
        self._misses = 0

    @property
    def inner(self) -> Embedder:
        """The embedder that answers the misses."""
        return self._inner

    @property
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    def dim(self) -> int:
        return self._inner.dim

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """``n`` texts -> a new (n, dim) float32 array; see ``Embedder.embed``.

        Only texts that are not cached reach the inner embedder, each once and in one call.
        """
        texts = check_texts(texts)
        fingerprint = self._inner.fingerprint
        keys = [(fingerprint, _digest(text)) for text in texts]
        out = np.empty((len(texts), self._inner.dim), dtype=np.float32)
        missing = self._fill_known(keys, out)
        if not missing:
            return out
        wanted = list(missing)
        made = embedded(self._inner, [texts[missing[key][0]] for key in wanted])
        for key, row in zip(wanted, made, strict=True):
            out[missing[key]] = row
        self._remember(wanted, made)
        return out

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The inner embedder's vectors of words in their context; these are not cached.

        Raises:
            EmbeddingError: the inner embedder has none.
        """
        return self.word_vectors_of([words])[0]

    def word_vectors_of(self, texts: Sequence[Sequence[str]]) -> list[NDArray[np.float32]]:
        """The same for several texts, in one call where the inner embedder takes several."""
        many = getattr(self._inner, "word_vectors_of", None)
        if many is not None:
            found: list[NDArray[np.float32]] = many(texts)
            return found
        inner = getattr(self._inner, "word_vectors", None)
        if inner is None:
            raise EmbeddingError(
                f"{self._inner.model_id} gives no vectors of words", hint="use MiniLMEmbedder"
            )
        return [inner(words) for words in texts]

    def stats(self) -> CacheStats:
        """Hits, misses, hit rate and the number of cached vectors."""
        with self._lock:
            return CacheStats(self._hits, self._misses, len(self._entries))

    def clear(self) -> None:
        """Drop all vectors; the counts are kept."""
        with self._lock:
            self._entries.clear()

    def _fill_known(self, keys: list[_Key], out: NDArray[np.float32]) -> dict[_Key, list[int]]:
        """Copy cached vectors into ``out``; return the rows of each missing key."""
        missing: dict[_Key, list[int]] = {}
        with self._lock:
            oldest = self._clock() - self._ttl_s
            for row, key in enumerate(keys):
                entry = self._entries.get(key)
                if entry is not None and entry[0] > oldest:
                    self._entries.move_to_end(key)
                    out[row] = entry[1]
                    self._hits += 1
                    continue
                if entry is not None:
                    del self._entries[key]
                if key in missing:
                    # the same text is embedded once per call
                    self._hits += 1
                else:
                    self._misses += 1
                missing.setdefault(key, []).append(row)
        return missing

    def _remember(self, keys: list[_Key], vectors: NDArray[np.float32]) -> None:
        # of a batch larger than the cache only the end would stay
        first = max(0, len(keys) - self._max_entries)
        with self._lock:
            now = self._clock()
            for key, row in zip(keys[first:], vectors[first:], strict=True):
                # a copy: a view would keep the whole batch alive
                self._entries[key] = (now, row.copy())
                self._entries.move_to_end(key)
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)


def _digest(text: str) -> bytes:
    # a lone surrogate is for the tokenizer to handle, the cache must not fail on it
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
