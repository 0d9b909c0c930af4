"""A record says what is known of its memory, and how well it is retained.

Mechanism: memories with and without rows of knowledge, read by every verb that returns records;
curves against the kernel's and against the package of FSRS. Damage without it: a word that an
assistant said and that passes for the user's, a note that passes for what was said, a record that
``get`` and ``recall`` describe differently.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import CatalogCorruptError, Curve, InvalidInputError, ManualClock, Memory, MemoryRecord
from spector.kernel.contract.profile import retention as kernel_retention
from spector.knowledge import Changes
from spector.records import DualStrength, Note
from spector.store.payloads import encode
from tests.api.helpers import ids
from tests.cases import Cases
from tests.conftest import NOW
from tests.fakes import FakeEmbedder

cases = Cases(__file__)


def put(memory: Memory, record: MemoryRecord, sort: str, **fields: Any) -> None:
    def decide(reader: Any, now_ms: int) -> Changes:
        changes = Changes()
        changes.put("payload", id=record.id, sort=sort, json=encode(sort, fields))
        return changes

    memory._parts.knowledge.commit(decide)


def test_a_memory_without_details_has_what_its_role_says(memory: Memory) -> None:
    for role, source in (
        (None, "user_message"),
        ("user", "user_message"),
        ("assistant", "assistant_message"),
        ("tool", "tool"),
        ("system", "system"),
        ("narrator", "system"),
    ):
        record = memory.remember(f"by {role}", role=role)
        assert (record.data_source, record.write_source) == (source, "manual")
    assert (record.payload, record.emotion, record.summary, record.raw) == (None,) * 4
    assert (record.notes, record.said, record.class_confidence) == ((), record.text, None)
    assert (record.dormant, record.consolidated) == (False, False)
    assert "details" not in record.to_dict()


def test_details_are_in_every_record_that_is_returned(memory: Memory) -> None:
    text = "He [Omar] is flying to Lisbon tomorrow [2026-11-26]."
    record = memory.remember(text, role="user")
    notes = [[2, 9, "reference", "Omar"], [38, 51, "date", "2026-11-26"]]
    put(
        memory,
        record,
        "observed",
        write_source="observer",
        data_source="user_message",
        emotion="joy",
        class_confidence=0.4,
        notes=notes,
        raw="flying!",
    )
    put(memory, record, "episode", summary="Omar flies")
    found = memory.get(record)
    assert found.said == "He is flying to Lisbon tomorrow."
    assert found.notes == (Note(2, 9, "reference", "Omar"), Note(38, 51, "date", "2026-11-26"))
    assert (found.write_source, found.data_source) == ("observer", "user_message")
    assert (found.emotion, found.class_confidence) == ("joy", 0.4)
    assert (found.summary, found.raw, found.payload) == ("Omar flies", "flying!", None)
    assert found.to_dict()["details"] == {
        "notes": notes,
        "emotion": "joy",
        "write_source": "observer",
        "summary": "Omar flies",
        "data_source": "user_message",
        "class_confidence": 0.4,
        "raw": "flying!",
    }
    others = [
        memory.recall("Lisbon")[0].record,
        next(memory.records()),
        memory.history(record)[0],
        memory.recall("Lisbon", profile="similarity", lexical=False)[0].record,
    ]
    assert all(each == found for each in others)
    for changed in (
        memory.pin(record),
        memory.unpin(record),
        memory.reinforce(record),
        *memory.retire(record),
        *memory.reactivate(record),
        memory.update(record, importance=0.9),
    ):
        assert changed.details == found.details
    assert memory.get(record).details == found.details


@pytest.mark.parametrize("sort", ["fact", "procedure", "learning", "concept", "statistic"])
def test_a_payload_says_what_a_memory_is(memory: Memory, sort: str) -> None:
    made: Mapping[str, Any] = {
        "fact": lambda: memory.facts.add("Ada", "works_at", "Acme"),
        "procedure": lambda: memory.procedures.add("deploy", ["build", "ship"]),
        "learning": lambda: memory.learnings.add("keep it small", "success_pattern"),
        "concept": lambda: memory.concepts.find_or_create("mug")[0],
    }
    if sort == "statistic":
        mug, _ = memory.concepts.find_or_create("mug")
        for n in range(8):
            episode = memory.remember(f"episode {n} with a mug", importance=0.1 * n)
            memory.concepts.add_ref(mug.id, "episodes", episode)
        item: Any = memory.concepts.ground(mug.id)[0]
    else:
        item = made[sort]()
    record = memory.get(item.id)
    assert record.payload == item.record.payload == sort
    hits = memory.recall(record.text, include=["derived"])
    assert next(hit for hit in hits if hit.id == item.id).record == record


def test_a_payload_of_an_episode_does_not_change_the_sort(memory: Memory) -> None:
    record = memory.remember("used the tool")
    put(memory, record, "episode", tool="hammer", success=True)
    assert memory.get(record).payload is None
    assert memory.get(record).details is None


def test_flags_and_windows_have_names(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(
        '{"text": "packed", "flags": ["consolidated"]}\n', encoding="utf-8"
    )
    (packed,) = memory.import_(tmp_path / "x.jsonl")
    assert (packed.consolidated, packed.dormant) == (True, False)
    assert memory.retire(packed)[0].dormant
    plan = memory.remember("hike", valid_until="2026-12-01")
    assert (packed.temporal_type, plan.temporal_type) == ("persistent", "time_bounded")


def test_a_damaged_row_of_details_is_an_error_and_no_guess(memory: Memory) -> None:
    record = memory.remember("here")
    put(memory, record, "observed", write_source="observer", data_source="tool")
    catalog = memory._parts.store.catalog
    with catalog.writing() as db:
        db.execute("UPDATE payload SET json = replace(json, 'tool', 'fool')")
    with pytest.raises(CatalogCorruptError):
        memory.get(record)
    assert "I27" in {problem.code for problem in memory.check().problems}


# -- sub-tiers ------------------------------------------------------------------------------------


@cases("tier", "text", "more", "wanted")
def test_a_sub_tier_is_told_by_origin_category_and_words(
    memory: Memory, tier: str, text: str, more: dict[str, Any], wanted: str
) -> None:
    assert memory.remember(text, tier=tier, **more).sub_tier == wanted


def test_what_others_share_is_vicarious(memory: Memory) -> None:
    record = memory.remember("told by another store")
    put(memory, record, "observed", data_source="federation")
    assert memory.get(record).sub_tier == "vicarious"


# -- retention ------------------------------------------------------------------------------------


def test_retention_counts_from_the_last_use_to_the_reading(
    memory: Memory, clock: ManualClock
) -> None:
    made = memory.remember("river", importance=0.5)
    assert made.retention() == 1.0
    clock.advance(days=7)
    read = memory.get(made)
    assert read == made  # when it was read is not part of what it is
    assert read.retention() == pytest.approx(0.81)
    assert read.retention(curve="ebbinghaus") == pytest.approx(math.exp(-1))
    assert read.retention(curve="half_life") == pytest.approx(0.5)
    assert read.retention(curve="fsrs6") == pytest.approx(0.9)
    assert made.retention() == 1.0  # that one was read then
    assert made.retention(at=NOW + timedelta(days=7)) == pytest.approx(0.81)
    assert made.retention("2026-11-28T12:00:00Z", Curve.FSRS) == pytest.approx(0.81)
    assert made.retention(at="2020-01-01") == 1.0  # before its last use it was not forgotten
    assert memory.recall("river")[0].record.retention() == pytest.approx(0.81)
    assert next(memory.records()).retention() == pytest.approx(0.81)
    assert "read_ms" not in read.to_dict()


def test_a_recall_as_of_a_moment_reads_as_of_then(memory: Memory, clock: ManualClock) -> None:
    memory.remember("river")
    clock.advance(days=70)
    (hit,) = memory.recall("river", as_of=NOW + timedelta(days=7))
    assert hit.record.retention() == pytest.approx(0.81)


@pytest.mark.parametrize("curve", ["fsrs", "fsrs6", "ebbinghaus", "half_life"])
def test_curves_are_those_of_the_kernel(curve: str) -> None:
    record = MemoryRecord(id=1, text="x", tier="episodic", stability_days=3.5, read_ms=0)
    for days in (0.0, 0.01, 1.0, 3.5, 40.0, 4000.0):
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days)
        wanted = float(kernel_retention(days, 3.5, Curve(curve)))
        assert record.retention(at, curve) == pytest.approx(wanted, rel=1e-9)


def test_fsrs6_equals_its_package() -> None:
    fsrs = pytest.importorskip("fsrs", reason="pip install spector-memory[test] brings it")
    scheduler, start = fsrs.Scheduler(), datetime(2026, 1, 1, tzinfo=UTC)
    for stability in (0.4, 1.0, 10.5, 300.0):
        card = fsrs.Card(stability=stability, difficulty=5.0, last_review=start)
        for days in (0, 1, 7, 100, 3650):
            wanted = scheduler.get_card_retrievability(card, start + timedelta(days=days))
            got = kernel_retention(days, stability, Curve.FSRS6)
            assert got == pytest.approx(wanted, rel=1e-9)


def test_fsrs6_ranks_as_a_profile(memory: Memory, clock: ManualClock) -> None:
    record = memory.remember("river")
    clock.advance(days=7)
    profile = replace(spector.PROFILES["balanced"], retention_curve=Curve.FSRS6, w_retention=0.3)
    (hit,) = memory.recall("river", profile=profile)
    assert hit.explain().values["retention"] == pytest.approx(0.9, abs=1e-4)
    assert memory.get(record).retention(curve="fsrs6") == pytest.approx(0.9)


def test_unknown_curves_and_moments_are_refused(memory: Memory) -> None:
    record = memory.remember("river")
    for curve in ("linear", "power_law", None, 3):
        with pytest.raises(InvalidInputError, match="curve"):
            record.retention(curve=curve)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="at"):
        record.retention(at="yesterday")
    by_hand = MemoryRecord(id=1, text="x", tier="episodic")
    with pytest.raises(InvalidInputError, match="pass at="):
        by_hand.retention()


def test_storage_grows_with_use_and_retrieval_falls(memory: Memory, clock: ManualClock) -> None:
    record = memory.remember("river")
    assert record.dual_strength() == DualStrength(1.0, 1.0)
    for uses, storage in ((1, 2.3517), (7, 5.0551), (100, 10.0), (5000, 10.0)):
        made = replace(record, access_count=uses)
        assert made.dual_strength().storage == pytest.approx(storage, abs=1e-4)
    assert not replace(record, access_count=100).dual_strength().tip_of_tongue
    later = NOW + timedelta(days=7 * 8)
    faded = replace(record, access_count=7).dual_strength(later)
    assert faded.retrieval == pytest.approx((1 + 8 / 9) ** -2)
    assert faded.tip_of_tongue
    assert not replace(record, access_count=6).dual_strength(later).tip_of_tongue
    assert not replace(record, access_count=7).dual_strength(NOW).tip_of_tongue


def test_ids_of_another_process_read_the_same(memory: Memory) -> None:
    record = memory.remember("here [x]")
    put(memory, record, "observed", write_source="observer", notes=[[4, 8, "date", "x"]])
    memory.checkpoint()
    with spector.open(memory.path, embedder=FakeEmbedder(), mode="r") as reader:
        assert reader.get(record).said == "here"
        assert ids(reader.recall("here")) == [record.id]
        assert reader.recall("here")[0].record.said == "here"


def test_a_context_says_what_no_user_said(memory: Memory) -> None:
    for text, fields in (
        ("the port is 8080", {"data_source": "tool"}),
        ("the port is 8443", {}),
        ("a port is 9000", {"write_source": "dream"}),
    ):
        record = memory.remember(text)
        if fields:
            put(memory, record, "observed", **fields)
    lines = memory.context("which port is it?", always=True, cut=0).text.splitlines()
    shown = {line.split('"')[1]: line for line in lines if "port" in line}
    assert "tool" in shown["the port is 8080"]
    assert "tool" not in shown["the port is 8443"]
    assert "(derived)" in shown["a port is 9000"]
    assert "(derived)" not in shown["the port is 8443"]
