"""Learnings: surer when they held, less sure when they misled, found by what they apply to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import spector
from spector import InvalidInputError, Memory, StoreReadOnlyError, UnknownRecordError
from spector.records import LearningType
from tests.fakes import FakeEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        yield memory


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


@pytest.mark.parametrize(
    ("start", "outcomes", "end"),
    [
        (0.5, "S", 0.6),
        (0.5, "SF", 0.45),
        (0.5, "F", 0.35),
        (0.95, "S", 1.0),
        (0.1, "F", 0.0),
        (0.7, "SSS", 1.0),
        (0.6, "FS", 0.55),
    ],
)
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
        (lambda: memory.learnings.add("x", "domain_insight", evidence=[a, b]), "several users"),
        (lambda: memory.learnings.add("x", "domain_insight", confidence=1.1), "confidence"),
        (lambda: memory.learnings.add("x", "domain_insight", impact=float("nan")), "impact"),
        (lambda: memory.learnings.add("x", "domain_insight", applies_to=["\u0301"]), "applies_to"),
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


def test_readers_read(memory: Memory, tmp_path: Path) -> None:
    made = memory.learnings.add("x", "domain_insight", applies_to=["t"])
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r") as reader:
        assert [each.id for each in reader.learnings.relevant(["t"])] == [made.id]
        for change in (
            lambda: reader.learnings.add("x", "domain_insight"),
            lambda: reader.learnings.apply(made.id),
            lambda: reader.learnings.validate(made.id, True),
        ):
            with pytest.raises(StoreReadOnlyError):
                change()
