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
from spector.language.cues.intent import PARAMS, Intent, Kind, Mode, kind_of, route_cue
from tests.cases import Cases

cases = Cases(__file__)

SMALL_TALK = {
    "greeting": (
        "hi | Hello! | heyyy | good morning | Hi there, how are you? | What's up? | "
        "Hey Ann! | Hello, Ann Lee! | Good evening everyone | merhaba | Selam! | "
        "Günaydın hocam | selamün aleyküm | Nasılsın? | naber | NASILSINIZ | "
        "iyi akşamlar | hola | Guten Tag | bonjour | привет | 你好 | こんにちは | 안녕하세요 | "
        "Hi 👋"
    ).split(" | "),
    "farewell": (
        "bye | See you later! | good night, Ann | have a nice day | görüşürüz | "
        "hoşça kal | İyi geceler! | tschüss | au revoir"
    ).split(" | "),
    "thanks": (
        "thanks | Thank you so much! | thx | Thanks, Ann. I really appreciate it. | "
        "you're welcome | teşekkürler | Çok teşekkür ederim | sağ ol | "
        "tesekkur ederim | Eyvallah abi | danke schön | merci beaucoup | gracias | "
        "спасибо | 谢谢"
    ).split(" | "),
    "confirmation": (
        "ok | OK. | okay then | k | sure | Yes, please. | yep! | no | nope | "
        "no thanks | sounds good | go ahead | do it | of course | That's right. | "
        "never mind | tamam | TAMAM | evet | hayır | olur | tabii ki | peki | "
        "aynen öyle | devam et | belki | Evet, lütfen. | hayir | ja | oui | да | "
        "好的 | はい"
    ).split(" | "),
    "acknowledgement": (
        "got it | I see | makes sense | Wow, that's great! | lol | hahaha | "
        "hmmm | cool | me too | Oh no! I'm sorry to hear that. | anladım | "
        "çok güzel | Süper! | vay be | öyle mi? | harika, teşekkürler"
    ).split(" | "),
}
FLAT = [cue for cues in SMALL_TALK.values() for cue in cues]
NAMELESS = [cue for cue in FLAT if "Ann" not in cue]
QUESTIONS = cases.rows("QUESTIONS")


@pytest.mark.parametrize(("what", "cue"), [(w, c) for w, cues in SMALL_TALK.items() for c in cues])
def test_small_talk_needs_no_memory(what: str, cue: str) -> None:
    decision = need_gate(cue)
    assert (decision.needed, decision.reason) == (False, what)


@pytest.mark.parametrize("cue", ["/help", " /status ", "/dream", "/model large", "/Clear all"])
def test_a_slash_command_needs_no_memory(cue: str) -> None:
    assert not need_gate(cue).needed
    assert need_gate(cue).reason.startswith("slash command /")


@cases("cue")
def test_a_command_that_carries_a_message_is_looked_up(cue: str) -> None:
    assert need_gate(cue).needed


@pytest.mark.parametrize("cue", ["", "   ", "...", "?!", "👍", "👍🏽🎉", "—", "\n\n", "¯\\_()_/¯"])
def test_signs_need_no_memory(cue: str) -> None:
    assert need_gate(cue) == need_gate("...")
    assert not need_gate(cue).needed


@pytest.mark.parametrize("cue", QUESTIONS)
def test_a_question_is_looked_up(cue: str) -> None:
    assert need_gate(cue).needed


@cases("cue")
def test_words_beside_a_phrase_are_not_taken_for_names_too_easily(cue: str) -> None:
    assert need_gate(cue).needed == (cue != "good")


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


# What kind of cue it is, and what is said about why.
#
# Mechanism: rules on the wording choose the weights of a recall. Damage without it: one fixed weight
# loses either on questions of fact or on requests (bench/log, "Ranking research"). Guard: tables
# of cues that no rule was written from, the figures of the research on the shared conversations,
# changes of a cue that must not matter.

FACTS = cases.rows("FACTS")
REQUESTS = cases.rows("REQUESTS")
#: a user's plain questions about himself, which once were requests when they were open
ABOUT_ONESELF = cases.rows("ABOUT_ONESELF")
#: the same beginnings, and help is wanted
STILL_REQUESTS = cases.rows("STILL_REQUESTS")
TALKS = cases.rows("TALKS")


@pytest.mark.parametrize(
    ("cue", "expected"),
    [
        *((cue, "fact") for cue in FACTS + ABOUT_ONESELF),
        *((cue, "request") for cue in REQUESTS + STILL_REQUESTS),
        *((cue, "talk") for cue in TALKS),
    ],
)
def test_the_kind_of_a_cue(cue: str, expected: str) -> None:
    assert kind_of(cue) == expected


@cases("cue")
def test_a_question_about_somebody_else_is_no_request(cue: str) -> None:
    assert kind_of(cue) is Kind.FACT
    assert kind_of(cue.replace("Ann", "you")) is Kind.REQUEST or "US" in cue


@pytest.mark.parametrize(
    ("cue", "intent", "mode"),
    [
        ("Why did she leave Rome?", Intent.CAUSAL, Mode.GRAPH_SEED),
        ("What was the reason for the delay?", Intent.CAUSAL, Mode.GRAPH_SEED),
        ("How do I deploy the app?", Intent.PROCEDURAL, Mode.STRUCTURED),
        ("Tell me the steps to renew it", Intent.PROCEDURAL, Mode.STRUCTURED),
        ("When did Ann move?", Intent.TEMPORAL, Mode.TEMPORAL),
        ("What happened yesterday?", Intent.TEMPORAL, Mode.TEMPORAL),
        ("What is Ann's favourite colour?", Intent.PREFERENCE, Mode.HYBRID),
        ("Can you recommend a hotel?", Intent.PREFERENCE, Mode.HYBRID),
        ("Who is Ann?", Intent.ENTITY_PROFILE, Mode.STRUCTURED),
        ("Tell me about Ann", Intent.ENTITY_PROFILE, Mode.STRUCTURED),
        ("Which city has she visited?", Intent.FACTUAL, Mode.HYBRID),
        ("It rained all day", Intent.GENERAL, Mode.SEMANTIC),
        ("I was there yesterday.\nWhy?", Intent.GENERAL, Mode.SEMANTIC),
        ("Ayşe neden taşındı?", Intent.CAUSAL, Mode.GRAPH_SEED),
        ("Geçen hafta ne oldu?", Intent.TEMPORAL, Mode.TEMPORAL),
        ("Ayşe hakkında ne biliyorsun?", Intent.ENTITY_PROFILE, Mode.STRUCTURED),
        ("Annemin en sevdiği renk hangisi?", Intent.PREFERENCE, Mode.HYBRID),
        ("Uygulamayı nasıl kurarım?", Intent.PROCEDURAL, Mode.STRUCTURED),
    ],
)
def test_intent_and_mode(cue: str, intent: Intent, mode: Mode) -> None:
    found = route_cue(cue)
    assert (found.intent, found.mode) == (intent, mode)


def test_every_decision_says_why() -> None:
    found = route_cue("Can you recommend a hotel?")
    assert found.reasons == (
        'kind request: asks for help ("can you")',
        "intent preference: a request: preferences count",
        "mode hybrid: by kind",
    )
    assert found.kind is kind_of("Can you recommend a hotel?")


def test_each_intent_has_the_parameters_of_its_design() -> None:
    assert set(PARAMS) == set(Intent)
    assert PARAMS[Intent.TEMPORAL].include_superseded
    assert PARAMS[Intent.CAUSAL].hops == 2
    assert PARAMS[Intent.CAUSAL].limit == 20
    assert PARAMS[Intent.PREFERENCE].categories == ("preference", "correction")
    assert route_cue("Who is Ann?").params is PARAMS[Intent.ENTITY_PROFILE]


@given(
    st.sampled_from(FACTS + REQUESTS + TALKS),
    st.sampled_from([str.upper, str.lower, lambda cue: f"  {cue}  ", lambda cue: f"{cue}\n"]),
)
def test_case_and_space_around_do_not_change_a_route(cue: str, change: object) -> None:
    assert callable(change)
    assert route_cue(change(cue)).kind == route_cue(cue).kind
    assert route_cue(change(cue)).intent == route_cue(cue).intent


@given(st.text())
def test_any_text_has_a_route(cue: str) -> None:
    found = route_cue(cue)
    assert found.params is PARAMS[found.intent]
    assert len(found.reasons) == 3
