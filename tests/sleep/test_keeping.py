"""What is worth keeping is told by what a memory says and what only it says.

Damage without it: every longer message counts the same, and chance decides which half of a
conversation a budget takes. Guard: messages in English and Turkish, in the order they are worth.
"""

from __future__ import annotations

import pytest

from spector import Config, SleepConfig
from spector.language.observing import keep_scores
from tests.sleep.nights import asleep, pass_days

ORDERED = [
    ["Wow!", "That sounds really great, thanks for telling me about it.",
     "We took the ferry to Bandirma on 3 May with Selin and her two cats.",
     "We took the ferry to Bandirma on 3 May with Selin and her two cats, then hiked up Kapidag,"
     " slept at the monastery of Kirazli and came back with four jars of heather honey."],
    ["Harika!", "Bunu duyduğuma çok sevindim, anlattığın için teşekkürler.",
     "3 Mayıs'ta Selin ve iki kedisiyle Bandırma'ya feribotla gittik.",
     "3 Mayıs'ta Selin ve iki kedisiyle Bandırma'ya feribotla gittik, sonra Kapıdağ'a çıktık,"
     " Kirazlı manastırında uyuduk ve dört kavanoz funda balıyla döndük."],
]  # fmt: skip


@pytest.mark.parametrize("texts", ORDERED, ids=["en", "tr"])
def test_the_more_a_text_says_the_more_it_is_worth_without_a_bound(texts: list[str]) -> None:
    scores = keep_scores(texts, [0.5] * len(texts))
    assert scores == sorted(scores)
    assert len(set(scores)) == len(scores)
    assert all(0.0 <= each <= 1.0 for each in scores)


def test_words_that_no_other_memory_has_are_worth_more() -> None:
    usual = ["We talked about the garden and the river again."] * 5
    common, rare = keep_scores([*usual, "We talked about the harpsichord and the quince again."],
                               [0.5] * 6)[-2:]  # fmt: skip
    assert rare > common


@pytest.mark.parametrize("texts", ORDERED, ids=["en", "tr"])
def test_what_was_answered_goes_before_what_was_said(texts: list[str]) -> None:
    answer, said = keep_scores([texts[3], texts[2]], [0.5, 0.5], [0])
    assert answer < said
    short, long = keep_scores([texts[2], texts[3]], [0.5, 0.5], [0, 1])
    assert short < long  # of two answers the one that says more stays


@pytest.mark.parametrize("role", ["assistant", "Assistant", "tool"])
def test_a_budget_takes_answers_first(role: str) -> None:
    config = Config(sleep=SleepConfig(keep_share=0.5, blast_radius=1.0))
    with asleep(config=config) as (memory, clock):
        memory.remember_many([
            {"text": f"The harbour of Foça has {n} blue boats and {n + 40} nets", "role": role}
            for n in range(8)
        ])  # fmt: skip
        said = memory.remember_many([
            {"text": f"We saw boat {n}", "role": ("user", None, "Selin")[n % 3]} for n in range(8)
        ])  # fmt: skip
        pass_days(clock, 60)
        memory.reflect("forget")
        assert {each.id for each in memory.records(include=[])} == {each.id for each in said}


def test_importance_counts_and_hostile_texts_are_no_error() -> None:
    low, high = keep_scores(["the same words here"] * 2, [0.1, 0.9])
    assert high - low == pytest.approx(0.4 * 0.8)
    assert keep_scores([], []) == []
    assert len(keep_scores(["", "\x00\x1b[2J", "a" * 1_000_000], [0.0, 0.5, 1.0])) == 3
