"""The result of observing says what each stage decided.

Mechanism: dataclasses that print as an explanation and write JSON. Damage without it: a message is
dropped and no one can tell by which rule, a log that cannot be written. Guard: the printed stages
and the JSON of a result that has everything, and of one that has nothing.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

import spector
from spector import ManualClock, Memory, MemoryRecord, ObserveResult, SpectorError
from spector.records import Edge, note_of, notes_of
from tests.conftest import NOW
from tests.fakes import FakeEmbedder


def record(number: int, text: str) -> spector.MemoryRecord:
    return spector.MemoryRecord(id=number, text=text, tier="episodic")


def full() -> spector.ObserveResult:
    text = "He [Omar] is flying to Lisbon tomorrow [2026-11-26]."
    unit = spector.ObservedUnit(
        text=text,
        said="He is flying to Lisbon tomorrow.",
        action="supersede",
        record=record(7, text),
        likeness=0.8125,
        nearest=3,
        rule="contradiction",
        references=(spector.Reference("it", 14, (("Lisbon", 0.4), ("plan", 0.3))),),
        notes=(spector.Note(3, 9, "reference", "Omar"), spector.Note(38, 50, "date", "2026-11-26")),
        importance=spector.Importance(1.0, 0.5, 0.5, 0.5, 1.0, 0.625, "high"),
        facts=(8,),
        edges=(Edge(source=7, target=3, kind="same_entity"),),
        superseded=(3, 4),
        tagged=True,
        flashbulb=True,
        valid_until=datetime(2026, 11, 27, tzinfo=UTC),
        entities=("Omar",),
    )
    return spector.ObserveResult(
        entry_id="e1",
        stored=True,
        kind="plan",
        doubt="fragment",
        category="plan",
        class_confidence=0.35,
        entities=("Omar", "Lisbon"),
        emotion=spector.Emotion(-0.25, 0.4, "fear", ("worried",)),
        units=(unit,),
        captured=(1, 2),
        fallbacks=("facts",),
        llm=spector.LLMUsage(calls=1, tokens_in=812, tokens_out=96, model="m", fallback="no list"),
        elapsed_ms=1.5,
    )


def test_a_result_prints_each_stage_on_a_line() -> None:
    lines = str(full()).splitlines()
    assert lines[0] == "supersede"
    stages = [line.split()[0] for line in lines[1:]]
    assert (
        stages
        == (
            "filters class entities doubtful emotion formation gate importance flashbulb ends tag"
            " relations facts memory captured llm fallbacks"
        ).split()
    )
    text = str(full())
    assert "supersede of 3, 4 (apart) by rule contradiction, likeness 0.81 to 3" in text
    channels = "novelty 1.00, arousal 0.50, reward 0.50, attention 0.50; boost 1.00"
    assert f"0.625, high ({channels})" in text
    assert "fragment; kept with little importance" in text
    assert "notes [Omar], [2026-11-26]; left open: it" in text
    assert "same_entity 3" in text
    assert "m: 1 call, 812 + 96 tokens, 0 ms; rules in its place: no list" in text


def test_a_message_that_was_stopped_says_by_which_filter() -> None:
    result = spector.ObserveResult(
        entry_id="e", stored=False, reason="small_talk", filter="small_talk", kind="smalltalk"
    )
    assert not result
    assert result.records == ()
    lines = str(result).splitlines()
    assert lines == ["nothing stored: small_talk", "    filters     stopped by small_talk"]


def test_units_of_one_message_are_told_apart() -> None:
    one = spector.ObservedUnit(
        text="a", said="Ada met Bob.", action="create", record=record(1, "a")
    )
    two = dataclasses.replace(one, said="Carl joined Acme.", action="skip", record=None)
    result = spector.ObserveResult(entry_id="e", stored=True, units=(one, two, one))
    assert "  unit 2: Carl joined Acme." in str(result).splitlines()
    assert [each.id for each in result.records] == [1], "each record once"


def test_a_dry_run_says_what_it_would_do() -> None:
    unit = spector.ObservedUnit(text="a", said="a", action="create")
    result = spector.ObserveResult(entry_id="e", stored=False, units=(unit,), dry_run=True)
    assert str(result).startswith("would create")
    assert not result


def test_a_result_is_json() -> None:
    found = json.loads(json.dumps(full().to_dict(), allow_nan=False))
    assert found["doubt"] == "fragment"
    assert found["units"][0]["id"] == 7
    assert found["units"][0]["importance"]["priority"] == "high"
    assert found["units"][0]["valid_until"] == "2026-11-27T00:00:00+00:00"
    assert found["units"][0]["notes"][1] == [38, 50, "date", "2026-11-26"]
    empty = spector.ObserveResult(entry_id="e", stored=False)
    assert json.loads(json.dumps(empty.to_dict()))["doubt"] == ""


def test_notes_are_read_back_as_they_were_written() -> None:
    note = spector.Note(3, 9, "reference", "Ömer")
    assert note_of(json.loads(json.dumps(note.to_list()))) == note
    assert notes_of({"notes": [note.to_list()]}) == (note,)
    assert notes_of(None) == notes_of({}) == ()


# -- What a result reports as superseded is superseded, and nothing else is ------------------------
#
# Mechanism: many verbs can end a memory, and a fact that is drawn from it. Damage: a report of an
# end that did not happen, a memory that ended unseen, a fact that holds though all who stated it
# ended. Guard: all verbs that can supersede, in random order, and all that is said of an end after
# each.


PLACES, FIRMS, THINGS, NAMES = (
    ("Bath", "Derby"),
    ("Hooli", "Initrode"),
    ("Volvo", "piano"),
    ("Omar",),
)
SAID = [
    frame.format(place=place, firm=firm, thing=thing, name=name)
    for frame in tuple(
        (
            "I live in {place}. | I moved to {place}. | "
            "I left {place} and live in Cork now. | "
            "I work at {firm}. I live in {place}. | I work at {firm} now. | "
            "I quit {firm}. | I quit my job at {firm}. | I no longer work at {firm}. | "
            "I left {firm}. | I drive a {thing}. | I sold my {thing}. | "
            "I play the {thing}. | I stopped playing the {thing}. | "
            "My boyfriend is {name}. | {name} and I broke up. | My new boss is {name}. | "
            "My new boss is Lena. | I'm allergic to latex. | "
            "I'm not allergic to latex. | From now on answer in Spanish. | "
            "From now on answer in German."
        ).split(" | ")
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
        is_linked &= verb not in ("forget", "update")  # a fact goes with what it was read in
        world.check(before, results, is_linked)
        world.clock.advance(seconds=seconds)
    world.memory.close()
