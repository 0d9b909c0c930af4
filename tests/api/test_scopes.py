"""A scope is a guard on every verb that names memories.

Mechanism: a verb by id asks whose the memory is, under the lock under which it changes it, and says
the same of another's memory, a forgotten one and one that never was. Damage without it: whoever
passes his user_id on every verb reads, changes or takes over what another one told, or learns from
an error that it is there. Guard: every verb with every wrong scope, against the state of the whole
store; threads that move a memory while others name it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spector
from spector import (
    ImmutableRecordError,
    InvalidInputError,
    InvalidScopeError,
    ManualClock,
    Memory,
    SpectorError,
    StoreReadOnlyError,
    SupersededRecordError,
    UnknownRecordError,
)
from tests.api.helpers import ids
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

Verb = Callable[..., Any]
#: every verb that names memories by id
VERBS: dict[str, Verb] = {
    "get": lambda m, t, **g: m.get(t, **g),
    "history": lambda m, t, **g: m.history(t, **g),
    "update": lambda m, t, **g: m.update(t, text="overwritten", **g),
    "update tags": lambda m, t, **g: m.update(t, tags=["mine"], **g),
    "move": lambda m, t, **g: m.update(t, move_to={"session_id": "mine"}, **g),
    "move user": lambda m, t, **g: m.update(t, move_to={"user_id": "mallory"}, **g),
    "pin": lambda m, t, **g: m.pin(t, **g),
    "unpin": lambda m, t, **g: m.unpin(t, **g),
    "resolve": lambda m, t, **g: m.resolve(t, **g),
    "reinforce": lambda m, t, **g: m.reinforce(t, **g),
    "mislead": lambda m, t, **g: m.reinforce(t, success=False, **g),
    "reinstate": lambda m, t, **g: m.reinstate(t, **g),
    "forget": lambda m, t, **g: m.forget(t, **g),
    "forget several": lambda m, t, **g: m.forget([t], include_protected=True, **g),
    "forget the rest": lambda m, t, **g: m.forget([t], skip_protected=True, **g),
    "purge": lambda m, t, **g: m.forget(t, purge=True, **g),
    "prove": lambda m, t, **g: m.forget(t, purge=True, verify=True, **g),
}
#: of a memory of user u, agent g, session s
WRONG: list[dict[str, str]] = cases.rows("WRONG")
MINE = {"user_id": "u", "agent_id": "g", "session_id": "s"}


def state(memory: Memory) -> list[dict[str, Any]]:
    return [record.to_dict() for record in memory.records()]


def words(error: SpectorError, record_id: int) -> tuple[type, str, str]:
    """What an error says, but for the id."""
    return type(error), error.message.replace(str(record_id), "N"), error.hint


@pytest.fixture(params=["episodic", "working"])
def kept(request: pytest.FixtureRequest, memory: Memory) -> spector.MemoryRecord:
    """A memory of somebody else, with an end, a pin, an open matter and a successor."""
    old = memory.remember(
        "the safe is behind the map", tier=request.param, unresolved=True, pinned=True, **MINE
    )
    memory.remember("the safe is under the stairs", tier=request.param, supersedes=old, **MINE)
    return memory.get(old.id)


def refused(memory: Memory, verb: str, target: int, guard: dict[str, str]) -> SpectorError:
    with pytest.raises(UnknownRecordError) as caught:
        VERBS[verb](memory, target, **guard)
    assert type(caught.value) is UnknownRecordError
    return caught.value


@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_scope_meets_the_same_words_as_an_id_that_never_was(
    memory: Memory, kept: spector.MemoryRecord, verb: str
) -> None:
    gone = memory.remember("forgotten", immutable=False, **MINE).id
    cast = memory.remember("cast in bronze", immutable=True, **MINE).id
    nobodys = memory.remember("nobody's").id
    memory.forget(gone)
    before, never = state(memory), nobodys + 7
    for guard in WRONG:
        said = {
            words(refused(memory, verb, each, guard), each)
            for each in (kept.id, cast, gone, never, nobodys, 1 << 70, -3)
        }
        assert len(said) == 1, (guard, said)
    assert state(memory) == before
    assert memory.check().ok


@pytest.mark.parametrize("verb", [v for v in VERBS if v != "move user"])
def test_the_right_scope_is_let_pass(memory: Memory, verb: str) -> None:
    for guard in (MINE, {"user_id": "u"}, {"agent_id": "g", "session_id": "s"}, {}):
        record = memory.remember("mine", **MINE)
        assert VERBS[verb](memory, record.id, **guard) is not None


def test_a_memory_without_a_user_is_nobodys(memory: Memory) -> None:
    record = memory.remember("found on the street", agent_id="g")
    with pytest.raises(UnknownRecordError):
        memory.get(record.id, user_id="u")
    assert memory.get(record.id, agent_id="g").text == "found on the street"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("value", ["", " ", 7, b"u", ["u"], "a\nb", "x" * 300])
def test_a_guard_that_is_no_scope_is_refused(memory: Memory, verb: str, value: Any) -> None:
    record = memory.remember("mine", **MINE)
    with pytest.raises(InvalidScopeError, match="user_id"):
        VERBS[verb](memory, record.id, user_id=value)


def test_several_ids_are_all_or_nothing(memory: Memory) -> None:
    mine = ids(memory.remember_many(["a", "b"], **MINE))
    other = memory.remember("c", user_id="mallory").id
    with pytest.raises(UnknownRecordError) as caught:
        memory.forget([*mine, other], user_id="u")
    assert str(other) in str(caught.value)
    assert len(memory) == 3
    assert memory.forget(mine, user_id="u").ids == tuple(mine)


def test_a_reader_has_the_guard_as_well(memory: Memory, store_path: Path) -> None:
    record = memory.remember("mine", **MINE)
    with spector.open(store_path, embedder=FakeEmbedder(), mode="r") as reader:
        assert reader.get(record, user_id="u") == record
        for verb in ("get", "history"):
            with pytest.raises(UnknownRecordError):
                VERBS[verb](reader, record.id, user_id="mallory")
        assert (reader.count(user_id="u"), reader.count(user_id="mallory")) == (1, 0)
        with pytest.raises(StoreReadOnlyError):
            reader.pin(record, user_id="mallory")
        memory.update(record, move_to={"user_id": "mallory"})
        with pytest.raises(UnknownRecordError):
            reader.get(record, user_id="u")


# -- moving ---------------------------------------------------------------------------------------


def test_a_move_is_said_by_its_own_name(memory: Memory) -> None:
    record = memory.remember("shared plan", tags=["t"], **MINE)
    moved = memory.update(record.id, move_to={"user_id": "v", "session_id": None})
    assert (moved.user_id, moved.agent_id, moved.session_id) == ("v", "g", None)
    assert ids(memory.recall("plan", user_id="v")) == [record.id]
    assert memory.recall("plan", user_id="u") == []
    assert memory.recall("plan", session_id="s") == []
    assert moved == memory.get(record.id)
    assert memory.check().ok


def test_the_old_way_to_move_names_the_new_one(memory: Memory) -> None:
    record = memory.remember("shared plan", user_id="u")
    with pytest.raises(InvalidInputError, match="move_to="):
        memory.update(record.id, user_id="v")
    for target in (record.id, record.id + 9):
        with pytest.raises(UnknownRecordError, match=r'move_to=\{"user_id": "b"\}'):
            memory.update(target, user_id="v", text="taken over")
    with pytest.raises(InvalidInputError, match="move_to="):
        memory.update(record.id, session_id=None)
    assert memory.get(record.id) == record


@pytest.mark.parametrize("guard", [{"user_id": "u"}, {"agent_id": "g"}, {"session_id": "s"}, MINE])
def test_under_a_guard_no_memory_changes_its_user(memory: Memory, guard: dict[str, str]) -> None:
    record = memory.remember("the deed", **MINE)
    for user in ("v", None):
        with pytest.raises(InvalidInputError, match="move_to"):
            memory.update(record.id, move_to={"user_id": user}, **guard)
    assert memory.get(record.id) == record
    same = memory.update(record.id, move_to={"user_id": "u", "agent_id": "h"}, **guard)
    assert (same.user_id, same.agent_id) == ("u", "h")


# -- links ----------------------------------------------------------------------------------------


def test_history_and_links_end_at_the_wall(memory: Memory) -> None:
    first = memory.remember("lives in Rome", user_id="u", agent_id="g")
    second = memory.remember("lives in Turin", user_id="u", agent_id="h", supersedes=first)
    third = memory.remember(
        "lives in Bari", user_id="u", agent_id="g", supersedes=second, parents=[first, second]
    )
    every = [first.id, second.id, third.id]
    assert ids(memory.history(third)) == every
    assert ids(memory.history(third, user_id="u")) == every
    seen = memory.history(third, agent_id="g")
    assert ids(seen) == [third.id]
    assert (seen[0].supersedes, seen[0].parents) == ((), (first.id,))
    assert memory.get(first, agent_id="g").superseded_by == ()
    assert memory.pin(second, agent_id="h").supersedes == ()
    assert memory.get(second).supersedes == (first.id,)  # nothing was changed by looking
    assert memory.update(third, tags=["x"], agent_id="g").supersedes == ()
    assert memory.get(third).supersedes == (second.id,)
    assert memory.get(third).parents == (first.id, second.id)
    assert memory.check().ok


@pytest.mark.parametrize("tier", ["episodic", "working"])
def test_another_users_memory_is_not_superseded(memory: Memory, tier: str) -> None:
    old = memory.remember("has a dog", user_id="u", tier=tier)
    ended = memory.remember("has a cat", user_id="u", tier=tier)
    memory.remember("has no cat", user_id="u", tier=tier, supersedes=ended)
    cast = memory.remember("has a tree", user_id="u", immutable=True)
    gone = memory.remember("has a boat", user_id="u")
    nobodys = memory.remember("somebody has a kite")
    memory.forget(gone)
    before, never = state(memory), nobodys.id + 9
    said = set()
    for target in (old.id, ended.id, cast.id, gone.id, nobodys.id, never):
        with pytest.raises(UnknownRecordError) as caught:
            memory.remember("has a fish", user_id="mallory", supersedes=[target])
        said.add(words(caught.value, target))
    assert len(said) == 1
    assert state(memory) == before


def test_a_parent_is_a_number_that_nothing_is_read_through(memory: Memory) -> None:
    other = memory.remember("a secret recipe", user_id="u")
    child = memory.remember("a remark", user_id="mallory", parents=[other.id])
    never = memory.remember("a remark again", user_id="mallory", parents=[other.id - 1])
    assert ids(memory.history(child, user_id="mallory")) == [child.id]
    assert memory.get(child, user_id="mallory").parents == ()
    assert memory.get(never, user_id="mallory").parents == (other.id - 1,)
    receipt = memory.forget(user_id="u", purge=True).receipt
    assert (receipt.derived, receipt.derived_elsewhere) == ((), 1)
    assert "outside the scope" in str(receipt)


# -- what one verb returns every verb takes -------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_ids_hits_and_records(memory: Memory, verb: str) -> None:
    shapes: list[Callable[[spector.MemoryRecord], Any]] = [
        lambda r: r,
        lambda r: memory.recall("mine", k=50, where={"n": r.metadata["n"]})[0],
        lambda r: np.int64(r.id),
    ]
    for n, shape in enumerate(shapes):
        record = memory.remember("mine", user_id="u", metadata={"n": n})
        assert VERBS[verb](memory, shape(record)) is not None


def test_membership_asks_ids_hits_and_records(memory: Memory) -> None:
    record = memory.remember("mine")
    hit = memory.recall("mine")[0]
    for each in (record, hit, record.id, np.int64(record.id)):
        assert each in memory
    ids_of_none = (record.id + 1, 0, -1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**80)
    for each in (*ids_of_none, True, None, "mine", str(record.id), [record], 1.0, 1.5, object()):
        assert each not in memory
    memory.forget(hit)
    assert record not in memory
    assert hit not in memory


def test_links_take_hits_and_records(memory: Memory) -> None:
    one = memory.remember("one")
    hit = memory.recall("one")[0]
    assert memory.remember("two", parents=[hit, one.id]).parents == (one.id, one.id)
    assert memory.remember("three", parents=hit).parents == (one.id,)
    assert memory.remember("four", supersedes=hit).supersedes == (one.id,)
    report = memory.forget(memory.recall("two", k=2))
    with pytest.raises(UnknownRecordError):
        memory.forget(report)
    assert memory.forget(report, purge=True).receipt is not None


# -- figures --------------------------------------------------------------------------------------


def test_count_is_what_records_yields(memory: Memory) -> None:
    for n in range(12):
        memory.remember(
            f"n {n}",
            tags=["even"] if n % 2 == 0 else ["odd"],
            metadata={"n": n},
            tier=["episodic", "working", "semantic"][n % 3],
            user_id=[None, "u", "v"][n // 4],
            event_time=f"2026-0{1 + n % 9}-03",
        )
    selections: list[dict[str, Any]] = [
        {},
        {"user_id": "u"},
        {"user_id": "w"},
        {"tags": ["even"]},
        {"any_tags": ["odd"]},
        {"where": {"n": {"gt": 3}}},
        {"tiers": ["working"]},
        {"where": {"user_id": "v"}},
        {"time_range": ("2026-02-01", "2026-05-01"), "user_id": "u"},
        {"user_id": None},
        {"where": {"user_id": None}},
    ]
    for chosen in selections:
        assert memory.count(**chosen) == len(list(memory.records(**chosen))), chosen
    with pytest.raises(InvalidInputError, match="did you mean user_id"):
        memory.count(userid="u")


def test_users_are_listed_with_their_first_and_last_event(memory: Memory) -> None:
    assert memory.users() == []
    memory.remember("nobody's")
    memory.remember("b", user_id="bo", event_time="2025-05-01T10:00:00Z")
    memory.remember("w", user_id="bo", tier="working", event_time="2026-01-01")
    memory.remember("a", user_id="al", event_time="0200-01-01", agent_id="x")
    memory.forget(memory.remember("gone", user_id="cy").id)
    al, bo = memory.users()
    assert (al.id, al.count, al.first) == ("al", 1, al.last)
    assert (bo.id, bo.count) == ("bo", 2)
    assert (bo.first.isoformat(), bo.last.isoformat()) == (
        "2025-05-01T10:00:00+00:00",
        "2026-01-01T00:00:00+00:00",
    )
    assert isinstance(al, spector.UserSummary)
    with pytest.raises(InvalidScopeError, match=r"user_id=user\.id"):
        memory.count(user_id=al)
    for user in memory.users():
        assert memory.forget(user_id=user.id).protected == ()
    assert memory.users() == []


def test_stats_of_a_scope_tell_of_nobody_else(memory: Memory) -> None:
    mine = memory.remember_many(["m", "n"], user_id="u", agent_id="g")
    memory.remember("w", user_id="u", tier="working")
    others = ids(memory.remember_many(["1", "2", "3", "4", "5"], user_id="v"))
    memory.forget(others[:4])
    found = memory.stats(user_id="u")
    assert (found["records"], found["scope"]) == (3, {"user_id": "u"})
    assert {n: t["records"] for n, t in found["tiers"].items() if t["records"]} == {
        "episodic": 2,
        "working": 1,
    }
    assert memory.stats(user_id="u", agent_id="g")["records"] == 2
    assert memory.stats(user_id="w")["records"] == 0
    told = memory.stats(user_id="u")
    memory.remember_many(["x"] * 3, user_id="v")
    memory.forget(others[4:])
    assert memory.stats(user_id="u") == told
    assert not {"erasure", "bytes", "daemon", "embedding_cache"} & told.keys()
    assert mine[0] in memory


def test_a_guarded_compaction_names_nobody_else(memory: Memory) -> None:
    """Files are of all, so the work is the same; what is named is not."""
    mine = memory.remember("Ruth Okafor likes figs", user_id="u")
    theirs = memory.remember("Ruth Okafor dislikes figs", user_id="v")
    gone = memory.remember("Ruth Okafor hides figs", user_id="v")
    memory.update(theirs, text="Ruth Okafor loathes figs")
    memory.update(mine, text="Ruth Okafor loves figs")
    memory.forget(gone)
    dry = memory.compact(dry_run=True, user_id="u")
    assert dry.records_reclaimed == 3
    receipt = memory.compact(verify=["Ruth Okafor"], user_id="u").receipt
    assert receipt.replaced == (mine.id,)
    assert receipt.verification.living == (mine.id,)
    for strange in (theirs.id, gone.id):
        assert str(strange) not in receipt.to_json()
    again = memory.compact(verify=["Ruth Okafor"]).receipt
    assert set(again.verification.living) == {mine.id, theirs.id}


# -- filters --------------------------------------------------------------------------------------


def test_a_filter_understands_the_scopes(memory: Memory) -> None:
    a = memory.remember("a", user_id="u", agent_id="g", metadata={"k": 1, "user_id": "meta"})
    b = memory.remember("b", user_id="v", session_id="s", metadata={"k": 1})
    c = memory.remember("c", metadata={"k": 2})
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({"user_id": "u"}, [a.id]),
        ({"user_id": {"eq": "v"}}, [b.id]),
        ({"user_id": {"$eq": "v"}, "k": 1}, [b.id]),
        ({"user_id": {"ne": "u"}}, [b.id, c.id]),
        ({"user_id": None}, [c.id]),
        ({"user_id": {"ne": None}}, [a.id, b.id]),
        ({"user_id": {"exists": False}}, [c.id]),
        ({"user_id": {"in": ["u", "w"]}}, [a.id]),
        ({"user_id": {"in": ["v", None]}}, [b.id, c.id]),
        ({"not": {"user_id": "u"}}, [b.id, c.id]),
        ({"or": [{"user_id": "u"}, {"session_id": "s"}]}, [a.id, b.id]),
        ({"and": [{"user_id": "u"}, {"agent_id": "h"}]}, []),
        ({"user_id": 7}, []),
        ({"user_id": {"gt": "u"}}, [b.id]),
        ({"user_id": "meta"}, []),
        ({r"\user_id": "meta"}, [a.id]),
        ({"user_id.x": "u"}, []),
        ({"user_id": {"not": {"contains": "u"}}}, [b.id, c.id]),
        ({"k": {"ne": 1}}, [c.id]),
        ({"none": {"ne": 1}}, [a.id, b.id, c.id]),
        ({"none": {"ne": None}}, []),
        ({"none": {"not": {"gt": 1}}}, [a.id, b.id, c.id]),
    ]
    for where, expected in cases:
        assert ids(memory.records(where=where)) == expected, where
        assert sorted(ids(memory.recall("a b c", where=where))) == expected, where
        assert memory.count(where=where) == len(expected), where
    assert ids(memory.records(user_id="u", where={"user_id": "v"})) == []
    assert memory.forget({"user_id": "v"}).ids == (b.id,)


# -- threads --------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["get", "pin", "update tags", "reinforce"])
def test_a_memory_that_moves_meanwhile_is_never_another_users(memory: Memory, verb: str) -> None:
    """What a guarded verb returns was of its user then, however often others move it."""
    record = memory.remember("goes to and fro", user_id="u")
    stop = threading.Event()

    def move() -> None:
        while not stop.is_set():
            memory.update(record.id, move_to={"user_id": "v"})
            memory.update(record.id, move_to={"user_id": "u"})

    mover = threading.Thread(target=move)
    mover.start()
    try:
        for _ in range(60):
            with contextlib.suppress(UnknownRecordError):
                assert VERBS[verb](memory, record.id, user_id="u").user_id == "u"
            assert all(r.user_id == "u" for r in memory.records(user_id="u"))
    finally:
        stop.set()
        mover.join()
    assert memory.check().ok


@pytest.mark.parametrize("how", ["reinstate", "supersede", "end"])
def test_an_error_names_no_memory_outside_of_the_scope(memory: Memory, how: str) -> None:
    """The newer one was moved to another user: its id, and to forget it, are not this user's."""
    older = memory.remember("the gate is green", user_id="u")
    newer = memory.remember("the gate is blue", user_id="u", supersedes=older)
    ways = {
        "reinstate": lambda user: memory.reinstate(older, user_id=user),
        "supersede": lambda user: memory.remember("it is red", user_id=user, supersedes=older),
        "end": lambda user: memory.update(older, user_id=user, valid_until="2031-01-01T00:00Z"),
    }
    with pytest.raises(SupersededRecordError) as caught:
        ways[how]("u")
    assert str(newer.id) in str(caught.value)
    memory.update(newer, move_to={"user_id": "v"})
    with pytest.raises(SupersededRecordError) as caught:
        ways[how]("u")
    assert str(newer.id) not in str(caught.value)
    assert caught.value.hint


# -- any sequence ---------------------------------------------------------------------------------

USERS = ("u", "v", "w")


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([*VERBS, "supersede", "clear"]),
            st.sampled_from(USERS),
            st.integers(0, 11),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_whatever_a_user_does_the_others_memories_stay(
    steps: list[tuple[str, str, int]],
) -> None:
    clock = ManualClock(1_750_000_000_000)
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=clock) as memory:
        made = []
        for n in range(12):
            user, before = USERS[n % 3], made[n - 3] if n in (6, 7) else None
            made.append(
                memory.remember(
                    f"{user} says {n}",
                    user_id=user,
                    pinned=n % 4 == 0,
                    immutable=n % 5 == 0 and n > 0,
                    tier="working" if n in (8, 9) else "episodic",
                    supersedes=before.id if before and not before.immutable else None,
                )
            )
        for verb, user, which in steps:
            others = {r.id: r for r in memory.records() if r.user_id != user}
            refusals = (UnknownRecordError, ImmutableRecordError, SupersededRecordError)
            if verb == "move user":
                refusals += (InvalidInputError,)
            with contextlib.suppress(*refusals):
                if verb == "supersede":
                    memory.remember("newer", user_id=user, supersedes=made[which])
                elif verb == "clear":
                    memory.forget(user_id=user, include_protected=which % 2 == 0)
                else:
                    found = VERBS[verb](memory, made[which].id, user_id=user)
                    shown = found if isinstance(found, list) else [found]
                    assert all(getattr(each, "user_id", user) == user for each in shown)
            left = {r.id: r for r in memory.records() if r.user_id != user}
            assert left == others, (verb, user, which)
        assert memory.check().ok
