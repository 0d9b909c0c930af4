"""Fields of knowledge and of the chat model act in sleep, in layers and in recall.

Mechanism: one store for each value; nothing else differs. Damage without it: a limit that holds
for calls by hand and not at night, a model that is never asked. Guard: the number that the value
says, the default beside it, and answers of a model that are nonsense.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import spector
from spector import Config, LLMConfig, ManualClock, Memory
from spector.errors import LLMError
from tests.conftest import NOW
from tests.fakes import FakeEmbedder
from tests.sleep.nights import themes_in


def config(**sections: Any) -> Config:
    return Config.preset("spector", **sections)


# -- the model of recall ----------------------------------------------------------------------


class Router:
    """A model that answers every question alike."""

    model_id = "router"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    def complete(
        self,
        system: str,
        user: str,
        *,
        max_tokens: int = 512,
        temperature: float = 0.0,
        json: bool = False,
    ) -> str:
        self.asked.append((system, user))
        if isinstance(self.answer, Exception):
            raise self.answer
        return str(self.answer)


def routed(model: Router, **fields: Any) -> tuple[Memory, Any]:
    memory = spector.open(
        ":memory:",
        embedder=FakeEmbedder(),
        clock=ManualClock(NOW),
        llm=model,
        config=Config(llm=LLMConfig(**fields)),
    )
    memory.remember_many([f"the river rose {n}" for n in range(30)])
    return memory, memory.recall('the "river" rose', intent="auto").request


def test_a_model_is_asked_for_the_intent_where_that_is_configured() -> None:
    model = Router('{"intent": "causal"}')
    memory, request = routed(model, route=True)
    with memory:
        assert request.intent == "causal"
        assert json.loads(model.asked[-1][1]) == 'the "river" rose'
        assert len(memory.recall("the river rose", intent="auto")) == 20
        asked = len(model.asked)
        assert memory.recall("the river rose", intent="temporal").request.intent == "temporal"
        memory.recall("the river rose")
        assert len(model.asked) == asked
    model = Router('{"intent": "causal"}')
    memory, request = routed(model)
    with memory:
        assert (request.intent, model.asked) == ("general", [])


@pytest.mark.parametrize(
    "answer",
    ["not json", '{"intent": "gossip"}', '{"intent": 7}', "[]", LLMError("no", hint="x")],
    ids=str,
)
def test_a_model_that_names_no_intent_leaves_it_to_the_words(answer: Any) -> None:
    memory, request = routed(Router(answer), route=True)
    with memory:
        assert request.intent == "general"
        assert memory.stats()["cognition"]["llm"] == {"calls": 1, "failures": 1}


# -- the model of sleep -----------------------------------------------------------------------


def habits(model: Any, **fields: Any) -> tuple[list[str], list[str]]:
    """What a night makes of a theme and a long text: tasks that were asked for, and the words."""
    clock = ManualClock(NOW)
    with spector.open(
        ":memory:",
        embedder=FakeEmbedder(),
        clock=clock,
        llm=model,
        config=config(llm=fields, sleep={"max_llm_calls": 20}),
    ) as memory:
        long = memory.remember("It rained on the hill all day. " * 60, importance=0.9, user_id="u")
        for day in range(3):
            source = memory.remember(f"I had coffee, day {day}", user_id="u", session_id="s")
            memory.facts.add("user", "drinks", "coffee", source=source)
            clock.advance(days=1)
        memory.reflect(["compress", "consolidate"])
        asked = [
            "consolidation" if "in common" in system else "summaries" for system, _ in model.asked
        ]
        assert memory.check().ok
        return asked, [memory.get(long.id).summary or "", *(r.text for r in themes_in(memory))]


def test_sleep_asks_a_model_for_the_tasks_that_are_configured() -> None:
    answer = '{"text": "Tea and coffee."}'
    asked, made = habits(Router(answer))
    assert asked == ["summaries", "consolidation"]
    assert made == ["Tea and coffee.", "Tea and coffee."]
    asked, made = habits(Router(answer), tasks=("consolidation",))
    assert asked == ["consolidation"]
    assert made.count("Tea and coffee.") == 1
    asked, made = habits(Router(answer), tasks=())
    assert (asked, "Tea and coffee." in made) == ([], False)


@pytest.mark.parametrize(
    "answer",
    [
        "not json",
        '{"text": 7}',
        '{"text": ""}',
        '{"text": "Tea at 4711."}',
        "[]",
        OSError("down"),
        '{"text": "' + "tea " * 2000 + '"}',
    ],
    ids=lambda each: str(each)[:20],
)
def test_a_model_that_answers_nonsense_leaves_the_night_to_the_rules(answer: Any) -> None:
    assert habits(Router(answer))[1] == habits(Router("x"), tasks=())[1]


def test_a_question_of_sleep_is_as_long_as_configured() -> None:
    model = Router('{"text": "Tea."}')
    habits(model, max_input_chars=120)
    assert model.asked
    assert max(len(user) for _, user in model.asked) <= 120
    assert all(json.loads(user) for _, user in model.asked)
    assert habits(Router('{"text": "Tea."}'), max_input_chars=5)[0] == []


# -- languages --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("languages", "text", "kind"),
    [
        (("en", "tr"), "Çay içmeyi tercih ederim.", "preference"),
        (("tr",), "Çay içmeyi tercih ederim.", "preference"),
        (("en", "tr"), "I prefer tea in the morning.", "preference"),
        (("en",), "I prefer tea in the morning.", "preference"),
    ],
)
def test_a_message_is_read_in_the_languages_that_are_configured(
    languages: tuple[str, ...], text: str, kind: str
) -> None:
    def kind_in(chosen: tuple[str, ...]) -> str:
        with spector.open(
            ":memory:",
            embedder=FakeEmbedder(),
            clock=ManualClock(NOW),
            config=config(observe={"language": chosen}),
        ) as memory:
            return memory.observe(text, force=True, dry_run=True).kind

    assert kind_in(languages) == kind
    other = ("en",) if "Ç" in text else ("tr",)
    assert kind_in(other) != kind
