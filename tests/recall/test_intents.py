"""What an intent changes in a recall.

Mechanism: the parameters of an intent are put into the request. Damage without it: an intent that
is told and ignored. Guard: each parameter moves its part of a score in the documented direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import spector
from spector import Memory
from spector.arguments import parse_intent
from spector.errors import InvalidInputError
from spector.language.cues.intent import Intent
from spector.recall.intent_presets import intent_in

DIM = 16
FLAT = np.ones(DIM)
CUE = "the old violin of the dusty attic, tuned by hand"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=None, dim=DIM) as it:
        it.remember("a violin in the attic", vector=FLAT, category="preference")
        it.remember("a lesson in the attic", vector=FLAT, category="fact")
        it.remember("how to tune a violin", vector=FLAT, tier="procedural", category="procedure")
        yield it


def told(memory: Memory, intent: str | None) -> dict[str, Any]:
    return {hit.text: hit.explain() for hit in memory.recall(CUE, vector=FLAT, intent=intent)}


def test_words_count_by_the_share_that_an_intent_gives_them(memory: Memory) -> None:
    of = {name: told(memory, name)["a violin in the attic"].lexical for name in Intent}
    usual = told(memory, None)["a violin in the attic"].lexical
    assert of[Intent.FACTUAL] == pytest.approx(usual)
    assert of[Intent.TEMPORAL] == pytest.approx(2.25 * usual)
    assert of[Intent.GENERAL] == pytest.approx(1.5 * usual)


def test_utility_counts_by_the_boost(memory: Memory) -> None:
    plain = told(memory, None)["a lesson in the attic"].terms["utility"]
    boosted = told(memory, "entity_profile")["a lesson in the attic"].terms["utility"]
    assert boosted > told(memory, "factual")["a lesson in the attic"].terms["utility"] > plain
    assert told(memory, "causal")["a lesson in the attic"].terms["utility"] == plain


def test_what_an_intent_looks_for_is_favoured(memory: Memory) -> None:
    found = told(memory, "preference")
    assert found["a violin in the attic"].modifiers["category"] == pytest.approx(1.1)
    assert len(found) == 1, "of preferences, if there are any"
    memory.forget([hit for hit in memory.recall(vector=FLAT) if hit.text.startswith("a violin")])
    assert len(told(memory, "preference")) == 2
    rule = told(memory, "procedural")["how to tune a violin"].modifiers
    assert rule["category"] == pytest.approx(1.1)
    assert rule["tier"] > told(memory, None)["how to tune a violin"].modifiers.get("tier", 1.0)


def test_auto_is_what_the_wording_tells(memory: Memory) -> None:
    assert intent_in("When did Ann move?") is Intent.TEMPORAL
    assert intent_in(None, parse_intent("auto")) is None
    assert intent_in("When did Ann move?", parse_intent("causal")) is Intent.CAUSAL
    for wrong in ("", "why", 3, True):
        with pytest.raises(InvalidInputError, match="intent"):
            parse_intent(wrong)
