"""How memories are tied for a recall: by edges, shared entities, and having been used together."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from spector.config import AssociationConfig
from spector.knowledge.changes import Changes
from spector.knowledge.entities import ENTITY_NAMES
from spector.knowledge.graph import reach
from spector.knowledge.procedures import procedure_score
from spector.knowledge.reader import KnowledgeReader
from spector.language.cues import USER
from spector.language.words import folded, normalize_tokens
from spector.records import Edge, Reached

_USUAL: Final = AssociationConfig()
#: neighbours that one use strengthens at most, and by which factor
MOST_KIN: Final = 20
GAIN: Final = 1.02
#: hits of one recall that are counted in pairs
MOST_PAIRED: Final = 10
#: edges that are looked at of one memory and end
_MOST_EDGES: Final = 64
_CAUSAL: Final = ("causes", "elaborates")


def neighbours_of(
    reader: KnowledgeReader, seeds: Sequence[int], tuning: AssociationConfig = _USUAL
) -> dict[int, dict[int, float]]:
    """Seed -> memories one step away and the weight of that step, without the seed itself.

    A step is an edge of weight 0.5 or more, in either direction, or an entity that at most 25
    memories mention: the fewer they are, the heavier. The turn before or after counts 0.3 of the
    weight of its edge, as measured on dialogues.
    """
    out: dict[int, dict[int, float]] = {each: {} for each in seeds}
    for edge in reader.strong_edges(seeds, tuning.expand_weight, most=_MOST_EDGES):
        weight = edge.weight * (tuning.adjacency if edge.kind == "followed_by" else 1.0)
        for seed, other in ((edge.source, edge.target), (edge.target, edge.source)):
            if seed in out:
                out[seed][other] = max(weight, out[seed].get(other, 0.0))
    for seed, other, weight in _shared(reader, seeds, tuning.max_entity_mentions):
        out[seed][other] = max(weight, out[seed].get(other, 0.0))
    return out


def _shared(
    reader: KnowledgeReader, seeds: Sequence[int], most: int
) -> Iterable[tuple[int, int, float]]:
    """(seed, memory, weight) for entities that both mention."""
    mentions = reader.links("mention", b=seeds)
    counts = reader.mention_counts({row["a"] for row in mentions})
    few = [each for each, count in counts.items() if 1 < count <= most]
    members: dict[int, list[int]] = {}
    for row in reader.links("mention", a=few) if few else ():
        members.setdefault(row["a"], []).append(row["b"])
    for row in mentions:
        for other in members.get(row["a"], ()):
            if other != row["b"]:
                yield row["b"], other, min(1.0, 1.0 / math.log(counts[row["a"]]))


class _CausalEdges:
    """Edges of causes and elaborations, walked in either direction."""

    def __init__(self, reader: KnowledgeReader) -> None:
        self._reader = reader

    def leaving(self, ids: Collection[int]) -> Mapping[int, Sequence[tuple[int, Edge]]]:
        out: dict[int, list[tuple[int, Edge]]] = {}
        for edge in self._reader.strong_edges(ids, 0.0, kinds=_CAUSAL, most=_MOST_EDGES):
            out.setdefault(edge.source, []).append((edge.target, edge))
            out.setdefault(edge.target, []).append((edge.source, edge))
        return out


def reached_from(reader: KnowledgeReader, seed: int, hops: int) -> list[Reached]:
    """What caused a memory, what it caused, and what elaborates it, within some hops."""
    return reach(_CausalEdges(reader), seed, hops=hops, limit=_MOST_EDGES)


def conflicts_of(reader: KnowledgeReader, ids: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Memories that contradict each of these, ascending."""
    found: dict[int, set[int]] = {}
    for edge in reader.edges(ids, kinds=["contradicts"]):
        found.setdefault(edge.source, set()).add(edge.target)
        found.setdefault(edge.target, set()).add(edge.source)
    return {each: tuple(sorted(found[each])) for each in ids if each in found}


def order_of(reader: KnowledgeReader, ids: Sequence[int]) -> list[tuple[int, int]]:
    """(newer, older) of memories of which one may have changed the other."""
    edges = reader.edges(ids, kinds=["may_change"])
    return [(edge.source, edge.target) for edge in edges]


def partners_of(
    reader: KnowledgeReader, ids: Sequence[int], least: int = _USUAL.coactivation_from
) -> set[int]:
    """Memories that were recalled together with one of these three times or more."""
    wanted, out = set(ids), set()
    for row in (*reader.links("pair", a=ids), *reader.links("pair", b=ids)):
        if (row["n"] or 0) >= least:
            out |= {row["b"]} if row["a"] in wanted else set()
            out |= {row["a"]} if row["b"] in wanted else set()
    return out


def plan_pairs(
    reader: KnowledgeReader, changes: Changes, users: Mapping[int, str | None], now_ms: int
) -> None:
    """Count each pair of the best ten memories of a use once more.

    Args:
        users: memory -> its user, best first; memories of two users are no pair.
    """
    best = list(users)[:MOST_PAIRED]
    pairs = [
        (min(a, b), max(a, b)) for a, b in itertools.combinations(best, 2) if users[a] == users[b]
    ]
    known = {(row["a"], row["b"]): row["n"] or 0 for row in reader.links("pair", a=best)}
    for a, b in pairs:
        changes.link(a, "pair", b, known.get((a, b), 0) + 1, now_ms)


def kin_of(
    reader: KnowledgeReader, used: Sequence[int], tuning: AssociationConfig = _USUAL
) -> list[int]:
    """At most 20 memories one step from those used, the nearest first; none of these."""
    best: dict[int, float] = {}
    for seed, others in neighbours_of(reader, used, tuning).items():
        for other, weight in others.items():
            if other not in used and other != seed:
                best[other] = max(weight, best.get(other, 0.0))
    near = [each for each, weight in best.items() if weight > 0.0]
    return sorted(near, key=lambda each: (-best[each], each))[:MOST_KIN]


# What a cue names: entities, facts about them, procedures for its situation. No model runs.

#: words of a cue that are looked at, and words of the longest name
_MOST_WORDS: Final = 64
_LONGEST_NAME: Final = 5
_POSSESSIVE: Final = re.compile(r"['\u2019](?:s)?$")


def cue_names(text: str) -> list[str]:
    """Every folded run of one to five words of a text, each once: the names that it may have.

    Signs around a word, and an English possessive, are no part of it; ``node.js`` is one word.
    """
    spaced = [_POSSESSIVE.sub("", each.strip(_SIGNS)) for each in folded(text).split()]
    out: dict[str, None] = {}
    for words in (spaced, re.findall(r"\w+", folded(text))):
        kept = [each for each in words[:_MOST_WORDS] if each]
        says = {each for each in kept if normalize_tokens(each)}  # not a stop word
        for length in range(1, _LONGEST_NAME + 1):
            for at in range(len(kept) - length + 1):
                some = kept[at : at + length]
                if not says.isdisjoint(some):
                    out[" ".join(some)] = None
    return list(out)


_SIGNS: Final = ".,;:!?\"'\u2019\u2018\u201c\u201d()[]{}<>*_`\u00ab\u00bb\u2026-"


def entities_of_cue(reader: KnowledgeReader, text: str | None, scope: str | None) -> list[int]:
    """Entities that a cue names by one of their names or aliases, ascending.

    Args:
        scope: of one user ("" for none), or None for every user.
    """
    if not text or not reader.holds_any:
        return []
    found = reader.named_within(cue_names(text), ENTITY_NAMES, scope)
    return sorted({row["id"] for row in found})


def facts_of_cue(reader: KnowledgeReader, text: str | None, scope: str | None) -> list[int]:
    """Facts that hold and whose subject or object the cue names, ascending."""
    if not text or not reader.holds_any:
        return []
    names = cue_names(text)
    ends = ({"subject": names}, {"object": names})
    return sorted({row["id"] for end in ends for row in reader.facts(scope=scope, holds=1, **end)})


def procedures_of_cue(
    reader: KnowledgeReader, text: str | None, scope: str | None, limit: int
) -> list[int]:
    """Procedures that a word of the cue triggers, the most trusted first.

    By success rate, less while there are fewer than ten executions; then by triggers in common;
    then the newest. Deprecated ones are left out.
    """
    if not text or not reader.holds_any:
        return []
    tokens = {*cue_names(text), *map(folded, normalize_tokens(text))}
    shared: dict[int, int] = {}
    for row in reader.named_within(sorted(tokens), ("trigger",), scope):
        shared[row["id"]] = shared.get(row["id"], 0) + 1
    trust = {
        each: procedure_score(values)
        for each, values in reader.payloads(shared, "procedure").items()
        if values["status"] != "deprecated"
    }
    order = sorted(trust, key=lambda each: (-trust[each], -shared[each], -each))
    return order[:limit]


# Themes of nights: which there are of an entity or a fact, and what each was made of.


def themes_named(
    reader: KnowledgeReader, text: str | None, scope: str | None
) -> dict[int, frozenset[int]]:
    """Themes of facts about what a cue names; of the user's own, by their predicates."""
    predicates = [each.replace(" ", "_") for each in cue_names(text or "")]
    own = reader.facts(scope=scope, holds=1, subject=USER, predicate=predicates)
    return themes_about(reader, [*facts_of_cue(reader, text, scope), *(row["id"] for row in own)])


def themes_about(reader: KnowledgeReader, facts: Collection[int]) -> dict[int, frozenset[int]]:
    """Themes of facts, each with the memories and facts that it was made of."""
    edges = reader.edges(facts, direction="in", kinds=["derived_from"])
    return themes_among(reader, {edge.source for edge in edges})


def themes_among(reader: KnowledgeReader, ids: Collection[int]) -> dict[int, frozenset[int]]:
    """Those of some memories that are themes, each with what it was made of."""
    observed = reader.payloads(ids, "observed") if ids else {}
    sources: dict[int, set[int]] = {
        each: set()
        for each, known in sorted(observed.items())
        if known["write_source"] == "dream" and known["kind"] == "theme"
    }
    for edge in reader.edges(list(sources), direction="out", kinds=["derived_from"]):
        sources[edge.source].add(edge.target)
    return {each: frozenset(found) for each, found in sources.items()}
