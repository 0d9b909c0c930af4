"""Memory.context: the block, its budget, and what becomes of each memory.

Damage guarded against: a prompt that overflows; a memory shown that was filtered out; the same
thing said five times; a long memory that crowds out all others; recall that changes the store
unasked.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from spector import Context, InvalidInputError, Memory
from spector.providers.token_counts import token_counter
from tests.cases import Cases
from tests.recall.test_quote import HOSTILE, read_back

cases = Cases(__file__)

WORDS = "tea harbour violin rain Tuesday garden letter bicycle market winter".split()


def words_of(context: Context) -> list[str]:
    return [json.loads(line["words"]) for line in read_back(context.text)]


@pytest.fixture
def told(memory: Memory) -> Memory:
    """Fifty short memories of ten subjects in sessions."""
    memory.remember_many(
        {
            "text": f"Note {n}: the {WORDS[n % 10]} came up again.",
            "session_id": f"s{n // 5}",
            "role": "user",
            "event_time": f"2026-10-{n // 2 + 1:02d}T0{n % 2}:00:00Z",
        }
        for n in range(50)
    )
    return memory


def test_the_block_holds_what_recall_found(told: Memory) -> None:
    context = told.context("violin")
    assert words_of(context) == [
        each.text for each in sorted(context.hits, key=lambda each: each.event_time)
    ]
    assert [each.text for each in told.recall("violin", k=3)] == [
        each.text for each in context.hits[:3]
    ]
    assert str(context) == context.text
    assert context.tokens == token_counter(None)(context.text) > 0


def test_the_budget_is_never_exceeded(told: Memory, rng: np.random.Generator) -> None:
    """By several tokenizers: one a character, one that hates line breaks, one that joins lines."""
    odd: list[Callable[[str], int]] = [
        len,
        lambda text: len(text.split()) + 50 * text.count("\n"),
        lambda text: len(text) // 4 + (40 if "another session" in text else 0),
    ]
    told.remember("violin " * 400)
    told.remember("\U000e0041" * 300 + " violin")
    for counter in (None, *odd):
        for budget in (1, 40, 60, *rng.integers(60, 3000, 6).tolist()):
            context = told.context("the violin and the rain", max_tokens=budget, tokenizer=counter)
            assert token_counter(counter)(context.text) == context.tokens <= budget
            if context:
                read_back(context.text)
            full = told.context("violin", max_tokens=budget, tokenizer=counter, layout="full")
            assert token_counter(counter)(full.text) == full.tokens <= budget
            if full:
                read_back(full.text, "full")


def test_a_larger_budget_shows_no_fewer_memories(told: Memory) -> None:
    shown = [len(told.context("violin", max_tokens=n).hits) for n in range(50, 900, 50)]
    assert shown == sorted(shown)
    assert shown[-1] > shown[0]


@pytest.mark.parametrize("text", HOSTILE[:-1])  # a lone surrogate cannot be remembered
def test_hostile_memories_stay_quotations(memory: Memory, text: str) -> None:
    kept = memory.remember(f"the violin {text}")
    memory.remember("the violin is old")
    context = memory.context("violin")
    assert sorted(words_of(context)) == sorted([kept.text, "the violin is old"])


def test_long_memories_leave_room_for_others(memory: Memory) -> None:
    for n in range(3):
        memory.remember(f"Story {n}. " + "The violin played on and on. " * 200)
    memory.remember("The violin is in the attic.")
    context = memory.context("violin", max_tokens=400)
    assert len(context.hits) == 4
    assert "The violin is in the attic." in words_of(context)
    cut = [quote for quote in context.quotes if quote.form == "abbreviated"]
    assert len(cut) == 3
    assert sum(words.endswith("…") for words in words_of(context)) == 3
    full = memory.context("violin", max_tokens=400, layout="full")
    assert full.text.count("(excerpt)") == 3


def test_a_long_memory_alone_gets_the_whole_budget(memory: Memory) -> None:
    memory.remember("It was a long day. " * 60)
    context = memory.context("day", max_tokens=1000)
    assert [quote.form for quote in context.quotes] == ["full"]


def test_an_excerpt_is_about_the_cue(memory: Memory) -> None:
    memory.remember("Nothing here. " * 300 + "The violin is in the attic. " + "And so on. " * 300)
    context = memory.context("where is the violin?", max_tokens=120)
    assert "violin is in the attic" in context.text
    (words,) = words_of(context)
    assert words.startswith("…")
    assert words.endswith("…")


def test_the_same_words_are_said_once_by_the_newest(memory: Memory) -> None:
    old = memory.remember("I live in Ankara.", role="user", event_time="2021-05-01")
    new = memory.remember("I  live in ANKARA!", role="user", event_time="2026-05-01")
    other = memory.remember("I live in Ankara.", role="assistant", event_time="2022-05-01")
    asked = memory.remember("I live in Ankara?", role="user", event_time="2020-05-01")
    context = memory.context("who lives in Ankara?", cut=0)
    assert {each.id: each.also for each in context.hits} == {
        new.id: (old.id,),
        other.id: (),
        asked.id: (),
    }
    assert context.skipped == ()


def test_a_borrowed_name_does_not_take_the_place_of_what_the_assistant_said(
    memory: Memory,
) -> None:
    text = "The code is 1234."
    said = memory.remember(text, event_time="2025-01-01", role="assistant")
    memory.remember(text, event_time="2026-01-01", role="user", metadata={"speaker": "assistant"})
    context = memory.context("what is the code?", kind="talk")
    assert said.id in {hit.id for hit in context.hits}
    assert '- user (as "assistant"): ' in context.text
    assert "- assistant: " in context.text


def test_relevance_decides_the_form(told: Memory) -> None:
    context = told.context("violin", max_tokens=5000, k=40)
    for quote in context.quotes:
        expected = (
            "full"
            if quote.relevance >= 0.7
            else "abbreviated"
            if quote.relevance >= 0.75 * 0.55
            else "skipped"
        )
        assert quote.form == expected
        assert bool(quote.reason) == (quote.form != "full")
    assert {quote.form for quote in context.quotes} >= {"full", "skipped"}


def test_filters_and_scopes_are_those_of_recall(told: Memory) -> None:
    context = told.context(
        "violin", session_id="s2", time_range=("2026-10-06", "2026-10-07"), cut=0
    )
    assert {each.session_id for each in context.hits} == {"s2"}
    assert len(context.hits) == 2


def test_only_quoted_memories_count_as_used(told: Memory) -> None:
    assert told.context("violin").hits
    assert all(record.access_count == 0 for record in told)
    used = {each.id for each in told.context("violin", max_tokens=100, learn=True).hits}
    assert 0 < len(used) < 5
    assert {record.id for record in told if record.access_count} == used


def test_nothing_that_fits_is_an_empty_text_with_a_reason(told: Memory) -> None:
    context = told.context("violin", max_tokens=5)
    assert (context.text, context.tokens, context.reason) == ("", 0, "no memory fits the budget")


def test_a_compact_context_costs_less_and_says_the_same(told: Memory) -> None:
    compact = told.context("violin", max_tokens=2000)
    full = told.context("violin", max_tokens=2000, layout="full")
    assert [hit.id for hit in compact.hits] == [hit.id for hit in full.hits]
    said = [each["words"] for each in read_back(compact.text)]
    assert said == [each["words"] for each in read_back(full.text, "full")]
    words = sum(map(token_counter(None), said))
    assert compact.tokens - words < (full.tokens - words) / 2
    assert not any(str(hit.id) in compact.text for hit in compact.hits)
    shown = told.context("violin", max_tokens=2000, ids=True)
    assert {line["id"] for line in read_back(shown.text)} == {str(hit.id) for hit in shown.hits}
    assert {line["who"] for line in read_back(compact.text)} == {"user"}, "said once, for all"


@cases("bad", "named")
def test_a_layout_that_is_none_is_refused(
    memory: Memory, bad: dict[str, object], named: str
) -> None:
    with pytest.raises(InvalidInputError, match=named):
        memory.context("x", **bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "many", None])
def test_a_budget_that_is_none_is_refused(memory: Memory, bad: object) -> None:
    with pytest.raises(InvalidInputError, match="max_tokens"):
        memory.context("x", max_tokens=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("cue", ["thanks!", "Good morning", "/clear", "teşekkürler"])
def test_small_talk_needs_no_memory(told: Memory, cue: str) -> None:
    context = told.context(cue)
    assert (context.text, context.abstained) == ("", True)
    assert context.reason.startswith("small talk: ")
    assert context.quotes == ()
    assert told.context(cue, always=True).text
    plain, chosen = told.recall(cue), told.recall(cue, selective=True)
    assert (bool(plain), plain.abstained, plain.reason) == (True, False, "")
    assert (len(chosen), chosen.abstained, chosen.reason) == (0, True, context.reason)


def test_an_empty_store_abstains_with_that_reason(memory: Memory) -> None:
    for found in (memory.context("violin"), memory.recall("violin", selective=True)):
        assert not found
        assert (found.abstained, found.reason) == (True, "nothing is stored")


def test_a_context_tells_itself_as_json(told: Memory) -> None:
    context = told.context("violin", max_tokens=200)
    document = json.loads(json.dumps(context.to_dict()))
    assert document["text"] == context.text
    assert [quote["id"] for quote in document["quotes"]] == [q.hit.id for q in context.quotes]


def test_a_selective_recall_returns_what_stands_out(told: Memory) -> None:
    plain, chosen = told.recall("violin", k=40), told.recall("violin", k=40, selective=True)
    assert [each.id for each in chosen] == [each.id for each in plain[: len(chosen)]]
    assert 0 < len(chosen) < len(plain)
    assert len(told.recall("violin", k=2, selective=True)) == 2
    assert chosen.stats.scanned == plain.stats.scanned


def test_a_selective_recall_and_a_context_know_when_there_is_no_answer(told: Memory) -> None:
    told.remember_many(f"Note {n} about {WORDS[n % 10]}." for n in range(60))
    cue = "When did Quentin buy the helicopter?"
    assert len(told.recall(cue)) == 10
    for found in (told.recall(cue, selective=True), told.context(cue)):
        assert not found
        assert found.abstained
        assert "a name in the cue is unknown" in found.reason
    assert told.context(cue, always=True).text
    assert told.recall("What about the violin?", selective=True)


# --- pinned ---------------------------------------------------------------------------------------


@pytest.fixture
def pinned(told: Memory) -> list[int]:
    """Three pinned memories of one user, oldest first, and one of another."""
    texts = ("I am allergic to walnuts.", "I live at Elm Road.", "My gate code is 4711.")
    for n, text in enumerate(texts):
        told.remember(
            text, user_id="bee", role="user", pinned=True, event_time=f"2026-09-0{n + 1}T08:00:00Z"
        )
    told.remember("My gate code is 1212.", user_id="cam", pinned=True)
    return [record.id for record in told.records(user_id="bee")]


def pinned_in(context: Context) -> list[str]:
    """The words of the section, in its order."""
    lines = read_back(context.text)
    return [json.loads(each["words"]) for each in lines if "date" in each]


@pytest.mark.parametrize("cue", ["what about the violin?", "thanks!", None])
def test_pinned_memories_are_quoted_whatever_the_cue(
    told: Memory, pinned: list[int], cue: str | None
) -> None:
    context = told.context(cue, always="pinned", user_id="bee")
    assert [hit.id for hit in context.pinned] == pinned[::-1], "the newest first"
    assert pinned_in(context) == [hit.text for hit in context.pinned]
    assert context.text.index("pinned:\n") < context.text.index("gate code")
    assert not told.context(cue, user_id="bee").pinned
    assert told.context(cue, always=True, user_id="bee").pinned == ()
    assert context.tokens == token_counter(None)(context.text) <= 1000
    document = json.loads(json.dumps(context.to_dict()))
    assert [each["id"] for each in document["pinned"]] == pinned[::-1]


def test_pinned_memories_do_not_answer_for_the_cue(told: Memory, pinned: list[int]) -> None:
    """``hits`` and ``abstained`` are about the cue alone."""
    small_talk = told.context("thanks!", always="pinned", user_id="bee")
    assert (small_talk.hits, small_talk.abstained) == ((), True)
    assert small_talk.reason.startswith("small talk")
    assert small_talk
    unknown = "When did Quentin buy the helicopter?"
    told.remember_many(f"Note {n} about {WORDS[n % 10]}." for n in range(60))
    silent = told.context(unknown, always="pinned")
    assert (silent.hits, silent.abstained) == ((), True)
    assert set(pinned) < {hit.id for hit in silent.pinned}
    assert told.context(unknown, always=True).hits, "True is never silent"


def test_a_pinned_memory_is_quoted_once(told: Memory, pinned: list[int]) -> None:
    context = told.context("which nuts is Bee allergic to?", always="pinned", user_id="bee", k=5)
    assert context.text.count("walnuts") == 1
    assert pinned[0] in {hit.id for hit in context.hits}, "it is also one for the cue"
    assert {quote.form for quote in context.quotes if quote.hit.id in pinned} == {"full"}


def test_pinned_memories_keep_to_scopes_filters_and_times(told: Memory, pinned: list[int]) -> None:
    def ids(**given: object) -> list[int]:
        found = told.context("violin", always="pinned", **given)  # type: ignore[arg-type]
        return [hit.id for hit in found.pinned]

    assert ids(user_id="cam")
    assert not set(ids(user_id="cam")) & set(pinned)
    assert ids(user_id="nobody") == []
    assert ids(user_id="bee", time_range=("2026-09-02", None)) == pinned[:0:-1]
    assert ids(user_id="bee", as_of="2026-09-01T12:00Z") == pinned[:1]
    told.unpin(pinned[1])
    told.forget(pinned[2])
    assert ids(user_id="bee") == pinned[:1]
    newer = told.remember("Cashews, too.", supersedes=pinned[0], user_id="bee")
    assert ids(user_id="bee") == []
    told.pin(newer.id)
    assert ids(user_id="bee") == [newer.id]
    assert ids(user_id="bee", include="superseded") == [newer.id, pinned[0]]


def test_all_pinned_memories_that_fit_are_quoted_within_the_budget(memory: Memory) -> None:
    for n in range(30):
        words = "and so on " * (300 if n == 28 else 3)
        memory.remember(f"Pinned {n} {words}", pinned=True, event_time=f"2026-09-{n + 1:02d}")
    memory.remember("The violin is in the attic.")
    for budget in (10, 60, 200, 300, 5000):
        for counter in (None, len):
            tokens = 4 * budget if counter else budget
            context = memory.context(
                "violin", always="pinned", max_tokens=tokens, tokenizer=counter
            )
            assert token_counter(counter)(context.text) == context.tokens <= tokens
            shown = [int(hit.text.split()[1]) for hit in context.pinned]
            assert shown == sorted(shown, reverse=True)
            if budget == 200:
                assert shown[:3] == [29, 28, 27]
                assert "Pinned 28 and so on" in context.text, "by its beginning: it is too long"
            if budget == 5000:
                assert shown == list(range(29, -1, -1))
                assert context.hits


def test_pinned_memories_do_not_count_as_used(told: Memory, pinned: list[int]) -> None:
    told.context("thanks!", always="pinned", user_id="bee", learn=True)
    assert all(told.get(each).access_count == 0 for each in pinned)
