"""What a section of the configuration is, and how each of its values is checked.

The annotation of a field says what may be in it: a class, a ``Literal`` of words, or one of the
names below, which carry a range. A value that equals its default is not looked at.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

from spector.errors import InvalidInputError
from spector.messages import shown

#: no count, no number of days and no amount is above this
_MOST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Range:
    """From which number to which, both included unless ``above`` says that the first is not."""

    least: float
    most: float = _MOST
    above: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number is in this range."""
        return (value > self.least if self.above else value >= self.least) and value <= self.most

    def __str__(self) -> str:
        if self.most == _MOST:
            return f"above {self.least:g}" if self.above else f"of {self.least:g} or more"
        begin = f"above {self.least:g}, up to" if self.above else f"in {self.least:g}.."
        return f"{begin} {self.most:g}" if self.above else f"{begin}{self.most:g}"


@dataclass(frozen=True, slots=True)
class Words:
    """Several of these words, each once; ``least`` of them."""

    known: tuple[str, ...]
    least: int = 0


#: a part of a whole
Share: TypeAlias = Annotated[float, Range(0.0, 1.0)]
#: how much is added or subtracted, or from where on something is so
Amount: TypeAlias = Annotated[float, Range(0.0)]
#: what something is divided by, or lasts
Positive: TypeAlias = Annotated[float, Range(0.0, above=True)]
#: by what a strength is multiplied
Factor: TypeAlias = Annotated[float, Range(0.0, 100.0)]
#: by what a strength grows: it never shrinks
Growth: TypeAlias = Annotated[float, Range(1.0, 100.0)]
#: how many: at least one
Count: TypeAlias = Annotated[int, Range(1)]
#: how many: none is fine
Whole: TypeAlias = Annotated[int, Range(0)]
#: several parts of a whole
Shares: TypeAlias = tuple[Share, ...]
#: several words
Names: TypeAlias = tuple[str, ...]


class Numbers(Mapping[str, float]):
    """A number for each of some names. It cannot be changed, and is equal to a dict like it."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Mapping[str, float] | Iterable[tuple[str, float]]) -> None:
        self._pairs = tuple(dict(pairs).items())

    def __getitem__(self, name: str) -> float:
        for each, number in self._pairs:
            if each == name:
                return number
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __hash__(self) -> int:
        return hash(frozenset(self._pairs))

    def __repr__(self) -> str:
        return repr(dict(self._pairs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A frozen part of the configuration. Its fields are checked when it is made."""

    #: how it is called in a Config
    NAME: ClassVar[str]

    def __post_init__(self) -> None:
        kind: type = type(self)
        for field in fields(self):
            value = getattr(self, field.name)
            if value is field.default:
                continue
            rules = _rules_of(kind)
            name = f"Config.{self.NAME}.{field.name}"
            checked = _checked(value, rules[field.name], field.default, name)
            object.__setattr__(self, field.name, checked)
        self._check()

    def _check(self) -> None:
        """Compare fields with each other."""

    def _ordered(self, low: str, high: str) -> None:
        if getattr(self, low) > getattr(self, high):
            raise InvalidInputError(
                f"Config.{self.NAME}.{low} is {shown(getattr(self, low))}, above"
                f" {high}={shown(getattr(self, high))}",
                hint=f"pass {low} up to {high}",
            )


@functools.cache
def _rules_of(section: type) -> Mapping[str, Any]:
    return get_type_hints(section, include_extras=True)


def _checked(value: Any, rule: Any, default: Any, name: str) -> Any:
    """The value as it is kept.

    Raises:
        InvalidInputError: It is not what the annotation of its field says.
    """
    origin, parts = get_origin(rule), get_args(rule)
    if rule is bool:
        return _one(value, (True, False), name)
    if origin is UnionType:  # bool | None
        return _one(value, (None, True, False), name)
    if origin is Literal:
        return _one(value, parts, name)
    if origin is Annotated and isinstance(parts[1], Words):
        return _words(value, parts[1], name)
    if origin is Annotated and parts[0] is Numbers:
        return _numbers(value, default, parts[1], name)
    if origin is Annotated:
        return _number(value, parts[0], parts[1], name)
    return _shares(value, len(default), get_args(parts[0])[1], name)


def _one(value: Any, known: tuple[Any, ...], name: str) -> Any:
    if any(value is each or (isinstance(value, str) and value == each) for each in known):
        return value
    raise InvalidInputError(
        f"{name} is {shown(value)}", hint="pass " + " or ".join(map(repr, known))
    )


def _number(value: Any, kind: type, within: Range, name: str) -> Any:
    whole = kind is int
    if (
        isinstance(value, bool)
        or not isinstance(value, int if whole else (int, float))
        or math.isnan(value)
        or not within.holds(value)
    ):
        raise InvalidInputError(
            f"{name} is {shown(value)}",
            hint=f"pass {'an integer' if whole else 'a number'} {within}",
        )
    return value


def _shares(value: Any, count: int, within: Range, name: str) -> tuple[float, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        values: list[Any] = []
    else:
        values = list(value)
    if len(values) != count:
        raise InvalidInputError(f"{name} is {shown(value)}", hint=f"pass {count} numbers {within}")
    return tuple([_number(each, float, within, name) for each in values])


def _words(value: Any, words: Words, name: str) -> tuple[str, ...]:
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        given: list[Any] = [value]
    else:
        given = [value] if isinstance(value, str) else list(value)
    wrong = [each for each in given if not isinstance(each, str) or each not in words.known]
    if wrong or len(given) < words.least:
        raise InvalidInputError(
            f"{name} is {shown(value)}", hint=f"pass some of {', '.join(words.known)}"
        )
    return tuple([each for each in words.known if each in given])


def _numbers(value: Any, default: Numbers, within: Range, name: str) -> Numbers:
    """The default with other numbers for the names that are given."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(
            f"{name} is {shown(value)}", hint=f"pass a number for some of {', '.join(default)}"
        )
    for each, number in value.items():
        if each not in default:
            raise InvalidInputError(
                f"{name} has no {shown(each)}", hint=f"it has {', '.join(default)}"
            )
        _number(number, float, within, f"{name}[{each!r}]")
    return Numbers({**default, **value})


# Limits and steps of facts, concepts and the graph, and what associations add to a recall.

_Cosine: TypeAlias = Annotated[float, Range(-1.0, 1.0)]
_Hops: TypeAlias = Annotated[int, Range(0, 16)]
_Reach: TypeAlias = Annotated[int, Range(1, 16)]
#: a store with more references of one concept is damaged
_References: TypeAlias = Annotated[int, Range(1, 200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeConfig(Section):
    """Facts, relations, concepts, learnings and procedures."""

    NAME: ClassVar[str] = "knowledge"

    #: confidence that each new source adds to a fact
    fact_step: Share = 0.05
    #: prunable edges of a user that sleep always leaves
    max_edges: Whole = 1000
    #: prunable edges for each memory of a user that sleep leaves; the greater limit counts
    edges_per_memory: Whole = 10
    #: share of the limit to which sleep prunes
    pruned_share: Share = 0.9
    #: shared entities from which two memories are "same_entity"
    same_entity: Count = 2
    #: overlap of words above which a new memory elaborates another
    elaborates_overlap: Share = 0.30
    #: overlap of words above which memories of a category are related
    related_overlap: Share = 0.15
    #: share of a node's rank that follows its edges
    pagerank_damping: Share = 0.85
    #: rounds of PageRank
    pagerank_iterations: Count = 20
    #: rank above which a memory is central and protected
    pagerank_protection: Share = 0.01
    #: central is also more than 1.5 times the mean rank, or in small graphs all would be
    pagerank_relative: bool = True
    #: share of activation that one step hands on
    spread_decay: Share = 0.5
    #: least activation that counts
    spread_threshold: Share = 0.05
    #: steps that activation spreads
    spread_hops: _Reach = 3
    #: references of a concept in a layer; the first is dropped for one more
    max_refs: _References = 200
    #: concepts of a user; beyond it, weak ones that are not used are retired
    max_concepts: Count = 5000
    #: days without use after which a weak concept is retired
    concept_max_age_days: Positive = 30
    #: days for which episodes are in the window of their layer
    episode_max_age_days: Positive = 7
    #: episodes of a concept from which it has statistics
    ground_from: Count = 8
    #: least share of common episodes that relates two concepts
    jaccard: Share = 0.2
    #: step of the strength of a causal link towards success or failure
    association_rate: Share = 0.3
    #: where concepts are made: in "sleep", in a "worker" after each commit, or nowhere ("off")
    extract: Literal["sleep", "worker", "off"] = "sleep"
    #: confidence that a successful use adds to a learning
    learning_success: Share = 0.10
    #: confidence that a failed use takes from a learning
    learning_failure: Share = 0.15
    #: executions from which the success rate of a procedure counts in full
    procedure_trust: Count = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationConfig(Section):
    """What entities, pairs, sessions and edges add to a recall and to a context."""

    NAME: ClassVar[str] = "association"

    #: share of a "followed_by" edge's weight that counts in a recall
    adjacency: Share = 0.3
    #: an entity that more memories mention ties none of them
    max_entity_mentions: Count = 25
    #: added to a score for each entity of the cue that a memory mentions, at most three times
    entity: Amount = 0.10
    #: added to a score for a memory of the same session
    episode: Amount = 0.15
    #: added to a score for a memory that was often used together with one of the best
    coactivation: Amount = 0.05
    #: common uses from which two memories are such a pair
    coactivation_from: Count = 3
    #: pairs that are kept; sleep drops the least used above it
    max_pairs: Count = 20_000
    #: personal, observed, schematic memories weigh differently
    subtiers: bool = True
    #: memories of the hot tier
    hot_items: Whole = 15
    #: least utility of a hot memory
    hot_utility: Share = 0.8
    #: least number of accesses of a hot memory
    hot_accesses: Whole = 10
    #: days after which no memory is hot
    hot_days: Positive = 30
    #: seconds for which the hot tier is kept
    hot_ttl_s: Amount = 300
    #: what is tied to the best hits is recalled too, unless a recall says otherwise
    expand: bool = False
    #: best hits from which a recall expands
    expand_top: Whole = 3
    #: steps from each
    expand_hops: _Hops = 1
    #: least weight of an edge that is followed
    expand_weight: Share = 0.5
    #: share of a hit's score that a step hands on
    expand_factor: Share = 0.7
    #: cosine below which a memory is no hit, unless the profile says otherwise
    min_similarity: _Cosine = -1.0
    #: milliseconds for the context of concepts
    budget_ms: Amount = 50
    #: concepts of a context
    concept_limit: Whole = 5
    #: lines of knowledge in a context
    knowledge_limit: Whole = 8
    #: newest episodes that predictions are made from
    completion_episodes: Count = 20


# What a cycle of sleep does, with which thresholds and limits.

#: the steps of a cycle, in their order
STEPS: Final = tuple(
    """seal rhythm decay emotion replay promote demote rehearse expire compress extract consolidate
    deduplicate graph forget upkeep""".split()
)
_Steps: TypeAlias = Annotated[tuple[str, ...], Words(STEPS)]
_Rates: TypeAlias = Annotated[Numbers, Range(0.0, 1000.0)]
_Days: TypeAlias = Annotated[Numbers, Range(0.0, math.inf)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepConfig(Section):
    """Decay, promotion, compression, consolidation and forgetting."""

    NAME: ClassVar[str] = "sleep"

    #: the daemon runs cycles: None where the store has been observed or slept before
    auto: bool | None = None
    #: steps of a cycle
    steps: _Steps = STEPS
    #: "spector", or "v9" to forget before clusters are made
    order: Literal["spector", "v9"] = "spector"
    #: seconds between two cycles of the daemon
    interval_s: Positive = 3600
    #: seconds between two rehearsals
    testing_interval_s: Positive = 86_400
    #: how retention falls: "fsrs", (1 + t / 9S)^-2, or "ebbinghaus", exp(-t / S)
    retention_curve: Literal["fsrs", "ebbinghaus"] = "fsrs"
    #: memories of a unit of work, which is one commit
    batch_records: Count = 500
    #: days for which a cycle can be undone
    undo_days: Amount = 7
    #: calls of a chat model in a cycle
    max_llm_calls: Whole = 5
    #: seconds of a cycle; 0 is no limit
    max_seconds: Amount = 0
    #: how much faster than semantic memories those of a tier decay
    tier_multipliers: _Rates = Numbers(
        {"working": 10.0, "episodic": 3.0, "semantic": 1.0, "procedural": 1.0}
    )
    #: rate a day at which stability decays, by category
    category_rates: _Rates = Numbers(
        {
            "preference": 0.0,
            "entity": 0.0,
            "correction": 0.0,
            "procedure": 0.0,
            "pattern": 0.0,
            "summary": 0.0,
            "fact": 0.005,
            "decision": 0.02,
            "plan": 0.02,
            "event": 0.05,
            "other": 0.05,
        }
    )
    #: days for which a memory of a category is not forgotten; infinite: never by sleep
    category_floors_days: _Days = Numbers(
        {
            "correction": math.inf,
            "preference": math.inf,
            "entity": math.inf,
            "procedure": math.inf,
            "pattern": math.inf,
            "summary": math.inf,
            "decision": 45.0,
            "plan": 45.0,
            "fact": 14.0,
            "event": 7.0,
            "other": 7.0,
        }
    )
    #: decay takes stability no lower, in days
    min_stability_days: Positive = 0.25
    #: rate a day at which utility drifts towards 0.5
    utility_drift: Share = 0.01
    #: utility below 0.5 drifts upwards too
    utility_drift_up: bool = False
    #: retention below which a memory is endangered
    rehearse_below: Share = 0.30
    #: factor of the stability of what is rehearsed
    rehearse_factor: Growth = 1.5
    #: memories that are rehearsed in 24 hours
    rehearse_most: Whole = 50
    #: least importance of what is rehearsed
    rehearse_min_importance: Share = 0.4
    #: accesses from which an episode becomes semantic
    promote_accesses: Whole = 3
    #: utility above which an episode with these accesses does: being quoted raises none
    promote_accesses_utility: Share = 0.5
    #: utility from which an old episode becomes semantic
    promote_utility: Share = 0.7
    #: days from which an episode is old enough for that
    promote_age_days: Amount = 7
    #: episodes with a common entity from which it becomes a concept
    promote_entity_memories: Count = 5
    #: sessions that these must be of
    promote_entity_sessions: Count = 3
    #: what becomes of them: a "concept" that refers to them, or they "move" to the semantic tier
    promote_by_entity: Literal["concept", "move"] = "concept"
    #: least confidence of a pattern that becomes a concept
    promote_min_confidence: Share = 0.6
    #: least number of observations of such a pattern
    promote_min_observations: Count = 3
    #: least confidence of a pattern of operations
    operational_min_confidence: Share = 0.4
    #: reject what is random in outcomes and times
    randomness_gate: bool = True
    #: observations from which randomness is judged
    randomness_from: Count = 8
    #: days without use after which a semantic memory of little utility becomes dormant
    demote_idle_days: Positive = 60
    #: below which utility
    demote_utility: Share = 0.2
    #: hours after which an episode is judged for compression
    short_term_ttl_h: Positive = 48
    #: importance from which an episode is compressed, when few are due
    compress_base: Share = 0.30
    #: what is added to that when a hundred or more are due
    compress_penalty: Share = 0.40
    #: tokens of a summary, and of a theme
    summary_tokens: Count = 150
    #: episodes whose statements are read together
    extract_batch: Count = 10
    #: least number of memories of a theme
    cluster_min: Annotated[int, Range(2)] = 3
    #: least importance of a memory in a theme
    cluster_min_importance: Share = 0.25
    #: what becomes of episodes below the importance for compression
    compress_below: Literal["keep", "dormant", "forget"] = "keep"
    #: importance below which a memory is forgotten by its retention; 1: whatever it is
    forget_max_importance: Share = 0.25
    #: of two memories of a speaker that contradict each other the older becomes dormant
    forget_contradicted: bool = False
    #: share of a user's memories that stay active
    keep_share: Share = 1.0
    #: share of a user's active memories that become dormant in 24 hours at most
    blast_radius: Share = 0.02
    #: as many may always
    blast_least: Whole = 10
    #: share of the time that a cycle works while recalls and writes come in; 1 for all of it
    share_beside: Annotated[float, Range(0.01, 1.0)] = 0.25
    #: memories that a step looks at in a cycle
    records_per_cycle: Count = 100_000
    #: memories that a cycle makes
    new_memories: Whole = 500
    #: texts that a cycle reads for statements
    extract_texts: Whole = 2000
    #: likeness above which two memories are redundant
    redundancy: Share = 0.9
    #: pairs that are compared in 24 hours
    redundancy_most: Whole = 50
    #: retention below which a memory of little importance is forgotten
    forget_below: Share = 0.10
    #: utility below which an unused memory is forgotten
    utility_floor: Share = 0.15
    #: days without use from which it is unused
    utility_unused_days: Positive = 30
    #: active memories of a user above which the least valuable are forgotten; 0 is no limit
    capacity_active: Whole = 0
    #: how many are left then
    capacity_trim: Whole = 0
    #: what forgetting does: "dormant", or "forget" erases
    forget_action: Literal["dormant", "forget"] = "dormant"
    #: what happens to a memory whose validity has ended: "none", or "dormant"
    expiry_action: Literal["none", "dormant"] = "none"

    def _check(self) -> None:
        if self.capacity_active:
            self._ordered("capacity_trim", "capacity_active")


# Which languages there are: those that ship, and those whose folders a variable names.

#: names further folders that hold languages, separated as paths are
VARIABLE: Final = "SPECTOR_LANGUAGES"
#: a folder for each language that ships, named by its code
SHIPPED: Final = Path(__file__).parents[1] / "language" / "tables" / "data"


@lru_cache(maxsize=1)
def language_folders() -> Mapping[str, Path]:
    """Code of each language -> its folder of word tables; English first, the others by name.

    A folder of the user's stands for one of the same code that ships. The variable is read once.

    Raises:
        InvalidInputError: the variable names what is no folder, or holds no language.
    """
    found = _in(SHIPPED)
    for each in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        own = _in(Path(each)) if Path(each).is_dir() else {}
        if not own:
            raise InvalidInputError(
                f"{VARIABLE} names {shown(each)}, in which there is no language",
                hint="name a folder that has one folder for each language, with its language.toml",
            )
        found |= own
    return MappingProxyType(dict(sorted(found.items(), key=lambda each: (each[0] != "en", each))))


def _in(folder: Path) -> dict[str, Path]:
    return {each.name: each for each in folder.iterdir() if (each / "language.toml").is_file()}


# How messages become memories, what a session keeps, and what a chat model is asked.

#: what a chat model may be asked for
LLM_TASKS: Final = ("observation", "consolidation", "summaries")
_Boost: TypeAlias = tuple[Factor, ...]
_THERE: Final = tuple(language_folders())
_Languages: TypeAlias = Annotated[tuple[str, ...], Words(_THERE, least=1)]
_Tasks: TypeAlias = Annotated[tuple[str, ...], Words(LLM_TASKS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveConfig(Section):
    """What is kept of a message: filters, formation, importance, gate and tags."""

    NAME: ClassVar[str] = "observe"

    #: compare a new memory with those that exist; False stores each as a new one
    gate: bool = True
    #: by which the gate decides: "slots" (subject, predicate and value) or "bands" of likeness
    gate_by: Literal["slots", "bands"] = "slots"
    #: a message of as many characters or more becomes several memories
    max_chars: Count = 5000
    #: characters of quoted words and code that a memory keeps beside its own words
    max_quoted: Count = 2000
    #: what happens to a message that instructs a model: "skip", or "quarantine" keeps it flagged
    on_injection: Literal["skip", "quarantine"] = "skip"
    #: entities of a message at most
    max_entities: Count = 8
    #: category of a text whose only content are entities: "frame" makes it an entity where it says
    #: who or what one is, "mention" always
    entity_by: Literal["frame", "mention"] = "frame"
    #: longest text of a memory that was rewritten, in characters
    max_rewritten_chars: Count = 500
    #: add what pronouns and dates stand for in square brackets
    annotate: bool = True
    #: least precision of a rule for pronouns that may annotate
    reference_precision: Share = 0.75
    #: least confidence from which on what is contradicted is superseded, and so hidden
    hide_at: Share = 0.97
    #: least confidence from which on a newer memory is recalled before the one it may have changed
    order_at: Share = 0.3
    #: what finds those without a judge: the offline "model" where its embedder is used, or "cues"
    order_by: Literal["model", "cues"] = "model"
    #: seconds that a judge may take for a message; then the rules decide
    judge_timeout_s: Positive = 8
    #: turn the first person into the third
    rewrite: bool = False
    #: keep the words as they were where ``rewrite`` changed them
    keep_raw: bool = True
    #: how importance is found: "channels" (novelty, arousal, reward, attention), or "ucma" (source,
    #: keywords, length)
    importance: Literal["channels", "ucma"] = "channels"
    #: weights of novelty, arousal, reward and attention
    weights: Shares = (0.25, 0.30, 0.25, 0.20)
    #: least and greatest factor of the weighted sum
    boost_range: _Boost = (0.7, 1.3)
    #: bands: below this likeness a memory is new
    create_below: Share = 0.70
    #: bands: from this likeness on an existing memory is updated
    update_from: Share = 0.75
    #: bands: above this likeness an existing memory is reinforced
    reinforce_above: Share = 0.92
    #: bands: least importance of what is created between the first two
    gap_importance: Share = 0.6
    #: candidates of each channel (vector, words, slot); with bands, of all together
    gate_neighbours: Count = 5
    #: nearest memories that a new one may be related to
    relate_neighbours: Whole = 8
    #: likeness that the bands are about: the model's "cosine", or "calibrated" to the default model
    gate_scale: Literal["cosine", "calibrated"] = "cosine"
    #: what an update does: "create" a memory beside the old one, or "merge" into it
    on_update: Literal["create", "merge"] = "create"
    #: longest text that a merge may make, in characters
    max_merged_chars: Count = 2000
    #: reward knows the class of a message; False leaves it to the utility of memories like it
    reward_prior: bool = True
    #: arousal that each of at most three exclamation marks adds
    exclamation: Share = 0.0
    #: confidence of a record: "trust" in its origin, or that of its "class"
    confidence: Literal["trust", "class"] = "trust"
    #: messages that ``observe_many`` embeds and commits together
    batch: Count = 256
    #: memories of less importance are tagged in a session
    tag_below: Share = 0.5
    #: memories of this importance or more capture tags
    capture_from: Share = 0.7
    #: seconds for which a tag lives
    tag_ttl_s: Positive = 14_400
    #: factor of the stability of what is captured
    capture_factor: Growth = 1.3
    #: languages whose rules are applied: ("en", "tr") and those that SPECTOR_LANGUAGES brings
    language: _Languages = _THERE

    def _check(self) -> None:
        self._ordered("create_below", "update_from")
        self._ordered("update_from", "reinforce_above")
        if self.boost_range[0] > self.boost_range[1]:
            raise InvalidInputError(
                f"Config.observe.boost_range is {shown(self.boost_range)}",
                hint="pass the least factor, then the greatest",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfig(Section):
    """What a session keeps in memory while it lasts."""

    NAME: ClassVar[str] = "session"

    #: raw inputs that the sensory buffer keeps
    sensory_capacity: Count = 512
    #: entries of the session buffer
    buffer_items: Count = 9
    #: minutes without use after which an entry counts 1/e
    buffer_scale_min: Positive = 30
    #: accesses from which an entry becomes a memory at the end
    promote_accesses: Whole = 2
    #: importance from which an entry becomes a memory at the end
    promote_importance: Share = 0.6
    #: budget of the zone of instructions
    system_tokens: Whole = 2048
    #: budget of the zone of the conversation
    active_tokens: Whole = 6144
    #: budget of the zone of recalled memories
    staging_tokens: Whole = 512
    #: best hits of a recall that go into staging
    stage: Whole = 3
    #: weight of importance where a zone makes room
    zone_importance: Share = 0.7
    #: weight of recency where a zone makes room
    zone_recency: Share = 0.3
    #: seconds without use after which a session ends
    idle_s: Positive = 14_400


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMConfig(Section):
    """What a chat model is asked, if there is one (``spector.open(llm=...)``)."""

    NAME: ClassVar[str] = "llm"

    #: steps in which it is used
    tasks: _Tasks = LLM_TASKS
    #: ask it for the intent of a cue
    route: bool = False
    #: seconds until a call counts as failed
    timeout_s: Positive = 20
    #: longest input, in characters
    max_input_chars: Count = 8000
