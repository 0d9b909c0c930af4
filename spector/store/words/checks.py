"""Check word files, and remove those that nothing uses any more.

They are derived: a damaged one only costs an analysis of the texts, so it is a note and no problem.
A file with such a name is the store's own, whatever its bytes; otherwise one flipped bit at its
beginning would keep an erasure from removing the words in it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import numpy as np

from spector.errors import StoreError
from spector.kernel.contract import Kernel
from spector.lexical import (
    MOST_BLOCKS,
    NAMED_DTYPE,
    ROWS_DTYPE,
    SavedRows,
    StoredBlock,
    blocks_named,
    image_from_files,
    list_size_by_header,
    read_block,
    read_rows,
)
from spector.store.core import Store
from spector.store.files import Files
from spector.store.words.files import LIST, body_crc, bytes_of, is_words, name_of

__all__ = ["drop_unused_words", "notes_on_words"]

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
    file = files.open(LIST, writable=False)
    try:
        head = file.read_at(0, ROWS_DTYPE.itemsize)
        count = blocks_named(head, uuid=uuid)
        if count is None or file.size() != list_size_by_header(head):
            return None
        raw = file.read_at(len(head), NAMED_DTYPE.itemsize * count)
    finally:
        file.close()
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
