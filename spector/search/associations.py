"""Adds to hits what knowledge ties to them or to the cue, and says what each hit is.

Whatever is added passes all filters and scopes of the recall: it is looked up by id, scored by the
kernel and confirmed by the catalog like any hit. A recall that asks for none of it, of a store
without knowledge, gets its hits back unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from spector._types import F32
from spector.config import AssociationConfig
from spector.errors import InvalidInputError
from spector.knowledge import (
    TIME_OF_DAY,
    KnowledgeReader,
    StoreEdges,
    activate,
    conflicts_of,
    entities_of_cue,
    facts_of_cue,
    neighbours_of,
    order_of,
    partners_of,
    procedures_of_cue,
    reached_from,
    themes_named,
    typed_items,
)
from spector.language.cues import PARAMS, Intent
from spector.layout import Category, TierCode
from spector.process import managed
from spector.records import (
    SUB_TIERS,
    Details,
    Hit,
    HitList,
    MemoryRecord,
    source_of_role,
    sub_tier_of,
    with_entry,
)
from spector.search.features import header_column
from spector.search.newer import LOOKED_AT, put_newer_before
from spector.search.ordering import Modifier, Ranked
from spector.search.origins import is_word_of_user
from spector.search.plan import Plan
from spector.search.scoring import hits_of
from spector.search.selection import raise_above, with_score, with_term
from spector.search.snapshot import found_of, note_details
from spector.store.catalog import Catalog, Row, Scope, members

#: best hits whose causes are followed, and what a step costs (Cognitive Memory v9)
_CAUSAL_SEEDS: Final = 5
_STEP: Final = 0.7
#: memories that a recall adds beyond k
_MOST_ADDED: Final = 20
#: memories of an entity's hub, and facts about it, that are looked at
_MOST_OF_HUB: Final = 256
_MOST_PROCEDURES: Final = 10

#: memory -> its score by the graph, and edges from the hit that led to it
_Reached = dict[int, tuple[float, int]]
#: (the memory that comes first, the one behind it, kind of the tie)
Ties = Sequence[tuple[int, int, str]]


def widened(plan: Plan, hits: Sequence[Hit]) -> tuple[Sequence[Hit], Collection[int]]:
    """Hits with what the request's intent and expansion lead to, and ids of what is no hit of
    the cue itself, and takes no place of one."""
    request, added = plan.request, set[int]()
    if request.of_entities or request.seed is not None:
        return _of_mode(plan, hits), added
    intent = request.intent
    if not (request.expand or intent) or plan.request.reading.is_survey:
        return hits, added
    with knowledge_of(plan) as reader:
        if not reader.holds_any:
            return hits, added
        if intent is Intent.FACTUAL:
            hits = _with_facts(plan, reader, hits)
        elif intent is Intent.ENTITY_PROFILE:
            hits = _with_hub(plan, reader, hits)
        elif intent is Intent.PROCEDURAL:
            hits = _procedures_first(plan, reader, hits)
        elif intent is Intent.CAUSAL:
            causes = _causes(reader, hits[: plan.k])
            hits = _with_reached(plan, hits, causes, added, moves=True)
        if request.expand:
            near = _neighbours(reader, hits[: plan.k], request.tuning)
            hits = _with_reached(plan, hits, near, added, moves=False)
    return hits, added


def _of_mode(plan: Plan, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What mentions an entity of the cue, or is one step from a memory, best first."""
    request = plan.request
    with knowledge_of(plan) as reader:
        if request.seed is not None:
            tied = neighbours_of(reader, [request.seed], request.tuning)[request.seed]
            known = hits_of(plan, sorted(tied)[-_MOST_OF_HUB:])
            return _best([_at(hit, tied[hit.id], 1) for hit in known])
        found = _of_entities(plan, reader, hits)
        if found is None:
            raise InvalidInputError(
                'mode="structured" needs an entity, and the cue names none that is known',
                hint="name one (memory.entities.find lists them), or pass tags=",
            )
    return _best(found)


def _of_entities(plan: Plan, reader: KnowledgeReader, hits: Sequence[Hit]) -> list[Hit] | None:
    """What mentions an entity of the cue, of the hits and then of others; None without one."""
    request = plan.request
    entities = entities_of_cue(reader, request.cue.text, request.selection.user_id)
    if not entities:
        return None
    members = {row["b"] for row in reader.links("mention", a=entities)}
    more = _new(plan, hits, sorted(members)[-_MOST_OF_HUB:])
    return [*(hit for hit in hits if hit.id in members), *_found_by(more, "entity")]


def in_order(plan: Plan, hits: Sequence[Hit]) -> tuple[Sequence[Hit], Ties]:
    """Hits that know what contradicts them, and of two that are tied the one that counts first,
    directly before the other: the newer one, and the user's before what others say.

    It is the order of the best ten, so that fewer are their beginning and none of them leaves.

    Returns:
        The hits, and (first, second, kind) of the ties that gave them their order.
    """
    if not hits or not has_knowledge(plan):
        return hits, ()
    first, rest = hits[:LOOKED_AT], hits[LOOKED_AT:]
    by_id = {hit.id: hit for hit in hits}
    with knowledge_of(plan) as reader:
        found = _conflicts(reader, hits)
        ties = [(*each, "may_change") for each in order_of(reader, [hit.id for hit in first])]
    others = sorted({other for some in found.values() for other in some})
    passing = {hit.id for hit in hits_of(plan, others)} | by_id.keys()
    for each, some in found.items():
        living = tuple([other for other in some if other in passing])
        by_id[each].hand_on(by_id[each], conflicts=living)
    if plan.request.reading.is_survey:
        return hits, ()
    ties += _ordered_conflicts(first)
    if plan.request.replaced:
        ties += [(new, hit.id, "supersedes") for hit in first for new in hit.record.superseded_by]
    there = {hit.id for hit in first}
    ties = [each for each in ties if there.issuperset(each[:2])]
    return ([*put_newer_before(first, ties), *rest] if ties else hits), ties


def describe(plan: Plan, hits: Sequence[Hit]) -> None:
    """Say what each hit is."""
    if not hits or not has_details(plan):
        return
    by_id = {hit.id: hit for hit in hits}
    attachments = catalog_of(plan).attachments
    with knowledge_of(plan) as reader:
        kept = reader.entries(list(by_id))

        def note(each: int, known: Details | None) -> None:
            note_details(by_id[each], with_entry(known, kept.get(each), attachments))

        if reader.holds_any:
            for each, item in typed_items(
                reader, list(by_id), lambda each: by_id[each].record, note
            ).items():
                by_id[each].hand_on(by_id[each], payload=item)
    for each in kept:  # those that nothing else is known of
        note(each, None)


def _with_facts(plan: Plan, reader: KnowledgeReader, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The best of hits and of what states the facts about what the cue names."""
    request = plan.request
    facts = facts_of_cue(reader, request.cue.text, request.selection.user_id)[-_MOST_OF_HUB:]
    stated = {one for some in reader.sources(facts).values() for one in some}
    more = _new(plan, hits, sorted({*facts, *stated}))
    return _best([*hits, *_found_by(more, "entity")]) if more else hits


def _with_hub(plan: Plan, reader: KnowledgeReader, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What mentions an entity of the cue, the most useful first, then the other hits."""
    hub = _of_entities(plan, reader, hits) or []
    hub.sort(key=lambda hit: (-hit.record.utility, -hit.score, hit.id))
    known = {hit.id for hit in hub}
    return [*hub, *(hit for hit in hits if hit.id not in known)]


def _procedures_first(plan: Plan, reader: KnowledgeReader, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Procedures that the cue triggers, then the other hits."""
    request = plan.request
    ids = procedures_of_cue(reader, request.cue.text, request.selection.user_id, _MOST_PROCEDURES)
    known = {hit.id: hit for hit in (*hits, *_new(plan, hits, ids))}
    first = [known[each] for each in ids if each in known]
    rest = [hit for hit in hits if hit.id not in ids]
    least, raised = max((hit.score for hit in rest), default=0.0), list[Hit]()
    for hit in reversed(first):  # each just above those behind it: scores show the order
        raised.append(raise_above(hit, least, "procedure"))
        least = raised[-1].score
    return [*reversed(raised), *rest]


def _with_reached(
    plan: Plan, hits: Sequence[Hit], reached: _Reached, added: set[int], *, moves: bool
) -> Sequence[Hit]:
    """Hits and what was reached from the best of them, at most 20 beyond k, by score.

    Args:
        added: gets the ids of those.
        moves: what is of the first k gets the score of the graph where that is better, and
            its distance; otherwise it stays as it is.
    """
    known, first = {hit.id: hit for hit in hits}, {hit.id for hit in hits[: plan.k]}
    if moves:
        for each in reached.keys() & first:
            score, distance = reached[each]
            known[each] = _at(known[each], max(score, known[each].score), distance)
    new = sorted(reached.keys() - first, key=lambda each: (-reached[each][0], each))
    more = hits_of(plan, [each for each in new if each not in plan.beside])
    for hit in more[:_MOST_ADDED]:
        known[hit.id] = _at(hit, *reached[hit.id])
        added.add(hit.id)
    return _best(list(known.values()))


def _new(plan: Plan, hits: Sequence[Hit], ids: Sequence[int]) -> list[Hit]:
    """Those of some memories that pass and are no hits yet."""
    known = {hit.id for hit in hits} | set(plan.beside)
    return hits_of(plan, [each for each in ids if each not in known])


def _neighbours(
    reader: KnowledgeReader, hits: Sequence[Hit], tuning: AssociationConfig
) -> _Reached:
    """What is one step from the best three hits, or as many steps as are configured."""
    front = {hit.id: hit.score for hit in hits[: tuning.expand_top]}
    out: _Reached = {}
    for hops in range(1, tuning.expand_hops + 1):
        reached: dict[int, float] = {}
        for seed, others in neighbours_of(reader, list(front), tuning).items():
            for other, weight in others.items():
                score = front[seed] * weight * tuning.expand_factor
                if score > out.get(other, (-1.0, 0))[0]:
                    out[other], reached[other] = (score, hops), score
        front = dict(sorted(reached.items(), key=lambda each: -each[1])[:_MOST_ADDED])
    best = sorted(out, key=lambda each: (-out[each][0], each))[: 4 * _MOST_ADDED]
    return {each: out[each] for each in best}


def _causes(reader: KnowledgeReader, hits: Sequence[Hit]) -> _Reached:
    """What caused the best five hits or was caused by them, within two steps.

    The best hit is where a walk begins, and is reached from nowhere.
    """
    out: _Reached = {}
    better: set[int] = set()
    for hit in hits[:_CAUSAL_SEEDS]:
        better.add(hit.id)
        for each in reached_from(reader, hit.id, PARAMS[Intent.CAUSAL].hops):
            score = hit.score * each.weight * _STEP
            if each.id not in better and score > out.get(each.id, (-1.0, 0))[0]:
                out[each.id] = (score, each.hops)
    return out


def _conflicts(reader: KnowledgeReader, hits: Sequence[Hit]) -> dict[int, tuple[int, ...]]:
    """What contradicts each hit, or a memory that it stands for."""
    one = {hit.id: {hit.id, *hit.also} for hit in hits}
    tied = conflicts_of(reader, sorted(set().union(*one.values())))
    found = {
        each: {other for member in members for other in tied.get(member, ())} - members
        for each, members in one.items()
    }
    return {each: tuple(sorted(others)) for each, others in found.items() if others}


def _ordered_conflicts(hits: Sequence[Hit]) -> list[tuple[int, int, str]]:
    """Pairs of hits that contradict each other, the user's word first, else the newer one."""
    known = {
        hit.id: (is_word_of_user(hit), found_of(hit).event_ms, hit.id)
        for hit in hits
        if hit.conflicts
    }
    return [
        (each, hit.id, "contradicts")
        for hit in hits
        for each in hit.conflicts
        if each in known and known[each] > known[hit.id]
    ]


def _at(hit: Hit, score: float, distance: int) -> Hit:
    """The hit with the score that the graph gives it; its explanation says so."""
    made = with_term(hit, score - hit.score, "graph") if score != hit.score else hit
    if made is hit:
        made = with_score(hit, score, hit.explainer)
    return hit.hand_on(made, graph_distance=distance, via="graph")


def _found_by(hits: Sequence[Hit], channel: str) -> list[Hit]:
    return [hit.hand_on(hit, via=channel) for hit in hits]


def _best(hits: list[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


# Concepts and patterns that some memories bring to mind, by spreading activation.

#: what a concept that refers to a seed is activated by: one edge of full weight
_REFERENCE: Final = 0.5
#: themes of a cue
_MOST_THEMES: Final = 3
#: candidates that are looked up for each one that is wanted
_SPARE: Final = 8
#: nodes of the graph that everything is tied to, and that say nothing when they are quoted
_BARE: Final = frozenset({"user", "agent", "assistant", TIME_OF_DAY[0]})


def known_from(plan: Plan, *, seeds: Sequence[int], limit: int) -> HitList:
    """Concepts and patterns that pass a plan's filters, the most active first."""
    with knowledge_of(plan) as reader:
        if not reader.holds_any:
            return HitList()
        active = _activation(plan, reader, seeds)
        sorts = reader.sorts(sorted(active))
    ranked = sorted(active, key=lambda each: (-active[each], each))
    hits = hits_of(plan, ranked[: _SPARE * limit])
    known = [
        hit
        for hit in hits
        if ("concept" in sorts.get(hit.id, ()) or hit.record.category is Category.PATTERN)
        and not is_bare_node(hit.record)
    ]
    return HitList(known[:limit])


def themes_of_cue(plan: Plan) -> list[tuple[Hit, frozenset[int]]]:
    """Themes of what a cue names, each with its sources, which all pass the filters.

    A source that a night put to rest counts; of one that a caller retired, or that has ended, no
    theme speaks.

    Args:
        plan: one that lets derived and dormant memories pass.
    """
    if not has_knowledge(plan):
        return []
    cue, user = plan.request.cue.text, plan.request.selection.user_id
    with knowledge_of(plan) as reader:
        if reader.sleep_state() is None:  # no night has made any
            return []
        found = themes_named(reader, cue, user)
        sources = sorted({one for some in found.values() for one in some})
        rested = reader.payloads(sources, "rest")
    if not found:
        return []
    living = {
        hit.id for hit in hits_of(plan, sources) if not hit.record.dormant or hit.id in rested
    }
    themes = [
        (hit, found[hit.id])
        for hit in hits_of(plan, list(found))
        if not hit.record.dormant and found[hit.id] <= living
    ]
    return sorted(themes, key=lambda each: (-each[0].score, each[0].id))[:_MOST_THEMES]


def is_bare_node(record: MemoryRecord) -> bool:
    """Whether a memory is a node that everything is tied to, and not worth a quote."""
    return record.category is Category.ENTITY and record.text.casefold() in _BARE


def _activation(plan: Plan, reader: KnowledgeReader, seeds: Sequence[int]) -> dict[int, float]:
    """Activation of memories that edges and references lead to, without the seeds."""
    stores = plan.snap.stores
    store = next((each for each in stores if each.files.durable), stores[0])

    def rows_of(ids: Collection[int]) -> Mapping[int, Row]:
        return store.catalog.fetch(sorted(ids))

    def layers(ids: Iterable[int]) -> dict[int, str]:
        asked = list(ids)
        found = reader.sorts(asked)
        return {each: "concepts" if "concept" in found.get(each, ()) else "" for each in asked}

    spread = activate(StoreEdges(reader, rows_of, "both", None), seeds, layers)
    out = {each: value for some in spread.values() for each, value in some}
    for row in reader.links("reference:episodes", b=seeds):
        out[row["a"]] = max(out.get(row["a"], 0.0), _REFERENCE)
    return {each: value for each, value in out.items() if each not in seeds}


# Modifiers of scores: entities of the cue, its session, use together, kinds within a tier.

#: entities of the cue that count for a memory
_MOST_ENTITIES: Final = 3
#: tiers with kinds within them, by code
_TIERS: Final = {TierCode.EPISODIC: "episodic", TierCode.SEMANTIC: "semantic"}
#: a candidate below this share of the score of the last one that counts stays behind it
_RIVAL: Final = 0.9 / 1.1
#: hits whose partners count
_BEST: Final = 10
_MOST_RIVALS: Final = 2048


def entity(plan: Plan, ranked: Ranked) -> Modifier | None:
    """0.10 for each entity of the cue that a memory mentions, at most 0.30."""
    request = plan.request
    if not request.associate:
        return None
    with knowledge_of(plan) as reader:
        found = entities_of_cue(reader, request.cue.text, request.selection.user_id)
        if not found:
            return None
        ids = np.sort(ranked.ids)
        if sum(reader.mention_counts(found).values()) <= len(ids):
            rows = reader.links("mention", a=found)
        else:  # an entity may be mentioned by far more memories than there are candidates
            rows = reader.links_between("mention", found, ids.tolist())
    counts: dict[int, int] = {}
    for row in rows:
        counts[row["b"]] = min(counts.get(row["b"], 0) + 1, _MOST_ENTITIES)
    amount = request.tuning.entity
    return _added(plan, ranked, "entity", counts.keys(), lambda each: amount * counts[each])


def episode(plan: Plan, ranked: Ranked) -> Modifier | None:
    """0.15 for memories of the session that the cue belongs to."""
    session, amount = plan.request.near_session, plan.request.tuning.episode
    if session is None or plan.request.selection.session_id is not None:
        return None
    ids, found = ranked.ids.tolist(), set[int]()
    for store in plan.snap.stores:
        found |= members(store.catalog, ids, Scope(session_id=session), inside=True)
    return _added(plan, ranked, "episode", found, lambda _: amount)


def sub_tier(plan: Plan, ranked: Ranked) -> Modifier | None:
    """Factors of kinds within a tier: what a user said, what always holds; see `SUB_TIERS`.

    Only for candidates that could be in the pool by it, as the factors lie in 0.9..1.1, and
    in stores with knowledge, or in a session: others rank as if there were none.
    """
    request = plan.request
    if not (request.associate and request.tuning.subtiers):
        return None
    with knowledge_of(plan) as reader:
        if request.near_session is None and not reader.holds_any:
            return None
    rows, scores = ranked.rivals(2 * plan.k, _RIVAL, _MOST_RIVALS)
    rows = rows[scores > 0]
    ids, snap = ranked.ids[rows].tolist(), plan.snap
    categories = header_column(snap, ranked.part[rows], ranked.slot[rows], "category").tolist()
    tiers = header_column(snap, ranked.part[rows], ranked.slot[rows], "tier").tolist()
    stored = {each: row for store in snap.stores for each, row in store.catalog.fetch(ids).items()}
    with knowledge_of(plan) as reader:
        observed = reader.payloads(ids, "observed") if reader.holds_any else {}
    factor: F32 = np.ones(len(ranked.ids), np.float32)
    for n, each, category, tier in zip(rows.tolist(), ids, categories, tiers, strict=True):
        row = stored.get(each)
        name = _TIERS.get(tier)
        if row is None or name is None:
            continue
        source = observed.get(each, {}).get("data_source") or source_of_role(row.role)
        factor[n] = SUB_TIERS.get(sub_tier_of(name, Category(category), source, row.text), 1.0)
    if bool((factor == 1.0).all()):
        return None
    return Modifier("sub_tier", factor, np.zeros(len(factor), np.float32))


def coactivation(plan: Plan, ranked: Ranked) -> Modifier | None:
    """0.05 for what was used three times or more together with one of the best."""
    tuning = plan.request.tuning
    if not plan.request.associate:
        return None
    best = ranked.best_ids(_BEST).tolist()
    with knowledge_of(plan) as reader:
        found = partners_of(reader, best, tuning.coactivation_from) if reader.holds_any else set()
    if not found:
        return None
    return _added(plan, ranked, "coactivation", found, lambda _: tuning.coactivation)


def _added(
    plan: Plan, ranked: Ranked, name: str, ids: Iterable[int], amount: Callable[[int], float]
) -> Modifier | None:
    """A modifier that adds to some memories; in a score that multiplies, on likeness's scale."""
    rows = ranked.rows_of(np.array(list(ids), np.int64))
    if not len(rows):
        return None
    profile = plan.request.profile
    scale = 1.0 if profile.fusion == "additive" else profile.w_similarity
    addend: F32 = np.zeros(len(ranked.ids), np.float32)
    addend[rows] = [scale * amount(each) for each in ranked.ids[rows].tolist()]
    return Modifier(name, np.ones(len(addend), np.float32), addend)


#: in the order in which they act
ASSOCIATIVE: Final = (entity, episode, coactivation, sub_tier)


# Knowledge in the moment of a search.


def catalog_of(plan: Plan) -> Catalog:
    """The catalog of the store on disk, or of the only one."""
    return plan.snap.stores[plan.snap.lasting].catalog


def has_knowledge(plan: Plan) -> bool:
    """False where no fact, tie or kind of a memory is known."""
    return "payload" in plan.snap.details(plan.snap.lasting)


def has_details(plan: Plan) -> bool:
    """False where nothing is known of any memory beside its row."""
    return bool(plan.snap.details(plan.snap.lasting))


@managed
def knowledge_of(plan: Plan) -> Iterator[KnowledgeReader]:
    """What the store on disk, or the only one, knows in the snapshot of a plan."""
    n = plan.snap.lasting
    catalog, tables = plan.snap.stores[n].catalog, plan.snap.details(n)
    with catalog.reading() as db:
        yield KnowledgeReader(db, catalog.path, tables)
