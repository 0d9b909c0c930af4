"""What many memories have in common: a summary of each category, and what a user usually does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from spector.clock import from_ms
from spector.knowledge import Changes, KnowledgeReader, New, encode
from spector.layout import Category, Flag, TierCode
from spector.sleep.night import DAY_MS, Night, Rows, Units, has_flag, mark_of, texts_of
from spector.sleep.retiring import OUTDATED, Outdated, outdated, retiring
from spector.write import Prepared, Unit

__all__ = ["PATTERN", "SUMMARY", "abstract", "pattern_of", "pattern_text", "summarize"]

#: newest memories that a summary is made of
_MOST_SOURCES: Final = 200
_DERIVED: Final = 0.8
SUMMARY: Final = "summary:"
PATTERN: Final = "pattern:"
#: days on which a statement must be made to be a habit
_DAYS: Final = 3


@dataclass(frozen=True, slots=True)
class _Made:
    """A memory that sleep made of others before, and these."""

    id: int
    sources: frozenset[int]


def summarize(night: Night, cursor: int) -> Units:
    """Each category of a user with enough memories, and new ones, has one summary.

    One that quotes what was superseded is made anew of the others; it rests where they are too few.
    """
    sleep, rows = night.sleep, night.memories.rows
    active = rows[night.is_active(rows)]
    with night.survey.knowledge() as reader:
        known = _made_before(night, reader, SUMMARY)
    dreamt = {each.id for each in known.values()}
    active = active[~np.isin(active["id"], np.array(sorted(dreamt), np.int64))]
    active = active[active["tier"] != int(TierCode.PROCEDURAL)]
    old = _outdated(night, active, known)
    yield from retiring(night, old.tonight, OUTDATED, {}, waiting=old.waiting)
    known = {key: each for key, each in known.items() if each.id not in old.resting}
    superseded = set(rows["id"][has_flag(rows, Flag.SUPERSEDED)].tolist())
    lately = dict(night.state.recent.get("summarized", {}))
    for user, category, mine in _by_category(active):
        if category is Category.SUMMARY or (
            category is Category.OTHER and not sleep.summarize_other
        ):
            continue
        name = night.memories.users[user]
        before = known.get((name, f"{SUMMARY}{category.name.lower()}"))
        newest = mine[np.argsort(-mine["id"])][:_MOST_SOURCES]
        if len(mine) < sleep.summary_from or (
            before is not None and not set(newest["id"].tolist()) - before.sources
            and not before.sources & superseded
        ):
            continue
        last = 0 if before is None else max(
            lately.get(str(before.id), 0), *rows["recorded_ms"][rows["id"] == before.id], 0
        )
        if night.started_ms - last < 1000 * sleep.summary_cooldown_s:
            yield Unit(skipped={"summarized a moment ago": 1})
            continue
        unit = _summary(night, name, category, newest, before)
        if before is not None:
            lately[str(before.id)] = night.started_ms
        yield unit
    return {"recent": {"summarized": {
        each: ms for each, ms in lately.items() if night.started_ms - ms < DAY_MS
    }}}  # fmt: skip


def _outdated(
    night: Night, active: Rows, known: Mapping[tuple[str | None, str], _Made]
) -> Outdated:
    """Summaries that quote what was superseded and cannot be made anew in their place."""
    renewed = {
        (night.memories.users[user], f"{SUMMARY}{category.name.lower()}")
        for user, category, mine in _by_category(active)
        if len(mine) >= night.sleep.summary_from and night.tools.embeds
    }
    stays = {each.id for key, each in known.items() if key in renewed}
    with night.survey.knowledge() as reader:
        return outdated(
            night, reader, lambda each, kind: kind.startswith(SUMMARY) and each not in stays
        )


def _by_category(rows: Rows) -> Iterator[tuple[int, Category, Rows]]:
    """(user, category, memories) of each category that a user has memories of."""
    rows = rows[np.isin(rows["category"], [int(each) for each in Category])]
    ordered = rows[np.lexsort((rows["id"], rows["category"], rows["user"]))]
    changes = (np.diff(ordered["user"]) != 0) | (np.diff(ordered["category"]) != 0)
    for part in np.split(ordered, np.flatnonzero(changes) + 1):
        if len(part):
            yield int(part["user"][0]), Category(int(part["category"][0])), part


def _made_before(
    night: Night, reader: KnowledgeReader, prefix: str
) -> dict[tuple[str | None, str], _Made]:
    """What sleep made of a kind: (user, kind) -> the memory and its sources."""
    rows = night.memories.rows
    may_be = np.isin(rows["category"], [int(Category.SUMMARY), int(Category.PATTERN)])
    # what this step has made before it was cut short is not among its memories
    ids = [*rows["id"][may_be].tolist(), *night.done.get("made", ())]
    observed = reader.payloads(ids, "observed")
    kinds = {
        each: known["kind"] for each, known in observed.items()
        if known["write_source"] == "dream" and (known["kind"] or "").startswith(prefix)
    }  # fmt: skip
    owners = reader.owners(kinds)
    edges = reader.edges(list(kinds), direction="out", kinds=["derived_from"])
    out = {}
    for each, kind in sorted(kinds.items()):
        if each in owners:
            sources = frozenset(edge.target for edge in edges if edge.source == each)
            out[owners[each].scope or None, kind] = _Made(each, sources)
    return out


def _summary(
    night: Night, user: str | None, category: Category, rows: Rows, before: _Made | None
) -> Unit:
    ids = np.sort(rows["id"]).tolist()
    words = texts_of(night, ids)
    texts = [words[each].text for each in ids if each in words]
    text, fallback = night.summary_of(texts, "summaries")
    kind = f"{SUMMARY}{category.name.lower()}"
    if before is not None and not night.tools.embeds:
        return Unit(seen=len(ids), skipped={"no embedder": 1})
    if not text or (before is None and night.made >= night.sleep.new_memories):
        return Unit(seen=len(ids), skipped={"nothing to say": 1}, fallback=fallback)
    fields: dict[str, Any] = {
        "tier": "semantic", "importance": night.sleep.theme_importance,
        "category": Category.SUMMARY, "confidence": float(rows["confidence"].min()) / 255,
        "event_time": from_ms(int(rows["event_ms"].max())), "user_id": user,
        **night.vector_of(ids),
    }  # fmt: skip
    return Unit(
        prepared=[Prepared(text, fields)], seen=len(ids), fallback=fallback,
        restates=None if before is None else before.id, reason=f"summary of {category.name}",
        decide=_derived(ids, kind, None if before is None else before.id),
    )  # fmt: skip


def _derived(
    sources: Sequence[int], kind: str, before: int | None
) -> Callable[[KnowledgeReader, int], Changes]:
    """The rows of what is made of sources; those of an earlier state are replaced."""

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes, made = Changes(), New(0) if before is None else before
        living = sorted(reader.owners(list(sources)))
        if not living:
            return changes
        if before is None:
            changes.store.append(0)
        else:
            for edge in reader.edges([before], direction="out", kinds=["derived_from"]):
                if edge.target not in living:
                    changes.drop("edge", edge.source, edge.kind, edge.target)
        changes.put("payload", id=made, sort="observed", json=encode("observed", {
            "write_source": "dream", "data_source": "system", "kind": kind,
        }))  # fmt: skip
        for each in living:
            changes.put("edge", source_id=made, kind="derived_from", target_id=each,
                        weight=_DERIVED, confidence=_DERIVED, origin="dream", created_ms=now_ms,
                        note=None)  # fmt: skip
        return changes

    return decide


def abstract(night: Night, cursor: int) -> Units:
    """What a user states again and again, on different days, becomes a pattern.

    The most stated ones first, a few of each user in 24 hours; the others wait.
    """
    lately = [
        each for each in night.state.recent.get("abstracted", [])
        if each[0] > night.started_ms - DAY_MS
    ]
    with night.survey.knowledge() as reader:
        known = _made_before(night, reader, PATTERN)
        due = [each for each in _habits(night, reader) if _has_news(night, known, *each)]
    chosen = night.once("habits", lambda: _first_of_each(night, due, lately))
    waiting = night.once("waiting", lambda: len(due) - len(chosen))
    made = Counter(mark_of(fact["scope"]) for fact, _ in due if fact["id"] in chosen)
    counts = night.once("counts", lambda: dict(made))
    for fact, sources in due:
        if fact["id"] not in chosen:
            continue
        before = known.get(_pattern_key(fact))
        if before is None and night.made >= night.sleep.new_memories:
            waiting += 1
            continue
        yield _pattern(night, fact, sources, before)
    if waiting:
        yield Unit(seen=waiting, skipped={"patterns of a day": waiting})
    noted = [*lately, [night.started_ms, counts]] if counts else lately
    return {"recent": {"abstracted": noted}}


def _first_of_each(
    night: Night, due: Sequence[tuple[Mapping[str, Any], Sequence[int]]],
    lately: Sequence[tuple[int, Mapping[str, int]]],
) -> list[int]:
    """The habits of each user that there is room for today."""
    taken: Counter[str] = Counter()
    for _, counts in lately:
        taken.update(counts)
    chosen = []
    for fact, _ in due:
        mark = mark_of(fact["scope"])
        taken[mark] += 1
        if taken[mark] <= night.sleep.abstract_clusters:
            chosen.append(fact["id"])
    return chosen


def _has_news(
    night: Night, known: Mapping[tuple[str | None, str], _Made], fact: Mapping[str, Any],
    sources: Sequence[int],
) -> bool:
    """Whether a habit has no pattern yet, or memories that its pattern does not count."""
    before = known.get(_pattern_key(fact))
    return before is None or bool(set(sources) - before.sources and night.tools.embeds)


def _pattern_key(fact: Mapping[str, Any]) -> tuple[str | None, str]:
    return fact["scope"] or None, f"{PATTERN}{fact['id']}"


def _pattern(
    night: Night, fact: Mapping[str, Any], sources: Sequence[int], before: _Made | None
) -> Unit:
    """The unit that makes the pattern of a habit, or has it count what is new."""
    words = texts_of(night, sources)
    text, fallback = night.condensed(
        [words[each].text for each in sources if each in words], "abstraction"
    )
    fields: dict[str, Any] = {
        "tier": "semantic", "importance": night.sleep.pattern_importance,
        "category": Category.PATTERN, "user_id": fact["scope"] or None,
        "confidence": fact["confidence"], **night.vector_of(sources),
    }  # fmt: skip
    known = None if before is None else before.id
    return Unit(
        prepared=[Prepared(text or pattern_text(fact["json"], len(sources)), fields)],
        seen=len(sources), reason="stated on many days", fallback=fallback, restates=known,
        decide=_derived(sources, _pattern_key(fact)[1], known),
    )  # fmt: skip


def pattern_of(kind: str) -> int:
    """The fact that a pattern is about; 0 for anything else."""
    number = kind.removeprefix(PATTERN) if kind.startswith(PATTERN) else ""
    return int(number) if number.isdecimal() else 0


def pattern_text(fact: Mapping[str, Any], count: int) -> str:
    """How a habit reads that some memories state."""
    subject = fact["subject"][:1].upper() + fact["subject"][1:]
    return (
        f"{subject} usually {fact['predicate'].replace('_', ' ')}"
        f" {fact['object']} ({count} of {count})."
    )


def _habits(
    night: Night, reader: KnowledgeReader
) -> list[tuple[Mapping[str, Any], list[int]]]:
    """Facts that hold and that memories of at least three days state, the most stated first."""
    rows = night.memories.rows
    active = {
        each: int(ms) // DAY_MS
        for each, ms in zip(rows["id"][night.is_active(rows)].tolist(),
                            rows["event_ms"][night.is_active(rows)].tolist(), strict=True)
    }  # fmt: skip
    facts = [each for each in reader.facts(holds=1) if each["id"] in active]
    sources = reader.sources([each["id"] for each in facts])
    out = []
    for fact in facts:
        living = [each for each in sources.get(fact["id"], ()) if each in active]
        if len({active[each] for each in living}) >= _DAYS:
            out.append((fact, living))
    return sorted(out, key=lambda each: (-len(each[1]), each[0]["id"]))
