"""What a cue about the conversation is about, and whose words it asks for.

Mechanism: "walk me through the order in which I brought up the garden" was embedded and looked up
whole. Damage: "order" and "walk" found "I placed an order" and "we went for a walk", and the
assistant's echoes took half of the places. Guard: the frame is taken off by grammar, in English and
Turkish, and nothing is taken off what only looks like one.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.language.cues.topic import ASSISTANT, USER, Frame, Topic, topic_of

ORDER, SUMMARY, SAID, PROFILE = Frame.ORDER, Frame.SUMMARY, Frame.SAID, Frame.PROFILE

FRAMED = [
    (
        "Walk me through the order in which I brought up the greenhouse.",
        ORDER,
        "the greenhouse",
        USER,
    ),
    (
        "In what order did we discuss the kitchen, the roof and the drains?",
        ORDER,
        "the kitchen, the roof and the drains",
        None,
    ),
    ("Could you give me a timeline of my visa application?", ORDER, "my visa application", None),
    ("List the mountains I mentioned in chronological order", ORDER, "mountains", USER),
    ("What was the sequence in which Mara mentioned her jobs?", ORDER, "her jobs", "Mara"),
    ("In which order did Mara visit the islands?", ORDER, "Mara visit the islands", None),
    ("Summarize everything I told you about the choir so far.", SUMMARY, "the choir", USER),
    (
        "Can you please give me a short but complete overview of our talks about the boat?",
        SUMMARY,
        "the boat",
        None,
    ),
    (
        "Give me a recap of what we have discussed about Porto in three sentences.",
        SUMMARY,
        "Porto",
        None,
    ),
    ("Sum up my thesis", SUMMARY, "my thesis", None),
    ("Summarise our conversations", SUMMARY, "", None),
    ("What did I say about my knee?", SAID, "my knee", USER),
    ("what have i told you about the allotment", SAID, "the allotment", USER),
    ("What did Mara say about her sister?", SAID, "her sister", "Mara"),
    ("What did Mara tell Ned about the ferry?", SAID, "the ferry", "Mara"),
    ("What did you tell me about sourdough?", SAID, "sourdough", ASSISTANT),
    ("What did I say I wanted for supper?", SAID, "I wanted for supper", USER),
    ("When did I first mention the leak?", SAID, "the leak", USER),
    ("Did I ever tell you about my uncle?", SAID, "my uncle", USER),
    ("Do you remember what I said about the boiler?", SAID, "the boiler", USER),
    ("Tell me everything Mara said about the move.", SAID, "the move", "Mara"),
    ("What do you know about my cello?", SAID, "my cello", None),
    ("What did we talk about yesterday?", SAID, "", None),
    ("What do you know about me?", PROFILE, "", USER),
    ("What do you remember?", SAID, "", None),
    ("what else have you stored so far", SAID, "", None),
    ("Neler hatırlıyorsun?", SAID, "", None),
    ("Doktorun düğün hakkında söylediklerini listele", SAID, "Doktorun düğün", None),
    ("List all facts about the user", PROFILE, "", USER),
    ("Summarize what you know about me so far", PROFILE, "", USER),
    ("Tell me about myself.", PROFILE, "", USER),
    ("Who am I?", PROFILE, "", USER),
    ("user preferences", PROFILE, "preferences", USER),
    ("Bahçe hakkında ne söylemiştim?", SAID, "Bahçe", USER),
    ("Kemanımla ilgili sana neler anlattım?", SAID, "Kemanım", USER),
    ("Dişçiden bahsetmiş miydim?", SAID, "Dişçi", USER),
    ("Bahçe hakkında bir şey söylemiş miydim acaba?", SAID, "Bahçe", USER),
    ("Geçen hafta ne konuştuk?", SAID, "", None),
    ("Bahçeyle ilgili ne söylediğimi hatırlıyor musun?", SAID, "Bahçe", USER),
    ("Tatille ilgili konuşmalarımızı özetler misin?", SUMMARY, "Tatil", None),
    ("Elif düğün hakkında ne dedi?", SAID, "düğün", "Elif"),
    ("Elif'in düğün hakkında söylediklerini listele", SAID, "düğün", "Elif"),
    ("Konuştuğumuz konuları sırasıyla listele", ORDER, "", None),
    ("Evle ilgili anlattıklarımı hangi sırayla söyledim?", ORDER, "Ev", USER),
    ("Lizbon gezisini kısaca özetler misin?", SUMMARY, "Lizbon gezisini", None),
    ("Konuşmalarımızı özetle", SUMMARY, "", None),
    ("Benim hakkımda ne biliyorsun?", PROFILE, "", USER),
    ("hakkimda bildigin her seyi anlat", PROFILE, "", USER),
    ("kullanıcı tercihleri", PROFILE, "tercihleri", USER),
]

WHOLES = [
    "a profile of me",
    "overview of this customer",
    "What was talked about last time?",
    "Catch me up",
    "Summarise everything",
    "chat history",
    "Could you tell me everything, please?",
    "what are the most important things about our client",
]

NOT_FRAMED = [
    "history of the mill",
    "What is in the background?",
    "my profile picture was taken in Bari",
    "what does Nadia know about the summary",
    "I placed an order for a chair.",
    "What is the order number of my parcel?",
    "What was the order that I placed?",
    "the timeline view is broken",
    "timeline",
    "recap",
    "What's the timeline?",
    "Summarize it",
    "What did I say about that?",
    "I told my boss about the leak.",
    "She said it was fine.",
    "Everything about this job is awful.",
    "What I said about the move was wrong.",
    "Would you say that I am funny?",
    "Tell me about Mara",
    "What did my sister say about the wedding?",
    "my sister said about the wedding",
    "Everything the doctor said about salt",
    "What have you told Ann about me?",
    "What did Mara say about me?",
    "Elif benim hakkımda ne dedi?",
    "Do you remember?",
    "What did Mara share?",
    "You know me.",
    "When did Mara share her photo?",
    "Which US cities has Mara seen?",
    "What is my sister's name?",
    "Anneme bahçeden bahsettim.",
    "Bahçe hakkında bir şey söyledim.",
    "Kedimin adı neydi?",
    "Elif ne zaman taşındı?",
    "Annemin adını söyle",
    "",
    "Summarise this:\na long text",
    "summarize " + "the words of a long document " * 30,
]


@pytest.mark.parametrize(("cue", "kind", "topic", "speaker"), FRAMED)
def test_a_cue_about_the_conversation_is_its_topic(
    cue: str, kind: Frame, topic: str, speaker: str | None
) -> None:
    assert topic_of(cue) == Topic(kind, topic, speaker)


@pytest.mark.parametrize("cue", WHOLES)
def test_a_cue_of_nothing_but_a_whole_asks_for_everything(cue: str) -> None:
    assert topic_of(cue).is_survey


@pytest.mark.parametrize("cue", NOT_FRAMED)
def test_nothing_is_taken_off_what_only_looks_like_a_frame(cue: str) -> None:
    assert topic_of(cue) == Topic(Frame.NONE, cue)


@pytest.mark.parametrize(
    "form",
    [
        "Mention only four of them.",
        "Please keep it short.",
        "Answer in two sentences.",
        "List exactly 5 items.",
        "Thank you!",
    ],
)
def test_a_sentence_about_the_form_of_the_answer_is_no_topic(form: str) -> None:
    assert topic_of(f"What did I say about my knee? {form}").topic == "my knee"


def test_another_sentence_belongs_to_the_topic() -> None:
    found = topic_of("I am packing for Norway. What did I say about gloves?")
    assert found == Topic(SAID, "I am packing for Norway. gloves", USER)


@pytest.mark.parametrize("change", [str.upper, lambda cue: f"  Please, {cue.lower()}  "])
@pytest.mark.parametrize("cue", ["What did I say about my knee?", "Give me a summary of choir."])
def test_case_and_courtesy_change_nothing(cue: str, change: object) -> None:
    assert callable(change)
    found, expected = topic_of(change(cue)), topic_of(cue)
    assert (found.kind, found.topic.lower(), found.speaker) == (
        expected.kind,
        expected.topic.lower(),
        expected.speaker,
    )


def test_who_spoke_of_it_is_looked_up_with_the_topic() -> None:
    assert topic_of("What did Mara say about the ferry?").text == "Mara the ferry"
    assert topic_of("What did I say about the ferry?").text == "the ferry"


def test_what_wants_many_memories() -> None:
    assert topic_of("Summarize the choir project for me").wants_many
    assert topic_of("What do you know about me?").wants_many
    assert not topic_of("What did I say about the choir?").wants_many
    assert topic_of("What did I say?").is_survey
    assert not topic_of("How is the choir?").is_survey


@given(st.text())
def test_any_text_has_a_topic(cue: str) -> None:
    found = topic_of(cue)
    assert found.kind or found.topic == cue


@pytest.mark.parametrize(
    "piece",
    [
        "what did i say ",
        "list all the facts ",
        "summary of the ",
        "a ",
        "tell me what you told me ",
        "çok ",
        "hakkinda ne ",
        "the order in which ",
        "I told I told you ",
        "Mara Mara ",
        "please ",
    ],
)
def test_no_cue_takes_long(piece: str) -> None:
    """Mechanism: optional words in a row can be tried in every combination."""
    cue = (piece * 600)[:600]
    topic_of("warm")
    start = time.perf_counter()
    for n in range(5):
        topic_of(f"{cue[:-1]}{n}")
    assert time.perf_counter() - start < 1.0
