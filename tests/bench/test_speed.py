"""The row of speed compares times of the same messages in one run.

Damage without it: a ratio of two runs, or of messages that only one side got. Guard: counts of a
small run, and figures of our own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.cognition.speed import Costs, measured, messages
from bench.cognition.statements import data


def test_ratios_are_of_medians_and_of_the_same_messages() -> None:
    found = Costs([(1.0, True), (3.0, True), (9.0, False)], [2.0, 2.0, 4.0], [(4.0, 2.0)] * 2)
    assert found.single() == 1.5
    assert found.single(stored=True) == 1.0
    assert found.throughput() == 0.5
    assert found.share_stored() == pytest.approx(2 / 3)


@pytest.mark.slow
@pytest.mark.skipif(not (data() / "memorybank_en").is_dir(), reason="needs SPECTOR_DATA")
def test_each_message_is_timed_on_both_sides(tmp_path: Path) -> None:
    assert len(messages()) > 1000
    found = measured(tmp_path, records=200, singles=12, rounds=1)
    assert len(found.observed) == len(found.remembered) == 12
    assert len(found.batches) == 1
    assert found.single() > 0
