"""What the compiled twins share: how they are compiled, and how they read memory by address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["compiled", "compiled_sum", "pointer"]


def compiled(function: Callable[..., Any]) -> Any:
    """Compile without the GIL and keep the result on disk where a directory can be written."""
    return _compiled(function)


def compiled_sum(function: Callable[..., Any]) -> Any:
    """The same for sums of floats whose last bits do not matter: their order is the compiler's."""
    return _compiled(function, fastmath={"reassoc"})


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    try:
        return njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:
        return njit(nogil=True, **options)(function)


@intrinsic
def pointer(typing_context: Any, address: Any) -> Any:
    """An integer address as the pointer that carray takes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.uint64), generate
