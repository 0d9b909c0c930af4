"""Reading the public sets.

Mechanism: five formats become stores of dated texts and questions with gold ids. Damage if wrong:
evidence that is dropped or misread makes every arm look better or worse than it is. Guard: small
files of the same formats with each fault that was seen, and counts of the real sets.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.recall.sets import NoDataError, load, repaired, spoken
from tests.cases import Cases

cases = Cases(__file__)

KNOWN = {"D8:6", "D9:17", "D11:26", "D30:5", "D1:1"}


@cases("evidence", "gold")
def test_malformed_evidence_is_repaired(evidence: list[str], gold: list[str]) -> None:
    found, notes = repaired(evidence, KNOWN)
    assert found == tuple(gold)
    assert bool(notes) == any(each not in KNOWN for each in evidence)


def test_evidence_that_names_no_turn_is_told_and_the_rest_kept() -> None:
    gold, notes = repaired(["D1:1", "D4:36"], KNOWN)
    assert gold == ("D1:1",)
    assert notes == ["evidence D4:36 names no turn"]


def test_spoken_turns_lose_their_marks_and_keep_who_said_what() -> None:
    turns = ["<BOD>\n", '<Bart>: "Did you "know"?"\n', '<Assistant>: "No."\n', "<EOD>\n"]
    assert spoken(turns, named=True) == 'Bart: Did you "know"?\nAssistant: No.'
    assert spoken(turns, named=False) == 'Did you "know"?\nNo.'


def test_absent_data_is_told_with_the_variable_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECTOR_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NoDataError, match="SPECTOR_DATA"):
        load("beam")


@pytest.mark.needs_data
@cases("name", "stores", "items", "questions")
def test_the_real_sets_are_read_whole(
    data_dir: Path, name: str, stores: int, items: int, questions: int
) -> None:
    data = load(name, data_dir)
    assert len(data.stores) == stores
    assert sum(len(store.items) for store in data.stores) == items
    assert len(data.answerable) == questions
    assert not any("->->" in item.text for store in data.stores for item in store.items)
