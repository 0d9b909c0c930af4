"""What a cycle of sleep does, with which thresholds and limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from spector.config.sections import (
    Amount,
    Count,
    Growth,
    Numbers,
    Positive,
    Range,
    Section,
    Share,
    Whole,
    Words,
)

__all__ = ["STEPS", "SleepConfig"]

#: the steps of a cycle, in their order
STEPS: Final = (
    "seal",
    "rhythm",
    "decay",
    "emotion",
    "replay",
    "promote",
    "demote",
    "rehearse",
    "expire",
    "compress",
    "extract",
    "consolidate",
    "deduplicate",
    "graph",
    "forget",
    "upkeep",
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
