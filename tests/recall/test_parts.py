"""Compound cues taken apart.

Mechanism: a cue with a clear seam is recalled part by part. Damage without it: of two things asked
for, the one with more words takes all the hits; of one thing asked for, half a question is looked
up. Guard: a table of seams, and cues without one that must stay whole.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.recall import sets
from spector.language.cues.compound import MOST_PARTS, split_cue

PEOPLE = ["Ann", "Bob", "Cem", "Ayşe", "user", "assistant"]


@pytest.mark.parametrize(
    ("cue", "parts"),
    [
        ("What does Ann do? Where is Bob?", ["What does Ann do?", "Where is Bob?"]),
        (
            "What is Ann's job and where does she live?",
            ["What is Ann's job", "where does Ann live?"],
        ),
        (
            "Where did Bob go, and what did his sister tell him?",
            ["Where did Bob go", "what did Bob's sister tell Bob?"],
        ),
        (
            "What colour is her car, and also how old is it?",
            ["What colour is her car", "how old is it?"],
        ),
        ("Did Ann like Rome and did she go back?", ["Did Ann like Rome", "did Ann go back?"]),
        (
            "How many days between when I met Ann and when I met Bob?",
            ["How many days between when I met Ann", "when I met Bob?"],
        ),
        ("What do Ann and Bob like?", ["What do Ann like?", "What do Bob like?"]),
        ("Do both Ann and Bob have pets?", ["Do Ann have pets?", "Do Bob have pets?"]),
        (
            "What do Ann, Bob and Cem like?",
            ["What do Ann like?", "What do Bob like?", "What do Cem like?"],
        ),
        ("Ayşe nerede oturuyor ve kaç yaşında?", ["Ayşe nerede oturuyor", "kaç yaşında?"]),
        ("Ayşe ve Cem ne sever?", ["Ayşe ne sever?", "Cem ne sever?"]),
        (
            "I was in Rome. Where did I stay? What did I eat?",
            ["I was in Rome. Where did I stay?", "What did I eat?"],
        ),
    ],
)
def test_a_compound_cue_is_taken_apart_at_its_seams(cue: str, parts: list[str]) -> None:
    assert split_cue(cue, PEOPLE) == parts


@pytest.mark.parametrize(
    "cue",
    [
        "",
        "?",
        "Where does Ann live?",
        "Where and when did Ann meet Bob?",
        "salt and pepper",
        "You like tea, right? Why?",
        "What is the talk between Ann and Bob about?",
        "What did Ann and the boss of Bob say?",
        "I met Ann and what a day it was.",
        "Is it hers and is his car red",
        "Hey Ann!\nHow are you?\nWhat is new?",
        "List the order of things? Mention only three.",
        "What do Ann and Ann like?",
    ],
)
def test_a_cue_without_a_seam_stays_whole(cue: str) -> None:
    assert split_cue(cue, PEOPLE) == [cue]


def test_only_people_of_the_store_make_a_list() -> None:
    assert len(split_cue("What do Trinidad and Tobago grow?", PEOPLE)) == 1
    assert len(split_cue("What do Ann and Bob grow?", PEOPLE)) == 2
    assert len(split_cue("What do Ann and Bob grow?")) == 1


def test_a_pronoun_of_two_people_stays() -> None:
    parts = split_cue("Did Ann meet Bob? What did she tell him?", PEOPLE)
    assert parts == ["Did Ann meet Bob?", "What did she tell him?"]


def test_no_more_than_four_parts_and_no_word_is_lost() -> None:
    cue = " ".join(f"Where is the place{n}?" for n in range(9))
    parts = split_cue(cue)
    assert len(parts) == MOST_PARTS
    assert " ".join(parts) == cue


@given(st.text(), st.lists(st.sampled_from(PEOPLE), max_size=3))
def test_any_text_has_one_to_four_parts(cue: str, people: list[str]) -> None:
    parts = split_cue(cue, people)
    assert 1 <= len(parts) <= MOST_PARTS
    assert len(parts) == len(set(parts))


@given(
    st.lists(
        st.sampled_from(
            "what where Ann Bob and , ? she her his did is also ve nerede both the x y".split()
        ),
        max_size=25,
    ).map(" ".join)
)
def test_parts_of_any_heap_of_words_say_something(cue: str) -> None:
    parts = split_cue(cue, PEOPLE)
    assert parts == [cue] or all(part.strip() for part in parts)


@pytest.mark.needs_data
def test_situations_are_never_taken_apart() -> None:
    try:
        questions = sets.load("madial").questions
    except sets.NoDataError as error:
        pytest.skip(str(error))
    assert all(split_cue(question.cue) == [question.cue] for question in questions)
