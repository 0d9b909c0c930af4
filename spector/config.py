"""Everything that can be tuned about a store, in one frozen dataclass."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final, Literal, get_args

from spector.errors import InvalidInputError
from spector.messages import shown

__all__ = ["LAYOUTS", "MAX_PROBLEMS", "Config", "Layout"]

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
    {
        "default_importance", "default_confidence", "tombstone_ratio", "cache_entries",
        "cluster_records", "erase_after_s", "index_rows_per_recall", "recall_confidence",
        "abstain_below", "context_full", "context_abbreviated", "context_sure",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Limits, capacities and thresholds. Pass one to ``spector.open(config=...)``.

    Capacities are counted in records, sizes in bytes, times carry their unit in the name.
    """

    # partitions
    episodic_capacity: int = 10_000
    semantic_capacity: int = 10_000
    procedural_capacity: int = 500
    #: of each user; memories without one share as many
    working_capacity: int = 100
    #: users with working memories; of more, those of the user who wrote longest ago make room
    working_users: int = 1000
    #: a file begins with a page, and grows by a quarter of its size, but never by less than this
    min_extent_bytes: int = 16 * 1024
    #: ... and never by more than this
    max_extent_bytes: int = 16 * 1024 * 1024

    #: read every page of a partition before recalls look at it: a sector that the disk cannot read
    #: is then an error when the store is opened, and not the end of the process (SIGBUS). Opening
    #: takes as long as reading all vectors
    guard_reads: bool = False

    # limits on what a caller may store
    max_text_bytes: int = 1024 * 1024
    #: a cue is embedded while somebody waits, some 100 ms for every 1,000 bytes of it; of a longer
    #: one the first sentence and the end are read
    max_cue_bytes: int = 16 * 1024
    max_tags: int = 64
    max_tag_bytes: int = 256
    max_metadata_bytes: int = 64 * 1024
    max_scope_bytes: int = 256
    max_parents: int = 1024

    # commit
    #: redo images kept in the journal before the partitions are synced and the journal emptied
    checkpoint_bytes: int = 16 * 1024 * 1024
    #: records that remember_many commits in one transaction
    batch_records: int = 8192

    # memory dynamics
    default_importance: float = 0.5
    default_confidence: float = 1.0
    #: days until retention falls to 1/e (Ebbinghaus); importance scales it by 0.5 .. 1.5
    initial_stability_days: float = 7.0
    #: arousal from which a memory is a flashbulb: pinned, importance >= 0.9, stability x 1.5
    flashbulb_arousal: float = 0.8
    #: added to stability for a successful reinforcement, times max(1, days since last access)
    stability_boost_days: float = 0.5
    #: a failed reinforcement multiplies stability by this
    stability_failure_factor: float = 0.7
    max_stability_days: float = 36_500.0
    #: step of the utility update: utility += rate * (target - utility)
    utility_rate: float = 0.1

    # recall
    #: in a store of no more memories a cue with words ranks every one of them by all evidence; in
    #: a larger one the best by score, the best by words and those around them in their sessions
    rank_all_records: int = 8192
    max_k: int = 10_000
    #: standard errors that the bound of an estimated cosine adds before it rules a memory out;
    #: 0 estimates nothing. docs/manual.md has recall against time.
    recall_confidence: float = 2.5

    # context
    #: probability of an answer below which ``context`` and ``recall(selective=True)`` say nothing;
    #: 0 always says something
    abstain_below: float = 0.35
    #: relevance from which a memory is quoted in full, and from which it is quoted at all; the
    #: second is for questions of fact, three quarters of it for situations and requests
    context_full: float = 0.7
    context_abbreviated: float = 0.55
    #: probability of an answer below which ``context`` and ``recall(selective=True)`` keep the two
    #: best memories at most; above it as many more as the odds are better. A belief (semantic tier)
    #: counts half. 0 keeps all that stand out
    context_sure: float = 0.75

    # scan index
    #: a smaller partition is scanned straight
    index_min_rows: int = 64
    #: missing or outdated indexes are built by recalls, at most so many records each; the records
    #: that have to wait are scanned straight. 0: they wait for reflect
    index_rows_per_recall: int = 20_000

    # embedding cache
    cache_entries: int = 4096
    cache_ttl_s: float = 1800.0

    # sleep
    tombstone_ratio: float = 0.30
    #: seconds after which the next reflect (and so the daemon) erases from every file what was
    #: forgotten or replaced; 0: each one does. It rewrites the catalog, and writers wait for that
    erase_after_s: float = 86_400.0
    reflect_interval_s: float = 300.0
    reflect_after_writes: int = 1000
    #: one cycle begins to put no further partition in order after this many records; 0 never does
    cluster_records: int = 100_000
    #: smaller partitions stay in the order of time; the default is two blocks of the scan index
    cluster_min_records: int = 1024

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, bool):
                if not isinstance(value, bool):
                    raise InvalidInputError(
                        f"Config.{field.name} is {shown(value)}", hint="pass True or False"
                    )
                continue
            zero_is_fine = field.name in _MAY_BE_ZERO
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            # a field that counts something was given its default as an int
            whole = isinstance(field.default, int)
            if not number or not math.isfinite(value) or value < 0 or (
                value == 0 and not zero_is_fine
            ):
                raise InvalidInputError(
                    f"Config.{field.name} is {shown(value)}",
                    hint=f"pass {'0 or ' if zero_is_fine else ''}"
                    f"a positive {'integer' if whole else 'number'}",
                )
            if whole and not isinstance(value, int):
                raise InvalidInputError(
                    f"Config.{field.name} is {shown(value)}",
                    hint="pass an integer: it counts something",
                )
        if self.recall_confidence > MAX_CONFIDENCE:
            raise InvalidInputError(
                f"Config.recall_confidence is {shown(self.recall_confidence)}",
                hint=f"pass a number in 0..{MAX_CONFIDENCE:g}; 3 misses next to nothing",
            )
        for name in (
            "default_importance", "default_confidence", "tombstone_ratio", "utility_rate",
            "stability_failure_factor", "abstain_below", "context_full", "context_abbreviated",
            "context_sure",
        ):
            if getattr(self, name) > 1:
                raise InvalidInputError(
                    f"Config.{name} is {shown(getattr(self, name))}", hint="pass a number in 0..1"
                )
