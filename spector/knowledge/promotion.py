"""Promotion: patterns that sources have found become concepts, unless they may be chance.

Built-in sources are the associations of tools and the trends of their success; `PromotionSource` is
what a foreign one implements. `admitted` says of a candidate whether it passes, and why not;
`plan_promotion` says what its concept changes. Both take what they know from one moment.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spector.knowledge.changes import Changes, New
from spector.knowledge.concepts import (
    MOST_REFERENCES,
    checked_properties,
    concepts_named,
    plan_concept,
    plan_concept_met,
    plan_reinforced_by,
)
from spector.knowledge.extraction import Trend, associations_of, evidence_of, trend_of
from spector.knowledge.facts import MOST_CHARS
from spector.knowledge.reader import KnowledgeReader, Owner
from spector.knowledge.statistics import is_noise
from spector.language.words import concept_key, folded, normalize_tokens
from spector.records import PromotionCandidate

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


def causal_candidates(
    reader: KnowledgeReader, min_confidence: float = 0.6, min_observations: int = 3
) -> list[PromotionCandidate]:
    """Associations that are strong enough: ``grasp mug → success``."""
    strong = [
        each
        for each in associations_of(reader)
        if each.strength >= min_confidence and each.observations >= min_observations
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
    reader: KnowledgeReader,
    min_confidence: float = 0.4,
    min_observations: int = 3,
    *,
    enough: int = 8,
) -> list[tuple[PromotionCandidate, Trend]]:
    """Tools whose success changes from day to day: ``stat:tool:navigate:success``."""
    tools = [each for each in associations_of(reader) if not each.about]
    tools = [each for each in tools if each.observations >= max(min_observations, enough)]
    evidence = evidence_of(reader, [each.id for each in tools])
    out = []
    for each in tools:
        trend = trend_of(each, evidence[each.id], enough=enough, least_r2=min_confidence)
        if trend is not None:
            metadata = {
                "tool": trend.tool,
                "slope_per_day": round(trend.slope_per_day, 6),
                "r2": round(trend.r2, 6),
                "observations": trend.observations,
            }
            out.append(
                (
                    PromotionCandidate(
                        pattern_name=trend.name,
                        category=OPERATIONAL,
                        confidence=trend.r2,
                        source_memory_ids=trend.sources,
                        metadata=metadata,
                    ),
                    trend,
                )
            )
    return out


def admitted(
    reader: KnowledgeReader,
    candidate: Any,
    *,
    min_confidence: float = 0.6,
    min_observations: int = 3,
    operational_min_confidence: float = 0.4,
    randomness_gate: bool = True,
    randomness_from: int = 8,
) -> Admitted | str:
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
    is_operational = candidate.category == OPERATIONAL
    if candidate.confidence < (operational_min_confidence if is_operational else min_confidence):
        return "confidence"
    if len(ids) < min_observations:
        return "observations"
    details = reader.payloads(ids, "episode")
    if (
        randomness_gate
        and candidate.category == CAUSAL
        and _is_random(owners, details, enough=randomness_from)
    ):
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
    n: int = 0,
    most_references: int = MOST_REFERENCES,
) -> Changes:
    """What the concept of a pattern changes: it is made, or reinforced by its new sources.

    Edges: ``derived_from`` to each source and ``instance_of`` from it, ``associates`` to the
    concepts of what recurs, and ``correlates_with`` between those that recur together. The newest
    200 sources have edges.

    Args:
        known: the concept, if there is one. n: number of the prepared text otherwise.
        most_references: how many episodes a concept refers to.
    """
    changes, candidate = Changes(), pattern.candidate
    sources = pattern.sources[-_MOST_SOURCES:]
    if known is None:
        changes.add(
            plan_concept(
                candidate.pattern_name,
                candidate.category,
                "",
                pattern.properties,
                "agent_inference",
                pattern.scope,
                is_automatic=True,
                n=n,
                count=len(pattern.sources),
            )
        )
        lost = len(pattern.sources) - most_references
        for place, memory in enumerate(pattern.sources):
            changes.put(
                "link",
                a=New(n),
                kind="reference:episodes",
                b=memory,
                n=None if place < lost else place,
                t_ms=now_ms,
            )
    else:
        _plan_met(reader, changes, pattern, known, now_ms, most_references)
    concept: int | New = New(n) if known is None else known
    ties = (
        set()
        if known is None
        else {(each.source, each.kind, each.target) for each in reader.edges([known])}
    )

    def tie(source: int | New, kind: str, target: int | New, weight: float = 1.0) -> None:
        if (source, kind, target) not in ties:
            changes.put(
                "edge",
                source_id=source,
                kind=kind,
                target_id=target,
                weight=weight,
                confidence=weight,
                origin=_ORIGIN,
                created_ms=now_ms,
                note=None,
            )

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


def _plan_met(
    reader: KnowledgeReader,
    changes: Changes,
    pattern: Admitted,
    known: int,
    now_ms: int,
    most: int,
) -> None:
    """Reinforce a known concept by sources that it has not met, and note what has changed."""
    values = reader.payloads([known], "concept")[known]
    met = plan_concept_met(
        reader,
        known,
        name=pattern.candidate.pattern_name,
        properties=pattern.properties,
        provenance="agent_inference",
        scope=pattern.scope,
        is_automatic=True,
    )
    texts = [row for table, row in met.puts if table.name == "payload"]
    changed = json.loads(texts[0]["json"]) if texts else {}
    changes.add(met)
    plan_reinforced_by(
        reader,
        changes,
        known,
        pattern.sources,
        now_ms,
        provenance="agent_inference",
        properties=changed.get("properties", values["properties"]),
        most=most,
    )


def _is_sound(candidate: Any) -> bool:
    """Whether a source, which may be foreign, gave what can be kept."""
    if not isinstance(candidate, PromotionCandidate):
        return False
    texts = (candidate.pattern_name, candidate.category)
    if not all(
        isinstance(each, str)
        and concept_key(each)
        and len(each) <= MOST_CHARS
        and each.isprintable()
        for each in texts
    ):
        return False
    sure, ids = candidate.confidence, candidate.source_memory_ids
    if isinstance(sure, bool) or not isinstance(sure, (int, float)) or not math.isfinite(sure):
        return False
    if not 0.0 <= sure <= 1.0 or not isinstance(ids, Iterable) or isinstance(ids, (str, bytes)):
        return False
    if not all(type(each) is int and 0 <= each < 1 << 63 for each in ids):
        return False
    try:
        checked_properties(candidate.metadata)
    except ValueError:
        return False
    return True


def _is_random(
    owners: Mapping[int, Owner], details: Mapping[int, Mapping[str, Any]], *, enough: int
) -> bool:
    told = [each for each in owners if details.get(each, {}).get("success") is not None]
    return is_noise(
        [bool(details[each]["success"]) for each in told],
        [owners[each].event_ms / _SECOND_MS for each in told],
        enough=enough,
    )


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
