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
from spector import (
    Fact,
    InvalidInputError,
    InvalidTextError,
    Memory,
    MemoryRecord,
    UnknownRecordError,
)
from spector.clock import ManualClock
from spector.records import FactRecord, LearningType
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

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


@cases("old", "new", "value")
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


def test_a_hedge_replaces_nothing(memory: Memory) -> None:
    learn(memory, "I live in Paris.")
    learn(memory, "Maybe I live in Berlin.", 1)
    assert "Paris" in [f.object for f in memory.facts.query(predicate="lives_in")]


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


# -- Learnings: surer when they held, less sure when they misled, found by what they apply to ------


def test_a_learning_is_drawn_from_evidence(memory: Memory, tmp_path: Path) -> None:
    a = memory.remember("The build failed at night", user_id="u", agent_id="x", confidence=0.4)
    b = memory.remember("It failed again", user_id="u", agent_id="x")
    made = memory.learnings.add(
        "Builds fail while the backup runs. " * 4,
        "failure_analysis",
        evidence=[a, b],
        applies_to=["Build", "gece"],
        impact=0.9,
    )
    assert (made.confidence, made.impact, made.validated, made.applications) == (0.5, 0.9, False, 0)
    assert made.type is LearningType.FAILURE_ANALYSIS
    assert (len(made.title), made.insight.startswith(made.title)) == (80, True)
    assert made.applies_to == ("Build", "gece")
    assert {(e.target, e.weight) for e in memory.graph.edges(made.id, kinds=["derived_from"])} == {
        (a.id, 0.8),
        (b.id, 0.8),
    }
    record = made.record
    assert (record.user_id, record.agent_id, record.tier) == ("u", "x", "semantic")
    assert record.confidence == pytest.approx(0.4, abs=0.01)
    assert record.importance == pytest.approx(0.9, abs=0.01)
    memory.close()
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as again:
        assert again.learnings.get(made.id).to_dict() == made.to_dict()
        assert again.check().ok


def test_learnings_keep_three_times_as_long_as_texts(memory: Memory) -> None:
    text = memory.remember("Backups are slow.", importance=0.5)
    made = memory.learnings.add("Backups are slow.", "domain_insight", impact=0.5)
    assert made.record.stability_days == 3 * text.stability_days


def test_the_category_follows_the_type(memory: Memory) -> None:
    liked = memory.learnings.add("She prefers tea", LearningType.USER_PREFERENCE)
    seen = memory.learnings.add("Tea is hot", "domain_insight")
    assert liked.record.category is spector.Category.PREFERENCE
    assert seen.record.category is spector.Category.PATTERN


@cases("start", "outcomes", "end")
def test_validation_is_asymmetric(memory: Memory, start: float, outcomes: str, end: float) -> None:
    made = memory.learnings.add("x", "success_pattern", confidence=start)
    for each in outcomes:
        last = memory.learnings.validate(made.id, each == "S")
    assert last.confidence == pytest.approx(end)
    assert last.validated == ("S" in outcomes)


def test_relevant_ones_come_by_confidence_times_impact(memory: Memory) -> None:
    def add(confidence: float, impact: float, tag: str = "build", kind: str = "domain_insight"):  # type: ignore[no-untyped-def]
        return memory.learnings.add(
            f"{confidence} {impact} {tag}",
            kind,
            confidence=confidence,
            impact=impact,
            applies_to=[tag],
        ).id

    low, weak, strong = add(0.29, 1.0), add(0.3, 0.9), add(0.9, 0.5)
    other = add(1.0, 1.0, "cook")
    mine = add(0.5, 0.2, kind="self_correction")
    found = [each.id for each in memory.learnings.relevant(["BUILD"])]
    assert found == [strong, weak, mine]
    assert [e.id for e in memory.learnings.relevant(["build"], limit=1)] == [strong]
    assert low in [e.id for e in memory.learnings.relevant(["build"], min_confidence=0.0)]
    assert [e.id for e in memory.learnings.relevant(["build"], type="self_correction")] == [mine]
    assert [e.id for e in memory.learnings.relevant(["cook", "build"], limit=1)] == [other]
    assert memory.learnings.relevant(["sleep"]) == memory.learnings.relevant([]) == []
    assert len(memory.learnings.all()) == 5
    assert [e.id for e in memory.learnings.all("self_correction")] == [mine]


def test_uses_are_counted(memory: Memory) -> None:
    made = memory.learnings.add("x", "strategy_update")
    memory.learnings.apply(made.id)
    last = memory.learnings.apply(made.id)
    assert last.applications == 2
    assert last.last_applied is not None
    assert last.confidence == 0.5


def test_what_no_learning_can_be(memory: Memory) -> None:
    a, b = (memory.remember(each, user_id=each) for each in "ab")
    for call, word in (
        (lambda: memory.learnings.add("x", "guess"), "failure_analysis"),
        (
            lambda: memory.learnings.add("x", "domain_insight", evidence=[a, b]),
            "several users",
        ),
        (lambda: memory.learnings.add("x", "domain_insight", confidence=1.1), "confidence"),
        (lambda: memory.learnings.add("x", "domain_insight", impact=float("nan")), "impact"),
        (
            lambda: memory.learnings.add("x", "domain_insight", applies_to=["\u0301"]),
            "applies_to",
        ),
        (lambda: memory.learnings.get(a.id), "no learning"),
    ):
        with pytest.raises(InvalidInputError, match=word):
            call()
    with pytest.raises(InvalidInputError):
        memory.learnings.add("  ", "domain_insight")
    with pytest.raises(UnknownRecordError):
        memory.learnings.add("x", "domain_insight", evidence=1 << 50)
    assert len(memory) == 2


def test_learnings_stay_without_evidence_and_with_their_user(memory: Memory) -> None:
    a = memory.remember("seen", user_id="a")
    made = memory.learnings.add("x", "domain_insight", evidence=a, applies_to=["t"])
    memory.learnings.add("y", "domain_insight", applies_to=["t"], user_id="b")
    memory.forget(a)
    assert memory.learnings.get(made.id).insight == "x"
    assert [e.id for e in memory.learnings.relevant(["t"], user_id="a")] == [made.id]
    assert len(memory.learnings.relevant(["t"])) == 2
