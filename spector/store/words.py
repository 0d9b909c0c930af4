"""Keeps the index of words up with the catalog, and saves it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import CatalogCorruptError, StoreError
from spector.kernel.contract import Kernel
from spector.language.statements import (
    MemoryText,
    searched_words,
    speaker_in,
    without_dates,
    words_of,
)
from spector.language.words import fingerprint
from spector.layout import Flag
from spector.lexical import (
    BLOCK,
    EXTENT_DTYPE,
    LEXICAL_DTYPE,
    LEXICAL_HEADER_BYTES,
    MOST_BLOCKS,
    NAMED_DTYPE,
    ROWS,
    ROWS_DTYPE,
    Extent,
    IndexImage,
    SavedRows,
    SlotEntry,
    StoredBlock,
    WordIndex,
    WordView,
    blocks_named,
    image_from_files,
    pack_block,
    pack_rows,
    read_block,
    read_rows,
    stored_block,
)
from spector.records import TURNS_BEFORE, aliases_in, turn_before_in
from spector.store.catalog import Row
from spector.store.core import Store, View
from spector.store.files import Bytes, Files
from spector.store.partitions import Partition, records_crc, replace_derived

# Word files: written when a store is quiet, read when its words are first needed.

FOLDER: Final = "lexical/"
_LEX: Final = ".lex"
#: the list of the blocks that make up an index
LIST: Final = f"{FOLDER}rows{_LEX}"
#: eight digits are written; files with more are ours, too, and are removed with the others
_NAME: Final = re.compile(r"lexical/(rows|[0-9]{8,})\.lex(\.tmp)?")
#: rows without a file that make writing worth it
_WORTH_WRITING: Final = 256
#: a limit for reading: larger than any block of real texts
_MOST_BYTES: Final = 1 << 30
#: of another process's files: rows that would be written for each one that they lack, at most
_MOST_REWRITTEN: Final = 8


class WordFiles:
    """The word files of one store. Not thread-safe: the caller holds a lock.

    Args:
        analysis: fingerprint of the text analysis.
    """

    def __init__(self, store: Store, analysis: int) -> None:
        # not the store itself, which owns this object indirectly
        self._uuid, self._writable = store.uuid, store.writable
        self._files: Files = store.files
        self._kernel = store.kernel
        self._analysis = analysis
        self._usable = store.files.durable
        #: id of a block that has a file -> the block, kept so that the id stays its own, and the
        #: file
        self._written: dict[int, tuple[object, int, int]] = {}
        self._rows = 0
        self._dead = 0
        #: there are files, and they are unusable
        self._spoilt = False
        self._is_shared = store.shared_for_s is not None
        #: the header of the list that was read or written last, which identifies it
        self._head = ""
        #: slots that the list of another process lacks; None where the list is this one's
        self._lacking: int | None = None

    @property
    def can_write(self) -> bool:
        return self._usable and self._writable

    def forget(self) -> None:
        """The files are gone."""
        self._written.clear()
        self._rows = self._dead = 0
        self._head = ""

    def meet_others(self, partitions: Sequence[Partition]) -> bool:
        """Look at what other processes have made of the files; False where that is good enough.

        The store's lock is held, and the partitions are of the last commit.
        """
        self._lacking = None
        if not self._is_shared:
            return True
        if self._head_there() == self._head:
            return True
        image, saved = bytes_of(self._files, LIST), None
        if image is not None:
            saved, _ = read_rows(image, uuid=self._uuid, analysis=self._analysis)
        if saved is None:
            self.forget()
            self._spoilt = image is not None
            return True
        there = {(int(each["number"]), int(each["body_crc"])) for each in saved.named}
        self._written = {
            n: each for n, each in self._written.items() if (each[1], each[2]) in there
        }
        self._lacking = _lacking(saved, partitions)
        return self._lacking >= _WORTH_WRITING

    # -- reading --------------------------------------------------------------------------------

    def load(self, partitions: Sequence[Partition]) -> IndexImage | None:
        """The index in the files, if it is of this store and this analysis."""
        if not self._usable:
            return None
        kept, tried = None, None
        with contextlib.suppress(StoreError, MemoryError):
            # another process may replace the list while its blocks are being read
            while kept is None and (head := self._head_there()) not in ("", tried):
                kept, tried = self._load(partitions), head
        self._spoilt = kept is None and self._files.exists(LIST)
        return kept

    def _head_there(self) -> str:
        """The header of the list that is there, as hexadecimal digits; "" without a list."""
        if not self._files.exists(LIST):
            return ""
        with contextlib.closing(self._files.open(LIST, writable=False)) as file:
            return file.read_at(0, LEXICAL_HEADER_BYTES).hex()

    def _load(self, partitions: Sequence[Partition]) -> IndexImage | None:
        image = bytes_of(self._files, LIST)
        if image is None:
            return None
        saved, _ = read_rows(image, uuid=self._uuid, analysis=self._analysis)
        if saved is None:
            return None
        blocks = [self._read(entry) for entry in saved.named]
        whole = [block for block in blocks if block is not None]
        if len(whole) < len(blocks):
            return None
        kept = image_from_files(saved, whole, self._trusted(saved, partitions))
        if kept is not None:
            self._head = image[:LEXICAL_HEADER_BYTES].tobytes().hex()
            for block, entry in zip(kept.blocks, saved.named, strict=True):
                self._written[id(block)] = (block, int(entry["number"]), int(entry["body_crc"]))
            self._count(saved.alive)
        return kept

    def _count(self, alive: NDArray[np.bool_]) -> None:
        self._rows, self._dead = len(alive), int(np.count_nonzero(~alive))

    def _read(self, entry: Any) -> StoredBlock | None:
        name, listed = name_of(int(entry["number"])), int(entry["body_crc"])
        return _block(self._files, name, self._kernel, self._uuid, self._analysis, listed)[0]

    def _trusted(self, saved: SavedRows, partitions: Sequence[Partition]) -> list[bool]:
        """For each saved partition: whether its first slots are those that the index has."""
        here = {partition.segment_id: partition for partition in partitions}
        out = []
        for extent in saved.extents:
            partition = here.get(int(extent["segment_id"]))
            slots = int(extent["slots"])
            out.append(
                partition is not None
                and partition.generation == int(extent["generation"])
                and partition.slots >= slots
                and records_crc(partition.data[:slots]) == int(extent["records_crc"])
            )
        return out

    # -- writing --------------------------------------------------------------------------------

    def is_worth_saving(self, rows: int, dead: int, kept: IndexImage | None = None) -> bool:
        """True when enough has changed since the files were read or written.

        Args:
            rows: rows of the index, including dead ones.
            dead: dead rows of the index.
            kept: the index itself, where other processes write files, too.
        """
        if not (self.can_write and rows):
            return False
        if self._lacking is not None and kept is not None:
            new = sum(each.rows for each in kept.blocks if id(each) not in self._written)
            return _MOST_REWRITTEN * self._lacking >= new
        return self._spoilt or abs(rows - self._rows) + abs(dead - self._dead) >= _WORTH_WRITING

    def save(self, kept: IndexImage, partitions: Sequence[Partition]) -> bool:
        """Write the blocks without a file, and the list; False when that failed, without an error.

        Args:
            kept: an index that is up to date with exactly these partitions.
        """
        if not self.can_write:
            return False
        try:
            self._save(kept, partitions)
        except (StoreError, MemoryError):
            return False
        return True

    def _save(self, kept: IndexImage, partitions: Sequence[Partition]) -> None:
        taken = {name_of(number) for _, number, _ in self._written.values()}
        taken |= {each.removesuffix(".tmp") for each in self._files.listing()}
        free = (number for number in range(MOST_BLOCKS) if name_of(number) not in taken)
        written: dict[int, tuple[object, int, int]] = {}
        named = np.zeros(len(kept.blocks), NAMED_DTYPE)
        for n, block in enumerate(kept.blocks):
            known = self._written.get(id(block))
            if known is None or known[0] is not block:
                number = next(free)
                image = pack_block(
                    stored_block(block, kept.columns), uuid=self._uuid, analysis=self._analysis
                )
                if len(image) > _MOST_BYTES:
                    return
                replace_derived(self._files, name_of(number), image)
                known = (block, number, body_crc(np.frombuffer(image, np.uint8)))
            written[id(block)] = known
            named[n] = (known[1], block.rows, known[2], 0)
        columns = kept.columns
        image = pack_rows(
            SavedRows(
                named,
                self._extents(kept, partitions),
                kept.fields,
                kept.speakers,
                columns["segment"],
                columns["slot"],
                columns["alive"],
                kept.turkish,
            ),
            uuid=self._uuid,
            analysis=self._analysis,
        )
        replace_derived(self._files, LIST, image)
        self._written, self._spoilt = written, False
        self._head = bytes(image[:LEXICAL_HEADER_BYTES]).hex()
        self._count(columns["alive"])
        mine = {LIST, *(name_of(number) for _, number, _ in written.values())}
        _remove(self._files, keep=mine)

    def _extents(self, kept: IndexImage, partitions: Sequence[Partition]) -> Any:
        here = {partition.segment_id: partition for partition in partitions}
        out = np.zeros(len(kept.extents), EXTENT_DTYPE)
        for n, extent in enumerate(kept.extents):
            crc = records_crc(here[extent.segment_id].data[: extent.slots])
            out[n] = (extent.segment_id, extent.generation, extent.slots, extent.live, crc)
        return out


def _lacking(saved: SavedRows, partitions: Sequence[Partition]) -> int:
    """Slots that have been filled since a list was written, and memories that have gone."""
    known = {(int(each["segment_id"]), int(each["generation"])): each for each in saved.extents}
    count = 0
    for partition in partitions:
        each = known.get((partition.segment_id, partition.generation))
        slots, live = (0, 0) if each is None else (int(each["slots"]), int(each["live"]))
        fresh = max(0, partition.slots - slots)
        count += fresh + abs(live + fresh - partition.live)
    return count


def bytes_of(files: Files, name: str) -> Bytes | None:
    """(size,) u8 of a file, read and not mapped, so that checked bytes cannot change.

    None when the file is missing or too large. Only the header when that is not readable as one.

    Raises:
        StoreError: it cannot be read, or has another size than its header says.
    """
    if not files.exists(name):
        return None
    with contextlib.closing(files.open(name, writable=False)) as file:
        size, head = file.size(), file.read_at(0, LEXICAL_HEADER_BYTES)
        wanted = (ROWS if name == LIST else BLOCK).size_by_header(head)
        if wanted < 0:
            return np.frombuffer(head, np.uint8)
        if size != wanted:
            raise StoreError(
                f"{size} bytes instead of {wanted}",
                hint="delete it: it is derived and will be rebuilt",
            )
        return None if size > _MOST_BYTES else np.frombuffer(file.read_at(0, size), np.uint8)


def remove_words(store: Store) -> int:
    """Remove every word file of a durable store; returns their bytes.

    Raises:
        StoreError: one of them cannot be removed.
    """
    if not store.files.durable:
        return 0
    removed = _remove(store.files, keep=set())
    if store.words is not None:
        store.words.files_are_gone()
    return removed


def is_words(name: str) -> bool:
    """True for the name of a word file, finished or not.

    The content does not matter: a damaged file has words, too, and must be removed with the others.
    """
    return _NAME.fullmatch(name) is not None


def _remove(files: Files, *, keep: set[str]) -> int:
    """Remove word files, the list first, so that no list names missing files."""
    names = [name for name in files.listing() if name not in keep and is_words(name)]
    removed = 0
    for name in sorted(names, key=lambda name: name != LIST):
        size = files.size_of(name)
        files.remove(name)
        removed += size
    if names:
        files.sync_dir(names[0])
    return removed


def name_of(number: int) -> str:
    """The name of a block's file; ``number`` is below `MOST_BLOCKS`."""
    return f"{FOLDER}{number:08d}{_LEX}"


def body_crc(image: Bytes) -> int:
    """The checksum in the header of a file, which identifies it; -1 without a header."""
    if image.size < LEXICAL_HEADER_BYTES:
        return -1
    header = np.array(image[:LEXICAL_HEADER_BYTES]).view(LEXICAL_DTYPE)
    return int(header["body_crc"][0])


# Check word files, and remove those that nothing uses any more.
#
# They are derived: a damaged one only costs an analysis of the texts, so it is a note and no problem.

#: a writer may replace the files during a check; only findings that stay count
_LOOKS = 3
_ANEW = "it will be rebuilt"


def notes_on_words(files: Files, uuid: bytes, kernel: Kernel) -> list[tuple[str, str]]:
    """(name, reason) of every unusable word file, by name.

    Files of another analysis are not reported: they are unusable, too, but not damaged.
    """
    notes: list[tuple[str, str]] = []
    for _ in range(_LOOKS if files.durable else 0):
        before = _crc_of_list(files)
        notes = sorted(_notes(files, uuid, kernel))
        if not notes or _crc_of_list(files) == before:
            break
    return notes


def drop_unused_words(store: Store, listing: Iterable[str] | None = None) -> None:
    """Remove word files that the list does not name; all of them if there is no readable list.

    A crash while they are written leaves some. The store's lock is held, so that none is about to
    be named. Only the beginning of the list is read, to keep openings fast.

    Args:
        listing: names of the store's files, if they are known.
    """
    if not (store.files.durable and store.writable):
        return
    with contextlib.suppress(StoreError), store.exclusive():
        there = [name for name in listing or store.files.listing() if is_words(name)]
        if not there:
            return
        named = _named(store.files, store.uuid)
        kept = set() if named is None else {LIST, *named}
        if named is None and store.words is not None:
            store.words.files_are_gone()  # or the next list would name missing files
        for name in sorted(set(there) - kept, key=lambda name: name != LIST):
            store.files.remove(name)


def _notes(files: Files, uuid: bytes, kernel: Kernel) -> Iterator[tuple[str, str]]:
    there = {name for name in files.listing() if is_words(name)}
    named: set[str] | None = set()
    if LIST in there:
        with contextlib.suppress(StoreError):
            named = _named(files, uuid)
        try:
            yield from _notes_on_list(files, uuid, kernel)
        except StoreError as error:
            yield LIST, f"{error.message}; {_ANEW}"
    for name in there - {LIST} - (named or set()):
        yield name, "words that no list names; the next opening to write removes them"


def _notes_on_list(files: Files, uuid: bytes, kernel: Kernel) -> Iterator[tuple[str, str]]:
    image = bytes_of(files, LIST)
    if image is None:
        yield LIST, f"it cannot be read; {_ANEW}"
        return
    analysis = 0
    if image.size >= ROWS_DTYPE.itemsize:
        header = np.array(image[: ROWS_DTYPE.itemsize]).view(ROWS_DTYPE)
        analysis = int(header["analysis"][0])
    saved, problem = read_rows(image, uuid=uuid, analysis=analysis)
    if saved is None:
        yield LIST, f"{problem}; {_ANEW}"
        return
    blocks: list[StoredBlock] = []
    for entry in saved.named:
        name = name_of(int(entry["number"]))
        try:
            found, problem = _block(files, name, kernel, uuid, analysis, int(entry["body_crc"]))
        except StoreError as error:
            found, problem = None, error.message
        if found is None:
            yield name, f"{problem}; {_ANEW}"
        else:
            # what is compared with the others: a sixth of it, copied
            columns = {name: column.copy() for name, column in found.columns.items()}
            names = ("hash", "start", "row", "count", "dir")
            none: Any = {name: getattr(found, name)[:0].copy() for name in names}
            blocks.append(replace(found, columns=columns, **none))
    untrusted, are_whole = [False] * len(saved.extents), len(blocks) == len(saved.named)
    if are_whole and image_from_files(saved, blocks, untrusted) is None:
        yield LIST, f"its blocks do not belong together; {_ANEW}"


def _block(
    files: Files, name: str, kernel: Kernel, uuid: bytes, analysis: int, listed: int
) -> tuple[StoredBlock | None, str]:
    image = bytes_of(files, name)
    if image is None:
        return None, "named by the list, but absent" if not files.exists(name) else "too large"
    found, problem = read_block(image, kernel, uuid=uuid, analysis=analysis)
    if found is not None and body_crc(image) != listed:
        return None, "not the block that the list names"
    return found, problem


def _named(files: Files, uuid: bytes) -> set[str] | None:
    """Names of the blocks that the list names; None without a readable list."""
    if not files.exists(LIST):
        return None
    with contextlib.closing(files.open(LIST, writable=False)) as file:
        head = file.read_at(0, ROWS_DTYPE.itemsize)
        count = blocks_named(head, uuid=uuid)
        if count is None or file.size() != ROWS.size_by_header(head):
            return None
        raw = file.read_at(len(head), NAMED_DTYPE.itemsize * count)
    if len(raw) != NAMED_DTYPE.itemsize * count:  # it has just been truncated
        return None
    numbers = np.frombuffer(raw, NAMED_DTYPE)["number"]
    if (numbers >= MOST_BLOCKS).any():
        return None
    return {name_of(int(number)) for number in numbers}


def _crc_of_list(files: Files) -> int | None:
    """The checksum that identifies a list; None when there is no readable one."""
    with contextlib.suppress(StoreError):
        if files.exists(LIST):
            image = bytes_of(files, LIST)
            return None if image is None else body_crc(image)
    return None


# The word index of a store, kept up to date with its views from its catalog.

#: as bytes: one damaged text must not keep all others from being found
_TEXTS: Final = (
    "SELECT record.id, segment_id, slot, event_ms, CAST(session_id AS BLOB),"
    " CAST(agent_id AS BLOB), CAST(user_id AS BLOB), CAST(text AS BLOB), CAST(role AS BLOB),"
    " CAST(metadata AS BLOB), CAST(source AS BLOB), mutable, seal"
    " FROM record JOIN content ON content.id = record.id {rest}"
)
#: texts that a save analyses at most to have them in the files
_MOST_TO_ANALYSE: Final = 20_000
_OF: Final = "\x1f"
#: keys of metadata that the words of a memory are indexed from
_INDEXED: Final = tuple(f'"{key}"' for key in ("aliases", "speaker", "name", *TURNS_BEFORE))
_MOST_SLOTS: Final = (1 << 31) - 1
_ROWS: Final = 1024
#: unreadable places of the catalog before it is given up
_MOST_FAILURES: Final = 2000


class Words:
    """Follows one store by a weak reference. Thread-safe."""

    def __init__(
        self,
        store: Store,
        *,
        mark: Callable[[MemoryText], int] | None = None,
        mark_version: int = 0,
    ) -> None:
        """
        Args:
            mark: what to keep of each memory from its text and speaker, see ``WordIndex``.
            mark_version: changes whenever ``mark`` may return something else.
        """
        # a writer's store has these words: a strong reference back would keep both, and all maps,
        # until the next garbage collection
        self._follows = weakref.ref(store)
        raw = fingerprint().to_bytes(8, "little") + mark_version.to_bytes(8, "little", signed=True)
        both = int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little")
        self._word_files = WordFiles(store, both)
        self._kernel, self._key, self._mark = store.kernel, store.uuid, mark
        self._index = self._make_index()
        if store.writable:
            store.words = self

    def at(self, view: View) -> WordView:
        """The words of a view; call it inside the snapshot of the view.

        A store in memory has no snapshots: its catalog may be ahead of the view, and a memory that
        has moved meanwhile may be missing. Then ``Store.moves`` differs from the view's.
        """
        store = self._follows()
        assert store is not None, "who asks for words has the store that they are of"
        return self._index.follow(view.partitions, _Source(store))

    def drop_caches(self) -> None:
        """Give the memory of the index back. It begins anew when it is asked again."""
        self._word_files.forget()
        self._index = self._make_index()

    def follow(self, store: Store) -> None:
        """Take over what was committed, if this index was asked before."""
        if self._index.slots is not None:
            with contextlib.suppress(StoreError, MemoryError), store.snapshot() as view:
                self._index.follow(view.partitions, _Source(store))

    def save(self, store: Store) -> None:
        """Write what has changed, if that is worth it and not much is left to analyse.

        The store's lock is held, so the files are of the last commit and have nothing that was
        forgotten before.
        """
        # ``store`` is passed, because a garbage collection clears weak references first
        view, slots = store.view(), self._index.slots
        if not self._word_files.can_write or slots is None:
            return
        if sum(p.slots for p in view.partitions) - slots > _MOST_TO_ANALYSE:
            return
        with contextlib.suppress(StoreError, MemoryError):
            if not self._word_files.meet_others(view.partitions):
                return
            kept = self._index.image(view.partitions, _Source(store))
            alive = kept.columns["alive"]
            dead = int(np.count_nonzero(~alive))
            if self._word_files.is_worth_saving(len(alive), dead, kept):
                self._word_files.save(kept, view.partitions)

    def files_are_gone(self) -> None:
        self._word_files.forget()

    def _make_index(self) -> WordIndex:
        return WordIndex(
            self._kernel, self._key, mark=self._mark, saved=partial(_kept, self._word_files)
        )


def _kept(files: WordFiles, extents: Sequence[Extent]) -> IndexImage | None:
    return files.load([extent for extent in extents if isinstance(extent, Partition)])


class _Source:
    """The catalog of a store, at the moment of this thread's snapshot."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._failures = 0

    def everything(self) -> Iterator[MemoryText]:
        try:
            yield from self._texts("ORDER BY record.id", ())
        except StoreError as error:
            if not self._is_passable(error):
                raise
            for row in self._store.catalog.segments():
                yield from self.texts(row.id, 0, row.slots)

    def texts(self, segment_id: int, first: int, stop: int) -> Iterator[MemoryText]:
        """The readable texts of some slots: a damaged page only costs the memories on it."""
        for start in range(first, stop, _ROWS):
            yield from self._readable(segment_id, start, min(start + _ROWS, stop))

    def _readable(self, segment_id: int, first: int, stop: int) -> Iterator[MemoryText]:
        place = (segment_id, first, stop)
        try:
            found = list(self._texts("WHERE segment_id = ? AND slot >= ? AND slot < ?", place))
        except StoreError as error:
            if not self._is_passable(error):
                raise
            if stop - first > 1:
                middle = (first + stop) // 2
                yield from self._readable(segment_id, first, middle)
                yield from self._readable(segment_id, middle, stop)
            return
        yield from found

    def _is_passable(self, error: StoreError) -> bool:
        """True to go on after damage, unless there is too much of it."""
        self._failures += 1
        code = getattr(error.__cause__, "sqlite_errorcode", None) or 0
        return self._failures <= _MOST_FAILURES and (
            isinstance(error, CatalogCorruptError) or code & 0xFF == sqlite3.SQLITE_IOERR
        )

    def known(self, segment_id: int) -> Iterable[SlotEntry]:
        try:
            found = self._known("content", segment_id)
        except StoreError as error:
            if not self._is_passable(error):
                raise
            found = self._known("", segment_id)
        return [
            SlotEntry(record_id, slot, seal if _is_seal(seal) else None)
            for record_id, slot, seal, mutable in found
            if _is_place(slot) and not _has_no_text(mutable)
        ]

    def _known(self, sealed_by: str, segment_id: int) -> list[tuple[Any, ...]]:
        seal = "seal" if sealed_by else "NULL"
        join = "JOIN content ON content.id = record.id" if sealed_by else ""
        sql = f"SELECT record.id, slot, {seal}, mutable FROM record {join} WHERE segment_id = ?"
        return self._store.catalog.ask(sql, (segment_id,))

    def _texts(self, rest: str, params: tuple[Any, ...]) -> Iterator[MemoryText]:
        with self._store.catalog.reading() as connection:
            cursor = connection.execute(_TEXTS.format(rest=rest), params)
            while rows := cursor.fetchmany(_ROWS):
                for row in rows:
                    text = _text_of(row)
                    if text is not None:
                        yield text


def _text_of(row: tuple[Any, ...]) -> MemoryText | None:
    """The text of a row: no words for a damaged one, None without a valid place.

    Recall verifies what it shows, so it shows neither.
    """
    record_id, segment_id, slot, event_ms, *written, mutable, seal = row
    if not (_is_place(segment_id) and _is_place(slot) and type(event_ms) is int):
        return None
    try:
        session, agent, user, text, role, metadata, source = [
            each.decode() if type(each) is bytes else None for each in written
        ]
    except UnicodeDecodeError:  # one of them is damaged
        session, agent, user, text, role, metadata, source = map(_decoded, written)
    if session:
        # sessions of two users may have one name, but not one conversation
        session = _OF.join((session, agent or "", user or ""))
    about = metadata_of(metadata)
    speaker = speaker_in(role, about)
    return MemoryText(
        record_id,
        segment_id,
        slot,
        event_ms,
        session,
        speaker,
        without_dates(words_of(text or "", speaker)),
        seal if _is_seal(seal) else None,
        role,
        source,
        aliases_in(about),
        _has_no_text(mutable),
        turn_before_in(about)[1],
        user,
    )


def _has_no_text(mutable: object) -> bool:
    """Whether a memory's mutable half says that it has no text: it opens with the flags."""
    return type(mutable) is bytes and bool(int.from_bytes(mutable[:2], "little") & Flag.NO_TEXT)


def _decoded(raw: object) -> str | None:
    if not isinstance(raw, bytes):
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _is_place(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST_SLOTS


def _is_seal(value: object) -> bool:
    return value is None or (type(value) is int and 0 <= value <= 0xFFFF_FFFF)


def metadata_of(metadata_json: object) -> object:
    """What the words of a memory are indexed from in its metadata, from the catalog's JSON."""
    if type(metadata_json) is str and any(key in metadata_json for key in _INDEXED):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(metadata_json)
    return None


def speaker_of(role: object, metadata_json: object) -> str | None:
    """`speaker_in` of values as the catalog has them."""
    return speaker_in(role, metadata_of(metadata_json))


# The newest memories of a user and of some sessions, with their speakers.

#: memories of a user, or of a session, that are read
_NEWEST: Final = 256
#: memories of a store that are searched for those without a user
_NEWEST_OF_ALL: Final = 4 * _NEWEST
#: characters of a text that are read
_CHARS: Final = 2000

_LOOK: Final = (
    "SELECT r.id, CAST(r.session_id AS BLOB), CAST(substr(text, 1, {chars}) AS BLOB),"
    " CAST(role AS BLOB), CAST(metadata AS BLOB)"
    " FROM (SELECT id, session_id, agent_id, user_id FROM record {where}"
    " ORDER BY id DESC LIMIT {limit}) AS r JOIN content ON content.id = r.id"
    " WHERE r.user_id IS ? AND r.agent_id IS ? ORDER BY r.id DESC LIMIT {most}"
)


class Utterance(NamedTuple):
    """A memory and its speaker: the one in its metadata, else its role."""

    id: int
    session_id: str | None
    text: str
    speaker: str | None


def newest_utterances(
    store: Store, user_id: str | None, agent_id: str | None, sessions: Iterable[str] = ()
) -> list[Utterance]:
    """The newest memories of a user and agent, and of sessions of theirs, by ascending id.

    The number of rows read is bounded. Damaged rows are skipped.
    """
    if user_id is None:
        looks: list[tuple[str, int, tuple[Any, ...]]] = [("", _NEWEST_OF_ALL, ())]
    else:
        looks = [("WHERE user_id = ?", _NEWEST, (user_id,))]
    looks += [("WHERE session_id = ?", _NEWEST, (session,)) for session in sessions]
    found: dict[int, Utterance] = {}
    with contextlib.suppress(CatalogCorruptError), store.catalog.reading() as connection:
        for where, limit, params in looks:
            sql = _LOOK.format(chars=_CHARS, where=where, limit=limit, most=_NEWEST)
            rows = connection.execute(sql, (*params, user_id, agent_id)).fetchall()
            found.update((said.id, said) for said in _read(rows))
    return [found[each] for each in sorted(found)]


def _read(rows: Iterable[tuple[Any, ...]]) -> Iterator[Utterance]:
    for record_id, *written in rows:
        session, text, role, metadata = [
            raw.decode("utf-8", "replace") if isinstance(raw, bytes) else None for raw in written
        ]
        if text:
            yield Utterance(record_id, session, text, speaker_of(role, metadata))


def spoken_words(row: Row) -> str:
    """The text that is embedded for a memory, see `searched_words`."""
    return searched_words(row.text, row.role, row.metadata)


def stored_words(content: Mapping[str, Any]) -> str:
    """`spoken_words` of a catalog row, whose metadata is JSON."""
    metadata = metadata_of(content.get("metadata"))
    return searched_words(str(content["text"]), content.get("role"), metadata)
