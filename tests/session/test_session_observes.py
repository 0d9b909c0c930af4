"""What a session does when it observes: its state feeds the steps, and they feed its state."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import spector
from spector.clock import ManualClock
from spector.errors import InvalidInputError, InvalidScopeError, SessionClosedError
from spector.knowledge import KnowledgeReader
from tests.conftest import NOW
from tests.fakes import FakeEmbedder


def test_a_session_observes_in_its_scopes(memory: spector.Memory) -> None:
    session = memory.session("s", user_id="u", agent_id="a")
    result = session.observe({"role": "user", "content": "I moved to Kars last year."})
    assert result.stored
    record = result.records[0]
    assert (record.user_id, record.agent_id, record.session_id) == ("u", "a", "s")
    assert session.sensory.total_ingested == 1
    assert record.id in [entry.id for entry in session.buffer.entries]
    assert session.stats()["observed"] == 1
    with pytest.raises(InvalidScopeError):
        session.observe("I moved to Kars.", user_id="v")


def test_memory_observe_uses_the_state_of_the_session(memory: spector.Memory) -> None:
    memory.observe("I moved to Kars last year.", user_id="u", session_id="s")
    session = memory.session("s", user_id="u")
    assert session.sensory.total_ingested == 1
    memory.observe("I moved to Izmir last week.", user_id="v", session_id="s")
    assert session.sensory.total_ingested == 1


def test_what_a_context_quoted_is_not_observed_again(memory: spector.Memory) -> None:
    session = memory.session("s", user_id="u")
    session.observe({"role": "user", "content": "I moved to Kars last year."})
    quoted = session.context("Where did I move to?", always=True)
    assert "Kars" in quoted.text
    line = next(each for each in quoted.text.splitlines() if "Kars" in each)
    for text in (line, "I moved to Kars last year."):
        result = session.observe({"role": "assistant", "content": text})
        assert (result.stored, result.filter) == (False, "echo"), text
    assert not session.observe({"role": "assistant", "content": quoted.text}).stored
    other = memory.session("t", user_id="u")
    assert other.observe({"role": "user", "content": "I moved to Kars last year."}).filter is None


@pytest.mark.parametrize(
    "text", ["Tomorrow Pablo flies to Quito with Mia.", "Yarın Pablo ile Quito'ya uçuyorum."]
)
def test_the_same_words_of_another_day_are_no_echo(clock: ManualClock, text: str) -> None:
    with spector.open(":memory:", clock=clock) as memory:
        session = memory.session("s")
        session.observe(text)
        assert "Pablo" in session.context(text, always=True).text
        assert session.observe(text).filter == "echo"
        clock.advance(days=1)
        assert session.observe(text).filter is None, "tomorrow is another day by now"


def test_using_a_session_keeps_it_alive(memory: spector.Memory, clock: ManualClock) -> None:
    session = memory.session("s", user_id="u")
    for _ in range(3):
        clock.advance(hours=3)
        memory.observe("I moved to Kars last year.", user_id="u", session_id="s")
    assert memory.sessions() == [session]


def test_an_outcome_is_an_episode(memory: spector.Memory) -> None:
    session = memory.session("s", user_id="u", agent_id="a")
    record = session.outcome("grasp", False, goal="hold_mug", confidence=0.8, objects=["mug"])
    assert record.text == "grasp failed for hold_mug with mug"
    assert (record.tier, record.user_id, record.session_id) == ("episodic", "u", "s")
    assert record.data_source == "tool"
    episode = memory.layers["episodes"].episode(record.id)
    assert (episode.tool, episode.success, episode.goal) == ("grasp", False, "hold_mug")
    assert (episode.decision_confidence, episode.objects) == (0.8, ("mug",))
    assert session.outcome("grasp", True).text == "grasp succeeded"
    assert record.id in [entry.id for entry in session.buffer.entries]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"tool": ""}, "tool"),
        ({"tool": 5}, "tool"),
        ({"tool": "x", "goal": " "}, "goal"),
        ({"tool": "x", "confidence": 2}, "confidence"),
        ({"tool": "x", "objects": 5}, "objects"),
        ({"tool": "x", "success": "yes"}, "success"),
    ],
)
def test_an_outcome_that_is_none_is_refused(
    memory: spector.Memory, arguments: dict[str, object], named: str
) -> None:
    with pytest.raises(InvalidInputError, match=named):
        memory.session("s").outcome(**{"success": True, **arguments})  # type: ignore[arg-type]
    assert len(memory) == 0


def test_after_the_end_nothing_is_observed(memory: spector.Memory) -> None:
    session = memory.session("s")
    session.end()
    for call in (lambda: session.observe("I moved to Kars."), lambda: session.outcome("x", True)):
        with pytest.raises(SessionClosedError):
            call()


def test_the_log_says_what_was_observed_and_what_sleep_did(store_path: Path) -> None:
    with spector.open(
        store_path, embedder=FakeEmbedder(), clock=ManualClock(NOW), ops_log=True
    ) as memory:
        session = memory.session("s", user_id="u")
        record = session.observe({"role": "user", "content": "I moved to Kars."}).records[0]
        session.observe("thanks!")
        memory.reflect("decay")
    lines = [
        json.loads(line)
        for line in (store_path / "ops-log.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [line["op"] for line in lines] == ["observe", "observe", "decay", "reflect"]
    stored, stopped, decay, cycle = lines
    assert stored["input"] == {"user_id": "u", "session_id": "s", "chars": 16}
    assert (stored["output"]["ids"], stored["output"]["actions"]) == ([record.id], ["create"])
    assert (stopped["output"]["ids"], stopped["output"]["filter"]) == ([], "small_talk")
    assert decay["output"]["changed"] >= 0
    assert cycle["output"]["steps"] == ["decay"]
    assert "Kars" not in (store_path / "ops-log.jsonl").read_text(encoding="utf-8")


@pytest.mark.slow
def test_two_users_observe_a_thousand_messages_at_once_and_share_nothing(
    store_path: Path,
) -> None:
    """1,000 messages each in two threads: no part of one session names a memory of the other."""
    with spector.open(store_path, embedder=FakeEmbedder(), clock=ManualClock(NOW)) as memory:
        sessions = {user: memory.session("s", user_id=user) for user in ("ada", "bob")}
        failures: list[BaseException] = []

        def talk(user: str) -> None:
            try:
                for n in range(1000):
                    text = f"{user} moved to town number {n} and was {'happy' if n % 2 else 'sad'}."
                    sessions[user].observe({"role": "user", "content": text})
                    if n % 100 == 0:
                        sessions[user].recall("town number")
                        sessions[user].context("town number")
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=talk, args=(user,)) for user in sessions]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert failures == []
        own = {user: {each.id for each in memory.records(user_id=user)} for user in sessions}
        for user, session in sessions.items():
            other = own["bob" if user == "ada" else "ada"]
            named = {tag.memory_id for tag in session.tags}
            named |= {each.id for each in session.buffer.entries if each.id is not None}
            named |= {each.item_id for each in session.zones.items("staging")}
            assert named
            assert not named & other
            assert all(user in each.content for each in session.sensory.drain())
        with memory._parts.store.catalog.latest() as db:
            pairs = KnowledgeReader(db, memory._parts.store.catalog.path).links("pair")
        assert pairs
        assert all(
            {row["a"], row["b"]} <= own["ada"] or {row["a"], row["b"]} <= own["bob"]
            for row in pairs
        )


def test_a_session_keeps_its_own_vectors_and_not_those_of_its_batch() -> None:
    """A view of one row would keep the vectors of all 256 messages of a batch alive."""
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=ManualClock(NOW)) as memory:
        memory.observe_many(
            [f"Shelf {n} holds an atlas of Kars." for n in range(20)], user_id="u", session_id="s"
        )
        state = memory.session("s", user_id="u").state
        held = state.attention_vectors
        assert held
        assert all(each.base is None for each in state._messages)
