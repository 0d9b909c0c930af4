"""What observing keeps of a message: the words as they were said, and notes beside them.

Damage without it: a record that shows notes as words, a statement about no one, a plan that
ends. Guard: messages observed as a caller would, read back through every door.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import requires
from pathlib import Path

import pytest

import spector
from spector import Config, Memory
from spector.clock import ManualClock
from tests.fakes import FakeEmbedder

NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with spector.open(
        tmp_path / "mind", embedder=FakeEmbedder(), clock=ManualClock(NOON)
    ) as memory:
        yield memory


def test_both_halves_have_the_day_and_neither_says_it(memory: Memory) -> None:
    result = memory.observe("Yesterday Ada met Bob and Carl joined Acme")
    assert [each.text for each in result.records] == [
        "Yesterday [2026-11-24] Ada met Bob",
        "Carl joined Acme [2026-11-24]",
    ]
    for record in (*result.records, *(memory.get(each.id) for each in result.records)):
        assert "[" not in record.said
        assert [note.value for note in record.notes] == ["2026-11-24"]
    assert [each.said for each in result.records] == ["Yesterday Ada met Bob", "Carl joined Acme"]


def test_a_pronoun_stays_and_its_name_stands_beside_it(memory: Memory) -> None:
    (record,) = memory.observe("Ada called. She is in Kars.").records
    assert record.text == "Ada called. She [Ada] is in Kars."
    assert record.said == "Ada called. She is in Kars."


def test_a_name_of_the_message_before_is_meant_in_its_session_only(memory: Memory) -> None:
    memory.observe("Omar wrote to me today.", session_id="s", user_id="u")
    (here,) = memory.observe(
        "He is flying to Lisbon tomorrow.", session_id="s", user_id="u"
    ).records
    assert here.text == "He [Omar] is flying to Lisbon tomorrow [2026-11-26]."
    (other,) = memory.observe(
        "He is flying to Porto tomorrow.", session_id="t", user_id="v"
    ).records
    assert other.text == "He is flying to Porto tomorrow [2026-11-26]."


def test_tomorrow_is_that_of_the_calls_zone(memory: Memory) -> None:
    late = datetime(2026, 11, 25, 21, 30, tzinfo=UTC)
    (here,) = memory.observe(
        "I will call Ada tomorrow", event_time=late, timezone="Europe/Istanbul"
    ).records
    assert here.text == "I will call Ada tomorrow [2026-11-27]"
    (there,) = memory.observe("I will call Bob tomorrow", event_time=late).records
    assert there.text == "I will call Bob tomorrow [2026-11-26]"
    own = datetime(2026, 11, 25, 23, 30, tzinfo=UTC).astimezone(spector.clock.zone_named("+02:00"))
    (given,) = memory.observe("I will call Carl tomorrow", event_time=own, timezone="UTC").records
    assert given.text == "I will call Carl tomorrow [2026-11-27]"


def test_a_statement_whose_subject_is_repeated_states_its_fact(memory: Memory) -> None:
    result = memory.observe("Ada moved to Kars and works at Acme")
    assert result.records[1].text == "[Ada] works at Acme"
    assert result.records[1].said == "works at Acme"
    facts = [memory.facts.get(each) for unit in result.units for each in unit.facts]
    assert ("Ada", "works_at", "Acme") in {
        (each.subject, each.predicate, each.object) for each in facts if each is not None
    }


def test_without_annotation_the_text_is_what_was_said(tmp_path: Path) -> None:
    config = Config(observe=spector.ObserveConfig(annotate=False))
    with spector.open(
        tmp_path / "plain", embedder=FakeEmbedder(), clock=ManualClock(NOON), config=config
    ) as memory:
        (record,) = memory.observe("I will call Ada tomorrow").records
        assert record.text == record.said == "I will call Ada tomorrow"
        assert record.notes == ()


def test_a_preset_may_change_the_words(tmp_path: Path) -> None:
    with spector.open(
        tmp_path / "v9",
        embedder=FakeEmbedder(),
        clock=ManualClock(NOON),
        config=Config.preset("v9"),
    ) as memory:
        (record,) = memory.observe("I prefer tea over coffee").records
        assert record.text == "User prefers tea over coffee"
        assert record.raw == "I prefer tea over coffee"
        (nurse,) = memory.observe({"role": "user", "content": "I'm a nurse today."}).records
        assert nurse.text == "User is a nurse today."


def test_brackets_of_the_user_are_words(memory: Memory) -> None:
    (record,) = memory.observe("Ada moved to Kars [again] yesterday.").records
    assert record.said == "Ada moved to Kars [again] yesterday."
    assert record.text == "Ada moved to Kars [again] yesterday [2026-11-24]."
    assert [note.kind for note in record.notes] == ["date"]


def test_a_noted_day_changes_no_score_and_a_day_that_was_said_does() -> None:
    def scores(text: str, *, annotate: bool = True) -> list[float]:
        config = Config(observe=spector.ObserveConfig(annotate=annotate))
        clock = ManualClock(NOON)
        with spector.open(":memory:", embedder=FakeEmbedder(), clock=clock, config=config) as it:
            it.observe_many([text, "The last session of pottery was in a barn in 2025."])
            return [hit.score for hit in it.recall("pottery 2026 session 11")]

    text = "We fired the pottery yesterday."
    assert scores(text) == scores(text, annotate=False)
    assert scores(text) != scores("We fired the pottery on 2026-11-24.")


# -- A zone is found by its name on every system, or the error says what to install ----------------
#
# Mechanism: the system's zones, else those of the package tzdata, which the installation brings.
# Damage without it: a store that opens on one machine fails on Windows or in a small image, and
# days are counted in another zone. Guard: a child process that sees no zones of the system.


_CHILD = """
import spector
from spector.clock import zone_named
try:
    print(zone_named("Europe/Istanbul"))
except spector.SpectorError as error:
    print(type(error).__name__, error.hint)
"""


def test_without_zones_of_the_system_those_of_the_package_count() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        env={**os.environ, "PYTHONTZPATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    if importlib.util.find_spec("tzdata") is not None:
        assert done.stdout.strip() == "Europe/Istanbul"
    else:
        assert done.stdout.startswith("InvalidInputError ")
        assert "pip install tzdata" in done.stdout


def test_the_installation_brings_the_zones() -> None:
    assert any(each.startswith("tzdata") for each in requires("spector-memory") or ())
