"""Themes: the values that one speaker gave one matter of one subject, each with its dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from spector.clock import from_ms
from spector.config import Config
from spector.knowledge import (
    Changes,
    KnowledgeReader,
    New,
    figure_text,
    themes_about,
    themes_among,
    trend_text,
)
from spector.language.frames import noun_of_slot
from spector.language.observing import is_hedged
from spector.language.statements import ASSISTANTS
from spector.language.tables import language_of
from spector.language.words import analyse, folded, is_stop
from spector.layout import Category, Flag
from spector.providers import estimated_tokens
from spector.records import MemoryRecord
from spector.search import Strengths, Surveyor
from spector.sleep.night import Mask, Night, Units, breathe, has_flag
from spector.sleep.protection import retiring
from spector.write import Prepared, Unit

#: the rule by which a theme rests that has too few sources left
_OUTDATED: Final = "quotes what has changed"
#: roles, and sources of data, of what is not said by a person
_ANSWER: Final = ASSISTANTS | {"tool", "function", "document", "system"}
_SOURCES_OF_ANSWERS: Final = frozenset({"assistant_message", "tool", "document"})
#: statements of one theme at most, the newest
_MOST_VALUES: Final = 12
#: what is stated more often has no theme
_MOST_TIMES: Final = 256
_DERIVED: Final = 0.8


#: scope, subject and predicate of facts
Matter: TypeAlias = tuple[tuple[str, str], ...]


class _Stated(NamedTuple):
    """A memory that states a fact, and the row of the fact."""

    record: MemoryRecord
    fact: dict[str, Any]


def consolidate(night: Night, cursor: int) -> Units:
    """What a speaker stated of a matter three times becomes one sentence of values and dates.

    A matter is a predicate of a subject. Looked at are those that were stated since the last night,
    the most often stated first, and those of themes that quote what was superseded.
    """
    after, rows = night.state.recent.get("ties", []), night.memories.rows
    changed = rows["id"][has_flag(rows, Flag.SUPERSEDED)].tolist()
    with night.survey.knowledge() as reader:
        ties = sorted([row["t_ms"] or 0, row["a"], row["b"]] for row in reader.links("source"))
        looked = [each for each in ties if each > after][: night.sleep.records_per_cycle]
        edges = reader.edges(changed, direction="in", kinds=["derived_from"])
        quoted = reader.edges([edge.source for edge in edges], kinds=["derived_from"])
        times = Counter(each[1] for each in looked)
        matters = Counter[Matter]()
        for row in reader.facts(id=sorted({*times, *(edge.target for edge in quoted)})):
            matters[_matter_of(row)] += times[row["id"]]
    for matter in sorted(matters, key=lambda each: (-matters[each], each)):
        breathe(night)
        yield from _themes(night, dict(matter))
    return {"recent": {"ties": looked[-1]}} if looked else None


def _matter_of(fact: Mapping[str, Any]) -> Matter:
    return tuple((name, fact[name]) for name in ("scope", "subject", "predicate"))


def _themes(night: Night, matter: Mapping[str, str]) -> Iterator[Unit]:
    """Units that make, renew or put to rest the themes of a matter."""
    with night.survey.knowledge() as reader:
        facts = reader.facts(**matter)
        sources = reader.sources([row["id"] for row in facts])
        themes = themes_about(reader, [row["id"] for row in facts])
    times = sum(map(len, sources.values()))
    if times > _MOST_TIMES or (times < night.sleep.cluster_min and not themes):
        return  # no records are read of what was stated once
    groups = _by_speaker(night, facts, sources) if _is_matter(facts) else []
    for theme, of in themes.items():
        group = next((each for each in groups if of & _ids(each)), [])
        if not group:
            old = night.memories.rows[night.memories.rows["id"] == theme]
            yield from retiring(night, old, _OUTDATED, {})
            continue
        groups.remove(group)
        if of != _ids(group) | _holding(group):
            yield _theme(night, group, theme)
    for group in groups:
        yield _theme(night, group, None)


def _is_matter(facts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether values alone say what was stated: nothing is denied, and a word says of what."""
    words = analyse(facts[0]["json"]["predicate"].replace("_", " ")).words
    return all(row["json"].get("polarity", True) for row in facts) and not all(map(is_stop, words))


def _ids(group: Iterable[_Stated]) -> set[int]:
    return {each.record.id for each in group}


def _holding(group: Iterable[_Stated]) -> set[int]:
    return {each.fact["id"] for each in group if each.fact["holds"]}


def _by_speaker(
    night: Night, facts: Sequence[dict[str, Any]], sources: Mapping[int, Collection[int]]
) -> list[list[_Stated]]:
    """The newest statements of each speaker, of those who made enough that still hold.

    What assistants, tools and documents said is in no theme of a user. What a night put to rest is.
    """
    groups: dict[str, list[_Stated]] = {}
    for each in _stated(night.survey, facts, sources):
        if _speaks(night, each.record):
            groups.setdefault(folded(each.record.speaker or ""), []).append(each)
    fitting = (_fitting(group, night.sleep.summary_tokens) for group in groups.values())
    least = night.sleep.cluster_min
    return [each for each in fitting if len(_ids(each)) >= least and _holding(each)]


def _speaks(night: Night, record: MemoryRecord) -> bool:
    """Whether a memory may be in a theme: no answer, and not hidden by what came later or a user."""
    return (
        not record.flags & (Flag.SUPERSEDED | Flag.QUARANTINED)
        and (not record.dormant or record.dormant_rule is not None)
        and record.importance >= night.sleep.cluster_min_importance
        and (record.role or "").casefold() not in _ANSWER
        and record.data_source not in _SOURCES_OF_ANSWERS
    )


def _stated(
    survey: Surveyor, facts: Iterable[dict[str, Any]], sources: Mapping[int, Collection[int]]
) -> list[_Stated]:
    """Every statement of some facts, the oldest first; what was hedged or planned is none."""
    records = survey.records({each for some in sources.values() for each in some})
    found = [
        _Stated(records[each], row)
        for row in facts
        if "modality" not in row["json"]
        for each in sources.get(row["id"], ())
        if each in records and not is_hedged(records[each].text)
    ]
    return sorted(found, key=lambda each: (each.record.event_ms, each.record.id, each.fact["id"]))


def _theme(night: Night, group: Sequence[_Stated], before: int | None) -> Unit:
    """The unit that makes a theme of statements, or brings one up to date."""
    records = list({each.record.id: each.record for each in group}.values())
    ids = tuple(each.id for each in records)
    if before is None and night.made >= night.sleep.new_memories:
        return Unit(skipped={"memories of a cycle": 1})
    if before is not None and not night.tools.embeds:
        return Unit(seen=len(ids), skipped={"no embedder": 1})
    made, fallback = night.condensed([each.text for each in records], "consolidation")
    tags = sorted({tag for each in records for tag in each.tags})
    fields: dict[str, Any] = {
        "tier": "semantic",
        "category": Category.SUMMARY,
        "confidence": min(each.confidence for each in records),
        "event_time": from_ms(max(each.event_ms for each in records)),
        "user_id": records[0].user_id,
        "tags": tags[:64] or None,
        **night.vector_of(ids),
    }
    return Unit(
        ids=() if before is not None else ids,
        alter=None if before is not None else _consolidated,
        what="consolidated",
        prepared=[Prepared(made or _sentence(group), fields)],
        seen=len(ids),
        restates=before,
        reason="one matter",
        decide=_ties(ids, _holding(group), before),
        fallback=fallback,
    )


def _fitting(group: Sequence[_Stated], most: int) -> list[_Stated]:
    """The newest statements whose sentence has at most so many tokens."""
    kept = list(group[-_MOST_VALUES:])
    while kept and estimated_tokens(_sentence(kept)) > most:
        kept.pop(0)
    return kept


def _sentence(group: Sequence[_Stated]) -> str:
    """The values of a matter with the days of each: "Ada, weight: 72 kg (2026-03-01), ..."."""
    record, fact = group[-1]
    subject, predicate = fact["json"]["subject"], fact["json"]["predicate"]
    noun = noun_of_slot(predicate, language_of(record.said))
    values: list[tuple[str, str, dict[str, None]]] = []
    for each in group:
        if not values or values[-1][0] != each.fact["object"]:
            values.append((each.fact["object"], each.fact["json"]["object"], {}))
        values[-1][2][f"{from_ms(each.record.event_ms):%Y-%m-%d}"] = None
    told = ", ".join(f"{value} ({', '.join(days)})" for _, value, days in values)
    return f"{subject}{f', {noun}' if noun else ' ' + predicate.replace('_', ' ')}: {told}"


def _consolidated(fresh: Strengths) -> Mask:
    """Sources are marked as consolidated."""
    before = fresh.rows["flags"].copy()
    fresh.rows["flags"] |= int(Flag.CONSOLIDATED)
    changed: Mask = fresh.rows["flags"] != before
    return changed


def _ties(
    sources: Collection[int], facts: Collection[int], before: int | None
) -> Callable[[KnowledgeReader, int], Changes]:
    """The rows of a theme: the memories and facts it is of; those of an earlier state go."""

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes, made = Changes(), New(0) if before is None else before
        living = sorted(reader.owners(list(sources)))
        holding = [row["id"] for row in reader.facts(id=sorted(facts))]
        if len(living) < len(set(sources)) or not holding:
            return changes  # one was forgotten since the words were made
        living += holding
        if before is None:
            changes.store.append(0)
        else:
            for edge in reader.edges([before], direction="out", kinds=["derived_from"]):
                if edge.target not in living:
                    changes.drop("edge", edge.source, edge.kind, edge.target)
        changes.dreamt(made, data_source="system", kind="theme")
        for each in living:
            changes.tie(made, "derived_from", each, "dream", now_ms, _DERIVED)
        return changes

    return decide


# How a memory that sleep made reads by what it is made of, so that an earlier state can return.


def retold(survey: Surveyor, config: Config, record_id: int) -> str | None:
    """The words of a statistic or a theme; None for anything else."""
    with survey.knowledge() as reader:
        statistic = reader.payloads([record_id], "statistic").get(record_id)
        sources = themes_among(reader, [record_id]).get(record_id, frozenset())
        matters = {_matter_of(row) for row in reader.facts(id=sorted(sources))}
        facts = [row for each in sorted(matters) for row in reader.facts(**dict(each))]
        stated = reader.sources({row["id"] for row in facts})
    if statistic is not None:
        if statistic["category"] == "pattern":
            return trend_text(statistic["name"], statistic["values"])
        return figure_text(statistic["code"], statistic["name"], statistic["values"])
    group = _stated(survey, facts, {fact: sources & {*some} for fact, some in stated.items()})
    group = _fitting(group, config.sleep.summary_tokens)
    return _sentence(group) if group else None
