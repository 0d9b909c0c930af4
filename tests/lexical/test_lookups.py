"""An alias is looked up with at most one typo, exactly: as the edit distance says, no more.

Mechanism: names are indexed with their halves, one of which a slip leaves as it is; the few names
that have one are compared. Damage: with all that a slip may make of a name a thousand memories of
long names took eight seconds. Guard: for random names and random edits the terms meet and the names
are alike if and only if the distance by a table of the textbook is at most 1.
"""

from __future__ import annotations

import string

from hypothesis import example, given
from hypothesis import strategies as st

import spector
from spector.language.words.analysis import SIGN, analyse, cue_terms, is_sign
from spector.lexical.view import alias_terms, fold_alias, is_typo, name_words, spans, typo_terms
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

NAMES = st.text(string.ascii_lowercase[:4], min_size=1, max_size=9)


def distance(a: str, b: str) -> int:
    """Optimal string alignment: insertions, deletions, substitutions, swapped neighbours."""
    rows = [[i + j if 0 in (i, j) else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            rows[i][j] = min(
                rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] != b[j - 1])
            )
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


def is_met(cue: str, alias: str) -> bool:
    words = name_words(cue)
    (whole,) = [each for each in spans(words) if each.stop - each.start == len(words)]
    indexed = set(alias_terms([alias]))
    near = not indexed.isdisjoint(typo_terms(whole.text))
    alike = is_typo(whole.text, fold_alias(alias))
    assert near or not alike, "what is alike is compared"
    return whole.term in indexed or alike


@given(NAMES, NAMES)
@example("abcda", "abcad")
@example("abcd", "abcda")
@example("bbbbb", "bbbb")
def test_one_typo_is_met_and_two_are_not(cue: str, alias: str) -> None:
    expected = cue == alias or (len(alias) >= 5 and distance(cue, alias) <= 1)
    assert is_met(cue, alias) == expected


@given(st.data())
def test_any_single_slip_in_a_name_of_two_words_is_met(data: st.DataObject) -> None:
    alias = "ledger house"
    at = data.draw(st.integers(0, len(alias) - 2).filter(lambda n: " " not in alias[n : n + 2]))
    letter = data.draw(st.sampled_from("xyz"))
    slips = [
        alias[:at] + alias[at + 1 :],
        alias[:at] + letter + alias[at:],
        alias[:at] + letter + alias[at + 1 :],
        alias[:at] + alias[at + 1] + alias[at] + alias[at + 2 :],
    ]
    for slip in slips:
        assert is_met(slip, alias), slip


@cases("cue", "alias")
def test_another_number_and_a_short_name_are_no_slip(cue: str, alias: str) -> None:
    assert not is_met(cue, alias)


@cases("cue", "alias")
def test_case_marks_and_blanks_are_no_difference(cue: str, alias: str) -> None:
    assert is_met(cue, alias)


# -- One character, or an emoji, finds the memories that have it -----------------------------------
#
# Mechanism: runs of scripts without spaces are kept as pairs of characters, and emoji as nothing.
# Damage: "猫" found only a memory in which it stands alone, and an octopus found whatever its
# vector, that of an unknown word, lay near. Guard: both are terms of a kind of their own, looked
# up only where a cue says nothing else, so that other cues rank as before.


TEXTS = (
    "昨日は猫と遊んだ | 一生懸命働く | 犬が好きです | 물을 마셨다 | We saw an octopus 🐙 today | "
    "Holiday 🇹🇷 booked | Well done 👍🏽 everyone | Nothing to see here | Tea at nine"
).split(" | ")


@cases("cue", "at")
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
