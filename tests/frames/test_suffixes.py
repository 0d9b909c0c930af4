"""Vowel harmony, and the forms of Turkish nouns and verbs that the frames are compared with."""

from __future__ import annotations

import pytest

from spector.language.frames.turkish.suffixes import (
    Case,
    has_harmony,
    person_forms,
    possessed,
    strip_case,
    strip_copula,
    verb_forms,
)
from spector.language.words import plain


@pytest.mark.parametrize(
    ("stem", "suffix", "fits"),
    [
        ("ev", "de", True),
        ("ev", "da", False),
        ("okul", "da", True),
        ("köy", "da", False),
        ("köy", "de", True),
        ("yol", "da", True),
        ("ev", "im", True),
        ("ev", "um", False),
        ("yol", "um", True),
        ("yol", "im", False),
        ("saat", "e", True),
        ("gol", "e", True),
        ("8080", "de", True),
        ("TV", "de", True),
    ],
)
def test_a_suffix_follows_the_last_vowel(stem: str, suffix: str, fits: bool) -> None:
    assert has_harmony(stem, suffix) is fits


@pytest.mark.parametrize(
    ("raw", "suffix", "case", "stem"),
    [
        ("Ankara", "da", "loc", "Ankara"),
        ("evde", "", "loc", "ev"),
        ("okulda", "", "loc", "okul"),
        ("köyda", "", "loc", None),
        ("kahveyi", "", "acc", "kahve"),
        ("çayı", "", "acc", "çay"),
        ("çocuğu", "", "acc", "çocuk"),
        ("mavi", "", "acc", None),
        ("projenin", "", "gen", "proje"),
        ("ürünün", "", "gen", "ürün"),
        ("Ayşe", "nin", "gen", "Ayşe"),
        ("Ayşe", "de", "gen", None),
        ("kedilerden", "", "abl", "kediler"),
        ("fıstığa", "", "dat", "fıstık"),
        ("veritabanını", "", "acc", "veritabanı"),
        ("Kerem", "le", "ins", "Kerem"),
        ("ev", "", "loc", None),
        ("", "", "loc", None),
    ],
)
def test_a_case_comes_off_and_leaves_the_noun(
    raw: str, suffix: str, case: Case, stem: str | None
) -> None:
    assert strip_case(raw, suffix, case) == stem


@pytest.mark.parametrize(
    ("noun", "mine", "his"),
    [
        ("ev", "evim", "evi"),
        ("renk", "rengim", "rengi"),
        ("çocuk", "çocuğum", "çocuğu"),
        ("araba", "arabam", "arabası"),
        ("isim/ism", "ismim", "ismi"),
        ("kitap", "kitabım", "kitabı"),
        ("köpek", "köpeğim", "köpeği"),
        ("yüz", "yüzüm", "yüzü"),
    ],
)
def test_possessives_of_a_noun(noun: str, mine: str, his: str) -> None:
    forms = set(possessed(noun))
    assert (1, plain(mine)) in forms
    assert (3, plain(his)) in forms


@pytest.mark.parametrize(
    ("stem", "aorist", "form", "person", "polarity", "tense", "modality"),
    [
        ("yaşa", "yaşar", "yaşıyorum", 1, True, "present", "asserted"),
        ("yaşa", "yaşar", "yaşamıyorum", 1, False, "present", "asserted"),
        ("oyna", "oynar", "oynuyor", 3, True, "present", "asserted"),
        ("sev", "sever", "severim", 1, True, "present", "asserted"),
        ("sev", "sever", "sevmem", 1, False, "present", "asserted"),
        ("sev", "sever", "sevmez", 3, False, "present", "asserted"),
        ("git", "gider", "gidiyorum", 1, True, "present", "asserted"),
        ("git", "gider", "gittim", 1, True, "past", "asserted"),
        ("git", "gider", "gideceğim", 1, True, "future", "planned"),
        ("ye", "yer", "yiyorum", 1, True, "present", "asserted"),
        ("taşın", "taşınır", "taşınmış", 3, True, "past", "reported"),
        ("geç", "geçer", "geçtik", 1, True, "past", "asserted"),
        ("kullan", "kullanır", "kullanmayacağım", 1, False, "future", "planned"),
    ],
)
def test_forms_of_a_verb(
    stem: str, aorist: str, form: str, person: int, polarity: bool, tense: str, modality: str
) -> None:
    found = dict(verb_forms(stem, aorist))[plain(form)]
    assert (found.person, found.polarity, found.tense, found.modality) == (
        person,
        polarity,
        tense,
        modality,
    )


def test_to_be_is_a_suffix() -> None:
    assert list(person_forms("öğretmen")) == ["ogretmenim"]
    assert list(person_forms("hemşire")) == ["hemsireyim"]
    assert list(person_forms("aşçı")) == ["asciyim"]
    assert strip_copula("renktir", "") == "renk"
    assert strip_copula("mavidir", "") == "mavi"
    assert strip_copula("Bodur", "") == "Bodur"
    assert strip_copula("kadir", "") == "kadir"
