"""Ten steps of training give the loss that they gave before.

Damage without it: a trainer, data or an embedder that changed, and figures that nobody can make again.
Guard: the mean loss of the first ten steps, to a hundredth.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="trains: pip install spector-memory[train]")


def test_ten_steps_of_training_have_the_loss_that_they_had() -> None:
    from bench.judge.train import Judge, english, seen_of, wrong_pairs

    rows = english()["bruno"]
    rows = [*rows, *wrong_pairs(rows)]
    losses = Judge(rows, seen_of(rows), most_steps=10).losses
    assert sum(losses) / len(losses) == pytest.approx(LOSS, abs=0.01)


#: of the pairs of one hand and as many wrong ones, with torch 2.14
LOSS = 1.341
