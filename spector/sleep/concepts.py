"""What sleep does for concepts: takes them over, grounds, relates, times and retires them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from spector.clock import zone_named
from spector.knowledge import (
    TIME_OF_DAY,
    Changes,
    ConceptUse,
    Figure,
    KnowledgeReader,
    concepts_to_ground,
    concepts_to_retire,
    experiences,
    figures_of,
    members_of_shared_entities,
    phases_of,
    plan_cooccurrence,
    plan_new_figures,
    plan_restated_figure,
    plan_rhythms,
    references_of,
    statistics_of,
)
from spector.layout import Category, Flag, TierCode
from spector.search import Strengths
from spector.sleep.night import Mask, Night, Rows, Units, among, has_flag, in_units, woken
from spector.sleep.protection import AT_REST, Protection, retiring
from spector.write import Prepared, Unit

#: episodes of which concepts are taken over in one commit, for which writers wait
_AT_ONCE: Final = 100
#: tries to take a run over, when a concept goes meanwhile
_TRIES: Final = 3


def rhythm(night: Night, cursor: int) -> Units:
    """Renew which concepts are used at one hour of the day."""
    zone = zone_named(night.config.timezone)
    by_user: dict[str, list[int]] = defaultdict(list)
    with night.survey.knowledge() as reader:
        concepts = sorted(reader.all_payloads("concept"))
        for each, owner in sorted(reader.owners(concepts).items()):
            by_user[owner.scope].append(each)
    size = night.sleep.batch_records
    for user, ids in sorted(by_user.items()):
        for start in range(0, len(ids), size):
            part = ids[start : start + size]

            def decide(
                reader: KnowledgeReader, now_ms: int, part: list[int] = part, user: str = user
            ) -> Changes:
                return plan_rhythms(reader, part, zone, now_ms, user)

            with night.survey.knowledge() as reader:
                found = decide(reader, night.started_ms)
            if not found:
                yield Unit(seen=len(part))
                continue
            fields: dict[str, Any] = {
                "tier": "semantic",
                "category": Category.ENTITY,
                "user_id": user or None,
                **night.vector_of(part),
            }
            yield Unit(
                prepared=[Prepared(TIME_OF_DAY[0], fields)],
                decide=decide,
                seen=len(part),
                reason="used at one hour of the day",
            )
    return None


def naming(night: Night) -> Units:
    """Take over what new episodes name as concepts, from where the last cycle ended."""
    if night.config.knowledge.extract == "off":
        return None
    left, after = night.sleep.records_per_cycle, night.state.extracted_id
    while left > 0:
        size = min(left, night.sleep.batch_records, _AT_ONCE)
        for _ in range(_TRIES):
            run = night.tools.concepts_after(after, size)
            yield Unit(
                prepared=run.prepared,
                decide=run.decide,
                ids=run.known,
                alter=woken,
                what="woken",
                noted=run.met,
                seen=run.named.memories,
                reason="named by episodes",
                state={} if run.is_stale else {"extracted_id": max(after, run.named.last_id)},
            )
            if not run.is_stale:
                break
        after, left = max(after, run.named.last_id), left - run.named.memories
        if run.named.memories < size:
            break
    return {"extracted_id": after}


def grounding(night: Night) -> Units:
    """Bring the statistics of concepts with new references up to date, and their relations."""
    since = night.state.recent.get("grounded_ms", 0)
    with night.survey.knowledge() as reader:
        due, met, newest = concepts_to_ground(reader, night.config.knowledge.ground_from, since)
        payloads = reader.payloads(sorted({*due, *met}), "concept")
    for each in sorted(payloads):
        if each in due:
            yield from _grounded(night, each, payloads[each]["name"])
        yield from _related(night, each)
    return {"recent": {"grounded_ms": newest}}


def _grounded(night: Night, concept: int, name: str) -> Iterable[Unit]:
    """Units that make or restate the statistics of a concept."""
    with night.survey.knowledge() as reader:
        episodes = references_of(reader, [concept]).get(concept, {}).get("episodes", ())
        known = experiences(
            reader,
            episodes,
            {
                int(row["id"]): (int(row["event_ms"]), float(row["importance"]), int(row["flags"]))
                for row in night.survey.of(episodes).rows
            },
        )
        stored = statistics_of(reader, [concept])
        user = reader.owners([concept])[concept].scope or None
    figures = figures_of(name, known, night.config.knowledge.ground_from)
    old = {values["code"]: each for each, values in stored.items()}
    ids = [each.id for each in known]
    for figure in figures:
        if figure.code in old:
            yield Unit(
                restates=old[figure.code],
                prepared=[Prepared(figure.text, {})],
                seen=1,
                decide=_restated(figure, old[figure.code], concept, ids),
                reason="grounded",
            )
    fresh = [each for each in figures if each.code not in old]
    if not fresh:
        return
    if night.made + len(fresh) > night.sleep.new_memories:
        yield Unit(skipped={"memories of a cycle": len(fresh)})
        return
    fields: dict[str, Any] = {
        "tier": "semantic",
        "category": Category.SUMMARY,
        "user_id": user,
        **night.vector_of(ids),
    }

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        living = [each for each in ids if each in reader.living(ids)]
        if not reader.payloads([concept], "concept") or not living:
            return Changes()
        return plan_new_figures(fresh, concept, living, now_ms)

    yield Unit(
        prepared=[Prepared(each.text, fields) for each in fresh],
        decide=decide,
        seen=len(fresh),
        reason="grounded",
    )


def _restated(
    figure: Figure, statistic: int, concept: int, episodes: Collection[int]
) -> Callable[[KnowledgeReader, int], Changes]:
    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        living = reader.living(episodes) & {*episodes}
        if not living:
            return Changes()
        return plan_restated_figure(reader, figure, statistic, concept, living, now_ms)

    return decide


def _related(night: Night, concept: int) -> Iterable[Unit]:
    """The unit that renews the ties of a concept to those with which it shares episodes."""
    least = night.config.knowledge.jaccard

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        if not reader.payloads([concept], "concept"):
            return Changes()
        return plan_cooccurrence(reader, concept, now_ms, least)

    with night.survey.knowledge() as reader:
        found = decide(reader, night.started_ms)
    if found:
        yield Unit(decide=decide, reason="episodes in common", noted=[concept])


def ageing(night: Night) -> Units:
    """Retire weak concepts that nothing has used for a month, and those that are too many.

    The time of day, which others are tied to, stays.
    """
    knowledge, rows = night.config.knowledge, night.memories.rows
    hour = datetime.fromtimestamp(night.started_ms / 1000, UTC).astimezone(
        zone_named(night.config.timezone)
    )
    with night.survey.knowledge() as reader:
        payloads = {
            each: values
            for each, values in reader.all_payloads("concept").items()
            if values["category"] != TIME_OF_DAY[1]
        }
        newest: dict[int, int] = {}
        for row in reader.links("reference:episodes") if payloads else ():
            newest[row["a"]] = max(newest.get(row["a"], 0), row["t_ms"] or 0)
        phases = phases_of(reader, list(payloads)) if payloads else {}
    mine = rows[~has_flag(rows, AT_REST) & among(rows, payloads)]
    by_user: dict[int, list[ConceptUse]] = defaultdict(list)
    for row in mine:
        each = int(row["id"])
        used = max(int(row["last_access_s"]) * 1000, int(row["recorded_ms"]), newest.get(each, 0))
        by_user[int(row["user"])].append(
            ConceptUse(
                each,
                payloads[each]["confidence"],
                used,
                bool(int(row["flags"]) & (Flag.PINNED | Flag.IMMUTABLE))
                or payloads[each]["category"] == TIME_OF_DAY[1],
                phases.get(each),
            )
        )
    gone: dict[int, str] = {}
    for _, uses in sorted(by_user.items()):
        gone |= concepts_to_retire(
            uses,
            night.started_ms,
            hour=hour.hour + hour.minute / 60,
            most=knowledge.max_concepts,
            max_age_days=knowledge.concept_max_age_days,
        )
    reasons = {"age": "a weak concept, not used for long", "capacity": "too many concepts"}
    found = mine[among(mine, gone)]
    yield from retiring(night, found, {each: reasons[why] for each, why in gone.items()}, {})
    return None


def patterns(night: Night) -> Units:
    """What causes success, which tools get worse, and what other sources have found."""
    for each in night.tools.promotions():
        if each.decide is None:
            yield Unit(seen=1, skipped={each.reason or "rejected": 1})
        else:
            texts = each.prepared if each.restates is None else [Prepared(each.name, {})]
            yield Unit(
                seen=1,
                prepared=texts,
                decide=each.decide,
                restates=each.restates,
                reason=each.category,
            )
    return None


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
