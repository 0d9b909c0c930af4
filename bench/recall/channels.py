"""Evidence for a cue over one store, by channel: the parts of the plain arms."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final

import numpy as np

from bench.recall.lexical import K1, B, Bm25, Scores
from bench.recall.shape import Store
from bench.recall.vectors import TEMPLATES, Matrix, Row

_WORD = re.compile(r"\w+")


class Channels:
    """The texts of a store under one template, with everything the formulas ask of them.

    Args:
        vectors: (n, dim) float32 unit rows in the order of the store's items.
        k1, b, stop: of BM25. lexical_template: of the texts that BM25 reads, when not the same.
    """

    def __init__(
        self,
        store: Store,
        vectors: Matrix,
        template: str,
        k1: float = K1,
        b: float = B,
        stop: bool = True,
        lexical_template: str | None = None,
    ) -> None:
        self._store, self._vectors = store, vectors
        self._bm25 = {"k1": k1, "b": b, "stop": stop}
        self.texts = [TEMPLATES[template](item) for item in store.items]
        self._indexed = self.texts
        if lexical_template is not None:
            self._indexed = [TEMPLATES[lexical_template](item) for item in store.items]
        self._rows: dict[tuple[float, bool], tuple[Scores, Scores, Scores]] = {}

    def words(self, cue: str) -> Scores:
        """BM25 of each text: (n,) float64."""
        return self._plain.scores(cue)

    def near(self, cue: str) -> Scores:
        """BM25 of each text together with the one before and after in its session."""
        return self._near.scores(cue)

    def coverage(self, cue: str, near: bool = False) -> float:
        """Share of the cue's words, by weight, that the best text (or neighbourhood) has."""
        return (self._near if near else self._plain).coverage(cue)

    def cosine(self, vector: Row, smooth: float = 0.0, centred: bool = False) -> Scores:
        """Cosine of the cue and each text: (n,) float64.

        Args:
            smooth: share of each neighbour's vector that is added to a text's own.
            centred: both sides minus the store's mean, which all of its texts have in common.
        """
        rows, norms, mean = self._prepared(smooth, centred)
        cue = vector.astype(np.float64) - mean
        found: Scores = rows @ cue / np.maximum(norms * np.linalg.norm(cue), 1e-12)
        return found

    @cached_property
    def log_words(self) -> Scores:
        """Standardised logarithm of each text's number of words: (n,) float64."""
        return standardised(np.array([math.log1p(len(_WORD.findall(t))) for t in self.texts]))

    @cached_property
    def _plain(self) -> Bm25:
        return Bm25(self._indexed, **self._bm25)  # type: ignore[arg-type]

    @cached_property
    def _near(self) -> Bm25:
        sessions = self._store.sessions()
        return Bm25(neighbourhoods(self._indexed, sessions), **self._bm25)  # type: ignore[arg-type]

    def _prepared(self, smooth: float, centred: bool) -> tuple[Scores, Scores, Scores]:
        """Rows (n, dim), their norms (n,), and what is to be taken from a cue (dim,)."""
        key = smooth, centred
        if key not in self._rows:
            rows = smoothed(self._vectors, self._store.sessions(), smooth).astype(np.float64)
            mean = rows.mean(axis=0) if centred else np.zeros(rows.shape[1])
            rows = rows - mean
            self._rows[key] = rows, np.linalg.norm(rows, axis=1), mean
        return self._rows[key]


def neighbourhoods(texts: Sequence[str], sessions: Sequence[str]) -> list[str]:
    """Each text between its neighbours of the same session."""
    return [
        " ".join(
            texts[each]
            for each in (row - 1, row, row + 1)
            if 0 <= each < len(texts) and sessions[each] == sessions[row]
        )
        for row in range(len(texts))
    ]


def smoothed(rows: Matrix, sessions: Sequence[str], share: float) -> Matrix:
    """Rows plus ``share`` of each neighbour of the same session; lengths are not restored."""
    if not share:
        return rows
    same = np.array([one == two for one, two in itertools.pairwise(sessions)])
    out = rows.copy()
    out[1:][same] += np.float32(share) * rows[:-1][same]
    out[:-1][same] += np.float32(share) * rows[1:][same]
    return out


def standardised(scores: Scores) -> Scores:
    """Mean 0 and standard deviation 1; all 0 when nothing differs."""
    spread = scores.std()
    return (scores - scores.mean()) / spread if spread > 1e-12 else np.zeros_like(scores)


def to_largest(scores: Scores) -> Scores:
    """Divided by the largest, when that is positive."""
    top = scores.max()
    return scores / top if top > 0 else np.zeros_like(scores)


def to_unit(scores: Scores) -> Scores:
    """The smallest becomes 0 and the largest 1."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def reciprocal_ranks(constant: int) -> Callable[[Scores], Scores]:
    """1 / (constant + rank), ranks from 1 and ties by row; what has no evidence gets 0.

    The scale of reciprocal rank fusion: only the order of a channel counts.
    """

    def scale(scores: Scores) -> Scores:
        order = np.argsort(-scores, kind="stable")
        out = np.zeros_like(scores)
        out[order] = 1 / (constant + 1 + np.arange(len(scores)))
        out[scores <= 0] = 0
        return out

    return scale


SCALES: Final[dict[str, Callable[[Scores], Scores]]] = {
    "max": to_largest,
    "minmax": to_unit,
    "z": standardised,
    "rank10": reciprocal_ranks(10),
    "rank60": reciprocal_ranks(60),
}


@dataclass(frozen=True, slots=True)
class Formula:
    """A weighted sum of scaled channels. A channel with weight 0 is not computed."""

    #: weights of BM25, BM25 over neighbours, cosine
    words: float = 0.0
    near: float = 0.0
    dense: float = 0.0
    lexical_scale: str = "max"
    dense_scale: str = "minmax"
    #: of the cosine: neighbours' share, centring, and standard deviations for the log of length
    smooth: float = 0.0
    centred: bool = False
    length: float = 0.0
    template: str = "items"
    #: of the texts that BM25 reads; None: the same
    lexical_template: str | None = None
    k1: float = K1
    b: float = B
    stop: bool = True

    def channels(self, store: Store, vectors: Matrix) -> Channels:
        return Channels(
            store, vectors, self.template, self.k1, self.b, self.stop, self.lexical_template
        )

    def scores(self, channels: Channels, cue: str, vector: Row) -> Scores:
        """(n,) float64 over the store's items."""
        total = np.zeros(len(channels.texts))
        scale = SCALES[self.lexical_scale]
        if self.words:
            total += self.words * scale(channels.words(cue))
        if self.near:
            total += self.near * scale(channels.near(cue))
        if self.dense:
            cosine = channels.cosine(vector, self.smooth, self.centred)
            if self.length:
                cosine = cosine + self.length * cosine.std() * channels.log_words
            total += self.dense * SCALES[self.dense_scale](cosine)
        return total

    def evidence(self, channels: Channels, cue: str, vector: Row) -> float:
        """How much speaks for an answer being in the store, on scales that no cue shifts: the best
        text's coverage of the cue, and the best cosine, of those channels that are used."""
        found = 0.0
        if self.words or self.near:
            found += channels.coverage(cue, near=bool(self.near))
        if self.dense:
            found += float(channels.cosine(vector, self.smooth).max())
        return found

    def differences(self, other: Formula) -> dict[str, tuple[object, object]]:
        """Settings in which two formulas differ: name -> (mine, theirs)."""
        pairs = {f.name: (getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
