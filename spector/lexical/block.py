"""Lexical blocks: the words of up to 65,536 rows, inverted, and the file that one is kept in.

A block is derived from texts and disposable, and it tells of them: hashes of words can be guessed
from a list of words, so wherever a text has to go, its rows have to go from here. native/FORMAT.md
has the bytes. This module knows where each lies and when a file's may be trusted; which blocks a
store has, and when they are written, is the business of its owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.kernel.crc import crc32c
from spector.kernel.postings import (
    BLOCK_ROWS,
    LENGTHS,
    PROBLEMS,
    LexicalKernel,
    Postings,
    Tail,
    dir_bits_of,
    directory_of,
)

__all__ = [
    "LEXICAL_DTYPE", "LEXICAL_HEADER_BYTES", "LEX_MAGIC", "RUN_DTYPE", "Block", "Found", "Layout",
    "forward_of", "invert", "is_lex", "layout_of", "merged", "read_block", "run", "seal_block",
    "without",
]  # fmt: skip

U8 = NDArray[np.uint8]

LEX_MAGIC: Final = b"SLEX"
LEXICAL_HEADER_BYTES: Final = 128
_VERSION: Final = 1
_ALIGN: Final = 64
_FIXED: Final = 2**31  # postings and terms at most, so that sizes cannot overflow

LEXICAL_DTYPE: Final = np.dtype(
    {
        "names": [
            "magic", "version", "rows", "runs", "terms", "dir_bits", "postings", "body_crc",
            "analysis", "uuid", "words", "header_crc",
        ],
        "formats": [
            "<u4", "<u4", "<u4", "<u4", "<u4", "<u4", "<u4", "<u4",
            "<u8", ("u1", (16,)), "<u8", "<u4",
        ],
        "offsets": [0, 4, 8, 12, 16, 20, 24, 28, 32, 40, 56, 124],
        "itemsize": LEXICAL_HEADER_BYTES,
    }
)  # fmt: skip

#: rows first .. first + rows - 1 of the block are slots 0 .. rows - 1 of one partition
RUN_DTYPE: Final = np.dtype(
    [
        ("segment_id", "<u4"), ("generation", "<u4"), ("rows", "<u4"), ("first", "<u4"),
        ("change_seq", "<i8"), ("records_crc", "<u4"), ("reserved", "<u4"),
    ]
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A block in memory or in a map. Nothing in it ever changes.

    postings: the words.
    before, after: (rows,) uint16, how many rows back and on the neighbour in the session lies; 0
        where there is none in this block.
    runs: (n,) `RUN_DTYPE`, in the order of their rows; none for a block that is kept in no file.
    """

    postings: Postings
    before: NDArray[np.uint16]
    after: NDArray[np.uint16]
    runs: NDArray[Any]

    @property
    def rows(self) -> int:
        return self.postings.rows

    @property
    def words(self) -> int:
        """Words of all rows together, as their length codes have them."""
        return int(LENGTHS[self.postings.length].sum(dtype=np.float64))

    @property
    def nbytes(self) -> int:
        return self.postings.nbytes + self.before.nbytes + self.after.nbytes + self.runs.nbytes


class Found(NamedTuple):
    """What reading a file gave: a block, or why there is none."""

    block: Block | None
    problem: str
    analysis: int


class Layout(NamedTuple):
    """Byte offsets of a file's sections, multiples of 64, and its size."""

    runs: int
    hash: int
    dir: int
    start: int
    id: int
    row: int
    occurrences: int
    length: int
    before: int
    after: int
    nbytes: int


#: the sections in the order of `Layout`
_DTYPES: Final[tuple[np.dtype[Any], ...]] = (
    RUN_DTYPE,
    *(np.dtype(kind) for kind in "<u8 <u4 <u4 <u8 <u2 u1 u1 <u2 <u2".split()),
)


def layout_of(rows: int, runs: int, terms: int, dir_bits: int, postings: int) -> Layout:
    """Where everything lies in the file of a block."""
    offsets = [LEXICAL_HEADER_BYTES]
    for dtype, count in zip(
        _DTYPES, _sizes(rows, runs, terms, dir_bits, postings), strict=True
    ):
        offsets.append(offsets[-1] + -(-dtype.itemsize * count // _ALIGN) * _ALIGN)
    return Layout(*offsets)


def _sizes(rows: int, runs: int, terms: int, dir_bits: int, postings: int) -> tuple[int, ...]:
    return (runs, terms, (1 << dir_bits) + 1, terms + 1, rows, postings, postings, rows, rows, rows)


def run(
    segment_id: int, generation: int, rows: int, *, change_seq: int, records_crc: int
) -> NDArray[Any]:
    """A run of one partition's first slots, as (1,) `RUN_DTYPE`; where it lies is set by `merged`.

    Args:
        change_seq: of the partition's row when its texts were read.
        records_crc: of the checksums of the rows' records, in order.
    """
    out = np.zeros(1, RUN_DTYPE)
    out[0] = (segment_id, generation, rows, 0, change_seq, records_crc, 0)
    return out


def invert(rows: Tail) -> Postings:
    """The words of at most `BLOCK_ROWS` rows, by word."""
    if rows.rows > BLOCK_ROWS:
        raise InvalidInputError(f"{rows.rows} rows where a block has at most {BLOCK_ROWS}")
    used = int(rows.start[rows.rows])
    slots = _repeated(np.arange(rows.rows, dtype=np.uint16), rows.start[: rows.rows + 1])
    return _by_word(
        rows.hash[:used], slots, rows.count[:used], rows.length[: rows.rows], rows.id[: rows.rows]
    )


def _repeated(values: NDArray[Any], start: NDArray[np.uint32]) -> NDArray[Any]:
    """Each of (n,) values as often as the span between two of (n + 1,) starts is long."""
    return np.repeat(values, (start[1:] - start[:-1]).astype(np.int64))


def _by_word(
    hashes: NDArray[np.uint64],
    slots: NDArray[np.uint16],
    counts: U8,
    lengths: U8,
    ids: NDArray[np.uint64],
) -> Postings:
    """Postings of (n,) words in the order of their slots."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)])
    terms = np.ascontiguousarray(ordered[first])
    return Postings(
        hash=terms,
        dir=directory_of(terms),
        start=np.append(first, len(ordered)).astype(np.uint32),
        row=slots[order],
        count=counts[order],
        length=np.ascontiguousarray(lengths),
        id=np.ascontiguousarray(ids),
    )


def forward_of(postings: Postings) -> Tail:
    """The same words row by row, those of a row by their hashes."""
    order = np.argsort(postings.row, kind="stable")
    hashes = _repeated(postings.hash, postings.start)
    start = np.zeros(postings.rows + 1, np.uint32)
    np.cumsum(np.bincount(postings.row, minlength=postings.rows), out=start[1:])
    return Tail(
        hash=hashes[order], start=start, count=postings.count[order], length=postings.length,
        id=postings.id, rows=postings.rows,
    )  # fmt: skip


def merged(blocks: Sequence[Block]) -> Block:
    """One block of the rows of several, which have at most `BLOCK_ROWS` together."""
    rows = sum(block.rows for block in blocks)
    if rows > BLOCK_ROWS:
        raise InvalidInputError(f"{rows} rows where a block has at most {BLOCK_ROWS}")
    firsts = np.cumsum([0, *(block.rows for block in blocks)]).tolist()
    parts = [block.postings for block in blocks]
    postings = _by_word(
        np.concatenate([_repeated(p.hash, p.start) for p in parts]),
        np.concatenate([p.row + np.uint16(at) for p, at in zip(parts, firsts, strict=False)]),
        np.concatenate([p.count for p in parts]),
        np.concatenate([p.length for p in parts]),
        np.concatenate([p.id for p in parts]),
    )
    return Block(
        postings,
        np.concatenate([block.before for block in blocks]),
        np.concatenate([block.after for block in blocks]),
        _placed(np.concatenate([block.runs for block in blocks])),
    )


def without(block: Block, segment_ids: set[int]) -> Block | None:
    """The block without the rows of some partitions, none of whose words stay; None if all go."""
    keep = np.zeros(block.rows, bool)
    kept_runs = [
        i for i, segment_id in enumerate(block.runs["segment_id"].tolist())
        if segment_id not in segment_ids
    ]  # fmt: skip
    for i in kept_runs:
        first, count = int(block.runs["first"][i]), int(block.runs["rows"][i])
        keep[first : first + count] = True
    if not keep.any():
        return None
    p = block.postings
    slots = np.cumsum(keep) - 1
    held = keep[p.row]
    hashes = _repeated(p.hash, p.start)[held]
    postings = _by_word(
        hashes, slots[p.row[held]].astype(np.uint16), p.count[held], p.length[keep], p.id[keep]
    )
    return Block(
        postings,
        _chained(block.before, keep, slots, -1),
        _chained(block.after, keep, slots, 1),
        _placed(block.runs[kept_runs]),
    )


def _chained(
    steps: NDArray[np.uint16], keep: NDArray[np.bool_], slots: NDArray[np.int64], way: int
) -> NDArray[np.uint16]:
    """Steps to the next neighbour that stays, counted in the slots that stay."""
    at = np.arange(len(steps))
    target = at + way * steps.astype(np.int64)
    while True:
        over = (target != at) & ~keep[target]  # a neighbour that goes: on to its own
        if not over.any():
            break
        beyond = steps[target[over]].astype(np.int64)
        target[over] = np.where(beyond, target[over] + way * beyond, at[over])
    out: NDArray[np.uint16] = np.abs(slots[target] - slots[at])[keep].astype(np.uint16)
    return out


def _placed(runs: NDArray[Any]) -> NDArray[Any]:
    """Runs one behind the other."""
    out = runs.copy()
    out["first"] = np.cumsum(runs["rows"]) - runs["rows"]
    return out


# -- files -----------------------------------------------------------------------------------


def seal_block(block: Block, *, uuid: bytes, analysis: int) -> bytearray:
    """The bytes of a block's file.

    Args:
        uuid: of the store, 16 bytes.
        analysis: fingerprint of what made words of the texts, 64 bits.
    """
    p = block.postings
    if int(block.runs["rows"].sum()) != block.rows or not block.rows:
        raise InvalidInputError("the runs of a block must be all of its rows")
    counts = (block.rows, len(block.runs), len(p.hash), p.dir_bits, len(p.row))
    layout = layout_of(*counts)
    image = np.zeros(layout.nbytes, np.uint8)
    sections = (
        block.runs, p.hash, p.dir, p.start, p.id, p.row, p.count, p.length, block.before,
        block.after,
    )  # fmt: skip
    for offset, section in zip(layout, sections, strict=False):
        raw = np.ascontiguousarray(section).view(np.uint8)
        image[offset : offset + raw.size] = raw
    header = image[:LEXICAL_HEADER_BYTES].view(LEXICAL_DTYPE)
    header["magic"] = int.from_bytes(LEX_MAGIC, "little")
    header["version"] = _VERSION
    for name, value in zip(("rows", "runs", "terms", "dir_bits", "postings"), counts, strict=True):
        header[name] = value
    header["analysis"] = analysis
    header["uuid"] = np.frombuffer(uuid, np.uint8)
    header["words"] = block.words
    header["body_crc"] = crc32c(image[LEXICAL_HEADER_BYTES:])
    header["header_crc"] = crc32c(image[: LEXICAL_HEADER_BYTES - 4])
    return bytearray(image.tobytes())


def is_lex(head: bytes) -> bool:
    """True for the first bytes of a file that this module wrote, or began to write."""
    return head[:4] in (LEX_MAGIC, bytes(4)) or not head


def read_block(image: U8, kernel: LexicalKernel, *, uuid: bytes) -> Found:
    """The block in the bytes of a file, which are read in place and must not change after.

    Whatever the bytes are, what comes back is safe to ask, and wrong only if somebody computed the
    checksums of wrong bytes. Whether its runs are still those of the partitions, and whether its
    analysis is ours, is for the caller to compare.

    Args:
        image: (n,) uint8, the whole file, aligned to 8 bytes.
        uuid: of the store.
    """
    if image.size < LEXICAL_HEADER_BYTES:
        return Found(None, f"only {image.size} bytes", 0)
    header = np.array(image[:LEXICAL_HEADER_BYTES]).view(LEXICAL_DTYPE)[0]
    analysis = int(header["analysis"])
    problem = _header_problem(image, header, uuid)
    if problem:
        return Found(None, problem, analysis)
    counts = tuple(int(header[n]) for n in ("rows", "runs", "terms", "dir_bits", "postings"))
    layout = layout_of(*counts)
    if image.size != layout.nbytes:
        return Found(None, f"{image.size} bytes instead of {layout.nbytes}", analysis)
    if int(header["body_crc"]) != crc32c(image[LEXICAL_HEADER_BYTES:]):
        return Found(None, "its bytes are damaged", analysis)
    block = _mapped(image, counts, layout)
    problem = _body_problem(block, kernel)
    return Found(None, problem, analysis) if problem else Found(block, "", analysis)


def _header_problem(image: U8, header: Any, uuid: bytes) -> str:
    if header["magic"].tobytes() != LEX_MAGIC:
        return "not a lexical block"
    if int(header["version"]) != _VERSION:
        return f"version {header['version']}"
    if int(header["header_crc"]) != crc32c(image[: LEXICAL_HEADER_BYTES - 4]):
        return "its header is damaged"
    if header["uuid"].tobytes() != bytes(uuid):
        return "made for another store"
    rows, runs = int(header["rows"]), int(header["runs"])
    terms, postings, dir_bits = (int(header[n]) for n in ("terms", "postings", "dir_bits"))
    if not (1 <= runs <= rows <= BLOCK_ROWS and terms <= postings < _FIXED):
        return f"{runs} runs of {rows} rows, {terms} words in {postings} places"
    if dir_bits != dir_bits_of(terms):
        return f"a directory of {dir_bits} bits for {terms} words"
    return ""


def _mapped(image: U8, counts: tuple[int, ...], layout: Layout) -> Block:
    sections = []
    for offset, dtype, count in zip(layout, _DTYPES, _sizes(*counts), strict=False):
        sections.append(image[offset : offset + dtype.itemsize * count].view(dtype))
    runs, hashes, directory, start, ids, row, count_, length, before, after = sections
    postings = Postings(
        hash=hashes, dir=directory, start=start, row=row, count=count_, length=length, id=ids
    )
    return Block(postings, before, after, runs)


def _body_problem(block: Block, kernel: LexicalKernel) -> str:
    wrong = kernel.lexical_check(block.postings)
    if wrong:
        return f"its {PROBLEMS[wrong]} are out of order"
    counts = block.runs["rows"].astype(np.int64)
    firsts = np.cumsum(counts) - counts
    if (
        counts.sum() != block.rows
        or not counts.all()
        or not np.array_equal(block.runs["first"], firsts)
    ):
        return "its runs are out of order"
    slots = np.arange(block.rows)
    if (block.before > slots).any() or (block.after > block.rows - 1 - slots).any():
        return "its neighbours are outside"
    return ""
