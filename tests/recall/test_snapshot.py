"""The kernel's table follows the views of the stores.

Mechanism: every commit publishes a new view, and the next recall patches its table to it.
Damage: a patch in the wrong place scans bytes of another partition, and names the wrong memory;
a table made anew costs milliseconds after every commit of a store with thousands of partitions.
Guard: a patched table equals one made anew, and only partitions that differ are converted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.kernel.contract.scanner import Edit, Part, PartTable
from spector.kernel.dispatch import get_kernel
from spector.search.view import snapshot
from spector.search.view.snapshot import Snapshot, differences, make_snapshot
from spector.store.partitions.partition import Partition
from tests.api.helpers import own_vectors, vector
from tests.conftest import NOW

DATA = np.zeros((5, 128), np.uint8)


def partition(n: int) -> Partition:
    return Partition(
        segment_id=n, tier=1, day=n, sequence=0, state=0, slots=n % 5, live=n % 5, data=DATA
    )


#: per place of the old view: kept, gone, other version; and how many new ones come before it
Steps = list[tuple[str, int]]
steps = st.lists(st.tuples(st.sampled_from(["kept", "kept", "gone", "other"]), st.integers(0, 2)))


def turned(old: Sequence[Partition], plan: Steps) -> tuple[Partition, ...]:
    out: list[Partition] = []
    for part, (fate, before) in zip(old, plan, strict=True):
        out += [partition(1000 + part.segment_id) for _ in range(before)]
        if fate != "gone":
            out.append(part if fate == "kept" else partition(part.segment_id))
    return tuple(out)


@given(steps, st.integers(0, 2))
def test_differences_turn_one_view_into_the_other_and_touch_nothing_shared(
    plan: Steps, more: int
) -> None:
    old = tuple(partition(n) for n in range(len(plan)))
    new = (*turned(old, plan), *(partition(2000 + n) for n in range(more)))
    edits = list(differences(old, new))
    made, last = list(old), len(old)
    for start, stop, parts in reversed(edits):
        assert start <= stop <= last
        last = start
        made[start:stop] = parts
    assert [id(part) for part in made] == [id(part) for part in new]
    shared = {id(part) for part in old} & {id(part) for part in new}
    assert not shared & {id(part) for _, _, parts in edits for part in parts}


@given(steps)
def test_a_patched_table_equals_one_made_anew(plan: Steps) -> None:
    def part(each: Partition) -> Part:
        return Part(each.data, each.slots)

    old = tuple(partition(n) for n in range(len(plan)))
    new = turned(old, plan)
    table = PartTable([part(each) for each in old])
    before = (table.entries.copy(), table.parts, table.rows)
    patched = table.patched(
        [Edit(a, b, [part(each) for each in parts]) for a, b, parts in differences(old, new)]
    )
    fresh = PartTable([part(each) for each in new])
    assert (patched.entries == fresh.entries).all()
    assert (len(patched), patched.rows) == (len(fresh), fresh.rows)
    assert patched.stride == fresh.stride or not new
    assert [each.count for each in patched.parts] == [each.count for each in fresh.parts]
    assert (table.entries == before[0]).all()
    assert (table.parts, table.rows) == before[1:]


def test_a_patch_refuses_a_malformed_part() -> None:
    table = PartTable([Part(DATA, 5)])
    with pytest.raises(ValueError, match="count 6 of 5 rows"):
        table.patched([Edit(0, 1, [Part(DATA, 6)])])


def _as_made_anew(snap: Snapshot) -> None:
    fresh = make_snapshot(snap.stores, snap.views, get_kernel())
    assert snap.table.entries.tolist() == fresh.table.entries.tolist()
    assert (snap.table.rows, snap.offsets, snap.indexes) == (
        fresh.table.rows,
        fresh.offsets,
        fresh.indexes,
    )


def test_the_table_follows_every_kind_of_commit_and_converts_what_changed(
    store_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted: list[int] = []
    convert = snapshot._part

    def counted(each: Partition) -> Part:
        converted.append(each.segment_id)
        return convert(each)

    with own_vectors(store_path, durability="relaxed") as memory:
        reader = memory._parts.searcher

        def after(changed: int) -> None:
            assert len(memory.recall(vector=vector(0), k=100)) == len(memory)
            snap = reader._cached
            assert snap is not None
            assert len(converted) == changed, converted
            converted.clear()
            _as_made_anew(snap)
            converted.clear()

        made = memory.remember_many(
            [
                {"text": f"n {n}", "vector": vector(n), "event_time": NOW - timedelta(days=n)}
                for n in range(20)
            ]
        )
        monkeypatch.setattr(snapshot, "_part", counted)
        after(20)
        memory.remember("in a partition there is", vector=vector(30), event_time=NOW)
        after(1)
        memory.remember("in one between two", vector=vector(31), event_time=NOW)
        memory.remember("of long ago", vector=vector(32), event_time=NOW - timedelta(days=99))
        after(2)
        memory.remember("volatile", vector=vector(33), tier="working")
        after(1)
        memory.forget([made[3].id, made[11].id])
        after(2)
        memory.compact()
        after(0)  # the two that were emptied are gone, the others untouched
        memory.update(made[7].id, text="elsewhere", vector=vector(34))
        after(1)
        memory.recall(vector=vector(1))
        assert not converted
