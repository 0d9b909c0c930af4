"""One character, or an emoji, finds the memories that have it.

Mechanism: runs of scripts without spaces are kept as pairs of characters, and emoji as nothing.
Damage: "\u732b" found only a memory in which it stands alone, and an octopus found whatever its
vector, that of an unknown word, lay near. Guard: both are terms of a kind of their own, looked up
only where a cue says nothing else, so that other cues rank as before.
"""

from __future__ import annotations

import pytest

import spector
from spector.language.words.analysis import SIGN, analyse, cue_terms, is_sign
from tests.fakes import FakeEmbedder

TEXTS = [
    "\u6628\u65e5\u306f\u732b\u3068\u904a\u3093\u3060",
    "\u4e00\u751f\u61f8\u547d\u50cd\u304f",
    "\u72ac\u304c\u597d\u304d\u3067\u3059",
    "\ubb3c\uc744 \ub9c8\uc168\ub2e4",
    "We saw an octopus \U0001f419 today",
    "Holiday \U0001f1f9\U0001f1f7 booked",
    "Well done \U0001f44d\U0001f3fd everyone",
    "Nothing to see here",
    "Tea at nine",
]


@pytest.mark.parametrize(
    ("cue", "at"),
    [
        ("\u732b", 0),
        ("\u4e00", 1),
        ("\u72ac", 2),
        ("\ubb3c", 3),
        ("\U0001f419", 4),
        ("\U0001f1f9\U0001f1f7", 5),
        ("\U0001f44d", 6),
        ("\U0001f44d\U0001f3ff", 6),
    ],
)
def test_a_sign_finds_the_memory_that_has_it(cue: str, at: int) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        memory.remember_many(TEXTS)
        assert memory.recall(cue, k=1)[0].text == TEXTS[at]


def test_all_that_have_it_come_before_what_has_it_not() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        memory.remember_many(
            [f"party {n} \U0001f389" for n in range(30)] + [f"errand {n}" for n in range(90)]
        )
        hits = memory.recall("\U0001f389", k=40)
    assert all("party" in hit.text for hit in hits[:30])


def test_signs_are_terms_of_their_own_kind() -> None:
    found = analyse("\u732b\u304c\u597d\u304d \U0001f419 and tea")
    assert found.signs == [SIGN + each for each in "\U0001f419\u732b\u304c\u597d\u304d"]
    assert not any(is_sign(word) for word in found.words)
    assert [term.text for term in cue_terms("tea \U0001f419")] == ["tea"]
    assert [term.text for term in cue_terms("what about \U0001f419?")] == [SIGN + "\U0001f419"]
    assert [term.text for term in cue_terms("\u732b \u5927\u597d\u304d")] == [
        SIGN + "\u732b",
        "\u5927\u597d",
        "\u597d\u304d",
    ]
    assert not analyse("caf\u00e9 \u2013 tea \u00a9").signs
