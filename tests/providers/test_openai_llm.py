"""A chat model reads statements; whatever goes wrong with it, the rules read them instead.

Mechanism: the real openai client against a local server. Damage without it: a lost message because
a model was slow, a fact that no words of the text state, a key in a log. Guard: each failure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Fact, InvalidInputError, LLMError, LLMFactExtractor, OpenAILLM
from tests.cases import Cases
from tests.fakes import FakeEmbedder
from tests.providers.wire import Body, Reply, WireServer

cases = Cases(__file__)

TEXT = "I live in Kars. I hate tea."
FACTS = cases.rows("FACTS")


class ChatServer(WireServer):
    """Answers every chat request with ``answer``."""

    answer = json.dumps({"facts": FACTS})
    ended = "stop"

    def _correct(self, body: Body) -> Body:
        message = {"role": "assistant", "content": self.answer}
        choice = {"index": 0, "message": message, "finish_reason": self.ended}
        return {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [choice],
        }


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def llm(server: ChatServer, **options: Any) -> OpenAILLM:
    given = {"api_key": "sk-test", "base_url": server.url, "sleep": lambda s: None} | options
    return OpenAILLM("tiny", **given)


def test_an_answer_on_the_wire(server: ChatServer) -> None:
    server.answer = "hello"
    assert llm(server).complete("be brief", "hi", max_tokens=9, json=True) == "hello"
    (body,) = server.requests
    assert body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
    ]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("tiny", 9, 0.0)
    assert body["response_format"] == {"type": "json_object"}
    assert server.headers[0]["authorization"] == "Bearer sk-test"


def test_facts_quote_the_text_and_come_in_its_order(server: ChatServer) -> None:
    found = LLMFactExtractor(llm(server)).extract(TEXT)
    assert found == [
        Fact("user", "lives_in", "Kars", 0.8, True, span=(0, 14)),
        Fact("user", "hates", "tea", 0.9, True, span=(16, 26)),
    ]
    asked = server.requests[0]["messages"][1]["content"]
    assert json.loads(asked) == TEXT


FAILURES = {
    "server error": Reply(status=500, body={"error": {"message": "down"}}),
    "rate limit": Reply(status=429, body={"error": {"message": "slow down"}}),
    "bad key": Reply(status=401, body={"error": {"message": "bad key sk-test"}}),
    "lost connection": Reply(hang_up=True),
    "no JSON": Reply(raw=b"<html>"),
    "no choices": Reply(body={"id": "c", "object": "chat.completion", "choices": []}),
    "silence": Reply(hold=True),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_costs_a_fallback_and_no_message(
    server: ChatServer, tmp_path: Path, name: str
) -> None:
    model = llm(server, timeout_s=0.3)
    server.script = [FAILURES[name]] * 2
    with pytest.raises(LLMError) as raised:
        model.complete("system", "user")
    assert "sk-test" not in str(raised.value)
    assert raised.value.hint
    server.script = [FAILURES[name]] * 2
    with spector.open(tmp_path / "m", embedder=FakeEmbedder(), llm=model) as memory:
        report = memory.facts.learn(memory.remember(TEXT))
        assert (report.fallback, report.fallbacks) == (True, 1)
        assert ("user", "lives_in", "Kars") in [
            (each.subject, each.predicate, each.object) for each in report.facts
        ]


@pytest.mark.parametrize(
    "answer",
    [
        "not json",
        "[]",
        "{}",
        '{"facts": 3}',
        '{"facts": [3]}',
        "  ",
        json.dumps({"facts": [FACTS[0] | {"confidence": 2}]}),
        json.dumps({"facts": [FACTS[0] | {"object": "x" * 1001}]}),
        json.dumps({"facts": [FACTS[0] | {"polarity": "no"}]}),
        json.dumps({"facts": [FACTS[0]] * 51}),
        "[" * 100_000,
    ],
)
def test_nonsense_costs_a_fallback(server: ChatServer, tmp_path: Path, answer: str) -> None:
    server.answer = answer
    with pytest.raises(LLMError):
        LLMFactExtractor(llm(server)).extract(TEXT)
    with spector.open(tmp_path / "m", embedder=FakeEmbedder(), llm=llm(server)) as memory:
        assert memory.facts.learn(memory.remember(TEXT)).fallback


def test_an_answer_that_was_cut_off_is_none(server: ChatServer) -> None:
    server.ended = "length"
    with pytest.raises(LLMError, match="no complete text"):
        llm(server).complete("system", "user")


def test_what_a_model_finds_is_kept_with_its_confidence(server: ChatServer, tmp_path: Path) -> None:
    with spector.open(tmp_path / "m", embedder=FakeEmbedder(), llm=llm(server)) as memory:
        report = memory.facts.learn(memory.remember(TEXT))
        assert not report.fallback
        assert {(each.predicate, each.confidence) for each in report.facts} == {
            ("lives_in", 0.8),
            ("hates", 0.9),
        }
        assert [each.predicate for each in memory.facts.extract(TEXT)] == ["lives_in", "hates"]


class Extractor:
    """Finds what it is made with."""

    def __init__(self, *facts: Fact) -> None:
        self.facts = facts

    def extract(self, text: str) -> list[Fact]:
        return list(self.facts)


def test_an_extractor_wins_over_a_model_and_is_checked(tmp_path: Path) -> None:
    good = Extractor(Fact("Ada", "owns", "a boat", 0.7))
    with spector.open(
        tmp_path / "a", embedder=FakeEmbedder(), llm="openai:tiny", fact_extractor=good
    ) as memory:
        (fact,) = memory.facts.learn(memory.remember("Look at that boat.")).facts
        assert (fact.subject, fact.predicate, fact.confidence) == ("Ada", "owns", 0.7)
    for bad in (Fact("", "owns", "x"), Fact("a", "b", "c", 7.0), Fact("a", "b", "c", span=(3, 1))):
        with spector.open(
            tmp_path / f"{bad!r:.30}".replace("/", ""),
            embedder=FakeEmbedder(),
            fact_extractor=Extractor(bad),
        ) as memory:
            assert memory.facts.learn(memory.remember("Look at that boat.")).fallback


@pytest.mark.parametrize(
    "given",
    [{"llm": "gpt"}, {"llm": 3}, {"llm": "openai: "}, {"llm": OpenAILLM}, {"fact_extractor": 3}],
)
def test_what_is_no_model_is_refused(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(given))):
        spector.open(tmp_path / "m", embedder=FakeEmbedder(), **given)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("options", [{"model": " "}, {"timeout_s": 0}, {"max_retries": -1}])
def test_arguments_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        OpenAILLM(**options)


def test_a_failing_model_that_recovers_is_asked_again(server: ChatServer) -> None:
    server.script = [FAILURES["server error"]]
    assert json.loads(llm(server).complete("system", "user"))["facts"]
    assert len(server.requests) == 2
