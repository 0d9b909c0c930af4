"""The rarer arguments of a recall: narrow filters, and switches that are off by default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypedDict

from numpy.typing import ArrayLike

from spector.arguments import (
    id_of,
    parse_include,
    parse_integer,
    parse_intent,
    parse_label,
    parse_mask,
    parse_mode,
    parse_mood,
    parse_number,
    parse_per_session,
    parse_sorts,
    parse_switch,
    parse_valence,
)
from spector.clock import MIN_MS, zone_named
from spector.config import Config
from spector.errors import InvalidInputError
from spector.kernel.contract import ScoringProfile
from spector.language.cues import Intent, Kind, Topic, asks_for_now, asks_when, kind_of, topic_of
from spector.language.dates import Span, hull, time_range_in, window_of
from spector.layout import Category, Flag, Modality
from spector.messages import items_of, refuse_unknown
from spector.records import Percept
from spector.search import CUT, NO_READING, SEMANTIC_CUT, Reading

Several = str | Iterable[str]


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


class ParsedOptions(NamedTuple):
    """`RecallOptions` in the form that a search uses."""

    #: inclusive range of stored valences
    valence: tuple[int, int]
    min_importance: float
    category_mask: int
    modality_mask: int
    #: flags that drop a record
    drop_flags: int
    mood: int
    exact: bool
    lexical: bool
    compound: bool
    hyde: bool
    intent: Intent | Literal["auto"] | None
    mmr: float | None
    coverage: bool
    per_session: int | None
    cut: float
    min_score: float | None
    associate: bool | None
    expand: bool | None
    sorts: frozenset[str] | None
    mode: str | None
    seed: int | None
    near_session: str | None
    dormant_hint: bool
    #: None where the caller names none
    zone: tzinfo | None


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
    def parsed(self) -> ParsedOptions:
        """The fields as a search uses them, checked when the options are made."""
        least, mmr, score = self.min_importance, self.mmr, self.min_score
        drop, sorts = parse_include(self.include), parse_sorts(self.sorts)
        if sorts is not None and sorts != {"memory"}:
            drop &= ~int(Flag.AUXILIARY)
        return ParsedOptions(
            valence=parse_valence(self.valence),
            min_importance=0.0
            if least is None
            else parse_number(least, "min_importance", 0.0, 1.0, "0.8 keeps to what matters most"),
            category_mask=parse_mask(Category, self.categories, "category"),
            modality_mask=parse_mask(Modality, self.modalities, "modality"),
            drop_flags=drop,
            mood=parse_mood(self.mood),
            exact=parse_switch(self.exact, "exact"),
            lexical=parse_switch(self.lexical, "lexical"),
            compound=parse_switch(self.compound, "compound"),
            hyde=parse_switch(self.hyde, "hyde"),
            intent=parse_intent(self.intent),
            mmr=None if mmr is None else parse_number(mmr, "mmr", 0.0, 1.0, "0.7 is usual"),
            coverage=parse_switch(self.coverage, "coverage"),
            per_session=parse_per_session(self.per_session),
            cut=_parse_cut(self.cut),
            min_score=None if score is None else parse_number(score, "min_score", *_SCORES),
            associate=None if self.associate is None else parse_switch(self.associate, "associate"),
            expand=None if self.expand is None else parse_switch(self.expand, "expand"),
            sorts=sorts,
            mode=parse_mode(self.mode),
            seed=None if self.seed is None else parse_integer(id_of(self.seed), "seed", 0),
            near_session=None
            if self.near_session is None
            else parse_label(self.near_session, "near_session"),
            dormant_hint=parse_switch(self.dormant_hint, "dormant_hint"),
            zone=None if self.timezone is None else zone_named(self.timezone),
        )


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


def options_of(options: RecallOptions | None, rare: RareArguments) -> RecallOptions:
    """The options of one call: keywords override ``options``.

    Raises:
        UnknownArgumentError: a keyword that recall does not have.
        InvalidInputError: ``options`` of another type.
    """
    if options is None and not rare:
        return _DEFAULTS
    if options is not None and not isinstance(options, RecallOptions):
        raise InvalidInputError(
            f"options must be a RecallOptions, got {type(options).__name__}",
            hint="pass spector.RecallOptions(...), or its fields as keywords",
        )
    refuse_unknown(rare, (*COMMON, *_NAMES), "recall")
    return replace(options, **rare) if options is not None else RecallOptions(**rare)


def cut_of(options: RecallOptions | None, named: RareArguments) -> float:
    """The cut of a context or a selective recall: the keyword, the options', else `CUT`."""
    if "cut" in named:
        return _parse_cut(named["cut"])
    own = options.parsed.cut if isinstance(options, RecallOptions) else SEMANTIC_CUT
    return CUT if own == SEMANTIC_CUT else own


def zone_of(options: Any, named: RareArguments, config: Config) -> tzinfo:
    """The time zone of a recall: the keyword's, the options', else the store's."""
    given = named.get("timezone") or getattr(options, "timezone", None)
    return config.zone if given is None else zone_named(given)


def _parse_cut(value: Any) -> float:
    """The share of the best score that a hit must have, 0..1."""
    advice = f"{SEMANTIC_CUT:g} is usual, 0 leaves nothing out"
    return parse_number(value, "cut", 0.0, 1.0, advice)


def reject_unknown_options(recall: RecallArguments) -> None:
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


def diversity_weight(options: ParsedOptions, *, is_survey: bool) -> float | None:
    """The weight of relevance against diversity; None for relevance alone.

    ``mmr`` goes first. Hits of a survey are equally relevant, so it shows different memories.
    """
    if options.mmr is not None:
        return options.mmr
    if is_survey:
        return _SURVEY
    return _COVERAGE if options.coverage else None


_DEFAULTS: Final = RecallOptions()


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
