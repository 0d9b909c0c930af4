"""Facts: triples with a deterministic key, the memories that state them, and which of them hold.

A fact that is stated again gains confidence with every new source, and gets no second row. Another
value of a predicate that has one value at a time takes the place of the present one; the old fact
stays in the history.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from spector.errors import InvalidInputError
from spector.knowledge.changes import Changes, New
from spector.knowledge.reader import KnowledgeReader
from spector.language.words import fact_key, folded
from spector.layout import Category, Flag
from spector.records import MemoryRecord, is_user_said
from spector.store.catalog import Row
from spector.store.payloads import compact_json

#: characters of a subject, predicate or object
MOST_CHARS: Final = 1_000
#: weight of the edge from a fact to a memory that states it
SOURCE_WEIGHT: Final = 0.8
#: predicates that have one value at a time
SINGLE_VALUED: Final = frozenset(
    """lives_in works_as works_at is_named age version port email phone deadline status married_to
    born_in located_in price""".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactToAdd:
    """A triple as a caller states it, checked."""

    subject: str
    predicate: str
    object: str
    scope: str
    confidence: float
    sources: tuple[int, ...] = ()
    #: what else its row says; see `SAID`
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return fact_key(self.subject, self.predicate, self.object)

    @property
    def slot(self) -> dict[str, str]:
        """Columns of the facts that have its subject and its predicate."""
        parts = {"subject": folded(self.subject), "predicate": folded(self.predicate)}
        return {"scope": self.scope, **parts}


#: what a row says beside its triple, in this order -> what holds where it does not say it
SAID: Final[Mapping[str, Any]] = {
    "polarity": True,
    "modality": "asserted",
    "spans": [],
    "single": False,
    "tense": "present",
    "window": None,
    "kin": "",
    "limit": "",
    "common": False,
    "by": "",
}
#: facts fade half as fast as texts (UCMA: first stability of a fact is twice that of an episode)
FACT_GROWTH: Final = 2.0


def fields_of_fact(source: MemoryRecord) -> dict[str, Any]:
    """The fields of a memory of a fact that another one states."""
    return {
        "tier": "semantic",
        "category": Category.FACT,
        "user_id": source.user_id,
        "agent_id": source.agent_id,
        "importance": source.importance,
        "confidence": source.confidence,
        "event_time": source.event_time,
        "role": None if is_user_said(source.role) else source.role,
    }


def current_facts(
    reader: KnowledgeReader,
    rows: Iterable[dict[str, Any]],
    fetch: Callable[[Sequence[int]], Mapping[int, Row]],
    moment_ms: int,
) -> list[dict[str, Any]]:
    """Rows of facts that have not ended, and do not end or rest like all of their sources.

    Args:
        fetch: finds the memories of ids that have not ended.
        moment_ms: whose validity counts.
    """
    by_id = {row["id"]: row for row in rows}
    found = fetch(sorted(by_id))
    sources = reader.sources(list(found))
    known = fetch(sorted({each for some in sources.values() for each in some}))
    awake = {each for each, row in known.items() if not row.mutable[0] & Flag.DORMANT}
    over = {
        each
        for each, row in known.items()
        if row.valid_until_ms is not None and row.valid_until_ms <= moment_ms
    }

    def is_current(fact: int) -> bool:
        own = known.keys() & {*sources.get(fact, ())}
        is_over = bool(own) and own <= over
        return not is_over and (not found[fact].mutable[0] & Flag.DORMANT or bool(own & awake))

    return [row for each, row in by_id.items() if each in found and is_current(each)]


def checked_part(value: object, name: str) -> str:
    """A subject, predicate or object that can be kept.

    Raises:
        InvalidInputError: It is no text, empty, or too long.
    """
    if not isinstance(value, str):
        raise InvalidInputError(
            f"{name} must be a text, not {type(value).__name__}", hint="pass names as texts"
        )
    text = " ".join(value.split())
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} cannot be stored as UTF-8: {error.reason} at {error.start}",
            hint='decode it with errors="replace"',
        ) from None
    if not text or not folded(text):
        raise InvalidInputError(f"{name} is empty", hint=f"say what the {name} is")
    if len(text) > MOST_CHARS:
        raise InvalidInputError(
            f"{name} has {len(text)} characters; at most {MOST_CHARS} are kept",
            hint="a fact is a short triple; remember() keeps a text",
        )
    return text


def sentence(subject: str, predicate: str, object: str) -> str:
    """A triple as a sentence: ``Ada works at Acme.``"""
    return f"{subject} {predicate.replace('_', ' ')} {object}."


class Declared(NamedTuple):
    """Predicates that callers declared: those with one value at a time, and alias -> canonical."""

    single: frozenset[str]
    aliases: dict[str, str]
    names: frozenset[str]

    def slot(self, predicate: str) -> str:
        """The predicate that a fact gets: of a declared relation, or one of one value, its name."""
        from spector.language.frames import canonical_name

        name = folded(predicate).replace(" ", "_")
        one = canonical_name(self.aliases.get(name, name))
        if one in self.names:
            return one
        return name if is_single_valued(name) else predicate

    def named_like(self, predicate: str) -> set[str]:
        """All names of the relation of a predicate, by declaration and by the table."""
        from spector.language.frames import predicates_like

        one = self.aliases.get(predicate, predicate)
        names = {one, *(each for each, of in self.aliases.items() if of == one)}
        return names | {other for each in names for other in predicates_like(each)}


def declared(reader: KnowledgeReader) -> Declared:
    """What callers declared of predicates."""
    rows = [row["json"] for row in reader.items_of("predicate").values()]
    return Declared(
        frozenset(each["name"] for each in rows if each["single"]),
        {each["name"]: each["of"] for each in rows if each["of"] is not None},
        frozenset(each["name"] for each in rows),
    )


def predicate_named(value: object, name: str) -> str:
    """A predicate as rows of declared ones have it."""
    return folded(checked_part(value, name)).replace(" ", "_")


def is_single_valued(predicate: str, registered: Collection[str] = ()) -> bool:
    """Whether a predicate has one value at a time: by the table, or as the caller registered it."""
    name = folded(predicate).replace(" ", "_")
    return name in SINGLE_VALUED or name.startswith("favourite_") or name in registered


def held_fact(reader: KnowledgeReader, fact: FactToAdd) -> dict[str, Any] | None:
    """The row of a fact that holds and says the same, also with other case and accents."""
    known = reader.facts(scope=fact.scope, fact_key=fact.key, holds=1) or reader.facts(
        **fact.slot, object=folded(fact.object), holds=1
    )
    return known[0] if known else None


def put_fact(
    changes: Changes, made: New, fact: FactToAdd, *, now_ms: int, step: float = 0.0
) -> None:
    """The row of a new fact, tied to its sources."""
    said = {"subject": fact.subject, "predicate": fact.predicate, "object": fact.object}
    about = {
        name: value
        for name, usual in SAID.items()
        if (value := fact.about.get(name, usual)) != usual
    }
    # a later source adds its step as it would in a call of its own
    grown = min(1.0, round(fact.confidence + step * max(0, len(fact.sources) - 1), 9))
    changes.put(
        "fact",
        id=made,
        fact_key=fact.key,
        **fact.slot,
        object=folded(fact.object),
        holds=1,
        confidence=grown,
        verified_ms=now_ms,
        json=compact_json(said | about),
    )
    _tie(changes, made, fact.sources, 0, now_ms)


def confirm_fact(
    changes: Changes,
    row: dict[str, Any],
    known: Sequence[int],
    sources: Iterable[int],
    *,
    now_ms: int,
    step: float,
) -> None:
    """A fact that holds is stated again: each source that is not ``known`` adds ``step``."""
    fresh = [each for each in sources if each not in known]
    if fresh:
        confidence = min(1.0, round(row["confidence"] + step * len(fresh), 9))
        text = compact_json(row["json"])
        changes.put("fact", **row | {"json": text, "confidence": confidence, "verified_ms": now_ms})
        _tie(changes, row["id"], fresh, len(known), now_ms)


def contradict(changes: Changes, old: int | New, new: New, confidence: float, now_ms: int) -> None:
    """Tie two facts that cannot both be so, and are both kept."""
    changes.tie(old, "contradicts", new, "gate", now_ms, confidence=confidence)


def _tie(
    changes: Changes, fact: int | New, sources: Iterable[int], first: int, now_ms: int
) -> None:
    """Tie a fact to memories that state it."""
    for n, source in enumerate(sources, first):
        changes.link(fact, "source", source, n, now_ms)
        changes.tie(fact, "derived_from", source, "facts", now_ms, SOURCE_WEIGHT)


def fact_steps(
    reader: KnowledgeReader, entity: str, scope: str, ends: Iterable[str], *, hops: int, limit: int
) -> list[tuple[dict[str, Any], int]]:
    """Facts of a scope that hold, breadth-first from an entity, each once with its hops."""
    seen: set[int] = set()
    met = {folded(entity)}
    front = set(met)
    out: list[tuple[dict[str, Any], int]] = []
    for hop in range(1, hops + 1):
        found = [row for end in ends for row in reader.facts(scope=scope, holds=1, **{end: front})]
        front = set()
        for row in sorted(found, key=lambda each: int(each["id"])):
            if row["id"] in seen:
                continue
            seen.add(row["id"])
            out.append((row, hop))
            if len(out) == limit:
                return out
            front |= {row["subject"], row["object"]} - met
        met |= front
        if not front:
            break
    return out
