"""Modifiers of scores, given by hand.

Mechanism: a factor and an addend per candidate change the score after all evidence. Damage without
it: a hit whose explained terms do not add up to its score, or one that a cut at k had left out.
Guard: terms add up to the score, to the last bit; what a modifier lifts enters the first k; without
modifiers no bit changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import spector
from spector import ManualClock, Memory
from spector.search.evidence_search import MakeModifier
from spector.search.view import Modifier, Plan, Ranked
from tests.conftest import NOW

TEXTS = [
    f"The {what} of the {where} is closed."
    for what in ("door", "gate", "shop", "well")
    for where in ("mill", "inn", "farm", "harbour", "chapel")
]
CUE = "Which door of the mill is closed?"


@pytest.fixture(params=[8192, 4], ids=["ranked whole", "by candidates"])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    config = spector.Config(rank_all_records=request.param)
    with spector.open(":memory:", config=config, clock=ManualClock(NOW)) as memory:
        memory.remember_many(TEXTS)
        yield memory


def _modify(memory: Memory, *modifiers: MakeModifier) -> None:
    memory._parts.searcher._by_evidence._modifiers = modifiers


def _found(memory: Memory, k: int = 5) -> list[tuple[int, float, Any]]:
    return [(hit.id, hit.score, hit.explain()) for hit in memory.recall(CUE, k=k)]


def halve(plan: Plan, ranked: Ranked) -> Modifier:
    n = len(ranked.ids)
    return Modifier("half", np.full(n, 0.5, np.float32), np.zeros(n, np.float32))


def lift_last(plan: Plan, ranked: Ranked) -> Modifier:
    """0.9 of every score, and much for the newest memory."""
    addend = np.zeros(len(ranked.ids), np.float32)
    addend[ranked.ids == ranked.ids.max()] = 7.0
    return Modifier("lift", np.full(len(ranked.ids), 0.9, np.float32), addend)


def test_terms_add_up_to_the_score_to_the_last_bit(memory: Memory) -> None:
    _modify(memory, halve, lift_last)
    for _, score, why in _found(memory, k=len(TEXTS)):
        assert {"half", "lift"} <= set(why.evidence)
        assert why.score == score


def test_a_factor_and_an_addend_do_what_they_say(memory: Memory) -> None:
    before = {each: score for each, score, _ in _found(memory, k=len(TEXTS))}
    _modify(memory, halve, lift_last)
    after = {each: score for each, score, _ in _found(memory, k=len(TEXTS))}
    newest = max(before)
    wanted = {each: 0.5 * score * 0.9 + 7.0 * (each == newest) for each, score in before.items()}
    assert after == pytest.approx(wanted, abs=1e-5)


def test_what_a_modifier_lifts_enters_the_first_k(memory: Memory) -> None:
    last = _found(memory, k=len(TEXTS))[-1][0]

    def lift(plan: Plan, ranked: Ranked) -> Modifier:
        addend = np.where(ranked.ids == last, 9, 0).astype(np.float32)
        return Modifier("lift", np.ones(len(addend), np.float32), addend)

    _modify(memory, lift)
    assert _found(memory, k=1)[0][0] == last


def test_a_modifier_lets_nothing_pass_that_the_gates_keep_out(memory: Memory) -> None:
    for_one = memory.remember("The door of the mill is closed.", user_id="ann")
    _modify(memory, lift_last)
    found = memory.recall(CUE, k=40, user_id="ben")
    assert for_one.id not in [hit.id for hit in found]
    assert all(np.isfinite(hit.score) for hit in memory.recall(CUE, k=40, user_id="ann"))


def test_without_modifiers_no_bit_changes(memory: Memory) -> None:
    def none(plan: Plan, ranked: Ranked) -> Modifier:
        n = len(ranked.ids)
        return Modifier("none", np.ones(n, np.float32), np.zeros(n, np.float32))

    before = _found(memory)
    _modify(memory)
    assert _found(memory) == before
    _modify(memory, none)
    assert _found(memory) == before, "a term of 0 is not shown"


def test_two_modifiers_of_one_name_are_refused(memory: Memory) -> None:
    _modify(memory, halve, halve)
    with pytest.raises(AssertionError, match="two modifiers are named half"):
        memory.recall(CUE)
