"""A session: its verbs, its walls, and what its end keeps.

Damage without it: a conversation that recalls another user's memories, entries that vanish because
the code around them failed, a session that goes on after its memory was closed.
"""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path

import pytest

import spector
from spector.clock import ManualClock
from spector.errors import (
    InvalidInputError,
    InvalidScopeError,
    SessionClosedError,
    StoreClosedError,
    StoreReadOnlyError,
)
from tests.cases import Cases
from tests.conftest import NOW
from tests.fakes import FailingEmbedder, FakeEmbedder
from tests.threads import at_once

cases = Cases(__file__)


def texts(memory: spector.Memory) -> list[str]:
    return [record.text for record in memory.records()]


# -- keys ------------------------------------------------------------------------------------------


def test_the_same_key_is_the_same_session_and_another_is_not(memory: spector.Memory) -> None:
    one = memory.session("s", user_id="u", agent_id="a")
    assert memory.session("s", user_id="u", agent_id="a") is one
    others = [
        memory.session("s"),
        memory.session("s", user_id="u"),
        memory.session("s", agent_id="a"),
        memory.session("t", user_id="u", agent_id="a"),
    ]
    assert len({id(each) for each in (one, *others)}) == 5
    assert memory.sessions() == [one, *others]
    one.zones.add("x", "text", "active", 0.5)
    assert all(len(each.zones) == 0 for each in others)


def test_what_a_session_knows_outlives_the_object(memory: spector.Memory) -> None:
    memory.session("s").zones.add("x", "text", "active", 0.5)
    gc.collect()
    assert memory.session("s").zones.render() == "text"


def test_without_an_id_one_is_made(memory: spector.Memory) -> None:
    one, two = memory.session(), memory.session()
    assert one.id != two.id
    assert len(one.id) == 32
    assert int(one.id, 16) >= 0


@pytest.mark.parametrize("scope", ["", 5, "a\0b", "x" * 300])
def test_a_scope_that_is_none_is_refused(memory: spector.Memory, scope: str) -> None:
    with pytest.raises(InvalidScopeError, match="user_id"):
        memory.session("s", user_id=scope)
    with pytest.raises(InvalidScopeError, match="session_id"):
        memory.session(scope)


# -- verbs -----------------------------------------------------------------------------------------


def test_what_is_remembered_has_the_scopes_of_the_session(memory: spector.Memory) -> None:
    session = memory.session("s", user_id="u", agent_id="a")
    record = session.remember({"role": "user", "content": "Ada moved to Kars."})
    assert (record.user_id, record.agent_id, record.session_id) == ("u", "a", "s")
    assert [each.content for each in session.sensory.drain()] == ["Ada moved to Kars."]
    assert [each.id for each in session.buffer.entries] == [record.id]
    with pytest.raises(InvalidScopeError, match="user_id is 'v', and the session's is 'u'"):
        session.remember("Bob moved to Izmir.", user_id="v")
    assert texts(memory) == ["Ada moved to Kars."]


def test_a_session_recalls_the_user_across_sessions_and_agents(memory: spector.Memory) -> None:
    with memory.session("before", user_id="u", agent_id="one") as earlier:
        earlier.remember("Ada moved to Kars.")
    memory.remember("Ada moved to Izmir.", user_id="v")
    session = memory.session("now", user_id="u", agent_id="two")
    assert [hit.text for hit in session.recall("Ada moved")] == ["Ada moved to Kars."]
    assert "Kars" in session.context("Ada moved", always=True).text
    assert session.recall("Ada moved", agent_id="two") == []
    assert session.recall("Ada moved", session_id="now") == []
    with pytest.raises(InvalidScopeError, match="the session's is 'u'"):
        session.recall("Ada moved", user_id="v")
    with pytest.raises(InvalidScopeError, match="the session's is 'u'"):
        session.context("Ada moved", user_id="v")


def test_a_recall_strengthens_unless_told_otherwise(
    memory: spector.Memory, clock: ManualClock
) -> None:
    session = memory.session("s", user_id="u")
    record = session.remember("Ada moved to Kars.")
    clock.advance(hours=1)
    session.recall("Ada", learn=False)
    assert memory.get(record.id) == record
    session.recall("Ada")
    used = memory.get(record.id)
    assert used.access_count == 1
    assert (used.last_access - record.last_access).total_seconds() == 3600


def test_the_best_three_enter_staging_as_quoted_lines(memory: spector.Memory) -> None:
    session = memory.session("s", user_id="u")
    for n in range(5):
        session.remember(f'Ada said "{n}"\nand left.', importance=0.1 * n + 0.5)
    hits = session.recall("Ada said")
    staged = session.zones.items("staging")
    assert {each.item_id for each in staged} == {hit.id for hit in hits[:3]}
    assert {each.importance for each in staged} == {hit.importance for hit in hits[:3]}
    lines = session.zones.render().splitlines()
    assert len(lines) == 3
    assert all(each.startswith("- ") and "\\n" in each for each in lines)
    session.zones.clear("staging")
    session.recall("Ada said", stage=0)
    assert session.zones.render() == ""
    session.recall("Ada said", stage=1)
    assert len(session.zones.items("staging")) == 1


def test_staging_leaves_other_zones_alone_and_cuts_what_is_long(memory: spector.Memory) -> None:
    session = memory.session("s", user_id="u", tokenizer=len)
    record = session.remember("Ada moved. " + "Much happened then. " * 100)
    session.recall("Ada moved")
    (line,) = session.zones.items("staging")
    assert line.tokens <= 512
    assert "Ada moved" in line.content
    session.zones.add(record.id, "mine", "active", 0.5)
    session.recall("Ada moved")
    assert session.zones.render() == "mine"


def test_the_buffer_counts_what_comes_to_mind_again(memory: spector.Memory) -> None:
    record = memory.remember("Ada moved to Kars.", user_id="u")
    session = memory.session("s", user_id="u")
    session.recall("Ada")
    session.recall("Ada")
    session.context("Ada", always=True)
    (entry,) = session.buffer.entries
    assert (entry.id, entry.access_count) == (record.id, 2)


def test_a_new_session_keeps_system_and_begins_empty(memory: spector.Memory) -> None:
    session = memory.session("s", user_id="u", agent_id="a")
    session.zones.add("rule", "be brief", "system", 1.0)
    session.zones.add("note", "note", "active", 1.0)
    session.remember("Ada moved to Kars.")
    session.recall("Ada")
    following = session.new()
    assert session.is_ended
    assert (following.user_id, following.agent_id) == ("u", "a")
    assert following.id != session.id
    assert following.zones.render() == "be brief"
    assert following.buffer.entries == ()
    assert following.sensory.size == 0
    assert memory.sessions() == [following]


# -- the end ---------------------------------------------------------------------------------------


def test_what_mattered_is_kept_though_the_body_raised(memory: spector.Memory) -> None:
    with pytest.raises(ValueError, match="mine"), memory.session("s", user_id="u") as session:  # noqa: PT012
        session.buffer.add(None, "Ada moved to Kars", importance=0.7)
        session.buffer.add(None, "it rained", importance=0.2)
        raise ValueError("mine")
    (record,) = memory.records()
    assert (record.text, record.tier, record.session_id) == ("Ada moved to Kars", "episodic", "s")
    assert record.user_id == "u"
    assert record.importance == pytest.approx(0.7)
    report = session.end()
    assert report.promoted == (record.id,)
    assert report.dropped == 1
    assert session.end() is report
    assert session.buffer.entries == ()


def test_a_working_memory_that_mattered_becomes_episodic(
    memory: spector.Memory, clock: ManualClock
) -> None:
    session = memory.session("s", user_id="u")
    kept = session.remember(
        "Ada moved to Kars.",
        tier="working",
        importance=0.7,
        tags=["move"],
        metadata={"a": 1},
        role="user",
    )
    session.remember("It rained.", tier="working", importance=0.2)
    clock.advance(hours=1)
    report = session.end()
    (record,) = [each for each in memory.records() if each.tier == "episodic"]
    assert report.promoted == (record.id,)
    assert report.dropped == 1
    assert (record.tags, dict(record.metadata), record.role) == (("move",), {"a": 1}, "user")
    assert record.event_time == kept.event_time
    assert record.session_id == "s"
    assert kept.id not in memory


def test_memories_that_last_are_neither_kept_again_nor_dropped(memory: spector.Memory) -> None:
    session = memory.session("s")
    session.remember("Ada moved to Kars.", importance=0.9)
    session.recall("Ada")
    report = session.end()
    assert (report.promoted, report.dropped) == ((), 0)
    assert texts(memory) == ["Ada moved to Kars."]


def test_after_the_end_verbs_raise(memory: spector.Memory) -> None:
    session = memory.session("s")
    session.end()
    for call in (
        lambda: session.remember("x y"),
        lambda: session.recall("x"),
        lambda: session.context("x"),
        lambda: session.observe("I moved to Kars."),
        lambda: session.outcome("x", True),
        session.new,
    ):
        with pytest.raises(SessionClosedError, match="session 's' has ended") as caught:
            call()
        assert "memory.session" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)
    assert memory.session("s") is not session


def test_closing_the_memory_ends_its_sessions(store_path: Path) -> None:
    memory = spector.open(store_path, embedder=FakeEmbedder())
    session = memory.session("s", user_id="u")
    session.buffer.add(None, "Ada moved to Kars", importance=0.7)
    memory.close()
    assert session.is_ended
    with pytest.raises(SessionClosedError):
        session.recall("Ada")
    with pytest.raises(StoreClosedError):
        memory.session("s")
    with spector.open(store_path, embedder=FakeEmbedder()) as again:
        assert texts(again) == ["Ada moved to Kars"]
        assert again.sessions() == []


def test_an_idle_session_ends_and_keeps_what_mattered(
    memory: spector.Memory, clock: ManualClock
) -> None:
    idle, live = memory.session("idle"), memory.session("live")
    idle.buffer.add(None, "Ada moved to Kars", importance=0.7)
    clock.advance(hours=3)
    live.remember("It rained.")
    clock.advance(hours=1)
    assert memory.sessions() == [live]
    assert idle.is_ended
    assert sorted(texts(memory)) == ["Ada moved to Kars", "It rained."]
    clock.advance(hours=4)
    assert memory.session("live") is not live


def test_an_entry_that_cannot_be_kept_spares_the_others(store_path: Path) -> None:
    with spector.open(store_path, embedder=FakeEmbedder()) as memory:
        session = memory.session("s")
        session.buffer.add(None, "!" * 2_000_000, importance=0.7)
        session.buffer.add(None, "   ", importance=0.7)
        session.buffer.add(None, "Ada moved to Kars", importance=0.7)
        with pytest.raises(spector.SpectorError) as caught:
            session.end()
        assert "could not keep" in "".join(caught.value.__notes__)
        assert session.is_ended
        assert texts(memory) == ["Ada moved to Kars"]


def test_a_failing_embedder_does_not_hide_the_error_of_the_body(store_path: Path) -> None:
    with spector.open(store_path, embedder=FailingEmbedder()) as memory:
        with pytest.raises(ValueError, match="mine") as caught, memory.session("s") as session:  # noqa: PT012
            session.buffer.add(None, "Ada moved to Kars", importance=0.7)
            raise ValueError("mine")
        assert "out of order" in "".join(caught.value.__notes__)


def test_nothing_is_on_disk_before_something_is_kept(store_path: Path) -> None:
    def files() -> dict[str, bytes]:
        return {
            path.name: path.read_bytes()
            for path in store_path.rglob("*")
            if path.is_file() and path.name != "lock"
        }

    with spector.open(store_path, embedder=FakeEmbedder()) as memory:
        memory.checkpoint()
        before = files()
        session = memory.session("s", user_id="u")
        session.sensory.ingest("Ada moved to Kars.", source="user")
        session.buffer.add(None, "Ada moved to Kars.", importance=0.5)
        session.zones.add("x", "text", "active", 0.5)
        session.recall("Ada")
        session.end()
        assert files() == before


# -- reading, forgetting ---------------------------------------------------------------------------


def test_a_reader_has_sessions_that_change_nothing(store_path: Path) -> None:
    with spector.open(store_path, embedder=FakeEmbedder()) as memory:
        memory.remember("Ada moved to Kars.", user_id="u")
    with spector.open(store_path, embedder=FakeEmbedder(), mode="r") as reader:
        session = reader.session("s", user_id="u")
        with pytest.raises(StoreReadOnlyError, match="pass learn=False"):
            session.recall("Ada")
        assert len(session.recall("Ada", learn=False)) == 1
        assert "Kars" in session.context("Ada", learn=False, always=True).text
        session.buffer.add(None, "It rained.", importance=0.9)
        assert session.end().promoted == ()


@pytest.mark.parametrize("purge", [False, True])
def test_what_is_forgotten_leaves_the_session(memory: spector.Memory, purge: bool) -> None:
    session = memory.session("s", user_id="u")
    gone = session.remember("Ada moved to Kars.", importance=0.4)
    session.remember("It rained.", importance=0.4)
    session.recall("Ada moved")
    session.context("Ada moved", always=True)
    session.zones.add("mine", "Note: Ada moved to Kars.", "active", 0.5)
    memory.forget(gone.id, purge=purge)
    assert "Ada" not in session.zones.render()
    assert [each.text for each in session.buffer.entries] == ["It rained."]
    assert [each.content for each in session.sensory.drain()] == ["It rained."]
    assert [tag.memory_id for tag in session.tags] != [gone.id]
    assert session.state.rest_of("Ada moved to Kars.") == "Ada moved to Kars."
    session.end()
    assert texts(memory) == ["It rained."]


def test_what_moves_to_another_user_leaves_the_session(memory: spector.Memory) -> None:
    session = memory.session("s", user_id="u")
    record = session.remember("Ada moved to Kars.", importance=0.4)
    session.recall("Ada")
    memory.update(record.id, move_to={"user_id": "v"})
    assert session.buffer.entries == ()
    assert session.tags == ()
    assert len(session.zones) == 0


def test_a_text_that_is_corrected_leaves_the_session(memory: spector.Memory) -> None:
    session = memory.session("s", user_id="u")
    record = session.remember("Ada moved to Kars.")
    session.recall("Ada")
    memory.update(record.id, text="Ada moved to Izmir.")
    assert "Kars" not in session.zones.render()
    assert session.sensory.size == 0


# -- many ------------------------------------------------------------------------------------------


def test_two_users_in_two_threads_share_nothing(store_path: Path) -> None:
    with spector.open(store_path, embedder=FakeEmbedder(), clock=ManualClock(NOW)) as memory:
        sessions = {user: memory.session("s", user_id=user) for user in ("ada", "bob")}

        def talk(user: str) -> None:
            session = sessions[user]
            for n in range(1000):
                importance = 0.3 if n % 3 else 0.8
                session.sensory.ingest(f"{user} did thing {n}", source="user")
                session.buffer.add(n, f"{user} did thing {n}", importance=importance)
                session.zones.add(n, f"{user} did thing {n}", "active", importance)
                if n % 20 == 0:
                    session.remember(f"{user} did thing {n}", importance=importance)
                    session.recall("did thing")

        at_once(talk, sessions)
        for user, session in sessions.items():
            own = {record.id for record in memory.records(user_id=user)}
            assert {tag.memory_id for tag in session.tags} <= own
            assert session.tags
            assert session.state.tags.captured > 0
            shown = [each.text for each in session.buffer.entries]
            shown += [each.content for each in session.sensory.drain()]
            shown += session.zones.render().splitlines()
            assert shown
            assert all(user in each for each in shown if each)


def test_hundreds_of_live_sessions_take_little(memory: spector.Memory) -> None:
    """Guard: 8 KB each at most with nine entries and a staged line."""
    memory.remember("Ada moved to Kars.")
    hit = memory.recall("Ada")[0]

    def hold(n: int) -> None:
        state = memory.session(f"s{n}", user_id=f"u{n}").state
        for entry in range(9):
            state.buffer.add(entry, f"entry {entry} of {n}", importance=0.5)
        state.zones.add(hit.id, hit.text, "staging", 0.5)

    hold(0)  # loads what is loaded once
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for n in range(1, 301):
            hold(n)
        gc.collect()
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(memory.sessions()) == 301
    assert used < 2_400_000, f"{used / 300:.0f} bytes a session"


def test_figures_of_a_session(memory: spector.Memory) -> None:
    session = memory.session("s", user_id="u")
    session.remember("Ada moved to Kars.", importance=0.4)
    found = session.stats()
    assert found["sensory"] == {"size": 1, "total_ingested": 1}
    assert (found["buffer"], found["tags"]["live"], found["ended"]) == (1, 1, False)
    assert found["zones"]["active"] == {"used": 0, "budget": 6144, "pct": 0.0}


# What a session does when it observes: its state feeds the steps, and they feed its state.


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


@cases("arguments", "named")
def test_an_outcome_that_is_none_is_refused(
    memory: spector.Memory, arguments: dict[str, object], named: str
) -> None:
    with pytest.raises(InvalidInputError, match=named):
        memory.session("s").outcome(**{"success": True, **arguments})  # type: ignore[arg-type]
    assert len(memory) == 0


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
