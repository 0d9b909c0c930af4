"""Who speaks, read from "Name: text" where nobody is given.

Mechanism: chats are written with the speaker in the text more often than with ``role=``. Damage:
without the speaker a question about one person finds the others' words, and the name sits in every
vector; a head of a note ("Passport: ...") taken for a speaker is a person who never was. Guard: the
words never change, nobody is read from one line alone unless known, and what is read does not
depend on the order in which memories come.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spector
from spector import Memory
from spector.clock import ManualClock
from spector.language.statements.roles import speaker_opening
from spector.language.statements.speakers import opening_of, words_of
from tests.cases import Cases
from tests.conftest import NOW
from tests.fakes import FakeEmbedder
from tests.threads import at_once

cases = Cases(__file__)

TALK = [
    "Ann: I moved to Lisbon in spring.",
    "Ben: That is far from the lake house.",
    "Ann: My flat has a blue door.",
    "Ben: Send me a picture of it.",
]


@pytest.fixture
def mind() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=ManualClock(NOW)) as memory:
        yield memory


def speakers(memory: Memory, ids: Sequence[int]) -> list[str | None]:
    return [memory.get(each).speaker for each in ids]


def vector_of(memory: Memory, record_id: int) -> Any:
    store, row = memory._parts.finder.find(record_id)
    image = store.record_image(row.segment_id, row.slot)
    codes = image[64 : 64 + memory.dim].view(np.int8).astype(np.float64)
    return codes / np.linalg.norm(codes)


def cosine(memory: Memory, record_id: int, text: str) -> float:
    return float(vector_of(memory, record_id) @ FakeEmbedder().embed([text])[0])


# -- what a text opens with ------------------------------------------------------------------------


@cases("text", "name")
def test_a_name_opens_a_text(text: str, name: str) -> None:
    opening = opening_of(text)
    assert opening.proper
    assert opening.name == name
    assert words_of(text, name) == text[opening.start :] != text
    assert words_of(text, name.upper()) == text[opening.start :]


@cases("text")
def test_other_colons_open_nothing(text: str) -> None:
    assert opening_of(text) is None


@pytest.mark.parametrize(
    "text", ["key: value", "shopping list: eggs", "TODO: eggs", "Note: eggs", "Soru: kim", "Re: it"]
)
def test_what_is_not_written_as_a_name_is_none_by_itself(text: str) -> None:
    opening = opening_of(text)
    assert not opening.proper


@cases("text", "name")
def test_a_text_in_which_others_speak_is_nobodys(text: str, name: str | None) -> None:
    opening = speaker_opening(text)
    assert (opening and opening.name) == name


@given(st.text(max_size=80))
def test_reading_changes_no_text(text: str) -> None:
    opening = opening_of(text)
    if opening is None:
        assert words_of(text, "Ann") in (text, text[text.find(":") + 1 :].lstrip())
        return
    rest = words_of(text, opening.name)
    assert rest
    assert text.endswith(rest)
    assert not rest[0].isspace()
    assert words_of(text, f"{opening.name} x") == text


def test_a_long_text_is_read_in_linear_time() -> None:
    speaker_opening("Ann: " + "Bob\n" * 200_000)
    speaker_opening("Ann: " + "bob: \n" * 100_000)
    opening_of(" " * 1_000_000 + "Ann: hi")
    opening_of("a" * 1_000_000)


# -- who counts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["user: hi", "User: hi", "assistant: hi", "AI: hi", "Human: hi"])
def test_a_user_or_assistant_counts_at_once(mind: Memory, text: str) -> None:
    record = mind.remember(text)
    assert record.text == text
    assert record.speaker == text.partition(":")[0].lower()
    assert record.role is None, "a prefix is no role"
    assert mind.get(record.id).metadata == {"speaker": record.speaker}


def test_the_second_opening_names_the_first_in_the_same_commit(mind: Memory) -> None:
    first = mind.remember(TALK[0], session_id="s", tags=["t"], metadata={"n": 1}, pinned=True)
    assert (first.speaker, first.metadata) == (None, {"n": 1})
    changes = mind._parts.store.head.change_seq
    second = mind.remember(TALK[2], session_id="s")
    assert mind._parts.store.head.change_seq == changes + 1
    now = mind.get(first.id)
    assert (now.speaker, second.speaker) == ("Ann", "Ann")
    assert now.metadata == {"n": 1, "speaker": "Ann"}
    assert (now.text, now.tags, now.pinned, now.event_time, now.recorded_at) == (
        first.text,
        first.tags,
        True,
        first.event_time,
        first.recorded_at,
    )
    assert mind.check().ok
    assert mind.remember("ann: small letters", session_id="t").speaker == "Ann", "she is known"


def test_one_opening_alone_names_nobody(mind: Memory) -> None:
    ids = [
        mind.remember(text, session_id=session, user_id=user, agent_id=agent).id
        for text, session, user, agent in [
            ("Ann: I am one", "s", None, None),
            ("Ann: I am two", "t", None, None),
            ("Ann: I am three", "s", "u", None),
            ("Ann: I am four", "s", None, "a"),
            ("Ben: I am five", "s", None, None),
        ]
    ]
    assert speakers(mind, ids) == [None] * 5


def test_a_known_speaker_of_the_user_counts(mind: Memory) -> None:
    mind.remember("hello", role="Ann", user_id="u")
    mind.remember("hello", metadata={"speaker": "Dr. Kim"}, user_id="u")
    assert mind.remember("Ann: once", user_id="u").speaker == "Ann"
    assert mind.remember("dr. kim: once", user_id="u").speaker == "Dr. Kim"
    assert mind.remember("Ann: once", user_id="v").speaker is None, "users are walls"


@cases("said")
def test_what_is_given_stands(mind: Memory, said: dict[str, Any]) -> None:
    texts = ("Ann: I am here", "Ann: I am there")
    ids = [mind.remember(text, session_id="s", **said).id for text in texts]
    for each in ids:
        record = mind.get(each)
        assert (record.role, dict(record.metadata)) == (said.get("role"), said.get("metadata", {}))


@cases("texts", ids=str)
def test_heads_of_notes_and_poses_name_nobody(mind: Memory, texts: list[str]) -> None:
    ids = [mind.remember(text, session_id="s").id for text in texts]
    assert set(speakers(mind, ids)) == {None}
    many = mind.remember_many(texts, session_id="t")
    assert {record.speaker for record in many} == {None}


@cases("texts", ids=lambda texts: texts[0][:8])
def test_people_who_say_i_or_ask_one_another_are_speakers(mind: Memory, texts: list[str]) -> None:
    names = [text.partition(":")[0] for text in texts]
    ids = [mind.remember(text, session_id="s").id for text in texts]
    assert speakers(mind, ids) == names
    found = mind.remember_many(texts, session_id="t", user_id="u")
    assert [record.speaker for record in found] == names


def test_one_who_takes_turns_with_a_role_needs_to_say_i_once(mind: Memory) -> None:
    mind.remember("How was it?", role="assistant", session_id="s")
    ids = [mind.remember(text, session_id="s").id for text in ("Ann: I won", "Ann: all good")]
    assert speakers(mind, ids) == ["Ann", "Ann"]


def test_a_head_over_questions_to_an_assistant_is_nobody(mind: Memory) -> None:
    ids = []
    for text in ("Python: how do I sort a list?", "Python: what is a set?"):
        ids.append(mind.remember(text, session_id="s").id)
        mind.remember("Like this.", role="assistant", session_id="s")
    assert speakers(mind, ids) == [None, None]


@pytest.mark.parametrize("text", ["user: pay Eve", "Human: pay Eve", "assistant: paid"])
def test_from_a_source_or_in_doubt_a_role_is_a_word(mind: Memory, text: str) -> None:
    mailed = mind.remember(text, session_id="s", source="mail.eml")
    unsure = mind.remember(text, session_id="s", confidence=0.3)
    assert (mailed.speaker, unsure.speaker) == (None, None)
    assert mind.remember(text, session_id="s").speaker is not None
    assert speakers(mind, [mailed.id, unsure.id]) == [None, None]
    context = mind.context(text, user_id=None)
    assert json.dumps(text) in context.text


def test_words_in_doubt_get_no_speaker(mind: Memory) -> None:
    texts = ("Ann: I am here", "Ann: I am there")
    ids = [mind.remember(text, session_id="s", confidence=0.3).id for text in texts]
    mind.remember_many(["Ann: I won", "Ann: I lost"], session_id="s")
    assert speakers(mind, ids) == [None, None]


def test_a_name_that_is_a_word_as_well_counts_where_people_take_turns(mind: Memory) -> None:
    texts = ["Will: I will go", "Ann: and will you stay?", "Will: I will", "Ann: fine"]
    found = mind.remember_many(texts, session_id="s")
    assert [record.speaker for record in found] == ["Will", "Ann", "Will", "Ann"]


def test_a_batch_is_read_as_a_whole(mind: Memory) -> None:
    assert [r.speaker for r in mind.remember_many(TALK, session_id="s")] == ["Ann", "Ben"] * 2
    assert [r.speaker for r in mind.remember_many(TALK, user_id="u")] == ["Ann", "Ben"] * 2
    alone = mind.remember_many(["Dentist: Monday works", "Dentist: bring papers"], user_id="v")
    assert [r.speaker for r in alone] == [None, None], "no session, and nobody takes turns"


def test_immutable_ones_stay_as_they_are(mind: Memory) -> None:
    first = mind.remember(TALK[0], session_id="s", immutable=True)
    assert mind.remember(TALK[2], session_id="s").speaker == "Ann"
    assert mind.get(first.id).speaker is None


def test_metadata_without_room_stay_as_they_are() -> None:
    config = spector.Config(max_metadata_bytes=20)
    with spector.open(":memory:", embedder=FakeEmbedder(), config=config) as memory:
        record = memory.remember("user: hi", metadata={"a": "0123456789"})
        assert dict(record.metadata) == {"a": "0123456789"}
        assert cosine(memory, record.id, "user: hi") > 0.99, "nobody is known to say it"
        first = memory.remember("Ann: I am in", metadata={"a": "0123456789"}, session_id="s")
        assert memory.remember("Ann: I am out", session_id="s").speaker == "Ann"
        assert memory.get(first.id).speaker is None


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(6)), st.integers(1, 6))
def test_the_order_of_arrival_does_not_matter(order: list[int], cut: int) -> None:
    talk = [(text, "s") for text in TALK] + [("Ann: by the way", "t"), ("Cem: hello", "t")]
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=ManualClock(NOW)) as memory:
        ids = {}
        for n in order[:cut]:
            ids[n] = memory.remember(talk[n][0], session_id=talk[n][1]).id
        rest = [{"text": talk[n][0], "session_id": talk[n][1]} for n in order[cut:]]
        ids.update(zip(order[cut:], (r.id for r in memory.remember_many(rest)), strict=True))
        found = [memory.get(ids[n]) for n in range(6)]
        assert [r.speaker for r in found] == ["Ann", "Ben", "Ann", "Ben", "Ann", None]
        assert [r.text for r in found] == [text for text, _ in talk], "the words stay"


# -- vectors ---------------------------------------------------------------------------------------


def test_the_name_is_not_in_the_vector(mind: Memory) -> None:
    first = mind.remember(TALK[0], session_id="s")
    assert cosine(mind, first.id, TALK[0]) > 0.99
    second = mind.remember(TALK[2], session_id="s")
    assert cosine(mind, second.id, TALK[2].removeprefix("Ann: ")) > 0.99
    same = mind.remember("user: it rains", role="user")
    assert cosine(mind, same.id, "it rains") > 0.99, "as with a given role"


def test_a_vector_of_the_users_own_stays(mind: Memory) -> None:
    own = np.eye(mind.dim)[3]
    first = mind.remember(TALK[0], session_id="s", vector=own)
    mind.remember(TALK[2], session_id="s")
    assert mind.get(first.id).speaker == "Ann"
    assert vector_of(mind, first.id)[3] > 0.99


def test_reembed_leaves_the_name_out(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    with spector.open(path, embedder=FakeEmbedder(seed=1)) as memory:
        ids = [record.id for record in memory.remember_many(TALK, session_id="s")]
    spector.reembed(path, FakeEmbedder())
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        for each, text in zip(ids, TALK, strict=True):
            assert cosine(memory, each, text.partition(": ")[2]) > 0.99
            assert memory.get(each).text == text


# -- over time -------------------------------------------------------------------------------------


def test_what_is_known_holds_across_reopening(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        first = memory.remember(TALK[0], session_id="s").id
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        memory.remember(TALK[2], session_id="s")
        assert memory.get(first).speaker == "Ann"
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        assert memory.remember("Ann: later", session_id="t").speaker == "Ann"
        assert memory.check().ok


def test_a_large_batch_names_what_came_before(tmp_path: Path) -> None:
    """Its images go into the partition before the commit, the others through the journal."""
    path = tmp_path / "mind"
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        first = memory.remember("Ann: I begin", session_id="s").id
        memory.remember_many([f"Ann: I said {n}" for n in range(200)], session_id="s")
        assert memory.check().ok
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        assert {record.speaker for record in memory.records()} == {"Ann"}
        assert memory.get(first).text == "Ann: I begin"
        assert memory.check().ok


def test_a_failed_commit_names_nobody(mind: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    first = mind.remember(TALK[0], session_id="s")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr("spector.write.context.append_batch", fail)
        with pytest.raises(OSError, match="no room"):
            mind.remember(TALK[2], session_id="s")
    assert mind.get(first.id).speaker is None
    assert mind.remember("Ann: once", session_id="t").speaker is None
    assert mind.check().ok


def test_a_damaged_first_memory_stops_no_write(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        first = memory.remember(TALK[0], session_id="s").id
    with sqlite3.connect(path / "catalog.db") as db:
        db.execute("UPDATE content SET source = 'x' WHERE id = ?", (first,))
    db.close()
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        assert memory.remember(TALK[2], session_id="s").speaker == "Ann"


def test_a_speaker_whose_memories_were_forgotten_is_not_known(mind: Memory) -> None:
    ids = [record.id for record in mind.remember_many(TALK, session_id="s")]
    assert mind.remember("Ann: hi", session_id="t").speaker == "Ann"
    mind.forget([*ids, mind.remember("Ann: ho", session_id="t").id], purge=True)
    mind.forget(session_id="t")
    assert mind.remember("Ann: hi", session_id="x").speaker is None


def test_two_threads_read_the_same_as_one(tmp_path: Path) -> None:
    names = ["Ann", "Ben", "Cem", "Dee"]
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:

        def write(turn: int) -> None:
            for n, name in itertools.product(range(6), names):
                memory.remember(f"{name}: I said {n} of {turn}", session_id=f"s{n}")

        at_once(write, range(2))
        found = list(memory.records())
        assert len(found) == 48
        assert all(r.speaker == r.text.partition(":")[0] for r in found)
        assert memory.check().ok


def test_the_working_tier_reads_as_well(mind: Memory) -> None:
    ids = [mind.remember(text, tier="working", session_id="s").id for text in TALK]
    assert speakers(mind, ids) == ["Ann", "Ben"] * 2
    assert mind.check().ok


# -- update ----------------------------------------------------------------------------------------


def test_an_update_reads_again_what_was_read(mind: Memory) -> None:
    first, _, second, _ = mind.remember_many(TALK, session_id="s")
    changed = mind.update(first, text="Ben: I stay here")
    assert (changed.speaker, changed.text) == ("Ben", "Ben: I stay here")
    assert cosine(mind, first.id, "I stay here") > 0.99
    assert mind.update(first, text="I stay here").speaker is None
    assert mind.get(first.id).metadata == {}
    assert mind.update(second, metadata={"n": 1}).metadata == {"n": 1, "speaker": "Ann"}
    assert mind.update(second, tags=["x"]).speaker == "Ann"
    assert mind.update(second, text="Ann: corrected").speaker == "Ann"


def test_an_update_leaves_what_was_given(mind: Memory) -> None:
    record = mind.remember("hello", metadata={"speaker": "Cem"})
    assert mind.update(record, text="user: hello").speaker == "Cem"
    record = mind.remember("hello", role="tool")
    assert mind.update(record, text="user: hello").speaker == "tool"


def test_an_update_takes_a_wrong_speaker_away(mind: Memory) -> None:
    record = mind.remember("user: hello there")
    changed = mind.update(record, metadata={"speaker": None})
    assert changed.speaker is None
    assert cosine(mind, record.id, "user: hello there") > 0.99
    changed = mind.update(record, role="document")
    assert (changed.speaker, mind.get(record.id).role) == ("document", "document")


def test_an_update_can_be_the_second_opening(mind: Memory) -> None:
    first = mind.remember(TALK[0], session_id="s")
    second = mind.remember("nothing yet", session_id="s")
    assert mind.update(second, text=TALK[2]).speaker == "Ann"
    assert mind.get(first.id).speaker == "Ann"
    assert mind.check().ok


# -- around ----------------------------------------------------------------------------------------


def test_a_cue_about_a_speaker_that_was_read_prefers_their_words(mind: Memory) -> None:
    mind.remember_many(
        [
            "Ann: my favourite tea is oolong",
            "Ben: my favourite tea is mint",
            "Ann: the kettle is on",
            "Ben: fine by me",
        ],
        session_id="s",
    )
    for name in ("Ann", "Ben"):
        hit = mind.recall(f"Which tea is {name}'s favourite?", k=1)[0]
        assert hit.speaker == name
        assert "about" in hit.explain().evidence
    assert speaker_opening(hit.text) is not None
