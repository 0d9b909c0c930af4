"""Turns candidates into hits: catalog rows, verified bytes, explanations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from spector.language.words import wording_of
from spector.layout import HEADER_BYTES, MUTABLE_OFFSET, RECORD_PROOF, Flag
from spector.records import Hit
from spector.search.view.found import FoundRecord, explain
from spector.search.view.plan import Plan
from spector.search.view.snapshot import Candidate, Snapshot
from spector.store.catalog import StoredRow, ended_among, pad_ids, successors, verify_all
from spector.store.core import damaged_record, verify_strength
from spector.store.files import Bytes
from spector.tiers import TierRouter

__all__ = ["Confirmer"]

#: candidates that are looked up at once: at least where a filter may lose some, and at most
_CHUNK = 16
_MAX_CHUNK = 512
#: ids lie below; only damage makes larger ones, which SQLite could not be asked for
_NO_ID = 1 << 63


class Confirmer:
    """Checks candidates against the catalog and their checksums."""

    def __init__(self, router: TierRouter) -> None:
        self._router = router
        #: tier code -> name
        self._names: dict[int, str] = {}
        #: uuid of a store -> the checksum that every record's begins with
        self._seeds: dict[bytes, int] = {}

    def first(
        self, plan: Plan, ordered: Sequence[Candidate], k: int, *, distinct: bool = False
    ) -> tuple[list[Hit], int]:
        """The first k candidates that the catalog confirms, and how many it did not.

        Args:
            ordered: best first; read in slices, so it may be lazy.
            distinct: count different texts of one user and agent, not records.

        Raises:
            PartitionCorruptError: bytes of a memory are not what was written.
            Moved: a memory in memory moved meanwhile.
        """
        snap = plan.snap
        hits: list[Hit] = []
        seen: set[int] = set()
        different: set[Hashable] = seen if not distinct else set()  # type: ignore[assignment]
        dropped, hidden = 0, plan.query.drop_flags & int(Flag.SUPERSEDED)
        # without a filter hardly any candidate is lost
        start, step = 0, max(k, _CHUNK) if plan.is_filtered else k
        while start < len(ordered):
            chunk = [c for c in ordered[start : start + step] if c.id not in seen]
            start, step = start + step, min(2 * step, _MAX_CHUNK)
            rows = _rows(plan, chunk)
            unknown = [c for c in chunk if c.id not in rows]
            if unknown:
                self._refuse_damaged(snap, unknown)
                chunk = [c for c in chunk if c.id in rows]
                dropped += len(unknown)
            if not chunk:
                continue
            images = _images(snap, chunk)
            headers = _headers(images)
            offsets, indexes = snap.offsets, snap.indexes
            texts = [wording_of(rows[c.id].text) for c in chunk] if distinct else []
            self._verify(snap, chunk, rows, images, [header[_CRC] for header in headers])
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
            hits += self._hits(plan, chunk, rows, images, headers, kept, newer, texts)
            if len(different) == k:
                break
            if distinct and not dropped:  # only repeated words were lost
                step = min(step, 2 * (k - len(different)) + 2)
        return hits, dropped

    def _verify(
        self,
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
            snap.kernel.crc32c_rows(checked, out, self._seed(snap, store.uuid))
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

    def _refuse_damaged(self, snap: Snapshot, unknown: list[Candidate]) -> None:
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
        snap.kernel.crc32c_rows(images, expected, self._seed(snap, store.uuid))
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

    def _seed(self, snap: Snapshot, uuid: bytes) -> int:
        seed = self._seeds.get(uuid)
        if seed is None:
            seed = self._seeds[uuid] = snap.kernel.crc32c(uuid)
        return seed

    def _hits(
        self,
        plan: Plan,
        chunk: list[Candidate],
        rows: dict[int, StoredRow],
        images: Bytes,
        headers: list[tuple[Any, ...]],
        kept: list[int],
        newer: Mapping[int, tuple[int, ...]],
        texts: Sequence[str],
    ) -> list[Hit]:
        names = self._names
        out: list[Hit] = []
        for n in kept:
            candidate, image = chunk[n], images[n]
            row = rows[candidate.id]
            code = headers[n][_TIER]
            tier = names.get(code) or self._name(code)
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

    def _name(self, tier: int) -> str:
        return self._names.setdefault(tier, self._router.by_code(tier).name)


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
    if _id_in(snap.table.parts[position].data[row.slot]) != candidate.id:
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


def _id_in(image: Bytes) -> int:
    return int(image[8:16].view("<u8")[0])


def _images(snap: Snapshot, chunk: list[Candidate]) -> Bytes:
    """(n, stride) u8 copies of the candidates' records."""
    out = np.empty((len(chunk), snap.table.stride), dtype=np.uint8)
    parts = snap.table.parts
    for n, candidate in enumerate(chunk):
        out[n] = parts[candidate.part].data[candidate.slot]
    return out


def _headers(images: Bytes) -> list[tuple[Any, ...]]:
    """(tier, id, crc, mutable half) of each record."""
    return list(RECORD_PROOF.iter_unpack(images[:, :HEADER_BYTES].tobytes()))


#: fields of ``RECORD_PROOF``
_TIER, _ID, _CRC, _MUTABLE = range(4)
