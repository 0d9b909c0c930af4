"""Word files: written when a store is quiet, read when its words are first needed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from spector.errors import StoreError
from spector.kernel import crc32c
from spector.kernel.contract import Kernel
from spector.lexical import (
    EXTENT_DTYPE,
    LEXICAL_DTYPE,
    LEXICAL_HEADER_BYTES,
    MOST_BLOCKS,
    NAMED_DTYPE,
    ROWS_DTYPE,
    IndexImage,
    SavedRows,
    StoredBlock,
    blocks_named,
    image_from_files,
    list_size_by_header,
    pack_block,
    pack_rows,
    read_block,
    read_rows,
    size_by_header,
    stored_block,
)
from spector.store.core import Store
from spector.store.files import Bytes, Files
from spector.store.partitions import Partition, replace_derived

FOLDER: Final = "lexical/"
_LEX: Final = ".lex"
#: the list of the blocks that make up an index
LIST: Final = f"{FOLDER}rows{_LEX}"
#: eight digits are written; files with more are ours, too, and are removed with the others
_NAME: Final = re.compile(r"lexical/(rows|[0-9]{8,})\.lex(\.tmp)?")
_RECORD_CRC: Final = slice(36, 40)
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
            self._rows = len(saved.alive)
            self._dead = int(np.count_nonzero(~saved.alive))
        return kept

    def _read(self, entry: Any) -> StoredBlock | None:
        image = bytes_of(self._files, name_of(int(entry["number"])))
        if image is None or body_crc(image) != int(entry["body_crc"]):
            return None
        return read_block(image, self._kernel, uuid=self._uuid, analysis=self._analysis)[0]

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
                and _records_crc(partition, slots) == int(extent["records_crc"])
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
        taken = {number for _, number, _ in self._written.values()}
        taken |= {_number_of(name) for name in self._files.listing() if is_words(name)}
        free = (number for number in range(MOST_BLOCKS) if number not in taken)
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
        self._rows = len(columns["alive"])
        self._dead = int(np.count_nonzero(~columns["alive"]))
        mine = {LIST, *(name_of(number) for _, number, _ in written.values())}
        _remove(self._files, keep=mine)

    def _extents(self, kept: IndexImage, partitions: Sequence[Partition]) -> Any:
        here = {partition.segment_id: partition for partition in partitions}
        out = np.zeros(len(kept.extents), EXTENT_DTYPE)
        for n, extent in enumerate(kept.extents):
            crc = _records_crc(here[extent.segment_id], extent.slots)
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
        wanted = list_size_by_header(head) if name == LIST else size_by_header(head)
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


def _number_of(name: str) -> int:
    stem = name.removeprefix(FOLDER).split(".")[0]
    return int(stem) if stem.isascii() and stem.isdecimal() and len(stem) <= 8 else -1


def body_crc(image: Bytes) -> int:
    """The checksum in the header of a file, which identifies it; -1 without a header."""
    if image.size < LEXICAL_HEADER_BYTES:
        return -1
    header = np.array(image[:LEXICAL_HEADER_BYTES]).view(LEXICAL_DTYPE)
    return int(header["body_crc"][0])


def _records_crc(partition: Partition, slots: int) -> int:
    """CRC-32C of the checksums of the first records: equal for equal memories in equal order."""
    return crc32c(np.ascontiguousarray(partition.data[:slots, _RECORD_CRC]))


# Check word files, and remove those that nothing uses any more.
#
# They are derived: a damaged one only costs an analysis of the texts, so it is a note and no problem.
# A file with such a name is the store's own, whatever its bytes; otherwise one flipped bit at its
# beginning would keep an erasure from removing the words in it.

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
            blocks.append(_without_postings(found))
    if len(blocks) == len(saved.named) and not _fits(saved, blocks):
        yield LIST, f"its blocks do not belong together; {_ANEW}"


def _without_postings(block: StoredBlock) -> StoredBlock:
    """The part of a block that is compared with the others: a sixth of it, copied."""
    columns = {name: column.copy() for name, column in block.columns.items()}
    return StoredBlock(
        block.hash[:0].copy(),
        block.dir[:0].copy(),
        block.start[:0].copy(),
        block.row[:0].copy(),
        block.count[:0].copy(),
        columns,
    )


def _fits(saved: SavedRows, blocks: list[StoredBlock]) -> bool:
    return image_from_files(saved, blocks, [False] * len(saved.extents)) is not None


def _block(
    files: Files, name: str, kernel: Kernel, uuid: bytes, analysis: int, listed: int
) -> tuple[StoredBlock | None, str]:
    image = bytes_of(files, name) if files.exists(name) else None
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
        if count is None or file.size() != list_size_by_header(head):
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
