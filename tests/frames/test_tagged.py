"""What the trained head finds is filed as facts, under the vetoes that the frames have.

Mechanism: the head marks words, rules say whose they are and whether they state anything. Damage
without it: a question, a wish, a rumour or another speaker's word becomes a fact of the user, or a
guess of the head hides what he said. Guard: a head that marks what a test says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pytest

import spector
from bench.judge import statements
from spector.knowledge import reading
from spector.language.entities import Seen, load_head, split_words
from spector.language.frames import head as head_module
from spector.language.frames.head import SIGNS, VERSION, Triple, load_statement_head
from spector.language.frames.tagged import tagged_statements
from spector.providers import MiniLMEmbedder


class Marked:
    """A head that takes the words that it is told for subject, predicate and value."""

    def __init__(self, subject: str, relation: str, value: str) -> None:
        self._parts = subject.split(), relation.split(), value.split()
        head = load_head()
        self.fingerprint = head.fingerprint

    def triples(self, words: Sequence[str], vectors: object, least: float) -> list[Triple]:
        subject, _, value = (_place(words, each) for each in self._parts)
        if value is None or (subject is None and self._parts[0]):
            return []
        said = tuple(n for n, word in enumerate(words) if word in self._parts[1])
        return [Triple(subject, value, said, 0.9)]


def _place(words: Sequence[str], part: Sequence[str]) -> tuple[int, int] | None:
    starts = (n for n in range(len(words)) if list(words[n : n + len(part)]) == list(part))
    start = next(starts, None) if part else None
    return None if start is None else (start, start + len(part))


def said(text: str, subject: str, relation: str, value: str, **who: str) -> list[str]:
    words = split_words(text)
    seen = Seen(words, np.ones((len(words), 4), np.float32))
    found = tagged_statements(text, seen, Marked(subject, relation, value), **who)  # type: ignore[arg-type]
    return [
        f"{'' if each.polarity else 'not '}{each.subject} | {each.predicate} | {each.object}"
        for each in (one.statement for one in found)
    ]


@pytest.mark.parametrize(
    ("text", "parts", "triple"),
    [
        ("I take warfarin.", ("", "take", "warfarin"), "user | take | warfarin"),
        (
            "My laptop is a Framework.",
            ("My laptop", "is", "a Framework"),
            "user's laptop | is | Framework",
        ),
        ("my sister Ruth sings alto", ("my sister Ruth", "sings", "alto"), "Ruth | sings | alto"),
        ("The vet costs 90 quid", ("The vet", "costs", "90 quid"), "vet | price | 90 quid"),
        ("I don't eat pork", ("", "don 't eat", "pork"), "not user | eat | pork"),
        ("rent: 900, due friday", ("rent", "", "friday"), "rent | is | friday"),
    ],
)
def test_marked_words_are_a_statement(text: str, parts: tuple[str, str, str], triple: str) -> None:
    assert said(text, *parts) == [triple]
    assert said(text, *parts, speaker="Ines") == [triple.replace("user", "Ines")]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Do I take warfarin?", ("", "take", "warfarin")),
        ("If I take warfarin I bleed.", ("", "take", "warfarin")),
        ("Tom says I take warfarin.", ("", "take", "warfarin")),
        ("I don't take warfarin.", ("", "take", "warfarin")),
        ("I want to buy a boat.", ("", "buy", "a boat")),
        ("He drives a Saab.", ("He", "drives", "a Saab")),
        ("His wife is Ruth.", ("His wife", "is", "Ruth")),
        ("Your laptop is a Framework.", ("Your laptop", "is", "a Framework")),
        ("I like it.", ("", "like", "it")),
        ("> I take warfarin.", ("", "take", "warfarin")),
        ("Ann: I take warfarin.\nBob: ok", ("", "take", "warfarin")),
        ("I take warfarin... just kidding!", ("", "take", "warfarin")),
        ("I take warfarin. That's not true.", ("", "take", "warfarin")),
        ("I take warfarin. Scratch that.", ("", "take", "warfarin")),
        ("I take warfarin - not!", ("", "take", "warfarin")),
        ("NOT TRUE: I take warfarin.", ("", "take", "warfarin")),
        ("Letter from Ann:\nI take warfarin.", ("", "take", "warfarin")),
        ('She wrote: "I take warfarin."', ("", "take", "warfarin")),
    ],
)
def test_what_states_nothing_of_the_user_stays_so(text: str, parts: tuple[str, str, str]) -> None:
    assert said(text, *parts) == []


@pytest.mark.parametrize(
    "text",
    [
        "I take warfarin. I'm not kidding.",
        "I take warfarin. Not bad!",
        "Scratch that, I take warfarin.",
        "Correction: I take warfarin.",
        "Update:\nI take warfarin.",
    ],
)
def test_a_remark_on_something_else_takes_nothing_back(text: str) -> None:
    assert said(text, "", "take", "warfarin") == ["user | take | warfarin"]


@pytest.mark.parametrize("role", ["assistant", "tool", "document"])
def test_what_others_say_is_not_the_user_s(role: str) -> None:
    assert said("I take warfarin.", "", "take", "warfarin", role=role) == []


def test_a_hedge_costs_confidence() -> None:
    def confidence(text: str) -> float:
        words = split_words(text)
        seen = Seen(words, np.ones((len(words), 4), np.float32))
        (one,) = tagged_statements(text, seen, Marked("", "take", "warfarin"))  # type: ignore[arg-type]
        return one.statement.confidence

    assert confidence("Maybe I take warfarin.") < confidence("I take warfarin.")


_MOST_BYTES: Final = 400_000


def test_weights_are_of_this_version_and_of_the_data_that_is_there() -> None:
    head = load_statement_head()
    assert (head.about["version"], head.about["sha256"]) == (VERSION, statements.digest())
    assert head.fingerprint == MiniLMEmbedder().fingerprint
    assert head_module._PATH.stat().st_size <= _MOST_BYTES
    assert len(head.weights["sure"]) == SIGNS


def test_any_words_have_triples_of_their_own_places() -> None:
    head = load_statement_head()
    chance = np.random.default_rng(3)
    for count in (0, 1, 2, 40, 120):
        words = [f"w{n % 7}" for n in range(count)]
        vectors = chance.normal(size=(count, 384)).astype(np.float32)
        for each in head.triples(words, vectors, 0.0):
            assert 0 <= each.value[0] < each.value[1] <= count
            assert 0.0 <= each.probability <= 1.0
            assert all(0 <= at < count for at in (*each.relation, *(each.subject or ())[:1]))


def test_everyday_sentences_have_facts(memory: spector.Memory) -> None:
    memory.observe("My sister Loveday has moved to Falmouth last month.", user_id="ada")
    memory.observe("The boiler gets serviced in October by Polar West.", user_id="ada")
    found = {each.object for each in memory.facts.query(user_id="ada")}
    assert {"Falmouth", "October"} <= found


@pytest.fixture
def memory() -> Iterator[spector.Memory]:
    with spector.open(":memory:") as memory:
        yield memory


def told(memory: spector.Memory, text: str, monkeypatch: pytest.MonkeyPatch, *parts: str) -> object:
    monkeypatch.setattr(reading, "load_statement_head", lambda: Marked(*parts))
    return memory.observe(text, user_id="ada")


def facts(memory: spector.Memory) -> set[tuple[str, str, str]]:
    found = memory.facts.about("user", user_id="ada")
    return {(each.subject, each.predicate, each.object) for each in found}


def test_a_fact_of_the_head_is_filed_and_goes_with_its_memory(
    memory: spector.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = told(memory, "I take warfarin each morning.", monkeypatch, "", "take", "warfarin")
    assert facts(memory) == {("user", "take", "warfarin")}
    [record] = made.records  # type: ignore[attr-defined]
    memory.forget(record.id, purge=True, verify=True)
    assert facts(memory) == set()


def test_the_head_hides_nothing_and_ends_no_fact(
    memory: spector.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It misreads a second town; the first one stands, in its memory and as a fact."""
    first = memory.observe("I live in Oslo.", user_id="ada")
    assert ("user", "lives_in", "Oslo") in facts(memory)
    text = "The lads around here live in Bergen, mostly."
    second = told(memory, text, monkeypatch, "", "live in", "Bergen")
    assert ("user", "lives_in", "Bergen") in facts(memory)
    assert ("user", "lives_in", "Oslo") in facts(memory)
    assert not any(each.superseded for each in second.units)  # type: ignore[attr-defined]
    assert not memory.get(first.records[0].id).superseded


def test_a_fact_of_the_head_is_no_reason_to_drop_a_message(
    memory: spector.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same statement, misread before, is news when the user makes it."""
    text = "The lads around here live in Bergen, mostly."
    told(memory, text, monkeypatch, "", "live in", "Bergen")
    monkeypatch.setattr(reading, "load_statement_head", lambda: None)
    assert memory.observe("I live in Bergen.", user_id="ada").stored
