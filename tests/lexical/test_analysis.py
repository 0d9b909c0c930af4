"""What the words of a text are, in the scripts and languages that people write in."""

from __future__ import annotations

import unicodedata

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from spector.language.words import stemming as stems
from spector.language.words.analysis import (
    STOP,
    analyse,
    cue_terms,
    field_terms,
    is_identifier,
    term_hash,
    words,
)
from tests.cases import Cases

cases = Cases(__file__)


def _content(text: str) -> list[str]:
    return analyse(text).content()


@cases("cue", "text")
def test_a_cue_and_a_text_meet_in_every_word_of_the_cue(cue: str, text: str) -> None:
    found = set(_content(text))
    for term in cue_terms(cue):
        assert found & set(term.forms), (term, found)


def test_a_hindi_word_is_a_word_and_not_its_consonants() -> None:
    assert analyse("हिन्दी भाषा").forms == ["हिन्दी", "भाषा"]
    assert not set(_content("हिन्दी भाषा")) & set(_content("हाँ न दे भी षट्"))


def test_one_turkish_name_does_not_make_an_english_text_turkish() -> None:
    found = analyse("I met Ayşe at the meeting in İstanbul")
    assert not found.turkish
    assert {"met", "meet", "istanbul"} <= set(found.words)
    assert not analyse("Ayşe bought cars").turkish
    assert set(_content("Ayşe")) <= set(found.words), "her name is the same in both languages"


def test_turkish_is_recognised_without_its_letters() -> None:
    assert analyse("yarin toplanti yok, ama neden?").turkish
    assert analyse("bu kitap da var").turkish
    assert not analyse("var x = 1").turkish, "that is no evidence"
    assert not analyse("bile acids").turkish
    assert not analyse("no meeting tomorrow, but why?").turkish
    assert not analyse("I've been there, Ben and Kim told her on Var street").turkish


def test_stop_words_are_left_out_of_a_cue_unless_there_are_no_others() -> None:
    assert [t.text for t in cue_terms("What is the guitar?")] == ["guitar"]
    assert [t.text for t in cue_terms("Who are you?")] == [STOP + w for w in ("who", "are", "you")]
    assert cue_terms("?!") == []


def test_no_stop_word_is_mistaken_for_the_stem_of_another_word() -> None:
    assert not set(analyse("human beings").words) & set(analyse("to be or not to be").words)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("INC-2219 is open", ["inc 2219"]),
        ("on 2026-10-02 at 10:30", ["2026 10 02", "10 30"]),
        ("foo_bar2, a.b.c and well-known", ["foo bar2"]),
        ("ŞB-12", ["şb 12"]),
        ("x" + "-1" * 200, []),
    ],
)
def test_identifiers_are_terms_as_a_whole(text: str, joined: list[str]) -> None:
    found = analyse(text)
    assert found.joined == joined
    assert all(is_identifier(term) for term in found.joined)
    assert not any(is_identifier(term) for term in found.words)


def test_a_long_cue_loses_none_of_its_terms() -> None:
    cue = " ".join(f"word{n}" for n in range(300)) + " INC-1"
    assert len(cue_terms(cue)) == 303


def test_fields_tell_speaker_day_month_and_year() -> None:
    assert field_terms("Ann Lee", 1_683_547_200_000) == ("ann", "lee", "8", "may", "2023")
    assert field_terms(None, None) == ()
    assert field_terms("Ann", 10**18) == ("ann",), "no such year"
    assert "mayis" in field_terms("Ayşe", 1_683_547_200_000, turkish=True)
    assert set(field_terms(None, 1_683_547_200_000)) <= set(_content("on the 8th of May 8 2023"))


@cases("forms")
def test_the_forms_of_a_turkish_word_meet(forms: str) -> None:
    assert len({stems.stem_of(form, "turkish") for form in forms.split()}) == 1


def test_both_stemmers_give_the_same_stems() -> None:
    texts = (
        "running flies happily generously toplantılar evlerimizden kitapları görüşmede dying "
        "книгами встречу βιβλίου σκύλοι գիրքը الاجتماع المدرسة लड़कियों किताबें புத்தகங்கள் வீட்டில்"
    )
    for language in tuple("english turkish greek russian armenian arabic hindi tamil".split()):
        pure = getattr(
            __import__(f"snowballstemmer.{language}_stemmer", fromlist=["x"]),
            f"{language.capitalize()}Stemmer",
        )()
        for form in texts.split():
            assert pure.stemWord(form) == stems._make_stemmer(language).stemWord(form)
    assert snowballstemmer.stemmer("english")


def test_without_pystemmer_the_other_one_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "Stemmer", None)
    assert stems._make_stemmer("english").stemWord("guitars") == "guitar"


@given(st.text(max_size=60))
def test_any_text_has_terms_that_cannot_be_mistaken_for_another_kind(text: str) -> None:
    found = analyse(text)
    for word in found.words:
        assert word
        assert " " not in word
        assert STOP not in word[1:]
    assert words(text) == words(unicodedata.normalize("NFD", text)) or not text.isprintable()
    for term in cue_terms(text):
        term_hash(term.text)


@given(st.text(alphabet="aIıİiğŞçöü 的デ한ไ्हdé9-", max_size=40))
def test_case_does_not_matter_within_a_language(text: str) -> None:
    found = analyse(text)
    if not found.turkish and not set(text) & set("Iıİi"):
        assert analyse(text.upper()).content() == found.content()


def test_hostile_texts_take_no_longer_than_their_length() -> None:
    """Alternating marks, ligatures that expand, one endless word: each is linear, or this hangs."""
    for text in (
        "a" + "\u0301\u0316" * 100_000,
        "a" + "\uff9e\u0301" * 50_000,
        "\ufdfa" * 20_000,
        "x" * 1_000_000,
        "é" * 500_000,
        "a-1" * 200_000,
        "字" * 200_000,
    ):
        analyse(text)
