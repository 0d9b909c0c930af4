"""Compare and swap: a memory with a key changes only from the revision that a caller has read.

Mechanism: ``if_revision`` is compared under the writer's lock, before anything is staged. Damage
without it: two agents read a plan, both change it, and the first change is lost in silence. Guard:
each verb, each item of a batch, threads; processes are in tests/sharing.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import ConflictError, InvalidInputError, ManualClock, Memory, UnknownRecordError
from spector.cli.main import main
from tests.fakes import FakeEmbedder
from tests.sharing.workers import increment


def test_a_key_is_made_once(memory: Memory) -> None:
    made = memory.remember("one", key="k", if_revision=0)
    with pytest.raises(ConflictError, match="has revision 1, and if_revision is 0") as caught:
        memory.remember("two", key="k", if_revision=0)
    assert caught.value.current == made
    with pytest.raises(ConflictError, match="is not there") as caught:
        memory.remember("two", key="other", if_revision=3)
    assert caught.value.current is None
    assert [each.text for each in memory.records()] == ["one"]
    assert memory.remember("two", key="k", namespace="a", if_revision=0).revision == 1
    assert memory.remember("two", key="k", user_id="u", if_revision=0).revision == 1


def test_each_verb_compares(memory: Memory) -> None:
    memory.remember("one", key="k")
    second = memory.remember("two", key="k", if_revision=1)
    assert second.revision == 2
    for stale in (0, 1, 3):
        calls: list[Any] = [
            lambda n: memory.remember("x", key="k", if_revision=n),
            lambda n: memory.update(second, text="x", if_revision=n),
            lambda n: memory.update(key="k", tags=["x"], if_revision=n),
            lambda n: memory.forget(second, if_revision=n),
            lambda n: memory.forget(key="k", if_revision=n, purge=True),
        ]
        for call in calls:
            with pytest.raises(ConflictError) as caught:
                call(stale)
            assert caught.value.current == memory.get(key="k")
    third = memory.update(second, text="three", if_revision=2)
    assert third.revision == 3
    assert memory.forget(key="k", if_revision=3).ids == (second.id,)
    with pytest.raises(UnknownRecordError):
        memory.update(second, text="x", if_revision=3)
    assert memory.remember("anew", key="k", if_revision=0).revision == 1


def test_a_key_without_a_memory_is_a_conflict(memory: Memory) -> None:
    memory.remember("of a session", key="hidden", session_id="s")
    calls: list[Any] = [
        lambda **given: memory.update(text="x", **given),
        lambda **given: memory.forget(**given),
        lambda **given: memory.forget(purge=True, **given),
    ]
    for call in calls:
        for given in ({"key": "none"}, {"key": "hidden", "session_id": "t"}):
            with pytest.raises(ConflictError, match="is not there, and if_revision is 2") as caught:
                call(if_revision=2, **given)
            assert caught.value.current is None
            for expected in (0, None):  # it is as expected, and there is nothing to change
                with pytest.raises(UnknownRecordError):
                    call(if_revision=expected, **given)
    for gone in (memory.update, memory.forget):
        with pytest.raises(UnknownRecordError):
            gone(12345, if_revision=2, **({"text": "x"} if gone == memory.update else {}))  # type: ignore[operator]


def test_a_guard_lets_no_conflict_tell_of_others(memory: Memory) -> None:
    made = memory.remember("of ada", key="k", user_id="ada", session_id="s")
    for guard in ({"user_id": "bo"}, {"session_id": "t", "user_id": "ada"}):
        with pytest.raises(UnknownRecordError):
            memory.update(made.id, text="x", if_revision=9, **guard)  # type: ignore[arg-type]
        with pytest.raises(UnknownRecordError):
            memory.forget(made.id, if_revision=9, **guard)
    assert memory.remember("of bo", key="k", user_id="bo", if_revision=0).revision == 1


def test_an_item_of_many_refuses_its_batch_and_keeps_those_before(tmp_path: Path) -> None:
    config = spector.Config(batch_records=2)
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), config=config) as memory:
        memory.remember("held", key="b")
        items = [
            {"text": "first", "key": "a", "if_revision": 0},
            {"text": "second"},
            {"text": "third"},
            {"text": "fourth", "key": "b", "if_revision": 0},
        ]
        with pytest.raises(ConflictError) as caught:
            memory.remember_many(items)
        assert caught.value.current.text == "held"
        assert [each.text for each in memory.records()] == ["held", "first", "second"]
        with pytest.raises(InvalidInputError, match="given twice"):
            memory.remember_many([{"text": str(n), "key": "c", "if_revision": n} for n in (0, 1)])
        assert memory.count() == 3
        assert memory.check().ok


def test_a_conflict_comes_before_what_a_tier_in_memory_keeps() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        memory.remember("held", key="k")
        passing = {"text": "passing", "tier": "working"}
        with pytest.raises(ConflictError):
            memory.remember_many([passing, {"text": "x", "key": "k", "if_revision": 5}])
        assert [each.text for each in memory.records()] == ["held"]


def test_what_has_expired_is_not_there(memory: Memory, clock: ManualClock) -> None:
    memory.remember("soon over", key="k", expires_in=60)
    clock.advance(seconds=61)
    assert memory.remember("anew", key="k", if_revision=0).revision == 1


def test_only_one_memory_with_a_key_has_a_revision(memory: Memory) -> None:
    plain, other = memory.remember("x"), memory.remember("y", key="k")
    with pytest.raises(InvalidInputError, match="without a key"):
        memory.remember("z", if_revision=0)
    for number in (0, 1):
        with pytest.raises(InvalidInputError, match="has no key"):
            memory.update(plain, text="z", if_revision=number)
        with pytest.raises(InvalidInputError, match="has no key"):
            memory.forget(plain, if_revision=number)
    with pytest.raises(InvalidInputError, match="of one memory"):
        memory.forget([plain, other], if_revision=1)
    with pytest.raises(InvalidInputError, match="of one memory"):
        memory.forget(tags=["t"], if_revision=1)
    assert len(memory) == 2


def test_threads_lose_no_update(tmp_path: Path) -> None:
    errors: list[BaseException] = []
    lost: list[int] = []
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:

        def work() -> None:
            try:
                lost.extend(increment(memory) for _ in range(20))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert errors == []
        assert sum(lost) > 0, "no two of them ever met"
        found = memory.get(key="n")
        assert (found.text, found.revision) == ("160", 160)
        assert memory.check().ok


def test_words_and_revision_that_are_read_are_of_one_moment(tmp_path: Path) -> None:
    """A text of before with the revision of after would let a stale change pass."""
    ended = threading.Event()
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        memory.remember("1", key="n")

        def write() -> None:
            for n in range(2, 200):
                memory.remember(str(n), key="n")
            ended.set()

        writer = threading.Thread(target=write)
        writer.start()
        torn = []
        while not ended.is_set():
            found = [memory.get(key="n"), *memory.records(), *memory.records(limit=1)]
            found += [hit.record for hit in memory.recall("n")]
            torn += [each for each in found if int(each.text) != each.revision]
        writer.join()
        assert torn == []


def test_the_command_line_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "mind")
    assert main(["remember", path, "one", "--key", "k", "--if-revision", "0"]) == 0
    assert main(["remember", path, "two", "--key", "k", "--if-revision", "0"]) == 2
    assert "has revision 1, and if_revision is 0" in capsys.readouterr().err
    assert main(["update", path, "two", "--key", "k", "--if-revision", "1"]) == 0
    assert main(["update", path, "three", "--key", "k", "--if-revision", "1"]) == 2
