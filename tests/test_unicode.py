"""Normal forms in linear time.

Mechanism: Python sorts the marks after a letter by insertion, holding the interpreter's lock.
Damage: a tag, a cue or a text of some 100 KB stopped every thread of the process for minutes.
Guard: long runs of marks are sorted beforehand; the result is that of the library.
"""

from __future__ import annotations

import random
import unicodedata

import pytest

from spector.language.words.analysis import words
from spector.language.words.folding import normalize_nfkc, normalize_unicode
from spector.providers.wordpiece import WordPiece

#: above and below in turn: each of the second kind belongs before all of the first
WORST = "\u0301\u0323"
MARKS = [chr(c) for c in range(0x300, 0x370)] + list("\u3099\u05b0\u064b\U0001d165\U0001d16d\u0f73")


@pytest.mark.parametrize("seed", range(40))
def test_it_is_what_the_library_says(seed: int) -> None:
    pick = random.Random(seed)
    text = ""
    while len(text) < 1100:
        text += pick.choice("aeå각ậか가\u1100 \n")
        text += "".join(pick.choices(MARKS, k=pick.choice([0, 1, 2, 31, 32, 33, 300])))
    for form in ("NFC", "NFD"):
        assert normalize_unicode(form, text) == unicodedata.normalize(form, text)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_compatible_is_what_the_library_says(seed: int) -> None:
    """Ligatures, halves, jamo, characters that become eighteen, marks that come apart."""
    pick = random.Random(seed)
    letters = "aéÅﬁﷺ①½ｶﾞｱﾟ한ᄒ한Ǆſẛ\ud800㌀\u2126\ufb2c"
    text = ""
    while len(text) < 1100:
        text += pick.choice(letters)
        text += "".join(pick.choices([*MARKS, "\uff9e", "\uff9f"], k=pick.choice([0, 0, 1, 2, 33])))
    assert normalize_nfkc(text) == unicodedata.normalize("NFKC", text)


def test_a_million_marks_come_out_sorted() -> None:
    found = normalize_unicode("NFD", "q" + WORST * 500_000)  # the library alone would take an hour
    assert found == "q" + "\u0323" * 500_000 + "\u0301" * 500_000


def test_what_reads_texts_and_cues_is_done_with_a_million_marks() -> None:
    assert WordPiece().encode("e" + WORST * 500_000) == WordPiece().encode("e")
    assert words("road e" + WORST * 500_000)[0] == "road"
