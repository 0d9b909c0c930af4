"""What became of observed messages, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from spector.cli.output import Console
from spector.messages import counted

if TYPE_CHECKING:
    from spector import ObserveResult

__all__ = ["Tally"]

#: what became of a message -> how the summary says it
_SAID: Final = {
    "created": "stored",
    "superseded": "replaced earlier ones",
    "contradicted": "contradict earlier ones",
    "elaborated": "add to earlier ones",
    "reinforced": "repeated what was known",
}
_CREATED: Final = {"contradicts": "contradicted", "elaborates": "elaborated"}


class Tally:
    """What became of messages, counted."""

    def __init__(self) -> None:
        self.messages = 0
        self.kept: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.flashbulbs = 0

    def add(self, results: Iterable[ObserveResult]) -> None:
        """Count more results."""
        for result in results:
            self.messages += 1
            if not result.units or all(each.action == "skip" for each in result.units):
                self.dropped[result.filter or result.reason or "importance"] += 1
            for unit in result.units:
                self.flashbulbs += unit.flashbulb
                if unit.action == "supersede":
                    self.kept["superseded"] += 1
                elif unit.action == "reinforce":
                    self.kept["reinforced"] += 1
                elif unit.action == "create":
                    self.kept[_CREATED.get(unit.relation or "", "created")] += 1

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        return {
            "messages": self.messages,
            **{name: self.kept[name] for name in _SAID},
            "flashbulbs": self.flashbulbs,
            "dropped": dict(self.dropped.most_common()),
        }

    def say(self, console: Console, *, dry_run: bool = False) -> None:
        """Print the summary."""
        would = "would be " if dry_run else ""
        console.say(f"{would}observed: {counted(self.messages, 'message')}")
        for name, said in _SAID.items():
            if self.kept[name]:
                console.say(f"  {self.kept[name]:>7,} {said}")
        if self.flashbulbs:
            console.say(f"  {self.flashbulbs:>7,} of them vivid, and pinned")
        if self.dropped:
            console.say(f"  {sum(self.dropped.values()):>7,} left out:")
            for name, count in self.dropped.most_common():
                console.say(f"  {count:>11,} {name.replace('_', ' ')}")
