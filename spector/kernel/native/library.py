"""The compiled library, and the addresses that its functions take."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from numpy.typing import NDArray

from spector.kernel.contract import (
    HIT_DTYPE,
    PART_DTYPE,
    POSTINGS_DTYPE,
    QUERY_DTYPE,
    QUERY_TERMS_DTYPE,
    SPREAD_DTYPE,
    TAIL_DTYPE,
    WORD_HIT_DTYPE,
)

__all__ = ["ffi", "lib", "optional", "pointer"]

_native: Any = import_module("spector._native")
ffi: Final[Any] = _native.ffi
lib: Final[Any] = _native.lib

#: the struct of native/spector.h that each dtype is
_STRUCTS: Final = {
    "spector_part": PART_DTYPE,
    "spector_query": QUERY_DTYPE,
    "spector_hit": HIT_DTYPE,
    "spector_postings": POSTINGS_DTYPE,
    "spector_tail": TAIL_DTYPE,
    "spector_words": QUERY_TERMS_DTYPE,
    "spector_word_hit": WORD_HIT_DTYPE,
    "spector_around": SPREAD_DTYPE,
}


def pointer(kind: str, array: NDArray[Any]) -> Any:
    """The address of an array, which the caller keeps alive; six times faster than ``.ctypes``."""
    return ffi.cast(kind, ffi.from_buffer(array))


def optional(kind: str, array: NDArray[Any] | None) -> Any:
    """The address of an array, NULL for None."""
    return ffi.NULL if array is None else pointer(kind, array)


def _refuse_stale() -> None:
    """An editable install whose extension was not built again would read past its arguments."""
    for struct, dtype in _STRUCTS.items():
        try:
            size = ffi.sizeof(struct)
        except ffi.error:
            size = 0
        if size != dtype.itemsize:
            raise ImportError(f"the extension was built from other sources ({struct} differs)")


_refuse_stale()
