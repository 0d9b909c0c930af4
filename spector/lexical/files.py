"""The image of an index: the list of its blocks, what is saved of it, and how it is restored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import U8
from spector.kernel.contract import WORD_BLOCK_ROWS, length_codes, packed_dtype
from spector.lexical.block import COLUMNS, FileKind, StoredBlock, drop_rows
from spector.lexical.columns import Columns, FieldTable
from spector.lexical.postings import InvertedBlock, Occurrences, Stack, invert

ROWS_MAGIC: Final = b"SLXR"
_MOST: Final = 2**31
#: numbers of blocks are below this: their files have names of eight digits
MOST_BLOCKS: Final = 10**8

ROWS_DTYPE: Final = packed_dtype(
    128,
    (
        ("<u4", "magic version rows blocks extents fields speakers body_crc"),
        ("<u8", "analysis"),
        (("u1", (16,)), "uuid"),
        ("<u4", "name_bytes turkish header_crc"),
    ),
    header_crc=124,
)

#: a block: the number in its name, its rows, and the ``body_crc`` of its file
NAMED_DTYPE: Final = np.dtype(
    [("number", "<u4"), ("rows", "<u4"), ("body_crc", "<u4"), ("reserved", "<u4")]
)
#: a partition as the index last saw it
EXTENT_DTYPE: Final = np.dtype(
    [
        ("segment_id", "<u4"),
        ("generation", "<u4"),
        ("slots", "<u4"),
        ("live", "<u4"),
        ("records_crc", "<u4"),
    ]
)
#: a speaker and a day since 1970
FIELD_DTYPE: Final = np.dtype([("speaker", "<u4"), ("day", "<i4"), ("turkish", "<u4")])

_DTYPES: Final[tuple[np.dtype[Any], ...]] = (
    NAMED_DTYPE,
    EXTENT_DTYPE,
    FIELD_DTYPE,
    *(np.dtype(kind) for kind in ("<u4", "u1", "<i4", "<i4", "u1")),
)


_COUNTS: Final = ("blocks", "extents", "fields", "speakers", "name_bytes", "rows")


def _sizes(header: Any) -> tuple[int, ...]:
    *others, rows = (int(header[name]) for name in _COUNTS)
    return (*others, rows, rows, rows)


def _fault(header: Any) -> str:
    return "its sizes are out of range" if max(_sizes(header)) >= _MOST else ""


ROWS: Final = FileKind("a list of blocks", ROWS_MAGIC, 1, ROWS_DTYPE, _DTYPES, _sizes, _fault)


@dataclass(frozen=True, slots=True, eq=False)
class SavedRows:
    """The contents of the list.

    named: (blocks,) `NAMED_DTYPE`; their rows follow one another.
    extents: (partitions,) `EXTENT_DTYPE`.
    fields: (f,) `FIELD_DTYPE`, indexed by the rows' ``field``; ``speaker`` indexes ``speakers``.
    speakers: names, "" for none.
    segment, slot: (rows,) int32, where each memory lies.
    alive: (rows,) bool, whether the row is a memory.
    turkish: whether any text is Turkish.
    """

    named: NDArray[Any]
    extents: NDArray[Any]
    fields: NDArray[Any]
    speakers: tuple[str, ...]
    segment: NDArray[np.int32]
    slot: NDArray[np.int32]
    alive: NDArray[np.bool_]
    turkish: bool


def pack_rows(saved: SavedRows, *, uuid: bytes, analysis: int) -> bytearray:
    """The bytes of the file."""
    names = [name.encode("utf-8", "surrogatepass") for name in saved.speakers]
    sections = (
        saved.named,
        saved.extents,
        saved.fields,
        np.cumsum([len(name) for name in names]),
        np.frombuffer(b"".join(names), np.uint8),
        saved.segment,
        saved.slot,
        saved.alive,
    )
    return ROWS.pack(
        sections,
        uuid=uuid,
        analysis=analysis,
        rows=len(saved.alive),
        blocks=len(saved.named),
        extents=len(saved.extents),
        fields=len(saved.fields),
        speakers=len(names),
        name_bytes=sum(map(len, names)),
        turkish=saved.turkish,
    )


def read_rows(image: U8, *, uuid: bytes, analysis: int) -> tuple[SavedRows | None, str]:
    """The contents of a file, or None and the reason.

    All numbers in the result are valid whatever the bytes are: rows are those of the blocks, fields
    have speakers, living rows have places in partitions.

    Args:
        image: (n,) uint8, the whole file, aligned to 8 bytes.
        uuid, analysis: those that the file must have.
    """
    header, sections, problem = ROWS.read(image, uuid, analysis)
    if problem:
        return None, problem
    named, places, pairs, ends, names, segment, slot, alive = map(np.array, sections)
    found = _names(ends, names.tobytes())
    if found is None:
        return None, "its names are not UTF-8 or overlap"
    saved = SavedRows(
        named, places, pairs, found, segment, slot, alive.view(np.bool_), bool(header["turkish"])
    )
    problem = _problem(saved, alive)
    return (None, problem) if problem else (saved, "")


def blocks_named(head: bytes, *, uuid: bytes) -> int | None:
    """Number of blocks in a list, by its header; None if it is not a list of this store."""
    header = ROWS.header_in(head)
    if header is None or header["uuid"].tobytes() != bytes(uuid):
        return None
    return int(header["blocks"])


def _names(ends: NDArray[np.uint32], raw: bytes) -> tuple[str, ...] | None:
    edges = [0, *ends.tolist()]
    if edges[-1] != len(raw) or sorted(edges) != edges:
        return None
    try:
        return tuple(
            raw[first:stop].decode("utf-8", "surrogatepass") for first, stop in pairwise(edges)
        )
    except UnicodeDecodeError:
        return None


def _problem(saved: SavedRows, alive: U8) -> str:
    counts = saved.named["rows"].astype(np.int64)
    if counts.sum() != len(alive) or ((counts < 1) | (counts > WORD_BLOCK_ROWS)).any():
        return "its rows are not those of its blocks"
    if (saved.named["number"] >= MOST_BLOCKS).any():
        return "a block number is out of range"
    for values in (saved.named["number"], saved.extents["segment_id"]):
        if len(np.unique(values)) != len(values):
            return "a block or partition is listed twice"
    if (saved.fields["speaker"] >= len(saved.speakers)).any():
        return "a field has no speaker"
    if (alive > 1).any() or (saved.slot < 0).any():
        return "a row has no place"
    if (saved.extents["segment_id"] >= _MOST).any():
        return "a partition number is out of range"
    segments = saved.extents["segment_id"].astype(np.int32)
    order = np.argsort(segments)
    where = np.searchsorted(segments, saved.segment[saved.alive], sorter=order)
    if (where == len(segments)).any():
        return "a row belongs to no listed partition"
    owners = order[where]
    if (segments[owners] != saved.segment[saved.alive]).any():
        return "a row belongs to no listed partition"
    if (saved.slot[saved.alive] >= saved.extents["slots"][owners]).any():
        return "a row lies beyond its partition"
    return ""


# The image of an index: what is saved of it, and how it is restored.
#
# A block is saved unchanged, without the postings of dead rows. Columns that can change (the place of
# a memory, whether it is alive) are saved in one list for all blocks. Chains are linked anew; they
# follow from the rows.

_I32: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class ExtentImage:
    """The state of a partition when an image was made; ``generation`` -1 if it is not trusted."""

    segment_id: int
    generation: int
    slots: int
    live: int
    overwrites: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class IndexImage:
    """An index at one moment.

    blocks: consecutive; the rows of a tail are one of them.
    columns: (rows,) each, by name.
    fields: indexed by the rows' ``field``: (speaker's code, day, whether the text is Turkish).
    speakers: names by code.
    extents: the partitions.
    turkish: whether any text is Turkish.
    """

    blocks: tuple[InvertedBlock, ...]
    columns: dict[str, NDArray[Any]]
    fields: NDArray[Any]
    speakers: tuple[str, ...]
    extents: tuple[ExtentImage, ...]
    turkish: bool

    @classmethod
    def of(
        cls,
        stack: Stack,
        columns: Columns,
        fields: FieldTable,
        extents: Sequence[ExtentImage],
        *,
        turkish: bool,
    ) -> IndexImage:
        """The state of an index; later changes of the index do not affect it."""
        blocks = stack.blocks
        if stack.tail_rows:
            used, tail = stack.tail_len, stack.tail
            part = Occurrences(tail.hash[:used], tail.row[:used], tail.count[:used])
            blocks = (*blocks, invert(stack.tail_base, stack.tail_rows, [part]))
        seen = columns.freeze()
        places, names = _fields_in_use(fields, seen["field"][seen["alive"]])
        return cls(blocks, seen, places, names, tuple(extents), turkish)


def _fields_in_use(
    fields: FieldTable, used: NDArray[np.int32]
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Pairs and names by number; those of no living memory are blank."""
    places = np.zeros(len(fields.places), FIELD_DTYPE)
    speakers = fields.speakers()
    names = [""] * len(speakers)
    for n in np.flatnonzero(np.bincount(used)).tolist():
        code, day, turkish = fields.places[n]
        places[n] = (code, max(-_I32, min(_I32, day)), turkish)
        names[code] = speakers[code]
    return places, tuple(names)


def stored_block(block: InvertedBlock, columns: dict[str, NDArray[Any]]) -> StoredBlock:
    """The block to save: without the postings of dead rows."""
    rows = slice(block.base, block.base + block.rows)
    mine = {name: columns[name][rows] for name, _ in COLUMNS}
    return drop_rows(
        StoredBlock(
            0, block.rows, block.hash, block.start, block.row, block.count, block.dir, mine
        ),
        columns["alive"][rows],
    )


def image_from_files(
    saved: SavedRows, blocks: Sequence[StoredBlock], trusted: Sequence[bool]
) -> IndexImage | None:
    """The index in a list and its blocks; None if they do not belong together.

    Args:
        blocks: those that ``saved`` names.
        trusted: for each extent, whether its memories are still those of the partition.
    """
    if [block.rows for block in blocks] != saved.named["rows"].tolist():
        return None
    columns: dict[str, NDArray[Any]] = {
        name: np.concatenate([block.columns[name] for block in blocks])
        if blocks
        else np.zeros(0, kind)
        for name, kind in COLUMNS
    }
    alive = saved.alive
    ids, fields = np.sort(columns["id"][alive]), columns["field"]
    if (ids[1:] == ids[:-1]).any() or (columns["seal"][alive] < 0).any():
        return None
    if ((fields < 0) | (fields >= max(1, len(saved.fields))))[alive].any():
        return None
    unlinked = np.full(len(alive), -1, np.int32)
    columns |= {
        "alive": alive,
        "segment": saved.segment,
        "slot": saved.slot,
        "code": length_codes(columns["size"]),
        "before": unlinked,
        "after": unlinked.copy(),
    }
    columns["chained"] = columns["chained"] & alive
    bases = np.cumsum([0, *(block.rows for block in blocks)]).tolist()
    made = tuple(
        InvertedBlock(base, b.rows, b.hash, b.start, b.row, b.count, b.dir)
        for base, b in zip(bases, blocks, strict=False)
    )
    extents = tuple(
        ExtentImage(
            int(e["segment_id"]),
            int(e["generation"]) if sure else -1,
            int(e["slots"]),
            int(e["live"]),
        )
        for e, sure in zip(saved.extents, trusted, strict=True)
    )
    return IndexImage(made, columns, saved.fields, saved.speakers, extents, saved.turkish)
