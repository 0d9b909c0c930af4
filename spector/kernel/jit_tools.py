"""What the compiled twins share: how they are compiled, and how they read memory by address."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from numba import njit
from numba.core import cgutils, event, types
from numba.extending import intrinsic

__all__ = ["compile_seconds", "compiled", "inlined", "inner", "inner_sum", "pointer", "popcount"]

#: divisions by zero give what IEEE 754 says instead of branches to an exception
_OPTIONS: Final[dict[str, Any]] = {"nogil": True, "error_model": "numpy"}
#: wrappers for callers from Python take most of the time that compiling takes
_INNER: Final[dict[str, Any]] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: Callable[..., Any]) -> Any:
    """Compile without the GIL and keep the result on disk where a directory can be written."""
    try:
        return njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:
        return njit(**_OPTIONS)(function)


def inner(function: Callable[..., Any]) -> Any:
    """Compile as part of a `compiled` function, to be called from nowhere else."""
    return njit(**_OPTIONS, **_INNER)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """An `inner` one for hot loops: copying tuples of arrays into a call costs more than a dot."""
    return njit(forceinline=True, **_OPTIONS, **_INNER)(function)


def inner_sum(function: Callable[..., Any]) -> Any:
    """An `inner` one whose sums of floats may run in any order; their last bits do not matter."""
    return njit(fastmath={"reassoc"}, **_OPTIONS, **_INNER)(function)


@intrinsic
def pointer(typing_context: Any, address: Any) -> Any:
    """An integer address as the pointer that carray takes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.uint64), generate


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Bits set in an unsigned word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return word(word), generate


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
