"""What others' code says of a message: it may fail in any way, and the log tells of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Detectors, Emotion, InvalidInputError, Memory, Reference
from tests.fakes import FakeEmbedder


class Scorer:
    def __init__(self, call: Callable[[str], Any]) -> None:
        self.call = call

    def score(
        self, text: str, *, role: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> float:
        value: float = self.call(text)
        return value


@pytest.mark.parametrize("call", [lambda _: 1 / 0, lambda _: 7.0, lambda _: "high"])
def test_a_scorer_that_fails_costs_a_fallback_and_no_message(call: Callable[[str], Any]) -> None:
    with spector.open(":memory:", importance=Scorer(call)) as memory:
        result = memory.observe("I live in Lima.")
        assert result.stored
        assert result.fallbacks == ("importance",)
    with spector.open(":memory:") as memory:
        assert memory.observe("I live in Lima.").units[0].importance == result.units[0].importance


def test_a_scorer_is_asked_with_no_lock_held() -> None:
    scorer = Scorer(lambda _: 0.7)
    with spector.open(":memory:", importance=scorer) as memory:
        scorer.call = lambda text: memory.remember("noted", importance=0.3).importance
        result = memory.observe("I live in Lima.")
        assert result.fallbacks == ()
        assert result.records[0].importance == pytest.approx(0.3, abs=1e-3)


class Nonsense:
    model_id = "nonsense-1"

    def complete(
        self,
        system: str,
        user: str,
        *,
        max_tokens: int = 512,
        temperature: float = 0.0,
        json: bool = False,
    ) -> str:
        return "not json"


def test_the_log_has_each_message_and_each_question_to_a_model(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with spector.open(":memory:", llm=Nonsense(), ops_log=log) as memory:
        memory.gate("I live in Lima.")
        memory.observe_many(
            [
                {"content": "I live in Quito.", "user_id": "ada"},
                {"content": "I own a canoe.", "user_id": "bora"},
            ],
            scopes_from_message=True,
        )
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [line["op"] for line in lines] == [
        "llm",
        "gate",
        "llm",
        "llm",
        "observe",
        "observe",
    ]
    asked = [line for line in lines if line["op"] == "llm"]
    assert all(
        (line["model"], line["success"], line["fallback"]) == ("nonsense-1", False, True)
        for line in asked
    )
    assert [line["input"].get("user_id") for line in lines[-2:]] == ["ada", "bora"]
    assert all(line["fallback"] and line["output"]["ids"] for line in lines[-2:])


# -- Detectors of the caller's own win over the rules, and one that fails costs a named fallback ---
#
# Mechanism: each stage asks its detector, checks the answer and goes back to the rules. Damage
# without it: a model that is down, or talks nonsense, loses a message. Guard: each detector right,
# raising, and with answers that cannot be.


TEXT = "Omar called Lena. She is flying to Kars with a violin."


class Resolver:
    def resolve(self, text: str, before: Sequence[str]) -> Sequence[Reference]:
        at = text.find("She")
        return [Reference("She", at, (("Lena", 0.99),), "Lena")] if at >= 0 else []


class Extractor:
    def entities(self, text: str) -> Sequence[tuple[str, str]]:
        return [(name, "thing") for name in ("violin", "Kars", "nowhere") if name in text]


class Feeler:
    def detect(self, text: str) -> Emotion:
        return Emotion(-0.5, 0.25, "sadness", ("violin",))


class Relater:
    def relate(self, text: str, others: Sequence[tuple[int, str]]) -> Mapping[int, Any]:
        return {each: ("causes", 0.5) for each, _ in others}


class NonsenseDetector:
    """Answers that cannot be."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def _said(self, *given: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    resolve = entities = detect = relate = classify = _said


def opened(**given: Any) -> Memory:
    return spector.open(":memory:", embedder=FakeEmbedder(dim=64), detectors=Detectors(**given))


def test_a_resolver_says_who_is_meant() -> None:
    with opened(references=Resolver()) as memory:
        result = memory.session("s", user_id="u").observe(TEXT)
        assert "She [Lena] is flying" in " ".join(each.text for each in result.records)
        assert result.fallbacks == ()


def test_an_extractor_names_what_stands_in_the_text() -> None:
    with opened(entities=Extractor()) as memory:
        result = memory.observe(TEXT, user_id="u")
        assert result.entities == ("entity://thing/violin", "entity://thing/kars")
        assert memory.entities.find("violin")
        assert not memory.entities.find("Omar")


def test_a_detector_says_how_a_message_feels() -> None:
    with opened(emotion=Feeler()) as memory:
        result = memory.observe("I got the job, I am so happy!", user_id="u")
        assert (result.emotion.valence, result.emotion.category) == (-0.5, "sadness")


def test_a_detector_relates_memories() -> None:
    with opened(relations=Relater()) as memory:
        one = memory.observe("Ada bought a boat in Kars.", user_id="u").records[0]
        other = memory.observe("Ada sails her boat in Kars on Sundays.", user_id="u")
        assert "causes" in {each.kind for unit in other.units for each in unit.edges}
        assert one.id in {each.target for unit in other.units for each in unit.edges} | {
            each.source for unit in other.units for each in unit.edges
        }


@pytest.mark.parametrize(
    ("stage", "answer"),
    [
        *(
            (stage, RuntimeError("down"))
            for stage in ("references", "entities", "emotion", "relations")
        ),
        ("references", [Reference("He", 3)]),
        ("references", 5),
        ("references", [Reference("She", 18, (), "a]b")]),
        ("entities", [("Kars", "planet")]),
        ("entities", [("Kars",)]),
        ("emotion", "sad"),
        ("emotion", Emotion(2.0, 0.1)),
        ("emotion", Emotion(float("nan"), 0)),
        ("relations", {7: ("causes", 0.5)}),
        ("relations", None),
    ],
)
def test_one_that_fails_costs_a_fallback_and_no_message(stage: str, answer: Any) -> None:
    with (
        opened(**{stage: NonsenseDetector(answer)}) as memory,
        spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as plain,
    ):
        results = []
        for each in (memory, plain):
            session = each.session("s", user_id="u")
            session.observe("Ada bought a boat in Kars.")
            results.append(session.observe(TEXT))
        failed, rules = results
        assert stage in failed.fallbacks
        assert [each.text for each in failed.records] == [each.text for each in rules.records]
        assert (failed.emotion, failed.entities) == (rules.emotion, rules.entities)


@pytest.mark.parametrize(
    ("answer", "intent", "fallback"),
    [
        ("causal", "causal", False),
        (RuntimeError("down"), "temporal", True),
        ("wishful", "temporal", True),
        (None, "temporal", True),
    ],
)
def test_a_classifier_says_what_a_cue_is_after_and_the_rules_where_it_fails(
    tmp_path: Path, answer: Any, intent: str, fallback: bool
) -> None:
    log = tmp_path / "log.jsonl"
    with spector.open(
        ":memory:",
        embedder=FakeEmbedder(dim=64),
        ops_log=log,
        detectors=Detectors(intent=NonsenseDetector(answer)),
    ) as memory:
        memory.remember("Ada bought a boat.")
        assert memory.recall("when did Ada buy the boat?", intent="auto")
    noted = {line["op"]: line for line in map(json.loads, log.read_text("utf-8").splitlines())}
    assert noted["recall"]["intent"] == intent
    assert noted["route"]["fallback"] is fallback


@pytest.mark.parametrize("given", [{"emotion": object()}, {"intent": Feeler}, {"entities": 3}])
def test_what_has_no_method_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(given))):
        opened(**given)
    with pytest.raises(InvalidInputError, match="Detectors"):
        spector.open(":memory:", embedder=None, detectors=Feeler())  # type: ignore[arg-type]


def test_an_organization_is_the_one_that_the_rules_know() -> None:
    """Two names of one type made two entities of one company."""

    class Names:
        def entities(self, text: str) -> Sequence[tuple[str, str]]:
            return [("Volvo", "organization")] if "Volvo" in text else []

    with opened() as memory:
        memory.observe("I work at Volvo.", user_id="u")
        (by_rules,) = memory.entities.find("Volvo", user_id="u")
    with opened(entities=Names()) as memory:
        memory.observe("The people at Volvo were kind to me yesterday.", user_id="u")
        memory.observe("I work at Volvo.", user_id="u")
        (found,) = memory.entities.find("Volvo", user_id="u")
    assert (found.name, found.type) == (by_rules.name, by_rules.type) == ("Volvo", "org")
