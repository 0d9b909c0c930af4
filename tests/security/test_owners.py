"""A message does not say whose it is: the call does.

Mechanism: every verb that takes messages compares the scopes in them with its own before anything
is stored. Damage without it: a client writes `user_id` into what it sends, and reads, changes or
supersedes what is another's. Guard: every verb, with a scope that differs, that is the same, and
that only the message has; lists whose last message is the bad one; files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidScopeError, Memory
from spector.importers import import_files
from tests.fakes import FakeEmbedder

SCOPES = ("user_id", "agent_id", "session_id")
Sending = Callable[..., Any]
#: verbs that take a message, with the scopes of the call and what else
VERBS: dict[str, Sending] = {
    "remember": lambda m, message, **call: m.remember(message, **call),
    "remember_many": lambda m, message, **call: m.remember_many(["hm", message], **call),
    "remember_many of an iterator": lambda m, message, **call: m.remember_many(
        iter([message]), **call
    ),
    "observe": lambda m, message, **call: m.observe(message, **call),
    "observe_many": lambda m, message, **call: m.observe_many(["I row.", message], **call),
}


def opened() -> Memory:
    return spector.open(":memory:", embedder=FakeEmbedder(16))


def says(**scopes: str) -> dict[str, str]:
    return {"role": "user", "content": "I live in Turku.", **scopes}


def refused(memory: Memory, send: Sending, message: Any, **call: Any) -> str:
    before = [each.to_dict() for each in memory]
    with pytest.raises(InvalidScopeError) as caught:
        send(memory, message, **call)
    assert [each.to_dict() for each in memory] == before
    return str(caught.value)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("verb", VERBS)
def test_a_message_of_another_scope_is_refused_and_changes_nothing(verb: str, scope: str) -> None:
    send = VERBS[verb]
    with opened() as memory:
        memory.observe("I live in Oulu.", **{scope: "dora"})
        refused(memory, send, says(**{scope: "dora"}), **{scope: "emil"})
        refused(memory, send, says(**{scope: "dora"}), **{scope: "emil"}, scopes_from_message=True)
        assert "scopes_from_message=True" in refused(memory, send, says(**{scope: "dora"}))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("verb", VERBS)
def test_the_scope_of_the_call_may_stand_in_the_message(verb: str, scope: str) -> None:
    with opened() as memory:
        VERBS[verb](memory, says(**{scope: "dora"}), **{scope: "dora"})
        assert {getattr(each, scope) for each in memory if not each.payload} == {"dora"}


@pytest.mark.parametrize("verb", VERBS)
def test_a_message_fills_what_the_call_leaves_open_only_where_it_may(verb: str) -> None:
    with opened() as memory:
        VERBS[verb](memory, says(user_id="dora"), agent_id="bot", scopes_from_message=True)
        found = next(each for each in memory if "I live in Turku" in each.text)
        assert (found.user_id, found.agent_id) == ("dora", "bot")


def test_items_that_the_caller_wrote_have_scopes_of_their_own() -> None:
    items = [{"text": f"line {n}", "user_id": user} for n, user in enumerate(("dora", "emil"))]
    with opened() as memory:
        memory.remember_many(items, session_id="s")
        assert [each.user_id for each in memory] == ["dora", "emil"]
        refused(memory, VERBS["remember_many"], items[0], user_id="emil")


def test_of_a_list_nothing_is_stored_however_far_down_the_message_stands() -> None:
    config = spector.Config(batch_records=2, observe=spector.ObserveConfig(batch=2))
    many = [f"I own boat number {n}." for n in range(7)]
    with spector.open(":memory:", embedder=FakeEmbedder(16), config=config) as memory:
        for send in (memory.remember_many, memory.observe_many):
            with pytest.raises(InvalidScopeError):
                send([*many, says(user_id="dora")], user_id="emil")
        assert len(memory) == 0


@pytest.mark.parametrize("verb", ["observe", "remember"])
@pytest.mark.parametrize("user", ["emil", None])
def test_a_session_takes_no_owner_from_a_message(verb: str, user: str | None) -> None:
    with opened() as memory:
        memory.observe("I live in Oulu.", user_id="dora")
        with memory.session("chat", user_id=user) as session:
            send = getattr(session, verb)
            refused(memory, lambda _, message: send(message), says(user_id="dora"))
            refused(memory, lambda _, message: send(message), says(session_id="other"))
            refused(memory, lambda _, message: send(message, scopes_from_message=True), says())
            assert session.sensory.size == 0
            assert send(says(session_id="chat"))


def test_a_file_does_not_say_whose_its_messages_are(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    lines = [{"role": "user", "content": "I row."}, says(user_id="dora", session_id="one")]
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    with opened() as memory:
        refused(memory, lambda *_, **call: import_files(memory, file, **call), {}, user_id="emil")
        report = import_files(memory, file)
        assert [each.user_id for each in memory] == [None, None]
        assert any("scopes_from_message=True" in each for each in report.files[0].notes)
        assert import_files(memory, file, user_id="emil", skip_bad=True).stored == 1
        assert import_files(memory, file, scopes_from_message=True, agent_id="bot").stored == 2
        taken = [(each.user_id, each.agent_id, each.session_id) for each in memory][-2:]
        assert taken == [(None, "bot", None), ("dora", "bot", "one")]
