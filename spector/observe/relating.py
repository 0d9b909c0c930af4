"""Relations of a new memory: to what it shares names and words with, and to what was said before.

One edge a pair: two shared entities, else words in common and an entity, else words of one category
(Cognitive Memory v9).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from spector.config import KnowledgeConfig
from spector.knowledge import KnowledgeReader, facts_of_alone
from spector.language.frames import Statement
from spector.language.words import analyse, folded, is_stop
from spector.records import Edge, MemoryRecord

SAME_ENTITY, ELABORATES, RELATED = 0.7, 0.5, 0.4
FOLLOWED: Final = 1.0
#: in place of the number of a fact: what a message states in no fact
MESSAGE: Final = -1
#: memories that are compared at most
MOST: Final = 20
#: an entity that more memories mention ties none of them
_MOST_MENTIONS: Final = 25
#: entities that nearly every message mentions
_PERSONS: Final = ("user", "agent")


def content_of(text: str) -> frozenset[str]:
    """The stems of a text's words, without those that only tie others together."""
    return frozenset(each for each in analyse(text).words if not is_stop(each))


def sharing(reader: KnowledgeReader, record_id: int) -> dict[int, int]:
    """Memories that mention the same entities, and how many of them; the newest at most.

    An entity that many memories mention ties none.
    """
    items = reader.items({row["a"] for row in reader.links("mention", b=[record_id])})
    entities = {each for each, row in items.items() if row["json"]["type"] not in _PERSONS}
    counts = reader.mention_counts(entities)
    few = [each for each in sorted(entities) if 1 < counts[each] <= _MOST_MENTIONS]
    found: Counter[int] = Counter(
        row["b"] for row in (reader.links("mention", a=few) if few else ()) if row["b"] != record_id
    )
    first = sorted(found.items(), key=lambda each: (-each[1], -each[0]))
    return dict(first[:MOST])


def related(
    new: MemoryRecord,
    words: frozenset[str],
    others: Mapping[int, MemoryRecord],
    shared: Mapping[int, int],
    taken: Collection[int],
    config: KnowledgeConfig,
) -> Iterator[Edge]:
    """The edges from a new memory to others of its scope, one each.

    Args:
        words: content of the new one. shared: memory -> entities in common.
        taken: memories that are tied to it already.
    """
    for each, other in others.items():
        if each in taken or each == new.id or other.user_id != new.user_id:
            continue
        common = shared.get(each, 0)
        if common >= config.same_entity:
            yield _edge(min(each, new.id), max(each, new.id), "same_entity", SAME_ENTITY)
            continue
        said = content_of(other.text)
        overlap = len(words & said) / max(1, len(words | said))
        if overlap > config.elaborates_overlap and common:
            yield _edge(new.id, each, "elaborates", ELABORATES)
        elif overlap > config.related_overlap and other.category == new.category:
            yield _edge(min(each, new.id), max(each, new.id), "related_to", RELATED)


def followed(ids: Iterable[int]) -> Iterator[Edge]:
    """The edges from each of some memories to the next."""
    for one, other in itertools.pairwise(ids):
        if one != other:
            yield _edge(one, other, "followed_by", FOLLOWED)


def gate_edge(new: int, old: int, kind: str, confidence: float) -> Edge:
    """An edge that the gate decided: ``elaborates``, ``may_change`` or ``contradicts``."""
    source, target = (min(new, old), max(new, old)) if kind == "contradicts" else (new, old)
    weight = ELABORATES if kind == "elaborates" else 1.0
    return Edge(
        source=source,
        target=target,
        kind=kind,
        weight=weight,
        confidence=ELABORATES if kind == "elaborates" else confidence,
        origin="gate",
    )


def _edge(source: int, target: int, kind: str, weight: float) -> Edge:
    return Edge(
        source=source, target=target, kind=kind, weight=weight, confidence=weight, origin="relate"
    )


def heirs_of(
    reader: KnowledgeReader,
    living: Callable[[Collection[int]], Mapping[int, MemoryRecord]],
    gone: Sequence[int],
    facts: Sequence[Statement],
) -> dict[int, list[int]]:
    """Facts that only superseded memories state, by what takes their place.

    That is the new fact of the same predicate, by its number, else ``MESSAGE``.

    Args:
        living: looks memories up.
        gone: the superseded memories. facts: what the message states.
    """
    out: dict[int, list[int]] = {}

    def ended(ids: Collection[int]) -> set[int]:
        return {*ids} - {each for each, record in living(ids).items() if not record.superseded}

    alone = facts_of_alone(reader, gone, ended)
    found = living(sorted(alone))
    known = {(folded(each.subject), folded(each.predicate)): n for n, each in enumerate(facts)}
    for row in reader.facts(id=sorted(alone), holds=1) if alone else ():
        if not (found[row["id"]].pinned or found[row["id"]].immutable):
            n = known.get((row["subject"], row["predicate"]), MESSAGE)
            out.setdefault(n, []).append(row["id"])
    return out
