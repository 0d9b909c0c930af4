"""Concepts that episodes name: which they are, and what a commit changes that takes them over.

Sleep and the worker of the concepts do the same: `named_after` reads a run of memories in one
moment, `plan_extraction` decides in the moment of the commit. Both can be repeated: a memory counts
for a concept once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from spector.knowledge.changes import Changes
from spector.knowledge.concepts import (
    MOST_REFERENCES,
    concepts_named,
    elements_of,
    plan_extracted_concept,
    plan_reinforced_by,
)
from spector.knowledge.facts import MOST_CHARS
from spector.knowledge.induction.associations import plan_associations
from spector.knowledge.reader import KnowledgeReader
from spector.language.words import concept_key
from spector.layout import TierCode

__all__ = [
    "Element",
    "Extracted",
    "Named",
    "concept_of",
    "elements_among",
    "members_of_shared_entities",
    "named_after",
    "named_in",
    "plan_extraction",
    "shared_entities",
]

#: memories that mention an entity, and their sessions, from which it is a concept
ENTITY_MEMORIES: Final = 5
ENTITY_SESSIONS: Final = 3


_SPEAKERS: Final = frozenset({"entity://person/user", "entity://person/agent"})
#: codes of the tiers that keep what happened
_OF_EPISODES: Final = frozenset({int(TierCode.EPISODIC)})


class Element(NamedTuple):
    """What may become a concept, as it is looked up."""

    scope: str
    #: the name without case, accents and separators
    key: str
    category: str


@dataclass(frozen=True, slots=True)
class Named:
    """What a run of memories names."""

    #: the cursor after it: every memory up to this id has been read
    last_id: int
    #: memories that were read
    memories: int
    #: element -> the name as it was spelled first, and the memories that show it, in order
    elements: Mapping[Element, tuple[str, tuple[int, ...]]]
    #: memory -> the details of its episode
    episodes: Mapping[int, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a run of memories has added to the concepts."""

    #: where the next run begins
    last_id: int
    #: memories that were read
    memories: int = 0
    #: concepts that were made or met, ascending
    concepts: tuple[int, ...] = ()
    #: those that were made
    made: tuple[int, ...] = ()
    #: elements that were left out because their scope has as many concepts as it may have
    left_out: int = 0


def named_after(
    reader: KnowledgeReader,
    after_id: int,
    limit: int,
    *,
    entity_memories: int = ENTITY_MEMORIES,
    entity_sessions: int = ENTITY_SESSIONS,
) -> Named:
    """What the first ``limit`` memories after an id name: details of episodes, shared entities."""
    episodes = reader.payloads_after("episode", after_id, limit)
    mentioning = reader.mentioning_after(after_id, limit)
    ids = sorted({*episodes, *mentioning})[:limit]
    last_id = ids[-1] if len(ids) == limit else max(after_id, reader.last_id)
    return named_in(
        reader, ids, last_id, entity_memories=entity_memories, entity_sessions=entity_sessions
    )


def named_in(
    reader: KnowledgeReader,
    ids: Sequence[int],
    last_id: int,
    *,
    entity_memories: int = ENTITY_MEMORIES,
    entity_sessions: int = ENTITY_SESSIONS,
) -> Named:
    """The same of chosen memories."""
    details = reader.payloads(ids, "episode")
    found = elements_among(reader, details)
    touched = {row["a"] for row in reader.links("mention", b=ids)} if ids else set()
    shared = shared_entities(
        reader, touched, entity_memories=entity_memories, entity_sessions=entity_sessions
    )
    return Named(last_id, len(ids), _joined(found, shared), details)


def elements_among(
    reader: KnowledgeReader, episodes: Mapping[int, Mapping[str, Any]]
) -> dict[Element, tuple[str, tuple[int, ...]]]:
    """What the details of episodes name: objects, people, tokens of the goal and of the tool.

    Args:
        episodes: memory -> the fields of its payload ``episode``.
    """
    owners = reader.owners(list(episodes))
    found: dict[Element, tuple[str, tuple[int, ...]]] = {}
    for memory in sorted(set(episodes) & set(owners)):
        for given, category in elements_of(episodes[memory]):
            name = " ".join(given.split())
            if not 0 < len(name) <= MOST_CHARS:
                continue
            element = Element(owners[memory].scope, concept_key(name), category)
            spelled, memories = found.get(element, (name, ()))
            found[element] = spelled, (*memories, memory)
    return found


def shared_entities(
    reader: KnowledgeReader,
    entities: Collection[int],
    *,
    entity_memories: int = ENTITY_MEMORIES,
    entity_sessions: int = ENTITY_SESSIONS,
) -> dict[Element, tuple[str, tuple[int, ...]]]:
    """Entities that enough episodic memories of enough sessions mention, with these memories.

    Persons are persons, everything else is an object.
    """
    mentioned: dict[int, list[int]] = {}
    for row in reader.links("mention", a=entities) if entities else ():
        mentioned.setdefault(row["a"], []).append(row["b"])
    many = {each: ids for each, ids in mentioned.items() if len(ids) >= entity_memories}
    owners = reader.owners({each for ids in many.values() for each in ids})
    found: dict[Element, tuple[str, tuple[int, ...]]] = {}
    for item, row in sorted(reader.items(many).items()):
        episodic = tuple(
            sorted(
                each for each in many[item] if each in owners and owners[each].tier in _OF_EPISODES
            )
        )
        sessions = {owners[each].session for each in episodic} - {None}
        if len(episodic) < entity_memories or len(sessions) < entity_sessions:
            continue
        about, key = row["json"], concept_key(row["json"]["name"])
        if key and len(about["name"]) <= MOST_CHARS:
            category = "person" if about["type"] == "person" else "object"
            element = Element(row["scope"], key, category)
            found = _joined(found, {element: (about["name"], episodic)})
    return found


def members_of_shared_entities(
    reader: KnowledgeReader, *, entity_memories: int, entity_sessions: int
) -> set[int]:
    """Episodic memories of entities that enough of them, of enough sessions, mention.

    The user and the agent are in nearly all; they are no such entity.
    """
    counts = Counter(row["a"] for row in reader.links("mention"))
    many = [each for each, count in counts.items() if count >= entity_memories]
    speakers = {
        each for each, row in reader.items(many).items() if row["json"].get("uri") in _SPEAKERS
    }
    found = shared_entities(
        reader,
        set(many) - speakers,
        entity_memories=entity_memories,
        entity_sessions=entity_sessions,
    )
    return {memory for _, ids in found.values() for memory in ids}


def plan_extraction(
    reader: KnowledgeReader,
    named: Named,
    now_ms: int,
    *,
    places: Mapping[Element, int],
    alike: Mapping[Element, int | Element],
    room: Mapping[str, int],
    rate: float = 0.3,
    most_references: int = MOST_REFERENCES,
) -> tuple[Changes, dict[Element, int | None], int]:
    """What taking over the elements of a run changes.

    Args:
        places: element -> the number of the prepared text that becomes its memory.
        alike: element -> the concept, or the element before it, whose words are as good as the
            same.
        room: scope -> how many concepts may be made.
        rate: how far one outcome moves the strength of a causal link.
        most_references: how many episodes a concept refers to.

    Returns:
        The changes, element -> its concept (None: one that is made now), and how many elements
        had no room.
    """
    changes, room, left_out = Changes(), dict(room), 0
    chosen: dict[Element, int | None] = {}
    fresh: dict[Element, list[int]] = {}
    counted: dict[int, list[int]] = {}
    owners = reader.owners({each for _, ids in named.elements.values() for each in ids})
    for element, (_, ids) in named.elements.items():
        memories = [each for each in ids if each in owners and owners[each].scope == element.scope]
        if not memories:  # forgotten since they were read
            continue
        like = alike.get(element)
        target = like if isinstance(like, Element) else element
        concept = concept_of(reader, element) or _still(reader, like) or chosen.get(target)
        if concept is not None:
            counted.setdefault(concept, []).extend(memories)
        elif target in fresh or room.get(element.scope, 0) > 0:
            room[element.scope] = room.get(element.scope, 0) - (target not in fresh)
            fresh.setdefault(target, []).extend(memories)
        else:
            left_out += 1
            continue
        chosen[element] = concept
    for concept, shown in counted.items():
        plan_reinforced_by(
            reader, changes, concept, sorted(set(shown)), now_ms, most=most_references
        )
    for element, shown in fresh.items():
        changes.add(
            plan_extracted_concept(
                named.elements[element][0],
                element.category,
                element.scope,
                sorted(set(shown)),
                now_ms,
                places[element],
                most=most_references,
            )
        )
    plan_associations(reader, changes, named.episodes, rate=rate)
    return changes, chosen, left_out


def concept_of(reader: KnowledgeReader, element: Element) -> int | None:
    """The oldest concept of an element's name and category; None without one."""
    found = concepts_named(reader, element.key, category=element.category, scope=element.scope)
    return found[0] if found else None


def _still(reader: KnowledgeReader, concept: int | Element | None) -> int | None:
    """A concept, if it is one that has not been forgotten meanwhile."""
    if not isinstance(concept, int) or not reader.payloads([concept], "concept"):
        return None
    return concept


def _joined(
    one: Mapping[Element, tuple[str, tuple[int, ...]]],
    other: Mapping[Element, tuple[str, tuple[int, ...]]],
) -> dict[Element, tuple[str, tuple[int, ...]]]:
    out = dict(one)
    for element, (name, memories) in other.items():
        spelled, before = out.get(element, (name, ()))
        out[element] = spelled, tuple(dict.fromkeys((*before, *memories)))
    return out
