"""Many memories at once are the same memories one by one: every row, every byte, every error."""

from __future__ import annotations

import copy
import dataclasses
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
from spector.clock import ManualClock
from tests.conftest import NOW

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
        at_once = many.remember_many(items)
        one_by_one = [single.remember(each) for each in items]
        assert at_once == one_by_one
        assert list(many) == list(single)
        for record in list(many)[:3]:  # which is made one by one from its row
            assert many.get(record.id) == record
        assert many.check().ok


@given(items=st.lists(item, min_size=1, max_size=12))
@settings(max_examples=15)
def test_the_catalog_and_the_bytes_are_the_same(items: list[dict[str, Any]]) -> None:
    for n, each in enumerate(items):
        each["vector"] = vector(n)
        if each.get("tier") == "working":
            each["tier"] = "semantic"
    with open_at(":memory:") as many, open_at(":memory:") as single:
        many._parts.store.uuid = single._parts.store.uuid  # it is part of the checksum
        many.remember_many(items)
        for each in items:
            single.remember(each)
        assert dump(many) == dump(single)


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
