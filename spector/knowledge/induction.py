"""Concepts that episodes name, and patterns of tools that become concepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from spector.arguments import parse_number
from spector.config import KnowledgeConfig, SleepConfig
from spector.knowledge.changes import Changes, New
from spector.knowledge.concepts import (
    PROVENANCES,
    checked_properties,
    concepts_named,
    elements_of,
    plan_concept_met,
    plan_reinforcement,
    plan_shown_concept,
)
from spector.knowledge.facts import MOST_CHARS
from spector.knowledge.grounding import Figure
from spector.knowledge.reader import KnowledgeReader
from spector.knowledge.statistics import assess, associated, is_noise
from spector.language.words import concept_key, folded, normalize_tokens
from spector.layout import TierCode
from spector.records import PromotionCandidate

#: how many memories mention an entity, of how many sessions, from which it is a concept
Shared = tuple[int, int]
_SPEAKERS: Final = frozenset({"entity://person/user", "entity://person/agent"})
#: codes of the tiers that keep what happened
_OF_EPISODES: Final = frozenset({int(TierCode.EPISODIC)})


class Element(NamedTuple):
    """What may become a concept, as it is looked up."""

    scope: str
    #: the name without case, accents and separators
    key: str
    category: str


#: element -> the name as it was spelled first, and the memories that show it, in order
Elements = dict[Element, tuple[str, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class Named:
    """What a run of memories names."""

    #: the cursor after it: every memory up to this id has been read
    last_id: int
    #: memories that were read
    memories: int
    elements: Elements
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


def named_after(reader: KnowledgeReader, after_id: int, limit: int, shared: Shared) -> Named:
    """What the first ``limit`` memories after an id name: details of episodes, shared entities."""
    episodes = reader.payloads_after("episode", after_id, limit)
    mentioning = reader.mentioning_after(after_id, limit)
    ids = sorted({*episodes, *mentioning})[:limit]
    last_id = ids[-1] if len(ids) == limit else max(after_id, reader.last_id)
    return named_in(reader, ids, last_id, shared)


def named_in(reader: KnowledgeReader, ids: Sequence[int], last_id: int, shared: Shared) -> Named:
    """The same of chosen memories."""
    details = reader.payloads(ids, "episode")
    found = elements_among(reader, details)
    touched = {row["a"] for row in reader.links("mention", b=ids)} if ids else set()
    for element, (name, memories) in shared_entities(reader, touched, shared).items():
        _note(found, element, name, memories)
    return Named(last_id, len(ids), found, details)


def _note(found: Elements, element: Element, name: str, memories: Iterable[int]) -> None:
    spelled, before = found.get(element, (name, ()))
    found[element] = spelled, tuple(dict.fromkeys((*before, *memories)))


def elements_among(reader: KnowledgeReader, episodes: Mapping[int, Mapping[str, Any]]) -> Elements:
    """What the details of episodes name: objects, people, tokens of the goal and of the tool.

    Args:
        episodes: memory -> the fields of its payload ``episode``.
    """
    owners = reader.owners(list(episodes))
    found: Elements = {}
    for memory in sorted(set(episodes) & set(owners)):
        for given, category in elements_of(episodes[memory]):
            name = " ".join(given.split())
            if 0 < len(name) <= MOST_CHARS:
                element = Element(owners[memory].scope, concept_key(name), category)
                _note(found, element, name, [memory])
    return found


def shared_entities(reader: KnowledgeReader, entities: Collection[int], shared: Shared) -> Elements:
    """Entities that enough episodic memories of enough sessions mention, with these memories.

    Persons are persons, everything else is an object.
    """
    mentioned: dict[int, list[int]] = {}
    for row in reader.links("mention", a=entities) if entities else ():
        mentioned.setdefault(row["a"], []).append(row["b"])
    many = {each: ids for each, ids in mentioned.items() if len(ids) >= shared[0]}
    owners = reader.owners({each for ids in many.values() for each in ids})
    found: Elements = {}
    for item, row in sorted(reader.items(many).items()):
        episodic = tuple(
            sorted(
                each for each in many[item] if each in owners and owners[each].tier in _OF_EPISODES
            )
        )
        sessions = {owners[each].session for each in episodic} - {None}
        if len(episodic) < shared[0] or len(sessions) < shared[1]:
            continue
        about, key = row["json"], concept_key(row["json"]["name"])
        if key and len(about["name"]) <= MOST_CHARS:
            category = "person" if about["type"] == "person" else "object"
            _note(found, Element(row["scope"], key, category), about["name"], episodic)
    return found


def members_of_shared_entities(reader: KnowledgeReader, shared: Shared) -> set[int]:
    """Episodic memories of entities that enough of them, of enough sessions, mention.

    The user and the agent are in nearly all; they are no such entity.
    """
    counts = Counter(row["a"] for row in reader.links("mention"))
    many = [each for each, count in counts.items() if count >= shared[0]]
    speakers = {
        each for each, row in reader.items(many).items() if row["json"].get("uri") in _SPEAKERS
    }
    found = shared_entities(reader, set(many) - speakers, shared)
    return {memory for _, ids in found.values() for memory in ids}


def plan_extraction(
    reader: KnowledgeReader,
    named: Named,
    now_ms: int,
    *,
    places: Mapping[Element, int],
    alike: Mapping[Element, int | Element],
    room: Mapping[str, int],
    tuning: KnowledgeConfig,
) -> tuple[Changes, dict[Element, int | None]]:
    """What taking over the elements of a run changes.

    Args:
        places: element -> the number of the prepared text that becomes its memory.
        alike: element -> the concept, or the element before it, whose words are as good as the
            same.
        room: scope -> how many concepts may be made.
        tuning: how far one outcome moves a causal link, how many episodes a concept refers to.

    Returns:
        The changes, and element -> its concept (None: one that is made now); not of elements that
        have no room.
    """
    changes, room = Changes(), dict(room)
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
            continue
        chosen[element] = concept
    for concept, shown in counted.items():
        plan_reinforcement(
            reader,
            changes,
            concept,
            sorted(set(shown)),
            now_ms,
            provenance=PROVENANCES[0],
            most=tuning.max_refs,
        )
    for element, shown in fresh.items():
        about = {
            "name": named.elements[element][0],
            "category": element.category,
            "properties": {},
            "provenance": PROVENANCES[0],
        }
        memories = sorted(set(shown))
        plan_shown_concept(
            changes, places[element], about, element.scope, memories, now_ms, tuning.max_refs
        )
    plan_associations(reader, changes, named.episodes, tuning.association_rate)
    return changes, chosen


def concept_of(reader: KnowledgeReader, element: Element) -> int | None:
    """The oldest concept of an element's name and category; None without one."""
    found = concepts_named(reader, element.key, category=element.category, scope=element.scope)
    return found[0] if found else None


def _still(reader: KnowledgeReader, concept: int | Element | None) -> int | None:
    """A concept, if it is one that has not been forgotten meanwhile."""
    if not isinstance(concept, int) or not reader.payloads([concept], "concept"):
        return None
    return concept


# Operational patterns: tools whose success changes steadily from day to day.

_DAY_MS: Final = 86_400_000
_OVER_TIME: Final = " success over time"


def trend_text(name: str, values: Mapping[str, float]) -> str:
    """How the statistic of a trend reads."""
    way = "falls" if values["slope_per_day"] < 0 else "rises"
    return (
        f"{name.removesuffix(_OVER_TIME)} success {way}: slope={values['slope_per_day']:+.3f} a"
        f" day, R2={values['r2']:.2f} ({int(values['successes'])}/{int(values['n'])} on"
        f" {int(values['days'])} days)"
    )


def trend_of(
    association: Association, evidence: Sequence[tuple[int, int, bool]], tuning: SleepConfig
) -> tuple[PromotionCandidate, Figure] | None:
    """The trend of a tool as a pattern, and the statistic that says it; None without one.

    Args:
        association: Of the tool alone.
        evidence: (event time in ms, memory, success), by time.
    """
    days: dict[int, list[bool]] = {}
    for t_ms, _, success in evidence:
        days.setdefault(t_ms // _DAY_MS, []).append(success)
    if len(days) < tuning.randomness_from:
        return None
    rates = [sum(each) / len(each) for _, each in sorted(days.items())]
    found = assess(rates, [float(day) for day in sorted(days)])
    if found.r2 < tuning.operational_min_confidence or found.slope_per_day == 0.0:
        return None
    tool, n = association.tool, len(evidence)
    pattern, name = f"stat:tool:{tool}:success", f"{tool}{_OVER_TIME}"
    values: dict[str, float] = {
        "slope_per_day": found.slope_per_day,
        "r2": found.r2,
        "days": len(days),
        "successes": sum(success for _, _, success in evidence),
        "n": n,
    }
    candidate = PromotionCandidate(
        pattern_name=pattern,
        category=OPERATIONAL,
        confidence=found.r2,
        source_memory_ids=tuple(memory for _, memory, _ in evidence),
        metadata={
            "tool": tool,
            "slope_per_day": round(found.slope_per_day, 6),
            "r2": round(found.r2, 6),
            "observations": n,
        },
    )
    text, about = trend_text(name, values), {"category": "pattern", "domain": "operations"}
    return candidate, Figure(pattern, name, text, values, n, **about, confidence=found.r2)


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

    #: its item, or what stands for the one that a change makes
    id: Any
    scope: str
    #: the tool, and what it was used on or for
    cue: str
    tool: str
    #: the thing or the goal; "" for the tool whatever it is used on
    about: str
    strength: float = 0.0
    observations: int = 0
    outcome: str = OUTCOME

    @property
    def name(self) -> str:
        """``grasp mug → success``."""
        return f"{self.cue} → {self.outcome}"


def associations_of(reader: KnowledgeReader, scope: str | None = None) -> list[Association]:
    """Every association of a scope, or of all, the oldest first.

    Raises:
        CatalogCorruptError: A row has other fields than an association.
    """
    found = sorted(reader.items_of("association", scope).items())
    for _, row in found:
        if other := row["json"].keys() ^ set(_SAID):
            raise reader.damaged("item", row, f"an association with, or without, {min(other)}")
    return [Association(item, row["scope"], **row["json"]) for item, row in found]


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
    rate: float,
) -> None:
    """Learn from episodes that have a tool and an outcome, each once, in the order of their ids.

    Args:
        episodes: memory -> the fields of its payload ``episode``.
        rate: how far one outcome moves a strength.
    """
    owners = reader.owners(
        [
            each
            for each, details in episodes.items()
            if details.get("tool") and details.get("success") is not None
        ]
    )
    known = {
        (each.scope, concept_key(each.tool), concept_key(each.about)): each
        for scope in {each.scope for each in owners.values()}
        for each in associations_of(reader, scope)
    }
    counts, learned = Counter(scope for scope, *_ in known), set[tuple[str, str, str]]()
    seen = {(row["a"], row["b"]) for row in reader.links("evidence", b=owners)} if owners else set()
    for memory in sorted(owners):
        scope, success = owners[memory].scope, bool(episodes[memory]["success"])
        for tool, about in _cues(episodes[memory]):
            key = scope, concept_key(tool), concept_key(about)
            old = known.get(key)
            if old is None and counts[scope] >= MOST_ASSOCIATIONS:
                continue
            if old is None:
                cue = f"{tool} {about}".strip()
                old = Association(changes.new_item(), scope, cue, tool, about)
                counts[scope] += 1
            elif (old.id, memory) in seen:
                continue
            strength = associated(old.strength, success, rate=rate)
            known[key] = replace(old, strength=strength, observations=old.observations + 1)
            learned.add(key)
            changes.link(old.id, "evidence", memory, int(success), owners[memory].event_ms)
    for each in (known[key] for key in known if key in learned):
        values = {name: getattr(each, name) for name in _SAID}
        changes.item(each.id, "association", each.scope, values)


#: fields of an association that its row keeps
_SAID: Final = ("cue", "outcome", "strength", "observations", "tool", "about")


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


# Promotion: patterns that sources have found become concepts, unless they may be chance.
#
# Built-in sources are the associations of tools and the trends of their success; `PromotionSource` is
# what a foreign one implements. `admitted` says of a candidate whether it passes, and why not;
# `plan_promotion` says what its concept changes. Both take what they know from one moment.

CAUSAL: Final = "causal_pattern"
OPERATIONAL: Final = "operational_pattern"
_ORIGIN: Final = "promote"
#: what recurs in this share of the sources belongs to the pattern
_RECURS: Final = 0.5
#: edges to sources, and properties of one kind
_MOST_SOURCES, _MOST_ELEMENTS = 200, 8
_SECOND_MS: Final = 1_000.0


@dataclass(frozen=True, slots=True)
class Admitted:
    """A candidate that passes."""

    candidate: PromotionCandidate
    scope: str
    #: its sources that are there, in the order of their time
    sources: tuple[int, ...]
    properties: Mapping[str, Any]
    #: (name, category) of what recurs in the sources -> the share of them that name it
    elements: Mapping[tuple[str, str], float]
    #: of two of these, the share of the sources that name both
    together: Mapping[tuple[tuple[str, str], tuple[str, str]], float]


def causal_candidates(reader: KnowledgeReader, tuning: SleepConfig) -> list[PromotionCandidate]:
    """Associations that are strong enough: ``grasp mug → success``."""
    strong = [
        each
        for each in associations_of(reader)
        if each.strength >= tuning.promote_min_confidence
        and each.observations >= tuning.promote_min_observations
    ]
    evidence = evidence_of(reader, [each.id for each in strong])
    return [
        PromotionCandidate(
            pattern_name=each.name,
            category=CAUSAL,
            confidence=each.strength,
            source_memory_ids=tuple(memory for _, memory, _ in evidence[each.id]),
            metadata={
                "tool": each.tool,
                "strength": round(each.strength, 6),
                "observations": each.observations,
            },
        )
        for each in strong
    ]


def operational_candidates(
    reader: KnowledgeReader, tuning: SleepConfig
) -> list[tuple[PromotionCandidate, Figure]]:
    """Tools whose success changes from day to day, and the statistics that say so."""
    least = max(tuning.promote_min_observations, tuning.randomness_from)
    tools = [
        each for each in associations_of(reader) if not each.about and each.observations >= least
    ]
    evidence = evidence_of(reader, [each.id for each in tools])
    found = (trend_of(each, evidence[each.id], tuning) for each in tools)
    return [each for each in found if each is not None]


def admitted(reader: KnowledgeReader, candidate: Any, tuning: SleepConfig) -> Admitted | str:
    """A candidate with what its sources have in common, or the reason why it is no concept.

    Reasons: ``malformed``, ``unknown`` (a source that is gone), ``scopes`` (sources of two users),
    ``confidence``, ``observations``, ``random`` (a causal pattern whose outcomes and times both may
    be chance).
    """
    if not _is_sound(candidate):
        return "malformed"
    ids = list(dict.fromkeys(candidate.source_memory_ids))
    owners = reader.owners(ids)
    if len(owners) < len(ids) or not ids:
        return "unknown"
    if len({each.scope for each in owners.values()}) > 1:
        return "scopes"
    least = tuning.promote_min_confidence
    if candidate.category == OPERATIONAL:
        least = tuning.operational_min_confidence
    if candidate.confidence < least:
        return "confidence"
    if len(ids) < tuning.promote_min_observations:
        return "observations"
    details = reader.payloads(ids, "episode")
    if tuning.randomness_gate and candidate.category == CAUSAL:
        told = [each for each in owners if details.get(each, {}).get("success") is not None]
        outcomes = [bool(details[each]["success"]) for each in told]
        times = [owners[each].event_ms / _SECOND_MS for each in told]
        if is_noise(outcomes, times, tuning.randomness_from):
            return "random"
    elements, together = _recurring(details, len(ids))
    properties = dict(candidate.metadata)
    for plural, category in (("objects", "object"), ("people", "person"), ("goals", "goal")):
        names = [name for name, kind in elements if kind == category]
        if names:
            properties.setdefault(plural, names)
    order = sorted(ids, key=lambda each: (owners[each].event_ms, each))
    return Admitted(
        candidate,
        owners[ids[0]].scope,
        tuple(order),
        properties,
        {each: share for each, share in elements.items() if each[1] != "goal"},
        together,
    )


def is_same_pattern(one: str, other: str) -> bool:
    """Whether two names of patterns say the same, whatever their separators and stop words.

    Likeness of vectors does not tell patterns apart: ``grasp mug → success`` and ``grasp cup →
    success`` are alike.
    """
    if concept_key(one) == concept_key(other):
        return True
    return _words(one) == _words(other)


def _words(name: str) -> Counter[str]:
    return Counter(map(folded, normalize_tokens(name)))


def plan_promotion(
    reader: KnowledgeReader,
    pattern: Admitted,
    now_ms: int,
    *,
    known: int | None,
    most: int,
) -> Changes:
    """What the concept of a pattern changes: it is made, or reinforced by its new sources.

    Edges: ``derived_from`` to each source and ``instance_of`` from it, ``associates`` to the
    concepts of what recurs, and ``correlates_with`` between those that recur together. The newest
    200 sources have edges.

    Args:
        known: the concept, if there is one; the prepared text becomes one otherwise.
        most: how many episodes a concept refers to.
    """
    changes, candidate = Changes(), pattern.candidate
    sources = pattern.sources[-_MOST_SOURCES:]
    about = {
        "name": candidate.pattern_name,
        "category": candidate.category,
        "properties": pattern.properties,
        "provenance": "agent_inference",
    }
    if known is None:
        plan_shown_concept(changes, 0, about, pattern.scope, pattern.sources, now_ms, most)
    else:
        values = plan_concept_met(reader, changes, known, about, pattern.scope, is_automatic=True)
        plan_reinforcement(
            reader, changes, known, pattern.sources, now_ms, values=values, most=most
        )
    concept: int | New = New(0) if known is None else known
    ties = (
        set()
        if known is None
        else {(each.source, each.kind, each.target) for each in reader.edges([known])}
    )

    def tie(source: int | New, kind: str, target: int | New, weight: float = 1.0) -> None:
        if (source, kind, target) not in ties:
            changes.tie(source, kind, target, _ORIGIN, now_ms, weight)

    for memory in sources:
        tie(concept, "derived_from", memory)
        tie(memory, "instance_of", concept)
    found = _concepts_of(reader, pattern)
    for element, each in found.items():
        if each != known:
            tie(concept, "associates", each, pattern.elements[element])
    among = (
        {
            (each.source, each.target)
            for each in reader.edges(list(found.values()), kinds=["correlates_with"])
        }
        if found
        else set()
    )
    for (one, other), share in pattern.together.items():
        if one in found and other in found and found[one] != found[other]:
            ends = min(found[one], found[other]), max(found[one], found[other])
            if ends not in among:
                tie(ends[0], "correlates_with", ends[1], share)
    return changes


def _is_sound(candidate: Any) -> bool:
    """Whether a source, which may be foreign, gave what can be kept."""
    if not isinstance(candidate, PromotionCandidate):
        return False
    try:
        for text in (candidate.pattern_name, candidate.category):
            if not (concept_key(text) and len(text) <= MOST_CHARS and text.isprintable()):
                return False
        parse_number(candidate.confidence, "confidence", 0.0, 1.0)
        checked_properties(candidate.metadata)
        ids = candidate.source_memory_ids
        return all(type(each) is int and 0 <= each < 1 << 63 for each in ids)
    except (TypeError, ValueError, AttributeError):
        return False


def _recurring(
    details: Mapping[int, Mapping[str, Any]], count: int
) -> tuple[dict[tuple[str, str], float], dict[tuple[tuple[str, str], tuple[str, str]], float]]:
    """What at least half of the sources name, the most frequent first, and which of it together."""
    spelled: dict[tuple[str, str], str] = {}
    named: list[set[tuple[str, str]]] = []
    for _, each in sorted(details.items()):
        own = set()
        for name, category in _names_of(each):
            key = concept_key(name), category
            if key[0] and len(name) <= MOST_CHARS:
                spelled.setdefault(key, name)
                own.add(key)
        named.append(own)
    counts = Counter(key for own in named for key in own)
    often = sorted(
        (key for key, n in counts.items() if n >= _RECURS * count),
        key=lambda key: (-counts[key], key),
    )
    kept = [
        key
        for kind in ("object", "person", "goal")
        for key in [each for each in often if each[1] == kind][:_MOST_ELEMENTS]
    ]
    shown = {key: (spelled[key], key[1]) for key in kept}
    pairs = {}
    things = [key for key in kept if key[1] != "goal"]
    for at, one in enumerate(things):
        for other in things[at + 1 :]:
            both = sum(one in own and other in own for own in named)
            if both >= _RECURS * count:
                pairs[shown[one], shown[other]] = both / count
    return {shown[key]: counts[key] / count for key in kept}, pairs


def _names_of(details: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    goal = details.get("goal")
    found = [(" ".join(each.split()), "object") for each in details.get("objects") or ()]
    found += [(" ".join(each.split()), "person") for each in details.get("people") or ()]
    return [*found, *([(" ".join(goal.split()), "goal")] if goal else [])]


def _concepts_of(reader: KnowledgeReader, pattern: Admitted) -> dict[tuple[str, str], int]:
    """The concepts of what recurs, where there are any."""
    out = {}
    for name, category in pattern.elements:
        found = concepts_named(reader, name, category=category, scope=pattern.scope)
        if found:
            out[name, category] = found[0]
    return out
