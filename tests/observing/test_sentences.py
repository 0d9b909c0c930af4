"""Where a sentence ends: never within a number, a date or a name.

Damage without it: a theme or a summary quotes half of a price. Guard: texts and their sentences.
"""

from __future__ import annotations

import pytest

from spector.language.worth import sentences_of


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("The car cost 4.500 lira. It runs.", ["The car cost 4.500 lira.", "It runs."]),
        ("We offered 12.8 million.", ["We offered 12.8 million."]),
        ("Dr. Yıldız called. Gel!", ["Dr. Yıldız called.", "Gel!"]),
        ("Prof. Dr. Ayla geldi mi? Evet.", ["Prof. Dr. Ayla geldi mi?", "Evet."]),
        ("5. sınıfta okuyor. Saat 9.30'da.", ["5. sınıfta okuyor.", "Saat 9.30'da."]),
        (
            "J. R. R. Tolkien wrote it... no. 7 is out",
            ["J. R. R. Tolkien wrote it...", "no. 7 is out"],
        ),
        ("Who, I? No. Not I. He.", ["Who, I?", "No.", "Not I.", "He."]),
        ("one\n\ntwo", ["one", "two"]),
        ("... !", []),
        ("", []),
    ],
)
def test_a_sentence_ends_within_no_number_and_no_name(text: str, sentences: list[str]) -> None:
    assert sentences_of(text) == sentences
