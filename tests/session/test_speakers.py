"""Mechanism: a talk of several people names the user; the session knows by which name.

Damage: what the user says under his own name becomes a stranger's, or a friend's words the user's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory
from spector.clock import ManualClock
from spector.errors import InvalidInputError
from spector.importers import import_files
from tests.cases import Cases

cases = Cases(__file__)


@pytest.fixture
def named_memory() -> Iterator[Memory]:
    with spector.open(":memory:") as named_memory:
        yield named_memory


def facts(named_memory: Memory, name: str) -> list[tuple[str, str]]:
    return [(each.predicate, each.object) for each in named_memory.facts.about(name, user_id="u")]


@cases("message")
def test_what_the_named_one_says_is_the_users(named_memory: Memory, message: Any) -> None:
    session = named_memory.session("s", user_id="u", speaker="Maren")
    (unit,) = session.observe(message).units
    assert unit.record.text == "I live in Fowey."
    assert unit.record.speaker in (None, "user")
    assert facts(named_memory, "user") == [("lives_in", "Fowey")]
    assert session.remember(message).speaker in (None, "user")


@cases("message")
def test_what_another_says_is_his(named_memory: Memory, message: Any) -> None:
    session = named_memory.session("s", user_id="u", speaker="Maren")
    (unit,) = session.observe(message).units
    assert unit.record.speaker == "Pavel"
    assert facts(named_memory, "user") == []
    assert facts(named_memory, "Pavel") == [("lives_in", "Fowey")]


def test_an_assistant_is_no_user_by_a_label(named_memory: Memory) -> None:
    session = named_memory.session("s", user_id="u", speaker="Maren")
    session.observe({"role": "assistant", "content": "Maren: I live in Fowey."})
    assert facts(named_memory, "user") == []


def test_a_later_call_and_the_next_session_know_the_name(named_memory: Memory) -> None:
    named_memory.session("s", user_id="u", speaker="Maren")
    again = named_memory.session("s", user_id="u")
    assert again.speaker == again.new().speaker == "Maren"
    assert named_memory.session("other", user_id="u").speaker is None


@pytest.mark.parametrize("name", ["", "  ", "user", 7])
def test_what_names_no_one_in_a_talk_is_refused(named_memory: Memory, name: Any) -> None:
    with pytest.raises(InvalidInputError, match="speaker"):
        named_memory.session("s", speaker=name)


def test_an_import_knows_the_user_by_name(named_memory: Memory, tmp_path: Path) -> None:
    chat = tmp_path / "_chat.txt"
    chat.write_text(
        "[14/03/2026, 09:00:00] Maren: I moved to Fowey\n"
        "[14/03/2026, 09:01:00] Pavel: I work as a pilot\n"
    )
    import_files(named_memory, chat, me="Maren", user_id="u")
    first, second = sorted(named_memory.records(user_id="u"), key=lambda each: each.event_time)
    assert (first.role, first.speaker, first.metadata.get("speaker")) == ("user", "user", None)
    assert (second.role, second.speaker) == ("Pavel", "Pavel")
    assert import_files(named_memory, chat, user_id="u").stored == 0
    with pytest.raises(InvalidInputError, match="me is"):
        import_files(named_memory, chat, me="", user_id="u")


# -- What a context quoted is no news when it comes back -------------------------------------------


def is_echo(session: spector.Session, text: str) -> bool:
    rest = session.state.rest_of(text)
    return rest != text and not any(map(str.isalnum, rest))


@pytest.fixture
def session(memory: spector.Memory) -> spector.Session:
    made = memory.session("s", user_id="u")
    made.remember("Ada moved to Kars. She has a cat named Pamuk.", role="user")
    made.remember("Yarın dişçiye gideceğim.", role="user")
    assert not is_echo(made, "Ada moved to Kars.")  # nothing was quoted yet
    made.context("Where did Ada move?", always=True)
    made.context("Yarın dişçiye gideceğim", always=True)
    return made


@cases("text")
def test_words_that_were_quoted_are_an_echo(session: spector.Session, text: str) -> None:
    assert is_echo(session, text)


@cases("text")
def test_other_words_are_none(session: spector.Session, text: str) -> None:
    assert not is_echo(session, text)


def test_a_pasted_context_is_an_echo_and_what_is_added_is_not(session: spector.Session) -> None:
    text = session.context("Where did Ada move?", always=True).text
    assert "Kars" in text
    assert is_echo(session, text)
    assert is_echo(session, f"{text}\nAda moved to Kars.")
    assert not is_echo(session, f"{text}\nBob stayed in Izmir.")
    line = next(each for each in text.splitlines() if "Kars" in each)
    assert is_echo(session, line)


@cases("text")
def test_an_agent_says_you_of_what_its_user_said(memory: spector.Memory, text: str) -> None:
    session = memory.session("s", user_id="u")
    session.remember("I'm a nurse, and my sister lives in Kars.", role="user")
    session.context("What am I?", always=True)
    assert is_echo(session, text)
    assert not is_echo(session, text.replace("nurse", "doctor"))


def test_another_session_has_not_quoted_it(session: spector.Session) -> None:
    other = session.new("other")
    assert not is_echo(other, "Ada moved to Kars.")


# -- Weak memories are tagged, and a strong one of the same session strengthens them once ----------


def stability(memory: spector.Memory, id: int) -> float:
    return memory.get(id).stability_days


def test_a_strong_memory_captures_the_weak_ones_of_its_session(
    memory: spector.Memory, clock: ManualClock
) -> None:
    session = memory.session("s", user_id="u")
    weak = session.remember("a door creaked", importance=0.4)
    assert stability(memory, weak.id) == pytest.approx(6.3)
    clock.advance(hours=3, seconds=59 * 60)
    session.remember("the house was on fire", importance=0.7)
    assert stability(memory, weak.id) == pytest.approx(8.19)
    clock.advance(seconds=1)
    session.remember("the roof fell in", importance=0.9)  # captured once
    assert stability(memory, weak.id) == pytest.approx(8.19)
    assert [tag.captured for tag in session.tags] == [True]
    assert session.end().tags_captured == 1


def test_a_tag_dies_after_four_hours(memory: spector.Memory, clock: ManualClock) -> None:
    session = memory.session("s", user_id="u")
    weak = session.remember("a door creaked", importance=0.4)
    clock.advance(hours=4, seconds=60)
    session.remember("the house was on fire", importance=0.9)
    assert stability(memory, weak.id) == pytest.approx(6.3)
    assert session.tags == ()
    assert session.end().tags_expired == 1


def test_another_session_captures_nothing(memory: spector.Memory) -> None:
    weak = memory.session("one", user_id="u").remember("a door creaked", importance=0.4)
    memory.session("two", user_id="u").remember("the house was on fire", importance=0.9)
    memory.session("one", user_id="v").remember("the house was on fire", importance=0.9)
    assert stability(memory, weak.id) == pytest.approx(6.3)


@cases("importance", "tagged")
def test_the_middle_neither_tags_nor_captures(
    memory: spector.Memory, importance: float, tagged: bool
) -> None:
    session = memory.session("s")
    weak = session.remember("a door creaked", importance=0.3)
    middle = session.remember("a window broke", importance=importance)
    assert (middle.id in [tag.memory_id for tag in session.tags]) == tagged
    assert stability(memory, weak.id) == pytest.approx(7 * 0.8)


def test_a_forgotten_memory_is_captured_by_nothing(memory: spector.Memory) -> None:
    session = memory.session("s")
    gone = session.remember("a door creaked", importance=0.4)
    left = session.remember("a window broke", importance=0.4)
    memory.forget(gone.id)
    assert [tag.memory_id for tag in session.tags] == [left.id]
    session.remember("the house was on fire", importance=0.9)
    assert stability(memory, left.id) == pytest.approx(8.19)


def test_working_memories_are_not_tagged(memory: spector.Memory) -> None:
    session = memory.session("s")
    session.remember("a door creaked", importance=0.4, tier="working")
    assert session.tags == ()
