"""What a judge is asked and answers: what a new statement does to an old one, and what it is worth.

The types are shared by everything that judges: the rules, a chat model, a caller's own model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Protocol, get_args, runtime_checkable

from spector.errors import InvalidInputError
from spector.messages import shown
from spector.records.decision import Verdict

__all__ = [
    "RELATIONS",
    "Judge",
    "Judgement",
    "MessageVerdict",
    "PairRelation",
    "PairVerdict",
    "Statement",
]

#: what a new statement does to an old one: says it again, adds to it, makes it wrong, says that it
#: is over, or is about something else
PairRelation = Literal["same", "adds", "changes", "ends", "apart"]
RELATIONS: Final[tuple[PairRelation, ...]] = get_args(PairRelation)
#: how far the sum of probabilities may be from 1: models answer in float32, chat models in percent
_ROUNDING: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Words of one speaker at one time, as a judge sees them."""

    text: str
    #: name of who says it; None for the user of the scope
    speaker: str | None = None
    #: of the message: ``user``, ``assistant``, ``tool``; None where it is not known
    role: str | None = None
    #: when it was said, with a time zone; None where it is not known
    time: datetime | None = None
    #: words of the turn that it answers or corrects; None for none
    before: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """Probabilities (0..1, together 1) of what a new statement does to an old one.

    Raises:
        InvalidInputError: a probability is not a number in 0..1, or their sum is not 1.
    """

    same: float = 0.0
    adds: float = 0.0
    changes: float = 0.0
    ends: float = 0.0
    apart: float = 0.0
    #: what decided, for explanations: the name of a rule or of a model
    rule: str = ""
    #: the judge has read the beginning of a text only
    is_cut: bool = False

    def __post_init__(self) -> None:
        for name in RELATIONS:
            _share(getattr(self, name), name)
        total = sum(self.probabilities().values())
        if abs(total - 1.0) > _ROUNDING:
            raise InvalidInputError(
                f"the probabilities of a PairVerdict add up to {total:.3f}",
                hint="divide each by their sum",
            )

    @classmethod
    def of(
        cls, shares: Mapping[PairRelation, float], *, rule: str = "", is_cut: bool = False
    ) -> PairVerdict:
        """The verdict of weights, each 0..1 and one of them above 0, divided by their sum."""
        for name, weight in shares.items():
            _share(weight, name)
        total = sum(shares.values())
        part = {name: float(shares.get(name, 0.0)) / total for name in RELATIONS} if total else {}
        return cls(
            same=part.get("same", 0.0),
            adds=part.get("adds", 0.0),
            changes=part.get("changes", 0.0),
            ends=part.get("ends", 0.0),
            apart=part.get("apart", 0.0),
            rule=rule,
            is_cut=is_cut,
        )

    @property
    def relation(self) -> PairRelation:
        """The most probable one; of equals that which changes less."""
        return max(_LEAST_CHANGE, key=lambda each: getattr(self, each))

    @property
    def replaced(self) -> float:
        """Probability that the old statement no longer holds: ``changes`` or ``ends``."""
        return min(1.0, float(self.changes + self.ends))

    def probabilities(self) -> dict[PairRelation, float]:
        """Relation -> probability."""
        return {each: float(getattr(self, each)) for each in RELATIONS}


#: relations from that which leaves both as they are to that which hides one
_LEAST_CHANGE: Final[tuple[PairRelation, ...]] = ("apart", "adds", "same", "changes", "ends")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageVerdict:
    """What one message is worth.

    Raises:
        InvalidInputError: a share is not a number in 0..1.
    """

    #: probability that it has something that could be asked for later
    content: float
    #: 0..1, as importance of memories is
    importance: float
    #: ``correction``, ``rule``, ``preference``, ``decision``, ``plan``, ``entity``, ``fact`` or
    #: ``other``
    kind: str = "other"
    #: it states something of its speaker, who is not only asking, quoting or supposing
    states: bool = True
    #: the judge has read the beginning of the text only
    is_cut: bool = False

    def __post_init__(self) -> None:
        _share(self.content, "content")
        _share(self.importance, "importance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What becomes of two statements, and why. ``print`` it."""

    #: what the gate makes of the probabilities under the vetoes
    verdict: Verdict
    probabilities: PairVerdict
    #: reasons of the rules for which the old one is not hidden, whatever the judge says
    vetoes: tuple[str, ...] = ()
    #: why the judge had no say; "" where it had, or there is none beside the rules
    fallback: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        return {
            "verdict": self.verdict,
            "probabilities": self.probabilities.probabilities(),
            "rule": self.probabilities.rule,
            "is_cut": self.probabilities.is_cut,
            "vetoes": list(self.vetoes),
            "fallback": self.fallback,
        }

    def __str__(self) -> str:
        shares = self.probabilities.probabilities().items()
        lines = [self.verdict, ", ".join(f"{name} {share:.2f}" for name, share in shares)]
        if self.vetoes:
            lines.append(f"vetoes: {', '.join(self.vetoes)}")
        if self.fallback:
            lines.append(f"rules in place of the judge: {self.fallback}")
        return "\n".join(lines)


@runtime_checkable
class Judge(Protocol):
    """Says what new statements do to old ones, and what messages are worth.

    One that raises, is late, or answers too little leaves its place to the rules. Vetoes of the
    rules hold after any judge: they lower a verdict, and never raise one.
    """

    def pairs(self, pairs: Sequence[tuple[Statement, Statement]]) -> Sequence[PairVerdict]:
        """Return one verdict for each (old, new), in their order."""
        ...

    def messages(self, messages: Sequence[Statement]) -> Sequence[MessageVerdict]:
        """Return one verdict for each message, in their order."""
        ...


def _share(value: Any, name: str) -> None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, (bool, str, bytes)) or not 0.0 <= number <= 1.0:
        raise InvalidInputError(f"{name} is {shown(value)}", hint="pass a number in 0..1")
