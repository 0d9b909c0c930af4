"""What a judge answers, and what observing a message decided: each stage, with its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Final, Literal, Protocol, get_args, runtime_checkable

from spector.errors import InvalidInputError
from spector.messages import shown
from spector.records.details import AsJson, Note
from spector.records.knowledge import Edge
from spector.records.memory import MemoryRecord, Verdict, shortened

# What a judge is asked and answers: what a new statement does to an old one, and what it is worth.
#
# The types are shared by everything that judges: the rules, a chat model, a caller's own model.

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


#: characters before the words of a stage
_MARGIN = 12
#: filter -> what keeps a message that it stops
_HELP: Final = {
    "thin": " (it says too little; remember keeps it, or force=True)",
}


@dataclass(frozen=True, slots=True)
class Emotion(AsJson):
    """How a message feels, and the words that say so."""

    #: -1..1: from unpleasant to pleasant
    valence: float = 0.0
    #: 0..1: from calm to excited
    arousal: float = 0.0
    #: joy, anger, fear, sadness, surprise or disgust; None without a sign of any
    category: str | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference(AsJson):
    """A word that stands for a name, and the names that it may stand for."""

    word: str
    #: where the word begins in the message
    start: int
    #: (name, score), the best first
    candidates: tuple[tuple[str, float], ...] = ()
    #: the name that was sure enough to be annotated
    chosen: str | None = None


@dataclass(frozen=True, slots=True)
class Importance(AsJson):
    """The channels that make up how much something matters."""

    #: how unlike everything that is known, 0..1
    novelty: float = 0.0
    #: how exciting or alarming, 0..1
    arousal: float = 0.0
    #: how useful memories of its class and its neighbours are, 0..1
    reward: float = 0.0
    #: how close to what is being talked about, 0..1
    attention: float = 0.5
    #: factor of the weighted sum
    boost: float = 1.0
    #: the importance, 0..1
    composite: float = 0.0
    #: critical, high, normal or low
    priority: str = "low"

    def __str__(self) -> str:
        return (
            f"{self.composite:.3f}, {self.priority} (novelty {self.novelty:.2f}, "
            f"arousal {self.arousal:.2f}, reward {self.reward:.2f}, "
            f"attention {self.attention:.2f}; boost {self.boost:.2f})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedUnit(AsJson):
    """One statement of a message that may become a memory, and what became of it."""

    _OF_RECORD: ClassVar[tuple[str, ...]] = ("id",)

    #: with annotations, as it is kept
    text: str
    #: without them, as it was said
    said: str
    #: ``create``, ``update``, ``supersede``, ``reinforce`` or ``skip``
    action: str
    #: ``elaborates`` or ``contradicts``: created, with this edge to ``nearest``
    relation: str | None = None
    #: the memory that was made or strengthened; None after a skip and in a dry run
    record: MemoryRecord | None = None
    #: greatest cosine to a memory that is known
    likeness: float | None = None
    #: id of the memory that decided
    nearest: int | None = None
    #: the rule of the gate that decided
    rule: str = ""
    #: ``same``, ``adds``, ``may change``, ``changes``, ``ends`` or ``apart``, and how sure, 0..1
    verdict: str = "apart"
    confidence: float | None = None
    references: tuple[Reference, ...] = ()
    notes: tuple[Note, ...] = ()
    importance: Importance = field(default_factory=Importance)
    #: ids of the facts that it states
    facts: tuple[int, ...] = ()
    edges: tuple[Edge, ...] = ()
    #: ids of the memories and facts that it took the place of
    superseded: tuple[int, ...] = ()
    #: weak enough to be strengthened by an important memory that follows in the session
    tagged: bool = False
    flashbulb: bool = False
    valid_until: datetime | None = None
    entities: tuple[str, ...] = ()

    def stages(self) -> Iterator[tuple[str, str]]:
        """Name and outcome of each stage that this unit went through."""
        yield "formation", _formation(self)
        if self.record is not None and self.record.turn_before[0]:
            yield self.record.turn_before
        yield "gate", _gate(self)
        yield "importance", str(self.importance)
        if self.flashbulb:
            yield "flashbulb", "pinned, kept as vividly as it was told"
        if self.valid_until is not None:
            yield "ends", f"{self.valid_until:%Y-%m-%d %H:%M}"
        if self.tagged:
            yield "tag", "weak; an important memory of this session would strengthen it"
        if self.edges:
            yield "relations", ", ".join(f"{each.kind} {_other(each, self)}" for each in self.edges)
        if self.facts:
            yield "facts", ", ".join(map(str, self.facts))
        if self.record is not None:
            yield "memory", f"{self.record.id}: {shortened(self.record.text)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMUsage(AsJson):
    """What asking a chat model about a message cost."""

    calls: int = 0
    #: of prompts and answers, as :meth:`Memory.context` estimates them without a tokenizer
    tokens_in: int = 0
    tokens_out: int = 0
    #: from the question to the answer, or to the end of patience
    ms: float = 0.0
    #: its name; "" where none was asked
    model: str = ""
    #: why rules decided what its answer should have; "" where it did
    fallback: str = ""

    def __str__(self) -> str:
        cost = f"{self.calls} call, {self.tokens_in} + {self.tokens_out} tokens, {self.ms:.0f} ms"
        why = f"; rules in its place: {self.fallback}" if self.fallback else ""
        return f"{self.model}: {cost}{why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveResult(AsJson):
    """What observing one message decided, stage by stage. True when something was stored."""

    entry_id: str
    stored: bool
    #: why nothing was stored, "" otherwise
    reason: str = ""
    #: name of the filter that stopped the message
    filter: str | None = None
    #: fact, preference, decision, correction, plan, rule, entity, other; or smalltalk, question,
    #: request, code, injection
    kind: str = "other"
    #: name of the category of its memories
    category: str = "other"
    #: why it may be worth nothing, so that it is kept with an importance of 0.1 only
    doubt: str = ""
    #: False where its speaker does not mean what it says: it states no fact and changes nothing
    states: bool = True
    class_confidence: float = 0.0
    entities: tuple[str, ...] = ()
    emotion: Emotion = field(default_factory=Emotion)
    units: tuple[ObservedUnit, ...] = ()
    #: ids of weak memories that this message strengthened
    captured: tuple[int, ...] = ()
    #: tasks for which a model failed, so that the rules decided
    fallbacks: tuple[str, ...] = ()
    #: what the chat model was asked, if there is one
    llm: LLMUsage = field(default_factory=LLMUsage)
    elapsed_ms: float = 0.0
    dry_run: bool = False

    @property
    def records(self) -> tuple[MemoryRecord, ...]:
        """The memories that were made or strengthened, each once."""
        found = {each.record.id: each.record for each in self.units if each.record is not None}
        return tuple(found.values())

    def __bool__(self) -> bool:
        return self.stored

    def __str__(self) -> str:
        lines = [self._summary()]
        lines += [_line(name, said) for name, said in self._stages()]
        for number, unit in enumerate(self.units, 1):
            if len(self.units) > 1:
                lines.append(f"  unit {number}: {shortened(unit.said)}")
            lines += [_line(name, said) for name, said in unit.stages()]
        if self.captured:
            lines.append(_line("captured", ", ".join(map(str, self.captured))))
        if self.llm.model:
            lines.append(_line("llm", str(self.llm)))
        if self.fallbacks:
            lines.append(_line("fallbacks", ", ".join(self.fallbacks)))
        return "\n".join(lines)

    def _summary(self) -> str:
        if not self.units:
            return f"nothing stored: {self.reason or 'nothing to store'}"
        done = ", ".join(each.action for each in self.units)
        would = "would " if self.dry_run else ""
        if not self.stored and not self.dry_run:
            return f"nothing stored: {self.reason} ({done})"
        return f"{would}{done}"

    def _stages(self) -> Iterator[tuple[str, str]]:
        yield (
            "filters",
            "passed"
            if self.filter is None
            else (f"stopped by {self.filter}{_HELP.get(self.filter, '')}"),
        )
        if self.filter is None or self.class_confidence:
            sure = f" ({self.class_confidence:.2f})" if self.class_confidence else ""
            yield "class", f"{self.kind}{sure}, category {self.category}"
        if self.entities:
            yield "entities", ", ".join(self.entities)
        if self.doubt:
            yield "doubtful", f"{self.doubt}; kept with little importance, which sleep forgets"
        if not self.states:
            yield "not meant", "in jest, taken back, an example or others' words; it states no fact"
        if self.units or self.emotion.category is not None:
            felt = self.emotion
            feeling = "" if felt.category is None else f", {felt.category}"
            yield "emotion", f"valence {felt.valence:+.2f}, arousal {felt.arousal:.2f}{feeling}"


def _line(name: str, said: str) -> str:
    return f"    {name:<{_MARGIN}}{said}"


def _formation(unit: ObservedUnit) -> str:
    notes = ", ".join(f"[{each.value}]" for each in unit.notes)
    open_words = [each.word for each in unit.references if each.chosen is None]
    said = f"notes {notes}" if notes else "as said"
    return f"{said}; left open: {', '.join(open_words)}" if open_words else said


def _gate(unit: ObservedUnit) -> str:
    like = ""
    if unit.likeness is not None and unit.nearest is not None:
        like = f", likeness {unit.likeness:.2f} to {unit.nearest}"
    named = "" if unit.relation is None else f", {unit.relation}"
    gone = f" of {', '.join(map(str, unit.superseded))}" if unit.superseded else ""
    return f"{unit.action}{gone}{named} ({unit.verdict}) by rule {unit.rule or 'none'}{like}"


def _other(edge: Edge, unit: ObservedUnit) -> int:
    own = None if unit.record is None else unit.record.id
    return edge.target if edge.source == own else edge.source
