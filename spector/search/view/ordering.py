"""The ranking: candidates by score, ties by id, sorted and made only as far as they are read."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I64
from spector.kernel.contract import ScanResult
from spector.search.view.features import FeatureTable, code_of
from spector.search.view.snapshot import Candidate, Snapshot

__all__ = ["Modifier", "Ranked", "scanned_hits", "unfeatured_hits"]


#: candidates that are sorted at once
_SORTED_AT_ONCE: Final = 64


class Modifier(NamedTuple):
    """A change of every candidate's score: ``score * factor + addend``, (N,) f32 each."""

    name: str
    factor: F32
    addend: F32


class Ranked(Sequence[Candidate]):
    """Candidates best first, by score, ties by id; made when they are read.

    Attributes:
        coverage: best evidence of words as a share of the most there could be, 0..1.
        cosine: highest of ``mixed`` among the rows that pass.
        ids, store, part, slot: (N,) of every row, also of those that the filters keep out.
        words, full: (n,) f32 evidence of words, and the most there could be. Its n rows are those
            of the feature tables, the first of the N.
        mixed: (n,) f32 cosines with each vector mixed with its neighbours', of the same rows.
        allowed: places (see `code_of`) of all that can pass; None until that is known.
        is_whole: every memory is in it.
    """

    def __init__(
        self,
        ids: I64,
        store: I64,
        part: NDArray[np.uint32],
        slot: NDArray[np.uint32],
        fused: F32,
        similarity: F32,
        evidence: dict[str, F32],
        others: Sequence[Candidate] = (),
    ) -> None:
        if others:
            ids = np.append(ids, [each.id for each in others])
            store = np.append(store, [each.store for each in others])
            part = np.append(part, np.array([each.part for each in others], np.uint32))
            slot = np.append(slot, np.array([each.slot for each in others], np.uint32))
            fused = np.append(fused, np.array([each.fused for each in others], np.float32))
            more = np.array([each.similarity for each in others], np.float32)
            similarity = np.append(similarity, more)
            nothing = np.zeros(len(others), np.float32)
            evidence = {name: np.append(each, nothing) for name, each in evidence.items()}
        total = fused.astype(np.float64)
        for values in evidence.values():
            total += values
        self.ids, self.store, self.part, self.slot = ids, store, part, slot
        self._fused, self._similarity, self._total = fused, similarity, total
        self._evidence = evidence
        self._left = np.flatnonzero(fused > -np.inf)
        self._count = len(self._left)
        #: rows that are left are all there are, in their order
        self._is_fresh = self._count == len(fused)
        self._order = np.zeros(0, np.int64)
        self.coverage = 0.0
        self.cosine = 0.0
        self.words = self.mixed = np.zeros(0, np.float32)
        self.full = 1.0
        self.allowed: NDArray[np.uint64] | None = None
        self.is_whole = False

    def _sort(self, count: int) -> None:
        """Sort at least the first ``count``; few are ever read."""
        while len(self._order) < min(count, self._count):
            left, want = self._left, max(count - len(self._order), _SORTED_AT_ONCE)
            values = self._total if self._is_fresh else self._total[left]
            self._is_fresh = False
            if len(left) > want:
                least = np.partition(values, len(left) - want)[len(left) - want]
                best = values >= least  # with all that are equal to the last
                self._left, left, values = left[~best], left[best], values[best]
            else:
                self._left = left[:0]
            order = np.lexsort((self.slot[left], self.part[left], self.ids[left], -values))
            self._order = np.concatenate([self._order, left[order]])

    def __len__(self) -> int:
        return self._count

    def modify(self, modifier: Modifier) -> None:
        """Change all scores, before anything is looked at.

        The change is a term of the evidence by the modifier's name, so that the terms of a hit
        still add up to its score, to the last bit.
        """
        name, factor, addend = modifier
        assert name not in self._evidence, f"two modifiers are named {name}"
        assert not len(self._order), "modifiers come before the first k"
        change = np.zeros(len(self._total), np.float32)
        rows = self._left
        total = self._total[rows]
        change[rows] = total * factor[rows] + addend[rows] - total
        self._evidence[name] = change
        self._total += change

    def best_ids(self, count: int) -> I64:
        """Ids of the best ``count`` as scores are now, in no order; modifiers may follow."""
        left, values = self._left, self._total[self._left]
        if count < len(left):
            left = left[np.argpartition(values, len(left) - count)[len(left) - count :]]
        return self.ids[left]

    def rivals(self, count: int, share: float, most: int) -> tuple[I64, NDArray[np.float64]]:
        """Rows with at least a share of the score of the ``count``-th best, and their scores.

        At most the best ``most`` of them.
        """
        rows, values = self._left, self._total[self._left]
        if count < len(rows):
            least = share * np.partition(values, len(values) - count)[len(values) - count]
            near = values >= least
            rows, values = rows[near], values[near]
        if most < len(rows):
            best = np.argsort(-values, kind="stable")[:most]
            rows, values = rows[best], values[best]
        return rows, values

    def top(self, count: int) -> Sequence[Candidate]:
        """The first ``count``, made when they are read, too."""
        return self if count >= self._count else _Top(self, count)

    def first_rows(self, count: int) -> I64:
        """Numbers of the first ``count`` rows, in their order."""
        self._sort(count)
        return self._order[:count]

    def only(self, codes: NDArray[np.uint64]) -> None:
        """Keep what is at one of these places (see `code_of`)."""
        self._left = np.concatenate([self._order, self._left])
        self._left = self._left[np.isin(self.codes(self._left), codes)]
        self._count, self._order = len(self._left), self._order[:0]
        self._is_fresh = False
        self.allowed = codes

    def set_aside(self, ids: I64) -> I64:
        """Take some memories out of the ranking and its signals; return their rows that would pass."""
        rows = self.rows_of(ids)
        rows = rows[self._fused[rows] > -np.inf]
        if not len(rows):
            return rows
        kept = np.ones(len(self.ids), np.bool_)
        kept[rows] = False
        left = np.concatenate([self._order, self._left])
        self._left, self._order = left[kept[left]], self._order[:0]
        self._count, self._is_fresh = len(self._left), False
        coverage, cosine = self.signals_of(rows)
        if coverage >= self.coverage or (cosine is not None and cosine >= self.cosine):
            coverage, cosine = self.signals_of(self.passing())
            self.coverage, self.cosine = coverage, -1.0 if cosine is None else cosine
        return rows

    def candidates(self, rows: I64) -> list[Candidate]:
        """Candidates of some rows, best first, also of rows that were set aside."""
        return self._made(rows[np.lexsort((self.ids[rows], -self._total[rows]))])

    def codes(self, rows: I64) -> NDArray[np.uint64]:
        """(n,) u64 places of some rows."""
        return code_of(self.part[rows], self.slot[rows])

    def passing(self) -> I64:
        """Rows that the filters, and `only`, have left."""
        return np.sort(np.concatenate([self._order, self._left]))

    def rows_of(self, ids: I64) -> I64:
        """Rows of those of some memories that are here."""
        return np.flatnonzero(np.isin(self.ids, ids))

    def values(self) -> tuple[F32, F32]:
        """The columns that signals are made of: evidence of words, cosines."""
        return self.words, self.mixed

    def signals_of(self, rows: I64) -> tuple[float, float | None]:
        """``coverage`` and ``cosine`` of some rows alone; None without any."""
        words, cosines = (values[rows[rows < len(values)]] for values in self.values())
        return (
            max(0.0, float(words.max(initial=0.0))) / self.full,
            max(-1.0, float(cosines.max())) if len(cosines) else None,
        )

    @overload
    def __getitem__(self, at: int) -> Candidate: ...

    @overload
    def __getitem__(self, at: slice) -> list[Candidate]: ...

    def __getitem__(self, at: int | slice) -> Candidate | list[Candidate]:
        if isinstance(at, slice):
            self._sort(len(range(self._count)[: at.stop]))
            return self._made(self._order[: self._count][at])
        self._sort(range(self._count)[at] + 1)
        return self._made(self._order[at : at + 1])[0]

    def _made(self, rows: I64) -> list[Candidate]:
        """Candidates of some rows, column by column: NumPy's numbers are slow one by one."""
        columns = (self.ids, self.store, self.part, self.slot, self._fused, self._similarity)
        names, values = tuple(self._evidence), self._evidence.values()
        terms = (
            zip(*(each[rows].tolist() for each in values), strict=True)
            if names
            else ([()] * len(rows))
        )
        return [
            Candidate(
                record_id,
                store,
                part,
                slot,
                fused,
                similarity,
                {name: value for name, value in zip(names, mine, strict=True) if value},
                total,
            )
            for record_id, store, part, slot, fused, similarity, mine, total in zip(
                *(each[rows].tolist() for each in columns),
                terms,
                self._total[rows].tolist(),
                strict=True,
            )
        ]


class _Top(Sequence[Candidate]):
    """The first of some ranked candidates."""

    def __init__(self, ranked: Ranked, count: int) -> None:
        self._ranked, self._range = ranked, range(count)

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, at: int) -> Candidate: ...

    @overload
    def __getitem__(self, at: slice) -> list[Candidate]: ...

    def __getitem__(self, at: int | slice) -> Candidate | list[Candidate]:
        if isinstance(at, slice):
            return [self._ranked[n] for n in self._range[at]]
        return self._ranked[self._range[at]]


def unfeatured_hits(
    snap: Snapshot, tables: Sequence[FeatureTable], result: ScanResult
) -> list[Candidate]:
    """Hits of a scan that are in no table of features."""
    codes = code_of(result.hits["part"], result.hits["slot"])
    new = np.ones(len(codes), np.bool_)
    for features in tables:
        known = features.codes()
        if len(known):
            at = np.minimum(np.searchsorted(known, codes), len(known) - 1)
            new &= known[at] != codes
    return scanned_hits(snap, result.hits[new])


def scanned_hits(snap: Snapshot, hits: NDArray[Any]) -> list[Candidate]:
    """Candidates of scanned hits (`HIT_DTYPE`), in their order."""
    offsets = snap.offsets  # as `Snapshot.store_of` says, without a call for each
    return [
        Candidate(
            record_id, bisect_right(offsets, part) - 1, part, slot, score, similarity, score=score
        )
        for record_id, score, similarity, part, slot in hits.tolist()
        if score > -math.inf
    ]
