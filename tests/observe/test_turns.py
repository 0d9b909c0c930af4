"""Short turns: an answer keeps its question, a correction what it corrects.

Damage: "Uppsala", "9443" and "No, 3370." were dropped as saying nothing, or were stored without
what they are about, and no cue found them; the value that a correction takes back came first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spector
from spector import ManualClock, MemoryRecord, Session
from spector.knowledge import reading
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

ASSISTANT = "assistant"


@pytest.fixture
def talk() -> Any:
    with spector.open(":memory:", clock=ManualClock("2026-03-02T09:00:00Z")) as memory:
        yield memory.session("s", user_id="mira")


def say(session: Session, *turns: str) -> list[Any]:
    """Observe turns in order; those that begin with ">" are the assistant's."""
    out = []
    for turn in turns:
        role = ASSISTANT if turn.startswith(">") else "user"
        out.append(session.observe({"role": role, "content": turn.lstrip("> ")}))
    return out


def kept(session: Session) -> list[MemoryRecord]:
    return [each for each in session._memory.records(user_id="mira") if not each.payload]


@cases("question", "answer")
def test_an_answer_of_a_word_keeps_its_question(talk: Session, question: str, answer: str) -> None:
    say(talk, "I have been busy with the garden.", f"> {question}", answer)
    hit = talk.recall(question, learn=False)[0]
    assert (hit.text, hit.turn_before) == (answer, ("asked", question))
    assert f'(asked: "{question}")' in talk.context(question, learn=False).text


@pytest.mark.parametrize("answer", ["yes please", "ok", "thanks!", "how should I know?"])
def test_consent_thanks_and_counter_questions_are_no_answers(talk: Session, answer: str) -> None:
    say(talk, "> Shall I put the appointment into the calendar?", answer)
    assert not kept(talk)


def test_an_answer_waits_behind_filler(talk: Session) -> None:
    found = say(talk, "> Which band do you play in?", "hmm", "Northern Lanterns")
    assert found[-1].records[0].turn_before[1] == "Which band do you play in?"


def test_the_value_that_an_assistant_gives_keeps_what_the_user_asked(talk: Session) -> None:
    told, talked = say(
        talk,
        "What is the code of the cellar?",
        "> It is 7741.",
        "And the bell?",
        "> Good question!",
    )[1::2]
    record = told.records[0]
    assert record.turn_before == ("asked", "What is the code of the cellar?")
    assert record.data_source == "assistant_message"
    assert not talked.records


def test_one_word_may_answer_two_questions(talk: Session) -> None:
    say(talk, "> How old is Bo?", "12", "> Which shoe size does she have?", "12")
    assert [each.turn_before[1] for each in kept(talk)] == [
        "How old is Bo?",
        "Which shoe size does she have?",
    ]


def test_who_asked_answers_nothing(talk: Session) -> None:
    (*_, last) = say(talk, "When does the shop open?", "I live in Graz.")
    assert last.records[0].turn_before == ("", "")


def test_a_list_of_messages_is_a_talk_without_a_session(talk: Session) -> None:
    memory = talk._memory
    memory.observe_many(
        [
            {"role": ASSISTANT, "content": "What is the name of your boat?"},
            {"role": "user", "content": "Petrel"},
            {"role": "user", "content": "sorry, Petrels"},
        ],
        user_id="mira",
    )
    assert [each.turn_before[0] for each in kept(talk)] == [
        "asked",
        "corrects",
    ]


@cases("said", "correction", "value")
def test_a_correction_of_the_only_value_takes_its_place(
    talk: Session, said: str, correction: str, value: str
) -> None:
    say(talk, said, "> Noted, thank you!", correction)
    (record,) = [each for each in kept(talk) if each.role == "user" and not each.superseded]
    assert record.text.startswith(correction[:4])
    assert value in record.text
    assert record.turn_before == ("corrects", said)
    assert talk.recall(said, learn=False)[0].id == record.id


def test_a_correction_of_one_of_several_values_comes_before_them(talk: Session) -> None:
    old, new = say(talk, "The train to Linz leaves on Monday at 6.", "Sorry, I meant Tuesday.")
    (unit,) = new.units
    assert (unit.verdict, [each.kind for each in unit.edges][:1]) == ("may change", ["may_change"])
    old, new = old.records[0], new.records[0]
    assert [each.id for each in kept(talk)] == [old.id, new.id]
    ties = talk._memory.graph.edges(new.id, kinds=["may_change"])
    assert [(each.source, each.target) for each in ties] == [(new.id, old.id)]
    hits = talk.recall("When does the train to Linz leave?", learn=False)
    assert [each.id for each in hits] == [new.id, old.id]


@cases("text")
def test_an_apology_corrects_nothing(talk: Session, text: str) -> None:
    say(talk, "My rent is 840 a month.", text)
    assert all(each.turn_before == ("", "") for each in kept(talk))
    assert any("840" in each.text for each in kept(talk))


def test_what_is_forgotten_goes_from_what_corrects_it(tmp_path: Path) -> None:
    with spector.open(tmp_path / "m") as memory:
        session = memory.session("s", user_id="mira")
        first, second, third = (
            session.observe(text).records[0]
            for text in (
                "The vault opens with bergamot and starling.",
                "I meant Thursday.",
                "No wait, make it Friday.",
            )
        )
        assert third.turn_before == second.turn_before == ("corrects", first.text)
        memory.update(first.id, text="The vault opens with juniper.")
        assert memory.get(third.id).turn_before[1] == "The vault opens with juniper."
        receipt = memory.forget(first.id, purge=True, verify=True).receipt
        assert receipt.verification.residue == ()
        assert memory.get(second.id).turn_before == memory.get(third.id).turn_before == ("", "")
        hits = memory.recall("vault juniper bergamot", user_id="mira")
        assert {hit.explain().lexical for hit in hits} == {0.0}


@pytest.mark.parametrize("end", ["forget", "purge", "reflect", "compact", "purge of another"])
def test_no_commit_lies_between_a_memory_and_what_quotes_it(
    tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill after any commit leaves no word of what has gone, of an expired memory either.

    ``cascade=False`` leaves facts, so there are none here.
    """
    monkeypatch.setattr(reading, "load_statement_head", lambda: None)
    clock = ManualClock("2026-06-01T09:00:00Z")
    with spector.open(tmp_path / "m", clock=clock) as memory:
        session, store = memory.session("s", user_id="mira"), memory._parts.router.durable_store()
        first, second, other = (
            session.observe(text).records[0]
            for text in (
                "The spare wheel is in the barn.",
                "I meant in the cellar.",
                "My aunt collects stamps of Chile.",
            )
        )
        assert second.turn_before == ("corrects", first.text)
        if end in ("forget", "purge"):
            before = store.head.change_seq
            report = memory.forget(first.id, purge=end == "purge", cascade=False)
            assert report.ids == (first.id,)
            assert end == "purge" or store.head.change_seq == before + 1
        else:
            memory.update(first.id, expires_in=600)
            clock.advance(seconds=601)
            if end == "purge of another":
                memory.forget(other.id, purge=True)
            else:
                getattr(memory, end)()
        assert memory.get(second.id).turn_before == ("", "")
        memory.compact()
    for each in (tmp_path / "m").rglob("*"):
        assert each.is_dir() or b"barn" not in each.read_bytes(), each


def test_other_metadata_leave_the_question_and_an_export_has_it(tmp_path: Path) -> None:
    with spector.open(tmp_path / "a") as memory, spector.open(tmp_path / "b") as other:
        memory.observe_many(
            [
                {"role": ASSISTANT, "content": "Which gate does the bus stop at?"},
                {"role": "user", "content": "17"},
            ]
        )
        (record,) = memory.records()
        memory.update(record.id, metadata={"source_line": 4})
        memory.export(tmp_path / "e.jsonl")
        other.import_(tmp_path / "e.jsonl")
        (found,) = other.records()
        assert found.turn_before == ("asked", "Which gate does the bus stop at?")
        memory.update(record.id, metadata={"asked": None})
        assert memory.get(record.id).turn_before == ("", "")


# -- Calls of tools beside what is said are kept with it, whole ------------------------------------
#
# Damage without it: what an assistant did while it spoke is gone after observing, and a message
# that brings an attachment ends an import. Guard: messages with calls, of one and of several
# statements.


CALLS = [
    {"id": "a", "type": "function", "function": {"name": "book", "arguments": '{"table": 7}'}},
    {"id": "b", "type": "function", "function": {"name": "pay", "arguments": '{"eur": 70}'}},
]
KEPT = {
    "tool_calls": [
        {"name": "book", "arguments": '{"table": 7}'},
        {"name": "pay", "arguments": '{"eur": 70}'},
    ]
}
SAID = "I booked table 7 at Rossi in Kars for Friday."


def said(text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": CALLS, **more}


def opened(**config: Any) -> spector.Memory:
    return spector.open(":memory:", embedder=FakeEmbedder(dim=16), **config)


def test_calls_beside_what_is_said_are_attached_to_its_memory() -> None:
    with opened() as memory:
        foreseen = memory.observe(said(SAID), dry_run=True)
        assert foreseen.units[0].action == "create"
        assert len(memory) == 0
        (unit,) = memory.observe(said(SAID)).units
        assert unit.record.attachment() == KEPT
        assert memory.get(unit.record.id).attachment() == KEPT
        (mine,) = memory.observe(
            {"role": "user", "content": "My dentist is Dr. Kaya in Kars.", "attachment": b"a card"}
        ).units
        assert mine.record.attachment() == b"a card"
        assert memory.check().ok
        memory.forget(unit.record)
        assert memory.check().ok


def test_of_several_statements_the_first_memory_has_what_is_attached() -> None:
    text = "I have moved to Kars with Ayşe. My new office is at Acme Works in Rize."
    for merges in (False, True):
        config = spector.Config.preset("ucma") if merges else spector.Config()
        with opened(config=config) as memory:
            units = memory.observe({**said(text), "role": "user"}).units
            made = [each.record for each in units if each.record is not None]
            assert [each.attachment() for each in made] == [KEPT] + [None] * (len(made) - 1)
            assert sum(each.attachment_bytes is not None for each in memory) == 1
            assert memory.check().ok


def test_a_call_that_says_nothing_is_its_own_text() -> None:
    with opened() as memory:
        (unit,) = memory.observe(said(None)).units
        assert unit.record.text == 'book({"table": 7})\npay({"eur": 70})'
        assert unit.record.attachment() is None
