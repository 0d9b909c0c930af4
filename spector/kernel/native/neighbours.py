"""The calls of the C backend about neighbours, without the GIL."""

from __future__ import annotations

import numpy as np

from spector._types import F32, I32, I64, U8, U32
from spector.kernel.contract import NeighbourKernel, PartTable, TermSpread
from spector.kernel.native.library import lib, optional, pointer

__all__ = ["NativeNeighbours"]


class NativeNeighbours(NeighbourKernel):
    """The calls about neighbours in C11."""

    def _add_bm25(
        self,
        spread: TermSpread,
        counts: U8,
        extra: U8 | None,
        weight: F32,
        length_norm: F32,
        out: F32,
    ) -> None:
        sums = np.zeros(spread.ranked)
        lib.spector_words_around(
            pointer("spector_around *", spread.entry),
            pointer("uint8_t *", counts),
            optional("uint8_t *", extra),
            len(weight),
            pointer("float *", weight),
            pointer("float *", length_norm),
            pointer("double *", sums),
            pointer("float *", out),
        )

    def _fill_norms(self, table: PartTable, places: list[U32], share: float, out: F32) -> None:
        part, slot, at, before, after = (pointer("uint32_t *", each) for each in places)
        lib.spector_mixed_norms(
            pointer("spector_part *", table.entries),
            part,
            slot,
            len(places[0]),
            at,
            before,
            after,
            len(out),
            share,
            pointer("float *", out),
        )

    def _walk(self, before: I32, after: I32, alive: U8 | None, rows: I64, out: I64) -> None:
        lib.spector_chained(
            pointer("int32_t *", before),
            pointer("int32_t *", after),
            optional("uint8_t *", alive),
            len(before),
            pointer("int64_t *", rows),
            len(rows),
            out.shape[1] // 2,
            pointer("int64_t *", out),
        )
