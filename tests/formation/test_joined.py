"""Sentences without end marks stay two when an extract has both.

Damage without it: a theme reads "I prefer window seats I prefer green tea". Guard: texts with and
without end marks in English and Turkish, and what the extract of them says.
"""

from __future__ import annotations

import pytest

from spector.language.worth import extract_of

JOINED = [
    (["I prefer window seats", "I prefer green tea"], "I prefer window seats. I prefer green tea"),
    (
        ["İzmir'e hep otobüsle gelirim,", "Kahveyi şekersiz içerim."],
        "İzmir'e hep otobüsle gelirim. Kahveyi şekersiz içerim.",
    ),
    (
        ["The rent is 900 €", "It has two rooms (no lift)", "Was it cheap?"],
        "The rent is 900 €. It has two rooms (no lift)",
    ),
    (
        ['Ayse said "the bridge is open"', "We cross the bridge at nine…"],
        'Ayse said "the bridge is open". We cross the bridge at nine…',
    ),
    (
        ["We saw the lighthouse of Foca 🎉", "The mill of Cunda burned"],
        "We saw the lighthouse of Foca 🎉 The mill of Cunda burned",
    ),
]


@pytest.mark.parametrize(("texts", "said"), JOINED)
def test_an_extract_tells_its_sentences_apart(texts: list[str], said: str) -> None:
    assert extract_of(texts, 1_000, len) == said


def test_the_full_stops_count() -> None:
    texts = ["The mill of Cunda burned", "The bridge of Foca fell"]
    whole = ". ".join(texts)
    assert extract_of(texts, len(whole), len) == whole
    assert extract_of(texts, len(whole) - 1, len) in texts
