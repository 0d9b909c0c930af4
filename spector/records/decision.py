"""What the prediction-error gate decided about a new memory, by which rule, with which numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Action", "Decision", "Relation", "Verdict"]

Action = Literal["create", "update", "supersede", "reinforce", "skip"]
Relation = Literal["elaborates", "contradicts"]
#: what a new memory does to an old one, from nothing new to nothing in common
Verdict = Literal["same", "adds", "may change", "changes", "ends", "apart"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The action for one new memory, and what it does to those that exist."""

    #: ``update`` makes ``merged`` of ``nearest``
    action: Action = "create"
    #: ``elaborates`` or ``contradicts``: create, with this edge to ``nearest``
    relation: Relation | None = None
    #: the memory that decided, or else the most alike one
    nearest: int | None = None
    #: greatest cosine to a candidate, -1..1; None without vectors
    likeness: float | None = None
    #: ``same words``, ``value``, ``polarity``, ``said``, ``nothing new``, ``detail``, ``band``,
    #: ``change`` or ``new``
    rule: str = "new"
    #: only ``changes`` and ``ends`` supersede; ``may change`` sets an order and hides nothing
    verdict: Verdict = "apart"
    #: of the verdict, 0..1, where it is about an older memory
    confidence: float | None = None
    #: memories that the new one takes the place of
    superseded: tuple[int, ...] = ()
    #: memories that are kept beside it, tied by ``contradicts``
    contradicted: tuple[int, ...] = ()
    #: older memories that it may have changed: kept, and recalled right behind it
    may_change: tuple[int, ...] = ()
    #: the memory that is strengthened instead of a new one
    reinforced: int | None = None
    #: the text of ``nearest`` after an update
    merged: str | None = None
    #: why nothing is stored, or why a contradiction does not supersede
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        return {
            name: list(value) if isinstance(value := getattr(self, name), tuple) else value
            for name in self.__slots__
        }

    def __str__(self) -> str:
        parts: list[str] = [self.action, f"({self.verdict})"]
        if self.superseded:
            parts.append(f"of {', '.join(map(str, self.superseded))}")
        if self.relation:
            parts.append(f"which {self.relation} {self.nearest}")
        parts.append(f"by rule {self.rule!r}")
        if self.confidence is not None:
            parts.append(f"with confidence {self.confidence:.2f}")
        if self.likeness is not None:
            parts.append(f"at likeness {self.likeness:.2f}")
        return " ".join(parts) + (f": {self.reason}" if self.reason else "")
