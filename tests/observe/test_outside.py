"""What others' code says of a message: it may fail in any way, and the log tells of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import spector


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
        "formation",
        "gate",
        "formation",
        "formation",
        "observe",
        "observe",
    ]
    asked = [line for line in lines if line["op"] == "formation"]
    assert all(
        (line["model"], line["success"], line["fallback"]) == ("nonsense-1", False, True)
        for line in asked
    )
    assert [line["input"].get("user_id") for line in lines[-2:]] == ["ada", "bora"]
    assert all(line["fallback"] and line["output"]["ids"] for line in lines[-2:])
