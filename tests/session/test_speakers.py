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
from spector.errors import InvalidInputError
from spector.importers import import_files


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:") as memory:
        yield memory


def facts(memory: Memory, name: str) -> list[tuple[str, str]]:
    return [(each.predicate, each.object) for each in memory.facts.about(name, user_id="u")]


OWN: tuple[Any, ...] = (
    "Maren: I live in Fowey.",
    {"role": "Maren", "content": "I live in Fowey."},
    {"role": "user", "name": "Maren", "content": "I live in Fowey."},
    {"role": "user", "content": "I live in Fowey.", "metadata": {"speaker": "Maren"}},
    "[Maren]: I live in Fowey.",
    "<Maren> I live in Fowey.",
    "[from Maren (uid:77)] I live in Fowey.",
    "I live in Fowey.",
)
OTHERS: tuple[Any, ...] = (
    "Pavel: I live in Fowey.",
    {"role": "user", "content": "Pavel: I live in Fowey."},
    {"role": "Pavel", "content": "I live in Fowey."},
    {"role": "user", "name": "Pavel", "content": "I live in Fowey."},
    {"role": "user", "content": "Maren: I live in Fowey.", "metadata": {"speaker": "Pavel"}},
    "<Pavel> I live in Fowey.",
)


@pytest.mark.parametrize("message", OWN)
def test_what_the_named_one_says_is_the_users(memory: Memory, message: Any) -> None:
    session = memory.session("s", user_id="u", speaker="Maren")
    (unit,) = session.observe(message).units
    assert unit.record is not None
    assert unit.record.text == "I live in Fowey."
    assert unit.record.speaker in (None, "user")
    assert facts(memory, "user") == [("lives_in", "Fowey")]
    assert session.remember(message).speaker in (None, "user")


@pytest.mark.parametrize("message", OTHERS)
def test_what_another_says_is_his(memory: Memory, message: Any) -> None:
    session = memory.session("s", user_id="u", speaker="Maren")
    (unit,) = session.observe(message).units
    assert unit.record is not None
    assert unit.record.speaker == "Pavel"
    assert facts(memory, "user") == []
    assert facts(memory, "Pavel") == [("lives_in", "Fowey")]


def test_an_assistant_is_no_user_by_a_label(memory: Memory) -> None:
    session = memory.session("s", user_id="u", speaker="Maren")
    session.observe({"role": "assistant", "content": "Maren: I live in Fowey."})
    assert facts(memory, "user") == []


def test_a_later_call_and_the_next_session_know_the_name(memory: Memory) -> None:
    memory.session("s", user_id="u", speaker="Maren")
    again = memory.session("s", user_id="u")
    assert again.speaker == again.new().speaker == "Maren"
    assert memory.session("other", user_id="u").speaker is None


@pytest.mark.parametrize("name", ["", "  ", "user", 7])
def test_what_names_no_one_in_a_talk_is_refused(memory: Memory, name: Any) -> None:
    with pytest.raises(InvalidInputError, match="speaker"):
        memory.session("s", speaker=name)


def test_an_import_knows_the_user_by_name(memory: Memory, tmp_path: Path) -> None:
    chat = tmp_path / "_chat.txt"
    chat.write_text(
        "[14/03/2026, 09:00:00] Maren: I moved to Fowey\n"
        "[14/03/2026, 09:01:00] Pavel: I work as a pilot\n"
    )
    import_files(memory, chat, me="Maren", user_id="u")
    first, second = sorted(memory.records(user_id="u"), key=lambda each: each.event_time)
    assert (first.role, first.speaker, first.metadata.get("speaker")) == ("user", "user", None)
    assert (second.role, second.speaker) == ("Pavel", "Pavel")
    assert import_files(memory, chat, user_id="u").stored == 0
    with pytest.raises(InvalidInputError, match="me is"):
        import_files(memory, chat, me="", user_id="u")


def test_a_heading_is_no_speaker(memory: Memory) -> None:
    session = memory.session("s", user_id="u", speaker="Maren")
    for text in ("Reminder: I have two kayaks.", "Update: I sold one of them."):
        for unit in session.observe({"role": "user", "content": text}).units:
            assert unit.record is not None
            assert unit.record.speaker in (None, "user")
