"""Questions to an index of words at one moment. Everything here only reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.lexical.analysis import Term, term_hash
from spector.lexical.columns import FieldTable
from spector.lexical.postings import Found, Stack

__all__ = ["K1", "B", "Lookup", "WordView", "idf"]

#: BM25 of the ranking (bench/LOG.md, "Ranking research"): how soon repeats stop to count, and how
#: much length does
K1: Final = 0.6
B: Final = 0.75

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """Terms with their postings in one view, so that several questions look them up once.

    Attributes:
        terms: t of them.
        found: per term the postings, block by block.
        df: (t,) i64, rows that have the term, in text or field.
    """

    terms: tuple[Term, ...]
    found: tuple[list[Found], ...]
    df: NDArray[np.int64]


def idf(df: NDArray[Any], rows: int) -> NDArray[np.float64]:
    """ln(1 + (rows - df + 0.5) / (df + 0.5)), in nats: 0.. for common words, ln(rows) for rare."""
    df = np.minimum(np.asarray(df, np.float64), rows)
    return np.asarray(np.log1p((rows - df + 0.5) / (df + 0.5)))


class WordView:
    """The words of all rows of an index at one moment.

    Rows are numbers from 0 to ``len(view) - 1``, good for this view only. Some of them are no
    memories any more (``alive``); no answer has those. Where an answer needs a row that is not
    there (no neighbour, unknown id) it has -1, and where a question has -1 the answer is 0 or -1.
    """

    def __init__(
        self, stack: Stack, columns: dict[str, NDArray[Any]], fields: FieldTable, key: bytes,
        order: tuple[NDArray[np.int64], NDArray[np.int32]], alive: int, turkish: bool,
    ) -> None:
        self._stack = stack
        self._columns = columns
        self._fields = fields
        self._key = key
        self._order = order
        self._whole = alive == len(columns["id"])
        self._turkish = turkish
        #: rows that are memories
        self.n_rows = alive

    def __len__(self) -> int:
        return len(self._columns["id"])

    @cached_property
    def mean_length(self) -> float:
        """Mean of ``sizes`` over all memories; 1 for none."""
        size = self._columns["size"]
        total = int(size.sum() if self._whole else size[self.alive].sum())
        return max(1.0, total / max(1, self.n_rows))

    @property
    def alive(self) -> NDArray[np.bool_]:
        """(rows,) is it a memory?"""
        return self._columns["alive"]

    @property
    def nbytes(self) -> int:
        """Memory that postings and columns take."""
        return self._stack.nbytes + sum(column.nbytes for column in self._columns.values())

    # -- terms --------------------------------------------------------------------------------

    def look_up(self, terms: Sequence[Term] | Lookup) -> Lookup:
        """The postings of terms. Every method that takes terms takes this as well."""
        if isinstance(terms, Lookup):
            return terms
        flat = [form for term in terms for form in self._forms(term)]
        hashes = np.array([term_hash(form, self._key) for form in flat], np.uint64)
        each = iter(self._stack.find(hashes))
        found = tuple(
            _either([next(each) for _ in self._forms(term)]) for term in terms
        )
        df = np.array([sum(self._living(f) for f in lists) for lists in found], np.int64)
        return Lookup(tuple(terms), found, df)

    def _forms(self, term: Term) -> tuple[str, ...]:
        return term.forms if self._turkish else term.forms[:1]

    def _living(self, found: Found) -> int:
        if self._whole:
            return len(found.row)
        return int(np.count_nonzero(self.alive[found.base :][found.row]))

    def df(self, terms: Sequence[Term] | Lookup) -> NDArray[np.int64]:
        """(t,) i64: memories that have each term, in their text or in their field."""
        return self.look_up(terms).df

    def informative(self, terms: Sequence[Term], limit: int) -> list[Term]:
        """The rarest ``limit`` of the terms that any memory has, and of the others what fits."""
        df = self.df(terms)
        order = sorted(range(len(terms)), key=lambda n: (df[n] == 0, df[n], n))
        return [terms[n] for n in sorted(order[:limit])]

    def best(
        self, terms: Sequence[Term] | Lookup, weights: Sequence[float] | Floats | None = None,
        k: int = 128, allow: NDArray[np.bool_] | None = None, *, k1: float = K1, b: float = B,
    ) -> tuple[Rows, Floats]:
        """The k memories with the highest BM25, best first, those with equal scores by id.

        Args:
            terms: t of them.
            weights: (t,) factors of the terms' idf; 1 each by default.
            k: at most so many; fewer when fewer have any of the terms.
            allow: (rows,) only these.
            k1, b: of BM25; the length is that of text and field, in words that are no stop words.

        Returns:
            rows (m,) i64 and scores (m,) f32: sum of idf (k1 + 1) tf / (tf + k1 (1 - b + b length /
            mean length)), added up in the order of the terms' hashes (Robertson and Zaragoza 2009,
            with Lucene's idf).
        """
        lookup = self.look_up(terms)
        weight = idf(lookup.df, self.n_rows) * (k1 + 1)
        if weights is not None:
            weight = weight * np.asarray(weights, np.float64)
        norm = (np.float32(k1 * (1 - b)), np.float32(k1 * b / self.mean_length))
        order = sorted(
            range(len(lookup.terms)), key=lambda n: term_hash(lookup.terms[n].text, self._key)
        )
        owners: dict[int, list[tuple[Found, np.float32]]] = {}
        for n in order:
            for found in lookup.found[n]:
                owners.setdefault(found.base, []).append((found, np.float32(weight[n])))
        rows, scores = np.zeros(0, np.int64), np.zeros(0, np.float32)
        for base in sorted(owners):
            more, values = self._scored(base, owners[base], norm, allow)
            rows, scores = np.concatenate((rows, more)), np.concatenate((scores, values))
            if len(rows) > k:
                least = np.partition(scores, len(scores) - k)[len(scores) - k]
                rows, scores = rows[scores >= least], scores[scores >= least]
        chosen = np.lexsort((self._columns["id"][rows], -scores))[:k]
        return rows[chosen], scores[chosen]

    def _scored(
        self, base: int, parts: list[tuple[Found, np.float32]],
        norm: tuple[np.float32, np.float32], allow: NDArray[np.bool_] | None,
    ) -> tuple[Rows, Floats]:
        """All rows of one block with a score, and their scores."""
        size = self._columns["size"][base : base + 65_536]
        total = np.zeros(len(size), np.float32)
        for found, weight in parts:
            tf = found.count.astype(np.float32)
            total[found.row] += weight * tf / (tf + (norm[0] + norm[1] * size[found.row]))
        rows = np.flatnonzero(total > 0)
        if not self._whole:
            rows = rows[self.alive[base + rows]]
        if allow is not None:
            rows = rows[allow[base + rows]]
        return base + rows, total[rows]

    def having_all(self, terms: Sequence[Term] | Lookup, limit: int) -> Rows | None:
        """Memories that have every term, ascending; None when they are more than ``limit``."""
        lookup = self.look_up(terms)
        if not lookup.terms or not lookup.df.all():
            return np.zeros(0, np.int64)
        common: Rows | None = None
        for n in np.argsort(lookup.df, kind="stable"):
            rows = np.concatenate([f.base + f.row.astype(np.int64) for f in lookup.found[n]])
            common = rows if common is None else common[np.isin(common, rows, assume_unique=True)]
        assert common is not None, "there is a term"
        common = common[self.alive[common]]
        return None if len(common) > limit else common

    # -- rows ---------------------------------------------------------------------------------

    def counts(self, rows: Rows, terms: Sequence[Term] | Lookup) -> NDArray[np.uint8]:
        """(t, n) u8: how often each row's text has each term (not its field)."""
        lookup = self.look_up(terms)
        out = np.zeros((len(lookup.terms), len(rows)), np.uint8)
        rows = np.asarray(rows, np.int64)
        for line, lists in zip(out, lookup.found, strict=True):
            for found in lists:
                line += _gathered(found, rows)
        out -= np.minimum(self.fields(rows, lookup), out)
        return out

    def fields(self, rows: Rows, terms: Sequence[Term] | Lookup) -> NDArray[np.uint8]:
        """(t, n) u8: 1 where the field of a row (speaker, day, month, year) has a term."""
        listed = terms.terms if isinstance(terms, Lookup) else terms
        out = np.zeros((len(listed), len(rows)), np.uint8)
        field = self._of("field", rows)
        for line, term in zip(out, listed, strict=True):
            for form in self._forms(term):
                having = self._fields.having(term_hash(form, self._key))
                if having.any():
                    line |= having[field] & (rows >= 0)
        return out

    def lengths(self, rows: Rows) -> NDArray[np.int64]:
        """(n,) words of each row's text that are no stop words."""
        return self._of("content", rows)

    def sizes(self, rows: Rows) -> NDArray[np.int64]:
        """(n,) the same and the terms of its field: the length that ``best`` goes by."""
        return self._of("size", rows)

    def word_counts(self, rows: Rows) -> NDArray[np.int64]:
        """(n,) all words of each row's text."""
        return self._of("words", rows)

    def marks(self, rows: Rows) -> NDArray[np.int64]:
        """(n,) what the index's ``mark`` said of each text, 0 to 255."""
        return self._of("marks", rows)

    def event_ms(self, rows: Rows) -> NDArray[np.int64]:
        """(n,) when it happened, milliseconds since 1970 UTC."""
        return self._of("event_ms", rows)

    def sessions(self, rows: Rows) -> NDArray[np.uint64]:
        """(n,) u64 hash of each row's session; 0 for none."""
        return np.where(rows < 0, np.uint64(0), self._columns["session"][rows])

    def ids(self, rows: Rows) -> NDArray[np.int64]:
        """(n,) ids of rows; -1 for -1."""
        return np.where(rows < 0, -1, self._columns["id"][rows]) if len(self) else np.full(
            len(rows), -1, np.int64
        )

    def places(self, rows: Rows) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(n,) segment ids and slots of rows."""
        return self._columns["segment"][rows], self._columns["slot"][rows]

    def rows(self, ids: Sequence[int] | NDArray[np.int64]) -> Rows:
        """(n,) rows of memories by id; -1 for those that are not here."""
        wanted = np.asarray(ids, np.int64)
        known, row = self._order
        if not len(known) or not len(wanted):
            return np.full(len(wanted), -1, np.int64)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        found = row[at].astype(np.int64)
        there = (known[at] == wanted) & (found < len(self))
        there &= self.alive[np.where(there, found, 0)]
        return np.where(there, found, -1)

    def speakers(self) -> list[str]:
        """Names of all who ever spoke, in the order of their codes; "" is nobody."""
        return self._fields.speakers()

    def speaker_codes(self, rows: Rows) -> NDArray[np.int64]:
        """(n,) position in ``speakers()`` of each row's speaker; -1 for -1."""
        if not len(self):
            return np.full(len(rows), -1, np.int64)
        return np.where(rows < 0, -1, self._fields.speaker_codes()[self._of("field", rows)])

    def neighbours(self, rows: Rows, reach: int = 4) -> Rows:
        """(n, 2 * reach) rows before and after each in its session, -1 where none.

        Columns: 1 before, 2 before, ..., ``reach`` before, 1 after, ..., ``reach`` after. The chain
        is that of the memories of one session that have a speaker, by event time, then id.
        """
        rows = np.asarray(rows, np.int64)
        out = np.full((len(rows), 2 * reach), -1, np.int64)
        for side, name in enumerate(("before", "after")):
            at = rows
            for step in range(reach):
                at = self._step(at, self._columns[name])
                out[:, side * reach + step] = at
        return out

    def _step(self, at: Rows, links: NDArray[np.int32]) -> Rows:
        """The next row of the chain that is a memory of this view."""
        if not len(self):
            return np.full(len(at), -1, np.int64)
        at = np.where(at >= 0, links[at], -1).astype(np.int64)
        at[at >= len(self)] = -1  # linked to since this view was made
        skip = (at >= 0) & ~self.alive[at]
        return self._stepped_over(at, skip, links) if not self._whole and skip.any() else at

    def _stepped_over(
        self, at: Rows, skip: NDArray[np.bool_], links: NDArray[np.int32]
    ) -> Rows:
        """Rows with the dead ones among them replaced by the first living one behind."""
        at = at.copy()
        while skip.any():
            at[skip] = links[at[skip]]
            at[at >= len(self)] = -1
            skip = (at >= 0) & ~self.alive[at]
        return at

    def smeared_mean(
        self, before: Sequence[float], after: Sequence[float], clip: float, sample: int = 4096
    ) -> float:
        """Mean over the memories of the length with parts of the neighbours' lengths.

        size(i) + sum over d of before[d - 1] s(j) length(j), j the d-th before i, and likewise
        after, with s(j) = min(1, clip / length(j)). Of ``sample`` rows at even distances, if there
        are more.
        """
        rows = np.flatnonzero(self.alive)
        if len(rows) > sample:
            rows = rows[:: math.ceil(len(rows) / sample)]
        if not len(rows):
            return 1.0
        reach = max(len(before), len(after))
        near = self.neighbours(rows, reach)
        share = np.minimum(self.lengths(near.ravel()), clip).reshape(near.shape)
        weights = np.zeros(2 * reach)
        weights[: len(before)], weights[reach : reach + len(after)] = before, after
        return max(1.0, float(np.mean(self.sizes(rows) + share @ weights)))

    def _of(self, name: str, rows: Rows) -> NDArray[np.int64]:
        """A column at rows as i64; 0 for -1."""
        rows = np.asarray(rows, np.int64)
        if not len(self):
            return np.zeros(len(rows), np.int64)
        return np.where(rows < 0, 0, self._columns[name][rows].astype(np.int64))


def _gathered(found: Found, rows: Rows) -> NDArray[np.uint8]:
    """(n,) counts of one block's postings at rows; 0 where it has none."""
    local = rows - found.base
    inside = (local >= 0) & (local <= 65_535) if len(found.row) else np.zeros(len(rows), bool)
    at = np.where(inside, local, 0).astype(np.uint16)
    where = np.searchsorted(found.row, at)
    where[where == len(found.row)] = 0
    hit = inside & (found.row[where] == at)
    return np.where(hit, found.count[where], 0).astype(np.uint8)


def _either(forms: list[list[Found]]) -> list[Found]:
    """Postings of a word that has several forms: rows that have any, with the higher count."""
    present = [lists for lists in forms if lists]
    if len(present) < 2:
        return present[0] if present else []
    by_base: dict[int, list[Found]] = {}
    for lists in present:
        for found in lists:
            by_base.setdefault(found.base, []).append(found)
    out: list[Found] = []
    for base in sorted(by_base):
        rows = np.concatenate([found.row for found in by_base[base]])
        counts = np.concatenate([found.count for found in by_base[base]])
        order = np.lexsort((255 - counts, rows))
        rows, counts = rows[order], counts[order]
        first = np.concatenate(([True], rows[1:] != rows[:-1]))
        out.append(Found(base, rows[first], counts[first]))
    return out
