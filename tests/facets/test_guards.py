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
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import spector
from spector import Memory, UnknownRecordError
from spector.clock import ManualClock
from spector.facets import Faceted
from spector.store.payloads import PAYLOAD_TABLES
from tests.fakes import FakeEmbedder
from tests.proof import seed

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
    for facet in (each for each in vars(Faceted) if not each.startswith("_")):
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


# Off means off: looking at what a store knows changes nothing of one that knows nothing.
#
# Mechanism: facets, sessions, dry runs and reports are loaded at first use. Damage without it: a
# store that only remembers and recalls gets tables, other bytes, scores or reports because somebody
# looked. Guard: two stores under the same random operations, one of them looked at between.

_BEGUN_MS = 1_760_000_000_000
_WORDS = "pump hall valve reads bar tea Ankara İzmir kettle red boat at six".split()

#: what looks at knowledge, and keeps nothing of it
LOOKS: tuple[Callable[[Memory], Any], ...] = (
    lambda memory: memory.facts.query(),
    lambda memory: memory.entities.find("Ankara"),
    lambda memory: memory.graph.kinds(),
    lambda memory: memory.procedures.for_situation("make tea"),
    lambda memory: memory.learnings.all(),
    lambda memory: memory.concepts.find(name="kettle"),
    lambda memory: memory.reflect(dry_run=True),
    lambda memory: memory.stats(),
    lambda memory: memory.gate("I moved to Ankara."),
    lambda memory: memory.check(),
    lambda memory: memory.context("pump"),
)


class Pair:
    """The same operations on two stores; what they answer must be equal."""

    def __init__(self, folder: Path, random_seed: int) -> None:
        self.random = random.Random(random_seed)
        self.clocks = [ManualClock(_BEGUN_MS), ManualClock(_BEGUN_MS)]
        self.folders = [folder / "plain", folder / "seen"]
        with spector.open(
            self.folders[0], embedder=FakeEmbedder(dim=16), clock=ManualClock(_BEGUN_MS)
        ):
            pass
        shutil.copytree(*self.folders)  # the two are one store, down to its random id
        self.memories = [
            spector.open(path, embedder=FakeEmbedder(dim=16), clock=clock)
            for path, clock in zip(self.folders, self.clocks, strict=True)
        ]
        self.ids: list[int] = []

    def both(self, work: Callable[[Memory], Any]) -> Any:
        """Do a work on both; what it gives is the same."""
        plain, seen = (work(memory) for memory in self.memories)
        assert plain == seen
        return plain

    def step(self) -> None:
        for clock in self.clocks:
            clock.advance(seconds=60)
        text = " ".join(self.random.choices(_WORDS, k=5))
        kind = self.random.random()
        if kind < 0.5 or len(self.ids) < 5:
            user = self.random.choice([None, "u"])
            self.ids.append(self.both(lambda memory: memory.remember(text, user_id=user).id))
        elif kind < 0.8:
            learn = self.random.random() < 0.5
            self.both(
                lambda memory: [
                    (each.record.id, each.score) for each in memory.recall(text, learn=learn)
                ]
            )
        elif kind < 0.9:
            chosen = self.random.choice(self.ids)
            self.both(lambda memory: memory.update(chosen, tags=[text[:4]]).to_dict())
        elif kind < 0.97:
            chosen = self.ids.pop(self.random.randrange(len(self.ids)))
            self.both(lambda memory: memory.forget(chosen) and None)
        else:
            self.both(lambda memory: timeless(asdict(memory.reflect("upkeep"))))

    def close(self) -> None:
        for memory in self.memories:
            memory.close()


def timeless(value: Any) -> Any:
    """What a report says, but for how long the work took, and where."""
    if isinstance(value, dict):
        said = [name for name in value if "elapsed" not in name and name != "store"]
        return {name: timeless(value[name]) for name in said}
    return [timeless(each) for each in value] if isinstance(value, (list, tuple)) else value


def _unnumbered(row: str) -> str:
    """A row without the number of a change, which begins anywhere each time a store is opened."""
    if row.startswith(('INSERT INTO "head"', 'INSERT INTO "session"')):
        return ""
    return re.sub(r",\d+\);$", "", row) if row.startswith('INSERT INTO "segment"') else row


def contents(folder: Path) -> dict[str, bytes]:
    """Name -> bytes of every file of a closed store; of the catalog, what it says."""
    out: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        if path.name == "catalog.db":
            with sqlite3.connect(path) as db:
                out[path.name] = "\n".join(map(_unnumbered, db.iterdump())).encode()
            db.close()
        elif path.is_file() and path.name != "LOCK":
            out[str(path.relative_to(folder))] = path.read_bytes()
    return out


@pytest.mark.parametrize(
    "steps", [pytest.param(25, id="some"), pytest.param(2000, id="all", marks=pytest.mark.slow)]
)
def test_a_store_that_is_looked_at_stays_as_it_is(tmp_path: Path, steps: int) -> None:
    pair = Pair(tmp_path, seed(198))
    looks = random.Random(seed(198))
    for _ in range(steps):
        pair.step()
        if looks.random() < 0.3:
            looks.choice(LOOKS)(pair.memories[1])
    for look in LOOKS:
        look(pair.memories[1])
    pair.both(lambda memory: len(memory))
    pair.close()
    plain, seen = map(contents, pair.folders)
    assert plain.keys() == seen.keys()
    assert plain["catalog.db"].splitlines() == seen["catalog.db"].splitlines()
    assert [name for name in plain if plain[name] != seen[name]] == []
    with sqlite3.connect(pair.folders[1] / "catalog.db") as db:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    db.close()
    assert not names & {each.name for each in PAYLOAD_TABLES if each.name != "key_mark"}
