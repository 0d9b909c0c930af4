"""Likings, words of time, questions, and whom a cue is about.

Mechanism: terms of the ranking formula are given by the wording of a text. Damage without it: what
the user likes is lost among facts; a question outranks its answer; "What will Ann do?" is about
Will.
Guard: tables, and changes that must not matter.
"""

from __future__ import annotations

import pytest

from spector.language.statements.markers import (
    Speakers,
    ends_with_question,
    states_preference,
    subject_of,
    terms_of_time,
)


@pytest.mark.parametrize(
    "text",
    [
        "I prefer the aisle.",
        "Honestly, I really don't like cilantro",
        "My favourite tea is mint",
        "i can't stand loud bars",
        "I'm not a big fan of musicals.",
        "I'd rather walk",
        "My all time favorite film",
        "Treni tercih ederim",
        "En sevdiğim renk yeşil",
        "Mantar sevmem, çok ağır.",
        "Balık yemeyi çok seviyorum",
    ],
)
def test_a_preference_is_seen(text: str) -> None:
    assert states_preference(text)
    assert states_preference(text.upper().replace("İ", "I"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ann likes tea.",
        "What do I prefer?",
        "It looks like rain",
        "I would like to book a table",
        "I like what?",
        "The favourite won",
        "Onu kim sever bilmem",
        "We walked home",
    ],
)
def test_other_texts_say_no_liking(text: str) -> None:
    assert not states_preference(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("We met Ann", 0),
        ("We met last week", 2),
        ("We met in 2021", 1),
        ("I began 3 years ago", 2),
        ("Yesterday!", 1),
        ("YESTERDAY, TODAY AND TOMORROW", 2),
        ("room 12345", 0),
        ("Geçen hafta tanıştık", 2),
        ("Mayıs ayında şeker aldık", 1),
    ],
)
def test_words_of_time_are_counted_up_to_two(text: str, count: int) -> None:
    assert terms_of_time(text) == count


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How are you?", True),
        ("Look! [shares a photo of a cat?]", False),
        ("How is it? [shares a photo of a cat]", True),
        ("你好吗？", True),
        ("Fine. Why? Well.", False),
        ("كيف حالك؟", True),
        ("", False),
        ("Nice? ", True),
    ],
)
def test_what_ends_in_a_question_mark_asks(text: str, expected: bool) -> None:
    assert ends_with_question(text) is expected


@pytest.mark.parametrize(
    ("cue", "speakers", "expected"),
    [
        ("What does Ann like?", ["Ann", "Bob"], "Ann"),
        ("what does ANN's cat like", ["Ann", "Bob"], "Ann"),
        ("What do Ann and Bob like?", ["Ann", "Bob"], None),
        ("What does Anna like?", ["Ann", "Bob"], None),
        ("Where does Ann Lee live?", ["Ann Lee", "Ann Smith"], "Ann Lee"),
        ("Where does Ann live?", ["Ann Lee", "Ann Smith"], None),
        ("Where does Ann live?", ["Ann Lee", "Bob Smith"], "Ann Lee"),
        ("What will Ann do?", ["Ann", "Will"], "Ann"),
        ("What did Will do?", ["Ann", "Will"], "Will"),
        ("what did will do?", ["Ann", "Will"], "Will"),
        ("What do I like?", ["user", "assistant"], "user"),
        ("What does Ann like?", ["user", "assistant", "Ann"], "Ann"),
        ("Tell the assistant", ["assistant", "Ann"], None),
        ("Ayşe'nin kedisi nerede?", ["Ayşe", "Fatma"], "Ayşe"),
        ("AYSE nerede?", ["Ayşe", "Fatma"], "Ayşe"),
        ("İpek ne dedi?", ["ipek"], "ipek"),
        ("Where did Jean-Luc go?", ["Jean Luc"], "Jean Luc"),
        ("王芳喜欢什么？", ["王芳", "李雷"], "王芳"),
        ("민수가 뭐라고?", ["민수"], "민수"),
        ("王芳和李雷", ["王芳", "李雷"], None),
        ("", ["Ann"], None),
        ("?", [], None),
        ("Ann", ["", "!"], None),
    ],
)
def test_the_one_person_that_a_cue_is_about(
    cue: str, speakers: list[str], expected: str | None
) -> None:
    assert subject_of(cue, speakers) == expected
    assert subject_of(cue, Speakers.of(reversed(speakers))) == expected
