"""The file of a lexical block: postings of up to 65,536 rows, and the rows' columns.

The files are derived from texts and disposable. They also disclose them: hashes of words can be
guessed from a word list, so an erasure of a text must erase them too. native/FORMAT.md has the
bytes. This module lays them out and decides whether a file may be used; `spector.store.words`
decides which files exist and when they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    dir_bits_of,
    packed_dtype,
)
from spector.lexical.postings import InvertedBlock, without_dead

LEX_MAGIC: Final = b"SLEX"
LEXICAL_HEADER_BYTES: Final = 128
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


@dataclass(frozen=True, slots=True, eq=False)
class StoredBlock(InvertedBlock):
    """The contents of a block's file; they never change.

    columns: (rows,) each, by the names in `COLUMNS`.
    """

    columns: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class FileKind:
    """A kind of file of an index: a header, then sections, each with a checksum.

    Attributes:
        name: as messages have it.
        header: its type; ``sections``: those of their items.
        sizes: numbers of items in the sections, by the header.
        fault: what is wrong with the numbers in a header; "" for nothing.
    """

    name: str
    magic: bytes
    version: int
    header: np.dtype[Any]
    sections: tuple[np.dtype[Any], ...]
    sizes: Callable[[Any], tuple[int, ...]]
    fault: Callable[[Any], str]

    def pack(
        self, sections: Sequence[NDArray[Any]], *, uuid: bytes, analysis: int, **numbers: int
    ) -> bytearray:
        """The bytes of a file; ``numbers``: further fields of its header."""
        header = np.zeros(1, self.header)
        header["magic"] = int.from_bytes(self.magic, "little")
        header["version"], header["analysis"] = self.version, analysis
        header["uuid"] = np.frombuffer(uuid, np.uint8)
        for name, number in numbers.items():
            header[name] = number
        size, offsets = self.header.itemsize, self._offsets(tuple(map(len, sections)))
        image = bytearray(offsets[-1])
        for offset, dtype, section in zip(offsets, self.sections, sections, strict=False):
            raw = np.ascontiguousarray(section, dtype).tobytes()
            image[offset : offset + len(raw)] = raw
        header["body_crc"] = crc32c(memoryview(image)[size:])
        image[:size] = header.tobytes()
        header["header_crc"] = crc32c(memoryview(image)[: size - 4])
        image[:size] = header.tobytes()
        return image

    def read(self, image: U8, uuid: bytes, analysis: int) -> tuple[Any, list[NDArray[Any]], str]:
        """Header and sections of a file, in place; or neither, and the reason."""
        size = self.header.itemsize
        if image.size < size:
            return None, [], f"only {image.size} bytes"
        header = np.array(image[:size]).view(self.header)[0]
        if problem := self._problem(image, header, uuid, analysis):
            return None, [], problem
        counts = self.sizes(header)
        *offsets, end = self._offsets(counts)
        if image.size != end:
            return None, [], f"{image.size} bytes instead of {end}"
        if int(header["body_crc"]) != crc32c(image[size:]):
            return None, [], "its bytes are damaged"
        sections = [
            image[offset : offset + dtype.itemsize * count].view(dtype)
            for offset, dtype, count in zip(offsets, self.sections, counts, strict=True)
        ]
        return header, sections, ""

    def header_in(self, head: bytes) -> Any:
        """The header of a file of any store and analysis; None if the bytes are not one."""
        if len(head) < self.header.itemsize:
            return None
        image = np.frombuffer(head[: self.header.itemsize], np.uint8)
        header = image.view(self.header)[0]
        uuid, analysis = header["uuid"].tobytes(), int(header["analysis"])
        return None if self._problem(image, header, uuid, analysis) else header

    def size_by_header(self, head: bytes) -> int:
        """Size of a file by its first bytes; -1 if they are none of this kind."""
        header = self.header_in(head)
        return -1 if header is None else self._offsets(self.sizes(header))[-1]

    def _offsets(self, counts: tuple[int, ...]) -> list[int]:
        """Offsets of the sections with so many items, and the end of the last one."""
        offsets = [self.header.itemsize]
        for dtype, count in zip(self.sections, counts, strict=True):
            offsets.append(offsets[-1] + -(-dtype.itemsize * count // _ALIGN) * _ALIGN)
        return offsets

    def _problem(self, image: U8, header: Any, uuid: bytes, analysis: int) -> str:
        if header["magic"].tobytes() != self.magic:
            return f"not {self.name}"
        if int(header["version"]) != self.version:
            return f"version {header['version']}"
        if int(header["header_crc"]) != crc32c(image[: self.header.itemsize - 4]):
            return "its header is damaged"
        if header["uuid"].tobytes() != bytes(uuid):
            return "made for another store"
        if int(header["analysis"]) != analysis:
            return "made by another analysis"
        return self.fault(header)


def _sizes(header: Any) -> tuple[int, ...]:
    names = ("rows", "terms", "dir_bits", "postings")
    rows, terms, dir_bits, postings = (int(header[name]) for name in names)
    return (terms, (1 << dir_bits) + 1, terms + 1, postings, postings, *(rows for _ in COLUMNS))


def _fault(header: Any) -> str:
    rows, terms, postings = (int(header[name]) for name in ("rows", "terms", "postings"))
    if not (1 <= rows <= WORD_BLOCK_ROWS and terms <= postings < _MOST):
        return f"{rows} rows, {terms} terms, {postings} postings"
    if int(header["dir_bits"]) != dir_bits_of(terms):
        return f"a directory of {header['dir_bits']} bits for {terms} terms"
    return ""


BLOCK: Final = FileKind(
    "a lexical block",
    LEX_MAGIC,
    3,
    LEXICAL_DTYPE,
    tuple(np.dtype(kind) for _, kind in SECTIONS),
    _sizes,
    _fault,
)


def pack_block(block: StoredBlock, *, uuid: bytes, analysis: int) -> bytearray:
    """The bytes of a block's file.

    Args:
        uuid: of the store, 16 bytes.
        analysis: fingerprint of the text analysis, 64 bits.
    """
    if not 1 <= block.rows <= WORD_BLOCK_ROWS:
        raise InvalidInputError(f"a block of {block.rows} rows cannot be saved")
    sections = (block.hash, block.dir, block.start, block.row, block.count)
    return BLOCK.pack(
        (*sections, *(block.columns[name] for name, _ in COLUMNS)),
        uuid=uuid,
        analysis=analysis,
        rows=block.rows,
        terms=len(block.hash),
        dir_bits=dir_bits_of(len(block.hash)),
        postings=len(block.row),
    )


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
    _, sections, problem = BLOCK.read(image, uuid, analysis)
    if problem:
        return None, problem
    if (sections[-1].view(np.uint8) > 1).any():  # no booleans
        return None, "its columns have values out of range"
    hashes, directory, start, row, count, *rest = sections
    columns = dict(zip((name for name, _ in COLUMNS), rest, strict=True))
    block = StoredBlock(0, len(columns["id"]), hashes, start, row, count, directory, columns)
    unused = np.zeros(block.rows, np.uint8)
    wrong = kernel.lexical_check(block.postings(unused, columns["id"]))
    return (None, f"its {PROBLEMS[wrong]} are out of order") if wrong else (block, "")


def drop_rows(block: StoredBlock, keep: NDArray[np.bool_]) -> StoredBlock:
    """The block without the postings of some rows, which stay as rows without words.

    Args:
        keep: (rows,) bool, the rows that keep their postings.
    """
    if keep.all():
        return block
    columns = {name: np.where(keep, block.columns[name], 0).astype(kind) for name, kind in COLUMNS}
    return replace(without_dead(block, keep), columns=columns)
