"""What a result reports as superseded is superseded, and nothing else is.

Mechanism: many verbs can end a memory, and a fact that is drawn from it. Damage: a report of an end
that did not happen, a memory that ended unseen, a fact that holds though all who stated it ended.
Guard: all verbs that can supersede, in random order, and all that is said of an end after each.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

import spector
from spector import ManualClock, Memory, MemoryRecord, ObserveResult, SpectorError
from tests.conftest import NOW
from tests.fakes import FakeEmbedder

PLACES, FIRMS, THINGS, NAMES = (
    ("Bath", "Derby"),
    ("Hooli", "Initrode"),
    ("Volvo", "piano"),
    ("Omar",),
)
SAID = [
    frame.format(place=place, firm=firm, thing=thing, name=name)
    for frame in (
        "I live in {place}.",
        "I moved to {place}.",
        "I left {place} and live in Cork now.",
        "I work at {firm}. I live in {place}.",
        "I work at {firm} now.",
        "I quit {firm}.",
        "I quit my job at {firm}.",
        "I no longer work at {firm}.",
        "I left {firm}.",
        "I drive a {thing}.",
        "I sold my {thing}.",
        "I play the {thing}.",
        "I stopped playing the {thing}.",
        "My boyfriend is {name}.",
        "{name} and I broke up.",
        "My new boss is {name}.",
        "My new boss is Lena.",
        "I'm allergic to latex.",
        "I'm not allergic to latex.",
        "From now on answer in Spanish.",
        "From now on answer in German.",
    )
    for place in PLACES
    for firm in FIRMS
    for thing in THINGS
    for name in NAMES
]
SAID = list(dict.fromkeys(SAID))
VERBS = (
    "observe before observe_many session auto remember keyed update retire reinstate forget add"
    " correct reflect import".split()
)


class World:
    """A memory, and what was done to it."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock = path, ManualClock(NOW)
        self.memory = self.opened()

    def opened(self) -> Memory:
        return spector.open(":memory:", embedder=FakeEmbedder(32), clock=self.clock)

    def rows(self) -> dict[int, MemoryRecord]:
        memory = self.memory
        return {each.id: each for sort in (None, ["fact"]) for each in memory.records(sorts=sort)}

    def ended(self) -> set[int]:
        return {each.id for each in self.rows().values() if each.superseded}

    def one(self, nth: int, *, superseded: bool = False) -> int:
        found = [
            each.id for each in self.memory.records(user_id="u") if each.superseded == superseded
        ]
        return found[nth % len(found)] if found else 0

    def do(self, verb: str, nth: int, said: Sequence[str]) -> list[ObserveResult]:
        memory, text, user = self.memory, said[0], {"user_id": "u"}
        calls: dict[str, Any] = {
            "observe": lambda: [memory.observe(text, **user)],
            "before": lambda: [
                memory.observe(text, event_time=NOW - timedelta(days=1 + nth), **user)
            ],
            "observe_many": lambda: memory.observe_many(said, **user),
            "session": lambda: [memory.session("s", user_id="u").observe(text)],
            "auto": lambda: memory.remember(text, supersedes="auto", **user),
            "remember": lambda: memory.remember(text, supersedes=self.one(nth), **user),
            "keyed": lambda: memory.remember(text, key="k", supersedes=self.one(nth), **user),
            "update": lambda: memory.update(self.one(nth), text=text),
            "retire": lambda: memory.retire(self.one(nth)),
            "reinstate": lambda: memory.reinstate(self.one(nth, superseded=True), keep=nth > 1),
            "forget": lambda: memory.forget(self.one(nth)),
            "add": lambda: memory.facts.add("user", "lives_in", PLACES[nth % 2], **user),
            "correct": lambda: memory.facts.add(
                "user", "works_at", FIRMS[nth % 2], source=self.one(nth), **user
            ),
            "reflect": memory.reflect,
            "import": self.carry,
        }
        try:
            found = calls[verb]()
        except SpectorError:  # there is no such memory, or it may not change
            return []
        return found if verb in ("observe", "before", "observe_many", "session") else []

    def carry(self) -> None:
        """All of it goes into another store."""
        self.path.unlink(missing_ok=True)
        self.memory.export(self.path)
        self.memory.close()
        self.memory = self.opened()
        self.memory.import_(self.path)

    def check(self, before: set[int], results: list[ObserveResult], is_linked: bool) -> None:
        rows, ended = self.rows(), self.ended()
        reported = [each for result in results for u in result.units for each in u.superseded]
        assert len(reported) == len({*reported})
        for each in reported:
            assert rows[each].superseded, rows[each]
            assert rows[each].superseded_by, rows[each]
        if results:
            assert ended - before == {*reported}
        for each in ended:
            assert rows[each].valid_until is not None, rows[each]
            assert rows[each].superseded_by or not is_linked, rows[each]
        for fact in self.memory.facts.query():
            assert fact.id not in ended, fact
            assert not fact.sources or not ended.issuperset(fact.sources), fact
        held = {each.id for each in self.memory.facts.query()}
        for each in rows.values():
            if each.payload is not None and each.superseded:
                assert each.id not in held
                assert not self.memory.facts.get(each.id).holds


STEPS = st.lists(
    st.tuples(
        st.sampled_from(VERBS),
        st.integers(0, 3),
        st.sampled_from([0, 1, 3 * 86_400]),
        st.lists(st.sampled_from(SAID), min_size=3, max_size=3),
    ),
    min_size=2,
    max_size=8,
)


@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_what_is_reported_happened(tmp_path_factory: Any, steps: Any) -> None:
    world = World(tmp_path_factory.mktemp("carried") / "all.jsonl")
    is_linked = True
    for verb, nth, seconds, said in steps:
        before = world.ended()
        results = world.do(verb, nth, said)
        is_linked &= verb != "forget"
        world.check(before, results, is_linked)
        world.clock.advance(seconds=seconds)
    world.memory.close()
