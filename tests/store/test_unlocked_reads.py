"""Threads that read while another one commits, without the store's lock.

Mechanism: a reading thread asked a partition how many records it has, and, before it had cut the
map to that many, the writer had one more. Damage: a walk ended in a ValueError; and a thread that
found the map too short opened the partition's file and closed it, maybe under the writer's hands.
Guard: who has not the lock takes the last snapshot; who needs more waits for the lock.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.store.core.store import Store
from spector.store.partitions.segment import Segment
from tests.crash.workload import open_tiny, vector_of


def _store(memory: spector.Memory) -> Store:
    return next(each for each in memory._parts.router.stores() if each.files.durable)


def _fill(memory: spector.Memory, count: int) -> list[int]:
    return [
        memory.remember(f"text {n}", vector=vector_of(f"{n}"), user_id="ada").id
        for n in range(count)
    ]


def test_records_are_cut_to_the_row_that_was_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Segment.bytes_used

    def meanwhile(segment: Segment, slots: int | None = None) -> int:
        found = real(segment, slots)
        segment.row = replace(segment.row, slots=segment.row.slots + 1)
        return found

    with open_tiny(str(tmp_path / "mind")) as memory:
        _fill(memory, 2)
        segment = _store(memory).segments[1]
        row = segment.row
        monkeypatch.setattr(Segment, "bytes_used", meanwhile)
        found = segment.records()
        monkeypatch.undo()
        segment.row = row
        assert len(found) == 2


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_who_reads_without_the_lock_takes_the_last_snapshot(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "mind")
    with open_tiny(path) as memory:
        made = _fill(memory, 9)
    with open_tiny(path, mode=mode) as memory:
        store, real = _store(memory), Segment.records
        memory.recall("text", vector=vector_of("1"))

        def guarded(segment: Segment) -> Any:
            assert store.lock._is_owned(), "read without the lock"  # type: ignore[attr-defined]
            return real(segment)

        monkeypatch.setattr(Segment, "records", guarded)
        assert [record.id for record in memory] == made
        assert memory.get(made[3]).text == "text 3"
        assert len(memory.recall("text", vector=vector_of("1"), k=20)) == 9
        assert memory.export(tmp_path / "out.jsonl") == 9
        if mode == "rw":
            memory.update(made[1], text="other", vector=vector_of("other"))
            assert memory.get(made[1]).text == "other"
            receipt = memory.forget(made[2], purge=True, verify=True).receipt
            assert receipt is not None
            assert receipt.complete


@pytest.mark.parametrize("ask", ["get", "walk"])
def test_what_no_snapshot_has_yet_is_waited_for(
    tmp_path: Path, ask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a commit and the view that shows it, another thread asks for the new memory."""
    with open_tiny(str(tmp_path / "mind")) as memory:
        _fill(memory, 2)
        store, found, threads = _store(memory), list[str](), list[threading.Thread]()
        publish = Store.publish

        def late(self: Store, *given: Any) -> None:
            def look() -> None:
                texts = (
                    [record.text for record in memory]
                    if ask == "walk"
                    else [
                        memory.get(made).text
                        for (made,) in self.catalog.main.execute("SELECT max(id) FROM record")
                    ]
                )
                found.extend(texts)

            if self is store and not threads:
                threads.append(threading.Thread(target=look))
                threads[0].start()
                threads[0].join(0.3)  # it waits for the lock, which this thread has
            publish(self, *given)

        monkeypatch.setattr(Store, "publish", late)
        memory.remember("the new one", vector=vector_of("new"))
        threads[0].join(10)
        assert not threads[0].is_alive()
        assert "the new one" in found
