"""What ends takes along what was derived from it alone.

Mechanism: reads leave out, with what has expired, what is derived from nothing else; retiring and
reactivating change it in the same commit; a new text of a memory that was read is read, too.
Damage without it: a fact with the words of a memory that is over still answers. Guard: each way to
end, asked through every list, recall and count, and writes that meet what has ended before it is
erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import spector
from spector import ManualClock, Memory
from spector.arguments import SORTS
from tests.fakes import FakeEmbedder

ALL = ["dormant", "superseded", "quarantined", "derived"]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock("2026-06-01T09:00:00Z")


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with spector.open(":memory:", clock=clock, embedder=FakeEmbedder(16)) as opened:
        yield opened


def said(memory: Memory, include: Any = ()) -> str:
    """All that answers have, which is to name nothing that has ended."""
    facts = memory.facts
    return " | ".join(
        map(
            str,
            [
                *(each.text for each in memory.records(include=include, sorts=SORTS)),
                *(each.text for each in memory.recall("Petra Oulu", k=50, include=["derived"])),
                memory.context("Where does Petra live?", always=True),
                facts.query(),
                facts.about("Petra"),
                facts.traverse("Petra"),
                facts.query(as_of="2026-06-01T09:00:00Z"),
            ],
        )
    )


def learned(memory: Memory, text: str = "Petra lives in Oulu.", **fields: Any) -> int:
    record = memory.remember(text, **fields)
    memory.facts.learn(record)
    return record.id


def test_with_an_expired_memory_its_facts_are_over(memory: Memory, clock: ManualClock) -> None:
    learned(memory, expires_in=60)
    assert "Oulu" in said(memory)
    assert memory.stats()["cognition"]["facts"]["count"] == 1
    clock.advance(seconds=61)
    assert "Oulu" not in said(memory, ALL)
    assert (len(memory), memory.count(), memory.count(sorts=SORTS)) == (0, 0, 0)
    assert memory.stats()["cognition"]["facts"]["count"] == 0
    assert memory.entities.all() == []
    assert memory.check().ok


def test_a_fact_is_over_with_the_validity_of_all_who_state_it(
    memory: Memory, clock: ManualClock
) -> None:
    learned(memory, valid_until="2026-06-02T00:00:00Z")
    later = learned(memory, "Petra lives in Oulu now.", valid_until="2026-06-03T00:00:00Z")
    facts = memory.facts
    for hours, held in ((0, 1), (24, 1), (48, 0)):
        clock.set(datetime(2026, 6, 1, 9, tzinfo=UTC) + timedelta(hours=hours))
        found = (facts.query(), facts.about("Petra"), facts.traverse("Petra"))
        assert [len(each) for each in found] == [held] * 3
        assert memory.stats()["cognition"]["facts"]["count"] == held
    assert len(facts.query(as_of="2026-06-02T12:00:00Z")) == 1
    memory.update(later, valid_until=None)
    assert len(facts.query()) == 1


@pytest.mark.parametrize("key", [None, "home"])
def test_a_fact_ends_with_the_last_memory_that_is_superseded(
    memory: Memory, key: str | None
) -> None:
    first = learned(memory)
    second = learned(memory, "Petra lives in Oulu, as ever.")
    memory.remember("Petra has left the town.", supersedes=first)
    (fact,) = memory.facts.query()
    last = memory.remember("Nobody is there.", supersedes=second, key=key)
    assert memory.facts.query() == []
    assert memory.get(fact.id).superseded_by == (last.id,)
    memory.forget(last)
    memory.reinstate(second)
    assert [each.id for each in memory.facts.query()] == [fact.id]


def test_a_fact_lives_until_its_last_source_ends(memory: Memory, clock: ManualClock) -> None:
    learned(memory, expires_in=60)
    learned(memory, expires_in=120)
    clock.advance(seconds=61)
    assert len(memory.facts.query()) == 1
    clock.advance(seconds=60)
    assert "Oulu" not in said(memory, ALL)


def test_a_use_that_moves_the_end_keeps_the_fact(memory: Memory, clock: ManualClock) -> None:
    learned(memory, expires_in=60, refresh=True)
    clock.advance(seconds=50)
    assert memory.recall("Petra Oulu")
    clock.advance(seconds=50)
    assert len(memory.facts.query()) == 1
    clock.advance(seconds=50)
    assert "Oulu" not in said(memory, ALL)


@pytest.mark.parametrize(
    "write",
    [
        lambda m: m.facts.add("Petra", "lives_in", "Oulu"),
        lambda m: m.facts.add("Petra", "lives_in", "Turku"),
        lambda m: m.observe("Petra lives in Oulu."),
        lambda m: m.observe("Petra lives in Turku."),
        lambda m: learned(m),
        lambda m: learned(m, "Petra lives in Turku."),
    ],
)
def test_what_ended_is_in_no_write_s_way(
    memory: Memory, clock: ManualClock, write: Callable[[Memory], Any]
) -> None:
    learned(memory, expires_in=60)
    clock.advance(seconds=61)
    write(memory)
    assert len(memory.facts.query(subject="Petra", predicate="lives_in")) == 1
    assert memory.check().ok


def test_a_retired_memory_takes_its_facts_to_rest_and_back(memory: Memory) -> None:
    first, second = learned(memory), learned(memory)
    memory.retire(first)
    assert len(memory.facts.query()) == 1, "it has another source"
    memory.retire(second)
    assert "Oulu" not in said(memory)
    memory.reactivate(first)
    assert len(memory.facts.query()) == 1
    assert "Oulu" in said(memory)


def test_retiring_leaves_an_immutable_fact_and_names_what_was_asked_for(memory: Memory) -> None:
    source = learned(memory)
    assert [each.id for each in memory.retire(source)] == [source]
    assert [each.id for each in memory.reactivate(source)] == [source]
    (fact,) = memory.facts.query()
    memory.update(fact.id, immutable=True)
    memory.retire(source)
    assert not memory.get(fact.id).dormant


@pytest.mark.parametrize("read", ["observe", "learn"])
def test_an_updated_text_is_read_anew(memory: Memory, read: str) -> None:
    if read == "observe":
        target = memory.observe("Petra lives in Oulu.").records[0].id
    else:
        target = learned(memory)
    memory.update(target, text="Petra lives in Turku.")
    assert "Oulu" not in said(memory, ALL)
    assert [each.object for each in memory.facts.query(subject="Petra")] == ["Turku"]
    assert {each.name for each in memory.entities.all()} >= {"Petra", "Turku"}


def test_what_was_never_read_is_not_read_when_it_changes(memory: Memory) -> None:
    target = memory.remember("Petra lives in Oulu.")
    memory.update(target, text="Petra lives in Turku.")
    assert memory.facts.query() == []
