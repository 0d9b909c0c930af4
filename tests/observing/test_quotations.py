"""What a message quotes is taken for its speaker's own words: someone else's town becomes hers."""

from __future__ import annotations

import pytest

from spector.language.statements import own_words, quotations


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ('The nurse said: "I moved to Varna last week."', "The nurse said:"),
        ("Translate this to Dutch: I keep bees. I live in Split.", "Translate this to Dutch:"),
        (
            "Could you polish this cover letter?\n\nDear Ms Roe,\nI work at Lunar.",
            "Could you polish this cover letter?",
        ),
        ("> I quit my job.\nIs that rude?", "Is that rude?"),
        (
            "It broke on the ferry server.\n```\nOSError: disk\n```\nI need it by noon.",
            "It broke on the ferry server. I need it by noon.",
        ),
        (
            "Our host says: I live upstairs now.\n\nI live in Split.",
            "Our host says: I live in Split.",
        ),
        ("Subject: keys\n\nHi Bo, I live in Pula.\nJo", ""),
        ('Status was {"id": "7", "city": "Pula"} today', "Status was today"),
        ("Annem dedi: eve gel artık.", "Annem dedi:"),
        ('"I live in Split."', ""),
        ("«Artık Pula'da yaşıyorum.»", ""),
    ],
)
def test_words_of_others_are_not_own(text: str, own: str) -> None:
    assert " ".join(own_words(text).split()) == own


@pytest.mark.parametrize(
    "text",
    [
        'My favourite novel is "The Master and Margarita".',
        "As I said: I live in Split.",
        "Write this down: my locker is 31.",
        "Correct: I live in Split.",
        "Edit: I moved to Pula",
        "2026-11-25 09:00 dentist on Oak Street",
        "friday = yoga, 7 pm",
        "warning: the gate code is 4417 now",
        "my parents' house is older than my cousins' one",
    ],
)
def test_names_in_quotation_marks_and_headings_are_own_words(text: str) -> None:
    assert quotations(text) == ()


def test_letters_keep_their_places() -> None:
    text = 'He said "I am in Oslo." and I left.'
    assert len(own_words(text)) == len(text)
    assert own_words(text).index("and I left") == text.index("and I left")
