"""Steps that move memories between tiers or take them out of recall by age and use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from spector.knowledge.induction import members_of_shared_entities
from spector.layout import Flag, TierCode
from spector.search import Strengths
from spector.sleep.night import Mask, Night, Rows, Units, batches, has_flag
from spector.sleep.protection import AT_REST, Protection
from spector.sleep.retiring import retiring
from spector.sleep.steps.concepts import naming, patterns
from spector.write import Unit

__all__ = ["demote", "expire", "promote"]


def promote(night: Night, cursor: int) -> Units:
    """Episodes that proved useful move to the semantic tier, under their ids."""
    rows = night.memories.rows
    by_use, by_worth = _deserving(night, rows)
    due = rows[by_use | by_worth]
    held = has_flag(due, Flag.PINNED | Flag.IMMUTABLE)
    spared = {"pinned or immutable": int(held.sum())} if held.any() and not cursor else {}
    ids = due["id"][~held]
    used = set(rows["id"][by_use].tolist())

    def alter(fresh: Strengths) -> Mask:
        return np.logical_or(*_deserving(night, fresh.rows)) & ~has_flag(
            fresh.rows, Flag.PINNED | Flag.IMMUTABLE
        )

    for batch in batches(ids[ids > cursor], night.sleep.batch_records):
        yield Unit(
            ids=batch.tolist(),
            alter=alter,
            what="tier",
            to_tier="semantic",
            cursor=int(batch[-1]),
            seen=len(batch),
            skipped=spared,
            reasons={
                each: "used often" if each in used else "useful for long" for each in batch.tolist()
            },
        )
        spared = {}
    if spared:
        yield Unit(skipped=spared)
    if night.sleep.promote_by_entity == "move":
        yield from _moving(night)
    # concepts of shared entities, and the runs that patterns are about, if no later step finds them
    later = night.state.recent.get("steps", ())
    named = (yield from naming(night)) if "extract" not in later else None
    night.state.note(named or {})
    yield from patterns(night)
    return named


def _moving(night: Night) -> Iterator[Unit]:
    """Episodes of an entity that enough of them share move to the semantic tier."""
    sleep, rows = night.sleep, night.memories.rows
    with night.survey.knowledge() as reader:
        found = members_of_shared_entities(
            reader,
            entity_memories=sleep.promote_entity_memories,
            entity_sessions=sleep.promote_entity_sessions,
        )

    def may_move(rows: Rows) -> Mask:
        may: Mask = (
            (rows["tier"] == int(TierCode.EPISODIC))
            & ~has_flag(rows, Flag.PINNED | Flag.IMMUTABLE)
            & ((rows["flags"] & AT_REST) == 0)
        )
        return may

    ids = rows["id"][may_move(rows) & np.isin(rows["id"], np.array(sorted(found), np.int64))]
    for batch in batches(ids, sleep.batch_records):
        yield Unit(
            ids=batch.tolist(),
            alter=lambda fresh: may_move(fresh.rows),
            what="tier",
            to_tier="semantic",
            seen=len(batch),
            reason="share an entity",
        )


def _deserving(night: Night, rows: Rows) -> tuple[Mask, Mask]:
    """Episodes that are used often and have helped, and old ones of great utility."""
    sleep = night.sleep
    episodic = (rows["tier"] == int(TierCode.EPISODIC)) & ((rows["flags"] & AT_REST) == 0)
    often = (rows["access_count"] >= sleep.promote_accesses) & (
        rows["utility"] > np.float32(sleep.promote_accesses_utility)
    )
    lasting = (rows["utility"] >= np.float32(sleep.promote_utility)) & (
        night.age_days(rows) >= sleep.promote_age_days
    )
    return episodic & often, episodic & lasting


def demote(night: Night, cursor: int) -> Units:
    """Semantic memories that are neither used nor useful become dormant."""
    sleep, rows = night.sleep, night.memories.rows
    idle = (
        night.is_active(rows)
        & (rows["tier"] == int(TierCode.SEMANTIC))
        & (night.idle_days(rows) >= sleep.demote_idle_days)
        & (rows["utility"] < np.float32(sleep.demote_utility))
    )
    found = rows[idle]
    order = found[np.lexsort((found["id"], found["utility"]))]
    protection = Protection(night, rows)
    with night.survey.knowledge() as reader:
        free = protection.free(order, reader, floors=False, use=False)
    yield from retiring(night, free, "not used for long", protection.spared)
    return None


def expire(night: Night, cursor: int) -> Units:
    """Count what has ended, which recall leaves out already; dormant only if the config says so."""
    rows = night.memories.rows
    ended = night.is_active(rows) & (rows["until_ms"] <= night.started_ms)
    open_ones = has_flag(rows, Flag.UNRESOLVED)
    spared = {"ended": int(ended.sum()), "unresolved": int((ended & open_ones).sum())}
    held = has_flag(rows, Flag.PINNED | Flag.IMMUTABLE | Flag.FLASHBULB | Flag.UNRESOLVED)
    if night.sleep.expiry_action == "none":
        yield Unit(seen=spared["ended"], skipped=_some(spared))
        return None
    yield from retiring(night, rows[ended & ~held], "ended", {"unresolved": spared["unresolved"]})
    return None


def _some(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
