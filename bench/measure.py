"""One row of the results: what was done, how often, how long it took, and what was promised.

A row is made by pytest-benchmark (``Row.calls``, ``Row.rounds``) or given as samples measured
elsewhere (``Row.samples`` for seconds from another process, ``Row.values`` for bytes and counts).
All take ``id`` (the group of the page, a slash, and the row's own id), ``title``, ``params``, and,
where they are not the usual ones, ``unit`` (ms), ``target`` and ``extra``.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable
from itertools import cycle
from typing import Any

#: what a row carries into the results, through pytest-benchmark's extra_info
RowInfo = dict[str, Any]


class Row:
    """Fixture object; a benchmark calls exactly one of its measuring methods, once."""

    def __init__(self, benchmark: Any) -> None:
        self._benchmark = benchmark

    def calls(
        self,
        function: Callable[..., object],
        arguments: Iterable[tuple[Any, ...]],
        *,
        at_most: int = 2000,
        budget_s: float = 4,
        **info: Any,
    ) -> None:
        """Time single calls over cycling arguments: as many as fit the budget, 5 at the least."""
        supply = cycle(arguments)
        probe = [seconds_of(lambda: function(*next(supply))) for _ in range(3)]
        rounds = max(5, min(at_most, int(budget_s / max(min(probe), 1e-9))))
        self._describe(info)
        settle()
        self._run(function, lambda: (next(supply), {}), rounds)

    def rounds(
        self,
        function: Callable[..., object],
        *,
        rounds: int,
        setup: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]] | None = None,
        **info: Any,
    ) -> None:
        """Time whole operations, each on what ``setup`` prepares."""
        self._describe(info)
        settle()
        self._run(function, setup, rounds)

    def samples(self, seconds: list[float], **info: Any) -> None:
        """Take times that another process measured."""
        self._describe({**info, "samples_s": seconds})
        self._benchmark.pedantic(lambda: None, rounds=1)

    def values(self, values: list[float], **info: Any) -> None:
        """Take quantities that are not times, in their own unit."""
        self._describe({**info, "values": values})
        self._benchmark.pedantic(lambda: None, rounds=1)

    def note(self, **extra: Any) -> None:
        """Add derived figures once the times are known."""
        self._benchmark.extra_info.setdefault("extra", {}).update(extra)

    def times(self) -> list[float]:
        """The seconds measured by the last ``calls`` or ``rounds``."""
        return list(self._benchmark.stats.stats.data)

    def _run(self, function: Callable[..., object], setup: Any, rounds: int) -> None:
        """Measure, and keep the processor time of each call beside pytest-benchmark's wall time.

        On a machine shared with others the difference is the neighbours and the disk.
        """
        cpu: list[float] = []

        def timed(*arguments: Any, **keywords: Any) -> None:
            begin = time.process_time()
            function(*arguments, **keywords)
            cpu.append(time.process_time() - begin)

        self._benchmark.pedantic(timed, setup=setup, rounds=rounds, iterations=1)
        self._benchmark.extra_info["cpu_s"] = statistics.median(cpu[-rounds:])

    def _describe(self, info: RowInfo) -> None:
        extra = self._benchmark.extra_info.setdefault("extra", {})
        extra.update(info.pop("extra", {}))
        group, _, row = info["id"].partition("/")
        self._benchmark.extra_info.update({"unit": "ms", **info, "id": row, "group": group})


def seconds_of(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def settle() -> None:
    """Collect now, and keep the harness's own objects out of collections during the timing."""
    gc.collect()
    gc.freeze()


def at_most(value: float, of: str = "p50") -> dict[str, Any]:
    """A promise: figure ``of`` (a statistic in the row's unit, or an extra) is at most this."""
    return {"of": of, "op": "<=", "value": value}


def at_least(value: float, of: str) -> dict[str, Any]:
    return {"of": of, "op": ">=", "value": value}
