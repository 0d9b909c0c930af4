"""Steps that change strengths, move memories between tiers, or put them to rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.knowledge import KnowledgeReader, members_of_shared_entities
from spector.language.observing import keep_scores
from spector.language.statements import ASSISTANTS
from spector.layout import Category, Flag, TierCode
from spector.search import Strengths, SurveyedText
from spector.sleep.learning import naming, patterns
from spector.sleep.night import (
    DAY_MS,
    REHEARSED,
    Mask,
    Night,
    Rows,
    Units,
    among,
    has_flag,
    in_units,
    texts_of,
)
from spector.sleep.protection import AT_REST, Protection, guessed_preferences, retiring
from spector.write import Unit

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
    yield from in_units(
        night,
        rows["id"][fades],
        cursor,
        {"protected or dormant": int((~fades).sum())} if not cursor else {},
        alter=lambda fresh: _decayed(night, since, fresh),
        packed=True,
        reason="decay",
    )
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
    alter = _grown(night, _EMOTION)
    yield from in_units(night, rows["id"][shining], cursor, alter=alter, reason="flashbulb")
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
    ids = ids[np.isin(ids, rows["id"][night.is_active(rows)])]
    alter = _grown(night, _REPLAY)
    yield from in_units(night, ids, cursor, alter=alter, reason="recalled together")
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
        & ~among(rows, done)
    )
    found = rows[due]
    chosen = _most_valuable(found)[: max(0, sleep.rehearse_most - len(done))]
    waiting = len(found) - len(chosen)
    spared = {"limit of a day": waiting} if waiting else {}
    alter, why = _grown(night, sleep.rehearse_factor), "endangered"
    ids = found["id"][chosen]
    yield from in_units(night, ids, None, spared, alter=alter, what=REHEARSED, reason=why)
    if spared and not len(ids):
        yield Unit(seen=waiting, skipped=spared)
    return {"tested_ms": night.started_ms}


def _most_valuable(rows: Rows) -> Any:
    """Positions by importance times utility, the greatest first; of equal ones the older first."""
    worth = rows["importance"].astype(np.float64) * rows["utility"]
    return np.lexsort((rows["id"], -worth))


# Steps that move memories between tiers or take them out of recall by age and use.


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

    reasons = {each: "used often" if each in used else "useful for long" for each in ids.tolist()}
    moves = {"alter": alter, "what": "tier", "to_tier": "semantic"}
    yield from in_units(night, ids, cursor, spared, reasons=reasons, **moves)
    if spared and not len(ids):
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
        shared = sleep.promote_entity_memories, sleep.promote_entity_sessions
        found = members_of_shared_entities(reader, shared)

    def may_move(rows: Rows) -> Mask:
        held = has_flag(rows, AT_REST | Flag.PINNED | Flag.IMMUTABLE)
        may: Mask = (rows["tier"] == int(TierCode.EPISODIC)) & ~held
        return may

    ids = rows["id"][may_move(rows) & among(rows, found)]
    yield from in_units(
        night,
        ids,
        alter=lambda fresh: may_move(fresh.rows),
        what="tier",
        to_tier="semantic",
        reason="share an entity",
    )


def _deserving(night: Night, rows: Rows) -> tuple[Mask, Mask]:
    """Episodes that are used often and have helped, and old ones of great utility."""
    sleep = night.sleep
    episodic = (rows["tier"] == int(TierCode.EPISODIC)) & ~has_flag(rows, AT_REST)
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
        yield Unit(seen=spared["ended"], skipped={n: count for n, count in spared.items() if count})
        return None
    yield from retiring(night, rows[ended & ~held], "ended", {"unresolved": spared["unresolved"]})
    return None


# The forgetting engine: five rules, protections, and the limit of a day.


def forget(night: Night, cursor: int) -> Units:
    """Let dull and unused memories sleep, those that say least first.

    Rules in their order: contradiction (if the config says so), utility, retention, redundancy
    (which its own step finds), the budget of a user.
    """
    rows = night.memories.rows
    protection = Protection(night, rows)
    active = rows[night.is_active(rows)]
    with night.survey.knowledge() as reader:
        contradicted = _contradicted(night, active, reader)
        dull, why = _dull(night, active, reader)
        free = protection.of_headers(dull, floors=True, use=True)
        dull = dull[free]
        if night.sleep.forget_max_importance < 1.0:
            faded = [each for each in dull["id"].tolist() if why[each] == "faded"]
            said = protection.of_users(faded, reader)
            dull = dull[~among(dull, said)]
        texts = texts_of(night, dull["id"].tolist())
        dull = ordered(dull, texts, reader)
        kept = protection.of_knowledge(dull["id"].tolist(), texts, reader)
        dull = dull[~among(dull, kept)]
        over = over_budget(night, active, dull, protection, reader)
    reasons = {**over.reasons, **{each: why[each] for each in dull["id"].tolist()}}
    chosen = np.concatenate([contradicted, dull, over.rows[~np.isin(over.rows["id"], dull["id"])]])
    reasons |= dict.fromkeys(contradicted["id"].tolist(), "contradicted by a newer one")
    yield from retiring(
        night,
        chosen,
        reasons,
        protection.spared,
        waiting=over.waiting,
        erases=night.sleep.forget_action == "forget",
    )
    return None


def _dull(night: Night, active: Rows, reader: KnowledgeReader) -> tuple[Rows, dict[int, str]]:
    """Memories that the rules of utility and retention name, and which of the two did."""
    sleep = night.sleep
    useless = (active["utility"] < np.float32(sleep.utility_floor)) & (
        night.idle_days(active) >= sleep.utility_unused_days
    )
    threshold = np.full(len(active), sleep.forget_below)
    for n, confidence in _confidences(active, reader).items():
        threshold[n] = sleep.forget_below / max(confidence, 0.10)
    unimportant = active["importance"] < np.float32(sleep.forget_max_importance)
    if sleep.forget_max_importance >= 1.0:
        unimportant[:] = True
    faded = unimportant & (night.retention(active) < threshold)
    why = dict.fromkeys(active["id"][useless].tolist(), "useless")
    why |= dict.fromkeys(active["id"][faded & ~useless].tolist(), "faded")
    return active[useless | faded], why


def _confidences(active: Rows, reader: KnowledgeReader) -> dict[int, float]:
    """Confidence of facts, by their position."""
    of_facts = active["category"] == int(Category.FACT)
    ids = active["id"][of_facts].tolist()
    known = {row["id"]: row["confidence"] for row in reader.facts(id=ids)} if ids else {}
    places = np.flatnonzero(of_facts).tolist()
    return {n: known[each] for n, each in zip(places, ids, strict=True) if each in known}


def _contradicted(night: Night, active: Rows, reader: KnowledgeReader) -> Rows:
    """The older of two memories of one kind of speaker that contradict each other."""
    if not night.sleep.forget_contradicted:
        return active[:0]
    living = {each: n for n, each in enumerate(active["id"].tolist())}
    edges = [
        each
        for each in reader.edges(list(living), kinds=["contradicts"])
        if each.source in living and each.target in living
    ]
    words = night.survey.words({end for each in edges for end in (each.source, each.target)})
    gone = set()
    for each in edges:
        pair = sorted(
            (each.source, each.target), key=lambda end: (int(active["event_ms"][living[end]]), end)
        )
        if len({_speaker(words.get(end)) for end in pair}) == 1:
            gone.add(pair[0])
    found = active[among(active, gone)]
    return found[Protection(night, active).of_headers(found, floors=False, use=False)]


def _speaker(words: SurveyedText | None) -> str | None:
    return None if words is None else words.role or "user"


# The budget of a user: of memories beyond it those rest that say least.

#: roles of what is answered: it goes before what persons said
_ANSWERING: Final = ASSISTANTS | {"tool", "document"}
#: texts that are read at once
_TEXTS: Final = 2_000
#: memories that are compared by what they say: so many, and so many times those that are to go
_CAREFUL, _TIMES_CAREFUL = 5_000, 3


class Over(NamedTuple):
    """Memories beyond the budget of their users, and why."""

    rows: Rows
    reasons: Mapping[int, str]
    #: how many more are too many, and wait for another day
    waiting: int = 0


def over_budget(
    night: Night, active: Rows, dull: Rows, protection: Protection, reader: KnowledgeReader
) -> Over:
    """Of users with more active memories than they may have, those that are worth least."""
    sleep = night.sleep
    if sleep.keep_share >= 1.0 and not sleep.capacity_active:
        return Over(active[:0], {})
    every = night.memories.rows
    kept_or_asleep = night.is_active(every) | has_flag(every, Flag.DORMANT)
    out: list[Rows] = []
    reasons: dict[int, str] = {}
    room, waiting = night.room_of_step(), 0
    for user in np.unique(active["user"]).tolist():
        mine = active[active["user"] == user]
        total = int((kept_or_asleep & (every["user"] == user)).sum())
        most = int(np.ceil(sleep.keep_share * total))
        if sleep.capacity_active and len(mine) > sleep.capacity_active:
            most = min(most, sleep.capacity_trim or sleep.capacity_active)
        excess = len(mine) - most - int((dull["user"] == user).sum())
        tonight = max(0, min(excess, room.get(user, 0)))
        waiting += max(0, excess) - tonight
        if not tonight:
            continue
        mine = mine[~np.isin(mine["id"], dull["id"])]
        found = _least_worth(night, mine, excess, tonight, protection, reader)
        out.append(found)
        reasons |= dict.fromkeys(found["id"].tolist(), "beyond the budget")
    return Over(np.concatenate(out) if out else active[:0], reasons, waiting)


def _least_worth(
    night: Night,
    mine: Rows,
    excess: int,
    most: int,
    protection: Protection,
    reader: KnowledgeReader,
) -> Rows:
    """Of the memories that are too many, those that say least, what rests tonight.

    What is to go and is younger than the floor of its category waits for it: nothing that says more
    goes in its place, or what was said last would stay for its age.

    Args:
        excess: how many are too many. most: of how many tonight.
    """
    if most <= 0:
        return mine[:0]
    floors = protection.floors(mine, guessed_preferences(night, mine, reader))
    free = protection.of_headers(mine, floors=np.isinf(floors), use=True)
    mine, floors = mine[free], floors[free]
    young = mine["id"][night.age_days(mine) < floors]
    if len(young) == len(mine):  # nothing is read for nothing
        protection.note_young(min(excess, len(young)))
        return mine[:0]
    if night.sleep.capacity_active and night.sleep.order == "v9":
        mine, young = mine[~np.isin(mine["id"], young)], young[:0]  # the limit is met at once
        order = np.lexsort((mine["id"], night.retention(mine), mine["utility"]))
        queue, texts = mine[order], None
    else:
        texts = texts_of(night, mine["id"].tolist())
        queue = _worst_first(mine, texts, most, reader)
    chosen: list[NDArray[np.void]] = []
    count = waiting = at = 0
    while count < most and count + waiting < excess and at < len(queue):
        part = queue[at : at + _TEXTS]
        at += _TEXTS
        ids = part["id"][~np.isin(part["id"], young)].tolist()  # the others are asked in their time
        known = texts_of(night, ids) if texts is None else texts
        kept = protection.of_knowledge(ids, known, reader)
        part = part[~among(part, kept)]
        part = part[: excess - count - waiting]
        waits = np.isin(part["id"], young)
        waiting += int(waits.sum())
        chosen.append(part[~waits][: most - count])
        count += len(chosen[-1])
    protection.note_young(waiting)
    return np.concatenate(chosen) if chosen else mine[:0]


def _worst_first(
    rows: Rows, texts: Mapping[int, SurveyedText], count: int, reader: KnowledgeReader
) -> Rows:
    """Memories by what they are worth; of very many only the short ones are read with care."""
    most = _CAREFUL + _TIMES_CAREFUL * count
    if len(rows) <= most:
        return ordered(rows, texts, reader)
    lengths = np.array(
        [len(texts[each].text) if each in texts else 0 for each in rows["id"].tolist()]
    )
    rows = rows[np.lexsort((rows["id"], lengths))]
    return np.concatenate([ordered(rows[:most], texts, reader), rows[most:]])


def ordered(rows: Rows, texts: Mapping[int, SurveyedText], reader: KnowledgeReader) -> Rows:
    """Memories by what they are worth, the least first; of equal ones the older first."""
    known = np.array([each in texts for each in rows["id"].tolist()], bool)
    worth = np.ones(len(rows))
    ids = rows["id"][known].tolist()
    said, observed = [texts[each] for each in ids], reader.payloads(ids, "observed")
    worth[known] = keep_scores(
        [each.text for each in said],
        rows["importance"][known].tolist(),
        [n for n, each in enumerate(said) if (each.role or "").casefold() in _ANSWERING],
        replies=[n for n, each in enumerate(ids) if observed.get(each, {}).get("reply")],
    )
    return rows[np.lexsort((rows["id"], rows["event_ms"], worth))]
