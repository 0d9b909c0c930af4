"""A small trained head: what English sentences state, from an embedder's token vectors.

A convolution and one layer of attention say of every word whether it begins a value or goes on with
one; a value points to its subject and to the words of its predicate. The weights belong to one
embedder; with another the head says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.language.entities import affix_buckets, shape_features
from spector.language.frames.english import (
    ARTICLES,
    CONJUNCTIONS,
    POSSESSIVES,
    PREPOSITIONS,
)
from spector.language.weights import read_weights

_PATH: Final = Path(__file__).parent / "data" / "head.npz"
#: of weights and data together
VERSION: Final = 1
#: heads of the attention, and the distance from which on words are equally far
HEADS, FAR = 4, 16
#: words of a value at most, probability that a word begins one, and of a candidate
_LONGEST, _BEGINS, _LEAST = 14, 0.05, 0.03
#: probability from which on words are a value, a subject, or of a predicate
_VALUE, _SUBJECT, _RELATION = 0.1, 0.1, 0.5
#: numbers that tell how sure a triple is
SIGNS: Final = 12
#: no value ends with these; who speaks is named by those, in so many words before a value
_SMALL: Final = ARTICLES | PREPOSITIONS | CONJUNCTIONS | frozenset(POSSESSIVES)
_FIRST_PERSON: Final = frozenset("i im we my our".split())
_BEFORE: Final = 8

F32 = NDArray[np.float32]


class Triple(NamedTuple):
    """A statement as places of words, ends exclusive.

    Attributes:
        subject: None for the one who speaks. relation: the words of the predicate.
        probability: that the words state this of it.
    """

    subject: tuple[int, int] | None
    value: tuple[int, int]
    relation: tuple[int, ...]
    probability: float


class _Span(NamedTuple):
    start: int
    end: int
    probability: float


@dataclass(frozen=True, slots=True)
class StatementHead:
    """Weights of the head, f32, and how they are used.

    Attributes:
        weights: by name, each matrix as (outputs, inputs).
        fingerprint: of the embedder that it was trained on. about: of data and training.
    """

    weights: Mapping[str, F32]
    fingerprint: str
    about: Mapping[str, Any] = field(default_factory=dict)

    def triples(self, words: Sequence[str], vectors: F32, least: float) -> list[Triple]:
        """What is stated with a probability of at least ``least``, in the order of the values.

        Args:
            words: n words. vectors: (n, d) f32, a vector a word.
        """
        found, signs = self.candidates(words, vectors)
        odds = np.einsum("ij,j->i", signs, self.weights["sure"])
        shares = (1.0 / (1.0 + np.exp(-odds))).tolist()
        return [
            each._replace(probability=share)
            for each, share in zip(found, shares, strict=True)
            if share >= least
        ]

    def candidates(self, words: Sequence[str], vectors: F32) -> tuple[list[Triple], F32]:
        """Whatever may be stated, and (n, `SIGNS`) of what tells how sure it is."""
        states = self._states(words, vectors) if words else np.zeros((0, 1), np.float32)
        values = _spans(_softmax(self._dense("tags", states)), _VALUE) if words else []
        if not values:
            return [], np.zeros((0, SIGNS), np.float32)
        values.sort()
        subjects = _spans(_softmax(self._dense("subjects", states)), _SUBJECT)
        persons, relations = self._pointers(states, values)
        low, out, signs = [word.lower() for word in words], [], []
        for n, (start, end, probability) in enumerate(values):
            subject, share = None, float(persons[n, -1])
            own = persons[n, :-1]
            single = int(own.argmax())
            for first, last, _ in (*subjects, _Span(single, single + 1, 1.0)):
                mass = float(own[first:last].sum())
                if mass > share and (last <= start or end <= first):
                    subject, share = (first, last), mass
            said = np.flatnonzero(relations[n] > _RELATION).tolist()
            relation = tuple(at for at in said if not start <= at < end)
            out.append(Triple(subject, (start, end), relation, probability * share))
            signs.append(_signs(low, words[start], out[-1], probability, share))
        return out, np.array(signs, np.float32)

    def _states(self, words: Sequence[str], vectors: F32) -> F32:
        """(n, h) of words in their sentence."""
        w = self.weights
        x = self._dense("vectors", vectors) + _product(vectors.mean(axis=0)[None], w["sentence"])
        x += _product(shape_features(words), w["shapes"])
        for row, word in zip(x, words, strict=True):
            row += w["affixes"][list(affix_buckets(word))].sum(axis=0)
        x = np.maximum(self._norm("first", x), 0.0)
        reach = w["near"].shape[1] // x.shape[1] // 2
        padded = np.pad(x, ((reach, reach), (0, 0)))
        near = np.hstack([padded[at : at + len(x)] for at in range(2 * reach + 1)])
        x = self._norm("second", x + np.maximum(self._dense("near", near), 0.0))
        query, key, value = np.split(self._dense("attention", x), 3, axis=1)
        size, far = x.shape[1] // HEADS, _distances(len(x))
        told = np.empty_like(x)
        for n in range(HEADS):
            part = slice(n * size, (n + 1) * size)
            odds = _product(query[:, part], np.ascontiguousarray(key[:, part])) / size**0.5
            shares = _softmax(odds + w["distances"][n][far])
            told[:, part] = np.einsum("ij,jk->ik", shares, value[:, part])
        return self._norm("third", x + self._dense("told", told))

    def _pointers(self, states: F32, values: Sequence[_Span]) -> tuple[F32, F32]:
        """(v, n + 1) whose value it is, the one who speaks last; (v, n) words of its predicate."""
        w = self.weights
        starts = [each.start for each in values]
        ends = np.hstack([states[starts], states[[each.end - 1 for each in values]]])
        far = _distances(len(states))[starts]
        asked, size = self._dense("asks_subject", ends), float(np.sqrt(len(w["asks_subject"])))
        odds = _product(asked, self._dense("is_subject", states)) / size + w["subject_at"][far]
        speaks = _product(asked, w["speaker"]) / size + self._dense("speaks", ends)
        relation = _product(
            self._dense("asks_relation", ends), self._dense("is_relation", states)
        ) / size + w["relation_at"][far]  # fmt: skip
        relation += self._dense("relates", states)[:, 0]
        return _softmax(np.hstack([odds, speaks])), 1.0 / (1.0 + np.exp(-relation))

    def _dense(self, name: str, rows: F32) -> F32:
        return _product(rows, self.weights[name]) + self.weights[f"{name}_bias"]

    def _norm(self, name: str, rows: F32) -> F32:
        rows = rows - rows.mean(axis=1, keepdims=True)
        spread = np.sqrt(np.square(rows).mean(axis=1, keepdims=True) + 1e-5)
        even: F32 = rows / spread * self.weights[f"{name}_scale"]
        return even + self.weights[f"{name}_shift"]


def _signs(
    low: Sequence[str], opens: str, one: Triple, value: float, subject: float
) -> tuple[float, ...]:
    """What tells how sure a triple is: how sure its parts are, how far apart, how it is written."""
    (start, end), whose = one.value, one.subject
    far = 0 if whose is None else max(start - whose[1], whose[0] - end)
    speaks = any(word in _FIRST_PERSON for word in low[max(0, start - _BEFORE) : start])
    return (
        _odds(value), _odds(subject), whose is None, min(far, 12) / 4, min(end - start, 6),
        low[end - 1] in _SMALL, speaks, speaks and whose is None,
        whose is not None and whose[0] >= end, opens[:1].isupper(),
        any(map(str.isdigit, "".join(low[start:end]))), 1.0,
    )  # fmt: skip


def _odds(share: float) -> float:
    return float(np.log(max(share, 1e-4) / max(1.0 - share, 1e-4)))


def _product(rows: F32, weights: F32) -> F32:
    """(n, d) and (h, d) -> (n, h), not through BLAS's matrices, which would start threads."""
    return np.asarray(np.vecdot(rows[:, None, :], weights[None]), np.float32)


def _softmax(odds: F32) -> F32:
    shares = np.exp(odds - odds.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), np.float32)


def _distances(n: int) -> NDArray[np.int64]:
    """(n, n) of how far words stand behind others, from 0 for `FAR` before them or more."""
    at = np.arange(n)
    return np.asarray(np.clip(at - at[:, None], -FAR, FAR) + FAR, np.int64)


def _spans(shares: F32, least: float) -> list[_Span]:
    """Spans that share no word, by (n, 3) probabilities of none, "begins", "goes on"; each as
    likely as all those that share half of its words."""
    begins, inside = shares[:, 1].tolist(), [*shares[:, 2].tolist(), 0.0]
    found: list[_Span] = []
    for start, begin in enumerate(begins):
        so_far, end = begin, start + 1
        while begin >= _BEGINS and so_far >= _LEAST and end - start <= _LONGEST:
            found.append(_Span(start, end, so_far * (1 - inside[end])))
            so_far *= inside[end]
            end += 1
    found.sort(key=lambda each: (-each.probability, each.start))
    out: list[_Span] = []
    for one in found:
        if any(one.start < each.end and each.start < one.end for each in out):
            continue
        mass = sum(each.probability for each in found if _are_alike(one, each))
        if mass >= least:
            out.append(_Span(one.start, one.end, min(1.0, mass)))
    return out


def _are_alike(one: _Span, other: _Span) -> bool:
    shared = min(one.end, other.end) - max(one.start, other.start)
    return 2 * shared >= max(one.end - one.start, other.end - other.start)


@lru_cache(maxsize=1)
def load_statement_head() -> StatementHead | None:
    """The head that comes with spector; None when its file is not there."""
    if (found := read_weights(_PATH)) is None:
        return None
    about, weights = found
    return StatementHead(weights, about["fingerprint"], about)
