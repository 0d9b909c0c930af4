"""The calls of the C backend about what stands around rows, without the GIL."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import (
    AROUND_DTYPE,
    PartTable,
    Surroundings,
    check_around,
    check_beside,
    check_chains,
)

__all__ = ["NativeAround"]

_native: Any = import_module("spector._native")
_ffi: Any = _native.ffi
_lib: Any = _native.lib

if not hasattr(_lib, "spector_words_around"):
    raise ImportError("the extension was built from other sources (it looks at no neighbours)")
if _ffi.sizeof("spector_around") != AROUND_DTYPE.itemsize:
    raise ImportError("the extension was built from other sources (spector_around differs)")

F32 = NDArray[np.float32]
U32 = NDArray[np.uint32]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]


class NativeAround:
    """In C11, see `spector.kernel.contract.neighbours.AroundKernel`."""

    def words_around(
        self, around: Surroundings, counts: U8, extra: U8 | None, weight: F32, room: F32
    ) -> F32:
        counts, extra, weight, room = check_around(around, counts, extra, weight, room)
        out, sums = np.zeros(around.ranked, np.float32), np.zeros(around.ranked)
        _lib.spector_words_around(
            _pointer("spector_around *", around.entry), _pointer("uint8_t *", counts),
            _ffi.NULL if extra is None else _pointer("uint8_t *", extra), len(weight),
            _pointer("float *", weight), _pointer("float *", room), _pointer("double *", sums),
            _pointer("float *", out),
        )  # fmt: skip
        return out

    def mixed_norms(
        self, table: PartTable, parts: U32, slots: U32, at: U32, before: U32, after: U32,
        share: float,
    ) -> F32:
        part, slot, at, before, after = check_beside(table, parts, slots, at, before, after)
        out = np.empty(len(at), np.float32)
        _lib.spector_mixed_norms(
            _pointer("spector_part *", table.entries), _pointer("uint32_t *", part),
            _pointer("uint32_t *", slot), len(part), _pointer("uint32_t *", at),
            _pointer("uint32_t *", before), _pointer("uint32_t *", after), len(at), share,
            _pointer("float *", out),
        )  # fmt: skip
        return out

    def chained(
        self, before: I32, after: I32, alive: NDArray[np.bool_] | None, rows: I64, reach: int
    ) -> I64:
        before, after, living, rows = check_chains(before, after, alive, rows)
        out = np.empty((len(rows), 2 * reach), np.int64)
        _lib.spector_chained(
            _pointer("int32_t *", before), _pointer("int32_t *", after),
            _ffi.NULL if living is None else _pointer("uint8_t *", living), len(before),
            _pointer("int64_t *", rows), len(rows), reach, _pointer("int64_t *", out),
        )  # fmt: skip
        return out


def _pointer(kind: str, array: NDArray[Any]) -> Any:
    """The address of an array, which the caller keeps alive."""
    return _ffi.cast(kind, _ffi.from_buffer(array))
