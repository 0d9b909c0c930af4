"""An index of words in memory that follows a store, commit by commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from spector.errors import StoreError
from spector.kernel.contract import Kernel, length_codes
from spector.language.statements import MemoryText
from spector.language.words import analyse
from spector.lexical.columns import Chains, Columns, FieldTable, IdMap, label_hashes
from spector.lexical.files import ExtentImage, IndexImage
from spector.lexical.postings import Stack, encode_texts
from spector.lexical.view import WordView, alias_hashes

# The part of a store that an index of words reads: partitions, and the texts in their slots.

#: two ranges of slots are one when the gap is at most this: reading it costs less than a query
_GAP: Final = 8


class Extent(Protocol):
    """The state of a partition that an index compares."""

    @property
    def segment_id(self) -> int: ...
    @property
    def generation(self) -> int: ...
    @property
    def slots(self) -> int: ...
    @property
    def live(self) -> int: ...
    @property
    def overwrites(self) -> int: ...


class SlotEntry(NamedTuple):
    """A memory in a slot, without its text."""

    id: int
    slot: int
    seal: int | None = None


class TextSource(Protocol):
    """A catalog at the moment of the partitions that are followed."""

    def everything(self) -> Iterable[MemoryText]:
        """All memories by ascending id."""

    def texts(self, segment_id: int, first: int, stop: int) -> Iterable[MemoryText]:
        """Memories in slots ``first`` to ``stop - 1`` of a partition."""

    def known(self, segment_id: int) -> Iterable[SlotEntry]:
        """All memories of a partition that are indexed."""


def slot_ranges(slots: list[int]) -> Iterator[tuple[int, int]]:
    """(first, stop) of the ranges that cover ascending slots, small gaps included."""
    first = last = None
    for slot in slots:
        if first is None or last is None:
            first = slot
        elif slot > last + _GAP:
            yield first, last + 1
            first = slot
        last = slot
    if first is not None and last is not None:
        yield first, last + 1


#: texts analysed at once
_BATCH: Final = 8192
#: recent views that are returned without reading the catalog
_RECENT: Final = 4
#: dead rows are dropped once they are so many, and a third of all
_MANY_DEAD: Final = 1024
_NO_SEAL: Final = -1


@dataclass(slots=True)
class _FollowedPartition:
    """A partition as of the last ``follow``. ``skew``: live memories that have no row."""

    extent: Extent
    rows: int
    skew: int = 0


class WordIndex:
    """Words of all memories of one store. Thread-safe."""

    def __init__(
        self,
        kernel: Kernel,
        key: bytes = b"",
        *,
        mark: Callable[[MemoryText], int] | None = None,
        saved: Callable[[Sequence[Extent]], IndexImage | None] | None = None,
    ) -> None:
        """
        Args:
            kernel: searches the postings of every view.
            key: of the terms' hashes; a store's uuid, at most 64 bytes.
            mark: makes the number, 0 to 255, that is kept for a memory, from its text.
            saved: called once, before any text is read; returns an index to continue, or None.
        """
        self._load_image = saved
        self._kernel = kernel
        self._key = key
        self._mark = mark
        # reentrant: a signal handler may close the store in the middle of a step
        self.lock = threading.RLock()
        self._moving = False
        self._reset()

    def _reset(self) -> None:
        self._stack = Stack.empty()
        self._columns = Columns()
        self._fields = FieldTable(self._key)
        self._chains = Chains()
        self._followed: dict[int, _FollowedPartition] = {}
        self._ids = IdMap()
        self._alive = 0
        self._turkish = False
        self._size = 0
        #: the last results, newest first
        self._recent: list[tuple[Sequence[Extent], WordView]] = []

    def follow(self, extents: Sequence[Extent], source: TextSource) -> WordView:
        """The view of some partitions, after catching up with what has changed in them.

        Raises:
            The errors of ``source``; the next call then builds the index anew.
        """
        with self.lock:
            for known, view in self._recent:
                if known is extents:
                    return view
            return self._move(extents, source)

    def _move(self, extents: Sequence[Extent], source: TextSource) -> WordView:
        if self._moving:
            raise StoreError(
                "this thread is already reading the words of this store",
                hint="a signal handler must not use the store: set a flag in it",
            )
        try:
            self._moving = True
            changed = self._catch_up(extents, source)
            if changed or not self._recent:
                self._drop_dead()
                view = self._make_view()
            else:
                view = self._recent[0][1]
        except BaseException:
            self._reset()
            raise
        finally:
            self._moving = False
        self._recent = [(extents, view), *self._recent[: _RECENT - 1]]
        return view

    @property
    def slots(self) -> int | None:
        """Number of slots read; None before the first ``follow``."""
        with self.lock:
            if not self._recent:
                return None
            return sum(state.extent.slots for state in self._followed.values())

    def _catch_up(self, extents: Sequence[Extent], source: TextSource) -> bool:
        """Bring the columns to the state of the partitions; False if nothing has changed."""
        followed = self._followed
        if not followed and not self._resume(extents):
            return self._load(extents, source)
        changed, gone = self._differences(extents)
        if not changed and not gone:
            return False
        suspects = {e.segment_id for e in changed if self._take_slots(e, source)}
        for extent in changed:  # after all slots have been read: memories move between partitions
            state = followed[extent.segment_id]
            if extent.segment_id in suspects or state.rows + state.skew != extent.live:
                self._compare(extent, source)
                state.skew = extent.live - state.rows
        for segment_id in gone:
            self._kill(
                np.flatnonzero((self._columns["segment"] == segment_id) & self._columns["alive"])
            )
            del followed[segment_id]
        return True

    def _differences(self, extents: Sequence[Extent]) -> tuple[list[Extent], list[int]]:
        """Partitions that have changed, and the ids of those that are gone."""
        followed = self._followed
        if self._recent and len(self._recent[0][0]) == len(extents):
            # most commits change one partition of many
            pairs = [(a, b) for a, b in zip(self._recent[0][0], extents, strict=True) if a is not b]
            if all(a.segment_id == b.segment_id for a, b in pairs):
                return [b for _, b in pairs], []
        changed = [
            e for e in extents if (f := followed.get(e.segment_id)) is None or f.extent is not e
        ]
        if len(extents) == len(followed) + sum(e.segment_id not in followed for e in changed):
            return changed, []
        here = {extent.segment_id for extent in extents}
        return changed, [segment_id for segment_id in followed if segment_id not in here]

    def _take_slots(self, extent: Extent, source: TextSource) -> bool:
        """Index the new slots of a partition; True if others have changed as well."""
        state = self._followed.get(extent.segment_id)
        if state is None:
            state = self._followed[extent.segment_id] = _FollowedPartition(extent, 0)
            seen = 0
        else:
            seen = state.extent.slots
            rewritten = (state.extent.generation, state.extent.overwrites) != (
                extent.generation,
                extent.overwrites,
            )
            state.extent = extent
            if rewritten:
                return True
        if seen < extent.slots:
            self._add(source.texts(extent.segment_id, seen, extent.slots))
        elif seen > extent.slots:  # the view of a recall that began before the last commit
            columns = self._columns
            self._kill(
                np.flatnonzero(
                    (columns["segment"] == extent.segment_id)
                    & (columns["slot"] >= extent.slots)
                    & columns["alive"]
                )
            )
        return False

    def image(self, extents: Sequence[Extent], source: TextSource) -> IndexImage:
        """The index of these partitions as it is saved."""
        with self.lock:
            self._move(extents, source)
            places = [
                ExtentImage(n, f.extent.generation, f.extent.slots, f.extent.live)
                for n, f in self._followed.items()
            ]
            return IndexImage.of(
                self._stack, self._columns, self._fields, places, turkish=self._turkish
            )

    def _resume(self, extents: Sequence[Extent]) -> bool:
        """Continue from the saved index, if there is one."""
        load, self._load_image = self._load_image, None
        image = None if load is None else load(extents)
        if image is None or not image.extents:
            return False
        self._stack = Stack.of(image.blocks)
        self._columns = columns = Columns.of(image.columns)
        self._fields = FieldTable.of(
            self._key, image.speakers, [(int(c), int(d), bool(t)) for c, d, t in image.fields]
        )
        self._chains.link(columns, 0, columns["chained"])
        rows = np.flatnonzero(columns["alive"])
        self._ids = IdMap.of(columns["id"][rows], rows)
        self._alive = len(rows)
        self._size = int(columns["size"][rows].sum(dtype=np.int64))
        self._turkish = image.turkish
        segments, counts = np.unique(columns["segment"][rows], return_counts=True)
        found = dict(zip(segments.tolist(), counts.tolist(), strict=True))
        for extent in image.extents:
            count = found.get(extent.segment_id, 0)
            state = _FollowedPartition(extent, count, extent.live - count)
            self._followed[extent.segment_id] = state
        return True

    def _load(self, extents: Sequence[Extent], source: TextSource) -> bool:
        """Index a whole store."""
        slots = {extent.segment_id: extent.slots for extent in extents}
        for extent in extents:
            self._followed[extent.segment_id] = _FollowedPartition(extent, 0)
        if slots:
            self._add(
                text for text in source.everything() if text.slot < slots.get(text.segment_id, 0)
            )
        for extent in extents:
            state = self._followed[extent.segment_id]
            state.skew = extent.live - state.rows
        return bool(slots)

    # -- rows ---------------------------------------------------------------------------------

    def _compare(self, extent: Extent, source: TextSource) -> None:
        """Make the rows of a partition match the catalog."""
        columns = self._columns
        mine = np.flatnonzero((columns["segment"] == extent.segment_id) & columns["alive"])
        theirs = {k.id: k for k in source.known(extent.segment_id) if k.slot < extent.slots}
        dead: list[int] = []
        found: set[int] = set()
        for row in mine.tolist():
            known = theirs.get(int(columns["id"][row]))
            if known is None or not self._is_same(row, known):
                dead.append(row)
                continue
            found.add(known.id)
            if columns["slot"][row] != known.slot:
                columns.writable("slot")[row] = known.slot
        self._kill(np.array(dead, np.int64))
        slots = sorted(k.slot for k in theirs.values() if k.id not in found)
        for first, stop in slot_ranges(slots):
            self._add(source.texts(extent.segment_id, first, stop))

    def _is_same(self, row: int, known: SlotEntry) -> bool:
        columns = self._columns
        if known.seal is None:
            return bool(columns["slot"][row] == known.slot)
        return bool(columns["seal"][row] == known.seal)

    def _add(self, texts: Iterable[MemoryText]) -> None:
        """Add rows for memories with a text; a known one is replaced, or moved if it is the same."""
        pending = filter(self._is_indexed, texts)
        while batch := list(islice(pending, _BATCH)):
            batch.sort(key=lambda text: text.id)
            if len(self._columns):
                batch = self._without_moved(batch)
            if batch:
                self._append(batch)

    def _is_indexed(self, text: MemoryText) -> bool:
        if text.has_no_text and (state := self._followed.get(text.segment_id)) is not None:
            state.skew += 1
        return not text.has_no_text

    def _without_moved(self, batch: list[MemoryText]) -> list[MemoryText]:
        wanted = np.array([text.id for text in batch], np.int64)
        rows = self._ids.rows_of(wanted, self._columns["alive"])
        fresh: list[MemoryText] = []
        dead: list[int] = []
        columns = self._columns
        for row, text in zip(rows.tolist(), batch, strict=True):
            if row < 0:
                fresh.append(text)
            elif text.seal is not None and columns["seal"][row] == text.seal:
                self._count(int(columns["segment"][row]), -1)
                columns.writable("segment")[row] = text.segment_id
                columns.writable("slot")[row] = text.slot
                self._count(text.segment_id, 1)
            else:
                dead.append(row)
                fresh.append(text)
        self._kill(np.array(dead, np.int64))
        return fresh

    def _append(self, batch: list[MemoryText]) -> None:
        columns, fields = self._columns, self._fields
        texts = [analyse("\n".join((text.turn_before, text.text, *text.aliases))) for text in batch]
        self._turkish = self._turkish or any(found.turkish for found in texts)
        numbers = [
            fields.number(text.speaker, text.event_ms, found.turkish)
            for text, found in zip(batch, texts, strict=True)
        ]
        terms = [
            np.append(fields.terms[n], alias_hashes(text.aliases, self._key))
            if text.aliases
            else fields.terms[n]
            for n, text in zip(numbers, batch, strict=True)
        ]
        found = encode_texts(texts, terms, self._key)
        count = len(batch)
        chained = np.array([bool(t.session_id) for t in batch], bool)
        length = np.array([len(fields.terms[n]) for n in numbers], np.int64)
        size = np.minimum(found.content + length, 0xFFFF).astype(np.uint16)
        first = columns.append(
            {
                "id": np.array([t.id for t in batch], np.int64),
                "event_ms": np.array([t.event_ms for t in batch], np.int64),
                "session": label_hashes([t.session_id for t in batch], self._key),
                "user": label_hashes([t.user_id for t in batch], self._key),
                "segment": np.array([t.segment_id for t in batch], np.int32),
                "slot": np.array([t.slot for t in batch], np.int32),
                "seal": np.array([_NO_SEAL if t.seal is None else t.seal for t in batch], np.int64),
                "content": found.content,
                "size": size,
                "code": length_codes(size),
                "field": np.array(numbers, np.int32),
                "marks": np.array(
                    [self._mark(t) & 0xFF if self._mark else 0 for t in batch],
                    np.uint8,
                ),
                "alive": np.ones(count, bool),
                "chained": chained,
                "before": np.full(count, -1, np.int32),
                "after": np.full(count, -1, np.int32),
            },
            count,
        )
        self._stack = self._stack.append(count, found.hash, found.row, found.count)
        self._chains.link(columns, first, chained)
        self._ids.assign(columns["id"][first:], first)
        for text in batch:
            self._count(text.segment_id, 1)
        self._alive += count
        self._size += int(size.sum(dtype=np.int64))

    def _count(self, segment_id: int, change: int) -> None:
        state = self._followed.get(segment_id)
        if state is not None:
            state.rows += change

    def _kill(self, rows: NDArray[np.int64]) -> None:
        if not len(rows):
            return
        self._columns.writable("alive")[rows] = False
        self._alive -= len(rows)
        self._size -= int(self._columns["size"][rows].sum(dtype=np.int64))
        for segment_id in self._columns["segment"][rows].tolist():
            self._count(segment_id, -1)

    # -- views --------------------------------------------------------------------------------

    def _make_view(self) -> WordView:
        return WordView(
            self._kernel,
            self._stack,
            self._columns.freeze(),
            self._fields,
            self._key,
            self._ids.arrays(),
            self._alive,
            self._size,
            self._turkish,
        )

    def _drop_dead(self) -> None:
        """Drop dead rows when they are many; the others keep their order."""
        dead = len(self._columns) - self._alive
        if dead < _MANY_DEAD or 3 * dead < len(self._columns):
            return
        alive = self._columns["alive"]
        rows = np.flatnonzero(alive)
        self._stack = self._stack.select(alive)
        self._columns = self._columns.select(rows)
        self._chains = Chains()
        self._chains.link(self._columns, 0, self._columns["chained"])
        self._ids = IdMap.of(self._columns["id"], np.arange(len(rows)))
