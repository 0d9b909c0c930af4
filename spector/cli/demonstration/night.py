"""The last step: a night months later, what it changed, and that it can be taken back."""

from __future__ import annotations

from spector.cli.demonstration.stage import Stage
from spector.cli.output import clean

__all__ = ["NightSteps"]

#: dull memories, and when the night comes
_DULL = ("Noted, the printer hums.", "Good to know about the lift music.")
_LATER_DAYS = 120


class NightSteps(Stage):
    """One night of sleep with its report."""

    def _night(self) -> None:
        memory = self._open_memory
        with self._step("Four months later, a night", "print(memory.reflect())") as timed:
            dull = [memory.remember(text, importance=0.1, role="assistant").id for text in _DULL]
            self._clock.advance(days=_LATER_DAYS)
            before = {each.id for each in memory}
            with timed():
                night = memory.reflect()
            for line in str(night).splitlines():
                self._show(line)
            asleep = [each for each in memory.records(include=["dormant"]) if each.dormant]
            for each in asleep[:5]:
                self._show(f"asleep: {clean(each.text)[: self._console.width - 14]}")
            self._claim(
                "what is dull fell asleep, and no memory was lost",
                set(dull) <= {each.id for each in asleep} and before <= {e.id for e in memory},
            )
            with timed():
                memory.reflect_undo(night.cycle)
            self._claim(
                "taken back, the night has put nothing to sleep",
                not any(memory.get(each).dormant for each in dull),
            )
