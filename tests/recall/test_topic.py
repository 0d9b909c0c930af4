"""What a cue about the conversation is about, and whose words it asks for.

Mechanism: "walk me through the order in which I brought up the garden" was embedded and looked up
whole. Damage: "order" and "walk" found "I placed an order" and "we went for a walk", and the
assistant's echoes took half of the places. Guard: the frame is taken off by grammar, in English and
Turkish, and nothing is taken off what only looks like one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spector
from spector import Memory
from spector.clock import ManualClock
from spector.language.cues.topic import USER, Frame, Topic, topic_of
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)


@cases("cue", "kind", "topic", "speaker")
def test_a_cue_about_the_conversation_is_its_topic(
    cue: str, kind: str, topic: str, speaker: str | None
) -> None:
    assert topic_of(cue) == Topic(Frame(kind), topic, speaker)


@cases("cue")
def test_a_cue_of_nothing_but_a_whole_asks_for_everything(cue: str) -> None:
    assert topic_of(cue).is_survey


@cases("cue")
def test_nothing_is_taken_off_what_only_looks_like_a_frame(cue: str) -> None:
    assert topic_of(cue) == Topic(Frame.NONE, cue)


def test_another_sentence_belongs_to_the_topic() -> None:
    found = topic_of("I am packing for Norway. What did I say about gloves?")
    assert found == Topic(Frame.SAID, "I am packing for Norway. gloves", USER)


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


@cases("piece")
def test_no_cue_takes_long(piece: str) -> None:
    """Mechanism: optional words in a row can be tried in every combination."""
    cue = (piece * 600)[:600]
    topic_of("warm")
    start = time.perf_counter()
    for n in range(5):
        topic_of(f"{cue[:-1]}{n}")
    assert time.perf_counter() - start < 1.0


# -- Recall by the topic of a cue about the conversation: whose words, how many, of whom -----------
#
# Mechanism: such a cue was embedded with its frame, the user's words were preferred for summaries
# of both sides, ten places were all there was, and "what do you know about me?" shared no word
# with any memory. Damage: the assistant's echoes and memories with "order" in them filled the
# places; the first cue of every session was met with silence. Guard: below.


NOW = 1_790_000_000_000
TURNS = cases.rows("TURNS")
FACTS = cases.rows("FACTS")


@pytest.fixture
def chat() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64), clock=ManualClock(NOW)) as memory:
        for n, (role, text) in enumerate(TURNS):
            memory.remember(text, role=role, session_id=f"s{n // 4}")
        yield memory


@pytest.fixture
def facts() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64), clock=ManualClock(NOW)) as memory:
        memory.remember_many([{"text": text, "user_id": "u"} for text in FACTS])
        yield memory


def said(memory: Memory, cue: str, k: int) -> list[tuple[str | None, str]]:
    return [(hit.record.role, hit.text) for hit in memory.recall(cue, k=k)]


@cases("cue")
def test_what_the_user_said_is_the_user_s_words(chat: Memory, cue: str) -> None:
    assert {text for _, text in said(chat, cue, 2)} == {TURNS[0][1], TURNS[6][1]}


def test_what_the_assistant_said_is_its_words(chat: Memory) -> None:
    found = said(chat, "What did you tell me about the greenhouse?", 4)
    assert {role for role, _ in found} == {"assistant"}


def test_others_words_come_behind_and_are_not_lost(chat: Memory) -> None:
    hits = chat.recall("What did I say about the greenhouse?", k=8)
    assert len(hits) == 8
    roles = [hit.record.role for hit in hits]
    assert roles == ["user"] * 4 + ["assistant"] * 4
    assert hits[-1].explain().evidence["said_by"] < 0
    assert "said_by" not in hits[0].explain().evidence


def test_nobody_is_put_behind_in_a_store_without_speakers() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        memory.remember_many([text for _, text in TURNS])
        hits = memory.recall("What did I say about the greenhouse?", k=8)
    assert len(hits) == 8
    assert "greenhouse" in hits[0].text
    assert all("said_by" not in hit.explain().evidence for hit in hits)


def test_a_person_s_words_are_those_of_that_person() -> None:
    turns = [("Mara", "The ferry was late."), ("Ned", "What a ferry, Mara!"), ("Ned", "The ferry!")]
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        memory.remember_many([{"text": text, "metadata": {"speaker": n}} for n, text in turns])
        for cue in ("What did Mara say about the ferry?", "what did mara tell Ned about the ferry"):
            assert memory.recall(cue, k=3)[0].text == turns[0][1]


@pytest.mark.parametrize("who", ["Doktor", "Kardeşim"])
def test_nobody_s_words_are_put_behind_those_of_somebody_only_described(who: str) -> None:
    """A capital at the start of a Turkish sentence makes no speaker: it is looked up as a word."""
    turns = [("Elif", "Düğün mayısta."), ("Can", f"{who} düğün için tuzu yasakladı.")]
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        memory.remember_many([{"text": text, "metadata": {"speaker": n}} for n, text in turns])
        hits = memory.recall(f"{who} düğün hakkında ne dedi?", k=2)
    assert hits[0].text == turns[1][1]
    assert all("said_by" not in hit.explain().evidence for hit in hits)


def test_a_summary_favours_nobody(chat: Memory) -> None:
    hits = chat.recall("Summarize our talks about the greenhouse", k=8)
    for hit in hits:
        assert not {"about", "said_by"} & set(hit.explain().evidence)
    assert {hit.record.role for hit in hits[:5]} == {"user", "assistant"}


@cases("cue", "many")
def test_an_order_and_a_summary_get_twice_as_many_hits(cue: str, many: int) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        memory.remember_many([f"errand number {n}" for n in range(50)])
        assert len(memory.recall(cue)) == many
        assert len(memory.recall(cue, k=3)) == 3
        assert len(memory.context(cue, max_tokens=9000).quotes) == 2 * many


def test_the_topic_is_embedded_and_a_given_vector_stays(chat: Memory) -> None:
    embedder = FakeEmbedder(dim=64)
    cue = "What did I say about the greenhouse?"
    hits = chat.recall(cue, k=8)
    again = chat.recall(cue, vector=embedder.embed(["the greenhouse"])[0], k=8)
    other = chat.recall(cue, vector=embedder.embed(["oil"])[0], k=8)
    assert [hit.score for hit in hits] == [hit.score for hit in again]
    assert [hit.score for hit in hits] != [hit.score for hit in other]
    assert other[0].explain().evidence["words"] > 0


def test_what_a_caller_calls_talk_has_no_topic(chat: Memory) -> None:
    cue = "What did I say about the greenhouse?"
    hits = chat.recall(cue, kind="talk", k=8)
    assert all("said_by" not in hit.explain().evidence for hit in hits)


# -- all there is ----------------------------------------------------------------------------------

PROFILES = (
    "What do you know about me? | List all facts about the user | "
    "user preferences | Summarize what you know about the user | "
    "Tell me about myself | Who am I? | Benim hakkımda ne biliyorsun? | "
    "Summarize our conversations | What did we talk about?"
).split(" | ")


@pytest.mark.parametrize("cue", PROFILES)
def test_asked_for_everything_a_store_is_not_silent(facts: Memory, cue: str) -> None:
    for scope in ({"user_id": "u"}, {}):
        hits = facts.recall(cue, **scope)  # type: ignore[arg-type]
        assert {hit.text for hit in hits} == set(FACTS)
        assert hits.is_survey
        assert len(facts.recall(cue, selective=True, **scope)) == len(FACTS)  # type: ignore[arg-type]
        context = facts.context(cue, **scope)  # type: ignore[arg-type]
        assert len(context.hits) == len(FACTS)


def test_asked_for_everything_the_strongest_and_most_distinct_come_first() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        memory.remember_many([f"the bus was late again, line {n % 3}" for n in range(60)])
        memory.remember("My mother lives in Malta.", importance=0.9)
        memory.remember("I am allergic to walnuts.", importance=0.9)
        memory.remember("I row on Sundays.")
        found = [hit.text for hit in memory.recall("What do you know about me?", k=6)]
    assert set(found[:2]) == {"My mother lives in Malta.", "I am allergic to walnuts."}
    assert "I row on Sundays." in found


def test_asked_for_everything_of_nobody_in_particular_no_users_are_mixed(facts: Memory) -> None:
    cue = "What do you know about me?"
    facts.remember("I collect stamps.", user_id="v")
    assert [hit.text for hit in facts.recall(cue, user_id="v")] == ["I collect stamps."]
    assert {hit.text for hit in facts.recall(cue, user_id="u")} == set(FACTS)
    for asked in (cue, "What do you remember?", "Summarize our conversations"):
        for hits in (facts.recall(asked), facts.recall(asked, selective=True)):
            assert hits == []
            assert hits.abstained
            assert "user_id" in hits.notes[0]
            assert hits.reason == hits.notes[0]
        context = facts.context(asked)
        assert context.notes == hits.notes
        assert not context.hits
        assert len(facts.recall(asked, user_id="v")) == 1


def test_a_preference_asked_for_comes_first(facts: Memory) -> None:
    facts.remember("My preferences: window seats, and tea.", user_id="u")
    assert "preferences" in facts.recall("user preferences", user_id="u", k=1)[0].text


def test_an_empty_store_knows_nothing() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        assert memory.recall("What do you know about me?") == []
        assert not memory.context("What do you know about me?")


# -- coverage --------------------------------------------------------------------------------------


def test_coverage_brings_what_is_different() -> None:
    cue, left, right = np.eye(3, 16)
    with spector.open(":memory:", embedder=None, dim=16) as memory:
        same = 0.9 * cue + 0.44 * left
        memory.remember_many([{"text": f"same {n}", "vector": same} for n in range(4)])
        memory.remember("other", vector=0.85 * cue + 0.53 * right)
        plain = memory.recall(vector=cue, k=2)
        covering = memory.recall(vector=cue, k=2, coverage=True)
        assert "other" not in [hit.text for hit in plain]
        assert "other" in [hit.text for hit in covering]
        assert [hit.id for hit in covering] == [
            hit.id for hit in memory.recall(vector=cue, k=2, mmr=0.8)
        ]
        assert [hit.id for hit in memory.recall(vector=cue, k=2, coverage=True, mmr=1)] == [
            hit.id for hit in plain
        ]
    with pytest.raises(spector.InvalidInputError, match="coverage"):
        spector.RecallOptions(coverage="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("ranked_whole", [10, 8192])
def test_a_large_store_reads_such_cues_alike(ranked_whole: int) -> None:
    config = spector.Config(rank_all_records=ranked_whole)
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64), config=config) as memory:
        memory.remember_many(
            [
                {"text": f"filler about nothing {n}", "role": ("user", "assistant")[n % 2]}
                for n in range(400)
            ]
        )
        memory.remember("Glass for the greenhouse, noted!", role="assistant")
        memory.remember("The greenhouse needs glass.", role="user", importance=0.9)
        hits = memory.recall("What did I say about the greenhouse?", k=5)
        assert hits[0].text == "The greenhouse needs glass."
        everything = memory.recall("What do you know about me?")
        assert everything[0].text == "The greenhouse needs glass."
        assert {hit.record.role for hit in everything} == {"user"}
        assert len(everything) == 20
