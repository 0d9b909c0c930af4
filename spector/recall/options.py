"""What a recall is asked for rarely: narrow gates, and switches that are no defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from spector.errors import InvalidFilterError, InvalidInputError
from spector.kernel.contract import DEFAULT_DROP_FLAGS, ScoringProfile
from spector.layout import Category, Flag, Modality
from spector.messages import items_of, refuse_unknown, shown
from spector.recall.intent_presets import parse_intent
from spector.search.selection import CUT, SEMANTIC_CUT
from spector.search.view import parse_switch, several

__all__ = [
    "COMMON", "RareArguments", "RecallArguments", "RecallOptions", "cut_of", "newness_of",
    "options_of", "parse_cut", "parse_include", "parse_mask", "parse_min_importance", "parse_mmr",
    "parse_mood", "parse_per_session", "parse_valence", "refuse_strange",
]  # fmt: skip

Several = str | Iterable[str]

_INCLUDABLE: Final = {
    "dormant": Flag.DORMANT, "superseded": Flag.SUPERSEDED, "quarantined": Flag.QUARANTINED,
}
#: weights of relevance where newness counts as well: the first is the research's (shared design,
#: recall.md 3.2), the second a choice that nobody has measured
_COVERAGE: Final = 0.8
_SURVEY: Final = 0.5
#: the arguments of ``Memory.recall`` that are not in `RecallOptions`, for its messages
COMMON: Final = (
    "cue", "vector", "k", "tiers", "tags", "any_tags", "time_range", "where", "user_id",
    "agent_id", "session_id", "as_of", "kind", "profile", "selective", "learn", "options",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallOptions:
    """The rarer arguments of :meth:`Memory.recall`, checked once and used as often as you like.

    >>> calm = RecallOptions(valence=(0.0, 1.0), per_session=2)
    >>> memory.recall("our trip", options=calm)             # doctest: +SKIP
    >>> memory.recall("our trip", options=calm, mmr=0.7)    # doctest: +SKIP

    Attributes:
        valence: inclusive range in -1..1 that a hit's valence must be in.
        min_importance: 0..1, what a hit must have at least; pinned memories pass.
        categories, modalities: names; a hit must be of one of them.
        include: also "dormant", "superseded" or "quarantined" memories; ``hit.record`` says which
            they are, and its ``superseded_by`` what took their place.
        mood: -1..1; memories of the same sign of valence rank slightly higher.
        exact: look at every surviving vector. Otherwise memories whose estimated cosine, with
            ``Config.recall_confidence`` standard errors added, cannot reach the answer are passed
            over; scores are exact either way.
        lexical: rank by all evidence, of words, people, dates and the turns around; False ranks by
            the scan's score alone.
        compound: also recall the parts of a cue that asks for several things, or about several
            people, and merge the answers; an embedding each.
        hyde: look for the mean of the cue and of two or three sentences that an answer may be
            like, made from templates; an embedding each.
        intent: what the cue wants to know, "auto" for what its wording tells: factual, temporal,
            causal, entity_profile, preference, procedural or general; the parameters that the
            design gives it apply (docs/cues.md).
        mmr: 0..1, maximal marginal relevance: the next hit is the best by this weight of its score
            and the rest of how little it resembles those before it. 0.7 is usual.
        coverage: hits that cover the topic between them: the next one is chosen for what is new in
            it as well, as with ``mmr=0.8``, which it is short for. For timelines and summaries.
        per_session: at most so many hits of one session.
        cut: 0..1, the share of the best score that a hit of the semantic tier must have, where the
            cue has words and a vector; what the cue names stays. 0 returns all k. In a context and
            with ``selective`` 0.6 is usual, and hits of every tier must have it.

    Raises:
        InvalidInputError, InvalidFilterError: naming the option and what it takes.
    """

    valence: tuple[float, float] | None = None
    min_importance: float | None = None
    categories: Several | None = None
    modalities: Several | None = None
    include: Several = ()
    mood: float | None = None
    exact: bool = False
    lexical: bool = True
    compound: bool = False
    hyde: bool = False
    intent: str | None = None
    mmr: float | None = None
    coverage: bool = False
    per_session: int | None = None
    cut: float = SEMANTIC_CUT

    def __post_init__(self) -> None:
        for name in ("valence", "categories", "modalities", "include"):
            given = getattr(self, name)
            if name == "valence" and isinstance(given, (Mapping, Set)):
                continue  # has no order, and is refused
            if not isinstance(given, (str, tuple)) and isinstance(given, Iterable):
                # may be read once only
                object.__setattr__(self, name, tuple(items_of(given, name)))
        parse_valence(self.valence)
        parse_min_importance(self.min_importance)
        parse_mask(Category, self.categories, "category")
        parse_mask(Modality, self.modalities, "modality")
        parse_include(self.include)
        parse_mood(self.mood)
        for name in ("exact", "lexical", "compound", "hyde", "coverage"):
            parse_switch(getattr(self, name), name)
        parse_intent(self.intent, None)
        parse_mmr(self.mmr)
        parse_per_session(self.per_session)
        parse_cut(self.cut)


class RareArguments(TypedDict, total=False):
    """`RecallOptions` as keywords of a call."""

    valence: tuple[float, float] | None
    min_importance: float | None
    categories: Several | None
    modalities: Several | None
    include: Several
    mood: float | None
    exact: bool
    lexical: bool
    compound: bool
    hyde: bool
    intent: str | None
    mmr: float | None
    coverage: bool
    per_session: int | None
    cut: float


class RecallArguments(RareArguments, total=False):
    """What a context hands on to the recall that it is made of."""

    vector: ArrayLike | None
    tiers: str | Iterable[str] | None
    tags: Iterable[str] | None
    any_tags: Iterable[str] | None
    time_range: tuple[datetime | str | None, datetime | str | None] | None
    where: Any
    user_id: str | None
    agent_id: str | None
    session_id: str | None
    as_of: datetime | str | None
    kind: str | None
    profile: str | ScoringProfile | None
    options: RecallOptions | None


_OF_CONTEXT: Final = ("max_tokens", "tokenizer", "always", "layout", "ids")
_NAMES: Final = tuple(field.name for field in fields(RecallOptions))


def options_of(options: RecallOptions | None, rare: RareArguments) -> RecallOptions:
    """The options of one call: what is given by keyword goes before what ``options`` says.

    Raises:
        UnknownArgumentError: a keyword that recall does not have.
        InvalidInputError: ``options`` of another type.
    """
    if options is None and not rare:
        return _USUAL
    if options is not None and not isinstance(options, RecallOptions):
        raise InvalidInputError(
            f"options is of type {type(options).__name__}",
            hint="pass spector.RecallOptions(...), or its fields as keywords",
        )
    refuse_unknown(rare, (*COMMON, *_NAMES), "recall")
    return replace(options, **rare) if options is not None else RecallOptions(**rare)


def cut_of(options: RecallOptions | None, named: RareArguments) -> float:
    """The cut of a context or a selective recall: by keyword, in the options, else `CUT`."""
    told = options.cut if isinstance(options, RecallOptions) else SEMANTIC_CUT
    return parse_cut(named.get("cut", CUT if told == SEMANTIC_CUT else told))


def refuse_strange(recall: RecallArguments) -> None:
    """Raise when a context was given what the recall it is made of does not take from it.

    Raises:
        UnknownArgumentError: naming it, and the nearest one that there is.
        InvalidInputError: it is ``selective``.
    """
    if "selective" in recall:
        raise InvalidInputError(
            "a context does not take selective: it chooses by itself",
            hint="leave it out; always=True quotes the best ones even when none stands out",
        )
    refuse_unknown(recall, (*_OF_CONTEXT, *COMMON, *_NAMES), "context")


def _is_number(value: Any) -> bool:
    """Python's and NumPy's numbers; True and False are none."""
    numbers = (int, float, np.floating, np.integer)
    return isinstance(value, numbers) and not isinstance(value, bool)


def _no_pair() -> InvalidFilterError:
    return InvalidFilterError(
        "valence must be a pair (min, max) of numbers in -1..1",
        hint="(0.2, 1) asks for pleasant memories",
    )


def parse_valence(valence: Any) -> tuple[int, int]:
    """Inclusive range of stored valences from a pair of numbers in -1..1.

    The ends are rounded as a memory's own valence is, so a range that begins or ends with the very
    number that was remembered includes it.
    """
    if valence is None:
        return -128, 127
    if isinstance(valence, (str, bytes, Mapping, Set)):  # of two, but no numbers in an order
        raise _no_pair()
    try:
        given = tuple(valence)
    except TypeError:
        raise _no_pair() from None
    if len(given) != 2 or not all(_is_number(value) for value in given):
        raise _no_pair()
    low, high = given
    if not -1.0 <= low <= high <= 1.0:
        raise InvalidFilterError(
            f"valence range ({low}, {high}) is not within -1..1 in order",
            hint="(0.2, 1) asks for pleasant memories",
        )
    return (-128 if low == -1.0 else round(float(low) * 127)), round(float(high) * 127)


def parse_min_importance(value: Any) -> float:
    """The least importance of a hit, 0..1."""
    if value is None:
        return 0.0
    if not _is_number(value) or not 0 <= value <= 1:
        raise InvalidInputError(
            f"min_importance must be a number in 0..1, got {shown(value)}",
            hint="0.8 keeps to what matters most; leave it out for all",
        )
    return float(value)


def parse_mask(kind: type[Category] | type[Modality], values: Any, name: str) -> int:
    """Bit mask of enum members given by name or value; 0 for no restriction."""
    if values is None:
        return 0
    mask = 0
    known = ", ".join(member.lower() for member in kind.__members__)
    for value in several(values, name, f"one or several of: {known}"):
        text = value.upper() if isinstance(value, str) else value
        whole = isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)
        found = [
            member for key, member in kind.__members__.items() if whole and text in (key, member)
        ]
        if not found:
            raise InvalidFilterError(f"unknown {name} {shown(value)}", hint=f"one of: {known}")
        mask |= 1 << int(found[0])
    return mask


def parse_include(include: Iterable[str]) -> int:
    """Flags that drop a record, without those that the caller wants to see."""
    drop = DEFAULT_DROP_FLAGS
    if type(include) is tuple and not include:
        return drop
    known = ", ".join(_INCLUDABLE)
    for name in several(include, "include", f"one or several of: {known}"):
        if not isinstance(name, str) or name not in _INCLUDABLE:
            raise InvalidFilterError(f"cannot include {shown(name)}", hint=f"one of: {known}")
        drop &= ~int(_INCLUDABLE[name])
    return drop


def parse_mood(mood: Any) -> int:
    """Stored valence of a mood in -1..1."""
    if mood is None:
        return 0
    if not _is_number(mood) or not -1 <= mood <= 1:
        raise InvalidInputError(
            f"mood must be a number in -1..1, got {shown(mood)}", hint="-1 is gloomy, 1 is elated"
        )
    return round(127 * float(mood))


def parse_mmr(value: Any) -> float | None:
    """The weight of relevance, 0..1."""
    if value is None:
        return None
    if not _is_number(value) or not 0 <= value <= 1:
        raise InvalidInputError(
            f"mmr must be a number in 0..1, got {shown(value)}",
            hint="0.7 is usual; 1 ranks by score alone, less favours what is new",
        )
    return float(value)


def newness_of(options: RecallOptions, *, is_survey: bool) -> float | None:
    """The weight of relevance against newness that a recall is to have; None for relevance alone.

    What ``mmr`` says goes first. A survey has no relevance to lose, and shows different memories.
    """
    if options.mmr is not None:
        return parse_mmr(options.mmr)
    if is_survey:
        return _SURVEY
    return _COVERAGE if options.coverage else None


def parse_per_session(value: Any) -> int | None:
    """How many hits one session may have."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidInputError(
            f"per_session must be a positive integer, got {shown(value)}",
            hint="1 returns the best of each session; leave it out for any number",
        )
    return int(value)


def parse_cut(value: Any) -> float:
    """The share of the best score that a hit must have, 0..1."""
    if not _is_number(value) or not 0 <= value <= 1:
        raise InvalidInputError(
            f"cut must be a number in 0..1, got {shown(value)}",
            hint=f"{SEMANTIC_CUT:g} is usual; 0 leaves nothing out",
        )
    return float(value)


_USUAL: Final = RecallOptions()
