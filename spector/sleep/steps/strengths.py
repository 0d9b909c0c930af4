"""Steps that change strengths only: decay, emotion, replay, rehearsal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from spector.layout import Flag
from spector.search import Strengths
from spector.sleep.night import (
    DAY_MS,
    REHEARSED,
    Mask,
    Night,
    Rows,
    Units,
    batches,
    has_flag,
)
from spector.write import Unit

__all__ = ["decay", "emotion", "rehearse", "replay"]

#: what strengths do not fade of
_LASTING: Final = Flag.PINNED | Flag.IMMUTABLE | Flag.FLASHBULB
#: a cycle that is not asked for decay leaves shorter times to a later one, which does the same
_LEAST_DAYS: Final = 0.25
_EMOTION: Final = 1.05
_REPLAY: Final = 1.02


def decay(night: Night, cursor: int) -> Units:
    """Stability falls by category and tier; utility above 0.5 drifts down to it.

    It composes: ten cycles on ten days do the same as one after ten days.
    """
    since = night.state.decayed_ms
    if not night.named and since and night.started_ms - since < _LEAST_DAYS * DAY_MS:
        yield Unit(skipped={"not due": len(night.memories)})
        return None
    rows = night.memories.rows
    fades = ~has_flag(rows, _LASTING | Flag.DORMANT)
    ids = rows["id"][fades & (rows["id"] > cursor)]
    spared = {"protected or dormant": int((~fades).sum())} if not cursor else {}
    for batch in batches(ids, night.sleep.batch_records):
        yield Unit(
            ids=batch.tolist(),
            alter=lambda fresh: _decayed(night, since, fresh),
            packed=True,
            cursor=int(batch[-1]),
            seen=len(batch),
            skipped=spared,
            reason="decay",
        )
        spared = {}
    return {"decayed_ms": night.started_ms}


def _decayed(night: Night, since_ms: int, fresh: Strengths) -> Mask:
    rows, sleep = fresh.rows, night.sleep
    fades = ~has_flag(rows, _LASTING | Flag.DORMANT)
    days = np.maximum(night.started_ms - np.maximum(rows["recorded_ms"], since_ms), 0) / DAY_MS
    rate = night.by_category(sleep.category_rates, rows) * night.by_tier(
        sleep.tier_multipliers, rows
    )
    stability = rows["stability_days"].astype(np.float64)
    faded = np.maximum(sleep.min_stability_days, stability * np.exp(-rate * days))
    utility = rows["utility"].astype(np.float64)
    if sleep.utility_drift_up:
        drifted = utility + sleep.utility_drift * night.idle_days(rows) * (0.5 - utility)
        drifted = np.clip(drifted, np.minimum(utility, 0.5), np.maximum(utility, 0.5))
        drifted = np.where(days > 0, drifted, utility)
    else:
        drifted = 0.5 + (utility - 0.5) * np.exp(-sleep.utility_drift * days)
        drifted = np.where(utility > 0.5, drifted, utility)
    before = rows.copy()
    rows["stability_days"] = np.where(fades, np.minimum(stability, faded), stability)
    rows["utility"] = np.where(fades, drifted, utility)
    changed: Mask = (before["stability_days"] != rows["stability_days"]) | (
        before["utility"] != rows["utility"]
    )
    return changed


def emotion(night: Night, cursor: int) -> Units:
    """What was a shock is remembered better: stability of flashbulbs x1.05, once a day."""
    rows = night.memories.rows
    shining = has_flag(rows, Flag.FLASHBULB) & night.is_active(rows)
    last = night.state.recent.get("emotion_ms", 0)
    if last and night.started_ms - last < DAY_MS:
        yield Unit(skipped={"not due": int(shining.sum())})
        return None
    for batch in batches(rows["id"][shining & (rows["id"] > cursor)], night.sleep.batch_records):
        yield Unit(
            ids=batch.tolist(),
            alter=_grown(night, _EMOTION),
            cursor=int(batch[-1]),
            seen=len(batch),
            reason="flashbulb",
        )
    return {"recent": {"emotion_ms": night.started_ms}}


def replay(night: Night, cursor: int) -> Units:
    """Memories that were recalled together often, and lately: stability x1.02.

    The tags of sessions that are too old are dropped.
    """
    dropped = 0 if night.dry else night.tools.drop_expired_tags()
    if dropped:
        yield Unit(skipped={"expired tags dropped": dropped})
    last, least = night.state.recent.get("replayed_ms", 0), night.config.association
    with night.survey.knowledge() as reader:
        pairs = [
            row
            for row in reader.links("pair")
            if (row["n"] or 0) >= least.coactivation_from
            and last < (row["t_ms"] or 0)
            and (row["t_ms"] or 0) <= night.started_ms
        ]
    rows = night.memories.rows
    ids = np.array(sorted({each for row in pairs for each in (row["a"], row["b"])}), np.int64)
    awake = rows["id"][night.is_active(rows)]
    ids = ids[np.isin(ids, awake) & (ids > cursor)]
    for batch in batches(ids, night.sleep.batch_records):
        yield Unit(
            ids=batch.tolist(),
            alter=_grown(night, _REPLAY),
            cursor=int(batch[-1]),
            seen=len(batch),
            reason="recalled together",
        )
    return {"recent": {"replayed_ms": night.started_ms}}


def _grown(night: Night, factor: float) -> Callable[[Strengths], Mask]:
    """A change that multiplies the stability of active memories."""
    most = night.config.max_stability_days

    def alter(fresh: Strengths) -> Mask:
        rows = fresh.rows
        before = rows["stability_days"].copy()
        grown = np.minimum(before.astype(np.float64) * factor, most)
        rows["stability_days"] = np.where(night.is_active(rows), grown, before)
        changed: Mask = rows["stability_days"] != before
        return changed

    return alter


def rehearse(night: Night, cursor: int) -> Units:
    """The most valuable of the memories that are about to fade: stability x1.5.

    At most ``rehearse_most`` in 24 hours. No access is counted, and the last use stays.
    """
    sleep, rows = night.sleep, night.memories.rows
    done = night.changed_lately(REHEARSED)
    due = (
        night.is_active(rows)
        & (rows["importance"] >= np.float32(sleep.rehearse_min_importance))
        & (night.retention(rows) < sleep.rehearse_below)
        & ~np.isin(rows["id"], np.array(done, np.int64))
    )
    found = rows[due]
    chosen = _most_valuable(found)[: max(0, sleep.rehearse_most - len(done))]
    waiting = len(found) - len(chosen)
    for batch in batches(found["id"][chosen], sleep.batch_records):
        yield Unit(
            ids=batch.tolist(),
            alter=_grown(night, sleep.rehearse_factor),
            what=REHEARSED,
            seen=len(batch),
            skipped={"limit of a day": waiting} if waiting else {},
            reason="endangered",
        )
        waiting = 0
    if waiting:
        yield Unit(seen=waiting, skipped={"limit of a day": waiting})
    return {"tested_ms": night.started_ms}


def _most_valuable(rows: Rows) -> Any:
    """Positions by importance times utility, the greatest first; of equal ones the older first."""
    worth = rows["importance"].astype(np.float64) * rows["utility"]
    return np.lexsort((rows["id"], -worth))
