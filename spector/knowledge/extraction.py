"""Concepts that episodes name: which they are, and what a commit changes that takes them over.

Sleep and the worker of the concepts do the same: `named_after` reads a run of memories in one
moment, `plan_extraction` decides in the moment of the commit. Both can be repeated: a memory counts
for a concept once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from spector.knowledge.changes import Changes, New
from spector.knowledge.concepts import (
    MOST_REFERENCES,
    concepts_named,
    elements_of,
    plan_extracted_concept,
    plan_reinforced_by,
)
from spector.knowledge.facts import MOST_CHARS
from spector.knowledge.grounding import Figure
from spector.knowledge.reader import KnowledgeReader
from spector.knowledge.statistics import ENOUGH, assess, associated
from spector.language.words import concept_key, normalize_tokens
from spector.layout import TierCode
from spector.store.payloads import compact_json

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


# Operational patterns: tools whose success changes steadily from day to day.

_DAY_MS: Final = 86_400_000
LEAST_R2: Final = 0.4
_OVER_TIME: Final = " success over time"


@dataclass(frozen=True, slots=True)
class Trend:
    """How the success of a tool changes over time."""

    tool: str
    scope: str
    #: share of successes gained or lost a day
    slope_per_day: float
    #: share of the variance that the line explains
    r2: float
    #: days with an outcome
    days: int
    successes: int
    observations: int
    #: the memories that it was computed from, by time
    sources: tuple[int, ...]

    @property
    def name(self) -> str:
        """``stat:tool:navigate:success``."""
        return f"stat:tool:{self.tool}:success"

    def figure(self) -> Figure:
        """The statistic that says it."""
        name = f"{self.tool}{_OVER_TIME}"
        values: dict[str, float] = {
            "slope_per_day": self.slope_per_day,
            "r2": self.r2,
            "days": self.days,
            "successes": self.successes,
            "n": self.observations,
        }
        return Figure(
            self.name,
            name,
            trend_text(name, values),
            values,
            self.observations,
            category="pattern",
            domain="operations",
            confidence=self.r2,
        )


def trend_text(name: str, values: Mapping[str, float]) -> str:
    """How the statistic of a trend reads."""
    way = "falls" if values["slope_per_day"] < 0 else "rises"
    return (
        f"{name.removesuffix(_OVER_TIME)} success {way}: slope={values['slope_per_day']:+.3f} a"
        f" day, R2={values['r2']:.2f} ({int(values['successes'])}/{int(values['n'])} on"
        f" {int(values['days'])} days)"
    )


def trend_of(
    association: Association,
    evidence: Sequence[tuple[int, int, bool]],
    *,
    enough: int = ENOUGH,
    least_r2: float = LEAST_R2,
) -> Trend | None:
    """The trend of a tool, from ``enough`` days and from ``least_r2`` on; None without one.

    Args:
        association: Of the tool alone.
        evidence: (event time in ms, memory, success), by time.
    """
    if association.about:
        return None
    days: dict[int, list[bool]] = {}
    for t_ms, _, success in evidence:
        days.setdefault(t_ms // _DAY_MS, []).append(success)
    if len(days) < enough:
        return None
    rates = [sum(each) / len(each) for _, each in sorted(days.items())]
    found = assess(rates, [float(day) for day in sorted(days)])
    if found.r2 < least_r2 or found.slope_per_day == 0.0:
        return None
    return Trend(
        association.tool,
        association.scope,
        found.slope_per_day,
        found.r2,
        len(days),
        sum(success for _, _, success in evidence),
        len(evidence),
        tuple(memory for _, memory, _ in evidence),
    )


# Causal links: how often a tool, with or without a thing or a goal, ends in success.
#
# An association has a cue and the outcome ``success``. Each episode with a tool and an outcome moves
# its strength, ``V += 0.3 (outcome - V)`` (Rescorla and Wagner 1972), and counts once; its link of
# kind ``evidence`` says how it ended and when. An association lives as long as one of them does.

OUTCOME: Final = "success"
#: associations of a scope; further cues are not learned
MOST_ASSOCIATIONS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Association:
    """What a cue leads to."""

    id: int
    scope: str
    #: the tool, and what it was used on or for
    cue: str
    tool: str
    #: the thing or the goal; "" for the tool whatever it is used on
    about: str
    strength: float
    observations: int
    outcome: str = OUTCOME

    @property
    def name(self) -> str:
        """``grasp mug → success``."""
        return f"{self.cue} → {self.outcome}"


def associations_of(reader: KnowledgeReader, scope: str | None = None) -> list[Association]:
    """Every association of a scope, or of all, the oldest first."""
    return [
        Association(
            id=item,
            scope=row["scope"],
            cue=about["cue"],
            tool=about.get("tool", about["cue"]),
            about=about.get("about", ""),
            strength=about["strength"],
            observations=about["observations"],
            outcome=about["outcome"],
        )
        for item, row in sorted(reader.items_of("association", scope).items())
        for about in (row["json"],)
    ]


def evidence_of(
    reader: KnowledgeReader, associations: Collection[int]
) -> dict[int, list[tuple[int, int, bool]]]:
    """(event time in ms, memory, success) of what each association was learned from, by time."""
    found: dict[int, list[tuple[int, int, bool]]] = {each: [] for each in associations}
    for row in reader.links("evidence", a=associations) if associations else ():
        found[row["a"]].append((row["t_ms"] or 0, row["b"], bool(row["n"])))
    return {each: sorted(rows) for each, rows in found.items()}


def plan_associations(
    reader: KnowledgeReader,
    changes: Changes,
    episodes: Mapping[int, Mapping[str, Any]],
    *,
    rate: float = 0.3,
    most: int = MOST_ASSOCIATIONS,
) -> int:
    """Learn from episodes that have a tool and an outcome, each once, in the order of their ids.

    Args:
        episodes: memory -> the fields of its payload ``episode``.
        rate: how far one outcome moves a strength.
        most: associations that a scope may have.

    Returns:
        How many outcomes were counted.
    """
    owners = reader.owners(
        [
            each
            for each, details in episodes.items()
            if details.get("tool") and details.get("success") is not None
        ]
    )
    known = {
        scope: {
            (concept_key(each.tool), concept_key(each.about)): each
            for each in associations_of(reader, scope)
        }
        for scope in {each.scope for each in owners.values()}
    }
    seen = {(row["a"], row["b"]) for row in reader.links("evidence", b=owners)} if owners else set()
    state: dict[int | New, dict[str, Any]] = {}
    scopes: dict[int | New, str] = {}
    fresh: dict[tuple[str, str, str], New] = {}
    counted = 0
    for memory in sorted(owners):
        scope, success = owners[memory].scope, bool(episodes[memory]["success"])
        for tool, about in _cues(episodes[memory]):
            key = concept_key(tool), concept_key(about)
            old, item = known[scope].get(key), fresh.get((scope, *key))
            if old is None and item is None and len(known[scope]) + len(fresh) >= most:
                continue
            if old is not None and (old.id, memory) in seen:
                continue
            which: int | New = old.id if old is not None else item or changes.new_item()
            if old is None:
                fresh[(scope, *key)] = which  # type: ignore[assignment]
            if which not in state:
                scopes[which] = scope
                state[which] = (
                    _values(old)
                    if old is not None
                    else {
                        "cue": f"{tool} {about}".strip(),
                        "outcome": OUTCOME,
                        "strength": 0.0,
                        "observations": 0,
                        "tool": tool,
                        "about": about,
                    }
                )
            values = state[which]
            values["strength"] = associated(values["strength"], success, rate=rate)
            values["observations"] += 1
            changes.put(
                "link",
                a=which,
                kind="evidence",
                b=memory,
                n=int(success),
                t_ms=owners[memory].event_ms,
            )
            counted += 1
    for which, values in state.items():
        changes.put(
            "item",
            item_id=which,
            sort="association",
            scope=scopes[which],
            json=compact_json(values),
        )
    return counted


def _values(known: Association) -> dict[str, Any]:
    names = "cue outcome strength observations tool about"
    return {name: getattr(known, name) for name in names.split()}


def _cues(details: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Tool and thing or goal, each once: the tool alone, with every object, with the goal."""
    tool = " ".join(str(details["tool"]).split())
    if not concept_key(tool) or len(tool) > MOST_CHARS:
        return
    things = [*(details.get("objects") or ()), *(details.get("people") or ())]
    abouts = ["", *(" ".join(each.split()) for each in things)]
    goal = " ".join(normalize_tokens(details.get("goal") or ""))
    known: set[str] = set()
    for about in [*abouts, goal]:
        key = concept_key(about)
        if key not in known and len(about) <= MOST_CHARS and (key or about == abouts[0]):
            known.add(key)
            yield tool, about
