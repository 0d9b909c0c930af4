"""What every verb of a memory does, seen from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import (
    Category,
    Config,
    Flag,
    ImmutableRecordError,
    InvalidFilterError,
    InvalidInputError,
    ManualClock,
    Memory,
    Modality,
    UnknownRecordError,
)
from tests.api.helpers import DIM, files_with, fingerprint, ids, own_vectors, texts, vector, vectors
from tests.cases import Cases
from tests.fakes import FailingEmbedder, FakeEmbedder

cases = Cases(__file__)

EVERYTHING: dict[str, Any] = {
    "tags": ["tea", "home"],
    "importance": 0.75,
    "valence": 0.5,
    "arousal": 0.25,
    "event_time": datetime(2026, 11, 20, 8, 30, tzinfo=UTC),
    "valid_from": datetime(2026, 11, 1, tzinfo=UTC),
    "valid_until": datetime(2027, 1, 1, tzinfo=UTC),
    "metadata": {"project": "atlas", "n": [1, 2.5, None, True, {"deep": "é"}]},
    "session_id": "s1",
    "agent_id": "a1",
    "user_id": "u1",
    "source": "mail",
    "confidence": 0.8,
    "pinned": True,
    "immutable": False,
    "unresolved": True,
    "category": "preference",
    "modality": "document",
    "role": "user",
    "parents": [1, 2],
}
#: what quantising to a byte may change
TOLERANCE = {"valence": 1 / 127, "arousal": 1 / 255, "confidence": 1 / 255, "importance": 1e-6}


def agrees(record: spector.MemoryRecord, name: str, value: Any) -> None:
    found = getattr(record, name)
    if name in TOLERANCE:
        assert found == pytest.approx(value, abs=TOLERANCE[name]), name
    elif name in ("category", "modality"):
        assert found.name.lower() == value
    elif name in ("tags", "parents"):
        assert list(found) == value
    else:
        assert found == value, name


# -- remember and get -----------------------------------------------------------------------------


def test_every_field_that_is_remembered_comes_back(
    memory: Memory, store_path: Path, clock: ManualClock
) -> None:
    record = memory.remember("Ada drinks tea", **EVERYTHING)
    memory.close()
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as again:
        assert again.get(record.id) == record
        for name, value in EVERYTHING.items():
            agrees(again.get(record.id), name, value)


def test_defaults_are_those_of_the_documentation(memory: Memory, clock: ManualClock) -> None:
    record = memory.remember("plain")
    now = datetime.fromtimestamp(clock.now_ms() / 1000, UTC)
    assert (record.tier, record.tags, record.metadata) == ("episodic", (), {})
    assert (record.event_time, record.recorded_at, record.last_access) == (now, now, now)
    assert (record.importance, record.confidence, record.valence, record.arousal) == (0.5, 1, 0, 0)
    assert (record.user_id, record.session_id, record.agent_id, record.role) == (None,) * 4
    assert (record.flags, record.access_count, record.utility) == (Flag.NONE, 0, 0.5)
    assert (record.category, record.modality) == (Category.OTHER, Modality.TEXT)
    assert record.stability_days == pytest.approx(7.0)


@pytest.mark.parametrize("key", ["content", "text"])
def test_a_message_is_its_content_with_a_role(memory: Memory, key: str) -> None:
    record = memory.remember({"role": "assistant", key: "hello"}, tags=["greeting"])
    assert (record.text, record.role, record.tags) == ("hello", "assistant", ("greeting",))


def test_a_keyword_wins_over_the_message(memory: Memory) -> None:
    record = memory.remember({"role": "user", "content": "x", "tags": ["a"]}, role="tool")
    assert (record.role, record.tags) == ("tool", ("a",))


TEXTS = {
    "spaces": "  spaces kept  ",
    "lines": "two\nlines\r\nb\rc\u2028d\x85e",
    "Unicode": "🦓 日本語 e\u0301",
    "NUL": "NUL \0 inside",
    "1 MB": "x" * 1_048_575,
    "SQL": "\"'; DROP TABLE record; --",
    "no word": "!!!",
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c \u0645\u0631\u062d\u0628\u0627",
    "combining marks": "e" + "\u0301" * 300_000,
    "joined emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 1000,
    "noncharacters": "\uffff \ufdd0 \U0010ffff",
    "byte order mark": "\ufeffbegin",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_honest_text_comes_back_to_the_byte_and_can_be_forgotten(text: str) -> None:
    with own_vectors() as other:
        record = other.remember(text, vector=vector(1))
        assert other.get(record.id).text == text
        changed = other.update(record.id, text=text + "!", vector=vector(2))
        assert other.get(record.id).text == changed.text == text + "!"
        assert other.check().ok
        assert other.forget(record.id).ids == (record.id,)
        assert other.check().ok


@pytest.mark.parametrize("drift_ms", [0, -1, -86_400_000 * 30])
def test_ids_stay_unique_and_in_order_when_the_clock_stands_still_or_goes_back(
    store_path: Path, clock: ManualClock, drift_ms: int
) -> None:
    made: list[int] = []
    for _ in range(3):
        with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
            made += ids(memory.remember_many([f"n {n}" for n in range(5)]))
            made.append(memory.remember("working", tier="working").id)
            made.append(memory.remember("one").id)
            clock.advance(ms=drift_ms)
    assert made == sorted(set(made))


def test_an_importance_scorer_judges_only_what_came_without_one(clock: ManualClock) -> None:
    class Scorer:
        def score(
            self, text: str, *, role: str | None = None, metadata: Mapping[str, Any] | None = None
        ) -> float:
            assert role == "user"
            assert metadata == {"a": 1}
            return 0.9 if "password" in text else 0.1

    with spector.open(":memory:", embedder=FakeEmbedder(), importance=Scorer()) as memory:
        same: dict[str, Any] = {"role": "user", "metadata": {"a": 1}}
        assert memory.remember("a password", **same).importance == pytest.approx(0.9)
        assert memory.remember("small talk", **same).importance == pytest.approx(0.1)
        given = memory.remember("given", importance=0.6, role="tool")
        assert given.importance == pytest.approx(0.6)


@pytest.mark.parametrize("answer", [1.5, -0.1, float("nan")])
def test_an_importance_scorer_out_of_range_stores_nothing(answer: float) -> None:
    class Scorer:
        def score(self, text: str, **_: Any) -> float:
            return answer

    with spector.open(":memory:", embedder=FakeEmbedder(), importance=Scorer()) as memory:
        with pytest.raises(InvalidInputError, match="scorer"):
            memory.remember("x")
        assert len(memory) == 0


def test_strong_arousal_makes_a_flashbulb(memory: Memory) -> None:
    bright = memory.remember("the fire", arousal=0.8, importance=0.2)
    faint = memory.remember("the meeting", arousal=0.79, importance=0.2)
    assert (bright.flashbulb, bright.pinned) == (True, True)
    assert bright.importance == pytest.approx(0.9)
    assert bright.stability_days == pytest.approx(7 * 1.4 * 1.5)
    assert (faint.flashbulb, faint.pinned, faint.importance) == (False, False, pytest.approx(0.2))


# -- remember_many --------------------------------------------------------------------------------


def test_many_takes_a_generator_of_texts_and_dicts_with_common_keywords(memory: Memory) -> None:
    def items() -> Iterator[str | dict[str, Any]]:
        yield "a text"
        yield {"role": "user", "content": "a message"}
        yield {"text": "own tags", "tags": ["own"], "importance": 0.9, "tier": "semantic"}

    made = memory.remember_many(items(), tags=["common"], user_id="ada", importance=0.3)
    assert texts(made) == ["a text", "a message", "own tags"]
    assert [record.tags for record in made] == [("common",), ("common",), ("own",)]
    assert [record.tier for record in made] == ["episodic", "episodic", "semantic"]
    assert [record.role for record in made] == [None, "user", None]
    assert {record.user_id for record in made} == {"ada"}
    assert made[2].importance == pytest.approx(0.9)
    assert ids(made) == sorted(ids(made))
    assert [memory.get(i) for i in ids(made)] == made


def test_many_of_nothing_is_nothing(memory: Memory) -> None:
    assert memory.remember_many([]) == []
    assert memory.remember_many(iter(())) == []
    assert len(memory) == 0


def test_many_reports_progress_after_each_commit(clock: ManualClock) -> None:
    seen: list[tuple[int, int | None]] = []
    with spector.open(
        ":memory:", embedder=FakeEmbedder(), config=Config(batch_records=4)
    ) as memory:
        memory.remember_many([f"t {n}" for n in range(10)], progress=lambda *at: seen.append(at))
        assert seen == [(4, 10), (8, 10), (10, 10)]
        seen.clear()
        memory.remember_many((f"t {n}" for n in range(4)), progress=lambda *at: seen.append(at))
        assert seen == [(4, None)]


def test_an_iterable_that_breaks_keeps_only_whole_batches(clock: ManualClock) -> None:
    def items() -> Iterator[str]:
        yield from ("t 0", "t 1", "t 2", "t 3", "t 4")
        raise RuntimeError("the source went away")

    with spector.open(
        ":memory:", embedder=FakeEmbedder(), config=Config(batch_records=2)
    ) as memory:
        with pytest.raises(RuntimeError, match="went away"):
            memory.remember_many(items())
        assert texts(memory) == ["t 0", "t 1", "t 2", "t 3"]


# -- update ---------------------------------------------------------------------------------------

CHANGES: dict[str, tuple[Any, Any]] = {
    "text": ("the old wording", "something else entirely"),
    "tags": (["old"], ["new", "newer"]),
    "importance": (0.2, 0.9),
    "valence": (-0.5, 0.5),
    "arousal": (0.1, 0.6),
    "event_time": (EVERYTHING["event_time"], EVERYTHING["event_time"] - timedelta(days=400)),
    "valid_from": (EVERYTHING["valid_from"], EVERYTHING["valid_from"] - timedelta(days=3)),
    "valid_until": (EVERYTHING["valid_until"], EVERYTHING["valid_until"] + timedelta(days=3)),
    "metadata": ({"old": 1}, {"new": [2]}),
    "session_id": ("old", "new"),
    "agent_id": ("old", "new"),
    "user_id": ("old", "new"),
    "source": ("old", "new"),
    "role": ("user", "assistant"),
    "confidence": (0.4, 0.8),
    "pinned": (False, True),
    "unresolved": (True, False),
    "category": ("fact", "plan"),
    "modality": ("text", "code"),
}


SCOPES = ("session_id", "agent_id", "user_id")


def change(name: str, value: Any) -> dict[str, Any]:
    """The arguments of an update that gives one field another value."""
    return {"move_to": {name: value}} if name in SCOPES else {name: value}


@pytest.mark.parametrize("name", CHANGES)
def test_update_changes_the_one_field_under_the_same_id(
    memory: Memory, store_path: Path, clock: ManualClock, name: str
) -> None:
    start = {key: old for key, (old, _) in CHANGES.items()}
    record = memory.remember(start.pop("text"), **start)
    bystander = memory.remember("a bystander")
    changed = memory.update(record.id, **change(name, CHANGES[name][1]))
    agrees(changed, name, CHANGES[name][1])
    assert memory.get(record.id) == changed
    for other, (old, _) in CHANGES.items():
        if other != name:
            agrees(changed, other, old)
    assert changed.id == record.id
    assert changed.recorded_ms == record.recorded_ms
    assert memory.get(bystander.id) == bystander
    assert len(memory) == 2
    assert memory.check().ok
    memory.close()
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as again:
        assert again.get(record.id) == changed
        assert again.check().ok


@pytest.mark.parametrize(
    ("name", "empty"),
    [*cases.rows("update_with_none_clears_a_field"), ("tags", ())],
)
def test_update_with_none_clears_a_field(memory: Memory, name: str, empty: Any) -> None:
    start = {key: old for key, (old, _) in CHANGES.items()}
    record = memory.remember(start.pop("text"), **start)
    assert getattr(memory.update(record.id, **change(name, None)), name) == empty
    assert getattr(memory.get(record.id), name) == empty
    assert memory.check().ok


def test_an_updated_text_replaces_the_old_one_in_every_channel(memory: Memory) -> None:
    record = memory.remember("the capital is Bonn")
    memory.remember("an unrelated remark")
    memory.update(record.id, text="the seat is Berlin")
    assert "the capital is Bonn" not in texts(memory.recall("the capital is Bonn", k=10))
    top = memory.recall("the seat is Berlin", k=10, lexical=False)
    assert top[0].id == record.id
    assert ids(top).count(record.id) == 1
    assert top[0].score > memory.recall("the capital is Bonn", lexical=False)[0].score


@pytest.mark.parametrize(
    "name", ["text", "tags", "metadata", "session_id", "agent_id", "user_id", "source", "role"]
)
def test_what_an_update_replaces_is_gone_from_every_byte(
    memory: Memory, store_path: Path, name: str
) -> None:
    old, new = (
        {"tags": [f"{each}-label"], "metadata": {"k": f"{each}-label"}}.get(name, f"{each}-label")
        for each in ("old", "new")
    )
    record = memory.remember(**{"text": "x", name: old})
    memory.update(record.id, **change(name, new))
    assert memory.compact().erased
    assert files_with(store_path, "old-label") == []
    assert files_with(store_path, "new-label") != []
    assert memory.check().ok


def test_a_new_vector_moves_a_memory_without_changing_its_text(clock: ManualClock) -> None:
    with own_vectors(clock=clock) as memory:
        given = vectors(3)
        record = memory.remember("x", vector=given[0])
        memory.remember("y", vector=given[1])
        memory.update(record.id, vector=given[2])
        assert memory.recall(vector=given[2], k=1)[0].id == record.id
        assert memory.recall(vector=given[0], k=2, profile="similarity")[0].score < 0.9
        assert memory.get(record.id).text == "x"


def test_an_unchanged_text_is_not_embedded_again(store_path: Path) -> None:
    embedder = FakeEmbedder()
    with spector.open(store_path, embedder=embedder) as memory:
        record = memory.remember("x")
        count = len(embedder.calls)
        memory.update(record.id, tags=["a"], importance=0.1)
        assert len(embedder.calls) == count


def test_an_immutable_memory_cannot_be_changed_or_forgotten(memory: Memory) -> None:
    record = memory.remember("carved in stone", immutable=True)
    for call in (
        lambda: memory.update(record.id, text="y"),
        lambda: memory.update(record.id, immutable=False),
        lambda: memory.forget(record.id),
    ):
        with pytest.raises(ImmutableRecordError) as caught:
            call()
        assert caught.value.hint
    assert memory.forget(tiers="episodic").protected == (record.id,)
    assert memory.get(record.id) == record
    assert memory.reinforce(record.id).access_count == 1  # use is not content


# -- strength -------------------------------------------------------------------------------------


def test_pin_unpin_and_resolve_set_and_clear_their_flags_and_persist(
    memory: Memory, store_path: Path, clock: ManualClock
) -> None:
    record = memory.remember("x", unresolved=True)
    assert memory.pin(record.id).pinned
    assert memory.pin(record.id).pinned  # again changes nothing
    assert not memory.resolve(record.id).unresolved
    memory.close()
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as again:
        assert again.get(record.id).pinned
        assert not again.get(record.id).unresolved
        assert not again.unpin(record.id).pinned
        assert again.check().ok


def test_success_adds_stability_by_the_spacing_and_moves_utility_up(
    memory: Memory, clock: ManualClock
) -> None:
    record = memory.remember("x")
    clock.advance(hours=1)
    soon = memory.reinforce(record.id)
    assert soon.stability_days == pytest.approx(7.0 + 0.5)
    assert soon.utility == pytest.approx(0.5 + 0.1 * 0.5)
    assert (soon.access_count, soon.last_access_s) == (1, clock.now_ms() // 1000)
    clock.advance(days=10)
    later = memory.reinforce(record.id)
    assert later.stability_days == pytest.approx(7.5 + 0.5 * 10)
    assert later.utility == pytest.approx(0.55 + 0.1 * 0.45)
    assert memory.get(record.id) == later


def test_failure_weakens_stability_and_utility(memory: Memory) -> None:
    record = memory.remember("x")
    worse = memory.reinforce(record.id, success=False)
    assert worse.stability_days == pytest.approx(7.0 * 0.7)
    assert worse.utility == pytest.approx(0.5 - 0.1 * 0.5)
    assert worse.access_count == 1
    for _ in range(100):
        worse = memory.reinforce(record.id, success=False)
    assert worse.stability_days > 0
    assert worse.utility >= 0


# -- forget ---------------------------------------------------------------------------------------


def test_forget_by_id_by_ids_and_by_an_iterator(memory: Memory) -> None:
    made = ids(memory.remember_many([f"n {n}" for n in range(6)]))
    assert memory.forget(made[0]).ids == (made[0],)
    assert memory.forget([made[1], made[2], made[1]]).ids == (made[1], made[2])
    assert memory.forget(i for i in made[3:5]).ids == (made[3], made[4])
    assert len(memory.forget([])) == 0
    assert ids(memory) == [made[5]]
    assert made[0] not in memory
    assert made[5] in memory
    for gone in made[:5]:
        with pytest.raises(UnknownRecordError):
            memory.get(gone)
    assert memory.check().ok


FILTERS: dict[str, dict[str, Any]] = {
    "tiers": {"tiers": "semantic"},
    "tags": {"tags": ["red", "round"]},
    "any_tags": {"any_tags": ["red", "nowhere"]},
    "user_id": {"user_id": "ada"},
    "agent_id": {"agent_id": "ada"},
    "session_id": {"session_id": "ada"},
    "time_range": {"time_range": ("2020-01-01", "2021-01-01")},
    "where": {"where": {"size": {"gt": 3}}},
    "a filter in place of the ids": {"target": {"size": {"gt": 3}}},
}


@pytest.mark.parametrize("selection", FILTERS.values(), ids=FILTERS)
def test_a_filter_forgets_what_it_selects_and_nothing_else(
    memory: Memory, selection: dict[str, Any]
) -> None:
    match, pinned = memory.remember_many(
        [{"text": "match"}, {"text": "pinned", "pinned": True}],
        tier="semantic",
        tags=["red", "round"],
        user_id="ada",
        agent_id="ada",
        session_id="ada",
        event_time="2020-06-01",
        metadata={"size": 5},
    )
    other = memory.remember("other", tags=["blue"], user_id="bob", metadata={"size": 1})
    report = memory.forget(**selection)
    assert report.ids == (match.id,)
    assert report.protected == (pinned.id,)
    assert ids(memory) == [pinned.id, other.id]
    assert memory.forget(pinned.id).ids == (pinned.id,)  # by name even when pinned


@cases("nothing")
def test_forget_without_any_condition_is_refused(memory: Memory, nothing: dict[str, Any]) -> None:
    memory.remember("x")
    with pytest.raises(InvalidFilterError) as caught:
        memory.forget(**nothing)
    assert caught.value.hint
    assert len(memory) == 1


def test_forget_with_ids_and_a_filter_is_refused(memory: Memory) -> None:
    record = memory.remember("x")
    with pytest.raises(InvalidFilterError):
        memory.forget(record.id, tags=["a"])
    with pytest.raises(InvalidFilterError):
        memory.forget(memory.remember("y", user_id="u", tags=["a"]).id, tags=["a"], user_id="u")
    with pytest.raises(InvalidFilterError):
        memory.forget({"a": 1}, where={"b": 2})
    assert len(memory) == 2


# -- recall changes nothing unless asked ----------------------------------------------------------


def test_a_recall_changes_no_byte_and_repeats_its_answer(memory: Memory, store_path: Path) -> None:
    memory.remember_many([f"note {n} about rivers" for n in range(30)], tags=["water"])
    memory.checkpoint()
    before = fingerprint(store_path)
    first = memory.recall("rivers", tags=["water"], k=7)
    for _ in range(5):
        again = memory.recall("rivers", tags=["water"], k=7)
        assert [(h.id, h.score) for h in again] == [(h.id, h.score) for h in first]
        assert [h.record for h in again] == [h.record for h in first]
    list(memory), memory.stats(), memory.check(), first[0].explain()
    assert fingerprint(store_path) == before


def test_learning_strengthens_the_hits_and_only_them(memory: Memory, clock: ManualClock) -> None:
    made = memory.remember_many([f"note {n}" for n in range(5)])
    clock.advance(days=1)
    hits = memory.recall("note 1", k=2, learn=True)
    assert {h.record.access_count for h in hits} == {0}  # as they were found
    for record in made:
        after = memory.get(record.id)
        if record.id in ids(hits):
            assert (after.access_count, after.last_access_s) == (1, clock.now_ms() // 1000)
            assert after.stability_days == pytest.approx(record.stability_days * 1.02)
        else:
            assert after == record


# -- validity -------------------------------------------------------------------------------------


def test_a_memory_is_recalled_only_within_its_validity(memory: Memory, clock: ManualClock) -> None:
    start = datetime(2026, 11, 22, tzinfo=UTC)
    end = datetime(2026, 11, 23, tzinfo=UTC)
    record = memory.remember("the code is 4711", valid_from=start, valid_until=end)
    other = memory.remember("the code is never told")
    for now, there in [
        (start - timedelta(milliseconds=1), False),
        (start, True),
        (end - timedelta(milliseconds=1), True),
        (end, False),
    ]:
        clock.set(now)
        assert (record.id in ids(memory.recall("the code is 4711", k=5))) is there, now
        assert (record.id in ids(memory.recall(str(record.id), k=5))) is there, now
        assert other.id in ids(memory.recall("the code", k=5))
    assert memory.get(record.id).valid_until == end  # get and iteration still know it
    assert record.id in ids(memory)


# -- reading --------------------------------------------------------------------------------------


def test_records_iterates_all_tiers_by_id_and_by_selection(memory: Memory) -> None:
    made = [
        memory.remember(f"n {n}", tier=tier, tags=[tier], user_id="ada" if n % 2 else "bob")
        for n, tier in enumerate(["working", "semantic", "episodic", "working", "procedural"] * 3)
    ]
    assert list(memory) == made
    assert ids(memory.records(tiers="working")) == [r.id for r in made if r.tier == "working"]
    assert ids(memory.records(tags=["semantic"], user_id="ada")) == [
        r.id for r in made if r.tier == "semantic" and r.user_id == "ada"
    ]
    assert len(memory) == len(made)
    assert all(r.id in memory for r in made)


def test_iteration_crosses_pages_and_survives_changes_meanwhile(memory: Memory) -> None:
    made = ids(memory.remember_many([f"n {n}" for n in range(600)]))
    seen = []
    for record in memory:
        seen.append(record.id)
        if len(seen) == 100:
            memory.forget(made[:50] + made[550:])
    assert seen == sorted(set(seen))
    assert seen[:100] == made[:100]
    assert set(made[256:550]) <= set(seen)
    assert not set(seen) & set(made[550:])


def test_stats_tell_what_is_there(memory: Memory, store_path: Path) -> None:
    memory.remember_many(["a", "b", "c"], tier="semantic")
    memory.forget(memory.remember("gone").id)
    stats = memory.stats()
    assert stats["records"] == 3
    assert stats["tiers"]["semantic"] == {"records": 3, "tombstones": 0, "partitions": 1}
    assert stats["tiers"]["episodic"] == {"records": 0, "tombstones": 1, "partitions": 1}
    assert (stats["dim"], stats["model"], stats["mode"]) == (DIM, "fake-32", "rw")
    assert stats["durability"] == "strict"
    assert stats["path"] == str(store_path)
    real = sum(f.stat().st_size for f in store_path.rglob("*.mem"))
    assert stats["bytes"]["partitions"] == real
    assert stats["kernel"]["name"]
    memory.recall("hello there")
    memory.recall("hello there")
    assert memory.stats()["embedding_cache"]["hits"] >= 1


def test_a_failing_embedder_stores_nothing_and_never_a_zero_vector(store_path: Path) -> None:
    embedder = FailingEmbedder(fail_from=2)
    with spector.open(store_path, embedder=embedder, config=Config(batch_records=2)) as memory:
        record = memory.remember("first")
        with pytest.raises(spector.EmbeddingError):
            memory.remember_many(["a", "b", "c", "d"])
        assert texts(memory) == ["first", "a", "b"]
        for call in (
            lambda: memory.remember("x"),
            lambda: memory.update(record.id, text="y"),
            lambda: memory.recall("never seen cue"),
        ):
            with pytest.raises(spector.EmbeddingError):
                call()
        assert memory.get(record.id) == record
        assert memory.remember("with a vector", vector=vector(1)).text == "with a vector"
        assert memory.check().ok


class _WrongEmbedder(FakeEmbedder):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer

    def embed(self, texts: Any) -> Any:
        return self._answer(super().embed(texts))


@pytest.mark.parametrize(
    "answer",
    [
        lambda v: v * 0,
        lambda v: v * float("nan"),
        lambda v: v * float("inf"),
        lambda v: v[:, :-1],
        lambda v: v[:-1],
        lambda v: v[0],
        lambda v: None,
        lambda v: "vectors",
        lambda v: [[None] * DIM],
    ],
    ids=(
        "zeros | NaN | infinity | short rows | a row missing | one row | None | text | Nones"
    ).split(" | "),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("cache", [0, 16])
def test_what_an_embedder_answers_is_checked(answer: Any, cache: int) -> None:
    config = Config(cache_entries=cache)
    with spector.open(":memory:", embedder=_WrongEmbedder(answer), config=config) as memory:
        with pytest.raises(spector.EmbeddingError):
            memory.remember("x")
        with pytest.raises(spector.EmbeddingError):
            memory.recall("y")
        assert len(memory) == 0
