"""What is known of a memory goes with it: rows, names, derived memories, and every byte of them.

Mechanism: one commit deletes a memory with what lives by it alone; a search reads every file for
the words of rows. Damage without it: a fact, a name or an alias outlives the only text that said
it. Guard: bytes of purged words, receipts that name each memory, values that other rows share.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidInputError, Memory
from spector.knowledge import (
    Changes,
    KnowledgeReader,
    plan_alias,
    plan_mentions,
    plan_merge,
    plan_split,
)
from spector.records import MemoryRecord
from spector.store.erasure import Needles, verify
from spector.store.payloads import PAYLOAD_TABLES
from tests.fakes import FakeEmbedder


def commit(memory: Memory, plan: Callable[[KnowledgeReader, Changes], Any]) -> Any:
    """What a plan returns, ids in place of placeholders, once it is committed."""
    out: list[Any] = []

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        out.append(plan(reader, changes))
        return changes

    done = memory.graph._parts.knowledge.commit(decide)
    return [done.id_of(each) for each in out[-1]] if isinstance(out[-1], list) else out[-1]


def mention(memory: Memory, record: MemoryRecord, *names: str) -> list[int]:
    counts = {(name, "person"): 1 for name in names}
    found: list[int] = commit(
        memory,
        lambda reader, changes: plan_mentions(
            reader,
            changes,
            record.user_id or "",
            record.id,
            counts,
        ),
    )
    return found


def is_left(memory: Memory, word: str) -> bool:
    """Whether a file of the store has these bytes, in any case."""
    memory.checkpoint()
    root = Path(str(memory.path))
    files = (each for each in root.rglob("*") if each.is_file())
    return any(word.casefold().encode() in each.read_bytes().lower() for each in files)


def names_in(memory: Memory) -> set[str]:
    with memory.graph._read() as reader:
        items = reader.items_of("entity")
        return {row["folded"] for rows in reader.names_of(list(items)).values() for row in rows}


def test_a_fact_goes_with_its_only_source_and_the_receipt_says_so(memory: Memory) -> None:
    only = memory.remember("Zebulon works at Quixotics", user_id="u")
    both = [memory.remember(f"Ada lives in Paris, {n}", user_id="u") for n in "xy"]
    fact = memory.facts.add("Zebulon", "works_at", "Quixotics", source=only)
    shared = memory.facts.add("Ada", "lives_in", "Paris", source=both)
    assert is_left(memory, "zebulon")
    assert is_left(memory, "quixotics")
    report = memory.forget([only, both[0]], purge=True, verify=True, user_id="u")
    assert report.receipt.complete, report.receipt
    assert report.receipt.ids == (only.id, both[0].id, fact.id)
    assert report.receipt.derived_erased == report.derived == (fact.id,)
    assert report.receipt.derived == report.lost_source == (shared.id,)
    assert "made of the others alone: 1" in str(report.receipt)
    assert memory.facts.get(shared.id).sources == (both[1].id,)
    assert not is_left(memory, "zebulon")
    assert not is_left(memory, "quixotics")
    assert memory.check().ok


def test_without_cascade_a_fact_without_source_is_listed(memory: Memory) -> None:
    source = memory.remember("Ada works at Quixotics")
    fact = memory.facts.add("Ada", "works_at", "Quixotics", source=source)
    report = memory.forget(source, purge=True, cascade=False)
    assert report.without_source == (fact.id,)
    assert report.receipt.derived == (fact.id,)
    assert report.receipt.derived_erased == ()
    assert memory.facts.get(fact.id).sources == ()


def test_an_entity_of_a_protected_fact_stays_with_it(memory: Memory) -> None:
    source = memory.remember("Zebulon works here")
    fact = memory.facts.add("Zebulon", "works", "here", source=source)
    mention(memory, source, "Zebulon", "Quixotica")
    mention(memory, fact.record, "Zebulon")
    memory.pin(fact.id)
    report = memory.forget(source, purge=True, verify=True)
    assert report.protected == report.without_source == (fact.id,)
    assert names_in(memory) == {"zebulon"}
    assert memory.check().ok


@pytest.mark.parametrize("table", PAYLOAD_TABLES, ids=lambda each: each.name)
def test_a_search_finds_a_word_that_an_erasure_left_in_a_table(memory: Memory, table: Any) -> None:
    """The words of a row are looked for, and a row that lives accounts for them."""
    columns = [each for each in table.columns if each.words]
    if not columns:
        return
    row: dict[str, Any] = {
        each.name: {int: 900, float: 0.5, str: "{}" if each.json else "plain"}[each.kind]
        for each in table.columns
    }
    word = "Quetzalcoatlus"
    for column in columns:
        text = f'{{"name":"{word}"}}' if column.json else word.lower()
        row = row | {column.name: text} | ({"sort": "concept"} if table.name == "payload" else {})
    a, b = memory.remember("one"), memory.remember("two")
    memory.graph.link(a, b, "related_to")
    memory.remember("three", key="k")
    needles = Needles()
    needles.add_knowledge([(table, row)])
    store = memory.graph._parts.store
    assert verify(store, needles).ok
    with store.exclusive(), store.transaction() as tx:
        tx.connection.execute("INSERT INTO meta VALUES ('leak', ?)", (f"x{word}".encode(),))
    memory.checkpoint()
    found = verify(store, needles)
    assert len(needles.pieces)
    with store.exclusive(), store.transaction() as tx:
        tx.connection.execute("DELETE FROM meta WHERE key = 'leak'")
        tx.connection.execute(table.insert(), table.sealed(row))
    assert verify(store, needles).ok, found


def test_words_that_other_rows_share_are_no_residue(memory: Memory) -> None:
    gone = memory.remember("one")
    stay = memory.remember("two")
    memory.graph.link(gone, stay, "related_to", note={"wherever": "Quetzalcoatlus"})
    memory.graph.link(stay, memory.remember("three"), "causes", note={"wherever": "Quetzalcoatlus"})
    memory.facts.add("Zebulon", "admires", "Quetzalcoatlus", source=gone)
    memory.facts.add("Zebulon", "ignores", "Quetzalcoatlus", source=stay)
    receipt = memory.forget(gone, purge=True, verify=True).receipt
    assert receipt.complete, receipt
    assert receipt.verification.shared
    named = memory.compact(verify=["Quetzalcoatlus"]).receipt
    assert stay.id in named.verification.living
    assert -1 not in named.verification.living


def test_a_merged_entity_loses_the_names_of_purged_memories(memory: Memory) -> None:
    first, second = memory.remember("one"), memory.remember("two")
    [kept] = mention(memory, first, "Zebulon Quirk")
    [other] = mention(memory, second, "Old Quetzal")
    commit(memory, lambda reader, changes: plan_alias(reader, changes, "", "Quetzalcoatlus", other))
    commit(memory, lambda reader, changes: plan_merge(reader, changes, kept, other))
    assert names_in(memory) == {"zebulon quirk", "old quetzal", "quetzalcoatlus"}
    receipt = memory.forget(second, purge=True, verify=True).receipt
    assert receipt.complete, receipt
    assert names_in(memory) == {"zebulon quirk"}
    assert not is_left(memory, "quetzal")
    assert memory.check().ok


def test_an_entity_goes_on_as_the_one_that_was_merged_into_it(memory: Memory) -> None:
    records = [memory.remember(text) for text in ("one", "two", "three")]
    names = ("Zebulon Quirk", "Old Quetzal", "Third Walrus")
    ids = [mention(memory, record, name)[0] for record, name in zip(records, names, strict=True)]
    commit(memory, lambda reader, changes: plan_merge(reader, changes, ids[1], ids[2]))
    commit(memory, lambda reader, changes: plan_merge(reader, changes, ids[0], ids[1]))
    memory.forget(records[0], purge=True)
    assert names_in(memory) == {"old quetzal", "third walrus"}
    assert not is_left(memory, "zebulon")
    with memory.graph._read() as reader:
        [(item, row)] = reader.items_of("entity").items()
    assert (item, row["json"]["name"]) == (ids[0], "Old Quetzal")
    commit(memory, lambda reader, changes: [plan_split(reader, changes, ids[0])])
    with memory.graph._read() as reader:
        assert {row["json"]["name"] for row in reader.items_of("entity").values()} == {*names[1:]}
    memory.forget(records[1], purge=True)
    memory.forget(records[2], purge=True)
    assert names_in(memory) == set()
    assert not is_left(memory, "quetzal")
    assert not is_left(memory, "walrus")


def test_new_words_and_another_user_leave_no_merged_name(memory: Memory) -> None:
    first, second = (memory.remember(text, user_id="a") for text in ("one", "two"))
    [kept] = mention(memory, first, "Zebulon Quirk")
    [other] = mention(memory, second, "Old Quetzal")
    commit(memory, lambda reader, changes: plan_merge(reader, changes, kept, other))
    memory.update(second.id, move_to={"user_id": "b"})
    with memory.graph._read() as reader:
        found = {
            scope: {row["json"]["name"] for row in reader.items_of("entity", scope).values()}
            for scope in "ab"
        }
    assert found == {"a": {"Zebulon Quirk"}, "b": {"Old Quetzal"}}
    assert names_in(memory) == {"zebulon quirk", "old quetzal"}
    memory.update(first.id, text="something else")
    memory.compact()
    assert names_in(memory) == {"old quetzal"}
    assert not is_left(memory, "zebulon")
    assert memory.check().ok


def test_the_words_of_a_user_are_gone_from_every_table(memory: Memory) -> None:
    for user in ("ulrike", "valentina"):
        source = memory.remember(f"{user} says one", user_id=user)
        other = memory.remember(f"{user} says two", user_id=user)
        memory.facts.add(f"friend of {user}", "works_at", f"company of {user}", source=source)
        memory.facts.add(f"cousin of {user}", "likes", "tea", user_id=user)
        memory.graph.link(source, other, "causes", note={"why": f"note of {user}"})
        mention(memory, source, f"Entity {user}")
    receipt = memory.forget(user_id="ulrike", purge=True, verify=True).receipt
    assert receipt.complete, receipt
    assert not is_left(memory, "ulrike")
    assert is_left(memory, "valentina")
    assert len(memory.facts.query()) == 2
    assert memory.check().ok


def test_a_ring_holds_no_source(tmp_path: Path) -> None:
    """A memory that a ring may overwrite is nothing that a row may name."""
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        passing, stays = memory.remember("passing", tier="working"), memory.remember("stays")
        with pytest.raises(InvalidInputError, match="tier"):
            memory.facts.add("Ada", "likes", "tea", source=passing)
        with pytest.raises(InvalidInputError, match="tier"):
            memory.graph.link(passing, stays, "causes")
        assert memory.check().ok
