"""Sleep cycles of one memory, each a call that closing waits for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from spector.clock import Clock
from spector.config import Config
from spector.process import Calls, verb
from spector.records import CompactionReport, ReflectReport
from spector.sleep.cycle import reflect_once
from spector.tiers import TierRouter

__all__ = ["Sleeper"]


class Sleeper:
    """Runs cycles for `Memory.reflect` and for the daemon.

    Args:
        ensure: raises when the stores cannot be written.
        empty_caches: called with what a cycle has erased from the files.
    """

    def __init__(
        self, calls: Calls, router: TierRouter, config: Config, clock: Clock, *,
        ensure: Callable[..., None],
        empty_caches: Callable[[CompactionReport], CompactionReport],
    ) -> None:
        self._calls = calls
        self._router = router
        self._config = config
        self._clock = clock
        self._ensure = ensure
        self._empty_caches = empty_caches

    @verb
    def reflect(self) -> ReflectReport:
        """One cycle; see ``Memory.reflect``."""
        self._ensure(write=True)
        report = reflect_once(self._router, now_ms=self._clock.now_ms(), config=self._config)
        return replace(report, compaction=self._empty_caches(report.compaction))
