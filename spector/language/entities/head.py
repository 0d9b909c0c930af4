"""A small trained head: names in English, from an embedder's token vectors and how words look.

Two dense layers score every word, a Viterbi pass makes spans of the scores. The weights belong to
one embedder; with another the head says nothing. It abstains where it is not sure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.language.entities.words import (
    AFFIXES,
    SHAPES,
    affix_buckets,
    affix_features,
    shape_features,
)

__all__ = ["EntityHead", "Span", "load_head", "word_features"]

_PATH: Final = Path(__file__).parent / "data" / "heads.npz"
#: a span cannot begin inside another one
_IMPOSSIBLE: Final = -1e9
#: numbers of a row that are multiplied faster in one go with others
_SHORT: Final = 64

F32 = NDArray[np.float32]


class Span(NamedTuple):
    """Words ``start`` to ``end`` (exclusive) name something of a type, with a probability."""

    start: int
    end: int
    type: str
    probability: float


@dataclass(frozen=True, slots=True)
class _Layer:
    """The first layer over the parts of `word_features`, evened out beforehand.

    Neighbours are the rows of other words, so each vector is multiplied as what it is, and no row
    is written out three times; what the sentence adds is the same for all, and what a spelling adds
    is a few rows of weights.

    Attributes:
        base: (h,) of features that are all 0.
        vectors, shapes: (h, d) and (h, SHAPES), of the word, the one before and the one behind.
        sentence: (h, d), of the mean of all vectors.
        affixes: (AFFIXES, h).
    """

    base: F32
    vectors: tuple[F32, F32, F32]
    sentence: F32
    shapes: tuple[F32, F32, F32]
    affixes: F32

    def hidden(self, words: Sequence[str], vectors: F32) -> F32:
        """(n, h) outputs of n words with their (n, d) vectors."""
        out = np.tile(self.base + _product(vectors.mean(axis=0)[None], self.sentence)[0],
                      (len(words), 1))  # fmt: skip
        for rows, (own, before, behind) in (
            (vectors, self.vectors),
            (shape_features(words), self.shapes),
        ):
            out += _product(rows, own)
            out[1:] += _product(rows[:-1], before)
            out[:-1] += _product(rows[1:], behind)
        for row, word in zip(out, words, strict=True):
            row += self.affixes[list(affix_buckets(word))].sum(axis=0)
        return out


def _product(rows: F32, weights: F32) -> F32:
    """(n, d) and (h, d) -> (n, h), not through BLAS but one short product at a time, for which it
    has no threads."""
    out: F32
    if weights.shape[1] < _SHORT:  # a call for each product would take longer than the product
        out = np.einsum("ij,kj->ik", rows, weights)
    else:
        out = np.vecdot(rows[:, None, :], weights[None])
    return out


def _layer_of(weights: Mapping[str, F32]) -> _Layer:
    w1 = weights["w1"].astype(np.float64) / weights["scale"].astype(np.float64)[:, None]
    base = weights["b1"] - (w1 * weights["mean"].astype(np.float64)[:, None]).sum(axis=0)
    d = (len(w1) - 3 * SHAPES - AFFIXES) // 4
    ends = np.cumsum([0, d, d, d, d, SHAPES, SHAPES, SHAPES])
    parts = [
        np.ascontiguousarray(w1[start : start + size].T.astype(np.float32))
        for start, size in zip(ends, (d, d, d, d, SHAPES, SHAPES, SHAPES), strict=False)
    ]
    return _Layer(
        base.astype(np.float32), (parts[0], parts[1], parts[2]), parts[3],
        (parts[4], parts[5], parts[6]), w1[len(w1) - AFFIXES :].astype(np.float32),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class EntityHead:
    """Weights of the head, and how they are used.

    Attributes:
        labels: "O", then "B-type" and "I-type".
        weights: mean (d,), scale (d,), w1 (d, h), b1 (h,), w2 (h, labels), b2 (labels,),
            transitions (labels, labels), all f32.
        bias: taken off the score of "O".
        fingerprint: of the embedder that it was trained on.
    """

    labels: tuple[str, ...]
    weights: Mapping[str, F32]
    bias: float
    fingerprint: str
    #: the first layer, made ready for the parts of the features
    layer: _Layer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layer", _layer_of(self.weights))

    def spans(self, words: Sequence[str], vectors: F32, *, least: float = 0.0) -> list[Span]:
        """Names in a text, at least ``least`` probable.

        Args:
            words: n words.
            vectors: (n, d) f32, a vector a word.
        """
        if not words:
            return []
        scores = self.fast_scores(words, vectors)
        path = self._path(scores)
        out = []
        for start, end, kind in _spans([self.labels[each] for each in path]):
            chosen = np.exp(scores[np.arange(start, end), path[start:end]])
            probability = float(chosen.mean())
            if probability >= least:
                out.append(Span(start, end, kind, probability))
        return out

    def scores(self, features: F32) -> F32:
        """(n, labels) log-probabilities of words by their features, in plain steps."""
        w = self.weights
        even = (features - w["mean"]) / w["scale"]
        return self._scored(np.einsum("ij,jk->ik", even, w["w1"]) + w["b1"])

    def fast_scores(self, words: Sequence[str], vectors: F32) -> F32:
        """The same of words and their vectors, without writing their features out."""
        return self._scored(self.layer.hidden(words, vectors))

    def _scored(self, hidden: F32) -> F32:
        """(n, h) outputs of the first layer -> (n, labels) log-probabilities."""
        w = self.weights
        # not through BLAS, which ends the process where it has no memory for its threads
        hidden = np.maximum(hidden, 0.0)
        raw = np.einsum("ij,jk->ik", hidden, w["w2"]) + w["b2"]
        raw -= raw.max(axis=1, keepdims=True)
        raw -= np.log(np.exp(raw).sum(axis=1, keepdims=True))
        return np.asarray(raw, np.float32)

    def _path(self, scores: F32) -> list[int]:
        """The best sequence of labels (Viterbi 1967)."""
        steps = scores.copy()
        steps[:, 0] -= self.bias
        begins = np.array([0.0 if each[0] != "I" else _IMPOSSIBLE for each in self.labels])
        best, before = steps[0] + begins, []
        for row in steps[1:]:
            ways = best[:, None] + self.weights["transitions"]
            before.append(ways.argmax(axis=0))
            best = ways.max(axis=0) + row
        path = [int(best.argmax())]
        for each in reversed(before):
            path.append(int(each[path[-1]]))
        return path[::-1]


def word_features(words: Sequence[str], vectors: F32) -> F32:
    """(n, 4 d + 3 shapes + affixes): a word, its neighbours, its sentence, its spelling."""
    shapes = shape_features(words)
    mean = np.broadcast_to(vectors.mean(axis=0), vectors.shape)
    return np.hstack([
        vectors, _shifted(vectors, 1), _shifted(vectors, -1), mean,
        shapes, _shifted(shapes, 1), _shifted(shapes, -1), affix_features(words),
    ]).astype(np.float32, copy=False)  # fmt: skip


def _shifted(rows: F32, by: int) -> F32:
    """Rows of the word before (1) or behind (-1), zeros at the edge."""
    out = np.zeros_like(rows)
    if by > 0:
        out[1:] = rows[:-1]
    else:
        out[:-1] = rows[1:]
    return out


def _spans(labels: Sequence[str]) -> list[tuple[int, int, str]]:
    out: list[tuple[int, int, str]] = []
    start, kind = 0, ""
    for at, label in enumerate([*labels, "O"]):
        if kind and (label[0] != "I" or label[2:] != kind):
            out.append((start, at, kind))
            kind = ""
        if label != "O" and not kind:
            start, kind = at, label[2:]
    return out


@lru_cache(maxsize=1)
def load_head() -> EntityHead | None:
    """The head that comes with spector; None when its file is not there."""
    if not _PATH.exists():
        return None
    with np.load(_PATH, allow_pickle=False) as stored:
        about: dict[str, Any] = json.loads(bytes(stored["about"]).decode())
        weights = {
            name: stored[name].astype(np.float32) for name in stored.files if name != "about"
        }
    return EntityHead(
        labels=tuple(about["labels"]), weights=weights, bias=about["bias"],
        fingerprint=about["fingerprint"],
    )  # fmt: skip
