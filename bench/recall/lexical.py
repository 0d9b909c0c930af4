"""Plain BM25 by a common library, which any cleverer channel has to beat."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
#: Lucene's; stated here because a comparison hangs on them, as it does on the stop list
K1: Final = 1.2
B: Final = 0.75
_WORD = re.compile(r"\w+")


class Bm25:
    """Scores of all texts of a store for a cue. Lucene's variant: idf is never negative."""

    def __init__(
        self,
        texts: Sequence[str],
        k1: float = K1,
        b: float = B,
        stem: bool = True,
        stop: bool = True,
    ) -> None:
        import bm25s

        self._stem, self._stop, self._count = stem, stop, len(texts)
        corpus = [self._words(text) for text in texts]
        self._df = Counter(word for words in corpus for word in set(words))
        # a store of texts without words cannot be indexed, and has nothing to find
        self._index: Any = None
        if any(corpus):
            self._index = bm25s.BM25(k1=k1, b=b, method="lucene")
            self._index.index(corpus, show_progress=False)

    def scores(self, cue: str) -> Scores:
        """(n,) float64, 0 where a text has no word of the cue."""
        words = [word for word in self._words(cue) if self._knows(word)]
        if not words:
            return np.zeros(self._count)
        found: Scores = self._index.get_scores(words).astype(np.float64)
        return found

    def coverage(self, cue: str) -> float:
        """How much of what a cue's words could score at most its best text has: 0..1.

        A word that is nowhere counts as the rarest.
        """
        words = self._words(cue)
        if not words or not self._count:
            return 0.0
        possible = math.fsum(
            math.log(1 + (self._count - self._df[word] + 0.5) / (self._df[word] + 0.5))
            for word in words
        )
        return float(self.scores(cue).max()) / possible

    def _knows(self, word: str) -> bool:
        return self._index is not None and word in self._index.vocab_dict

    def _words(self, text: str) -> list[str]:
        words = _WORD.findall(text.lower())
        if self._stop:
            words = [word for word in words if word not in _stop_words()]
        return [str(word) for word in _stemmer().stemWords(words)] if self._stem else words


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")


@lru_cache(maxsize=1)
def _stop_words() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset(STOPWORDS_EN_PLUS)
