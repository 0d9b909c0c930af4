"""A hit makes its record when somebody asks for it, and nobody can tell.

Mechanism: recall keeps what a record is made from, because most callers want the text alone.
Damage: a hit without its record, or one that differs from, is unequal to or cannot be copied like
a hit that was given its record. Guard: both kinds are compared in everything a user can do.
"""

from __future__ import annotations

import copy
import dataclasses
from datetime import UTC, datetime

import pytest

from spector.records import Explanation, Hit, MemoryRecord

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
    assert dataclasses.asdict(found()).keys() == {
        "record",
        "score",
        "explainer",
        "also",
        "payload",
        "via",
        "graph_distance",
        "conflicts",
    }
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
