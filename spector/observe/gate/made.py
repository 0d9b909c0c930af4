"""The memories of one commit, which its further statements meet as candidates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import dots, norm
from spector.language.words import analyse
from spector.observe.gate.candidates import Candidate

__all__ = ["Made", "cosines"]

#: the nearest, and those with the most words in common, beside all of the same slot
_NEAREST: Final = 5
_ROOM: Final = 64


class Made:
    """What a commit has made so far of one user's memories, nearest first."""

    def __init__(self) -> None:
        self._all: list[Candidate] = []
        #: (room, dim) f32, one row a candidate, and the lengths of the rows
        self._vectors: NDArray[np.float32] | None = None
        self._norms: list[float] = []
        self._of_slot: dict[tuple[str, str], list[int]] = {}
        self._of_word: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, made: Candidate, vector: NDArray[np.float32] | None) -> None:
        """Take in a memory with its vector as it is kept."""
        n = len(self._all)
        self._all.append(made)
        for each in {(one.subject, one.predicate) for one in made.statements}:
            self._of_slot.setdefault(each, []).append(n)
        for word in set(analyse(made.said).content()):
            self._of_word[word].append(n)
        if vector is None:
            return
        if self._vectors is None:
            self._vectors = np.zeros((_ROOM, len(vector)), np.float32)
        elif n >= len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[n] = vector
        self._norms.append(float(norm(vector)))

    def near(
        self, said: str, vector: NDArray[np.float32] | None, slots: Collection[tuple[str, str]]
    ) -> list[Candidate]:
        """Those nearest to a new memory, by its vector and its words, and those of its slots.

        All without a vector.
        """
        if vector is None or self._vectors is None:
            return self._all
        alike = cosines(self._vectors[: len(self._all)], vector, self._norms)
        # a later memory has a greater id, so the first of those that are as near comes first
        first = np.argsort(-np.array(alike), kind="stable")[:_NEAREST].tolist()
        same = sorted(n for each in slots for n in self._of_slot.get(each, ()))
        found = dict.fromkeys((*first, *self._by_words(said), *same))
        return [replace(self._all[n], likeness=alike[n]) for n in found]

    def _by_words(self, said: str) -> list[int]:
        """Those with the most words in common, a word that few of them have counting more."""
        shared: defaultdict[int, float] = defaultdict(float)
        for word in set(analyse(said).content()):
            places = self._of_word.get(word, ())
            for n in places:
                shared[n] += 1.0 / len(places)
        return sorted(shared, key=lambda each: (-shared[each], each))[:_NEAREST]


def cosines(
    vectors: NDArray[np.float32],
    vector: NDArray[np.float32],
    norms: Sequence[float] | None = None,
) -> list[float]:
    """Cosine of each of some vectors to one.

    Args:
        norms: lengths of the vectors, where they are known.
    """
    length = float(norm(vector))
    products = dots(np.ascontiguousarray(vectors), vector).tolist()
    sizes = [float(norm(each)) for each in vectors] if norms is None else norms
    return [
        max(-1.0, min(1.0, value / (size * length))) if size and length else 0.0
        for value, size in zip(products, sizes, strict=True)
    ]
