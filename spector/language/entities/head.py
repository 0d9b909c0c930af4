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

from spector.language.entities.words import affix_features, shape_features

__all__ = ["EntityHead", "Span", "load_head", "word_features"]

_PATH: Final = Path(__file__).parent / "data" / "heads.npz"
#: a span cannot begin inside another one
_IMPOSSIBLE: Final = -1e9

F32 = NDArray[np.float32]


class Span(NamedTuple):
    """Words ``start`` to ``end`` (exclusive) name something of a type, with a probability."""

    start: int
    end: int
    type: str
    probability: float


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
    #: (h, d), the first layer with each unit's weights side by side
    w1: F32 = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "w1", np.ascontiguousarray(self.weights["w1"].T))

    def spans(self, words: Sequence[str], vectors: F32, *, least: float = 0.0) -> list[Span]:
        """Names in a text, at least ``least`` probable.

        Args:
            words: n words.
            vectors: (n, d) f32, a vector a word.
        """
        if not words:
            return []
        scores = self.scores(word_features(words, vectors))
        path = self._path(scores)
        out = []
        for start, end, kind in _spans([self.labels[each] for each in path]):
            chosen = np.exp(scores[np.arange(start, end), path[start:end]])
            probability = float(chosen.mean())
            if probability >= least:
                out.append(Span(start, end, kind, probability))
        return out

    def scores(self, features: F32) -> F32:
        """(n, labels) log-probabilities."""
        w = self.weights
        # not through BLAS, which ends the process where it has no memory for its threads
        even = (features - w["mean"]) / w["scale"]
        hidden = np.maximum(np.einsum("ij,kj->ik", even, self.w1) + w["b1"], 0.0)
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
