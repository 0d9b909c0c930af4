"""The result of observing says what each stage decided.

Mechanism: dataclasses that print as an explanation and write JSON. Damage without it: a message is
dropped and no one can tell by which rule, a log that cannot be written. Guard: the printed stages
and the JSON of a result that has everything, and of one that has nothing.
"""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime

import pytest

import spector
from spector.records import Edge, note_of, notes_of


def record(number: int, text: str) -> spector.MemoryRecord:
    return spector.MemoryRecord(id=number, text=text, tier="episodic")


def full() -> spector.ObserveResult:
    text = "He [Omar] is flying to Lisbon tomorrow [2026-11-26]."
    unit = spector.ObservedUnit(
        text=text,
        said="He is flying to Lisbon tomorrow.",
        action="supersede",
        record=record(7, text),
        likeness=0.8125,
        nearest=3,
        rule="contradiction",
        references=(spector.Reference("it", 14, (("Lisbon", 0.4), ("plan", 0.3))),),
        notes=(spector.Note(3, 9, "reference", "Omar"), spector.Note(38, 50, "date", "2026-11-26")),
        importance=spector.Importance(1.0, 0.5, 0.5, 0.5, 1.0, 0.625, "high"),
        facts=(8,),
        edges=(Edge(source=7, target=3, kind="same_entity"),),
        superseded=(3, 4),
        tagged=True,
        flashbulb=True,
        valid_until=datetime(2026, 11, 27, tzinfo=UTC),
        entities=("Omar",),
    )
    return spector.ObserveResult(
        entry_id="e1",
        stored=True,
        kind="plan",
        doubt="fragment",
        category="plan",
        class_confidence=0.35,
        entities=("Omar", "Lisbon"),
        emotion=spector.Emotion(-0.25, 0.4, "fear", ("worried",)),
        units=(unit,),
        captured=(1, 2),
        fallbacks=("formation",),
        elapsed_ms=1.5,
    )


def test_a_result_prints_each_stage_on_a_line() -> None:
    lines = str(full()).splitlines()
    assert lines[0] == "supersede"
    stages = [line.split()[0] for line in lines[1:]]
    assert (
        stages
        == (
            "filters class entities doubtful emotion formation gate importance flashbulb ends tag"
            " relations facts memory captured fallbacks"
        ).split()
    )
    text = str(full())
    assert "supersede of 3, 4 (apart) by rule contradiction, likeness 0.81 to 3" in text
    channels = "novelty 1.00, arousal 0.50, reward 0.50, attention 0.50; boost 1.00"
    assert f"0.625, high ({channels})" in text
    assert "fragment; kept with little importance" in text
    assert "notes [Omar], [2026-11-26]; left open: it" in text
    assert "same_entity 3" in text


def test_a_message_that_was_stopped_says_by_which_filter() -> None:
    result = spector.ObserveResult(
        entry_id="e", stored=False, reason="small_talk", filter="small_talk", kind="smalltalk"
    )
    assert not result
    assert result.records == ()
    lines = str(result).splitlines()
    assert lines == ["nothing stored: small_talk", "    filters     stopped by small_talk"]


def test_units_of_one_message_are_told_apart() -> None:
    one = spector.ObservedUnit(
        text="a", said="Ada met Bob.", action="create", record=record(1, "a")
    )
    two = dataclasses.replace(one, said="Carl joined Acme.", action="skip", record=None)
    result = spector.ObserveResult(entry_id="e", stored=True, units=(one, two, one))
    assert "  unit 2: Carl joined Acme." in str(result).splitlines()
    assert [each.id for each in result.records] == [1], "each record once"


def test_a_dry_run_says_what_it_would_do() -> None:
    unit = spector.ObservedUnit(text="a", said="a", action="create")
    result = spector.ObserveResult(entry_id="e", stored=False, units=(unit,), dry_run=True)
    assert str(result).startswith("would create")
    assert not result


def test_a_result_is_json() -> None:
    found = json.loads(json.dumps(full().to_dict(), allow_nan=False))
    assert found["doubt"] == "fragment"
    assert found["units"][0]["id"] == 7
    assert found["units"][0]["importance"]["priority"] == "high"
    assert found["units"][0]["valid_until"] == "2026-11-27T00:00:00+00:00"
    assert found["units"][0]["notes"][1] == [38, 50, "date", "2026-11-26"]
    empty = spector.ObserveResult(entry_id="e", stored=False)
    assert json.loads(json.dumps(empty.to_dict()))["doubt"] == ""


def test_results_cannot_be_changed() -> None:
    made = full()
    for each, name in ((made, "stored"), (made.units[0], "action"), (made.emotion, "arousal")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(each, name, None)


def test_notes_are_read_back_as_they_were_written() -> None:
    note = spector.Note(3, 9, "reference", "Ömer")
    assert note_of(json.loads(json.dumps(note.to_list()))) == note
    assert notes_of({"notes": [note.to_list()]}) == (note,)
    assert notes_of(None) == notes_of({}) == ()


def test_an_episode_writes_its_json() -> None:
    episode = spector.Episode(objects=("mug",), goal="drink", tool="grasp", success=True)
    found = json.loads(json.dumps(episode.to_dict()))
    assert found["objects"] == ["mug"]
    assert found["tool"] == "grasp"
    assert found["context"] is None
