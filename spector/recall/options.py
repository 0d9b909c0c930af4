"""The arguments of a recall and of a context, each checked once; one list has the rarer ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import Any, Final, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from spector.arguments import (
    id_of,
    parse_choice,
    parse_include,
    parse_integer,
    parse_label,
    parse_number,
    parse_sorts,
    parse_switch,
    several,
)
from spector.chat import chat_message
from spector.clock import MIN_MS, zone_named
from spector.config import LAYOUTS, Config, Layout
from spector.errors import InvalidFilterError, InvalidInputError, InvalidTextError
from spector.kernel.contract import ScoringProfile
from spector.language.cues import (
    Intent,
    Kind,
    Topic,
    asks_for_now,
    asks_when,
    kind_of,
    shorten_cue,
    topic_of,
)
from spector.language.dates import Span, hull, time_range_in, window_of
from spector.layout import Category, Flag, Modality
from spector.messages import items_of, reading, refuse_unknown, shown
from spector.records import Percept
from spector.search import CUT, NO_READING, SEMANTIC_CUT, Asked, Reading

Several = str | Iterable[str]


_MODES: Final = ("semantic", "structured", "hybrid", "graph", "temporal")
#: what scores may lie between: they are f32
_SCORES: Final = (-3.4e38, 3.4e38)
#: weights of relevance where diversity counts as well; the second has not been measured
_COVERAGE: Final = 0.8
_SURVEY: Final = 0.5
#: the arguments of ``Memory.recall`` that are not in `RecallOptions`, for its messages
COMMON: Final = tuple(
    """cue vector k tiers tags any_tags time_range where namespace below user_id agent_id session_id
    as_of kind profile selective learn options""".split()
)


def parse_intent(intent: Any, _: str = "") -> Intent | Literal["auto"] | None:
    """An intent, or "auto" for the one that the cue's wording shows.

    Raises:
        InvalidInputError: there is no such intent.
    """
    if intent is None:
        return None
    if isinstance(intent, str):
        if intent == "auto":
            return "auto"
        with contextlib.suppress(ValueError):
            return Intent(intent)
    raise InvalidInputError(
        f"intent must be None, 'auto' or an intent, got {shown(intent)}",
        hint="one of: " + ", ".join(Intent),
    )


def parse_valence(valence: Any, _: str = "") -> tuple[int, int]:
    """Inclusive range of stored valences from a pair of numbers in -1..1.

    The ends are rounded like a memory's valence, so a range that begins or ends with the remembered
    number includes it.
    """
    if valence is None:
        return -128, 127
    if isinstance(valence, (str, bytes, Mapping, Set)):  # may have two items, but not in order
        raise _not_a_pair()
    try:
        given = tuple(valence)
    except TypeError:
        raise _not_a_pair() from None
    if len(given) != 2 or not all(map(_is_number, given)):
        raise _not_a_pair()
    low, high = given
    if not -1.0 <= low <= high <= 1.0:
        raise InvalidFilterError(
            f"valence range ({low}, {high}) is not within -1..1 in order",
            hint="(0.2, 1) asks for pleasant memories",
        )
    return (-128 if low == -1.0 else round(float(low) * 127)), round(float(high) * 127)


def _is_number(value: Any) -> bool:
    """Whether a value is a number of Python or NumPy; booleans are not."""
    numbers = (int, float, np.floating, np.integer)
    return isinstance(value, numbers) and not isinstance(value, bool)


def _not_a_pair() -> InvalidFilterError:
    return InvalidFilterError(
        "valence must be a pair (min, max) of numbers in -1..1",
        hint="(0.2, 1) asks for pleasant memories",
    )


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


def parse_mood(mood: Any, _: str = "") -> int:
    """Stored valence, -127..127, of a mood in -1..1; 0 for None."""
    if mood is None:
        return 0
    return round(127 * parse_number(mood, "mood", -1.0, 1.0, "-1 is gloomy, 1 is elated"))


def _or_none(
    parse: Callable[..., Any], *limits: Any, usual: Any = None
) -> Callable[[Any, str], Any]:
    """A check of a value by its name that lets None pass, as ``usual``."""
    return lambda value, name: usual if value is None else parse(value, name, *limits)


def _parse_cut(value: Any, name: str = "cut") -> float:
    """The share of the best score that a hit must have, 0..1."""
    advice = f"{SEMANTIC_CUT:g} is usual, 0 leaves nothing out"
    return parse_number(value, name, 0.0, 1.0, advice)


#: option -> the field of `Asked` that it is, and its check, which gets its value and its name; in
#: the order in which they are checked
_CHECKS: Final[dict[str, tuple[str, Callable[[Any, str], Any]]]] = {
    "include": ("drop_flags", lambda value, _: parse_include(value)),
    "sorts": ("sorts", lambda value, _: parse_sorts(value)),
    "valence": ("valence", parse_valence),
    "min_importance": (
        "min_importance",
        _or_none(parse_number, 0.0, 1.0, "0.8 keeps to what matters most", usual=0.0),
    ),
    "categories": ("category_mask", lambda value, _: parse_mask(Category, value, "category")),
    "modalities": ("modality_mask", lambda value, _: parse_mask(Modality, value, "modality")),
    "mood": ("mood", parse_mood),
    "exact": ("exact", parse_switch),
    "lexical": ("lexical", parse_switch),
    "compound": ("compound", parse_switch),
    "hyde": ("hyde", parse_switch),
    "intent": ("intent", parse_intent),
    "mmr": ("mmr", _or_none(parse_number, 0.0, 1.0, "0.7 is usual")),
    "coverage": ("coverage", parse_switch),
    "per_session": ("per_session", _or_none(parse_integer, 1)),
    "cut": ("cut", _parse_cut),
    "min_score": ("min_score", _or_none(parse_number, *_SCORES)),
    "associate": ("associate", _or_none(parse_switch)),
    "expand": ("expand", _or_none(parse_switch)),
    "mode": ("mode", _or_none(parse_choice, *_MODES)),
    "seed": ("seed", _or_none(lambda value, name: parse_integer(id_of(value), name, 0))),
    "near_session": ("near_session", _or_none(parse_label)),
    "dormant_hint": ("dormant_hint", parse_switch),
    "timezone": ("zone", _or_none(lambda value, _: zone_named(value))),
}


@dataclass(frozen=True, kw_only=True)
class RecallOptions:
    """The rarer arguments of :meth:`Memory.recall`, checked once for any number of calls.

    >>> calm = RecallOptions(valence=(0.0, 1.0), per_session=2)
    >>> memory.recall("our trip", options=calm)             # doctest: +SKIP
    >>> memory.recall("our trip", options=calm, mmr=0.7)    # doctest: +SKIP

    Attributes:
        valence: inclusive range in -1..1 for the valence of a hit.
        min_importance: 0..1, least importance of a hit; pinned memories pass.
        categories, modalities: names; a hit must be of one of them.
        include: also "dormant", "superseded" or "quarantined" memories, or what is
            "derived" from others; ``hit.record`` says which they are, and its ``superseded_by``
            what replaced them.
        mood: -1..1; memories with the same sign of valence rank slightly higher.
        exact: compare every vector that passes the filters. Otherwise memories are skipped whose
            estimated cosine, with ``Config.recall_confidence`` standard errors added, cannot reach
            the answer; scores are exact either way.
        lexical: rank by all evidence: words, people, dates, neighbouring turns. False ranks by the
            scan's score alone.
        compound: also recall the parts of a cue that asks for several things, or about several
            people, and merge the answers; one more embedding for each part.
        hyde: search for the mean of the cue and of two or three hypothetical answers, made from
            templates; one more embedding for each.
        intent: factual, temporal, causal, entity_profile, preference, procedural or general, or
            "auto" to tell it by the wording; its preset applies (docs/language.md).
        mmr: 0..1, maximal marginal relevance: the weight of the score; the rest is the weight of
            difference from the hits before. 0.7 is usual.
        coverage: hits that cover a topic together; short for ``mmr=0.8``. For timelines and
            summaries.
        per_session: at most so many hits of one session.
        cut: 0..1, share of the best score that a hit of the semantic tier must have, where the cue
            has words and a vector; what the cue names stays. 0 returns all k. In a context and with
            ``selective`` 0.6 is usual, and applies to every tier.
        min_score: hits of a lower ``hit.score`` are left out. The scale is the profile's and the
            model's: compare scores of one profile and one model only.
        associate: entities that the cue names, and memories often used together, raise the scores
            of what they are tied to. None: in the profile "cognitive" only.
        expand: also what edges and entities tie to the best three hits, at 0.7 of their score; at
            most 20 more than k. ``hit.graph_distance`` tells them apart. None: as
            ``Config.association.expand`` says.
        sorts: names of what a hit must be: memory (a plain one), fact, procedure, learning,
            concept, statistic, also those that are derived from memories. None: what was said and
            stored.
        mode: "semantic" (by the vector alone), "structured" (of these tags, or what mentions an
            entity of the cue), "graph" (what edges and entities tie to ``seed``), "temporal" (of
            ``time_range``, or of the time in the cue), or "hybrid", the usual way. Fewer than three
            hits of a mode are filled up by the semantic one.
        seed: the memory from which ``mode="graph"`` begins: an id, a hit or a record.
        near_session: memories of this session score 0.15 more, unless ``associate`` is False.
        dormant_hint: ``hits.stats.dormant`` names the dormant memories that the cue would have hit;
            a second scan.
        timezone: what "yesterday", and a day without a time, mean: a name ("Europe/Istanbul"), an
            offset ("+03:00") or a tzinfo. None: as the store says.

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
    min_score: float | None = None
    associate: bool | None = None
    expand: bool | None = None
    sorts: Several | None = None
    mode: str | None = None
    seed: Any = None
    near_session: str | None = None
    dormant_hint: bool = False
    timezone: str | tzinfo | None = None

    def __post_init__(self) -> None:
        for name in ("valence", "categories", "modalities", "include", "sorts"):
            given = getattr(self, name)
            if name == "valence" and isinstance(given, (Mapping, Set)):
                continue  # has no order, and is refused
            if not isinstance(given, (str, tuple)) and isinstance(given, Iterable):
                # may be read once only
                object.__setattr__(self, name, tuple(items_of(given, name)))
        _ = self.parsed  # raises here what a recall would raise

    @cached_property
    def parsed(self) -> Asked:
        """The fields as a search uses them, checked when the options are made."""
        found = {of: check(getattr(self, name), name) for name, (of, check) in _CHECKS.items()}
        if found["sorts"] not in (None, {"memory"}):
            found["drop_flags"] &= ~int(Flag.AUXILIARY)
        return Asked(**found)


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
    min_score: float | None
    associate: bool | None
    expand: bool | None
    sorts: Several | None
    mode: str | None
    seed: Any
    near_session: str | None
    dormant_hint: bool
    timezone: str | tzinfo | None


class RecallArguments(RareArguments, total=False):
    """What a context hands on to the recall that it is made of."""

    vector: ArrayLike | None
    tiers: str | Iterable[str] | None
    tags: Iterable[str] | None
    any_tags: Iterable[str] | None
    time_range: tuple[datetime | str | None, datetime | str | None] | None
    where: Any
    namespace: str | Iterable[str] | None
    below: bool
    user_id: str | None
    agent_id: str | None
    session_id: str | None
    as_of: datetime | str | None
    kind: str | None
    profile: str | ScoringProfile | None
    options: RecallOptions | None


class ContextArguments(RecallArguments, total=False):
    """What a context takes beside its own named arguments."""

    hot: bool
    knowledge: bool | Percept


_OF_CONTEXT: Final = tuple("max_tokens tokenizer always layout ids hot knowledge".split())
_NAMES: Final = tuple(field.name for field in fields(RecallOptions))
#: what a call has beside the fields of `RecallOptions`
_BESIDE: Final = frozenset((*COMMON, "offset"))


def options_of(given: Mapping[str, Any]) -> RecallOptions:
    """The options of the arguments of a recall: keywords override ``options``.

    Raises:
        UnknownArgumentError: a keyword that recall does not have.
        InvalidInputError: ``options`` of another type.
    """
    options = given.get("options")
    rare = {name: value for name, value in given.items() if name not in _BESIDE}
    if options is None and not rare:
        return _DEFAULTS
    if options is not None and not isinstance(options, RecallOptions):
        raise InvalidInputError(
            f"options must be a RecallOptions, got {type(options).__name__}",
            hint="pass spector.RecallOptions(...), or its fields as keywords",
        )
    refuse_unknown(rare, (*COMMON, *_NAMES), "recall")
    return replace(options, **rare) if options is not None else RecallOptions(**rare)


def cut_of(given: Mapping[str, Any]) -> float:
    """The cut of a context or a selective recall: the keyword, the options', else `CUT`."""
    if "cut" in given:
        return _parse_cut(given["cut"])
    options = given.get("options")
    own = options.parsed.cut if isinstance(options, RecallOptions) else SEMANTIC_CUT
    return CUT if own == SEMANTIC_CUT else own


def zone_of(given: Mapping[str, Any], config: Config) -> tzinfo:
    """The time zone of a recall: the keyword's, the options', else the store's."""
    zone = given.get("timezone") or getattr(given.get("options"), "timezone", None)
    return config.zone if zone is None else zone_named(zone)


def reject_unknown_options(recall: Mapping[str, Any]) -> None:
    """Raise when a context was given an argument that neither it nor recall takes.

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


def diversity_weight(options: Asked, *, is_survey: bool) -> float | None:
    """The weight of relevance against diversity; None for relevance alone.

    ``mmr`` goes first. Hits of a survey are equally relevant, so it shows different memories.
    """
    if options.mmr is not None:
        return options.mmr
    if is_survey:
        return _SURVEY
    return _COVERAGE if options.coverage else None


_DEFAULTS: Final = RecallOptions()


# The other arguments of a recall and of a context.


@reading("the cue", InvalidTextError)
def parse_cue(cue: Any, config: Config) -> tuple[str | None, tuple[str, ...]]:
    """The text of a cue or message, or None; and notes on how it was shortened.

    Of a cue beyond ``Config.max_cue_bytes`` the first sentence and the end are read.
    """
    if cue is None:
        return None, ()
    if isinstance(cue, Mapping):
        said = cue.get("content", cue.get("text"))
        cue = said if isinstance(said, str) else chat_message(cue).text or said
    if not isinstance(cue, str):
        raise InvalidTextError(
            f"the cue must be a str, got {type(cue).__name__}",
            hint="pass a text, or vector= for a vector",
        )
    if not cue or cue.isspace():
        raise InvalidTextError("the cue is empty", hint="leave it out to rank without a cue")
    try:
        size = len(cue.encode())
    except UnicodeEncodeError:
        raise InvalidTextError(
            "the cue cannot be encoded as UTF-8", hint='decode it with errors="replace"'
        ) from None
    most = config.max_cue_bytes
    if size <= most:
        return cue, ()
    return shorten_cue(cue, most), (
        f"the cue has {size} bytes, max_cue_bytes is {most}: its first sentence and its end were"
        " read",
    )


def parse_k(k: Any, config: Config, usual: int) -> int:
    """The number of hits wanted; ``usual`` for None."""
    if k is None:
        return min(usual, config.max_k)
    return parse_integer(k, "k", 1, config.max_k, "records() iterates over all memories")


def parse_page_of_hits(k: Any, offset: Any, config: Config, usual: int) -> tuple[int, int]:
    """The number of hits to find, and how many of the first ones are of earlier pages."""
    wanted = parse_k(k, config, usual)
    if type(offset) is int and not offset:
        return wanted, 0
    advice = "records() iterates over all memories"
    skipped = parse_integer(offset, "offset", 0, config.max_k - wanted, advice)
    return skipped + wanted, skipped


def parse_kind(value: Any) -> str:
    """The kind of cue that the caller names; "" to tell it by its wording."""
    if value is None:
        return ""
    if not isinstance(value, str) or value not in ("fact", "talk", "request"):
        raise InvalidInputError(
            f"unknown kind of cue {shown(value)}", hint="fact, talk, request, or None for a guess"
        )
    return value


def parse_budget(max_tokens: Any) -> int:
    """The number of tokens that a context may have."""
    return parse_integer(max_tokens, "max_tokens", 1, None, "1000 holds some thirty short memories")


def parse_always(always: Any) -> bool | Literal["pinned"]:
    """Whether a context always quotes something; "pinned": the pinned memories always."""
    if isinstance(always, str) and always == "pinned":
        return "pinned"
    if not isinstance(always, (bool, np.bool_)):
        raise InvalidInputError(
            f'always must be True, False or "pinned", got {shown(always)}',
            hint="leave it out for the default",
        )
    return bool(always)


def parse_layout(layout: Any, ids: Any) -> tuple[Layout, bool]:
    """The layout of a context, and whether its lines begin with ids."""
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise InvalidInputError(
            f"layout must be one of {', '.join(LAYOUTS)}, got {shown(layout)}",
            hint="leave it out for the compact one",
        )
    return layout, parse_switch(ids, "ids")


# Reads a cue by the rules of language alone: kind, topic, time, id.

#: no place on earth is further from UTC: its days are not those that a time is made of
_ZONES_MS: Final = 14 * 3_600_000


def read_cue(
    text: str | None,
    *,
    named: str,
    topic: Topic | None,
    may_be_now: bool,
    now_ms: int | None,
    zone: tzinfo | None = None,
) -> Reading:
    """The reading of a cue.

    Args:
        named: the kind that the caller names; "" for the wording's.
        topic: see `topic_in`.
        may_be_now: whether the present is asked about at all, and no other moment.
        now_ms: from when the times in the cue count; None to read none.
        zone: whose days they are; None where it is not known, and days of any zone may be meant.
    """
    if text is None:
        return NO_READING
    found = Kind(named) if named else kind_of(text)
    is_of_now = may_be_now and asks_for_now(text)
    time = span = None
    if now_ms is not None:
        time = time_range_in(text, now_ms, zone=zone or UTC)
    window = None if time is None else window_of(text, time, found)
    if time is not None and window is None and found is not Kind.FACT:
        time = time_range_in(text, now_ms or 0, kind=found, zone=zone or UTC)
    if time is not None:
        start, end = hull(time.spans)
        slack = _ZONES_MS if zone is None else 0
        span = Span(start - slack, end + slack)
    ends_ms = None
    if may_be_now and span is not None:
        ends_ms = span[0]
    elif may_be_now and asks_when(text):
        ends_ms = MIN_MS
    bare = text.strip()
    record_id = int(bare) if bare.isdecimal() and len(bare) <= 18 else None
    return Reading(found, topic, is_of_now, span, record_id, ends_ms, zone, window)


def topic_in(text: str | None, named: str) -> Topic | None:
    """The topic of a cue about the conversation; None for any other, and for a named talk."""
    if text is None or named not in ("", "fact"):
        return None
    topic = topic_of(text)
    return topic if topic.kind else None


def default_k(topic: Topic | None, usual: int) -> int:
    """The default number of hits: twice as many for an order of events or a summary."""
    return 2 * usual if topic is not None and topic.wants_many else usual
