"""What is read within a scope names no memory outside of it, links included.

Mechanism: parents and what superseded what are ids, which may lead to memories of another user.
Damage: an export for one person, or the hits of a scoped recall, had the ids of memories of others.
Guard: records, export, recall and context of a scope leave them out; without a scope all are there.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spector
from spector import Memory
from tests.fakes import FakeEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return spector.open(tmp_path / "mind", embedder=FakeEmbedder())


def linked(memory: Memory) -> tuple[int, int, int]:
    """Ids of a memory of another user, of one of Ida's and of what derives from both."""
    other = memory.remember("the gate code is in the shed", user_id="bo").id
    own = memory.remember("the gate squeaks", user_id="ida").id
    child = memory.remember("the gate needs oil", user_id="ida", parents=[other, own]).id
    return other, own, child


def test_records_and_exports_of_a_user_name_no_memory_of_others(
    memory: Memory, tmp_path: Path
) -> None:
    other, own, child = linked(memory)
    found = {record.id: record for record in memory.records(user_id="ida")}
    assert found[child].parents == (own,)
    memory.export(tmp_path / "ida.jsonl", user_id="ida")
    lines = (tmp_path / "ida.jsonl").read_text().splitlines()
    assert [
        json.loads(line)["parents"]
        for line in lines
        if f'"id": {child}' in line or json.loads(line)["id"] == child
    ] == [[own]]
    assert str(other) not in "".join(lines)
    everything = {record.id: record for record in memory.records()}
    assert everything[child].parents == (other, own)
    memory.close()


def test_hits_of_a_user_name_no_memory_of_others(memory: Memory) -> None:
    other, own, child = linked(memory)
    by_id = {hit.id: hit for hit in memory.recall("the gate needs oil", user_id="ida")}
    assert by_id[child].record.parents == (own,)
    unscoped = {hit.id: hit for hit in memory.recall("the gate needs oil")}
    assert unscoped[child].record.parents == (other, own)
    memory.close()


def test_hits_of_a_session_name_no_memory_that_another_session_superseded(memory: Memory) -> None:
    old = memory.remember("the ferry leaves at nine", user_id="ida", session_id="may")
    new = memory.remember(
        "the ferry leaves at ten", user_id="ida", session_id="june", supersedes=old
    )
    scoped = memory.recall("the ferry", session_id="may", include="superseded")
    assert [(hit.id, hit.record.superseded_by) for hit in scoped] == [(old.id, ())]
    own = memory.recall("the ferry", user_id="ida", include="superseded")
    assert {hit.id: hit.record.superseded_by for hit in own}[old.id] == (new.id,)
    memory.close()


def test_a_superseded_memory_in_a_context_says_so(memory: Memory) -> None:
    old = memory.remember("the ferry leaves at nine", event_time="2026-03-01")
    memory.remember("the ferry leaves at ten", supersedes=old, event_time="2026-05-03")
    text = str(memory.context("when does the ferry leave?", include="superseded", always=True))
    (line,) = [each for each in text.splitlines() if "at nine" in each]
    assert "(superseded 2026-05-03)" in line
    (line,) = [each for each in text.splitlines() if "at ten" in each]
    assert "superseded" not in line
    memory.close()
