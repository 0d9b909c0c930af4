"""Reading the public sets.

Mechanism: five formats become stores of dated texts and questions with gold ids. Damage if wrong:
evidence that is dropped or misread makes every arm look better or worse than it is. Guard: small
files of the same formats with each fault that was seen, and counts of the real sets.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench.recall.sets import LOADERS, NoDataError, data_root, load, repaired, spoken

KNOWN = {"D8:6", "D9:17", "D11:26", "D30:5", "D1:1"}


@pytest.mark.parametrize(
    ("evidence", "gold"),
    [
        (["D8:6; D9:17"], ("D8:6", "D9:17")),
        (["D8:6 D9:17"], ("D8:6", "D9:17")),
        (["D30:05"], ("D30:5",)),
        (["D:11:26"], ("D11:26",)),
        (["D1:1", "D1:1"], ("D1:1",)),
        ([], ()),
    ],
)
def test_malformed_evidence_is_repaired(evidence: list[str], gold: tuple[str, ...]) -> None:
    found, notes = repaired(evidence, KNOWN)
    assert found == gold
    assert bool(notes) == any(each not in KNOWN for each in evidence)


def test_evidence_that_names_no_turn_is_told_and_the_rest_kept() -> None:
    gold, notes = repaired(["D1:1", "D4:36"], KNOWN)
    assert gold == ("D1:1",)
    assert notes == ["evidence D4:36 names no turn"]


def test_spoken_turns_lose_their_marks_and_keep_who_said_what() -> None:
    turns = ["<BOD>\n", '<Bart>: "Did you "know"?"\n', '<Assistant>: "No."\n', "<EOD>\n"]
    assert spoken(turns, named=True) == 'Bart: Did you "know"?\nAssistant: No.'
    assert spoken(turns, named=False) == 'Did you "know"?\nNo.'


def test_a_turn_whose_speaker_is_missing_is_kept() -> None:
    """Mechanism: only turns of the usual form were read. Damage: ten of MADial's 80 cues had lost a
    turn, in silence."""
    turns = [
        "<BOD>\n",
        '<Bart>: "One"\n',
        '"Two"\n',
        '<Bart>: "Three"\n',
        "<Four!>\n",
        '<Bart>: "Five"\n',
        '<Assistant>: "Six"\n',
        "<EOD>\n",
    ]
    assert spoken(turns, True, 5) == "Bart: One\nAssistant: Two\nBart: Three\nAssistant: Four!"
    assert spoken(turns, False, 3) == "One\nTwo"
    assert spoken(['"One"', '"Two"'], True) == "One\nTwo"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Small files in the formats of the sets; every text is made up."""

    def put(name: str, value: Any, as_lines: bool = False) -> None:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        text = "\n".join(json.dumps(row) for row in value) if as_lines else json.dumps(value)
        path.write_text(text, encoding="utf-8")

    put(
        "locomo/locomo_dev.json",
        [
            {
                "sample_id": f"conv-{n}",
                "conversation": {
                    "speaker_a": "Ann",
                    "session_10_date_time": "1:05 pm on 3 June, 2023",
                    "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "Tenth."}],
                    "session_2_date_time": "1:56 pm on 8 May, 2023",
                    "session_2": [
                        {"speaker": "Ann", "dia_id": "D2:1", "text": "A cat."},
                        {
                            "speaker": "Bob",
                            "dia_id": "D2:2",
                            "text": "Look!",
                            "blip_caption": "a photo of a cat",
                        },
                    ],
                    "session_3_date_time": "1:56 pm on 9 May, 2023",
                },
                "qa": [
                    {
                        "question": "Whose?",
                        "answer": 1,
                        "evidence": ["D2:1; D2:2", "D10:01"],
                        "category": 1,
                    },
                    {"question": "None?", "answer": 1, "evidence": [], "category": 3},
                ],
            }
            for n in (1, 2)
        ],
    )
    put(
        "beam_100k/chat_1.json",
        [
            {
                "batch_number": 1,
                "turns": [
                    [
                        {
                            "role": "user",
                            "id": 0,
                            "time_anchor": "March-15-2024",
                            "content": "Hi ->-> 1,1",
                        },
                        {"role": "assistant", "id": 1, "content": "Hello"},
                    ]
                ],
            },
        ],
    )
    put(
        "beam_100k/probing_1.json",
        {
            "knowledge_update": [
                {"question": "New?", "source_chat_ids": {"a": [1], "b": [0, [1]]}}
            ],
            "abstention": [{"question": "Never?"}],
        },
    )
    put(
        "madial/memory_en.jsonl",
        [
            {"7": {"time": "2023-12-25", "event": "Bart danced."}},
            {"9": {"time": "2023-03-07", "event": "Bart ran."}},
        ],
        as_lines=True,
    )
    put(
        "madial/dialogue_en.jsonl",
        [
            {
                "dialogue": ["<BOD>\n", '<Bart>: "One"\n', '<Bart>: "Two"\n'],
                "test-turn": [2],
                "relevant-id": [9, 12],
                "user-id": 1,
            },
        ],
        as_lines=True,
    )
    put("prefeval/pets.json", [{"preference": "I like dogs.", "question": "Which pet?"}])
    put(
        "memorybank_en/memory_bank_en.json",
        {
            " Emily ": {
                "history": {
                    "2023-04-28": [{"query": "c", "response": "d"}],
                    "2023-04-27": [{"query": "a", "response": "b"}],
                }
            },
        },
    )
    put("memorybank_en/probing_questions_en.jsonl", [{"Emily": ["Who?"]}], as_lines=True)
    return tmp_path


def test_locomo_turns_come_in_order_of_sessions_with_times_and_pictures(root: Path) -> None:
    data = load("locomo", root)
    items = data.stores[0].items
    assert [item.id for item in items] == ["D2:1", "D2:2", "D10:1"]
    assert [item.order for item in items] == [0, 1, 2]
    assert [item.session for item in items] == ["D2", "D2", "D10"]
    assert items[0].time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert items[1].text == "Look! [shares a photo of a cat]"
    assert items[1].time is not None
    assert items[0].time < items[1].time


def test_locomo_questions_know_their_turns_and_are_asked_later(root: Path) -> None:
    data = load("locomo", root)
    first, second, *_ = data.questions
    assert first.gold == ("D2:1", "D2:2", "D10:1")
    assert first.category == "multi-hop"
    assert first.now == datetime(2023, 6, 4, 13, 5, tzinfo=UTC)
    assert second.gold == ()
    assert len(data.answerable) == 2
    assert any("D10:01" in note for note in data.notes)


def test_beam_messages_lose_what_the_generator_left_and_gold_is_unfolded(root: Path) -> None:
    data = load("beam", root)
    items = data.stores[0].items
    assert [(item.id, item.text, item.speaker) for item in items] == [
        ("0", "Hi", "user"),
        ("1", "Hello", "assistant"),
    ]
    assert items[0].time == datetime(2024, 3, 15, tzinfo=UTC)
    update, abstention = data.questions
    assert (update.category, update.gold) == ("knowledge update", ("1", "0"))
    assert (abstention.category, abstention.gold) == ("abstention", ())


def test_madial_memories_are_ordered_by_time_and_a_lost_one_is_told(root: Path) -> None:
    data = load("madial", root)
    assert [item.id for item in data.stores[0].items] == ["9", "7"]
    asked = data.questions[0]
    assert (asked.cue, asked.gold) == ("One", ("9",))
    assert load("madial-named", root).questions[0].cue == "Bart: One"
    assert data.notes == ("madial-0: no memory 12",)


def test_each_preference_answers_its_own_request(root: Path) -> None:
    data = load("prefeval", root)
    assert data.questions[0].gold == (data.stores[0].items[0].id,)
    assert data.questions[0].group == "pets"


def test_absent_data_is_told_with_the_variable_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECTOR_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NoDataError, match="SPECTOR_DATA"):
        data_root()


@pytest.mark.needs_data
@pytest.mark.parametrize(
    ("name", "stores", "items", "questions"),
    [
        ("locomo", 5, 2960, 1018),
        ("beam", 10, 2432, 179),
        ("madial", 1, 160, 80),
        ("madial-named", 1, 160, 80),
        ("prefeval", 1, 505, 505),
    ],
)
def test_the_real_sets_are_read_whole(
    data_dir: Path, name: str, stores: int, items: int, questions: int
) -> None:
    data = load(name, data_dir)
    assert len(data.stores) == stores
    assert sum(len(store.items) for store in data.stores) == items
    assert len(data.answerable) == questions
    assert not any("->->" in item.text for store in data.stores for item in store.items)


def test_every_set_has_a_loader() -> None:
    assert set(LOADERS) == {
        "locomo",
        "beam",
        "madial",
        "madial-named",
        "prefeval",
    }
