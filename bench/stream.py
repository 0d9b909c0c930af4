"""Plain streaming reads: the yardstick for scans.

A slow yardstick would flatter the scan, so several readers compete and the fastest one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.measure import seconds_of

Reader = Callable[[NDArray[np.uint64]], int]
_LAPS: Final = 3


def numpy_sum(words: NDArray[np.uint64]) -> int:
    return int(np.add.reduce(words))


def numpy_max(words: NDArray[np.uint64]) -> int:
    return int(np.maximum.reduce(words))


def fastest_stream(words: NDArray[np.uint64]) -> tuple[str, Reader]:
    """The reader that needs the least time for ``words``, and its name.

    All of ``words`` is read, because what wins within the caches need not win beyond them.
    """

    def fastest_lap(reader: tuple[str, Reader]) -> float:
        return min(seconds_of(lambda: reader[1](words)) for _ in range(_LAPS))

    return min(readers().items(), key=fastest_lap)


@lru_cache(maxsize=1)
def readers() -> dict[str, Reader]:
    found: dict[str, Reader] = {"numpy sum": numpy_sum, "numpy max": numpy_max}
    try:
        from spector.kernel.native import stream

        stream(np.ones(64, np.uint8))
        found["native sum"] = lambda words: stream(words.view(np.uint8))
    except (ImportError, AttributeError):
        pass  # no C compiler, or a build from before the function: the others compete alone
    try:
        import numba
    except ImportError:
        return found
    compiled: Any = numba.njit(_sum_loop)
    compiled_unrolled: Any = numba.njit(_sum_lines)
    for name, function in (("numba sum", compiled), ("numba line sum", compiled_unrolled)):
        function(np.ones(64, np.uint64))
        found[name] = _as_reader(function)
    return found


def _as_reader(function: Any) -> Reader:
    return lambda words: int(function(words))


def _sum_loop(words: NDArray[np.uint64]) -> int:
    total = np.uint64(0)
    for i in range(words.size):
        total += words[i]
    return total  # type: ignore[return-value]


def _sum_lines(words: NDArray[np.uint64]) -> int:
    """One word of each 64-byte cache line: the least work that still moves every line."""
    total = np.uint64(0)
    for i in range(0, words.size - 31, 32):
        total += words[i] + words[i + 8] + words[i + 16] + words[i + 24]
    return total  # type: ignore[return-value]
