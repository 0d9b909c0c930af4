"""Knowledge as callers receive it: facts, entities, procedures, edges, statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from spector.records.details import AsJson

if TYPE_CHECKING:
    from spector.records.memory import MemoryRecord


# Knowledge as callers see it: edges, what a walk reaches, kinds of relations, statistics.


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationKind(AsJson):
    """One kind of edge: how it reads from the other end, and whether it may be pruned."""

    name: str
    #: both ends say the same of each other; stored once, from the smaller id
    symmetric: bool = False
    #: its name seen from the target (``causes``: ``caused_by``)
    inverse: str | None = None
    #: weak links of this kind may go when a scope has too many
    prunable: bool = False
    #: of the prunable kinds the lowest goes first
    priority: int = 0
    #: ``builtin``, or who registered it
    origin: str = "builtin"


def _kinds() -> tuple[RelationKind, ...]:
    def plain(*names: str) -> Iterable[RelationKind]:
        return (RelationKind(name=each) for each in names)

    return (
        RelationKind(name="related_to", symmetric=True, prunable=True, priority=0),
        RelationKind(name="similar_to", symmetric=True, prunable=True, priority=0),
        RelationKind(name="same_entity", symmetric=True, prunable=True, priority=1),
        RelationKind(name="elaborates", prunable=True, priority=2),
        RelationKind(name="supersedes"),
        RelationKind(name="contradicts", symmetric=True),
        RelationKind(name="may_change", inverse="may_have_changed_to"),
        RelationKind(name="causes", inverse="caused_by"),
        RelationKind(name="followed_by", inverse="preceded_by"),
        RelationKind(name="supports", inverse="supported_by"),
        RelationKind(name="has_part", inverse="part_of"),
        *plain("is_a", "property_of", "predicts", "phase_locked_to"),
        RelationKind(name="trends_with", symmetric=True),
        RelationKind(name="correlates_with", symmetric=True),
        *plain("derived_from", "instance_of", "statistically_confirms", "quantifies"),
        *plain("computed_from", "informs", "associates"),
        RelationKind(name="temporally_correlates", symmetric=True),
    )


#: kinds that every store knows
BUILTIN_KINDS: Final = _kinds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge(AsJson):
    """A typed, weighted link from one memory to another."""

    source: int
    target: int
    kind: str
    #: strength in (0, 1]
    weight: float = 1.0
    #: how sure its maker was, in [0, 1]; the weight where nothing else was said
    confidence: float = 1.0
    #: what made it: ``user``, ``relate``, ``gate``, ``supersedes``, ``parents``, ...
    origin: str = "user"
    created_at: datetime | None = None
    note: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Reached:
    """A memory that a walk reached: the greatest product of weights, and that path's edges."""

    id: int
    weight: float
    hops: int


@dataclass(frozen=True, slots=True)
class Activation(Mapping[str, list[tuple[int, float]]]):
    """What spreading activation reached, by layer, strongest first, without the seeds."""

    layers: Mapping[str, list[tuple[int, float]]] = field(default_factory=dict)

    def __getitem__(self, layer: str) -> list[tuple[int, float]]:
        return self.layers[layer]

    def __iter__(self) -> Iterator[str]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What a series of numbers looks like, and whether it may be chance."""

    n: int
    mean: float
    #: of the sample (n - 1); 0 below two values
    std: float
    min: float
    max: float
    #: least squares over the days that were given, 0 without
    slope_per_day: float
    #: share of the variance that the slope explains, in [0, 1]
    r2: float
    #: the order of the values says nothing (runs test about the median, 5 %)
    is_random: bool
    #: there are enough values to judge; with fewer ``is_random`` is False
    enough: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRecord(AsJson):
    """A statement as subject, predicate and object, and the memories that state it."""

    id: int
    #: 32 hex digits: equal for equal triples in every store
    key: str
    subject: str
    predicate: str
    object: str
    text: str
    #: in [0, 1]; grows with every further source
    confidence: float
    #: ids of the memories that state it, the first first
    sources: tuple[int, ...] = ()
    created_at: datetime
    last_verified: datetime
    #: False for one that a newer fact has taken the place of
    holds: bool = True
    record: MemoryRecord


@dataclass(frozen=True, slots=True)
class FactEdge:
    """A fact as one step of a traversal."""

    subject: str
    predicate: str
    object: str
    fact_id: int
    hops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity(AsJson):
    """A person, organisation, place or thing that memories mention."""

    id: int
    #: ``entity://person/ada-lovelace``
    uri: str
    name: str
    type: str
    #: memories that mention it
    mentions: int = 0
    aliases: tuple[str, ...] = ()
    #: event time of the newest mention
    last_seen: datetime | None = None
    user_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadReport(AsJson):
    """What reading memories made known."""

    #: ids of the memories that were read
    ids: tuple[int, ...] = ()
    #: the facts that they state: new ones, and known ones that they confirm
    facts: tuple[FactRecord, ...] = ()
    #: reason -> memories that were left out: ``derived``, ``superseded``
    skipped: Mapping[str, int] = field(default_factory=dict)
    #: memories for which a model failed, so that the rules decided
    fallbacks: int = 0

    @property
    def fallback(self) -> bool:
        """A model failed, and the rules took its place."""
        return self.fallbacks > 0


@dataclass(frozen=True, slots=True)
class Step(AsJson):
    """One step of a procedure."""

    description: str
    _: KW_ONLY
    step_id: str | None = None
    action_type: Literal["llm_reasoning", "tool_call", "condition"] = "llm_reasoning"
    action: Mapping[str, Any] = field(default_factory=dict)
    success_criteria: str = ""
    on_failure: Literal["retry", "skip", "abort", "escalate"] = "retry"
    max_retries: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure(AsJson):
    """How something is done, and how often that has worked."""

    id: int
    name: str
    description: str = ""
    steps: tuple[Step, ...] = ()
    #: tags of the situations that it is for
    triggers: tuple[str, ...] = ()
    status: Literal["draft", "active", "deprecated"] = "draft"
    #: share of executions that succeeded, in [0, 1]
    success_rate: float = 0.0
    executions: int = 0
    last_used: datetime | None = None
    #: step -> how often it failed
    failed_steps: Mapping[str, int] = field(default_factory=dict)
    record: MemoryRecord

    def score(self, trust: int = 10) -> float:
        """Success rate, less while there are fewer than ``trust`` executions."""
        return self.success_rate * min(self.executions / trust, 1.0)


class LearningType(StrEnum):
    """What a learning is drawn from."""

    FAILURE_ANALYSIS = "failure_analysis"
    SUCCESS_PATTERN = "success_pattern"
    STRATEGY_UPDATE = "strategy_update"
    SELF_CORRECTION = "self_correction"
    USER_PREFERENCE = "user_preference"
    DOMAIN_INSIGHT = "domain_insight"


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning(AsJson):
    """An insight, how sure it is, and whether it has proved itself."""

    id: int
    insight: str
    #: its first 80 characters
    title: str
    type: LearningType
    confidence: float = 0.5
    impact: float = 0.5
    applies_to: tuple[str, ...] = ()
    validated: bool = False
    applications: int = 0
    last_applied: datetime | None = None
    record: MemoryRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept(AsJson):
    """What several memories have in common, and which memories these are."""

    id: int
    name: str
    category: str = "object"
    definition: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    provenance: str = "episodic_consolidation"
    #: ``0.5 + 0.1 sqrt(reinforcement_count)``, at most 0.99
    confidence: float = 0.5
    reinforcement_count: int = 0
    #: layer -> ids of its memories in the order in which they came, at most 200
    memory_refs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    record: MemoryRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic(AsJson):
    """A number about a concept or a tool, in words and in values."""

    _OF_RECORD: ClassVar[tuple[str, ...]] = ()

    id: int
    concept_id: int | None
    name: str
    category: Literal["summary", "pattern"]
    domain: Literal["concept_grounding", "operations"]
    values: Mapping[str, float]
    text: str
    code: str = ""
    confidence: float = 0.5
    computed_at: datetime
    record: MemoryRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode(AsJson):
    """Details of an experience: what was perceived, wanted and decided, and what came of it."""

    objects: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    goal: str | None = None
    context: Mapping[str, Any] | None = None
    decision: str | None = None
    decision_confidence: float | None = None
    tool: str | None = None
    success: bool | None = None
    salience: float | None = None
    novelty: float | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Percept:
    """What is perceived and wanted now, to be completed from experience."""

    objects: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    goal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedOutcome:
    """What happened in an episode like the present one."""

    tool: str
    success: bool | None
    goal: str | None
    confidence: float
    source_episode_id: int
    #: statistics of the concepts that matched: name -> verbal form
    math_context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionCandidate:
    """A pattern that a source has found and that may become a concept."""

    pattern_name: str
    #: of the concept: ``causal_pattern``, ``operational_pattern``, or one of the source's own
    category: str
    #: in [0, 1]
    confidence: float
    #: the memories that show it, all of one user
    source_memory_ids: tuple[int, ...]
    #: becomes properties of the concept: texts, numbers, lists
    metadata: Mapping[str, Any] = field(default_factory=dict)
