"""Many memories, one after the other, in one commit.

Mechanism: the steps of a series read what the steps before them have written. Damage without it: a
batch that decides otherwise than single calls, half of a batch after a crash, a dry run that leaves
something behind. Guard: a series beside single commits, errors in the middle, the bytes of a store
around a dry run.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory
from spector.errors import UnknownRecordError
from spector.knowledge import Changes, New
from spector.layout import Flag
from spector.write import ChangedError, Ready, Series


def ready(memory: Memory, *texts: str, **fields: Any) -> list[Ready]:
    series = memory._parts.series
    return series.ready(series.drafts([(text, fields) for text in texts]))


def edge(source: Any, target: Any) -> Changes:
    changes = Changes()
    changes.put(
        "edge",
        source_id=source,
        kind="causes",
        target_id=target,
        weight=0.5,
        confidence=0.5,
        origin="test",
        created_ms=0,
        note=None,
    )
    return changes


def digest(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "-shm" not in path.name
    }


def test_a_step_sees_what_the_steps_before_it_stored(memory: Memory) -> None:
    first, second = ready(memory, "Ada lives in Kars.", "Ada lives in Van.")

    def work(series: Series) -> list[int]:
        old = series.store(first)
        assert series.living([old.id])[old.id].text == "Ada lives in Kars."
        new = series.store(second, supersedes=(old.id,))
        assert second.draft.supersedes == (), "a second try begins with the same draft"
        assert series.living([old.id])[old.id].superseded
        return [old.id, new.id]

    old, new = memory._parts.series.commit(work)
    assert memory.get(old).superseded_by == (new,)
    assert [each.id for each in memory.history(new)] == [old, new]
    assert memory.check().ok


def test_a_memory_of_the_same_commit_is_strengthened(memory: Memory) -> None:
    (one,) = ready(memory, "Ada keeps bees.")
    parts = memory._parts

    def work(series: Series) -> int:
        made = series.store(one)
        for count in (1, 2):
            after = series.change(made.id, parts.changer.reinforcing(True))
            assert after.access_count == count
        return made.id

    record = memory.get(parts.series.commit(work))
    assert record.access_count == 2
    assert record.utility == pytest.approx(0.595)
    assert memory.check().ok


def test_rows_and_memories_come_together(memory: Memory) -> None:
    one, two = ready(memory, "The disk was full.", "The build failed.")

    def work(series: Series) -> tuple[int, int]:
        a, b = series.store(one), series.store(two)
        series.put(edge(New(0), New(1)), {0: a.id, 1: b.id})
        found = series.reader.edges([a.id])
        assert [each.target for each in found] == [b.id], "the next step sees the row"
        return a.id, b.id

    a, b = memory._parts.series.commit(work)
    assert [(each.source, each.target) for each in memory.graph.edges(a)] == [(a, b)]


def test_an_error_in_the_middle_leaves_nothing(memory: Memory) -> None:
    one, two = ready(memory, "Ada keeps bees.", "Bob keeps goats.")
    kept = memory.remember("Carl keeps cows.")

    def work(series: Series) -> None:
        made = series.store(one)
        series.put(edge(kept.id, made.id))
        series.change(kept.id, memory._parts.changer.reinforcing(True))
        raise RuntimeError("the third step fails")

    with pytest.raises(RuntimeError, match="third step"):
        memory._parts.series.commit(work)
    assert [each.id for each in memory.records()] == [kept.id]
    assert memory.get(kept.id).access_count == 0
    assert memory._parts.series.commit(lambda series: series.store(two).text) == "Bob keeps goats."
    assert memory.check().ok


def test_a_dry_run_answers_and_changes_no_byte(store_path: Path, clock: Any) -> None:
    from tests.fakes import FakeEmbedder

    with spector.open(str(store_path), embedder=FakeEmbedder(dim=32), clock=clock) as memory:
        old = memory.remember("Ada lives in Kars.")
        memory.checkpoint()
        (one,) = ready(memory, "Ada lives in Van.", supersedes=[old.id])
        before = digest(store_path)

        def work(series: Series) -> str:
            made = series.store(one)
            series.put(edge(old.id, made.id))
            return series.living([made.id])[made.id].text

        assert memory._parts.series.commit(work, dry_run=True) == "Ada lives in Van."
        assert digest(store_path) == before
        assert not memory.get(old.id).superseded
        assert [each.id for each in memory.records()] == [old.id]


def test_a_series_that_changes_nothing_commits_nothing(memory: Memory) -> None:
    memory.remember("Ada keeps bees.")
    before = memory._parts.series.moment()
    assert memory._parts.series.commit(lambda series: 7) == 7
    assert memory._parts.series.moment() == before


def test_work_for_an_earlier_moment_is_not_done(memory: Memory) -> None:
    series = memory._parts.series
    since = series.moment()
    memory.remember("Ada keeps bees.")
    done: list[int] = []
    with pytest.raises(ChangedError):
        series.commit(lambda each: done.append(1), since=since)
    assert done == []
    series.commit(lambda each: done.append(2), since=series.moment())
    assert done == [2]


def test_unknown_memories_are_named(memory: Memory) -> None:
    with pytest.raises(UnknownRecordError):
        memory._parts.series.commit(
            lambda series: series.change(5, memory._parts.changer.reinforcing(True))
        )
    assert memory._parts.series.commit(lambda series: series.living([5])) == {}


def test_many_steps_are_found_again_after_reopening(store_path: Path, clock: Any) -> None:
    from tests.fakes import FakeEmbedder

    texts = [f"Event number {n} was on the list." for n in range(150)]
    with spector.open(str(store_path), embedder=FakeEmbedder(dim=32), clock=clock) as memory:
        items = ready(memory, *texts, user_id="u")
        calls: list[str] = []
        memory.layers["episodes"].register_capture_callback(
            lambda layer, record: calls.append(record.text)
        )
        memory._parts.series.commit(lambda series: [series.store(each) for each in items])
        assert calls == texts, "the callbacks are called after the commit, in order"
        assert memory.recall("event number 77", user_id="u")
    with spector.open(str(store_path), embedder=FakeEmbedder(dim=32), clock=clock) as memory:
        assert [each.text for each in memory.records()] == texts
        assert memory.check().ok


def test_a_name_before_a_colon_speaks_as_in_remember(memory: Memory) -> None:
    series = memory._parts.series
    drafts = series.drafts(
        [(text, {"session_id": "s"}) for text in ("Ann: I moved to Kars.", "Ann: I like it here.")]
    )
    earlier = series.speakers(drafts)
    assert earlier == {}
    assert [draft.metadata for draft in drafts] == [{"speaker": "Ann"}, {"speaker": "Ann"}]
    series.commit(lambda each: [each.store(one) for one in series.ready(drafts)])
    late = series.drafts([("Ann: I have a dog.", {"session_id": "s"})])
    series.speakers(late)
    assert late[0].metadata == {"speaker": "Ann"}


def test_a_flag_set_in_a_series_is_in_the_partition(memory: Memory) -> None:
    (one,) = ready(memory, "Ada keeps bees.", pinned=True)
    made = memory._parts.series.commit(lambda series: series.store(one, 0.7))
    record = memory.get(made.id)
    assert record.pinned
    assert record.importance == pytest.approx(0.7, abs=1e-6)
    assert Flag.PINNED in made.flags
