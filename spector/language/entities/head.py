"""A small trained head: names in English, from an embedder's token vectors and how words look.

Two dense layers say of every word whether it begins a name, goes on with one or is none, and of
which kind. The weights belong to one embedder; with another the head says nothing. It abstains
where it is not sure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.language.entities.words import (
    AFFIXES,
    SHAPES,
    affix_buckets,
    affix_features,
    shape_features,
)
from spector.language.weights import read_weights

_PATH: Final = Path(__file__).parent / "data" / "heads.npz"
#: places of the words whose vectors, and whose shapes, a word is judged by: its own, those around
_VECTORS_OF: Final = (0, -1, 1)
_SHAPES_OF: Final = (0, -1, 1, -2, 2)
#: of two spans that share a word only one is more probable than this
_LEAST: Final = 0.5
#: numbers of a row that are multiplied faster in one go with others
_SHORT: Final = 64

F32 = NDArray[np.float32]


class Span(NamedTuple):
    """Words ``start`` to ``end`` (exclusive) are exactly a name, with this probability."""

    start: int
    end: int
    type: str
    probability: float


@dataclass(frozen=True, slots=True)
class _Layer:
    """The first layer over the parts of `word_features`.

    Neighbours are the rows of other words, so each vector is multiplied as what it is, and no row
    is written out several times; what the sentence adds is the same for all, and what a spelling
    adds is a few rows of weights.

    Attributes:
        base: (h,) of features that are all 0.
        vectors, shapes: (h, d) and (h, SHAPES) for each of `_VECTORS_OF` and `_SHAPES_OF`.
        sentence: (h, d), of the mean of all vectors.
        affixes: (AFFIXES, h).
    """

    base: F32
    vectors: Sequence[F32]
    sentence: F32
    shapes: Sequence[F32]
    affixes: F32

    def hidden(self, words: Sequence[str], vectors: F32) -> F32:
        """(n, h) outputs of n words with their (n, d) vectors."""
        sentence = _product(vectors.mean(axis=0)[None], self.sentence)[0]
        out = np.tile(self.base + sentence, (len(words), 1))
        for rows, places, parts in (
            (vectors, _VECTORS_OF, self.vectors),
            (shape_features(words), _SHAPES_OF, self.shapes),
        ):
            for by, weights in zip(places, parts, strict=True):
                at, of = _beside(by)
                out[at] += _product(rows[of], weights)
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


def _beside(by: int) -> tuple[slice, slice]:
    """The words that have one ``by`` places behind them, and these."""
    return slice(max(0, -by), -by if by > 0 else None), slice(max(0, by), by if by < 0 else None)


def _layer_of(w1: F32, b1: F32) -> _Layer:
    near, shapes = len(_VECTORS_OF), len(_SHAPES_OF)
    d = (len(w1) - shapes * SHAPES - AFFIXES) // (near + 1)
    ends = np.cumsum([d] * (near + 1) + [SHAPES] * shapes)
    *parts, affixes = np.split(w1, ends)
    parts = [np.ascontiguousarray(each.T) for each in parts]
    return _Layer(b1, parts[:near], parts[near], parts[near + 1 :], affixes)


@dataclass(frozen=True, slots=True)
class EntityHead:
    """Weights of the head, and how they are used.

    Attributes:
        kinds: what names may name; labels are none, then "begins" and "goes on" of each.
        weights: w1 (d, h), b1 (h,), w2 (h, labels), b2 (labels,), all f32.
        fingerprint: of the embedder that it was trained on.
    """

    kinds: tuple[str, ...]
    weights: Mapping[str, F32]
    fingerprint: str
    #: the first layer, made ready for the parts of the features
    layer: _Layer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layer", _layer_of(self.weights["w1"], self.weights["b1"]))

    def spans(self, words: Sequence[str], vectors: F32, *, least: float = _LEAST) -> list[Span]:
        """Names in a text that are more than ``least`` probable, which is at least one half.

        Args:
            words: n words.
            vectors: (n, d) f32, a vector a word.
        """
        if not words:
            return []
        shares = np.exp(self.fast_scores(words, vectors))
        kinds = shares[:, 1::2] + shares[:, 2::2]
        begins, inside = shares[:, 1::2].sum(axis=1), [*shares[:, 2::2].sum(axis=1).tolist(), 0.0]
        out = []
        for start in np.flatnonzero(begins > least).tolist():
            so_far, end = float(begins[start]), start + 1
            while so_far > least:
                probability = so_far * (1 - inside[end])
                if probability > least:
                    kind = self.kinds[int(kinds[start:end].sum(axis=0).argmax())]
                    out.append(Span(start, end, kind, probability))
                so_far *= inside[end]
                end += 1
        return out

    def scores(self, features: F32) -> F32:
        """(n, labels) log-probabilities of words by their features, in plain steps."""
        return self._scored(
            np.einsum("ij,jk->ik", features, self.weights["w1"]) + self.weights["b1"]
        )

    def fast_scores(self, words: Sequence[str], vectors: F32) -> F32:
        """The same of words and their vectors, without writing their features out."""
        return self._scored(self.layer.hidden(words, vectors))

    def _scored(self, hidden: F32) -> F32:
        """(n, h) outputs of the first layer -> (n, labels) log-probabilities."""
        w = self.weights
        # not through BLAS, which ends the process where it has no memory for its threads
        raw = np.einsum("ij,jk->ik", np.maximum(hidden, 0.0), w["w2"]) + w["b2"]
        raw -= raw.max(axis=1, keepdims=True)
        raw -= np.log(np.exp(raw).sum(axis=1, keepdims=True))
        return np.asarray(raw, np.float32)


def word_features(words: Sequence[str], vectors: F32) -> F32:
    """(n, 4 d + 5 shapes + affixes): a word, its neighbours, its sentence, its spelling."""
    shapes = shape_features(words)
    return np.hstack([
        *(_shifted(vectors, by) for by in _VECTORS_OF),
        np.broadcast_to(vectors.mean(axis=0), vectors.shape),
        *(_shifted(shapes, by) for by in _SHAPES_OF),
        affix_features(words),
    ]).astype(np.float32, copy=False)  # fmt: skip


def _shifted(rows: F32, by: int) -> F32:
    """For each row the one ``by`` places behind it, zeros where there is none."""
    out = np.zeros_like(rows)
    at, of = _beside(by)
    out[at] = rows[of]
    return out


@lru_cache(maxsize=1)
def load_head() -> EntityHead | None:
    """The head that comes with spector; None when its file is not there."""
    if (found := read_weights(_PATH)) is None:
        return None
    about, weights = found
    return EntityHead(tuple(about["kinds"]), weights, about["fingerprint"])
