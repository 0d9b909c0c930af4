"""Features of the memories to rank that no cue changes: places, neighbours, lengths, speakers.

A `FeatureTable` holds columns about some memories of one store. A small store has one table with
all memories, kept from recall to recall; of a large store each recall makes a table of its
candidates.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I64
from spector.kernel.contract import REACH, Ranking, TermSpread, squared
from spector.language.statements import Forms, forms_of
from spector.layout import HEADER_BYTES, RECORD_DTYPE
from spector.lexical import WordView
from spector.search.snapshot import Snapshot

T = TypeVar("T")


@dataclass(eq=False)
class FeatureTable:
    """Columns of ``n`` memories to rank, and of the ``m - n`` around them that are not ranked.

    Attributes:
        store: index of the store in the snapshot. words: its lexical index, at the same moment.
        rows: (m,) row numbers of the lexical index, the ranked ones first.
        ids: (n,) i64. part, slot: (m,) u32, places in the snapshot's table.
        around: positions in ``rows`` of the turns before and after each.
        lengths: (m,) f32 words of the texts. field_lengths: (n,) f32 of speaker and date.
    """

    store: int
    words: WordView
    rows: I64
    ids: I64
    part: NDArray[np.uint32]
    slot: NDArray[np.uint32]
    around: Around
    lengths: F32
    field_lengths: F32
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    def norms(self, snap: Snapshot, share: float, cache: NormCache) -> F32:
        """(n,) f32 lengths of the vectors mixed with their neighbours'."""
        return self._keep(("norms", share), lambda: cache.norms(snap, self, share))

    @cached_property
    def field_numbers(self) -> I64:
        """(m,) see ``WordView.field_numbers``."""
        return self.words.field_numbers(self.rows)

    def shares(self, ranking: Ranking) -> F32:
        """(m,) f32: the share of its term frequency that each row gives to its neighbours."""
        return self._keep(
            ("shares", ranking.long_words),
            lambda: np.minimum(
                np.float32(1), np.float32(ranking.long_words) / np.maximum(self.lengths, 1)
            ),
        )

    def surroundings(self, ranking: Ranking) -> TermSpread:
        """How each row's term frequency spreads to its neighbours."""
        return self._keep(
            ("around", ranking.before, ranking.after, ranking.long_words),
            lambda: self.around.given_by(self.shares(ranking), ranking),
        )

    def spread_lengths(self, ranking: Ranking) -> F32:
        """(n,) f32 lengths of the texts with the shares of the turns around."""

        def make() -> F32:
            n = len(self)
            given = _pad(self.lengths * self.shares(ranking))
            out = self.lengths[:n].copy()
            for weights, sides in (
                (ranking.before, self.around.before),
                (ranking.after, self.around.after),
            ):
                for step, weight in enumerate(weights[:REACH]):
                    if weight:
                        out += np.float32(weight) * given[sides[:n, step]]
            return out

        return self._keep(("spread", ranking.before, ranking.after, ranking.long_words), make)

    @cached_property
    def codes(self) -> NDArray[np.uint64]:
        """(n,) u64 places of the ranked rows, ascending, see `code_of`."""
        n = len(self)
        return np.sort(code_of(self.part[:n], self.slot[:n]))

    @cached_property
    def speakers(self) -> I64:
        """(n,) codes of the speakers, see ``WordView.speakers``."""
        return self.words.speaker_codes(self.rows[: len(self)])

    @cached_property
    def forms(self) -> Forms:
        """The forms of the ranked texts: questions, words of time, preferences."""
        return forms_of(self.words.column("marks", self.rows[: len(self)]))

    def of_forms(self, ranking: Ranking) -> dict[str, F32]:
        """Evidence of the form of a text, by term, (n,) f32: short texts and questions answer less."""

        def make() -> dict[str, F32]:
            forms, zero = self.forms, np.float32(0)
            share = (1 + self.lengths[: len(self)]) / np.float32(ranking.short_words)
            open_ = np.maximum(zero, 1 - forms.questions / np.float32(ranking.question_words))
            times = np.minimum(forms.time_words, np.float32(2))
            return {
                "short": np.float32(ranking.short) * np.minimum(zero, np.log(share)),
                "question": -np.float32(ranking.question) * open_,
                "time_words": np.float32(ranking.time_words) * times,
            }

        of_short = ranking.short, ranking.short_words
        of_questions = ranking.question, ranking.question_words
        return self._keep(("forms", of_short, of_questions, ranking.time_words), make)

    def _keep(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        found: T | None = self._kept.get(key)
        if found is None:
            found = self._kept[key] = make()
        return found


def all_features(snap: Snapshot, n: int, words: WordView) -> FeatureTable:
    """The table of all memories of one store, which a recall of a small store ranks."""
    rows, part, slot = find_places(snap, n, words, np.flatnonzero(words.alive))
    return _make_table(n, words, rows, len(rows), part, slot, words.neighbours(rows, REACH))


def features_of(snap: Snapshot, n: int, words: WordView, ranked: I64) -> FeatureTable:
    """The table of some rows, ascending and once each, and of the rows around them."""
    near = words.neighbours(ranked, REACH)
    others = mark_rows(len(words), [near.ravel()], without=ranked)
    rows = np.concatenate([ranked, others])
    near = np.concatenate([near, words.neighbours(others, REACH)])
    part, slot = places_of(snap, n, words, rows)
    there = slot != NOWHERE
    known = len(ranked)
    if not there.all():
        known = int(np.count_nonzero(there[:known]))
        rows, near, part, slot = rows[there], near[there], part[there], slot[there]
    return _make_table(n, words, rows, known, part, slot, near)


def _make_table(
    n: int,
    words: WordView,
    rows: I64,
    ranked: int,
    part: NDArray[np.uint32],
    slot: NDArray[np.uint32],
    near: I64,
) -> FeatureTable:
    own = rows[:ranked]
    position = _positions(len(words), rows, near)
    lengths = words.column("content", rows).astype(np.float32)
    return FeatureTable(
        n,
        words,
        rows,
        words.ids(own),
        part,
        slot,
        Around(position[:, :REACH], position[:, REACH:], ranked),
        lengths,
        words.column("size", own).astype(np.float32) - lengths[:ranked],
    )


class _Scratch(threading.local):
    """Scratch arrays of a thread, all zeros before and after a use.

    For a large store, allocating megabytes anew would take longer than all that is done in them.
    """

    mark: NDArray[np.bool_] | None = None
    place: NDArray[np.int32] | None = None


_scratch: Final = _Scratch()
#: rows of a store up to which a thread keeps its own, five bytes a row
_MOST_KEPT: Final = 1 << 23


def _take(name: str, count: int, kind: type[np.generic]) -> NDArray[Any]:
    """Zeros for ``count`` rows and one more, this thread's alone until they are given back."""
    kept = getattr(_scratch, name)
    setattr(_scratch, name, None)  # gone, should anything fail
    return np.zeros(count + count // 8 + 1, kind) if kept is None or len(kept) <= count else kept


def _give_back(name: str, zeros: NDArray[Any]) -> None:
    if len(zeros) <= _MOST_KEPT:
        setattr(_scratch, name, zeros)


def mark_rows(count: int, some: Sequence[I64], without: I64 | None = None) -> I64:
    """Rows below ``count`` that are in any of some arrays and not in ``without``, ascending, once.

    -1 stands for no row.
    """
    mark = _take("mark", count, np.bool_)
    for rows in some:
        mark[rows] = True  # -1 is behind the last
    if without is not None:
        mark[without] = False
    out = np.flatnonzero(mark[:count])
    mark[out] = False
    mark[-1] = False
    _give_back("mark", mark)
    return out


def _positions(count: int, rows: I64, near: I64) -> I64:
    """Positions of the rows ``near`` in ``rows`` (m,); m for what is not in it, and for -1."""
    m = len(rows)
    place = _take("place", count, np.int32)
    place[rows] = np.arange(m, dtype=np.int32) - np.int32(m)
    position = place[near].astype(np.int64) + m
    place[rows] = 0
    _give_back("place", place)
    return position


# -- places ---------------------------------------------------------------------------------------

NOWHERE: Final = np.uint32(0xFFFF_FFFF)


def places_of(
    snap: Snapshot, n: int, words: WordView, rows: I64
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Places of rows in the snapshot's table; the slot is ``NOWHERE`` for what it does not have."""
    segments, slots = words.places(rows)
    position, room = snap.seats(n, segments)
    return position, np.where(slots < room, slots.astype(np.uint32), NOWHERE)


def find_places(
    snap: Snapshot, n: int, words: WordView, rows: I64
) -> tuple[I64, NDArray[np.uint32], NDArray[np.uint32]]:
    """Those of some rows that the snapshot's table has, and their places."""
    part, slot = places_of(snap, n, words, rows)
    there = slot != NOWHERE  # what was written after the view, in a store in memory, is not
    return (rows, part, slot) if there.all() else (rows[there], part[there], slot[there])


def code_of(part: NDArray[np.uint32], slot: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """A place as one number."""
    return part.astype(np.uint64) << np.uint64(32) | slot.astype(np.uint64)


def header_column(
    snap: Snapshot, part: NDArray[np.uint32], slot: NDArray[np.uint32], name: str
) -> NDArray[Any]:
    """One field of the headers at given places."""
    kind, offset = RECORD_DTYPE.fields[name][:2]  # type: ignore[index]
    return gather_bytes(snap, part, slot, offset, kind.itemsize).view(kind)[:, 0]


def mixed_vectors(snap: Snapshot, features: FeatureTable, share: float) -> F32:
    """(n, dim) f32: the ranked rows' vectors mixed with their neighbours', of length 1."""
    vectors = unit_vectors(snap, features.part, features.slot)
    out = vectors[: len(features)].copy()
    n = len(features)
    for side in (features.around.before[:n, 0], features.around.after[:n, 0]):
        there = np.flatnonzero(side < len(vectors))
        out[there] += np.float32(share) * vectors[side[there]]
    lengths = np.sqrt(np.einsum("nd,nd->n", out, out))
    out /= np.maximum(lengths, np.float32(1e-9))[:, None]
    return out


def gather_bytes(
    snap: Snapshot, part: NDArray[np.uint32], slot: NDArray[np.uint32], offset: int, size: int
) -> NDArray[np.uint8]:
    """(n, size) u8 copies of bytes of the records at given places."""
    return snap.kernel.gather(snap.table, part, slot, offset, size)


def unit_vectors(snap: Snapshot, part: NDArray[np.uint32], slot: NDArray[np.uint32]) -> F32:
    """(n, dim) f32: the stored vectors at given places."""
    scales = header_column(snap, part, slot, "scale").astype(np.float32)
    # of a vector of length 1 it is below 1/127; a damaged record must not reach those beside it
    scales[~((scales >= 0) & (scales <= 1))] = 0
    codes = gather_bytes(snap, part, slot, HEADER_BYTES, snap.table.stride - HEADER_BYTES).view(
        np.int8
    )
    return codes * scales[:, None]


class NormCache:
    """Lengths of mixed vectors, by row of a lexical index; 12 bytes a row.

    A length is valid for one memory at its place between two others at theirs, so its key is made
    of those three. A vector never changes at its place.
    """

    def __init__(self) -> None:
        self._keys = np.zeros(0, np.uint64)
        self._lengths = np.zeros(0, np.float32)
        self._lock = threading.Lock()

    def norms(self, snap: Snapshot, features: FeatureTable, share: float) -> F32:
        """(n,) f32 of the ranked rows; reads the vectors of those that are not known yet."""
        n = len(features)
        rows = features.rows[:n]
        keys = _keys_of(features, share)
        with self._lock:
            self._grow(int(rows.max(initial=-1)) + 1)
            out = self._lengths[rows]
            missing = np.flatnonzero(self._keys[rows] != keys)
            if len(missing):
                out[missing] = _norms_at(snap, features, missing, share)
            self._lengths[rows[missing]] = out[missing]
            self._keys[rows[missing]] = keys[missing]
        return out

    def _grow(self, count: int) -> None:
        if count > len(self._keys):
            more = max(count, 2 * len(self._keys)) - len(self._keys)
            keys = np.concatenate([self._keys, np.zeros(more, np.uint64)])
            lengths = np.concatenate([self._lengths, np.zeros(more, np.float32)])
            # both or, after an interrupt, neither
            self._keys, self._lengths = keys, lengths


_MIX: Final = tuple(
    np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
)


def _keys_of(features: FeatureTable, share: float) -> NDArray[np.uint64]:
    """(n,) u64 hashes of the three vectors that a mixed one is made of; 0 only by chance."""
    own = np.zeros(len(features.rows) + 1, np.uint64)
    own[:-1] = features.words.ids(features.rows).astype(np.uint64) * _MIX[0]
    own[:-1] += (features.slot.astype(np.uint64) + np.uint64(1)) * _MIX[1]
    own ^= own >> np.uint64(29)
    out = own[: len(features)] * _MIX[0]
    before, after = features.around.before[: len(out), 0], features.around.after[: len(out), 0]
    out += own[before] * _MIX[1] + own[after] * _MIX[2]
    return out + np.uint64(struct.unpack("<Q", struct.pack("<d", share))[0])


def _norms_at(snap: Snapshot, features: FeatureTable, some: I64, share: float) -> F32:
    before, after = features.around.before[some, 0], features.around.after[some, 0]
    return snap.kernel.blended_norms(
        snap.table,
        features.part,
        features.slot,
        some.astype(np.uint32),
        before.astype(np.uint32),
        after.astype(np.uint32),
        share,
    )


# The formulas of evidence, arrays in, arrays out: BM25, neighbours, forms of text, diversity.
#
# ``n`` rows are ranked. The neighbours of a row in its session may be rows that are not ranked, so
# columns (counts, lengths, dot products) have ``m >= n`` entries, the ranked ones first. Evidence is
# in standard deviations of the cue's similarity over the store.

#: deviation of cosines in a store that is too small to have one of its own (MiniLM, conversations)
TYPICAL_DEVIATION: Final = np.float32(0.12)
#: memories that the typical deviation counts for
_PRIOR_ROWS: Final = 10.0
_LEAST_DEVIATION: Final = np.float32(0.02)
_LEAST: Final = np.float32(1e-9)


@dataclass(frozen=True, eq=False)
class Around:
    """The neighbours of each row in its session: (m, REACH) i64, nearest first, ``m`` for none.

    The first ``ranked`` rows are ranked; the others are only neighbours.
    """

    before: I64
    after: I64
    ranked: int

    @cached_property
    def beside(self) -> tuple[I64, I64]:
        """(ranked,) each: the rows right before and right after the ranked ones."""
        n = self.ranked
        return np.ascontiguousarray(self.before[:n, 0]), np.ascontiguousarray(self.after[:n, 0])

    def given_by(self, share: F32, ranking: Ranking) -> TermSpread:
        """How each row's term frequency spreads: to the rows that it stands before and after."""
        # the row before another has that one after itself
        target = np.concatenate([self.after, self.before], axis=1).astype(np.uint32)
        factor = np.zeros(2 * REACH)
        factor[: len(ranking.before)] = ranking.before
        factor[REACH : REACH + len(ranking.after)] = ranking.after
        return TermSpread(share, target, factor, self.ranked)


def deviation(cosines: F32) -> np.float32:
    """Standard deviation of cosines over a store; pulled towards a typical one in small stores.

    Args:
        cosines: (n,) float32, the cue's cosine with each memory (or a sample of them).
    """
    count = float(cosines.size)
    wide = cosines.astype(np.float64)
    mean = float(wide.sum()) / max(count, 1.0)
    own = max(0.0, squared(wide) / max(count, 1.0) - mean * mean)
    prior = float(TYPICAL_DEVIATION) ** 2
    pooled = np.float32(((count * own + _PRIOR_ROWS * prior) / (count + _PRIOR_ROWS)) ** 0.5)
    return max(pooled, _LEAST_DEVIATION)


def mix_neighbours(dots: F32, around: Around, norms: F32, share: float) -> F32:
    """Cosines with each memory's vector mixed with those of the turns beside it.

    Args:
        dots: (m,) float32, the cue's dot product with the vectors of the rows.
        norms: (n,) float32, length of each mixed vector, see ``NeighbourKernel.blended_norms``.

    Returns:
        (n,) float32: ``(d(i) + share d(i-1) + share d(i+1)) / |mixed vector|``.
    """
    n = around.ranked
    if not share:
        return dots[:n]
    padded = _pad(dots)
    before, after = around.beside
    sides = padded[before] + padded[after]
    return np.asarray((dots[:n] + np.float32(share) * sides) / norms, np.float32)


def idf_of(df: NDArray[Any], rows: int) -> F32:
    """ln(1 + (N - df + 0.5) / (df + 0.5)), (t,) float32; ln(1 + N) for df 0."""
    found = np.minimum(np.asarray(df, np.float64), rows)
    out = np.log1p((rows - found + 0.5) / (found + 0.5))
    return np.asarray(np.where(found == 0, np.log1p(float(rows)), out), np.float32)


def length_norm(length: F32, mean_length: float, ranking: Ranking) -> F32:
    """The length norm K of BM25, tf / (tf + K): (n,) float32, above 0.

    Args:
        length: (n,), with the shares of neighbours. mean_length: the same over the store.

    Returns:
        ``k1 (1 - b + b length / mean)``.
    """
    k1, b = ranking.k1, ranking.b
    slope = np.float32(k1 * b / max(mean_length, 1e-6))
    return np.float32(k1 * (1 - b) + _LEAST) + length * slope


def _pad(values: F32) -> F32:
    """With one more row of zeros, for missing neighbours."""
    out = np.zeros((len(values) + 1, *values.shape[1:]), np.float32)
    out[:-1] = values
    return out


def reciprocal_ranks(values: F32, ids: I64, k: float) -> F32:
    """1 / (k + rank) by descending value, (n,) float32; ranks count from 1, ties go by id.

    Values of 0 or less have no rank and earn 0.
    """
    out = np.zeros(len(values), np.float32)
    order = np.lexsort((ids, -values))
    order = order[values[order] > 0]
    out[order] = 1.0 / (k + 1.0 + np.arange(len(order), dtype=np.float64))
    return out
