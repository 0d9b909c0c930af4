"""The file of a lexical block: postings of up to 65,536 rows, and the rows' columns.

The files are derived from texts and disposable. They also disclose them: hashes of words can be
guessed from a word list, so an erasure of a text must erase them too. native/FORMAT.md has the
bytes. This module lays them out and decides whether a file may be used; `spector.store.words`
decides which files exist and when they are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import U8
from spector.errors import InvalidInputError
from spector.kernel import crc32c
from spector.kernel.contract import (
    PROBLEMS,
    WORD_BLOCK_ROWS,
    LexicalKernel,
    Postings,
    dir_bits_of,
    directory_of,
    packed_dtype,
)

LEX_MAGIC: Final = b"SLEX"
LEXICAL_HEADER_BYTES: Final = 128
_VERSION: Final = 3
_ALIGN: Final = 64
#: postings and columns at most, so that no size can overflow
_MOST: Final = 2**31

LEXICAL_DTYPE: Final = packed_dtype(
    LEXICAL_HEADER_BYTES,
    (
        ("<u4", "magic version rows terms dir_bits postings body_crc"),
        ("<u8", "analysis"),
        (("u1", (16,)), "uuid"),
        ("<u4", "header_crc"),
    ),
    body_crc=28,
    header_crc=124,
)

#: columns of a row that are saved; see `spector.lexical.columns`
COLUMNS: Final = (
    ("id", "<i8"),
    ("event_ms", "<i8"),
    ("session", "<u8"),
    ("user", "<u8"),
    ("seal", "<i8"),
    ("field", "<i4"),
    ("content", "<u2"),
    ("size", "<u2"),
    ("marks", "u1"),
    ("chained", "?"),
)

#: in the file's order
SECTIONS: Final = (
    ("hash", "<u8"),
    ("dir", "<u4"),
    ("start", "<u4"),
    ("row", "<u2"),
    ("occurrences", "u1"),
    *COLUMNS,
)
_DTYPES: Final[tuple[np.dtype[Any], ...]] = tuple(np.dtype(kind) for _, kind in SECTIONS)


@dataclass(frozen=True, slots=True, eq=False)
class StoredBlock:
    """The contents of a block's file; they never change.

    hash: (terms,) uint64, ascending and distinct.
    dir: (2^dir_bits + 1,) uint32, see `spector.kernel.contract.lexical.directory_of`.
    start: (terms + 1,) uint32, first posting of each term.
    row: (postings,) uint16, ascending within a term.
    count: (postings,) uint8, at least 1.
    columns: (rows,) each, by the names in `COLUMNS`.
    """

    hash: NDArray[np.uint64]
    dir: NDArray[np.uint32]
    start: NDArray[np.uint32]
    row: NDArray[np.uint16]
    count: U8
    columns: Mapping[str, NDArray[Any]]

    @property
    def rows(self) -> int:
        return len(self.columns["id"])


def spans_of(first: int, dtypes: tuple[np.dtype[Any], ...], sizes: tuple[int, ...]) -> list[int]:
    """Offsets of consecutive sections of so many items, and the end of the last one."""
    offsets = [first]
    for dtype, count in zip(dtypes, sizes, strict=True):
        offsets.append(offsets[-1] + -(-dtype.itemsize * count // _ALIGN) * _ALIGN)
    return offsets


def _sizes(header: Any) -> tuple[int, ...]:
    """Numbers of items in the sections, in order."""
    names = ("rows", "terms", "dir_bits", "postings")
    rows, terms, dir_bits, postings = (int(header[name]) for name in names)
    return (terms, (1 << dir_bits) + 1, terms + 1, postings, postings, *(rows for _ in COLUMNS))


def pack_sections(
    header: NDArray[Any], dtypes: tuple[np.dtype[Any], ...], sections: tuple[NDArray[Any], ...]
) -> bytearray:
    """The bytes of a file: a header (1,), then the sections, with both checksums set."""
    sizes = tuple(len(section) for section in sections)
    offsets = spans_of(header.dtype.itemsize, dtypes, sizes)
    image = bytearray(offsets[-1])
    for offset, dtype, section in zip(offsets, dtypes, sections, strict=False):
        raw = np.ascontiguousarray(section, dtype).tobytes()
        image[offset : offset + len(raw)] = raw
    size = header.dtype.itemsize
    header["body_crc"] = crc32c(memoryview(image)[size:])
    image[:size] = header.tobytes()
    header["header_crc"] = crc32c(memoryview(image)[: size - 4])
    image[:size] = header.tobytes()
    return image


def pack_block(block: StoredBlock, *, uuid: bytes, analysis: int) -> bytearray:
    """The bytes of a block's file.

    Args:
        uuid: of the store, 16 bytes.
        analysis: fingerprint of the text analysis, 64 bits.
    """
    if not 1 <= block.rows <= WORD_BLOCK_ROWS:
        raise InvalidInputError(f"a block of {block.rows} rows cannot be saved")
    header = np.zeros(1, LEXICAL_DTYPE)
    header["magic"] = int.from_bytes(LEX_MAGIC, "little")
    header["version"] = _VERSION
    header["rows"], header["terms"] = block.rows, len(block.hash)
    header["dir_bits"], header["postings"] = dir_bits_of(len(block.hash)), len(block.row)
    header["analysis"] = analysis
    header["uuid"] = np.frombuffer(uuid, np.uint8)
    sections = (block.hash, block.dir, block.start, block.row, block.count)
    columns = tuple(block.columns[name] for name, _ in COLUMNS)
    return pack_sections(header, _DTYPES, (*sections, *columns))


def read_block(
    image: U8, kernel: LexicalKernel, *, uuid: bytes, analysis: int
) -> tuple[StoredBlock | None, str]:
    """The block in the bytes of a file, read in place, or None and the reason.

    A block is safe to search whatever the bytes are; it is wrong only if its checksums are those of
    wrong bytes. The caller checks the values of ``field``.

    Args:
        image: (n,) uint8, the whole file, aligned to 8 bytes; it must not change any more.
        uuid, analysis: those that the file must have.
    """
    if image.size < LEXICAL_HEADER_BYTES:
        return None, f"only {image.size} bytes"
    header = np.array(image[:LEXICAL_HEADER_BYTES]).view(LEXICAL_DTYPE)[0]
    problem = _header_problem(image, header, uuid, analysis)
    if problem:
        return None, problem
    sizes = _sizes(header)
    *offsets, end = spans_of(LEXICAL_HEADER_BYTES, _DTYPES, sizes)
    if image.size != end:
        return None, f"{image.size} bytes instead of {end}"
    if int(header["body_crc"]) != crc32c(image[LEXICAL_HEADER_BYTES:]):
        return None, "its bytes are damaged"
    sections = [
        image[offset : offset + dtype.itemsize * count].view(dtype)
        for offset, dtype, count in zip(offsets, _DTYPES, sizes, strict=True)
    ]
    if (sections[-1].view(np.uint8) > 1).any():  # no booleans
        return None, "its columns have values out of range"
    hashes, directory, start, row, count, *rest = sections
    columns = dict(zip((name for name, _ in COLUMNS), rest, strict=True))
    block = StoredBlock(hashes, directory, start, row, count, columns)
    wrong = kernel.lexical_check(_postings(block))
    return (None, f"its {PROBLEMS[wrong]} are out of order") if wrong else (block, "")


def size_by_header(head: bytes) -> int:
    """Size of a block's file by its first bytes; -1 if they are not a block's."""
    if len(head) < LEXICAL_HEADER_BYTES:
        return -1
    image = np.frombuffer(head[:LEXICAL_HEADER_BYTES], np.uint8)
    header = image.view(LEXICAL_DTYPE)[0]
    if _header_problem(image, header, header["uuid"].tobytes(), int(header["analysis"])):
        return -1
    return spans_of(LEXICAL_HEADER_BYTES, _DTYPES, _sizes(header))[-1]


def _postings(block: StoredBlock) -> Postings:
    unused = np.zeros(block.rows, np.uint8)
    return Postings(
        hash=block.hash,
        dir=block.dir,
        start=block.start,
        row=block.row,
        count=block.count,
        length=unused,
        id=block.columns["id"].view(np.uint64),
    )


def _header_problem(image: U8, header: Any, uuid: bytes, analysis: int) -> str:
    if header["magic"].tobytes() != LEX_MAGIC:
        return "not a lexical block"
    if int(header["version"]) != _VERSION:
        return f"version {header['version']}"
    if int(header["header_crc"]) != crc32c(image[: LEXICAL_HEADER_BYTES - 4]):
        return "its header is damaged"
    if header["uuid"].tobytes() != bytes(uuid):
        return "made for another store"
    if int(header["analysis"]) != analysis:
        return "made by another analysis"
    rows, terms, postings = (int(header[name]) for name in ("rows", "terms", "postings"))
    if not (1 <= rows <= WORD_BLOCK_ROWS and terms <= postings < _MOST):
        return f"{rows} rows, {terms} terms, {postings} postings"
    if int(header["dir_bits"]) != dir_bits_of(terms):
        return f"a directory of {header['dir_bits']} bits for {terms} terms"
    return ""


def drop_rows(block: StoredBlock, keep: NDArray[np.bool_]) -> StoredBlock:
    """The block without the postings of some rows, which stay as rows without words.

    Args:
        keep: (rows,) bool, the rows that keep their postings.
    """
    if keep.all():
        return block
    held = keep[block.row]
    lengths = (block.start[1:] - block.start[:-1]).astype(np.int64)
    owners = np.repeat(np.arange(len(block.hash)), lengths)[held]
    left = np.bincount(owners, minlength=len(block.hash))
    hashes = block.hash[left > 0]
    start = np.zeros(len(hashes) + 1, np.uint32)
    np.cumsum(left[left > 0], out=start[1:])
    columns = {name: np.where(keep, column, 0) for name, column in block.columns.items()}
    return StoredBlock(
        hashes,
        directory_of(hashes),
        start,
        block.row[held],
        block.count[held],
        {name: columns[name].astype(kind) for name, kind in COLUMNS},
    )
