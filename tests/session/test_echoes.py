"""What a context quoted is no news when it comes back."""

from __future__ import annotations

import pytest

import spector


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


@pytest.mark.parametrize(
    "text",
    [
        "Ada moved to Kars. She has a cat named Pamuk.",
        "ada moved to kars!",
        "She has a cat named Pamuk.",
        "She has a cat named Pamuk. Ada moved to Kars.",
        "YARIN dişçiye gideceğim",
    ],
)
def test_words_that_were_quoted_are_an_echo(session: spector.Session, text: str) -> None:
    assert is_echo(session, text)


@pytest.mark.parametrize(
    "text",
    [
        "Ada moved to Ankara.",
        "Ada moved to Kars. She sold the house.",
        "She has no cat named Pamuk.",
        "moved to Kars",
        "",
    ],
)
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


@pytest.mark.parametrize(
    "text",
    [
        "You're a nurse, and your sister lives in Kars.",
        "I'm a nurse, and my sister lives in Kars.",
    ],
)
def test_an_agent_says_you_of_what_its_user_said(memory: spector.Memory, text: str) -> None:
    session = memory.session("s", user_id="u")
    session.remember("I'm a nurse, and my sister lives in Kars.", role="user")
    session.context("What am I?", always=True)
    assert is_echo(session, text)
    assert not is_echo(session, text.replace("nurse", "doctor"))


def test_another_session_has_not_quoted_it(session: spector.Session) -> None:
    other = session.new("other")
    assert not is_echo(other, "Ada moved to Kars.")
