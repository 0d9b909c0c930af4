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
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I64
from spector.kernel.contract import REACH, Ranking, TermSpread
from spector.language.statements import Forms, forms_of
from spector.layout import HEADER_BYTES, RECORD_DTYPE
from spector.lexical import WordView
from spector.search.view.formulas import Around, of_forms, shares, spread_to_neighbours
from spector.search.view.snapshot import Snapshot

__all__ = [
    "NOWHERE",
    "FeatureTable",
    "NormCache",
    "all_features",
    "code_of",
    "features_of",
    "mark_rows",
    "mixed_vectors",
    "places_of",
    "unit_vectors",
]


@dataclass(slots=True, eq=False)
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
    _kept: dict[Any, F32] = field(default_factory=dict, repr=False)
    _codes: NDArray[np.uint64] | None = None
    _fields: I64 | None = None
    _speakers: I64 | None = None
    _forms: Forms | None = None
    _surroundings: tuple[Any, TermSpread] | None = None
    _form_terms: tuple[Any, dict[str, F32]] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def norms(self, snap: Snapshot, share: float, cache: NormCache) -> F32:
        """(n,) f32 lengths of the vectors mixed with their neighbours'."""
        return self._keep(("norms", share), lambda: cache.norms(snap, self, share))

    def field_numbers(self) -> I64:
        """(m,) see ``WordView.field_numbers``."""
        if self._fields is None:
            self._fields = self.words.field_numbers(self.rows)
        return self._fields

    def shares(self, ranking: Ranking) -> F32:
        """(m,) f32: the share of its term frequency that each row gives to its neighbours."""
        return self._keep(("shares", ranking.long_words), lambda: shares(self.lengths, ranking))

    def surroundings(self, ranking: Ranking) -> TermSpread:
        """How each row's term frequency spreads to its neighbours."""
        key = (ranking.before, ranking.after, ranking.long_words)
        if self._surroundings is None or self._surroundings[0] != key:
            self._surroundings = (key, self.around.given_by(self.shares(ranking), ranking))
        return self._surroundings[1]

    def spread_lengths(self, ranking: Ranking) -> F32:
        """(n,) f32 lengths of the texts with the shares of the turns around."""
        return self._keep(
            ("spread", ranking.before, ranking.after, ranking.long_words),
            lambda: spread_to_neighbours(self.lengths, self.shares(ranking), self.around, ranking),
        )

    def codes(self) -> NDArray[np.uint64]:
        """(n,) u64 places of the ranked rows, ascending, see `code_of`."""
        if self._codes is None:
            n = len(self)
            self._codes = np.sort(code_of(self.part[:n], self.slot[:n]))
        return self._codes

    def speakers(self) -> I64:
        """(n,) codes of the speakers, see ``WordView.speakers``."""
        if self._speakers is None:
            self._speakers = self.words.speaker_codes(self.rows[: len(self)])
        return self._speakers

    def forms(self) -> Forms:
        """The forms of the ranked texts: questions, words of time, preferences."""
        if self._forms is None:
            self._forms = forms_of(self.words.marks(self.rows[: len(self)]))
        return self._forms

    def of_forms(self, ranking: Ranking) -> dict[str, F32]:
        """The evidence of those forms, see `spector.search.view.formulas.of_forms`."""
        key = (
            ranking.short,
            ranking.short_words,
            ranking.question,
            ranking.question_words,
            ranking.time_words,
        )
        if self._form_terms is None or self._form_terms[0] != key:
            forms, words = self.forms(), self.lengths[: len(self)]
            terms = of_forms(words, forms.questions, forms.time_words, ranking)
            self._form_terms = (key, terms)
        return self._form_terms[1]

    def _keep(self, key: Any, make: Callable[[], F32]) -> F32:
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = make()
        return found


def all_features(snap: Snapshot, n: int, words: WordView) -> FeatureTable:
    """The table of all memories of one store, which a recall of a small store ranks."""
    rows = np.flatnonzero(words.alive)
    part, slot = places_of(snap, n, words, rows)
    there = slot != NOWHERE
    if not there.all():  # written after the view, in a store in memory
        rows, part, slot = rows[there], part[there], slot[there]
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
    lengths = words.lengths(rows).astype(np.float32)
    return FeatureTable(
        n,
        words,
        rows,
        words.ids(own),
        part,
        slot,
        Around(position[:, :REACH], position[:, REACH:], ranked),
        lengths,
        words.sizes(own).astype(np.float32) - lengths[:ranked],
    )


class _Scratch(threading.local):
    """Scratch arrays of a thread, all zeros before and after a use.

    For a large store, allocating megabytes anew would take longer than all that is done in them.
    """

    mark: NDArray[np.bool_] | None = None
    place: NDArray[np.int32] | None = None


_scratch: Final = _Scratch()
#: rows of a store up to which each thread keeps its own, five bytes a row
_MOST_KEPT: Final = 1 << 20
#: of larger stores one for all threads; a thread that finds it taken allocates another
_large: Final[dict[str, NDArray[Any]]] = {}


def _take(name: str, count: int, kind: type[np.generic]) -> NDArray[Any]:
    """Zeros for ``count`` rows and one more, this thread's alone until they are given back."""
    if count > _MOST_KEPT:
        kept = _large.pop(name, None)
        most = count + count // 8
    else:
        kept = getattr(_scratch, name)
        setattr(_scratch, name, None)  # gone, should anything fail
        most = min(count + count // 8, _MOST_KEPT)
    return np.zeros(most + 1, kind) if kept is None or len(kept) <= count else kept


def _give_back(name: str, zeros: NDArray[Any]) -> None:
    if len(zeros) > _MOST_KEPT + 1:
        _large[name] = zeros
    else:
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
