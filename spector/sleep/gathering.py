"""Themes: what one speaker said of one entity or one fact, each event once with its date."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from spector.clock import from_ms
from spector.config import Config
from spector.knowledge import (
    MOST_MEMBERS,
    Changes,
    KnowledgeReader,
    New,
    figure_text,
    themes_about,
    themes_among,
    trend_text,
)
from spector.language.cues import need_gate
from spector.language.statements import ASSISTANTS
from spector.language.words import folded
from spector.language.worth import content_density, sentences_of
from spector.layout import Category, Flag, TierCode
from spector.providers import estimated_tokens
from spector.records import MemoryRecord
from spector.search import Strengths, Surveyor
from spector.sleep.night import Mask, Night, Rows, Units, breathe, has_flag
from spector.sleep.protection import retiring
from spector.write import Prepared, Unit

#: the rule by which a theme rests that has too few sources left
_OUTDATED: Final = "quotes what has changed"
#: roles, and sources of data, of what is not said by a person
_ANSWER: Final = ASSISTANTS | {"tool", "function", "document", "system"}
_SOURCES_OF_ANSWERS: Final = frozenset({"assistant_message", "tool", "document"})
#: types of entities that are who speaks, and no subject of a theme
_SPEAKERS: Final = frozenset({"user", "agent"})
#: memories of one theme at most, the newest: it has room for a sentence of each
_MOST_SOURCES: Final = 12
_DERIVED: Final = 0.8


def consolidate(night: Night, cursor: int) -> Units:
    """What a speaker said of an entity becomes a theme; so do the times at which a fact was stated.

    Looked at are the entities and facts of new memories, and those of themes that quote what was
    superseded. A memory is in one theme: that of the subject which most memories have.
    """
    rows = _eligible(night)
    looked = rows["id"][rows["id"] > night.state.recent.get("gathered", 0)]
    looked = looked[: night.sleep.records_per_cycle].tolist()
    with night.survey.knowledge() as reader:
        subjects = _subjects(night, reader, looked)
    taken: set[int] = set()
    for each in subjects:
        breathe(night)
        yield from _themes(night, each, rows, taken)
    return {"recent": {"gathered": looked[-1]}} if looked else None


def _eligible(night: Night) -> Rows:
    """Memories that may become a part of a theme, by their ids."""
    rows = night.memories.rows
    tiers = [int(TierCode.EPISODIC), int(TierCode.SEMANTIC)]
    found: Rows = rows[
        night.is_active(rows)
        & np.isin(rows["tier"], tiers)
        & (rows["importance"] >= np.float32(night.sleep.cluster_min_importance))
    ]
    return found[np.argsort(found["id"])]


@dataclass(frozen=True, slots=True)
class _Subject:
    """An entity or a fact, and the memories that mention or state it."""

    id: int
    #: folded; "" for a fact
    name: str
    members: frozenset[int]


def _subjects(night: Night, reader: KnowledgeReader, looked: Collection[int]) -> list[_Subject]:
    """Entities and facts whose themes may change, those of most memories first."""
    rows = night.memories.rows
    changed = rows["id"][has_flag(rows, Flag.SUPERSEDED)].tolist()
    edges = reader.edges(changed, direction="in", kinds=["derived_from"])
    quoting = [edge.source for edge in edges]
    found = {row["a"] for row in reader.links("mention", b=[*looked, *quoting])}
    names = {
        each: folded(item["json"]["name"])
        for each, item in reader.items(found).items()
        if item["json"]["type"] not in _SPEAKERS
    }
    facts = {row["a"] for row in reader.links("source", b=looked)}
    facts |= {edge.target for edge in reader.edges(quoting, kinds=["derived_from"])} & {
        row["id"] for row in reader.facts(id=[edge.target for edge in edges])
    }
    members: dict[int, set[int]] = {each: set() for each in (*names, *facts)}
    for kind, ids in (("mention", list(names)), ("source", sorted(facts))):
        for row in reader.links(kind, a=ids):
            members[row["a"]].add(row["b"])
    due = [_Subject(each, names.get(each, ""), frozenset(ids)) for each, ids in members.items()]
    least = night.sleep.cluster_min
    due = [each for each in due if least <= len(each.members) <= MOST_MEMBERS]
    return sorted(due, key=lambda each: (-len(each.members), not each.name, each.id))


def _themes(night: Night, subject: _Subject, rows: Rows, taken: set[int]) -> Iterator[Unit]:
    """Units that make, renew or put to rest the themes of a subject."""
    with night.survey.knowledge() as reader:
        themes = themes_about(reader, [subject.id])
        said = np.array(sorted(subject.members), np.int64)
        living = rows["id"][np.isin(rows["id"], said)].tolist()
        edges = reader.edges(living, direction="in", kinds=["derived_from"])
        others = themes_among(reader, {edge.source for edge in edges} - themes.keys())
    free = set(living) - taken - {each for sources in others.values() for each in sources}
    groups = _by_speaker(night, sorted(free), but=subject.name)
    for theme, sources in themes.items():
        group = next((each for each in groups if sources & each.keys()), {})
        if not group or len(group) < night.sleep.cluster_min:
            old = night.memories.rows[night.memories.rows["id"] == theme]
            yield from retiring(night, old, _OUTDATED, {})
        elif group.keys() != sources - {subject.id}:
            yield _theme(night, subject.id, group, theme)
        if group:
            groups.remove(group)
            taken |= group.keys()
    for group in groups:
        if len(group) >= night.sleep.cluster_min:
            yield _theme(night, subject.id, group, None)
            taken |= group.keys()


def _by_speaker(night: Night, ids: Sequence[int], *, but: str) -> list[dict[int, MemoryRecord]]:
    """The newest memories of each speaker that say something, the first speaker first.

    What assistants, tools and documents said is in no theme of a user.

    Args:
        but: the subject: who speaks of oneself speaks of everything.
    """
    groups: dict[str, list[MemoryRecord]] = {}
    for each in night.survey.records(ids).values():
        if (each.role or "").casefold() in _ANSWER or each.data_source in _SOURCES_OF_ANSWERS:
            continue
        if need_gate(each.text).needed:
            groups.setdefault(folded(each.speaker or ""), []).append(each)
    return [
        {each.id: each for each in sorted(group, key=_moment)[-_MOST_SOURCES:]}
        for speaker, group in groups.items()
        if not speaker or speaker != but
    ]


def _moment(record: MemoryRecord) -> tuple[int, int]:
    return record.event_ms, record.id


def _theme(night: Night, subject: int, group: dict[int, MemoryRecord], before: int | None) -> Unit:
    """The unit that makes a theme of memories, or brings one up to date."""
    ids, records = tuple(sorted(group)), list(group.values())
    if before is None and night.made >= night.sleep.new_memories:
        return Unit(skipped={"memories of a cycle": 1})
    if before is not None and not night.tools.embeds:
        return Unit(seen=len(ids), skipped={"no embedder": 1})
    texts = [each.text for each in records]
    made, fallback = night.condensed(texts, "consolidation")
    text = made or theme_text(records, night.sleep.summary_tokens)
    if not text:
        return Unit(seen=len(ids), skipped={"nothing to say": 1}, fallback=fallback)
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
        prepared=[Prepared(text, fields)],
        seen=len(ids),
        restates=before,
        reason="one theme",
        decide=_ties(ids, subject, before),
        fallback=fallback,
    )


def theme_text(records: Sequence[MemoryRecord], most: int) -> str:
    """What memories say, each with its date, the oldest left out while it is too long."""
    lines: dict[str, None] = {}
    for each in sorted(records, key=_moment):
        found = sentences_of(each.text)
        if found:
            said = max(found, key=content_density)
            day = f"{from_ms(each.event_ms):%Y-%m-%d}"
            lines[said if day in said else f"{day}: {said}"] = None
    kept = list(lines)
    while kept and estimated_tokens("\n".join(kept)) > most:
        kept.pop(0)
    return "\n".join(kept)


def _consolidated(fresh: Strengths) -> Mask:
    """Sources are marked as consolidated."""
    before = fresh.rows["flags"].copy()
    fresh.rows["flags"] |= int(Flag.CONSOLIDATED)
    changed: Mask = fresh.rows["flags"] != before
    return changed


def _ties(
    sources: Collection[int], subject: int, before: int | None
) -> Callable[[KnowledgeReader, int], Changes]:
    """The rows of a theme: what it is from and about; those of an earlier state are replaced."""

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes, made = Changes(), New(0) if before is None else before
        living = sorted(reader.owners(list(sources)))
        of_entity = bool(reader.items([subject]))
        if len(living) < 2 or not (of_entity or reader.facts(id=[subject])):
            return changes
        if not of_entity:
            living.append(subject)
        if before is None:
            changes.store.append(0)
        else:
            for edge in reader.edges([before], direction="out", kinds=["derived_from"]):
                if edge.target not in living:
                    changes.drop("edge", edge.source, edge.kind, edge.target)
        changes.dreamt(made, data_source="system", kind="theme")
        for each in living:
            changes.tie(made, "derived_from", each, "dream", now_ms, _DERIVED)
        if of_entity:
            changes.link(subject, "mention", made, len(sources))
        return changes

    return decide


# How a memory that sleep made reads by what it is made of, so that an earlier state can return.


def retold(survey: Surveyor, config: Config, record_id: int) -> str | None:
    """The words of a statistic or a theme; None for anything else."""
    with survey.knowledge() as reader:
        statistic = reader.payloads([record_id], "statistic").get(record_id)
        sources = set(themes_among(reader, [record_id]).get(record_id, ()))
        sources -= {row["id"] for row in reader.facts(id=sorted(sources))} if sources else set()
    if statistic is not None:
        if statistic["category"] == "pattern":
            return trend_text(statistic["name"], statistic["values"])
        return figure_text(statistic["code"], statistic["name"], statistic["values"])
    if not sources:
        return None
    return theme_text([*survey.records(sorted(sources)).values()], config.sleep.summary_tokens)
