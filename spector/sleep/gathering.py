"""Themes: the values that one speaker gave one matter of one subject, each with its dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from spector.clock import from_ms
from spector.config import Config
from spector.knowledge import (
    DENIED,
    Changes,
    KnowledgeReader,
    New,
    figure_text,
    themes_about,
    themes_among,
    trend_text,
)
from spector.language.dates import dates_in
from spector.language.frames import noun_of_slot
from spector.language.observing import is_hedged
from spector.language.statements import ASSISTANTS
from spector.language.tables import language_of
from spector.language.words import analyse, folded, is_stop
from spector.layout import Category, Flag
from spector.providers import estimated_tokens
from spector.records import MemoryRecord
from spector.search import Surveyor
from spector.sleep.night import Night, Rows, Units, among, breathe, consolidated, has_flag, woken
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
#: quotation marks within a quotation
_MARKS: Final = str.maketrans("“”", '""')
#: a name that stands without them
_NAME: Final = re.compile(r"[\w .'’&/+-]+")


#: scope, subject and predicate of facts
Matter: TypeAlias = tuple[tuple[str, str], ...]


class _Stated(NamedTuple):
    """A memory that states a fact, and the row of the fact."""

    record: MemoryRecord
    fact: dict[str, Any]


def consolidate(night: Night, cursor: int) -> Units:
    """What a speaker stated of a matter three times becomes one sentence of values and dates.

    A matter is a predicate of a subject. Looked at are those that were stated or denied since the
    last night, the most often stated first; those of themes that quote what was superseded or
    retired; and those whose theme went with a source.
    """
    after, rows = night.state.recent.get("ties", []), night.memories.rows
    with night.survey.knowledge() as reader:
        ties = sorted([row["t_ms"] or 0, row["a"], row["b"]] for row in reader.links("source"))
        looked = [each for each in ties if each > after][: night.sleep.records_per_cycle]
        quoting = themes_about(reader, hidden) if (hidden := _hidden(rows, reader)) else {}
        lost = _unquoted(rows, ties, reader)
        times = Counter(each[1] for each in looked)
        matters = Counter[Matter]()
        for row in reader.facts(id=sorted({*times, *lost, *set().union(*quoting.values())})):
            matters[_matter_of(row)] += times[row["id"]]
    for matter in sorted(matters, key=lambda each: (-matters[each], each)):
        breathe(night)
        yield from _themes(night, dict(matter))
    return {"recent": {"ties": looked[-1]}} if looked else None


def _resting(rows: Rows, reader: KnowledgeReader) -> dict[int, str | None]:
    """Those at rest, each with the rule by which sleep put it there; None where a caller did."""
    asleep = rows[has_flag(rows, Flag.DORMANT)]
    used = dict(zip(asleep["id"].tolist(), asleep["last_access_s"].tolist(), strict=True))
    known = reader.payloads(list(used), "rest") if used else {}
    rules = dict[int, str | None].fromkeys(used)
    for each, rest in known.items():
        if used[each] < rest["since_ms"] // 1000:  # else it was woken and retired since
            rules[each] = rest["rule"] or ""
    return rules


def _hidden(rows: Rows, reader: KnowledgeReader) -> list[int]:
    """What nothing may quote any more: superseded, held back, or put to rest by a caller."""
    found = rows["id"][has_flag(rows, Flag.SUPERSEDED | Flag.QUARANTINED)].tolist()
    return [*found, *(each for each, rule in _resting(rows, reader).items() if rule is None)]


def _unquoted(rows: Rows, ties: Iterable[Sequence[int]], reader: KnowledgeReader) -> set[int]:
    """Facts whose statements were in a theme that is gone.

    What is older than all that themes quote of a matter has only made room for newer values.
    """
    marked = set(rows["id"][has_flag(rows, Flag.CONSOLIDATED)].tolist())
    told = [(fact, memory) for _, fact, memory in ties if memory in marked]
    if not told:
        return set()
    quoted = set[int]().union(*themes_about(reader, {each for _, each in told}).values())
    known = reader.facts(id=sorted({fact for fact, _ in told}))
    matters, oldest = {row["id"]: _matter_of(row) for row in known}, dict[Matter, int]()
    for fact, memory in told:
        if memory in quoted:
            oldest[matters[fact]] = min(memory, oldest.get(matters[fact], memory))
    return {
        fact
        for fact, memory in told
        if memory not in quoted and memory > oldest.get(matters[fact], 0)
    }


def _matter_of(fact: Mapping[str, Any]) -> Matter:
    """The matter of a fact; what is denied is of the matter that was stated."""
    predicate = fact["predicate"].removeprefix(DENIED)
    return (("scope", fact["scope"]), ("subject", fact["subject"]), ("predicate", predicate))


def _facts_of(reader: KnowledgeReader, matter: Mapping[str, str]) -> list[dict[str, Any]]:
    """The facts of a matter, and what denies them."""
    name = matter["predicate"]
    wanted: dict[str, Any] = {**matter, "predicate": [name, f"{DENIED}{name}"]}
    return reader.facts(**wanted)


def _is_denied(fact: Mapping[str, Any]) -> bool:
    return fact["predicate"].startswith(DENIED) or not fact["json"].get("polarity", True)


def _themes(night: Night, matter: Mapping[str, str]) -> Iterator[Unit]:
    """Units that make, renew, wake or put to rest the themes of a matter."""
    rows = night.memories.rows
    with night.survey.knowledge() as reader:
        facts = _facts_of(reader, matter)
        sources = reader.sources([row["id"] for row in facts])
        themes = themes_about(reader, [row["id"] for row in facts])
        asked = [*themes, *(each for of in themes.values() for each in of)]
        resting = _resting(rows[among(rows, asked)], reader) if asked else {}
    times = sum(map(len, sources.values()))
    if times > _MOST_TIMES or (times < night.sleep.cluster_min and not themes):
        return  # no records are read of what was stated once
    groups = _by_speaker(night, facts, sources) if _is_matter(matter) else []
    for theme, of in themes.items():
        group = next((each for each in groups if of & _ids(each)), [])
        if not group:
            yield from retiring(night, rows[rows["id"] == theme], _OUTDATED, {})
            continue
        groups.remove(group)
        if theme in resting and (  # it rests for what it quoted, or along with a source
            resting[theme] == _OUTDATED
            or (resting[theme] is None and None in {resting.get(each, "") for each in of})
        ):
            yield _waking(theme)
        if of != _ids(group) | _holding(group):
            yield _theme(night, group, theme)
    for group in groups:
        yield _theme(night, group, None)


def _waking(theme: int) -> Unit:
    """The unit that wakes a theme, of which enough is left again."""

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        changes.drop("payload", theme, "rest")
        return changes

    return Unit(ids=(theme,), alter=woken, what="woken", decide=decide, seen=1, reason="one matter")


def _is_matter(matter: Mapping[str, str]) -> bool:
    """Whether values alone say what was stated: a word says of what."""
    words = analyse(matter["predicate"].replace("_", " ")).words
    return not all(map(is_stop, words))


def _ids(group: Iterable[_Stated]) -> set[int]:
    return {each.record.id for each in group}


def _holding(group: Iterable[_Stated]) -> set[int]:
    return {each.fact["id"] for each in group if each.fact["holds"]}


def _by_speaker(
    night: Night, facts: Sequence[dict[str, Any]], sources: Mapping[int, Collection[int]]
) -> list[list[_Stated]]:
    """The newest statements of each speaker to one agent, of those who made enough that still hold.

    What assistants, tools and documents said is in no theme of a user. What a night put to rest is.
    """
    groups: dict[tuple[str, str], list[_Stated]] = {}
    for each in _stated(night.survey, facts, sources, lambda record: _speaks(night, record)):
        whose = each.record.agent_id or "", folded(each.record.speaker or "")
        groups.setdefault(whose, []).append(each)
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
    survey: Surveyor,
    facts: Iterable[dict[str, Any]],
    sources: Mapping[int, Collection[int]],
    speaks: Callable[[MemoryRecord], bool],
) -> list[_Stated]:
    """Every statement of some facts, the oldest first; what was hedged or planned is none.

    Nor is one whose speaker has denied its value since.
    """
    records = survey.records({each for some in sources.values() for each in some})
    found = [
        _Stated(records[each], row)
        for row in facts
        if "modality" not in row["json"]
        for each in sources.get(row["id"], ())
        if each in records and speaks(records[each]) and not is_hedged(records[each].text)
    ]
    found.sort(key=lambda each: (each.record.event_ms, each.record.id, each.fact["id"]))
    denied, out = set[tuple[str | None, str, str]](), list[_Stated]()
    for each in reversed(found):
        said = each.record.agent_id, folded(each.record.speaker or ""), each.fact["object"]
        if _is_denied(each.fact):
            denied.add(said)
        elif said not in denied:
            out.append(each)
    return out[::-1]


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
    fields = {
        **night.fields_of(ids, Category.SUMMARY, records[0].user_id),
        "confidence": min(each.confidence for each in records),
        "event_time": from_ms(max(each.event_ms for each in records)),
        "agent_id": records[0].agent_id,
        "tags": tags[:64] or None,
    }
    return Unit(
        ids=() if before is not None else ids,
        alter=None if before is not None else consolidated,
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
    """The values of a matter with the days of each: 'Ada, weight: “72 kg” (2026-03-01), ...'."""
    record, fact = group[-1]
    subject, predicate = fact["json"]["subject"], fact["json"]["predicate"]
    noun = noun_of_slot(predicate, language_of(record.said))
    values: list[tuple[str, str, dict[str, None]]] = []
    for each in group:
        if not values or values[-1][0] != each.fact["object"]:
            values.append((each.fact["object"], each.fact["json"]["object"], {}))
        values[-1][2][_day_of(each)] = None
    told = ", ".join(f"{_quoted(value)} ({', '.join(days)})" for _, value, days in values)
    named = f", {noun}" if noun else f" {_named(predicate.replace('_', ' '))}"
    return f"{_named(subject)}{named}: {told}"


def _day_of(stated: _Stated) -> str:
    """The day of a statement; "said" stands before it where the words name another one."""
    day, about = from_ms(stated.record.event_ms).date(), stated.fact["json"]
    periods = [one for each in dates_in(stated.record.said, day) for one in each.periods]
    is_other = any(not (each.first or day) <= day <= (each.last or day) for each in periods) or (
        not periods and about.get("window") is not None
    )
    return f"said {day}" if is_other else f"{day}"


def _quoted(text: str) -> str:
    """Words of a memory in quotation marks, which they do not end."""
    return f"“{' '.join(text.translate(_MARKS).split())}”"


def _named(name: str) -> str:
    """A name; in quotation marks where it could be read as more than one."""
    return name if _NAME.fullmatch(name) else _quoted(name)


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
        facts = [row for each in sorted(matters) for row in _facts_of(reader, dict(each))]
        # what denies a value is no source: after an undo of its night the theme quotes it again
        stated = {
            fact: sources.intersection(some)
            for fact, some in reader.sources({row["id"] for row in facts}).items()
        }
    if statistic is not None:
        if statistic["category"] == "pattern":
            return trend_text(statistic["name"], statistic["values"])
        return figure_text(statistic["code"], statistic["name"], statistic["values"])
    group = _stated(survey, facts, stated, lambda record: True)
    group = _fitting(group, config.sleep.summary_tokens)
    return _sentence(group) if group else None
