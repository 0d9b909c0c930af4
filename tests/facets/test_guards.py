"""Ids are no keys: under a guard a verb of a facet knows no memory of another scope.

Mechanism: every verb of facets and layers that names memories takes `user_id`, `agent_id` and
`session_id`, and looks its ids up within them, where it changes something under the lock of the
commit. Damage without it: who has guessed an id reads, changes or erases what is another's. Guard:
a walk over all public callables, of which none that takes an id may lack the three; each of them
with every wrong scope, against the state of the whole store, and in the words for an id that never
was.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import spector
from spector import Memory, UnknownRecordError
from spector.facets import FACETS
from tests.fakes import FakeEmbedder

SCOPES = ("user_id", "agent_id", "session_id")
OWN = {"user_id": "ann", "agent_id": "bot", "session_id": "monday"}
WRONG = [{each: "eve"} for each in SCOPES] + [{**OWN, "session_id": "eve"}]
#: annotations and names of parameters that name memories or entities
_TYPES = ("Named", "Memories")
_NAMES = {"fact", "memory_id", "entity", "of", "a", "b"}
#: verbs whose scopes say whose a new memory is, and guard what it is made of as well
_MAKING = {"facts.add", "learnings.add"}
Verb = Callable[..., Any]
#: verb -> a call of it with the id (of an item, and of another memory) that it names
VERBS: dict[str, Verb] = {
    "facts.get": lambda m, i, **g: m.facts.get(i.fact, **g),
    "facts.forget": lambda m, i, **g: m.facts.forget(i.fact, **g),
    "facts.learn": lambda m, i, **g: m.facts.learn([i.other, i.note], **g),
    "graph.link": lambda m, i, **g: m.graph.link(i.note, i.other, "causes", weight=0.9, **g),
    "graph.unlink": lambda m, i, **g: m.graph.unlink(i.note, i.other, "causes", **g),
    "graph.edges": lambda m, i, **g: m.graph.edges(i.note, **g),
    "graph.neighbours": lambda m, i, **g: m.graph.neighbours(i.note, **g),
    "graph.path": lambda m, i, **g: m.graph.path(i.note, i.other, **g),
    "graph.walk": lambda m, i, **g: m.graph.walk(i.note, **g),
    "graph.activate": lambda m, i, **g: m.graph.activate([i.note], **g),
    "graph.central": lambda m, i, **g: m.graph.central(i.note, **g),
    "entities.of": lambda m, i, **g: m.entities.of(i.note, **g),
    "entities.alias": lambda m, i, **g: m.entities.alias("Nan", i.entity, **g),
    "entities.merge": lambda m, i, **g: m.entities.merge(i.entity, i.second, **g),
    "entities.split": lambda m, i, **g: m.entities.split(i.entity, **g),
    "procedures.get": lambda m, i, **g: m.procedures.get(i.procedure, **g),
    "procedures.record_outcome": lambda m, i, **g: m.procedures.record_outcome(
        i.procedure, True, **g
    ),
    "procedures.set_status": lambda m, i, **g: m.procedures.set_status(i.procedure, "active", **g),
    "procedures.replace": lambda m, i, **g: m.procedures.replace(i.procedure, ["wait"], **g),
    "procedures.learn": lambda m, i, **g: m.procedures.learn([i.episode], **g),
    "learnings.get": lambda m, i, **g: m.learnings.get(i.learning, **g),
    "learnings.apply": lambda m, i, **g: m.learnings.apply(i.learning, **g),
    "learnings.validate": lambda m, i, **g: m.learnings.validate(i.learning, False, **g),
    "concepts.of": lambda m, i, **g: m.concepts.of(i.concept, **g),
    "concepts.extract": lambda m, i, **g: m.concepts.extract([i.episode], **g),
    "concepts.ground": lambda m, i, **g: m.concepts.ground(i.concept, **g),
    "concepts.statistics": lambda m, i, **g: m.concepts.statistics(i.concept, **g),
    "concepts.add_ref": lambda m, i, **g: m.concepts.add_ref(i.concept, "episodes", i.note, **g),
    "concepts.remove_ref": lambda m, i, **g: m.concepts.remove_ref(
        i.concept, "episodes", i.episode, **g
    ),
    "concepts.reinforce": lambda m, i, **g: m.concepts.reinforce(i.concept, i.note, **g),
    "layers.get": lambda m, i, **g: m.layers["episodes"].get(i.note, **g),
    "layers.episode": lambda m, i, **g: m.layers["episodes"].episode(i.episode, **g),
    "layers.compressed": lambda m, i, **g: m.layers["episodes"].compressed(i.note, **g),
    "layers.recall_associated": lambda m, i, **g: m.layers["episodes"].recall_associated(
        i.note, **g
    ),
    "layers.remove": lambda m, i, **g: m.layers["episodes"].remove(i.other, **g),
}
#: what tells of ids only what they are to the scope: nothing, for those outside
_RANKING = {"graph.pagerank", "graph.importance"}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=FakeEmbedder(16)) as opened:
        yield opened


def items_of(memory: Memory) -> SimpleNamespace:
    """One item of each sort, all of one scope."""
    note = memory.remember("Nancy Ellis works at Initech. Oskar Lund lives in Oulu.", **OWN)
    other = memory.remember("The boat is red.", **OWN)
    memory.graph.link(note, other, "causes")
    episode = memory.layers["episodes"].store(
        "Took the oar.", **OWN, episode={"objects": ["oar"], "tool": "grasp", "success": True}
    )
    memory.facts.learn(note)
    memory.procedures.add("moor", ["tie the rope"], **OWN)
    named = {each.name: each.id for each in memory.entities.of(note)}
    (concept,) = memory.concepts.extract(episode)[:1]
    memory.concepts.add_ref(concept.id, "episodes", episode)
    return SimpleNamespace(
        note=note.id,
        other=other.id,
        episode=episode,
        concept=concept.id,
        entity=named["Nancy Ellis"],
        second=named["Oskar Lund"],
        fact=memory.facts.add("boat", "has colour", "red", source=note).id,
        procedure=memory.procedures.all()[0].id,
        learning=memory.learnings.add("Rain is wet.", "domain_insight", **OWN).id,
    )


def state_of(memory: Memory) -> Any:
    ids = [each.id for each in memory]
    return (
        [each.to_dict() for each in memory],
        [memory.graph.edges(each) for each in ids],
        memory.entities.all(),
        memory.facts.query(),
        memory.procedures.all(),
        memory.learnings.all(),
        memory.concepts.find(),
    )


def public_callables(memory: Memory) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Facet and verb, and the verb."""
    for facet in FACETS:
        owner = memory.layers["episodes"] if facet == "layers" else getattr(memory, facet)
        for name, member in inspect.getmembers(type(owner), callable):
            if not name.startswith("_"):
                yield f"{facet}.{name}", member


def test_every_verb_that_names_memories_takes_the_guard(memory: Memory) -> None:
    found = set()
    for name, member in public_callables(memory):
        parameters = inspect.signature(member).parameters
        if (
            any(
                (each.name in _NAMES and each.annotation != "str")
                or any(kind in str(each.annotation) for kind in _TYPES)
                for each in parameters.values()
            )
            and name not in _MAKING
        ):
            found.add(name)
            if name != "procedures.replace":  # among the fields of the new one
                assert parameters.keys() >= set(SCOPES), name
    assert found == VERBS.keys() | _RANKING


@pytest.mark.parametrize("name", VERBS)
def test_another_scope_is_as_unknown_as_an_id_that_never_was(memory: Memory, name: str) -> None:
    items, call = items_of(memory), VERBS[name]
    nothing = SimpleNamespace(**{each: n for n, each in enumerate(vars(items), 11)})
    before = state_of(memory)
    for guard in WRONG:
        with pytest.raises(UnknownRecordError) as outside:
            call(memory, items, **guard)
        with pytest.raises(UnknownRecordError) as absent:
            call(memory, nothing, **guard)
        said, never = str(outside.value), str(absent.value)
        for each, value in vars(items).items():
            said = said.replace(str(value), str(getattr(nothing, each)))
        assert said == never
    assert state_of(memory) == before


@pytest.mark.parametrize("name", VERBS)
def test_its_own_scope_changes_nothing_about_a_verb(memory: Memory, name: str) -> None:
    items, call = items_of(memory), VERBS[name]
    if name == "entities.split":
        memory.entities.merge(items.entity, items.second)
    call(memory, items, user_id="ann")  # concepts are of no agent, facts of no session


def test_ranks_under_a_guard_are_those_of_its_memories(memory: Memory) -> None:
    items = items_of(memory)
    assert memory.graph.pagerank(user_id="ann")[items.note] > 0
    for guard in WRONG:
        assert memory.graph.pagerank(**guard) == memory.graph.importance(**guard) == {}
        assert not any(memory.graph.pagerank([items.note], **guard).values())


def test_walks_under_a_guard_do_not_leave_it(memory: Memory) -> None:
    ours = [memory.remember(f"note {n}", user_id="ann", agent_id="bot") for n in range(2)]
    theirs = memory.remember("beyond", user_id="ann", agent_id="other")
    memory.graph.link(ours[0], ours[1], "causes")
    memory.graph.link(ours[0], theirs, "causes")
    near = {each.id for each in memory.graph.neighbours(ours[0])}
    assert near == {ours[1].id, theirs.id}
    guard: Any = {"agent_id": "bot"}
    assert [each.id for each in memory.graph.neighbours(ours[0], **guard)] == [ours[1].id]
    assert [each.target for each in memory.graph.edges(ours[0], **guard)] == [ours[1].id]
    assert memory.graph.walk(ours[0], **guard) == [[ours[1].id]]
    with pytest.raises(UnknownRecordError):
        memory.graph.path(ours[0], theirs, **guard)


def test_a_key_of_a_fact_finds_it_within_the_scope_only(memory: Memory) -> None:
    source = memory.remember("Kim lives in Oulu.", user_id="ann")
    fact = memory.facts.add("Kim", "lives in", "Oulu", source=source)
    assert memory.facts.get(fact.key, user_id="ann").id == fact.id
    with pytest.raises(UnknownRecordError):
        memory.facts.get(fact.key, user_id="eve")


def test_an_unknown_keyword_beside_the_guard_is_named(memory: Memory) -> None:
    with pytest.raises(spector.InvalidInputError, match="user_name"):
        memory.learnings.get(7, user_name="ann")  # type: ignore[call-arg]
