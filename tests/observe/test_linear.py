"""Reading a message costs time that grows with its length, and no faster.

Mechanism: rules look around in stretches of a sentence, never in all of it. Damage without it: one
message without a full stop, below every limit, keeps a core busy for ten seconds. Guard: calls are
counted, for five times the letters at most five times as many.
"""

from __future__ import annotations

import cProfile
import pstats

import pytest

import spector
from spector import Memory
from tests.fakes import FakeEmbedder

SHAPES = {
    "names": "Nadia saw Piotr and ",
    "corrections": "we no longer rent in Bern and went to Graz, ",
    "Turkish": "artık Bursa'da çalışmıyorum ve ",
    "commas": ",",
    "pauses": "hm, ",
    "faces": "🙂",
    "dates": "on 3 June and ",
    "sentences": "We fed the geese with Olga. ",
    "capitals": "Kim Lee ",
    "numbers": "7,8 ",
    "questions": "who? ",
    "one word": "na",
    "brackets": "(so ",
}


def calls(memory: Memory, text: str) -> int:
    profile = cProfile.Profile()
    profile.runcall(memory.observe, text, force=True, dry_run=True)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("shape", SHAPES)
def test_five_times_the_letters_cost_five_times_the_calls(shape: str) -> None:
    piece = SHAPES[shape]
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        calls(memory, (piece * 400)[:700])  # loads what is loaded once
        short, long = (calls(memory, (piece * 5_000)[:letters]) for letters in (1_000, 4_990))
    assert long <= 5.5 * short, (short, long)  # a short text is kept and not read twice
