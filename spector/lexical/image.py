"""The image of an index: what is saved of it, and how it is restored.

A block is saved unchanged, without the postings of dead rows. Columns that can change (the place of
a memory, whether it is alive) are saved in one list for all blocks. Chains are linked anew; they
follow from the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import length_codes
from spector.lexical.block import COLUMNS, StoredBlock, drop_rows
from spector.lexical.columns import Columns, FieldTable
from spector.lexical.files import FIELD_DTYPE, SavedRows
from spector.lexical.postings import InvertedBlock, Occurrences, Stack, invert

__all__ = ["ExtentImage", "IndexImage", "image_from_files", "stored_block"]

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
        StoredBlock(block.hash, block.dir, block.start, block.row, block.count, mine),
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
