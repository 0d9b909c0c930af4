"""A hit makes its record when somebody asks for it, and nobody can tell.

Mechanism: recall keeps what a record is made from, because most callers want the text alone.
Damage: a hit without its record, or one that differs from, is unequal to or cannot be copied like
a hit that was given its record. Guard: both kinds are compared in everything a user can do.
"""

from __future__ import annotations

import copy
import dataclasses
from datetime import UTC, datetime
from pathlib import Path

import pytest

import spector
from spector import Memory
from spector.records import Explanation, Hit, MemoryRecord
from tests.fakes import FakeEmbedder

RECORD = MemoryRecord(id=7, text="the river stone", tier="episodic", tags=("a",), importance=0.25)


class Source:
    """Counts how often the record is made."""

    id, text, tier = RECORD.id, RECORD.text, RECORD.tier

    def __init__(self) -> None:
        self.made = 0

    def record(self) -> MemoryRecord:
        self.made += 1
        return RECORD


def why() -> Explanation:
    return Explanation(profile="p", fusion="additive", values={}, terms={}, modifiers={}, fused=0.5)


def given() -> Hit:
    return Hit(record=RECORD, score=0.5, explainer=why)


def test_text_id_and_tier_need_no_record_and_the_rest_makes_it_once() -> None:
    source = Source()
    hit = Hit.of(source, 0.5, why)
    assert (hit.id, hit.text, hit.tier) == (7, "the river stone", "episodic")
    assert repr(hit) == repr(given())
    assert source.made == 0
    assert hit.record is RECORD
    assert (hit.tags, hit.importance) == (("a",), 0.25)
    assert source.made == 1


def test_a_found_hit_is_like_one_that_was_given_its_record() -> None:
    def found() -> Hit:
        return Hit.of(Source(), 0.5, why)

    assert found() == given()
    assert found().to_dict() == given().to_dict()
    assert found() != dataclasses.replace(given(), score=0.25)
    assert dataclasses.replace(found(), score=0.25).score == 0.25
    assert dataclasses.asdict(found()).keys() == set(
        ("record score explainer also payload via graph_distance conflicts").split()
    )
    assert copy.copy(found()) == given()
    assert copy.deepcopy(found()) == given()


@pytest.mark.parametrize("hit", [given(), Hit.of(Source(), 0.5, why)], ids=["given", "found"])
def test_a_hit_cannot_be_changed_and_has_no_other_attribute(hit: Hit) -> None:
    for name in ("record", "score", "explainer"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(hit, name, None)
    with pytest.raises(AttributeError, match="has no attribute 'texts'"):
        hit.texts  # type: ignore[attr-defined]  # noqa: B018


def test_times_are_told_as_dates_of_their_second() -> None:
    """Mutation hunting multiplied by 1,001, and no test noticed."""
    at_s = int(datetime(2026, 11, 21, 12, 30, 15, tzinfo=UTC).timestamp())
    told = dataclasses.replace(RECORD, last_access_s=at_s).to_dict()
    assert datetime.fromisoformat(told["last_access"]).timestamp() == at_s


# -- What a record and a hit print as: a line each, whatever they hold -----------------------------


def test_a_hit_and_a_record_print_as_one_short_line(memory: Memory) -> None:
    """Before: every field of the record, some 600 characters a hit."""
    text = "the river " * 40
    record = memory.remember(text, tags=["long"], metadata={"a": "b" * 200})
    (hit,) = hits = memory.recall("the river")
    for shown in (repr(record), repr(hit), str(hits)):
        assert str(record.id) in shown
        assert "'episodic'" in shown
        assert text[:60] in shown
        assert text[:61] not in shown
        assert len(shown) < 150
    assert f"{hit.score:.4f}" in repr(hit)


def test_a_text_is_cut_only_when_it_is_longer_than_what_is_shown(memory: Memory) -> None:
    """Or a text that is shown whole looks as if more of it followed."""
    whole, cut = "w" * 60, "c" * 61
    assert f"text={whole!r})" in repr(memory.remember(whole))
    assert f"text={'c' * 60 + '...'!r})" in repr(memory.remember(cut))


def test_a_memory_without_a_text_prints_how_large_its_attachment_is(memory: Memory) -> None:
    record = memory.remember(attachment={"lat": 1})
    for shown in (repr(record), repr(memory.get(record.id)), repr(next(memory.records()))):
        assert shown.endswith(f"(id={record.id}, tier='episodic', attachment_bytes=9)")


# -- Ids are never given out twice -----------------------------------------------------------------
#
# Mechanism: the working tier is volatile, and so was the highest id it had been given. Damage:
# after reopening under a clock that had gone back, another memory took the id of one a caller
# still held. Guard: the durable store learns the highest id when it is closed.


def test_an_id_of_the_working_tier_is_not_given_out_again_after_reopening(store_path: Path) -> None:
    clock = spector.ManualClock(1_800_000_000_000)
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        held = memory.remember("scratch", tier="working").id
    clock.advance(days=-1)
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        assert memory.remember("lasting").id > held


def test_an_empty_store_is_a_store(store_path: Path) -> None:
    """Mechanism: a length of 0 made ``if memory:`` false until something was remembered."""
    with spector.open(store_path, embedder=FakeEmbedder()) as memory:
        assert len(memory) == 0
        assert memory
    assert memory, "closed, and still the object that it was"


def test_an_id_tells_the_millisecond_that_it_was_given_out_in(store_path: Path) -> None:
    """Or numbers of two versions overlap, and soon none is a number in JSON any more."""
    now_ms = 1_800_000_000_000
    with spector.open(
        store_path, embedder=FakeEmbedder(), clock=spector.ManualClock(now_ms)
    ) as memory:
        first, second = memory.remember_many(["alpha one", "beta two"])
    assert (first.id, second.id) == (now_ms << 10, (now_ms << 10) + 1)
    assert second.id < 1 << 53
