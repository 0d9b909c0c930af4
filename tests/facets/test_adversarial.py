"""Names, predicates, tags and steps of any content are stored as they are, or refused with a type.

Mechanism: parts are checked at the door, keys are escaped, JSON is written by an encoder. Damage
without it: a name that ends a key early, a text that no store can write, an error without a type.
Guard: every verb with every text of a corpus, and graphs of every shape.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidInputError, Memory, Percept, SpectorError
from spector.knowledge import Changes
from tests.fakes import FakeEmbedder

MEGABYTE = 1 << 20
TEXTS: dict[str, Any] = {
    "empty": "",
    "spaces": " \t\n ",
    "nul": "a\x00b",
    "controls": "a\x01\x1b[31mb\x7f",
    "bar": "a|b",
    "backslash": "a\\|b\\",
    "json": '{"a": ["b", null]}',
    "quotes": "a'b\"c`d",
    "sql": "'); DROP TABLE fact; --",
    "right to left": "\u202eabc\u202c\u200f",
    "nan": "NaN",
    "infinity": "-Infinity",
    "surrogate": "a\ud800b",
    "emoji": "\U0001f9d1\u200d\U0001f4bb",
    "combining": "e\u0301" * 50,
    "turkish": "İSTANBUL ıspanak",
    "zero width": "a\u200bb\ufeff",
    "newlines": "a\nb\r\nc\u2028d",
    "megabyte": "x" * MEGABYTE,
    "words": "word " * 5_000,
    "a number": 7,
    "none": None,
    "bytes": b"abc",
    "not a number": float("nan"),
    "a list": ["a"],
}
VERBS: dict[str, Callable[[Memory, Any, int], Any]] = {
    "subject": lambda m, t, i: m.facts.add(t, "is", "x", source=i),
    "predicate": lambda m, t, i: m.facts.add("x", t, "y", source=i),
    "object": lambda m, t, i: m.facts.add("x", "likes", t, source=i),
    "text of a fact": lambda m, t, i: m.facts.add("x", "sees", "y", text=t, source=i),
    "about": lambda m, t, i: m.facts.about(t),
    "query": lambda m, t, i: m.facts.query(subject=t),
    "traverse": lambda m, t, i: m.facts.traverse(t),
    "extract": lambda m, t, i: m.facts.extract(t),
    "declare": lambda m, t, i: m.facts.declare(t),
    "confidence": lambda m, t, i: m.facts.add("x", "is", "y", confidence=t),
    "user": lambda m, t, i: m.facts.add("x", "is", "z", user_id=t),
    "find an entity": lambda m, t, i: m.entities.find(t),
    "alias": lambda m, t, i: m.entities.alias(t, "x"),
    "register": lambda m, t, i: m.graph.register(t),
    "inverse": lambda m, t, i: m.graph.register("mentors", inverse=t),
    "kind": lambda m, t, i: m.graph.link(i, i + 1, t),
    "note": lambda m, t, i: m.graph.link(i, m.remember("other").id, "causes", note={"why": t}),
    "key of a note": lambda m, t, i: m.graph.link(
        i, m.remember("other").id, "causes", note={_key(t): t}
    ),
    "weight": lambda m, t, i: m.graph.link(i, m.remember("other").id, "causes", weight=t),
    "name of a procedure": lambda m, t, i: m.procedures.add(t, ["a"]),
    "step": lambda m, t, i: m.procedures.add("p", [t]),
    "trigger": lambda m, t, i: m.procedures.add("p", ["a"], triggers=[t]),
    "situation": lambda m, t, i: m.procedures.for_situation([t]),
    "insight": lambda m, t, i: m.learnings.add(t, "strategy_update"),
    "sort of a learning": lambda m, t, i: m.learnings.add("a", t),
    "applies_to": lambda m, t, i: m.learnings.add("a", "strategy_update", applies_to=[t]),
    "relevant": lambda m, t, i: m.learnings.relevant([t]),
    "concept": lambda m, t, i: m.concepts.find_or_create(t),
    "category": lambda m, t, i: m.concepts.find_or_create("c", t),
    "definition": lambda m, t, i: m.concepts.find_or_create("d", definition=t),
    "property": lambda m, t, i: m.concepts.find_or_create("e", properties={"a": t}),
    "name of a property": lambda m, t, i: m.concepts.find_or_create("f", properties={_key(t): 1}),
    "find a property": lambda m, t, i: m.concepts.find(property=("a", t)),
    "similar": lambda m, t, i: m.concepts.similar(t),
    "layer": lambda m, t, i: m.concepts.add_ref(m.concepts.find_or_create("g")[0].id, t, i),
    "object of an episode": lambda m, t, i: _episode(m, objects=[t]),
    "person of an episode": lambda m, t, i: _episode(m, people=[t]),
    "goal": lambda m, t, i: _episode(m, goal=t),
    "tool": lambda m, t, i: _episode(m, tool=t, success=True),
    "context": lambda m, t, i: _episode(m, context={"a": t}),
    "percept": lambda m, t, i: (
        m.concepts.context(Percept(objects=(t,), goal="a")),
        m.graph.complete(Percept(people=(t,))),
    ),
    "goal of a percept": lambda m, t, i: m.concepts.context(Percept(goal=t)),
}


def _key(value: Any) -> Any:
    """What can be a key of a dictionary."""
    return str(value) if isinstance(value, list) else value


def _episode(memory: Memory, **details: Any) -> None:
    made = memory.layers["episodes"].store("an episode", episode=details)
    memory.concepts.extract(made)


@pytest.mark.sampled
@pytest.mark.parametrize("verb", VERBS)
def test_any_text_is_stored_or_refused_with_a_type(memory: Memory, verb: str, proof: Any) -> None:
    source = memory.remember("a source").id
    for name, text in TEXTS.items():
        refusal = None
        try:
            VERBS[verb](memory, text, source)
        except SpectorError as error:
            refusal = str(error)
        assert refusal is None or 0 < len(refusal) < 2_000, (name, refusal)
    report = memory.check()
    assert report.ok, report
    for fact in memory.facts.query():
        assert memory.facts.get(fact.id).key == fact.key
    proof("any text", texts=len(TEXTS), arguments=1, errors_without_a_type=0)


def test_what_was_stored_is_read_back_as_it_was_given(tmp_path: Path) -> None:
    kept: dict[int, tuple[str, str]] = {}
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        for name in tuple(
            ("bar | backslash | json | quotes | sql | right to left | nan | emoji | turkish").split(
                " | "
            )
        ):
            text = TEXTS[name]
            fact = memory.facts.add(text, "is", f"{text} too")
            kept[fact.id] = text, f"{text} too"
        again = memory.facts.add("a", "b|c", "d")
        assert memory.facts.add("a|b", "c", "d").key != again.key
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r") as memory:
        for each, (subject, value) in kept.items():
            fact = memory.facts.get(each)
            assert (fact.subject, fact.object) == (subject, value)
            assert each in [found.id for found in memory.facts.about(subject)]


# -- graphs of every shape --------------------------------------------------------------------


def linked(memory: Memory, pairs: list[tuple[int, int]], kind: str = "causes") -> None:
    """Many edges in one commit."""
    changes = Changes()
    for a, b in pairs:
        changes.put(
            "edge",
            source_id=a,
            kind=kind,
            target_id=b,
            weight=0.9,
            confidence=0.9,
            origin="user",
            created_ms=0,
            note=None,
        )
    memory._parts.knowledge.commit(lambda reader, now_ms: changes)


def test_an_edge_to_itself_is_refused(memory: Memory) -> None:
    one = memory.remember("one").id
    for kind in ("causes", "related_to", "caused_by"):
        with pytest.raises(InvalidInputError):
            memory.graph.link(one, one, kind)
    assert memory.graph.edges(one) == []


def test_walks_end_in_cycles(memory: Memory) -> None:
    ids = [each.id for each in memory.remember_many([f"m{n}" for n in range(12)])]
    linked(memory, [(a, b) for a in ids for b in ids if a != b])
    for direction in ("out", "in", "both"):
        found = memory.graph.neighbours(ids[0], hops=6, direction=direction)  # type: ignore[arg-type]
        assert {each.id for each in found} == set(ids[1:])
        assert {each.hops for each in found} == {1}
    assert [sorted(each) for each in memory.graph.walk(ids[0], hops=6)] == [ids[1:]]
    path = memory.graph.path(ids[0], ids[5])
    assert path is not None
    assert len(path) == 1
    assert sum(map(len, memory.graph.activate([ids[0]], hops=6).values())) == 11
    assert sum(memory.graph.pagerank().values()) == pytest.approx(1.0)
    memory.facts.add("a", "knows", "b")
    memory.facts.add("b", "knows", "a")
    assert len(memory.facts.traverse("a", hops=16)) == 2


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_memory_with_very_many_edges(memory: Memory, count: int) -> None:
    texts = [f"spoke {n}" for n in range(count)]
    hub = memory.remember("hub").id
    spokes = [
        each.id
        for at in range(0, count, 20_000)
        for each in memory.remember_many(texts[at : at + 20_000])
    ]
    linked(memory, [(hub, each) for each in spokes])
    assert len(memory.graph.edges(hub)) == count
    assert len(memory.graph.neighbours(hub)) == 100
    assert len(memory.graph.neighbours(spokes[0], direction="both", limit=count)) == count
    path = memory.graph.path(hub, spokes[-1])
    assert path is not None
    assert [each.target for each in path] == [spokes[-1]]
    assert memory.graph.path(spokes[0], spokes[1]) is None
    assert memory.graph.central(spokes[0]) is False
    assert sum(memory.graph.pagerank().values()) == pytest.approx(1.0)
    hits = memory.recall("hub", k=5, expand=True)
    assert hits[0].id == hub
    assert memory.check().ok
    memory.forget(hub)
    assert memory.graph.edges(spokes[0]) == []
    with contextlib.closing(memory):
        assert memory.check().ok
