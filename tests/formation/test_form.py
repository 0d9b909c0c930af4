"""A message is taken apart into statements; what was said stays, notes stand beside it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.language.formation import Formed, Referents, cut, form
from spector.language.formation.form import Insertion, annotated
from spector.language.worth import extract_of
from spector.records import Note, without_notes
from tests.cases import Cases

cases = Cases(__file__)

NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)


def formed(text: str, *, at: datetime = NOON, **how: object) -> tuple[Formed, ...]:
    options = {"referents": Referents(), "timezone": UTC, **how}
    return form(text, now_ms=int(at.timestamp() * 1000), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("Ada moved to Kars and works at Acme", ["Ada moved to Kars", "[Ada] works at Acme"]),
        (
            "Last Friday Ada met Bob, and Carl joined Acme.",
            ["Last Friday [2026-11-20] Ada met Bob", "Carl joined Acme [2026-11-20]."],
        ),
        (
            "My brother lives in Izmir and my sister moved to Bursa",
            ["My brother lives in Izmir", "my sister moved to Bursa"],
        ),
        (
            "Dün Ada Bob'la buluştu ve Can Acme'ye katıldı.",
            ["Dün [2026-11-24] Ada Bob'la buluştu", "Can Acme'ye katıldı [2026-11-24]."],
        ),
        (
            "Ada Kars'a taşındı ve Acme'de çalışıyor",
            ["Ada Kars'a taşındı", "[Ada] Acme'de çalışıyor"],
        ),
    ],
)
def test_a_conjunction_splits_where_both_sides_tell_something(
    message: str, texts: list[str]
) -> None:
    assert [each.text for each in formed(message)] == texts


@cases("message")
def test_lists_questions_and_quotations_stay_whole(message: str) -> None:
    assert [each.said for each in formed(message)] == [message]


def test_an_unsure_pronoun_stands_alone_and_shows_its_candidates() -> None:
    (one,) = formed("Omar met Carl and David. He is late.")
    assert one.text == one.said
    (reference,) = one.references
    assert reference.chosen is None
    assert {name for name, _ in reference.candidates} == {"Omar", "Carl", "David"}


def test_a_woman_is_not_he() -> None:
    (one,) = formed("Ada called. He is late.")
    assert one.references[0].chosen is None
    assert one.text == one.said


def test_the_speaker_of_a_message_is_no_other() -> None:
    before = Referents().after("I am here", speaker="Omar")
    (one,) = formed("Omar here. He is late.", referents=before, speaker="Omar")
    assert one.references[0].chosen is None


def test_a_turkish_pronoun_is_annotated_and_a_determiner_is_not() -> None:
    (one,) = formed("Ada aradı. O Kars'ta.")
    assert one.text == "Ada aradı. O [Ada] Kars'ta."
    (other,) = formed("Ada aradı. O zaman evdeydim.")
    assert other.text == other.said


@cases("message")
def test_what_names_a_day_ahead_is_a_plan(message: str) -> None:
    assert [each.plan for each in formed(message)] == [True]


@cases("message")
def test_what_names_no_day_ahead_is_none(message: str) -> None:
    assert not any(each.plan for each in formed(message))


@cases("message", "text")
def test_a_note_says_the_day_that_is_named_and_only_where_there_is_one(
    message: str, text: str
) -> None:
    assert formed(message)[0].text == text


def test_a_time_that_opens_is_noted_in_the_first_sentence_of_each_part() -> None:
    one, two = formed("Last year I took a trip to Rome and Ada sold her flat. It was sad.")
    assert one.text == "Last year [2025] I took a trip to Rome"
    assert two.text == "Ada sold her [Ada] flat [2025]. It was sad."


@pytest.mark.parametrize("message", ["", "   ", "\n\t"])
def test_an_empty_message_states_nothing(message: str) -> None:
    assert formed(message) == ()


def test_notes_stand_where_they_say() -> None:
    for message in (
        "Yesterday Ada met Bob and Carl joined Acme.",
        "Ada called. She will come on Friday, and I was there last week!",
        "Dün Ada geldi. Onu yarın göreceğim.",
        "\u00cdn Kars \U0001f600 yesterday, tomorrow; two days ago\u2026",
        "I\u0307stanbul'da du\u0308n yag\u0306mur yag\u0306di",
        "a\x00b yesterday \x1b[0m tomorrow",
    ):
        for one in formed(message):
            assert without_notes(one.text, one.notes) == one.said == message[one.start : one.end]
            for note in one.notes:
                assert one.text[note.start : note.end].strip() == f"[{note.value}]"


# -- A long message is cut where it pauses, and nothing of it is lost ------------------------------


def parts(text: str, most: int) -> list[str]:
    return [text[start:end] for start, end in cut(text, most)]


def test_paragraphs_come_first() -> None:
    text = "One two. Three four.\n\nFive six. Seven eight."
    assert parts(text, 30) == ["One two. Three four.", "Five six. Seven eight."]


def test_then_sentences() -> None:
    text = "Ada lives in Kars. Bob lives in Van. Carl lives in Bursa."
    assert parts(text, 40) == ["Ada lives in Kars. Bob lives in Van.", "Carl lives in Bursa."]


def test_then_words() -> None:
    assert parts("aaaa bbbb cccc dddd", 11) == ["aaaa bbbb", "cccc dddd"]


def test_a_word_that_is_too_long_is_cut_within() -> None:
    assert parts("x" * 25, 11) == ["x" * 10, "x" * 10, "x" * 5]


@pytest.mark.parametrize(
    "text", ["a" + "\u0301" * 25, "\u200b" * 25 + " a", "ab\u0301\u0302\u0303 c"]
)
def test_no_part_is_without_a_character_to_be_seen(text: str) -> None:
    found = parts(text, 3)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(any(char.isalpha() for char in each) for each in found)


def test_a_full_stop_of_a_number_ends_no_part() -> None:
    assert parts("It costs 3.5 lira. Ada pays.", 20) == ["It costs 3.5 lira.", "Ada pays."]


def test_a_short_text_is_one_part() -> None:
    assert parts("  Ada called.  ", 5000) == ["Ada called."]
    assert parts("", 5000) == []
    assert parts(" \n ", 5000) == []


def test_a_limit_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer than 1 characters"):
        cut("Ada", 1)


def test_a_huge_text_is_cut_in_one_go() -> None:
    text = "Ada met Bob. " * 40_000
    found = cut(text, 5000)
    assert len(found) < 120
    assert all(end - start < 5000 for start, end in found)


@given(st.text(alphabet=st.sampled_from("ab .!\n\t\u2026"), max_size=120), st.integers(2, 30))
def test_only_white_space_is_left_out(text: str, most: int) -> None:
    found = cut(text, most)
    done = 0
    for start, end in found:
        assert start < end
        assert end - start < most
        assert text[done:start].strip() == ""
        done = end
    assert text[done:].strip() == ""


# -- Sentences without end marks stay two when an extract has both ---------------------------------
#
# Damage without it: a theme reads "I prefer window seats I prefer green tea". Guard: texts with
# and without end marks in English and Turkish, and what the extract of them says.


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


# -- Notes go into a text and come out again, and what was said is left to the letter --------------


def test_a_note_stands_behind_its_word_and_its_span_takes_the_space() -> None:
    text, notes = annotated("He left.", [Insertion(2, "Omar", "reference")])
    assert text == "He [Omar] left."
    assert notes == (Note(2, 9, "reference", "Omar"),)
    assert text[2:9] == " [Omar]"


def test_a_subject_stands_in_front() -> None:
    text, notes = annotated("works at Acme", [Insertion(0, "Ada", "subject", leads=True)])
    assert text == "[Ada] works at Acme"
    assert without_notes(text, notes) == "works at Acme"


def test_notes_that_do_not_fit_a_text_take_nothing_out() -> None:
    assert without_notes("short", [Note(2, 90, "date", "x"), Note(4, 1, "date", "y")]) == "short"


@given(
    st.text(max_size=40),
    st.lists(st.tuples(st.integers(0, 50), st.text(max_size=8), st.booleans()), max_size=6),
)
def test_what_goes_in_comes_out(said: str, places: list[tuple[int, str, bool]]) -> None:
    insertions = [
        Insertion(0 if leads else at, value, "date", leads=leads) for at, value, leads in places
    ]
    text, notes = annotated(said, insertions)
    assert without_notes(text, notes) == said
    assert [text[each.start : each.end].strip() for each in notes] == [
        f"[{each.value}]".strip() for each in notes
    ]
