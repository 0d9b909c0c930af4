"""What is kept of a message, and in which form: quotations, echoes, what is not wanted.

Damage without it: a PIN that was told off the record is in the store; a recap of the agent comes
back as news; someone else's letter becomes the user's home.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, Memory, ObserveConfig
from spector.clock import ManualClock
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)


def opened(**more: Any) -> Memory:
    return spector.open(":memory:", embedder=FakeEmbedder(dim=32), **more)


def texts(memory: Memory) -> list[str]:
    return [each.text for each in memory.records() if each.payload is None]


def test_what_is_not_wanted_is_nowhere(tmp_path: Path) -> None:
    with spector.open(
        tmp_path, embedder=FakeEmbedder(dim=32), ops_log=True, ops_log_text=True
    ) as memory:
        session = memory.session("s", user_id="u")
        result = session.observe("Off the record: the vault code is heron-19.")
        assert (result.stored, result.filter, result.units) == (False, "unwanted", ())
        assert session.observe({"role": "assistant", "content": "Fine, heron-19 it is."}).filter
        session.observe("My vault is in Bergen.")
        seen = [
            repr(result),
            *texts(memory),
            *(each.text for each in memory.facts.query()),
            *(each.content for each in session.sensory.drain()),
            session.zones.render(),
            *(each.text for each in session.buffer.entries),
        ]
        assert "heron" not in " ".join(seen)
        assert texts(memory) == ["My vault is in Bergen."]
    files = [each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()]
    assert any(b"Bergen" in each for each in files)
    assert not any(b"heron" in each for each in files)


def test_until_i_say_so_holds_for_the_session() -> None:
    with opened() as memory:
        session = memory.session("s")
        session.observe("Don't save anything I tell you until I say so.")
        assert session.observe("I voted for Lind.").filter == "unwanted"
        assert memory.observe("I voted for Lind.", session_id="t").stored
        session.observe("You can save things again.")
        assert session.observe("I keep bees in Lund.").stored


def test_the_words_of_others_are_kept_and_state_nothing() -> None:
    letter = "Dear Ms Roe,\nI live in Pula now. My bank is Orca.\nYours, Jo"
    with opened() as memory:
        memory.observe("I live in Split.")
        result = memory.observe(
            f"My tenant wrote to me in May, see below.\n> {letter}".replace("\n", "\n> ")
        )
        assert result.stored
        assert result.units[0].superseded == ()
        assert "Orca" in result.records[0].text
        assert [each.object for each in memory.facts.query(predicate="lives_in")] == ["Split"]


def test_a_long_quotation_is_cut_and_own_words_stay() -> None:
    config = Config(observe=ObserveConfig(max_quoted=100))
    log = "\n".join(f"[ERROR] disk {n} failed" for n in range(900))
    with opened(config=config) as memory:
        text = f"I need the Lund server back by Friday.\n```\n{log}\n```\nMy shift ends at six."
        record = memory.observe(text).records[0]
        assert record.text.startswith("I need the Lund server back by Friday")
        assert record.text.endswith("My shift ends at six.")
        assert "disk 0 failed" in record.text
        assert len(record.text) < 300


@pytest.fixture
def told() -> Memory:
    memory = opened()
    for each in ("I live in Lund.", "I have a parrot called Otto.", "I'm allergic to kiwi."):
        memory.observe(each, user_id="u", session_id="before")
    return memory


@cases("message")
def test_what_was_recalled_comes_back_as_no_news(told: Memory, message: Any) -> None:
    session = told.session("s", user_id="u")
    session.recall("parrot Lund kiwi", learn=False)
    before = {each.text: each.confidence for each in told.facts.query()}
    result = session.observe(message)
    assert (result.stored, result.filter) == (False, "echo"), str(result)
    assert {each.text: each.confidence for each in told.facts.query()} == before
    told.close()


def test_what_stands_beside_an_echo_is_kept_without_it(told: Memory) -> None:
    session = told.session("s", user_id="u")
    session.recall("Lund", learn=False)
    result = session.observe("- I live in Lund.\n\nMy sister keeps bees in Oslo.")
    assert [each.text for each in result.records] == ["My sister keeps bees in Oslo."]
    told.close()


def test_an_agent_that_never_recalled_tells_no_news_either(told: Memory) -> None:
    result = told.observe(
        {"role": "assistant", "content": "So you live in Lund."}, user_id="u", session_id="other"
    )
    assert not result.stored
    told.close()


@cases("first", "again", "memories")
def test_the_same_again_on_another_day(first: str, again: str, memories: int) -> None:
    clock = ManualClock("2030-03-01T09:00:00Z")
    with opened(clock=clock) as memory:
        memory.observe(first)
        clock.advance(days=1)
        memory.observe(again)
        kept = memory.records(include=["superseded"])
        assert len([each for each in kept if each.payload is None]) == memories
