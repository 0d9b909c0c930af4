"""What a cycle of sleep reports: each step, and each change that a dry run proposes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["Proposal", "StepReport"]

#: how an action reads after "would", where its name is no verb
_VERBS: Final = {
    "retired": "put to rest",
    "tier": "move to another tier",
    "consolidated": "gather",
    "rehearsed": "rehearse",
    "woken": "wake",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """What one step of a cycle looked at and changed."""

    name: str
    #: memories that it looked at
    seen: int = 0
    #: memories that it changed or made
    changed: int = 0
    #: the first 1,000 of them
    ids: tuple[int, ...] = ()
    #: memories that were spared, and work that waits, by reason
    skipped: Mapping[str, int] = field(default_factory=dict)
    #: memories that it has put to rest, by the rule that named them
    rules: Mapping[str, int] = field(default_factory=dict)
    #: a model was to help and did not; rules did the work
    fallback: bool = False
    elapsed_ms: float = 0.0

    @property
    def did_something(self) -> bool:
        """Whether it saw, changed or spared any memory."""
        return bool(self.seen or self.changed or any(self.skipped.values()))

    @property
    def spared(self) -> str:
        """What was spared, and why: "4 protected or dormant"."""
        return ", ".join(f"{count} {why}" for why, count in self.skipped.items() if count)

    @property
    def ruled(self) -> str:
        """What was put to rest, by which rule: "2 faded, 1 useless"."""
        return ", ".join(f"{count} {rule}" for rule, count in self.rules.items())

    def __str__(self) -> str:
        return (
            f"{self.name:<12} {self.seen} seen, {self.changed} changed"
            + (f" ({self.ruled})" if self.rules else "")
            + (f"; {self.spared}" if self.spared else "")
            + (" (without the model)" if self.fallback else "")
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "name": self.name,
            "seen": self.seen,
            "changed": self.changed,
            "ids": list(self.ids),
            "skipped": dict(self.skipped),
            "rules": dict(self.rules),
            "fallback": self.fallback,
            "elapsed_ms": round(self.elapsed_ms, 3),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One change that a dry run would make, and why."""

    step: str
    action: str
    ids: tuple[int, ...] = ()
    reason: str = ""
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_of_strength(self) -> bool:
        """Whether only strengths change: nearly every memory of a night has such a proposal."""
        return self.action in ("strength", "rehearsed")

    def __str__(self) -> str:
        named = ", ".join(map(str, self.ids)) or str(self.after.get("text", ""))
        verb = _VERBS.get(self.action, self.action)
        return f"would {verb} ({self.step}): {named}; {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "step": self.step,
            "action": self.action,
            "ids": list(self.ids),
            "reason": self.reason,
            "before": dict(self.before),
            "after": dict(self.after),
        }
