"""What knowledge changes in a recall, and that nothing changes without it.

Mechanism: modifiers, expansion and strategies read the tables of knowledge in the snapshot of the
search. Damage without it: an entity, an edge or a pair that is stored and never helps; a filter or
a user's wall that a tied memory walks around; a score that differs though nobody asked. Guard: the
statements of the design, with other values beside them.
"""

from __future__ import annotations

import math

import pytest

from spector import (
    InvalidFilterError,
    InvalidInputError,
    ManualClock,
    Memory,
    MemoryRecord,
    UnknownRecordError,
)
from spector.knowledge import Changes, KnowledgeReader, plan_mentions
from spector.records import FactRecord, Procedure
from spector.store.payloads import PAYLOAD_FACETS, encode

FILLERS = [
    f"{who} watered the {what} on {day}."
    for who in ("Ada", "Bo", "Cy", "Dee", "Eli")
    for what in ("ferns", "roses", "palms")
    for day in ("Monday", "Friday")
]


def mention(memory: Memory, record: MemoryRecord, *names: str, sort: str = "tech") -> None:
    """Tie a memory to entities, as an observer does."""

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        found = {(name, sort): 1 for name in names}
        plan_mentions(reader, changes, record.user_id or "", record.id, found)
        return changes

    memory._parts.knowledge.commit(decide)


# -- entities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["cognitive", "balanced"])
def test_a_mention_of_an_entity_of_the_cue_adds_a_tenth(memory: Memory, profile: str) -> None:
    a = memory.remember("The cache was slow on Monday evening")
    b = memory.remember("The cache was slow on Monday evening", agent_id="other")
    mention(memory, b, "Redis")
    hits = memory.recall("Is Redis slow?", profile=profile, associate=True)
    scores = {hit.id: hit for hit in hits}
    assert scores[b.id].explain().evidence["entity"] == pytest.approx(0.10)
    assert "entity" not in scores[a.id].explain().evidence
    # what a user said counts 1.1, after what is added
    assert scores[b.id].score - scores[a.id].score == pytest.approx(0.10 * 1.1)
    assert all(hit.score == hit.explain().score for hit in hits)


def test_at_most_three_entities_count(memory: Memory) -> None:
    names = ["Redis", "Kafka", "Visual Studio Code", "node.js"]
    record = memory.remember("The four of them ran hot")
    for count, expected in ((1, 0.10), (2, 0.20), (3, 0.30), (4, 0.30)):
        mention(memory, record, *names[:count])
        (hit,) = memory.recall("redis, KAFKA's visual studio code or Node.js?", associate=True)
        assert hit.explain().evidence["entity"] == pytest.approx(expected), count


def test_entities_act_where_they_are_asked_for_and_in_their_scope(memory: Memory) -> None:
    record = memory.remember("The cache was slow", user_id="ann")
    memory.remember("The cache was slow", user_id="ben")
    mention(memory, record, "Redis")
    assert "entity" not in memory.recall("Redis?")[0].explain().evidence
    asked = {"user_id": "ben", "associate": True}
    assert "entity" not in memory.recall("Redis?", **asked)[0].explain().evidence
    assert "entity" in memory.recall("Redis?", user_id="ann", associate=True)[0].explain().evidence
    off = memory.recall("Redis?", profile="cognitive", associate=False)
    assert all("entity" not in hit.explain().evidence for hit in off)


@pytest.mark.parametrize("profile", ["balanced", "cognitive", "importance", "recent", "spector"])
def test_with_everything_off_no_bit_of_a_score_changes(memory: Memory, profile: str) -> None:
    records = memory.remember_many(FILLERS)
    cue = "Who watered the roses on Friday?"

    def told(**how: object) -> list[tuple[int, float]]:
        return [(hit.id, hit.score) for hit in memory.recall(cue, profile=profile, **how)]

    before = told()
    assert told(associate=True, expand=True) == before, "a store without knowledge"
    mention(memory, records[3], "Ada")
    memory.graph.link(records[0], records[1], "causes")
    assert told(associate=False) == before


# -- pairs ------------------------------------------------------------------------------------


def test_what_was_used_together_three_times_lifts_its_partner(memory: Memory) -> None:
    a = memory.remember("The violin of the attic has four strings")
    b = memory.remember("The violin of the attic was tuned by hand")
    cue = "What about the violin of the attic?"
    for _ in range(2):
        memory.recall(cue, k=2, learn=True, associate=True)
    assert all(
        "coactivation" not in hit.explain().evidence for hit in memory.recall(cue, associate=True)
    )
    for _ in range(5):
        memory.recall(cue, k=2, associate=True)
    assert all(
        "coactivation" not in hit.explain().evidence for hit in memory.recall(cue, associate=True)
    )
    memory.recall(cue, k=2, learn=True, associate=True)
    hits = memory.recall(cue, k=2, associate=True)
    assert {hit.id: hit.explain().evidence["coactivation"] for hit in hits} == {
        a.id: pytest.approx(0.05),
        b.id: pytest.approx(0.05),
    }
    assert all(hit.score == hit.explain().score for hit in hits)


def test_pairs_are_of_one_user_and_of_the_best_ten(memory: Memory) -> None:
    memory.remember("The violin of the attic", user_id="ann")
    memory.remember("The violin of the attic", user_id="ben")
    memory.recall("violin of the attic", learn=True, associate=True)
    assert _pairs(memory) == {}
    memory.remember_many([f"A violin of house {n}" for n in range(14)], user_id="cy")
    memory.recall("A violin of a house", k=14, user_id="cy", learn=True, associate=True)
    assert len(_pairs(memory)) == math.comb(10, 2)
    assert set(_pairs(memory).values()) == {1}


def test_a_recall_that_learns_makes_no_knowledge_unless_asked(memory: Memory) -> None:
    memory.remember_many(FILLERS[:4])
    memory.recall("Who watered the ferns?", learn=True)
    with memory._parts.store.catalog.latest() as db:
        assert not KnowledgeReader(db, "").holds_any


def _pairs(memory: Memory) -> dict[tuple[int, int], int]:
    with memory._parts.store.catalog.latest() as db:
        return {(row["a"], row["b"]): row["n"] for row in KnowledgeReader(db, "").links("pair")}


def test_neighbours_of_what_is_used_gain_stability_once(memory: Memory) -> None:
    used = memory.remember("The violin of the attic was tuned")
    near = memory.remember("A lesson on Thursday")
    weak = memory.remember("Some rosin from the shop")
    shared = memory.remember("The luthier came by")
    far = memory.remember("Rain all week")
    memory.graph.link(used, near, "related_to", weight=0.5)
    memory.graph.link(used, weak, "related_to", weight=0.49)
    memory.graph.link(near, far, "related_to", weight=1.0)
    mention(memory, used, "Guarneri")
    mention(memory, shared, "Guarneri")
    before = {each.id: each.stability_days for each in memory.records()}
    memory.recall("violin attic tuned", k=1, learn=True)
    after = {each.id: each.stability_days / before[each.id] for each in memory.records()}
    grown = pytest.approx(1.02, rel=1e-3)
    assert after == {used.id: grown, near.id: grown, weak.id: 1.0, shared.id: grown, far.id: 1.0}
    assert memory.get(near.id).access_count == 0
    assert memory.get(used.id).access_count == 1


# -- expansion --------------------------------------------------------------------------------


def test_expansion_adds_neighbours_of_the_best_three(memory: Memory) -> None:
    memory.remember_many(FILLERS)
    seed = memory.remember("The violin of the attic was tuned")
    near = memory.remember("Rain fell all week in the valley")
    weak = memory.remember("The shop closes at noon")
    memory.graph.link(seed, near, "causes", weight=0.8)
    memory.graph.link(weak, seed, "supports", weight=0.49)
    cue = "The violin of the attic was tuned"
    plain = memory.recall(cue, k=3)
    wide = {hit.id: hit for hit in memory.recall(cue, k=3, expand=True)}
    assert near.id not in [hit.id for hit in plain]
    assert wide[near.id].graph_distance == 1
    assert wide[near.id].via == "graph"
    assert wide[near.id].score == pytest.approx(wide[seed.id].score * 0.8 * 0.7)
    assert wide[near.id].explain().score == wide[near.id].score
    assert weak.id not in wide
    assert [(hit.id, hit.score) for hit in plain] == [
        (hit.id, hit.score) for hit in wide.values() if not hit.graph_distance
    ]
    assert [hit.score for hit in wide.values()] == sorted(
        [hit.score for hit in wide.values()], reverse=True
    )


def test_a_shared_entity_ties_the_more_the_fewer_share_it(memory: Memory) -> None:
    seed = memory.remember("The violin of the attic was tuned")
    others = memory.remember_many([f"Rain fell in valley number {n}" for n in range(30)])
    cue = "The violin of the attic was tuned"
    mention(memory, seed, "Rare", "Common")
    for each in others:
        mention(memory, each, "Common")
    assert all(hit.graph_distance == 0 for hit in memory.recall(cue, k=1, expand=True))
    for each in others[:6]:
        mention(memory, each, "Rare")
    found = [hit for hit in memory.recall(cue, k=1, expand=True) if hit.graph_distance]
    assert {hit.id for hit in found} == {each.id for each in others[:6]}
    best = memory.recall(cue, k=1)[0].score
    assert all(hit.score == pytest.approx(best * 0.7 / math.log(7)) for hit in found)


def test_the_turn_beside_counts_less_than_another_edge(memory: Memory) -> None:
    memory.remember_many(FILLERS)
    seed = memory.remember("The violin of the attic was tuned")
    near = memory.remember("Rain fell all week in the valley")
    memory.graph.link(seed, near, "followed_by")
    found = {hit.id: hit for hit in memory.recall(seed.text, k=1, expand=True)}
    assert found[near.id].score == pytest.approx(found[seed.id].score * 0.3 * 0.7)


def test_what_is_added_passes_every_filter_and_scope(memory: Memory) -> None:
    seed = memory.remember("The violin of the attic was tuned", user_id="ann", tags=["music"])
    near = memory.remember(
        "Rain fell all week",
        user_id="ann",
        agent_id="bot",
        tags=["weather"],
        metadata={"place": "valley"},
    )
    memory.graph.link(seed, near, "causes")
    cue, asked = "The violin of the attic was tuned", {"k": 1, "expand": True}

    def added(**filters: object) -> bool:
        return near.id in [hit.id for hit in memory.recall(cue, **asked, **filters)]

    assert added()
    assert added(user_id="ann")
    assert added(sorts=["memory"])
    assert not added(tags=["music"])
    assert not added(where={"place": {"ne": "valley"}})
    assert not added(user_id="ann", agent_id="other")
    assert not added(sorts="fact")
    assert not added(time_range=(None, "2020-01-01T00:00:00Z"))
    memory.remember("Snow fell all week", user_id="ann", supersedes=near.id)
    assert not added()
    assert added(include=["superseded"])


# -- strategies -------------------------------------------------------------------------------


def test_a_cause_is_reached_that_shares_no_word_with_the_cue(memory: Memory) -> None:
    memory.remember_many(FILLERS)
    deploy = memory.remember("The deploy failed at midnight")
    disk = memory.remember("Volume seven ran full")
    logs = memory.remember("Rotation had been switched off")
    memory.graph.link(disk, deploy, "causes", weight=0.9)
    memory.graph.link(logs, disk, "causes", weight=0.8)
    hits = {hit.id: hit for hit in memory.recall("Why did the deploy fail?", intent="auto")}
    assert hits[disk.id].graph_distance == 1
    assert hits[logs.id].graph_distance == 2
    assert hits[deploy.id].graph_distance == 0
    narrow = {
        hit.id: hit
        for hit in memory.recall("Why did the deploy fail at midnight?", k=1, intent="causal")
    }
    seed = narrow[deploy.id].score
    assert narrow[disk.id].score == pytest.approx(seed * 0.9 * 0.7)
    assert narrow[logs.id].score == pytest.approx(seed * 0.9 * 0.8 * 0.7)


def test_a_cause_in_a_store_of_two_memories_is_told_apart(memory: Memory) -> None:
    deploy = memory.remember("The deploy failed at midnight")
    disk = memory.remember("Volume seven ran full")
    memory.graph.link(disk, deploy, "causes")
    hits = memory.recall("Why did the deploy fail?", intent="causal")
    assert [(hit.id, hit.graph_distance) for hit in hits] == [(deploy.id, 0), (disk.id, 1)]


def test_limits_are_those_of_the_intent_unless_k_is_given(memory: Memory) -> None:
    memory.remember_many(FILLERS)
    cue = "Who watered what?"
    limits = {
        "factual": 10,
        "temporal": 15,
        "causal": 20,
        "entity_profile": 15,
        "preference": 10,
        "procedural": 10,
        "general": 10,
    }
    assert {name: len(memory.recall(cue, intent=name)) for name in limits} == limits
    assert len(memory.recall(cue, intent="causal", k=3)) == 3
    assert len(memory.recall(cue)) == 10


def test_temporal_hits_come_newest_first_with_what_has_ended(
    memory: Memory, clock: ManualClock
) -> None:
    old = memory.remember("Ada lives in Rome", event_time="2026-01-01T00:00:00Z")
    new = memory.remember("Ada lives in Oslo", event_time="2026-06-01T00:00:00Z", supersedes=old)
    plan = memory.remember(
        "Ada goes hiking", event_time="2026-03-01T00:00:00Z", valid_until="2026-04-01T00:00:00Z"
    )
    cue = "When did Ada live somewhere or go hiking?"
    assert [hit.id for hit in memory.recall(cue, intent="temporal")] == [new.id, plan.id, old.id]
    # who asks for a time sees what has ended, never what was replaced
    assert {hit.id for hit in memory.recall(cue)} == {new.id, plan.id}
    assert [hit.id for hit in memory.recall("Does Ada live somewhere or go hiking?")] == [new.id]


def test_an_entity_hub_lists_all_mentions_by_utility(memory: Memory) -> None:
    memory.remember_many(FILLERS)
    members = memory.remember_many([f"Note {n} of the ledger" for n in range(4)])
    for each in members:
        mention(memory, each, "Acme", sort="organisation")
    for _ in range(3):
        memory.reinforce(members[2])
    memory.reinforce(members[0], success=False)
    hits = memory.recall("Who is Acme?", intent="entity_profile", k=4)
    assert [hit.id for hit in hits] == [
        members[2].id,
        *sorted([members[1].id, members[3].id]),
        members[0].id,
    ]


def test_preferences_come_alone_if_there_are_any(memory: Memory) -> None:
    memory.remember_many(FILLERS)
    cue = "What do I like to drink?"
    assert len(memory.recall(cue, intent="preference")) == 10
    liked = memory.remember("I like tea", category="preference")
    fixed = memory.remember("Not coffee, tea", category="correction")
    assert {hit.id for hit in memory.recall(cue, intent="preference")} == {liked.id, fixed.id}


def _procedure(memory: Memory, name: str, *triggers: str, **fields: object) -> MemoryRecord:
    record = memory.remember(name, tier="procedural")

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        text = encode("procedure", {"name": name, **fields})
        changes.put("payload", id=record.id, sort="procedure", json=text)
        for each in triggers:
            changes.put("name", scope="", sort="trigger", folded=each, id=record.id)
        return changes

    memory._parts.knowledge.commit(decide)
    return record


def test_procedures_that_the_cue_triggers_come_first(memory: Memory) -> None:
    memory.remember_many(["How to deploy: ask Bo", "How do I deploy quickly? Nobody knows"])
    sure = _procedure(memory, "Ship it", "deploy", success_rate=0.9, execution_count=20)
    less = _procedure(memory, "Push it", "deploy", success_rate=1.0, execution_count=8)
    gone = _procedure(
        memory, "Pray", "deploy", status="deprecated", success_rate=1.0, execution_count=50
    )
    hits = memory.recall("How do I deploy?", intent="procedural", k=3)
    assert [hit.id for hit in hits[:2]] == [sure.id, less.id]
    assert [hit.score for hit in hits] == sorted([hit.score for hit in hits], reverse=True)
    assert all(hit.score == hit.explain().score for hit in hits)
    assert gone.id not in [hit.id for hit in hits]
    assert isinstance(hits[0].payload, Procedure)


# -- modes ------------------------------------------------------------------------------------


def test_a_structured_recall_needs_an_entity_or_tags_and_is_filled_up(memory: Memory) -> None:
    memory.remember_many(FILLERS)
    members = memory.remember_many(["The ledger is full", "The ledger is thin"])
    with pytest.raises(InvalidInputError, match=r"entity.*tags"):
        memory.recall("What of Acme?", mode="structured")
    for each in members:
        mention(memory, each, "Acme")
    hits = memory.recall("What of Acme?", mode="structured", k=6)
    assert {hit.id for hit in hits[:2]} == {each.id for each in members}
    assert len(hits) == 6, "two are fewer than three: likeness fills up"
    for each in memory.remember_many(["The ledger is red", "The ledger is blue"]):
        mention(memory, each, "Acme")
    assert len(memory.recall("What of Acme?", mode="structured", k=6)) == 4
    assert memory.recall("What of Acme?", mode="structured", tags=["none"]) == []


def test_a_temporal_recall_needs_a_time(memory: Memory) -> None:
    memory.remember_many(FILLERS)
    old = [
        memory.remember(f"Rain on day {n}", event_time=f"2026-05-0{n}T12:00:00Z")
        for n in range(1, 5)
    ]
    with pytest.raises(InvalidInputError, match="time"):
        memory.recall("Who watered the roses?", mode="temporal")
    hits = memory.recall("What happened in May 2026?", mode="temporal")
    assert {hit.id for hit in hits} == {each.id for each in old}
    few = ("2026-05-01T00:00:00Z", "2026-05-03T00:00:00Z")
    hits = memory.recall("rain", mode="temporal", time_range=few)
    assert {hit.id for hit in hits} == {each.id for each in old[:2]}, "a filter stays one"


def test_a_recall_of_the_graph_begins_at_a_seed(memory: Memory) -> None:
    memory.remember_many(FILLERS)
    a, b, c, d = memory.remember_many([f"Rain in valley {n}" for n in range(4)])
    for target, weight in ((b, 0.9), (c, 0.6), (d, 0.7)):
        memory.graph.link(a, target, "related_to", weight=weight)
    with pytest.raises(InvalidInputError, match="seed"):
        memory.recall("rain", mode="graph")
    with pytest.raises(InvalidInputError, match="seed"):
        memory.recall("rain", mode="semantic", seed=a)
    with pytest.raises(UnknownRecordError):
        memory.recall("rain", mode="graph", seed=12345)
    hits = memory.recall("rain", mode="graph", seed=a)
    assert [hit.id for hit in hits] == [b.id, d.id, c.id]
    assert [hit.score for hit in hits] == pytest.approx([0.9, 0.7, 0.6])
    assert {hit.via for hit in hits} == {"graph"}


def test_a_semantic_recall_is_one_by_the_vector(memory: Memory) -> None:
    memory.remember_many(FILLERS)
    cue = "Who watered the roses?"
    by_vector = [(hit.id, hit.score) for hit in memory.recall(cue, lexical=False)]
    assert [(hit.id, hit.score) for hit in memory.recall(cue, mode="semantic")] == by_vector
    usual = [(hit.id, hit.score) for hit in memory.recall(cue)]
    assert [(hit.id, hit.score) for hit in memory.recall(cue, mode="hybrid")] == usual


# -- one recall over all sorts ----------------------------------------------------------------


def test_a_fact_and_its_source_are_one_hit(memory: Memory) -> None:
    said = memory.remember("Ada works at Acme in the harbour")
    fact = memory.facts.add("Ada", "works at", "Acme", source=said)
    other = memory.remember("Ada walks to the harbour")
    cue = "Where does Ada work at Acme?"
    assert [hit.id for hit in memory.recall(cue, k=3)] == [said.id, other.id]
    assert [hit.id for hit in memory.recall(cue, sorts="fact")] == [fact.id]


def test_hits_have_their_typed_items_and_conflicts(memory: Memory) -> None:
    fact = memory.facts.add("Ada", "works at", "Acme")
    plain = memory.remember("Ada walks to work")
    other = memory.remember("Ada never walks to work")
    memory.graph.link(plain, other, "contradicts")
    hits = {hit.id: hit for hit in memory.recall("Ada work")}
    payload = hits[fact.id].payload
    assert isinstance(payload, FactRecord)
    assert (payload.id, payload.subject, payload.object) == (fact.id, "Ada", "Acme")
    assert payload.key == fact.key
    assert hits[plain.id].payload is None
    assert hits[plain.id].conflicts == (other.id,)
    assert hits[other.id].conflicts == (plain.id,)
    assert hits[fact.id].to_dict()["payload"]["subject"] == "Ada"
    memory.forget(other)
    assert memory.recall("Ada walks")[0].conflicts == ()


def test_the_payload_of_a_hit_is_what_its_facet_returns(memory: Memory) -> None:
    boat = memory.procedures.add("Sail the boat", ["load", "sail"], triggers=["Harbour"])
    boat = memory.procedures.record_outcome(boat.id, False, failed_step="load")
    tide = memory.learnings.add("The boat needs a tide", "domain_insight", applies_to=["Harbour"])
    thing, _ = memory.concepts.find_or_create("boat", properties={"colour": "red"})
    thing = memory.concepts.add_ref(thing.id, "episodes", memory.remember("The boat came in"))
    fact = memory.facts.add("the boat", "has colour", "red")
    found = {hit.id: hit.payload for hit in memory.recall("the boat", sorts=PAYLOAD_FACETS)}
    for each in (boat, tide, thing, fact):
        assert found[each.id].to_dict() == each.to_dict()  # type: ignore[attr-defined]


def test_a_recall_of_some_sorts(memory: Memory) -> None:
    assert memory.recall("Ada", sorts=["fact"]) == []
    fact = memory.facts.add("Ada", "works at", "Acme")
    plain = memory.remember("Ada walks to work")
    procedure = _procedure(memory, "Ada's way to work")

    def found(*sorts: str) -> set[int]:
        return {hit.id for hit in memory.recall("Ada", sorts=sorts)}

    assert found("fact") == {fact.id}
    assert found("memory") == {plain.id}
    assert found("memory", "procedure") == {plain.id, procedure.id}
    assert found("fact", "procedure") == {fact.id, procedure.id}
    every = ("memory", *PAYLOAD_FACETS)
    assert found(*every) == {fact.id, plain.id, procedure.id}
    for wrong in ("facts", "", 3, ["memory", "episode"], []):
        with pytest.raises((InvalidFilterError, InvalidInputError), match="sort"):
            memory.recall("Ada", sorts=wrong)  # type: ignore[arg-type]


def test_a_hit_says_what_found_it(memory: Memory) -> None:
    memory.remember("The violin of the attic was tuned")
    assert memory.recall("violin")[0].via in ("words", "vector")
    assert memory.recall("violin", lexical=False)[0].via == "vector"
    assert memory.recall()[0].via == ""
