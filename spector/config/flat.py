"""``Config``: limits, capacities and thresholds, and the sections for what a memory thinks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import tzinfo
from typing import Any, Final, Literal, Self, get_args

from spector.clock import zone_named
from spector.config.settings import (
    AssociationConfig,
    KnowledgeConfig,
    LLMConfig,
    ObserveConfig,
    Section,
    SessionConfig,
    SleepConfig,
)
from spector.errors import InvalidInputError
from spector.messages import refuse_unknown, shown

#: how a context is laid out: "compact" for few tokens, "full" with id, time and origin in each line
Layout = Literal["compact", "full"]
LAYOUTS: Final[tuple[Layout, ...]] = get_args(Layout)
#: of more than this many problems the rest is only counted, unless all are asked for: a ruined
#: partition has as many as it has records
MAX_PROBLEMS: Final = 1000

#: standard errors; beyond a handful an estimate rules nothing out
MAX_CONFIDENCE = 100.0
#: no importance, no confidence, compact every tombstone, no embedding cache, never reorder, erase
#: at every reflect, no building of indexes
_MAY_BE_ZERO = frozenset(
    """default_importance default_confidence tombstone_ratio cache_entries cluster_records
    erase_after_s index_rows_per_recall recall_confidence abstain_below context_full
    context_abbreviated context_sure""".split()
)
#: fields of at most 1
_SHARES = """default_importance default_confidence tombstone_ratio utility_rate
stability_failure_factor abstain_below context_full context_abbreviated context_sure""".split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Limits, capacities and thresholds. Pass one to ``spector.open(config=...)``.

    Capacities are counted in records, sizes in bytes, times carry their unit in the name. A section
    is a frozen dataclass of its own: ``Config(sleep=SleepConfig(undo_days=30))``.
    """

    # partitions
    #: records of a partition of the episodic tier
    episodic_capacity: int = 10_000
    #: records of a partition of the semantic tier
    semantic_capacity: int = 10_000
    #: records of a partition of the procedural tier
    procedural_capacity: int = 500
    #: working memories kept per user; memories without a user share one ring of as many
    working_capacity: int = 100
    #: users with working memories; beyond that, the user who wrote longest ago makes room
    working_users: int = 1000
    #: least bytes by which a file grows; otherwise it grows by a quarter of its size
    min_extent_bytes: int = 16 * 1024
    #: most bytes by which a file grows at once
    max_extent_bytes: int = 16 * 1024 * 1024
    #: read every page of a partition when the store is opened, so that an unreadable sector is an
    #: error then and not a SIGBUS during a recall. Opening takes as long as reading all vectors
    guard_reads: bool = False

    # limits on what a caller may store
    #: longest text, in UTF-8
    max_text_bytes: int = 1024 * 1024
    #: longest cue that is embedded whole, at about 100 ms per 1,000 bytes. Of a longer one the
    #: first sentence and the end are read
    max_cue_bytes: int = 16 * 1024
    #: tags of a memory
    max_tags: int = 64
    #: longest tag, in UTF-8
    max_tag_bytes: int = 256
    #: metadata of a memory, as JSON
    max_metadata_bytes: int = 64 * 1024
    #: attachment of a memory: its bytes, or its JSON
    max_attachment_bytes: int = 4 * 1024 * 1024
    #: longest user, agent or session id
    max_scope_bytes: int = 256
    #: parents of a memory
    max_parents: int = 1024

    # commit
    #: redo images kept in the journal before the partitions are synced and the journal is emptied
    checkpoint_bytes: int = 16 * 1024 * 1024
    #: records that remember_many commits in one transaction
    batch_records: int = 8192

    # memory dynamics
    #: importance of a memory that is given none
    default_importance: float = 0.5
    #: confidence of a memory that is given none
    default_confidence: float = 1.0
    #: days until retention falls to 1/e (Ebbinghaus); importance scales it by 0.5 to 1.5
    initial_stability_days: float = 7.0
    #: importance scales the first stability; False gives every memory the same
    stability_by_importance: bool = True
    #: arousal from which a memory is a flashbulb: pinned, importance >= 0.9, stability x 1.5
    flashbulb_arousal: float = 0.8
    #: added to stability by a successful reinforcement, times max(1, days since last access)
    stability_boost_days: float = 0.5
    #: factor of stability for a failed reinforcement
    stability_failure_factor: float = 0.7
    #: upper limit of stability
    max_stability_days: float = 36_500.0
    #: step of the utility update: utility += rate * (target - utility)
    utility_rate: float = 0.1

    # recall
    #: how recall ranks where ``spector.open`` is given no profile
    profile: str = "balanced"
    #: stores of up to this many memories are ranked whole, by all evidence. In a larger one the
    #: candidates are the best by score, the best by words, and their neighbours in the session
    rank_all_records: int = 8192
    #: largest k
    max_k: int = 10_000
    #: standard errors added to an estimated cosine before it rules a memory out; 0 estimates
    #: nothing. docs/performance.md has recall against time
    recall_confidence: float = 2.5

    # context
    #: probability of an answer below which ``context`` and ``recall(selective=True)`` abstain;
    #: 0 never abstains
    abstain_below: float = 0.35
    #: relevance from which a memory is quoted in full
    context_full: float = 0.7
    #: relevance from which a memory is quoted at all, for questions of fact; three quarters of it
    #: for situations and requests
    context_abbreviated: float = 0.55
    #: probability of an answer below which ``context`` and ``recall(selective=True)`` keep at most
    #: the two best memories; above it, as many more as the odds are better. A memory of the
    #: semantic tier counts half. 0 keeps all that stand out
    context_sure: float = 0.75

    # scan index
    #: a smaller partition has no index and is scanned straight
    index_min_rows: int = 64
    #: most records that one recall indexes when indexes are missing or outdated; the others are
    #: scanned straight meanwhile. 0 leaves all of it to reflect
    index_rows_per_recall: int = 20_000

    # embedding cache
    #: vectors of recent cues and texts kept in memory; 0 keeps none
    cache_entries: int = 4096
    #: seconds for which one is kept
    cache_ttl_s: float = 1800.0

    # sleep
    #: share of tombstones from which reflect compacts a partition
    tombstone_ratio: float = 0.30
    #: seconds after which the next reflect (and so the daemon) erases from every file what was
    #: forgotten or replaced; 0: every reflect does. Writers wait while the catalog is rewritten
    erase_after_s: float = 86_400.0
    #: seconds between two cycles of the daemon
    reflect_interval_s: float = 300.0
    #: writes after which the daemon begins a cycle earlier
    reflect_after_writes: int = 1000
    #: records after which a cycle reorders no further partition; 0 never reorders
    cluster_records: int = 100_000
    #: smaller partitions keep the order of time; the default is two blocks of the scan index
    cluster_min_records: int = 1024

    # time
    #: zone of the days that words like "tomorrow" name and of hours of the day: a name ("UTC",
    #: "Europe/Istanbul"), an offset ("+03:00") or a tzinfo
    timezone: str | tzinfo = "UTC"

    # sections
    #: how messages become memories
    observe: ObserveConfig = ObserveConfig()
    #: what a session keeps
    session: SessionConfig = SessionConfig()
    #: facts, concepts and the graph
    knowledge: KnowledgeConfig = KnowledgeConfig()
    #: what knowledge adds to a recall
    association: AssociationConfig = AssociationConfig()
    #: what a cycle of sleep does
    sleep: SleepConfig = SleepConfig()
    #: what a chat model is asked
    llm: LLMConfig = LLMConfig()

    @classmethod
    def preset(cls, name: str = "spector", **changes: Any) -> Self:
        """The configuration of a design, with changes of your own.

        Args:
            name: "spector" (the defaults), "v9" (Cognitive Memory v9: bands of likeness, rewriting
                and merging), "ucma" (Unified Cognitive Memory Architecture: a first stability of a
                day, forgetting erases), or "maxim" (MAXIM: concepts at first sight).
            **changes: fields of Config. A mapping for a section changes single fields of it:
                ``Config.preset("v9", observe={"min_chars": 1})``.

        Raises:
            InvalidInputError: There is no such preset, or a value is out of range.
            UnknownArgumentError: There is no such field.
        """
        if not isinstance(name, str) or name not in PRESETS:
            raise InvalidInputError(
                f"there is no preset {shown(name)}", hint=f"there are {', '.join(PRESETS)}"
            )
        kinds: dict[str, Any] = {each.name: type(each.default) for each in fields(cls)}
        refuse_unknown(changes, kinds, "Config.preset")
        values: dict[str, Any] = {}
        for some in (PRESETS[name], changes):
            for each, value in some.items():
                if issubclass(kinds[each], Section) and isinstance(value, Mapping):
                    section = values.get(each, kinds[each]())
                    known = [one.name for one in fields(section)]
                    refuse_unknown(value, known, kinds[each].__name__)
                    value = replace(section, **value)
                values[each] = value
        return cls(**values)

    @property
    def zone(self) -> tzinfo:
        """The time zone that ``timezone`` names."""
        return zone_named(self.timezone, "Config.timezone")

    def __post_init__(self) -> None:
        for each in fields(self):
            value, default = getattr(self, each.name), each.default
            if value is not default and each.name != "timezone":
                _check(each.name, value, default)
        if self.recall_confidence > MAX_CONFIDENCE:
            raise InvalidInputError(
                f"Config.recall_confidence is {shown(self.recall_confidence)}",
                hint=f"pass a number in 0..{MAX_CONFIDENCE:g}; 3 misses next to nothing",
            )
        for name in _SHARES:
            if getattr(self, name) > 1:
                raise InvalidInputError(
                    f"Config.{name} is {shown(getattr(self, name))}", hint="pass a number in 0..1"
                )
        if self.timezone != "UTC":
            zone_named(self.timezone, "Config.timezone")


def _check(name: str, value: Any, default: Any) -> None:
    """Refuse a value that a field of this default cannot have."""
    if isinstance(default, Section):
        wanted: type = type(default)
        hint = f"write it like {name}=spector.{wanted.__name__}(...)"
    elif isinstance(default, (bool, str)):
        wanted = type(default)
        hint = "pass True or False" if wanted is bool else "pass a str"
    else:
        _check_number(name, value, whole=isinstance(default, int))
        return
    if not isinstance(value, wanted):
        raise InvalidInputError(f"Config.{name} is {shown(value)}", hint=hint)


def _check_number(name: str, value: Any, *, whole: bool) -> None:
    """Refuse a negative number and anything that is not a number; what counts has an integer."""
    zero_is_fine = name in _MAY_BE_ZERO
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0 or (value == 0 and not zero_is_fine):
        raise InvalidInputError(
            f"Config.{name} is {shown(value)}",
            hint=f"pass {'0 or ' if zero_is_fine else ''}"
            f"a positive {'integer' if whole else 'number'}",
        )
    if whole and not isinstance(value, int):
        raise InvalidInputError(
            f"Config.{name} is {shown(value)}", hint="pass an integer: it counts something"
        )


# The values with which the designs that spector learned from would run.

#: a memory is looked for among the eight nearest by likeness, and nothing limits what is retired
_BANDS: Final[Mapping[str, Any]] = {"gate_by": "bands", "gate_neighbours": 8}

#: name -> flat fields, and fields by section, that differ from the defaults
PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "spector": {},
    # Cognitive Memory v9
    "v9": {
        "profile": "cognitive",
        "context_abbreviated": 0.4,
        "observe": {
            **_BANDS,
            "rewrite": True,
            "on_update": "merge",
            "reward_prior": False,
            "exclamation": 0.2,
            "confidence": "class",
            "entity_by": "mention",
        },
        "knowledge": {"edges_per_memory": 0},
        "sleep": {
            "order": "v9",
            "utility_drift_up": True,
            "promote_accesses_utility": 0.0,
            "promote_entity_memories": 3,
            "promote_entity_sessions": 1,
            "promote_by_entity": "move",
            "cluster_min_importance": 0.0,
            "forget_contradicted": True,
            "blast_radius": 1.0,
            "capacity_active": 500,
            "capacity_trim": 450,
            "expiry_action": "dormant",
        },
    },
    # Unified Cognitive Memory Architecture
    "ucma": {
        "profile": "ucma",
        "initial_stability_days": 1.0,
        "stability_by_importance": False,
        "observe": {**_BANDS, "importance": "ucma"},
        "association": {"expand": True, "min_similarity": 0.50},
        "sleep": {
            "retention_curve": "ebbinghaus",
            "compress_below": "forget",
            "forget_max_importance": 1.0,
            "blast_radius": 1.0,
            "forget_action": "forget",
        },
    },
    # MAXIM
    "maxim": {
        "observe": {**_BANDS},
        "sleep": {"promote_entity_memories": 1, "promote_entity_sessions": 1, "blast_radius": 1.0},
    },
}
