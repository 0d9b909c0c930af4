"""A message does not say whose it is: the call does.

Mechanism: every verb that takes messages compares the scopes in them with its own before anything
is stored. Damage without it: a client writes `user_id` into what it sends, and reads, changes or
supersedes what is another's. Guard: every verb, with a scope that differs, that is the same, and
that only the message has; lists whose last message is the bad one; files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidScopeError, Memory
from spector.importers import import_files
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

SCOPES = ("user_id", "agent_id", "session_id")
Sending = Callable[..., Any]
#: verbs that take a message, with the scopes of the call and what else
VERBS: dict[str, Sending] = {
    "remember": lambda m, message, **call: m.remember(message, **call),
    "remember_many": lambda m, message, **call: m.remember_many(["hm", message], **call),
    "remember_many of an iterator": lambda m, message, **call: m.remember_many(
        iter([message]), **call
    ),
    "observe": lambda m, message, **call: m.observe(message, **call),
    "observe_many": lambda m, message, **call: m.observe_many(["I row.", message], **call),
}


def opened() -> Memory:
    return spector.open(":memory:", embedder=FakeEmbedder(16))


def says(**scopes: str) -> dict[str, str]:
    return {"role": "user", "content": "I live in Turku.", **scopes}


def refused(memory: Memory, send: Sending, message: Any, **call: Any) -> str:
    before = [each.to_dict() for each in memory]
    with pytest.raises(InvalidScopeError) as caught:
        send(memory, message, **call)
    assert [each.to_dict() for each in memory] == before
    return str(caught.value)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("verb", VERBS)
def test_a_message_of_another_scope_is_refused_and_changes_nothing(verb: str, scope: str) -> None:
    send = VERBS[verb]
    with opened() as memory:
        memory.observe("I live in Oulu.", **{scope: "dora"})
        refused(memory, send, says(**{scope: "dora"}), **{scope: "emil"})
        refused(memory, send, says(**{scope: "dora"}), **{scope: "emil"}, scopes_from_message=True)
        assert "scopes_from_message=True" in refused(memory, send, says(**{scope: "dora"}))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("verb", VERBS)
def test_the_scope_of_the_call_may_stand_in_the_message(verb: str, scope: str) -> None:
    with opened() as memory:
        VERBS[verb](memory, says(**{scope: "dora"}), **{scope: "dora"})
        assert {getattr(each, scope) for each in memory if not each.payload} == {"dora"}


@pytest.mark.parametrize("verb", VERBS)
def test_a_message_fills_what_the_call_leaves_open_only_where_it_may(verb: str) -> None:
    with opened() as memory:
        VERBS[verb](memory, says(user_id="dora"), agent_id="bot", scopes_from_message=True)
        found = next(each for each in memory if "I live in Turku" in each.text)
        assert (found.user_id, found.agent_id) == ("dora", "bot")


def test_items_that_the_caller_wrote_have_scopes_of_their_own() -> None:
    items = [{"text": f"line {n}", "user_id": user} for n, user in enumerate(("dora", "emil"))]
    with opened() as memory:
        memory.remember_many(items, session_id="s")
        assert [each.user_id for each in memory] == ["dora", "emil"]
        refused(memory, VERBS["remember_many"], items[0], user_id="emil")


def test_of_a_list_nothing_is_stored_however_far_down_the_message_stands() -> None:
    config = spector.Config(batch_records=2, observe=spector.ObserveConfig(batch=2))
    many = [f"I own boat number {n}." for n in range(7)]
    with spector.open(":memory:", embedder=FakeEmbedder(16), config=config) as memory:
        for send in (memory.remember_many, memory.observe_many):
            with pytest.raises(InvalidScopeError):
                send([*many, says(user_id="dora")], user_id="emil")
        assert len(memory) == 0


@pytest.mark.parametrize("verb", ["observe", "remember"])
@pytest.mark.parametrize("user", ["emil", None])
def test_a_session_takes_no_owner_from_a_message(verb: str, user: str | None) -> None:
    with opened() as memory:
        memory.observe("I live in Oulu.", user_id="dora")
        with memory.session("chat", user_id=user) as session:
            send = getattr(session, verb)
            refused(memory, lambda _, message: send(message), says(user_id="dora"))
            refused(memory, lambda _, message: send(message), says(session_id="other"))
            refused(memory, lambda _, message: send(message, scopes_from_message=True), says())
            assert session.sensory.size == 0
            assert send(says(session_id="chat"))


def test_a_file_does_not_say_whose_its_messages_are(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    lines = [{"role": "user", "content": "I row."}, says(user_id="dora", session_id="one")]
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    with opened() as memory:
        refused(memory, lambda *_, **call: import_files(memory, file, **call), {}, user_id="emil")
        report = import_files(memory, file)
        assert [each.user_id for each in memory] == [None, None]
        assert any("scopes_from_message=True" in each for each in report.files[0].notes)
        assert import_files(memory, file, user_id="emil", skip_bad=True).stored == 1
        assert import_files(memory, file, scopes_from_message=True, agent_id="bot").stored == 2
        taken = [(each.user_id, each.agent_id, each.session_id) for each in memory][-2:]
        assert taken == [(None, "bot", None), ("dora", "bot", "one")]


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def test_both_imports_have_one_rule_of_owners(tmp_path: Path) -> None:
    file = written(tmp_path / "chat.jsonl", says(user_id="dora"), says(agent_id="bot"))
    for takes in (False, True):
        expected = {("dora", None), (None, "bot")} if takes else {(None, None)}
        with opened() as one, opened() as other:
            with pytest.warns(RuntimeWarning, match="left out") if not takes else nullcontext():
                one.import_(file, scopes_from_message=takes)
            import_files(other, file, scopes_from_message=takes)
            for memory in (one, other):
                assert len(memory) == 2
                assert {(each.user_id, each.agent_id) for each in memory} == expected


def test_an_export_keeps_its_owners_and_a_line_beside_it_has_none(tmp_path: Path) -> None:
    with opened() as memory:
        memory.remember("I keep bees.", user_id="dora", agent_id="bot")
        memory.export(tmp_path / "out.jsonl")
    with open(tmp_path / "out.jsonl", "a") as file:
        file.write(json.dumps({"text": "I keep goats.", "user_id": "dora"}) + "\n")
    with opened() as one, opened() as other:
        with pytest.warns(RuntimeWarning, match="left out"):
            one.import_(tmp_path / "out.jsonl")
        with pytest.warns(RuntimeWarning, match="left out"):
            import_files(other, tmp_path / "out.jsonl")
        for memory in (one, other):
            owners = {each.text: each.user_id for each in memory}
            assert owners == {"I keep bees.": "dora", "I keep goats.": None}


def test_a_message_with_half_an_emoji_is_left_out_by_itself(tmp_path: Path) -> None:
    broken = {"role": "user", "content": "I row \ud83d"}
    file = written(tmp_path / "chat.jsonl", says(), broken, {"role": "user", "content": "I ski."})
    with opened() as one, opened() as other:
        with pytest.warns(RuntimeWarning, match="line 2: left out: half of an emoji"):
            one.import_(file)
        assert "line 2: left out: half" in import_files(other, file).files[0].bad[0]
        for memory in (one, other):
            assert {each.text for each in memory} == {"I live in Turku.", "I ski."}


# -- Paraphrases of a question from one document do not push out its answer ------------------------
#
# Mechanism: what repeats a question is liker to it than any answer, and each of fifty paraphrases
# was ranked by itself. Damage: whoever could have a page imported chose what a question brings
# back; the user's own answer was not among the hits. Guard: floods of several makes beside an
# answer in words of its own, in small and large stores, and documents that rightly fill the hits.


CUE = "What is the admin's phone number?"
ANSWERS = (
    "Our admin can be reached at 0532 111 22 33.",
    "Call Deniz, our administrator, on 0532 111 22.",
    "If the server is down, phone the admin: 0532 111 22 33.",
)
FILL = tuple(
    (
        "Lunch was soup. | The deploy went fine. | Ann likes tea. | "
        "The office is in Park Street. | Backups run at night. | "
        "Phones are handed out on Mondays. | The number of seats is 40. | "
        "The garden needs rain. | We bought a new printer. | The train was late."
    ).split(" | ")
)
WHO = tuple(
    (
        "everybody | someone | the caller | the visitor | nobody | Ann | the team | "
        "the board | a guest | the client"
    ).split(" | ")
)
HOW = ("asks", "asked", "is asking", "wants to know", "was told")
FLOODS = {
    "questions": "{who} {how}: what is the admin's phone number?",
    "statements": "The admin's phone number is what {who} {how} about.",
    "repeated": "What is the admin's phone number? The phone number of the admin, as {who} {how},"
    " is the number of the admin's phone, and whoever needs the admin's phone number"
    " should ask for the phone number of the admin.",
}


def flood(kind: str, times: int = 1) -> list[str]:
    return [
        FLOODS[kind].format(who=who, how=how) + f" {n}." * (times > 1)
        for n in range(times)
        for who in WHO
        for how in HOW
    ]


def fill(memory: Memory, answer: str, texts: list[str], **more: object) -> int:
    memory.remember_many(FILL, user_id="u")
    found = memory.remember(answer, user_id="u").id
    memory.remember_many(texts, **{"user_id": "u", "source": "page.html", "confidence": 0.2} | more)
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("kind", FLOODS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_a_flood_of_the_question_does_not_push_out_the_answer(kind: str, answer: str) -> None:
    with spector.open(":memory:") as memory:
        found = fill(memory, answer, flood(kind))
        for profile in ("balanced", "recent"):
            for k in (1, 3, 10):
                hits = memory.recall(CUE, k=k, user_id="u", profile=profile)
                assert hits[0].id == found
                scores = [hit.score for hit in hits]
                assert scores == sorted(scores, reverse=True)
                assert all(hit.score == hit.explain().score for hit in hits)
        assert "0532" in memory.context(CUE, user_id="u").text


def test_a_flood_in_a_large_store_does_not_either() -> None:
    config = spector.Config(rank_all_records=50)
    with spector.open(":memory:", config=config) as memory:
        found = fill(memory, ANSWERS[1], flood("statements", times=4))
        assert memory.recall(CUE, k=3, user_id="u")[0].id == found


def test_no_other_user_is_asked_for_help() -> None:
    with spector.open(":memory:") as memory:
        memory.remember_many(flood("statements"), user_id="u", source="page.html", confidence=0.2)
        memory.remember(ANSWERS[0], user_id="v")
        assert all(hit.user_id == "u" for hit in memory.recall(CUE, k=10, user_id="u"))


def test_a_document_that_alone_knows_keeps_its_places() -> None:
    parts = [
        f"Chapter {n} of the bee book: hives in {month}."
        for n, month in enumerate(
            ("January", "March", "April", "May", "June", "July", "August", "October")
        )
    ]
    with spector.open(":memory:") as memory:
        memory.remember_many(FILL, user_id="u")
        memory.remember_many(parts, user_id="u", source="bees.pdf", confidence=0.3)
        hits = memory.recall("what does the bee book say about hives?", k=8, user_id="u")
        assert {hit.source for hit in hits} == {"bees.pdf"}


def test_certain_memories_of_one_origin_are_not_touched() -> None:
    with spector.open(":memory:") as memory:
        fill(memory, ANSWERS[1], flood("statements"), confidence=0.9)
        hits = memory.recall(CUE, k=10, user_id="u")
    assert not any("origin" in hit.explain().evidence for hit in hits)


@pytest.mark.sampled
@cases("more", ids=str)
@pytest.mark.parametrize("kind", FLOODS)
def test_half_a_belief_is_no_way_round(kind: str, more: dict[str, object]) -> None:
    with spector.open(":memory:") as memory:
        found = fill(memory, ANSWERS[0], flood(kind), **{"source": None} | more)
        assert memory.recall(CUE, k=3, user_id="u")[0].id == found


@pytest.mark.sampled
@pytest.mark.parametrize("kind", FLOODS)
@pytest.mark.parametrize("way", ["sources", "names", "given"])
def test_many_names_for_one_origin_are_no_way_round(kind: str, way: str) -> None:
    """Mechanism: a read speaker, or a source for each text, made an origin of its own."""
    with spector.open(":memory:") as memory:
        memory.remember_many(FILL, user_id="u")
        found = memory.remember(ANSWERS[1], user_id="u").id
        for n, text in enumerate(flood(kind)):
            who = f"{'Ann Ben Cem Dee Eli Fay Gus Hal Ivy Jon'.split()[n % 10]}"
            more: dict[str, object] = {"source": "page.html"}
            if way == "sources":
                more = {"source": f"doc{n}"}
            elif way == "names":
                text = f"{who}: I ask. {text}"
            else:
                more = {"metadata": {"speaker": who}, "source": "page.html"}
            memory.remember(text, user_id="u", session_id="s", confidence=0.2, **more)
        for k in (1, 3, 10):
            assert memory.recall(CUE, k=k, user_id="u")[0].id == found


def test_a_user_s_own_half_belief_is_not_pushed_behind() -> None:
    with spector.open(":memory:") as memory:
        memory.remember_many(FILL, user_id="u")
        memory.remember_many(flood("statements"), user_id="u", confidence=0.5)
        hits = memory.recall(CUE, k=10, user_id="u")
    assert not any("origin" in hit.explain().evidence for hit in hits)


def test_documents_that_say_different_things_keep_their_places() -> None:
    texts = (
        "The admin's phone rang all day.",
        "Ask the admin for a number at the gate.",
        "Phone numbers are on the intranet, said the admin.",
        "The admin is Deniz.",
    )
    with spector.open(":memory:") as memory:
        memory.remember_many(FILL, user_id="u")
        memory.remember(ANSWERS[0], user_id="u")
        for n, text in enumerate(texts):
            memory.remember(text, user_id="u", source=f"doc{n}", confidence=0.3)
        hits = memory.recall(CUE, k=10, user_id="u")
    assert not any("origin" in hit.explain().evidence for hit in hits)
