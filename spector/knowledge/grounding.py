"""Grounding: what the episodes of a concept say about it in numbers, and what they foretell."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spector.knowledge.changes import Changes, New
from spector.knowledge.concepts import references_of
from spector.knowledge.reader import KnowledgeReader
from spector.knowledge.statistics import ENOUGH, assess, certainty, jaccard
from spector.layout import Flag

#: co-occurrence from which concepts are related: common episodes, and their share
_COMMON = 3
_ORIGIN: Final = "ground"
_SALIENCE: Final = "mean_salience"
_SUCCESS: Final = "success_rate"


@dataclass(frozen=True, slots=True)
class Experience:
    """A living episode: its details, and what its memory says where these are silent."""

    id: int
    event_ms: int
    importance: float
    #: fields of the payload ``episode``; empty without one
    details: Mapping[str, Any]
    #: how new it was when it was observed
    novelty: float | None = None
    is_consolidated: bool = False

    def __getitem__(self, field: str) -> Any:
        return self.details.get(field)


@dataclass(frozen=True, slots=True)
class Figure:
    """One statistic of a concept."""

    #: ``mean_salience``, ``mean_novelty``, ``success_rate``, or the name of a pattern
    code: str
    name: str
    text: str
    values: Mapping[str, float]
    n: int
    category: str = "summary"
    domain: str = "concept_grounding"
    #: of a pattern; a summary is as sure as its observations are many
    confidence: float | None = None

    def payload(self, concept: int, now_ms: int) -> dict[str, Any]:
        """The fields of its payload."""
        sure = certainty(self.n) if self.confidence is None else self.confidence
        return {
            "concept_id": concept,
            "name": self.name,
            "category": self.category,
            "domain": self.domain,
            "values": dict(self.values),
            "code": self.code,
            "confidence": sure,
            "computed_ms": now_ms,
        }


def concepts_to_ground(
    reader: KnowledgeReader, enough: int, since_ms: int
) -> tuple[set[int], set[int], int]:
    """Concepts whose statistics are not those of their episodes, those with new references, and
    the time of the newest reference.

    Args:
        since_ms: after which a reference is new.
    """
    counts: dict[int, int] = {}
    newest: dict[int, int] = {}
    for row in reader.links("reference:episodes"):
        if row["n"] is not None:
            counts[row["a"]] = counts.get(row["a"], 0) + 1
        newest[row["a"]] = max(newest.get(row["a"], 0), row["t_ms"] or 0)
    said: dict[int, tuple[float, int]] = {}
    for values in reader.all_payloads("statistic").values() if counts else ():
        if values["code"] == _SALIENCE:
            said[values["concept_id"]] = values["values"].get("n", 0), values["computed_ms"] or 0
    due = {
        each
        for each, n in counts.items()
        if n >= enough and (each not in said or said[each][0] != n or newest[each] > said[each][1])
    }
    met = {each for each, n in counts.items() if n >= _COMMON and newest[each] > since_ms}
    return due, met, max(newest.values(), default=since_ms)


def figure_text(code: str, name: str, values: Mapping[str, float]) -> str:
    """How a statistic of a concept reads."""
    if code == _SUCCESS:
        successes, n = int(values["successes"]), int(values["n"])
        return f"{name}: {values['rate']:.3g} ({successes}/{n})"
    return f"{name}: mean={values['mean']:.2f}, std={values['std']:.2f}"


def figures_of(name: str, episodes: Sequence[Experience], enough: int = ENOUGH) -> list[Figure]:
    """Salience, novelty and success rate of a concept's episodes; none with fewer than eight.

    A figure needs two values; the salience of an episode without details is its importance.
    """
    if len(episodes) < enough:
        return []
    salience = [
        each.importance if each["salience"] is None else each["salience"] for each in episodes
    ]
    novelty = [
        value
        for each in episodes
        if (value := each.novelty if each["novelty"] is None else each["novelty"]) is not None
    ]
    outcomes = [each["success"] for each in episodes if each["success"] is not None]
    out = []
    for kind, values in (("salience", salience), ("novelty", novelty)):
        if len(values) < 2:
            continue
        found = assess(values)
        numbers = {each: getattr(found, each) for each in ("mean", "std", "min", "max", "n")}
        code, title = f"mean_{kind}", f"{name} {kind}"
        out.append(Figure(code, title, figure_text(code, title, numbers), numbers, found.n))
    if len(outcomes) >= 2:
        n, good = len(outcomes), sum(outcomes)
        rates: dict[str, float] = {"rate": good / n, "successes": good, "n": n}
        title = f"{name} success rate"
        out.append(Figure(_SUCCESS, title, figure_text(_SUCCESS, title, rates), rates, n))
    return out


def plan_new_figures(
    figures: Sequence[Figure], concept: int, episodes: Sequence[int], now_ms: int
) -> Changes:
    """Statistics that are stored: memory n gets the payload of the nth figure, and its edges."""
    changes = Changes(store=list(range(len(figures))))
    for n, each in enumerate(figures):
        made = New(n)
        changes.payload(made, "statistic", each.payload(concept, now_ms))
        changes.dreamt(made)
        changes.tie(made, "quantifies", concept, _ORIGIN, now_ms)
        for episode in episodes:
            changes.tie(made, "computed_from", episode, _ORIGIN, now_ms)
    return changes


def experiences(
    reader: KnowledgeReader, ids: Iterable[int], known: Mapping[int, tuple[int, float, int]]
) -> list[Experience]:
    """Living episodes with their details, in the order of the ids.

    Args:
        known: memory -> event time in ms, importance and flags, of those that live.
    """
    details = reader.payloads(list(known), "episode")
    observed = reader.payloads(list(known), "observed")
    return [
        Experience(
            each,
            event_ms,
            importance,
            details.get(each, {}),
            observed.get(each, {}).get("novelty"),
            bool(flags & Flag.CONSOLIDATED),
        )
        for each in ids
        if each in known
        for event_ms, importance, flags in (known[each],)
    ]


def statistics_of(reader: KnowledgeReader, concepts: Collection[int]) -> dict[int, dict[str, Any]]:
    """The statistics of concepts that are stored: memory -> its fields."""
    ties = reader.edges(concepts, direction="in", kinds=["quantifies"])
    return reader.payloads([each.source for each in ties], "statistic")


def plan_restated_figure(
    reader: KnowledgeReader,
    figure: Figure,
    statistic: int,
    concept: int,
    episodes: Collection[int],
    now_ms: int,
) -> Changes:
    """A statistic that is computed anew: other values, other episodes; nothing without them."""
    changes, after = Changes(), set(episodes)
    edges = reader.edges([statistic], direction="out", kinds=["computed_from"])
    before = {each.target for each in edges}
    values = reader.payloads([statistic], "statistic").get(statistic)
    if values is None or (dict(values["values"]) == dict(figure.values) and before == after):
        return changes
    changes.payload(statistic, "statistic", figure.payload(concept, now_ms))
    for gone in sorted(before - after):
        changes.drop("edge", statistic, "computed_from", gone)
    # it may be a reference of its concept, and nothing is computed from itself
    for fresh in sorted(after - {*before, statistic}):
        changes.tie(statistic, "computed_from", fresh, _ORIGIN, now_ms)
    return changes


def plan_cooccurrence(
    reader: KnowledgeReader, concept: int, now_ms: int, least: float = 0.2
) -> Changes:
    """Ties to the concepts with which a concept shares episodes: ``related_to`` of weight J.

    J is the share of common episodes among those of either; it counts from three common ones and
    0.2 on. A tie made so goes when J falls below.
    """
    changes = Changes()
    own = set(references_of(reader, [concept]).get(concept, {}).get("episodes", ()))
    met = {row["a"] for row in reader.links("reference:episodes", b=own)} if own else set()
    ties = reader.edges([concept], kinds=["related_to"])
    known = {(e.source if e.target == concept else e.target): e for e in ties}
    others = (met | {each for each, tie in known.items() if tie.origin == _ORIGIN}) - {concept}
    references = references_of(reader, others)
    for each in sorted(others):
        theirs = set(references.get(each, {}).get("episodes", ()))
        weight = jaccard(own, theirs)
        ends = min(concept, each), max(concept, each)
        tie = known.get(each)
        if len(own & theirs) >= _COMMON and weight >= least:
            if tie is None or (tie.origin == _ORIGIN and tie.weight != weight):
                changes.tie(ends[0], "related_to", ends[1], _ORIGIN, now_ms, weight)
        elif tie is not None and tie.origin == _ORIGIN:
            changes.drop("edge", ends[0], "related_to", ends[1])
    return changes
