"""What episodes teach: concepts and their figures, facts, procedures, warnings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import numpy as np

from spector.clock import zone_named
from spector.knowledge import (
    DESCRIBING,
    FACT_GROWTH,
    TIME_OF_DAY,
    Changes,
    ConceptUse,
    Figure,
    KnowledgeReader,
    Lesson,
    New,
    Practice,
    Reading,
    Registry,
    concepts_to_ground,
    concepts_to_retire,
    declared,
    experiences,
    fields_of_fact,
    figures_of,
    is_still_said,
    lessons_of,
    phases_of,
    plan_cooccurrence,
    plan_new_figures,
    plan_reading,
    plan_restated_figure,
    plan_rhythms,
    practices_of,
    ranks_by_user,
    read_text,
    references_of,
    runs_of,
    statements_of,
    statistics_of,
    with_names,
)
from spector.language.words import folded
from spector.layout import Category, Flag, TierCode
from spector.records import MemoryRecord
from spector.sleep.night import Night, Units, among, breathe, has_flag, woken
from spector.sleep.protection import AT_REST, retiring
from spector.write import Prepared, Unit

#: of a text that is read
_MOST_CHARS: Final = 20_000
#: share of the memories of a cycle that facts may take
_SHARE: Final = 0.5


@dataclass(slots=True)
class _Read:
    """An episode and what it states; nothing if it was read when it was observed."""

    record: MemoryRecord
    reading: Reading


@dataclass(slots=True)
class _Batch:
    """Episodes of one commit: no two of them speak of the same subject."""

    read: list[_Read] = field(default_factory=list)
    subjects: set[tuple[str, str]] = field(default_factory=set)
    fallback: bool = False


def extract(night: Night, cursor: int) -> Units:
    """Draw from episodes what they name, state and have in common; retire what nothing uses.

    Patterns and rhythms of what is new come at the end, so that a cycle leaves nothing to the next.
    """
    changes: dict[str, Any] = {}
    for part in (
        naming,
        statements,
        lessons,
        patterns,
        grounding,
        partial(rhythm, cursor=0),
        ageing,
    ):
        found = yield from part(night)
        night.state.note(found or {})
        changes |= found or {}
    return changes


def statements(night: Night) -> Units:
    """Keep what consolidated episodes state as facts, each drawn from its episodes.

    Observed messages were read when they came, and are only marked.
    """
    left = night.sleep.extract_texts - int(night.state.recent.get("read", 0))
    most = int(night.sleep.new_memories * _SHARE)
    due = _due(night)
    done = 0
    for batch in _batches(night, due[: max(0, left)]):
        fitting = _fitting(batch.read, most - night.made)
        if fitting:
            done += len(fitting)
            yield _unit(night, replace(batch, read=fitting))
        if len(fitting) < len(batch.read):
            yield Unit(skipped={"memories of a cycle": len(due) - done})
            return None
    if len(due) > done:
        yield Unit(skipped={"texts of a cycle": len(due) - done})
    return None


def _fitting(read: Sequence[_Read], room: int) -> list[_Read]:
    """The first episodes that make as many facts as there is room for."""
    out: list[_Read] = []
    for each in read:
        room -= len(each.reading.facts)
        if room < 0 and each.reading.facts:
            break
        out.append(each)
    return out


def _due(night: Night) -> list[int]:
    """Consolidated episodes that were not read, from where the last cycle looked.

    What was gathered to a theme within a day is read the day after: a second cycle at once changes
    nothing.
    """
    rows = night.memories.rows
    lately = night.changed_lately("consolidated")
    ids = rows["id"][
        night.is_active(rows)
        & (rows["tier"] == int(TierCode.EPISODIC))
        & has_flag(rows, Flag.CONSOLIDATED)
        & ~among(rows, lately)
    ]
    at = int(np.searchsorted(ids, night.state.abstracted_id, side="right"))
    looked = np.concatenate([ids[at:], ids[:at]])[: night.sleep.records_per_cycle].tolist()
    with night.survey.knowledge() as reader:
        known = reader.payloads(looked, "episode")
    return [each for each in looked if not known.get(each, {}).get("abstracted")]


def _batches(night: Night, ids: Sequence[int]) -> Iterator[_Batch]:
    size = night.sleep.extract_batch
    for start in range(0, len(ids), size):
        part = ids[start : start + size]
        with night.survey.knowledge() as reader:
            observed = reader.payloads(part, "observed")
            details = reader.payloads(part, "episode")
            derived = reader.sorts(part)
            single = declared(reader).single
        batch = _Batch()
        for record in night.survey.records(part).values():
            breathe(night)
            known = observed.get(record.id, {}).get("write_source") == "observer"
            is_item = bool(derived.get(record.id, set()) - DESCRIBING)
            is_item = is_item or bool(details.get(record.id, {}).get("tool"))  # runs say it better
            reading, fallback = Reading({}, ()), False
            if not is_item and not (known and night.tools.fact_extractor is None):
                reading, fallback = _reading(night, record, single)
            subjects = {
                (record.user_id or "", folded(each.statement.subject)) for each in reading.facts
            }
            if batch.subjects & subjects:
                yield batch
                batch = _Batch()
            batch.read.append(_Read(record, reading))
            batch.subjects |= subjects
            batch.fallback |= fallback
        if batch.read:
            yield batch


def _reading(night: Night, record: MemoryRecord, single: frozenset[str]) -> tuple[Reading, bool]:
    """What an episode states, and whether a model was to read it and did not."""
    text = _whole(record.said)
    found, fallback = night.facts_of(text)
    stated = None if found is None else statements_of(found, text, single)
    fallback = fallback or (found is not None and stated is None)
    reading = read_text(
        text,
        names=False,
        role=record.role,
        speaker=record.speaker,
        reference_ms=record.event_ms,
        single_valued=single,
        statements=stated,
    )
    with night.survey.knowledge() as reader:
        return with_names(reader, record.user_id or "", reading), fallback


def _whole(text: str) -> str:
    """A text, cut after a sentence where it is very long."""
    if len(text) <= _MOST_CHARS:
        return text
    cut = text[:_MOST_CHARS]
    return cut[: max(cut.rfind(each) for each in ".!?\n") + 1]


def _unit(night: Night, batch: _Batch) -> Unit:
    prepared: list[Prepared] = []
    first: dict[int, int] = {}
    for each in batch.read:
        first[each.record.id] = len(prepared)
        fields = {}
        if each.reading.facts:
            fields = {**fields_of_fact(each.record), **night.vector_of([each.record.id])}
        prepared += [Prepared(one.text, fields, FACT_GROWTH) for one in each.reading.facts]
    read = int(night.state.recent.get("read", 0)) + len(batch.read)
    return Unit(
        prepared=prepared,
        decide=_decide(night, batch.read, first),
        seen=len(batch.read),
        reason="stated by episodes",
        fallback=batch.fallback,
        state={"abstracted_id": batch.read[-1].record.id, "recent": {"read": read}},
    )


def _decide(
    night: Night, read: Sequence[_Read], first: Mapping[int, int]
) -> Callable[[KnowledgeReader, int], Changes]:
    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        present = night.survey.records([each.record.id for each in read])
        known = reader.payloads(list(present), "episode")
        for each in read:
            record = present.get(each.record.id)
            if record is None or not is_still_said(each.record, record):
                continue
            found, _ = plan_reading(
                reader,
                record,
                each.reading,
                night.survey.records,
                now_ms=now_ms,
                config=night.config,
                first=first[record.id],
            )
            for n in found.store:
                found.dreamt(New(n))
            changes.add(found)
            fields = {**known.get(record.id, {}), "abstracted": True}
            changes.payload(record.id, "episode", fields)
        return changes

    return decide


# Procedures and warnings from what was done repeatedly: drafts, of which nothing is proved yet.

#: learnings fade a third as fast as texts
_RUN_GROWTH: Final = 3.0


def lessons(night: Night) -> Units:
    """What new runs teach beside the old ones: sequences that worked twice, and what failed."""
    after = int(night.state.recent.get("runs_id", 0))
    with night.survey.knowledge() as reader:
        last_id, fresh = (
            reader.last_id,
            [
                each
                for each, values in reader.payloads_after(
                    "episode", after, night.sleep.records_per_cycle
                ).items()
                if values["tool"]
            ],
        )
        runs = runs_of(reader, reader.all_payloads("episode")) if fresh else []
        practices = practices_of(reader, runs, fresh)
        found = lessons_of(reader, runs, fresh)
    waiting, made = 0, list[Practice | Lesson]([*practices, *found])
    for each in made:
        known = each.known if isinstance(each, Practice) else None
        if night.made >= night.sleep.new_memories and known is None:
            waiting += 1
        else:
            yield _practice(night, each) if isinstance(each, Practice) else _lesson(night, each)
    if waiting:  # the next cycle looks at the same runs again
        yield Unit(skipped={"memories of a cycle": waiting})
        return None
    return {"recent": {"runs_id": last_id}} if fresh else None


def _practice(night: Night, practice: Practice) -> Unit:
    tags = list(practice.draft().triggers)
    fields = _fields_of_runs(night, practice, tags, Category.PROCEDURE, "procedural")
    is_new = practice.known is None
    return Unit(
        prepared=[Prepared(practice.text, fields)] if is_new else [],
        seen=len(practice.runs),
        reason="worked repeatedly",
        noted=[] if practice.known is None else [practice.known],
        decide=practice.plan,
    )


def _lesson(night: Night, lesson: Lesson) -> Unit:
    fields = _fields_of_runs(night, lesson, list(lesson.applies_to), Category.PATTERN, "semantic")
    fields["importance"] = 0.5
    return Unit(
        prepared=[Prepared(lesson.insight, fields, _RUN_GROWTH)],
        seen=len(lesson.evidence),
        reason="failed",
        decide=lesson.plan,
    )


def _fields_of_runs(
    night: Night, made: Practice | Lesson, tags: list[str], category: Category, tier: str
) -> dict[str, Any]:
    """The fields of the memory of some runs, and what triggers it."""
    fields = {**night.fields_of(made.evidence, category, made.scope, tier), "tags": tags or None}
    return {name: value for name, value in fields.items() if value is not None}


# Upkeep of the graph: what it turns on, and edges and pairs that are too many.

#: central memories that are kept in mind
_MOST_CENTRAL: Final = 1_000
_TIMES_MEAN: Final = 1.5
#: pairs that are left when there are too many
_PAIRS_SHARE: Final = 0.9


def graph(night: Night, cursor: int) -> Units:
    """Compute what is central; drop the weakest of too many prunable edges, and rare pairs."""
    with night.survey.knowledge() as reader:
        kinds = Registry(reader.kinds())
        # as it was before this step has dropped any edge
        central = night.once("central", lambda: _central(night, reader))
        edges = _too_many_edges(night, reader, kinds)
        pairs = _too_many_pairs(night, reader)
    for table, keys in (("edge", edges), ("link", pairs)):
        for start in range(0, len(keys), night.sleep.batch_records):
            part = keys[start : start + night.sleep.batch_records]

            def decide(
                reader: KnowledgeReader, now_ms: int, table: str = table, part: Any = part
            ) -> Changes:
                changes = Changes()
                for key in part:
                    changes.drop(table, *key)
                return changes

            yield Unit(decide=decide, seen=len(part), skipped={f"{table}s dropped": len(part)})
    return {"central": central}


def _central(night: Night, reader: KnowledgeReader) -> dict[str, float]:
    """Rank of the memories that the graph of their user turns on."""
    knowledge = night.config.knowledge
    found: list[tuple[float, int]] = []
    for _, table, ranks in ranks_by_user(reader, knowledge):
        least = knowledge.pagerank_protection
        if knowledge.pagerank_relative:
            least = max(least, _TIMES_MEAN / max(1, len(ranks)))
        chosen = np.flatnonzero(ranks > least)
        found += zip(ranks[chosen].tolist(), table.ids[chosen].tolist(), strict=True)
    found.sort(key=lambda each: (-each[0], each[1]))
    return {str(each): round(rank, 9) for rank, each in found[:_MOST_CENTRAL]}


def _too_many_edges(
    night: Night, reader: KnowledgeReader, kinds: Registry
) -> list[tuple[int, str, int]]:
    """Edges that go, of users with more prunable ones than they may have."""
    knowledge, rows = night.config.knowledge, night.memories.rows
    priority = {each.name: each.priority for each in kinds if each.prunable}
    count = Counter(rows["user"].tolist())
    names = {number: user or "" for number, user in enumerate(night.memories.users)}
    memories = {names[number]: n for number, n in count.items()}
    by_user: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
    for source, target, _, kind, user in reader.edge_columns():
        if kind in priority:
            by_user[user or ""].append((source, kind, target))
    out: list[tuple[int, str, int]] = []
    gone = night.dropped("edge")
    owners = reader.owners(gone)
    before = Counter[str]()  # dropped already, when this step was cut short
    for each, n in gone.items():
        before[owners[each].scope if each in owners else ""] += n
    for user, keys in sorted(by_user.items()):
        most = max(knowledge.max_edges, knowledge.edges_per_memory * memories.get(user, 0))
        if len(keys) + before[user] <= most:
            continue
        known = {
            (each.source, each.kind, each.target): each
            for each in reader.edges(sorted({key[0] for key in keys}), direction="out")
        }
        free = [
            key
            for key in keys
            if key in known and not (key[1] == "elaborates" and known[key].origin == "gate")
        ]
        free.sort(
            key=lambda key: (priority[key[1]], known[key].confidence, known[key].created_at, key)
        )
        out += free[: max(0, len(free) - int(most * knowledge.pruned_share))]
    return out


def _too_many_pairs(night: Night, reader: KnowledgeReader) -> list[tuple[int, str, int]]:
    """The rarest pairs, of equals the oldest, when there are too many."""
    most = night.config.association.max_pairs
    if reader.counts()["pair"] + night.dropped("link").total() <= most:
        return []
    pairs = sorted(
        reader.links("pair"),
        key=lambda row: (row["n"] or 0, row["t_ms"] or 0, row["a"], row["b"]),
    )
    excess = max(0, len(pairs) - int(most * _PAIRS_SHARE))
    return [(row["a"], "pair", row["b"]) for row in pairs[:excess]]


# What sleep does for concepts: takes them over, grounds, relates, times and retires them.

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
            fields = night.fields_of(part, Category.ENTITY, user)
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
        user = reader.owners([concept])[concept].scope
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
    fields = night.fields_of(ids, Category.SUMMARY, user)

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
            yield Unit(
                seen=1,
                prepared=each.prepared,
                decide=each.decide,
                restates=each.restates,
                reason=each.category,
            )
    return None
