"""Reading a memory keeps what it states, with its origin; what a user said only a user replaces.

Mechanism: frames, compared with the facts of the slot, in one commit a memory. Damage without it:
an assistant's guess that replaces a user's word, a denial read as its opposite, a fact twice.
Guard: the statements of the design, in two languages.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import spector
from spector import Fact, InvalidTextError, Memory, MemoryRecord
from spector.clock import ManualClock
from spector.records import FactRecord
from tests.fakes import FakeEmbedder

DAY = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    clock = ManualClock(DAY)
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), clock=clock) as memory:
        yield memory


def learn(memory: Memory, text: str, days: int = 0, **fields: object) -> tuple[FactRecord, ...]:
    record = memory.remember(text, event_time=DAY + timedelta(days=days), **fields)  # type: ignore[arg-type]
    return memory.facts.learn(record).facts


def triples(facts: object) -> list[tuple[str, str, str]]:
    return [(f.subject, f.predicate, f.object) for f in facts]  # type: ignore[attr-defined]


def test_extraction_stores_nothing(memory: Memory) -> None:
    text = "I live in Kars. I do not like tea. Maybe my port is 8080. Do I live in Rome?"
    found = memory.facts.extract(text)
    assert isinstance(found[0], Fact)
    assert triples(found)[:2] == [("user", "lives_in", "Kars"), ("user", "likes", "tea")]
    assert [each.polarity for each in found[:2]] == [True, False]
    assert {each.modality for each in found[2:]} <= {"hedged"}
    for each in found:
        assert each.span is not None
        assert text[slice(*each.span)].strip()
    assert memory.facts.extract("Nice weather today!") == []
    assert memory.count() == 0
    with pytest.raises(InvalidTextError):
        memory.facts.extract(3)  # type: ignore[arg-type]


def test_what_a_memory_states_hangs_on_it(memory: Memory) -> None:
    record = memory.remember(
        "I live in Kars.", user_id="u", agent_id="a", importance=0.8, event_time=DAY
    )
    report = memory.facts.learn(record)
    (fact,) = report.facts
    assert (report.ids, report.fallback, dict(report.skipped)) == ((record.id,), False, {})
    assert (fact.subject, fact.predicate, fact.object) == ("user", "lives_in", "Kars")
    assert (fact.confidence, fact.sources, fact.record.user_id) == (0.6, (record.id,), "u")
    assert fact.record.importance == pytest.approx(0.8, abs=0.005)
    assert fact.record.event_time == record.event_time
    again = memory.facts.learn(record)
    assert again.facts == (fact,)
    assert memory.facts.learn(fact).skipped == {"derived": 1}
    assert (memory.count(), memory.count(sorts="fact")) == (1, 1)
    memory.forget(record)
    assert (memory.count(), memory.count(sorts="fact")) == (0, 0)
    assert memory.facts.about("user") == []


def test_a_second_source_raises_confidence(memory: Memory) -> None:
    learn(memory, "I live in Kars.")
    (fact,) = learn(memory, "I live in Kars!", 1)
    assert (fact.confidence, len(fact.sources)) == (0.65, 2)


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("I live in Paris.", "I moved to Berlin.", "Berlin"),
        ("The staging port is 8080.", "The staging port is 8443.", "8443"),
        ("Adım Ali.", "Artık Ankara'da yaşıyorum.", "Ali"),
        ("İzmir'de yaşıyorum.", "Ankara'da yaşıyorum.", "Ankara"),
    ],
)
def test_a_newer_value_takes_the_place_of_an_older(
    memory: Memory, old: str, new: str, value: str
) -> None:
    (before,) = learn(memory, old)
    learn(memory, new, 1)
    held = memory.facts.query(subject=before.subject, predicate=before.predicate)
    assert [each.object for each in held] == [value]


def test_a_denial_is_no_confirmation(memory: Memory) -> None:
    (likes,) = learn(memory, "I like tea.")
    (denied,) = learn(memory, "I no longer like tea.", 3)
    assert (denied.predicate, denied.key == likes.key) == ("not_likes", False)
    assert [each.id for each in memory.facts.about("tea")] == [denied.id]
    (again,) = learn(memory, "I like tea.", 6)
    assert [each.id for each in memory.facts.about("tea")] == [again.id]
    assert len(memory.history(again.id)) == 3


@pytest.mark.parametrize("role", ["assistant", "tool", "system"])
def test_only_a_user_replaces_or_confirms_what_a_user_said(memory: Memory, role: str) -> None:
    (mine,) = learn(memory, "Ada lives in Kars.", role="user")
    assert learn(memory, "Ada lives in Kars.", 1, role=role) == ()
    assert learn(memory, "Ada lives in Rome.", 2, role=role) == ()
    assert memory.facts.get(mine.id).sources == mine.sources
    held = memory.facts.query(subject="Ada", predicate="lives_in")
    assert [each.object for each in held] == ["Kars"]
    (last,) = learn(memory, "Ada lives in Oslo.", 3)
    assert [each.id for each in memory.facts.query(subject="Ada")] == [last.id]


def test_an_assistant_may_not_touch_what_a_user_has_confirmed(memory: Memory) -> None:
    learn(memory, "Ada lives in Kars.", role="assistant")
    (fact,) = learn(memory, "Ada lives in Kars.", 1)
    assert fact.confidence == 0.65
    learn(memory, "Ada lives in Rome.", 2, role="assistant")
    assert [each.object for each in memory.facts.query(subject="Ada")] == ["Kars"]


def test_what_is_older_replaces_nothing(memory: Memory) -> None:
    (new,) = learn(memory, "I live in Berlin.", 10)
    (old,) = learn(memory, "I live in Paris.", 2)
    assert {f.id for f in memory.facts.query(predicate="lives_in")} == {new.id, old.id}
    assert memory.graph.edges(old.id, kinds=["contradicts"])


def test_memories_are_read_by_event_time_and_again_changes_nothing(memory: Memory) -> None:
    late = memory.remember("I live in Berlin.", event_time=DAY + timedelta(days=9))
    early = memory.remember("I live in Paris.", event_time=DAY)
    memory.facts.learn([late, early])
    before = memory.facts.query()
    assert triples(before) == [("user", "lives_in", "Berlin")]
    assert memory.facts.learn([early, late]).facts == tuple(before)
    assert memory.facts.query() == before
    assert memory.check().ok


def test_a_pinned_fact_is_contradicted(memory: Memory) -> None:
    (old,) = learn(memory, "I live in Paris.")
    memory.pin(old.id)
    learn(memory, "I moved to Berlin.", 1)
    assert len(memory.facts.query(predicate="lives_in")) == 2


def test_a_hedge_replaces_nothing(memory: Memory) -> None:
    learn(memory, "I live in Paris.")
    learn(memory, "Maybe I live in Berlin.", 1)
    assert "Paris" in [f.object for f in memory.facts.query(predicate="lives_in")]


def test_users_share_nothing(memory: Memory) -> None:
    (a,) = learn(memory, "I live in Paris.", user_id="a")
    (b,) = learn(memory, "I live in Berlin.", 1, user_id="b")
    assert memory.facts.about("user", user_id="a") == [a]
    assert memory.facts.about("user", user_id="b") == [b]


def test_a_speaker_is_who_says_i(memory: Memory) -> None:
    (fact,) = learn(memory, "I live in Kars.", metadata={"speaker": "Melanie"})
    assert fact.subject == "Melanie"


def test_a_memory_of_several_facts_is_one_commit(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    record: MemoryRecord = memory.remember("I live in Kars. My dog is named Rex. I work at Acme.")
    begun: list[None] = []
    store = memory._parts.store
    begin = store.transaction
    monkeypatch.setattr(store, "transaction", lambda *a, **k: begun.append(None) or begin(*a, **k))
    facts = memory.facts.learn(record).facts
    assert len({fact.id for fact in facts}) == len(facts) >= 2
    assert len(begun) == 1
