"""Many memories, one after the other, in one commit.

Mechanism: the steps of a series read what the steps before them have written. Damage without it: a
batch that decides otherwise than single calls, half of a batch after a crash, a dry run that leaves
something behind. Guard: a series beside single commits, errors in the middle, the bytes of a store
around a dry run.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spector
from spector import Memory
from spector.clock import ManualClock
from spector.errors import UnknownRecordError
from spector.knowledge import Changes, New
from spector.layout import Flag
from spector.store.core import snapshots as partition_set
from spector.store.core import transaction
from spector.store.files.disk import DiskFile
from spector.write import ChangedError, Ready, Series
from tests.conftest import NOW


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


def test_a_flag_set_in_a_series_is_in_the_partition(memory: Memory) -> None:
    (one,) = ready(memory, "Ada keeps bees.", pinned=True)
    made = memory._parts.series.commit(lambda series: series.store(one, 0.7))
    record = memory.get(made.id)
    assert record.pinned
    assert record.importance == pytest.approx(0.7, abs=1e-6)
    assert Flag.PINNED in made.flags


# -- Many memories at once are the same memories one by one: every row, every byte, every error ----


DIM = 8
TABLES = ("record", "content", "record_tag", "fulltext_docsize")
#: all but the number of its partition, which depends on the order in which partitions are made
PLACED = (
    "id, slot, event_ms, recorded_ms, valid_from_ms, valid_until_ms, session_id, agent_id,"
    " user_id, mutable"
)


def open_at(path: Path | str, **options: Any) -> spector.Memory:
    options = {"embedder": None, "dim": DIM, "clock": ManualClock(NOW)} | options
    return spector.open(path, **options)


def vector(seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(DIM).astype(np.float32)


def dump(memory: spector.Memory) -> dict[str, list[Any]]:
    """Everything that the lasting catalog holds of records, and their bytes, in order of id."""
    store = memory._parts.store
    db = store.catalog.main
    found = {
        table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES[1:]
    }
    found["record"] = db.execute(f"SELECT {PLACED} FROM record ORDER BY id").fetchall()
    found["bytes"] = [
        store.record_image(segment_id, slot).tobytes()
        for segment_id, slot in db.execute("SELECT segment_id, slot FROM record ORDER BY id")
    ]
    return found


#: a short label, with and without what lies outside of ASCII
words = st.sampled_from(["home", " home ", "wórk", "zoë", "x" * 40])
optional_label = st.none() | words.map(str.strip)
metadata = st.dictionaries(
    words,
    st.none()
    | st.booleans()
    | st.integers(-9, 1 << 60)
    | st.floats(-9, 9)
    | words
    | st.lists(st.integers(0, 3), max_size=2),
    max_size=3,
)
item = st.fixed_dictionaries(
    {"text": st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20).map("a".__add__)},
    optional={
        "tags": st.none() | st.lists(words, max_size=3) | words,
        "importance": st.none() | st.floats(0, 1) | st.integers(0, 1),
        "valence": st.floats(-1, 1),
        "arousal": st.floats(0, 1),
        "confidence": st.none() | st.floats(0, 1),
        "event_time": st.none()
        | st.timedeltas(timedelta(days=-3), timedelta(days=1)).map(NOW.__add__),
        "valid_from": st.none() | st.just(NOW - timedelta(days=1)),
        "valid_until": st.none() | st.just("2027-01-01"),
        "metadata": st.none() | metadata,
        "session_id": optional_label,
        "agent_id": optional_label,
        "user_id": optional_label,
        "role": optional_label,
        "source": optional_label,
        "pinned": st.booleans(),
        "immutable": st.none() | st.booleans(),
        "unresolved": st.booleans(),
        "category": st.sampled_from([None, "fact", 3]),
        "modality": st.sampled_from(["code", None]),
        "parents": st.lists(st.integers(0, 1 << 40), max_size=2),
        "tier": st.sampled_from([None, "episodic", "semantic", "procedural", "working"]),
    },
)


@given(items=st.lists(item, min_size=1, max_size=12), batch=st.sampled_from([1, 3, 8192]))
@settings(max_examples=30)
def test_many_at_once_are_what_they_are_one_by_one(items: list[dict[str, Any]], batch: int) -> None:
    for n, each in enumerate(items):
        each["vector"] = vector(n)
    config = spector.Config(batch_records=batch, working_capacity=4)
    with open_at(":memory:", config=config) as many, open_at(":memory:", config=config) as single:
        many._parts.store.uuid = single._parts.store.uuid  # it is part of the checksum
        at_once = many.remember_many(items)
        one_by_one = [single.remember(each) for each in items]
        assert at_once == one_by_one
        assert list(many) == list(single)
        assert dump(many) == dump(single)
        for record in list(many)[:3]:  # which is made one by one from its row
            assert many.get(record.id) == record
        assert single.check().ok


def test_every_memory_of_a_batch_is_found_by_its_words_alone(store_path: Path) -> None:
    """Also where the batch is split over tiers, so that ids of one tier are not consecutive."""
    tiers = ["episodic", "semantic", "working"]
    items = [
        {"text": f"word{n}", "vector": vector(n), "tier": tiers[n % 3], "tags": ["t"]}
        for n in range(30)
    ]
    with open_at(store_path) as memory:
        records = memory.remember_many(items)
        for n, record in enumerate(records):
            assert [hit.id for hit in memory.recall(f"word{n}", k=1)] == [record.id]
        for opened in memory._parts.access.opened:
            db: sqlite3.Connection = opened.store.catalog.main
            counts = {db.execute(f"SELECT count(*) FROM {table}").fetchone() for table in TABLES}
            assert len(counts) == 1
        assert memory.check().ok


def test_a_record_of_a_batch_is_like_any_other() -> None:
    with open_at(":memory:") as memory:
        record = memory.remember_many(["a", "x"], vector=vector(1))[1]
        fields = {each.name: getattr(record, each.name) for each in dataclasses.fields(record)}
        assert spector.MemoryRecord(**fields) == record
        assert copy.deepcopy(record) == record
        assert dataclasses.replace(record, text="b").text == "b"
        with pytest.raises(dataclasses.FrozenInstanceError):
            record.text = "b"  # type: ignore[misc]


@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"vector": [float("nan")] * DIM}, "the vector holds NaN or infinity"),
        ({"vector": np.full(DIM, np.inf, np.float32)}, "the vector holds NaN or infinity"),
        ({"vector": np.zeros(DIM, np.float32)}, "the vector is all zeros"),
        ({"vector": np.ones(DIM + 1, np.float32)}, "the vector has 9 components"),
        ({"tags": ["fine", ["not"]]}, "a tag must be a str, got list"),
        ({"tags": ["fine", 1]}, "a tag must be a str, got int"),
        ({"importance": float("nan")}, "importance is nan"),
        ({"importance": 1.5}, "importance is 1.5"),
        ({"metadata": {1: "x"}}, "metadata must be a dict with str keys"),
        ({"metadata": {"x": float("nan")}}, "metadata cannot be stored as JSON"),
        ({"metadata": {"x": "\0"}}, "metadata holds a NUL character"),
        ({"text": "  "}, "the text is empty"),
        ({"text": "\ud800"}, "the text cannot be stored as UTF-8"),
        ({"event_time": NOW.replace(tzinfo=None)}, "has no time zone"),
        ({"tier": "nowhere"}, "unknown tier"),
    ],
)
def test_one_bad_item_stops_its_batch_and_names_itself(
    place: int, fault: dict[str, Any], message: str
) -> None:
    items = [{"text": f"t{n}", "vector": vector(n), "tags": ["fine"]} for n in range(5)]
    items[place] = items[place] | fault
    with open_at(":memory:", config=spector.Config(batch_records=2)) as memory:
        with pytest.raises(spector.SpectorError, match=message) as caught:
            memory.remember_many(items)
        stored = place // 2 * 2
        assert caught.value.__notes__ == [
            f"item {place} or later failed; the first {stored} are stored"
        ]
        assert len(memory) == stored
        assert memory.check().ok


def test_what_a_caller_reuses_for_the_next_item_does_not_change_the_last() -> None:
    buffer, tags, metadata = np.ones(DIM, np.float32), ["t0"], {"n": 0}
    message: dict[str, Any] = {"vector": buffer, "tags": tags, "metadata": metadata}

    def items() -> Iterator[dict[str, Any]]:
        for n in range(4):
            buffer[:] = vector(n)
            tags[0], metadata["n"], message["text"] = f"t{n}", n, f"text {n}"
            yield message

    with open_at(":memory:") as memory:
        records = memory.remember_many(items())
        assert [(r.text, r.tags, r.metadata) for r in records] == [
            (f"text {n}", (f"t{n}",), {"n": n}) for n in range(4)
        ]
        for n, record in enumerate(records):
            assert memory.recall(vector=vector(n), k=1, profile="similarity")[0].id == record.id


# -- A batch may touch more partitions than a process may have descriptors -------------------------


KEPT, EVERY = 6, 5
DAYS = 60


class _Opened:
    """How many files of partitions are open, and how many were at most."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = 0
        self.now: set[DiskFile] = set()
        self.synced: set[str] = set()
        init, close, sync = DiskFile.__init__, DiskFile.close, DiskFile.sync

        def opened(file: DiskFile, fd: int, path: str) -> None:
            init(file, fd, path)
            if path.endswith(".mem"):
                self.now.add(file)
                self.most = max(self.most, len(self.now))

        def closed(file: DiskFile) -> None:
            self.now.discard(file)
            close(file)

        def synced(file: DiskFile) -> None:
            sync(file)
            self.synced.add(Path(file._path).name)

        monkeypatch.setattr(DiskFile, "__init__", opened)
        monkeypatch.setattr(DiskFile, "close", closed)
        monkeypatch.setattr(DiskFile, "sync", synced)


def test_a_batch_over_many_days_keeps_few_files_open(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_set, "OPEN_FILES", KEPT)
    monkeypatch.setattr(transaction, "_TRIM_EVERY", EVERY)
    monkeypatch.setattr(transaction, "_OPENED_BEFORE_COMMIT", EVERY)
    seen = _Opened(monkeypatch)
    texts = [f"what happened {day} days ago" for day in range(DAYS)]
    memory.remember_many(
        {"text": text, "event_time": NOW - timedelta(days=day)} for day, text in enumerate(texts)
    )
    # what the last trim left, and what was touched since
    assert seen.most <= KEPT + EVERY
    assert len(seen.synced) >= DAYS - KEPT - EVERY
    assert {hit.text for hit in memory.recall("what happened", k=DAYS)} == set(texts)
