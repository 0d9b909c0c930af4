"""The ranking: candidates by score, ties by id, sorted and made only as far as they are read."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I64
from spector.kernel.contract import ScanResult
from spector.language.words import wording_of
from spector.layout import HEADER_BYTES, MUTABLE_OFFSET, RECORD_PROOF, Flag
from spector.records import Hit
from spector.search.features import FeatureTable, code_of
from spector.search.plan import Plan
from spector.search.snapshot import Candidate, FoundRecord, Snapshot, explain
from spector.store.catalog import StoredRow, ended_among, pad_ids, successors, verify_all
from spector.store.core import damaged_record, verify_strength
from spector.store.files import Bytes

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
            # a damaged id may lie beyond i64, so NumPy chooses the type of all
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


def unfeatured_hits(
    snap: Snapshot, tables: Sequence[FeatureTable], result: ScanResult
) -> list[Candidate]:
    """Hits of a scan that are in no table of features."""
    codes = code_of(result.hits["part"], result.hits["slot"])
    new = np.ones(len(codes), np.bool_)
    for features in tables:
        known = features.codes
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


# Turns candidates into hits: catalog rows, verified bytes, explanations.

#: candidates that are looked up at once where some of the first were lost: at least, and at most
_CHUNK = 16
_MAX_CHUNK = 512
#: ids lie below; only damage makes larger ones, which SQLite could not be asked for
_NO_ID = 1 << 63


def confirm(
    plan: Plan,
    ordered: Sequence[Candidate],
    k: int,
    *,
    distinct: bool = False,
    most: int | None = None,
) -> tuple[list[Hit], int]:
    """The first k candidates that the catalog confirms, and how many it did not.

    Args:
        ordered: best first; read in slices, so it may be lazy.
        distinct: count different texts of one user and agent, not records.
        most: candidates that are looked at; None for all.

    Raises:
        PartitionCorruptError: bytes of a memory are not what was written.
        Moved: a memory in memory moved meanwhile.
    """
    snap = plan.snap
    hits: list[Hit] = []
    seen: set[int] = set()
    different: set[Hashable] = seen if not distinct else set()  # type: ignore[assignment]
    dropped, hidden = 0, plan.query.drop_flags & int(Flag.SUPERSEDED)
    start, step = 0, k  # of what the gate let through, hardly any candidate is lost
    end = len(ordered) if most is None else min(most, len(ordered))
    while start < end:
        chunk = [c for c in ordered[start : min(start + step, end)] if c.id not in seen]
        start, step = start + step, min(max(2 * step, _CHUNK), _MAX_CHUNK)
        rows = _rows(plan, chunk)
        unknown = [c for c in chunk if c.id not in rows]
        if unknown:
            _refuse_damaged(snap, unknown)
            chunk = [c for c in chunk if c.id in rows]
            dropped += len(unknown)
        if not chunk:
            continue
        images = _images(snap, chunk)
        headers = list(RECORD_PROOF.iter_unpack(images[:, :HEADER_BYTES].tobytes()))
        offsets, indexes = snap.offsets, snap.indexes
        texts = [wording_of(rows[c.id].text) for c in chunk] if distinct else []
        _verify(snap, chunk, rows, images, [header[_CRC] for header in headers])
        kept: list[int] = []
        for n, candidate in enumerate(chunk):
            row = rows.get(candidate.id)
            # a flag may have been taken back since the snapshot; flags begin a mutable half
            if row is None or candidate.id in seen or row.mutable[0] & hidden:
                dropped += 1
                continue
            index = indexes[candidate.store].get(row.segment_id)
            is_there = (  # nearly all are, and need no call
                index is not None
                and row.slot == candidate.slot
                and offsets[candidate.store] + index == candidate.part
                and headers[n][_ID] == candidate.id
            )
            if not is_there and _is_old(snap, candidate, row, headers[n][_ID]):
                dropped += 1
                continue
            seen.add(candidate.id)
            if distinct:
                different.add((texts[n], row.user_id, row.agent_id))
            kept.append(n)
            if len(different) == k:
                break
        newer = _verify_rows(snap, chunk, rows, headers, images, kept)
        hits += _hits(plan, chunk, rows, images, headers, kept, newer, texts)
        if len(different) == k:
            break
        if distinct and not dropped:  # only repeated words were lost
            step = min(step, 2 * (k - len(different)) + 2)
    return hits, dropped


def _verify(
    snap: Snapshot,
    chunk: list[Candidate],
    rows: dict[int, StoredRow],
    images: Bytes,
    stored: list[int],
) -> None:
    """Verify the checksum of every candidate; ``stored`` has those that the records hold."""
    for n in {candidate.store for candidate in chunk}:
        store = snap.stores[n]
        mine = [i for i, c in enumerate(chunk) if c.store == n]
        whole = len(mine) == len(chunk)
        checked = images if whole else np.ascontiguousarray(images[mine])
        out = np.empty(len(mine), np.uint32)
        snap.kernel.crc32c_rows(checked, out, snap.kernel.crc32c(store.uuid))
        expected = out.tolist()
        if whole and stored == expected:
            return
        for i, crc in zip(mine, expected, strict=True):
            if stored[i] == crc:
                continue
            candidate = chunk[i]
            if store.files.durable:
                segment = store.segments.get(rows[candidate.id].segment_id)
                where = segment.where if segment else "a partition"
                raise damaged_record(where, candidate.slot, candidate.id)
            del rows[candidate.id]  # a ring slot was overwritten while it was read


def _refuse_damaged(snap: Snapshot, unknown: list[Candidate]) -> None:
    """Raise when the catalog did not confirm an id because of damage.

    A record that a filter left out, or that was forgotten, has intact bytes.

    Raises:
        PartitionCorruptError: the bytes are not a record's. CatalogCorruptError: the catalog
        has the memory, and does not find it.
    """
    mine = [c for c in unknown if snap.stores[c.store].files.durable]
    if not mine:
        return
    images = _images(snap, mine)
    stored = images[:, 36:40].copy().view("<u4")[:, 0]
    expected = np.empty(len(mine), np.uint32)
    # the one durable store comes first, and all of them are in it
    store = snap.stores[mine[0].store]
    snap.kernel.crc32c_rows(images, expected, snap.kernel.crc32c(store.uuid))
    for n in np.flatnonzero(stored != expected).tolist():
        place = (snap.segment_at(mine[n].part), mine[n].slot)
        for _, _, record_id in store.catalog.places("segment_id = ? AND slot = ?", place):
            segment = store.segments.get(place[0])
            where = segment.where if segment else "a partition"
            raise damaged_record(where, place[1], record_id)
    ids = pad_ids([candidate.id for candidate in mine if candidate.id < _NO_ID])
    marks = ",".join("?" * len(ids))
    known = {each for _, _, each in store.catalog.places(f"record.id IN ({marks})", ids)}
    lost = set(ids) - known  # those that no filter left out
    if lost:
        store.catalog.refuse_hidden(sorted(lost))


def _hits(
    plan: Plan,
    chunk: list[Candidate],
    rows: dict[int, StoredRow],
    images: Bytes,
    headers: list[tuple[Any, ...]],
    kept: list[int],
    newer: Mapping[int, tuple[int, ...]],
    texts: Sequence[str],
) -> list[Hit]:
    names, router = dict[int, str](), plan.means.router
    out: list[Hit] = []
    for n in kept:
        candidate, image = chunk[n], images[n]
        row = rows[candidate.id]
        code = headers[n][_TIER]
        tier = names.get(code) or names.setdefault(code, router.by_code(code).name)
        out.append(
            Hit.of(
                FoundRecord(
                    row.id,
                    row.text,
                    tier,
                    row,
                    image,
                    newer.get(row.id, ()),
                    candidate,
                    texts[n] if texts else None,
                    plan.request.now_ms,
                ),
                candidate.score,
                partial(
                    explain,
                    image,
                    candidate.fused,
                    candidate.similarity,
                    candidate.evidence,
                    plan.query,
                ),
            )
        )
    return out


def _rows(plan: Plan, chunk: Sequence[Candidate]) -> dict[int, StoredRow]:
    """Rows of those candidates that their store's filter lets through."""
    out: dict[int, StoredRow] = {}
    for n, (store, condition) in enumerate(zip(plan.snap.stores, plan.filters, strict=True)):
        ids = [c.id for c in chunk if c.store == n and c.id < _NO_ID]
        if ids:
            sql, params = (condition.sql, condition.params) if condition else ("1", ())
            out.update(store.catalog.fetch_stored(ids, sql=sql, params=params))
    return out


def _is_old(snap: Snapshot, candidate: Candidate, row: StoredRow, found_id: int) -> bool:
    """True for a slot that its memory has left for another slot of this snapshot.

    Such a slot keeps its bytes for a while, for scans in snapshots without the new slot. Its score
    belongs to the old text, which must not be shown beside the new one.
    """
    store = candidate.store
    position = snap.position_of(store, row.segment_id, row.slot)
    if (position, row.slot) == (candidate.part, candidate.slot):
        if found_id != candidate.id:
            raise snap.misplaced(store, f"memory {candidate.id} gave way to another one")
        return False
    image = snap.table.parts[position].data[row.slot]
    if int(image[8:16].view("<u8")[0]) != candidate.id:
        raise snap.misplaced(store, f"memory {candidate.id} is not where the catalog says")
    return True


def _verify_rows(
    snap: Snapshot,
    chunk: list[Candidate],
    rows: dict[int, StoredRow],
    headers: list[tuple[Any, ...]],
    images: Bytes,
    kept: list[int],
) -> dict[int, tuple[int, ...]]:
    """Raise when a hit's text or strength is not what was written.

    The mutable half has no checksum; the catalog has a copy of it. A commit may have come between
    the two reads; then both are read again, and the hit gets the values of its snapshot.

    Returns:
        What supersedes those hits that something may supersede; usually there are none.

    Raises:
        PartitionCorruptError, CatalogCorruptError
    """
    newer: dict[int, tuple[int, ...]] = {}
    for s in {chunk[n].store for n in kept}:
        store = snap.stores[s]
        mine = {n: rows[chunk[n].id] for n in kept if chunk[n].store == s}
        verify_all(mine.values(), store.catalog.path)
        for n, row in mine.items():
            if headers[n][_MUTABLE] != row.mutable and store.files.durable:
                verify_strength(store, row)
                images[n, MUTABLE_OFFSET:HEADER_BYTES] = np.frombuffer(row.mutable, np.uint8)
        ended = ended_among(mine.values())
        if ended:
            newer.update(successors(store.catalog, ended))
    return newer


def _images(snap: Snapshot, chunk: list[Candidate]) -> Bytes:
    """(n, stride) u8 copies of the candidates' records."""
    out = np.empty((len(chunk), snap.table.stride), dtype=np.uint8)
    parts = snap.table.parts
    for n, candidate in enumerate(chunk):
        out[n] = parts[candidate.part].data[candidate.slot]
    return out


#: fields of ``RECORD_PROOF``
_TIER, _ID, _CRC, _MUTABLE = range(4)
