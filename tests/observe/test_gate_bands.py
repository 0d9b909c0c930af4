"""The gate by bands of likeness: presets v9, ucma and maxim.

Mechanism: likeness to the nearest memory of the same origin, once nothing contradicts. Damage
without a guard: two entries of an expense book become one. Guard: numbers, dates, names, denials.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spector.config import Config
from spector.layout import Flag
from spector.observe.gate import (
    Candidate,
    Incoming,
    Wording,
    calibrated,
    candidate_of,
    decide,
    merged_text,
    same_particulars,
    statements_in,
)
from spector.records import Decision, MemoryRecord

NOW_MS = 1_790_000_000_000
V9 = Config.preset("v9").observe


def known(text: str, likeness: float, **fields: Any) -> Candidate:
    about = {"is_knowledge": fields.pop("is_knowledge", False)}
    record = MemoryRecord(id=1, text=text, tier="episodic", event_ms=NOW_MS, role="user", **fields)
    return candidate_of(record, likeness=likeness, **about)


def verdict(
    old: Candidate,
    text: str,
    importance: float = 0.65,
    sample: tuple[float, ...] = (),
    config: Any = V9,
) -> Decision:
    stated = statements_in(text, role="user", speaker=None, event_ms=NOW_MS)
    new = Incoming(text=text, said=text, statements=stated, event_ms=NOW_MS, importance=importance)
    return decide(new, [old], config, sample=sample)


@pytest.mark.parametrize("name", ["v9", "ucma", "maxim"])
def test_these_presets_decide_by_bands(name: str) -> None:
    config = Config.preset(name).observe
    assert config.gate_by == "bands"
    found = verdict(
        known("The fern by the stairs droops.", 0.95),
        "That fern near the stairs is drooping.",
        config=config,
    )
    assert (found.action, found.rule, found.reinforced) == ("reinforce", "band", 1)


def test_between_the_bands_both_texts_become_one() -> None:
    found = verdict(
        known("The fern droops. It needs light.", 0.80),
        "The fern by the stairs droops badly. It needs light.",
    )
    assert (found.action, found.nearest) == ("update", 1)
    assert found.merged == (
        "The fern droops. It needs light. | The fern by the stairs droops badly."
    )


@pytest.mark.parametrize(
    ("importance", "action"), [(0.65, "create"), (0.6, "create"), (0.55, "skip")]
)
def test_the_gap_is_decided_by_importance(importance: float, action: str) -> None:
    found = verdict(known("The fern droops.", 0.72), "Our palm lost a leaf.", importance)
    assert found.action == action
    assert bool(found.reason) == (action == "skip")


@pytest.mark.parametrize(
    ("likeness", "action"),
    [
        (0.60, "create"),
        (0.699, "create"),
        (0.70, "create"),
        (0.7499, "create"),
        (0.75, "update"),
        (0.92, "update"),
        (float(np.float32(0.92)), "update"),
        (0.921, "reinforce"),
        (1.0, "reinforce"),
    ],
)
def test_the_bands_have_no_hole(likeness: float, action: str) -> None:
    assert verdict(known("The fern droops.", likeness), "Our palm droops.").action == action


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Shell, 40 euros", "Shell, 42 euros"),
        ("Lunch with Ada", "Lunch with Bob"),
        ("Dentist on May 3", "Dentist on May 9"),
        ("The pump leaks", "The pump does not leak"),
        ("Berber, 120 lira", "Berber, 150 lira"),
    ],
)
@pytest.mark.parametrize("likeness", [0.80, 0.95])
def test_other_particulars_are_another_memory(old: str, new: str, likeness: float) -> None:
    found = verdict(known(old, likeness), new)
    assert found.action in ("create", "supersede")
    assert found.reinforced is None
    assert found.merged is None


def test_what_only_one_text_names_is_no_disagreement() -> None:
    one, other = Wording("Lunch with Ada", NOW_MS), Wording("Lunch with Ada for 12 euros", NOW_MS)
    assert same_particulars(one, other)
    assert same_particulars(other, one)


@pytest.mark.parametrize(
    "old",
    [
        known("The fern droops.", 0.80, flags=Flag.IMMUTABLE),
        known("The fern droops.", 0.80, is_knowledge=True),
        known("The fern droops. " * 118, 0.80),
    ],
)
def test_what_cannot_be_merged_is_kept_beside(old: Candidate) -> None:
    found = verdict(old, "The fern by the stairs droops badly today.")
    assert (found.action, found.relation, found.nearest) == ("create", "elaborates", 1)


def test_without_merging_an_update_is_a_memory_beside() -> None:
    config = Config.preset("v9", observe={"on_update": "create"}).observe
    found = verdict(known("The fern droops.", 0.80), "The fern droops badly.", config=config)
    assert (found.action, found.relation) == ("create", "elaborates")


def test_contradiction_comes_before_every_band() -> None:
    found = verdict(known("User lives in Paris.", 0.66), "User lives in Berlin.")
    assert found.superseded == (1,)
    assert verdict(known("I love dogs.", 0.97), "I do not love dogs.").superseded == (1,)


def test_a_merged_text_has_every_sentence_once() -> None:
    merged = merged_text("A b. C d! | E f.", "C d! G h? e f", most=2_000)
    assert merged == "A b. C d! | E f. | G h?"
    assert merged_text("A b.", "a b", most=2_000) == "A b."
    assert merged_text("A b.", "C d.", most=10) is None
    assert merged_text("Çay sever.", "Kahve de sever.", most=99) == "Çay sever. | Kahve de sever."


def test_a_calibrated_scale_cuts_off_the_same_shares() -> None:
    close = tuple(0.90 + 0.001 * n for n in range(100))  # a model that finds everything alike
    assert calibrated(0.95, close) < 0.75
    assert calibrated(close[-1], close) > calibrated(close[50], close) > calibrated(close[0], close)
    assert calibrated(1.0, close) == pytest.approx(1.0)
    assert calibrated(0.8, close[:10]) == 0.8
    config = Config.preset("v9", observe={"gate_scale": "calibrated"}).observe
    found = verdict(
        known("The fern droops.", 0.93), "Our palm droops.", sample=close, config=config
    )
    assert found.action == "create"


def test_the_scale_of_the_default_model_stays_as_it_is() -> None:
    own = tuple(0.17 + 0.0083 * n for n in range(100))
    values = [calibrated(0.05 * n, own) for n in range(21)]
    assert values == sorted(values)
    assert all(-1.0 <= each <= 1.0 for each in values)
