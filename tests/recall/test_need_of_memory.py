"""Cues that need no memory.

Mechanism: known phrases that cover a cue from end to end skip embedding and search. Damage without
it: every "thanks!" is embedded and answered with ten strangers; a gate that is too eager swallows a
question. Guard: greetings and the like in English and Turkish are skipped, no cue of the shared
conversations is, and a question behind any greeting never is.
"""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.recall import sets
from spector.language.cues import need_gate
from spector.language.statements.markers import Speakers

SMALL_TALK = {
    "greeting": [
        "hi",
        "Hello!",
        "heyyy",
        "good morning",
        "Hi there, how are you?",
        "What's up?",
        "Hey Ann!",
        "Hello, Ann Lee!",
        "Good evening everyone",
        "merhaba",
        "Selam!",
        "Günaydın hocam",
        "selamün aleyküm",
        "Nasılsın?",
        "naber",
        "NASILSINIZ",
        "iyi akşamlar",
        "hola",
        "Guten Tag",
        "bonjour",
        "привет",
        "你好",
        "こんにちは",
        "안녕하세요",
        "Hi 👋",
    ],
    "farewell": [
        "bye",
        "See you later!",
        "good night, Ann",
        "have a nice day",
        "görüşürüz",
        "hoşça kal",
        "İyi geceler!",
        "tschüss",
        "au revoir",
    ],
    "thanks": [
        "thanks",
        "Thank you so much!",
        "thx",
        "Thanks, Ann. I really appreciate it.",
        "you're welcome",
        "teşekkürler",
        "Çok teşekkür ederim",
        "sağ ol",
        "tesekkur ederim",
        "Eyvallah abi",
        "danke schön",
        "merci beaucoup",
        "gracias",
        "спасибо",
        "谢谢",
    ],
    "confirmation": [
        "ok",
        "OK.",
        "okay then",
        "k",
        "sure",
        "Yes, please.",
        "yep!",
        "no",
        "nope",
        "no thanks",
        "sounds good",
        "go ahead",
        "do it",
        "of course",
        "That's right.",
        "never mind",
        "tamam",
        "TAMAM",
        "evet",
        "hayır",
        "olur",
        "tabii ki",
        "peki",
        "aynen öyle",
        "devam et",
        "belki",
        "Evet, lütfen.",
        "hayir",
        "ja",
        "oui",
        "да",
        "好的",
        "はい",
    ],
    "acknowledgement": [
        "got it",
        "I see",
        "makes sense",
        "Wow, that's great!",
        "lol",
        "hahaha",
        "hmmm",
        "cool",
        "me too",
        "Oh no! I'm sorry to hear that.",
        "anladım",
        "çok güzel",
        "Süper!",
        "vay be",
        "öyle mi?",
        "harika, teşekkürler",
    ],
}
FLAT = [cue for cues in SMALL_TALK.values() for cue in cues]
NAMELESS = [cue for cue in FLAT if "Ann" not in cue]
QUESTIONS = [
    "Where does Ann live?",
    "what did she say",
    "Which book?",
    "Remember my birthday?",
    "why",
    "tell me more",
    "Who?",
    "Ann's job",
    "Do you like tea?",
    "2",
    "42",
    "nerede?",
    "Kimdi o?",
    "kedim",
    "Annem ne dedi?",
    "Ankara",
    "İstanbul",
    "wait, what did I say?",
    "not that one",
    "the second one",
]


@pytest.mark.parametrize(("what", "cue"), [(w, c) for w, cues in SMALL_TALK.items() for c in cues])
def test_small_talk_needs_no_memory(what: str, cue: str) -> None:
    decision = need_gate(cue)
    assert (decision.needed, decision.reason) == (False, what)


@pytest.mark.parametrize("cue", ["/help", " /status ", "/dream", "/model large", "/Clear all"])
def test_a_slash_command_needs_no_memory(cue: str) -> None:
    assert not need_gate(cue).needed
    assert need_gate(cue).reason.startswith("slash command /")


@pytest.mark.parametrize(
    "cue",
    [
        "/ask where does Ann live?",
        "/etc/hosts",
        "/recall what Ann said",
        "/note Ann likes tea and cake",
        "a / b",
        "/ what is it",
        "/search Ann?",
    ],
)
def test_a_command_that_carries_a_message_is_looked_up(cue: str) -> None:
    assert need_gate(cue).needed


@pytest.mark.parametrize("cue", ["", "   ", "...", "?!", "👍", "👍🏽🎉", "—", "\n\n", "¯\\_()_/¯"])
def test_signs_need_no_memory(cue: str) -> None:
    assert need_gate(cue) == need_gate("...")
    assert not need_gate(cue).needed


@pytest.mark.parametrize("cue", QUESTIONS)
def test_a_question_is_looked_up(cue: str) -> None:
    assert need_gate(cue).needed


@pytest.mark.parametrize(
    "cue",
    [
        "WHERE",
        "HI WHERE",
        "hello what",
        "Hi Where Is Ann",
        "so",
        "Ann",
        "hi. Ankara",
        "Thanks Ann Lee Smith Jones",
        "Hello Ankara?",
        "Hi Ann knows",
        "good",
        "hi ann",
        "Happy birthday",
    ],
)
def test_words_beside_a_phrase_are_not_taken_for_names_too_easily(cue: str) -> None:
    assert need_gate(cue).needed == (cue != "good")


def test_a_known_speaker_may_be_greeted_however_the_name_is_written() -> None:
    assert need_gate("hi ann").needed
    assert not need_gate("hi ann", ["Ann", "Bob"]).needed
    assert not need_gate("sure, ANN!", Speakers.of(["Ann", "Bob"])).needed
    assert need_gate("ann", ["Ann"]).needed


@given(st.sampled_from(FLAT), st.sampled_from(FLAT))
def test_small_talk_twice_is_small_talk(one: str, two: str) -> None:
    assert not need_gate(f"{one}. {two}").needed
    assert not need_gate(f"{one}\n{two}!").needed


@given(
    st.sampled_from(NAMELESS),
    st.sampled_from(
        [
            str.upper,
            str.lower,
            str.title,
            lambda cue: f" {cue} ...",
            lambda cue: f"{cue}!!",
            lambda cue: f"{cue} 🙂",
            lambda cue: cue.replace("'", "’"),
            lambda cue: unicodedata.normalize("NFD", cue),
        ]
    ),
)
def test_case_signs_and_emoji_do_not_matter(cue: str, change: object) -> None:
    assert callable(change)
    assert not need_gate(change(cue)).needed


@given(st.sampled_from(FLAT), st.sampled_from(QUESTIONS), st.booleans())
def test_a_question_beside_small_talk_is_looked_up(cue: str, question: str, first: bool) -> None:
    both = f"{question}. {cue}" if first else f"{cue}. {question}"
    assert need_gate(both).needed


@given(st.text())
def test_any_text_gets_a_decision_with_a_reason(cue: str) -> None:
    assert need_gate(cue).reason


@pytest.mark.needs_data
@pytest.mark.parametrize("name", ["locomo", "beam", "madial", "prefeval"])
def test_no_cue_of_the_shared_conversations_is_skipped(name: str) -> None:
    try:
        questions = sets.load(name).questions
    except sets.NoDataError as error:
        pytest.skip(str(error))
    skipped = [question.cue for question in questions if not need_gate(question.cue).needed]
    assert skipped == []
