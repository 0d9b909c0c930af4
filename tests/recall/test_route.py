"""What kind of cue it is, and what is said about why.

Mechanism: rules on the wording choose the weights of a recall. Damage without it: one fixed weight
loses either on questions of fact or on requests (bench/log, "Ranking research"). Guard: tables
of cues that no rule was written from, the figures of the research on the shared conversations,
changes of a cue that must not matter.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.recall import sets
from spector.language.cues.intent import PARAMS, Intent, Kind, Mode, kind_of, route_cue

FACTS = [
    "What did Ann paint in May?",
    "When is her birthday?",
    "who gave him the book",
    "How many siblings do I have?",
    "What is my sister's name?",
    "Did I mention a dentist?",
    "What did you suggest for dinner?",
    "Where does she get her ideas?",
    "Summarize my project so far.",
    "Walk me through the order in which I planned my trip.",
    "Ayşe ne zaman taşındı?",
    "Kedimin adı neydi?",
    "kaç kardeşim var",
    "Projemi özetle",
    "Tell me about Ann",
    "deployment steps",
    "Annemin adını söyle",
]
REQUESTS = [
    "Can you recommend a good film?",
    "I need a new jacket for autumn.",
    "How can I save money?",
    "What should I cook tonight?",
    "Any tips for a job interview?",
    "I'm looking for a hotel.",
    "Help me plan my week",
    "What are some good books?",
    "How can I sleep better?",
    "What exercises are good for me?",
    "Bana iyi bir film önerir misin?",
    "Akşam yemeğinde ne yapmalıyım?",
    "Lütfen bir hediye bul",
]
#: a user's plain questions about himself, which once were requests when they were open
ABOUT_ONESELF = [
    "What car do I drive?",
    "Where do I live?",
    "What do I do for a living?",
    "What's my shoe size?",
    "How do I take my coffee?",
    "Which gym do we go to?",
    "What am I allergic to?",
    "What colour do I want for the hall?",
    "Who do I report to?",
    "What pets do I have?",
    "Can you remind me what my dentist is called?",
    "Remind me of my locker number.",
    "Could you tell me when my passport expires?",
    "What was the novel you recommended?",
    "Do you remember my shoe size?",
    "What do you know about me?",
    "Why do I take the late train?",
    "Nerede oturuyorum?",
    "Hangi arabayı kullanıyorum?",
    "Kedimin adını hatırlatır mısın?",
    "Önerdiğin kitap neydi?",
    "Kimlerle çalışıyorum?",
]
#: the same beginnings, and help is wanted
STILL_REQUESTS = [
    "How do I fix a dripping tap?",
    "What do I do if my flight is late?",
    "Remind me to call Jo.",
    "What's the best way to learn chess?",
    "What do you think I should wear?",
    "What can I do?",
    "Can you tell me what I should cook?",
    "What do I need to pack?",
    "Which would you choose for me?",
    "What do you need from me? Can you help?",
]
TALKS = [
    "I had such a good day today.",
    "We went to the lake with the kids",
    "Hey.\nHow are you?\nFine!",
    "That is wonderful news",
    "Bugün hava çok güzel",
]


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


@pytest.mark.parametrize(
    "cue",
    ["Would Ann take that option?", "What advice might Ann give?", "Which US cities has Ann seen?"],
)
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


@pytest.mark.needs_data
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("locomo", {"fact": 1020}),
        ("madial", {"talk": 80}),
        ("prefeval", {"request": 496, "fact": 9}),
    ],
)
def test_kinds_of_the_shared_cues_are_those_of_the_research(
    name: str, expected: dict[str, int]
) -> None:
    try:
        questions = sets.load(name).questions
    except sets.NoDataError as error:
        pytest.skip(str(error))
    assert Counter(str(kind_of(question.cue)) for question in questions) == expected
