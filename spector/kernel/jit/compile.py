"""What the compiled twins share: how they are compiled, and how they read memory by address."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
from numba import njit
from numba.core import event, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

#: divisions by zero give what IEEE 754 says instead of branches to an exception
_OPTIONS: Final[dict[str, Any]] = {"nogil": True, "error_model": "numpy"}
#: wrappers for callers from Python take most of the time that compiling takes
_BORROWING: Final[dict[str, Any]] = {
    **_OPTIONS,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
}


def compiled(function: Callable[..., Any]) -> Any:
    """Compile without the GIL and keep the result on disk where a directory can be written.

    Numba keeps it for as long as the function's own file is as it was, but what it calls is
    compiled into it, and so are the constants of other files. So the sources of the whole kernel
    count, or an upgrade that leaves the one file alone would go on with the old kernel.
    """
    try:
        made = njit(cache=True, **_OPTIONS)(function)
        kept = made._cache._cache_file
        kept._source_stamp = (kept._source_stamp, _sources())
        kept._load_index = _or_nothing(kept._load_index)
    except (RuntimeError, OSError, AttributeError):  # nowhere to keep it, or another Numba
        return njit(**_OPTIONS)(function)
    return made


def _or_nothing(load: Callable[[], dict[Any, Any]]) -> Callable[[], dict[Any, Any]]:
    """``load``, or {} for a cache of another version, whose classes may have moved since."""

    def load_index() -> dict[Any, Any]:
        try:
            return load()
        except Exception:
            return {}

    return load_index


@cache
def _sources() -> str:
    """A digest of everything that compiled code is made from."""
    kernel = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in (*sorted(kernel.rglob("*.py")), kernel.parent / "layout.py"):
        digest.update(path.read_bytes())
        digest.update(b"\0")
    return digest.hexdigest()


def borrowing(function: Callable[..., Any]) -> Any:
    """Compile as part of a `compiled` function that neither makes arrays nor returns its caller's.

    Counting the references of a tuple of arrays that is passed on took three quarters of a scan.
    """
    return njit(**_BORROWING)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A `borrowing` one for hot loops: copying tuples of arrays into a call costs like a dot."""
    return njit(forceinline=True, **_BORROWING)(function)


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Bits set in an unsigned word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return word(word), generate


@intrinsic
def array_at(typing_context: Any, address: Any, length: Any, dtype: Any) -> Any:
    """The (length,) array at an integer address: carray, but for `borrowing` functions as well."""
    array = types.Array(dtype.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = make_array(array)(context, builder)
        item = context.get_abi_sizeof(context.get_data_type(array.dtype))
        size = context.get_constant(types.intp, item)
        populate_array(
            made,
            data=builder.inttoptr(args[0], made.data.type),
            shape=(args[1],),
            strides=(size,),
            itemsize=size,
            meminfo=None,
        )
        return made._getvalue()

    return array(types.uint64, types.intp, dtype), generate


@borrowing
def _bits_at(address):  # type: ignore[no-untyped-def]
    return popcount(array_at(address, 1, np.uint64)[0])


@compiled
def _probe(address):  # type: ignore[no-untyped-def]
    return _bits_at(address)


def probe() -> None:
    """Raise if this release of Numba no longer has what `borrowing` and the intrinsics build on.

    They are not of its public interface, and fail when first called. Another backend serves then.
    """
    word = np.array([0b111], np.uint64)
    if _probe(np.uint64(word.ctypes.data)) != 3:
        raise RuntimeError("this release of Numba compiles the scan wrongly")


def compile_seconds() -> float:
    """Wall time this process has spent compiling the twins; 0 while all came from the cache."""
    return _compilation.seconds


class _Compilation(event.Listener):  # type: ignore[misc]
    """Hears of every compilation in the process and minds those of this package.

    They are serialised by Numba's own lock, and nested: a function compiles what it calls.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._since = 0.0
        self._told = False

    def on_start(self, event: Any) -> None:
        if not _is_ours(event):
            return
        if self._depth == 0:
            self._since = perf_counter()
        self._depth += 1
        if not self._told:
            self._told = True
            _LOG.warning(
                "compiling the scan kernel with Numba: up to a minute, once a machine"
                " (NUMBA_CACHE_DIR says where it is kept)"
            )

    def on_end(self, event: Any) -> None:
        if _is_ours(event):
            self._depth -= 1
            if self._depth == 0:
                self.seconds += perf_counter() - self._since


def _is_ours(happened: Any) -> bool:
    function = getattr(happened.data.get("dispatcher"), "py_func", None)
    return getattr(function, "__module__", "").startswith("spector.kernel.")


_LOG: Final = logging.getLogger("spector")
_compilation: Final = _Compilation()
event.register("numba:compile", _compilation)
