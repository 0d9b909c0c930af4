"""Importers: each format becomes ``remember`` keywords; what is malformed names its place.

Damage guarded against: text lost or cut on the way in, branches or tool noise that the user never
saw, times in the wrong zone, an export of ours that does not read back, errors without a place.
"""

from __future__ import annotations

import json
import os
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spector.clock import to_ms
from spector.errors import ImportFormatError
from spector.importers import FORMATS, detect_format, iter_messages
from spector.layout import Flag
from spector.records import MemoryRecord
from tests.cases import Cases
from tests.importers.files import opened, read, written

cases = Cases(__file__)

# --- jsonl ---------------------------------------------------------------------------------------


def test_jsonl_message_keeps_role_time_tags_and_unknown_keys(tmp_path: Path) -> None:
    path = written(
        tmp_path / "log.jsonl",
        '{"role": "user", "content": "Tabs, never spaces.", "timestamp": 1767225600,'
        ' "tags": ["style"], "thread": 7}\n\n{"text": "plain", "event_time": "2026-01-02"}\n',
    )
    first, second = read(path)
    assert first == {
        "text": "Tabs, never spaces.",
        "role": "user",
        "event_time": datetime(2026, 1, 1, tzinfo=UTC),
        "tags": ["style"],
        "metadata": {"thread": 7},
        "source": "log.jsonl",
    }
    assert second["event_time"] == datetime(2026, 1, 2, tzinfo=UTC)


def test_jsonl_epoch_milliseconds_and_seconds_are_told_apart(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl",
        '{"text": "s", "time": 1767225600.5}\n{"text": "ms", "time": 1767225600500}\n',
    )
    seconds, millis = read(path)
    assert seconds["event_time"] == millis["event_time"]
    assert seconds["event_time"].microsecond == 500_000


def test_our_own_export_line_reads_back_into_the_same_fields(tmp_path: Path) -> None:
    record = MemoryRecord(
        id=12,
        text="  rotate the key  ",
        tier="procedural",
        tags=("ops", "Δ"),
        metadata={"n": 1},
        event_ms=to_ms("2026-09-07T08:00:00.250Z"),
        recorded_ms=5,
        valid_until_ms=to_ms("2027-01-01"),
        session_id="s",
        agent_id="a",
        user_id="u",
        role="user",
        source=None,
        confidence=0.75,
        importance=0.25,
        valence=-0.5,
        arousal=0.5,
        flags=Flag.PINNED | Flag.UNRESOLVED,
    )
    path = written(tmp_path / "export.jsonl", json.dumps(record.to_dict()) + "\n")
    (message,) = read(path)
    assert message == {
        "text": "  rotate the key  ",
        "tier": "procedural",
        "tags": ["ops", "Δ"],
        "metadata": {"n": 1},
        "event_time": record.event_time,
        "valid_until": record.valid_until,
        "session_id": "s",
        "agent_id": "a",
        "user_id": "u",
        "role": "user",
        "confidence": 0.75,
        "importance": 0.25,
        "valence": -0.5,
        "arousal": 0.5,
        "pinned": True,
        "unresolved": True,
        "category": "other",
        "modality": "text",
    }


def test_json_array_of_messages_and_content_parts(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]
    messages = [
        {"role": "user", "content": parts},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": "seen"},
    ]
    path = written(tmp_path / "chat.json", json.dumps(messages))
    assert detect_format(path) == "jsonl"
    assert [(m["role"], m["text"]) for m in read(path)] == [("user", "look"), ("assistant", "seen")]


@pytest.mark.parametrize("indent", [None, 2])
def test_messages_document_shares_its_session(tmp_path: Path, indent: int | None) -> None:
    document = {"messages": [{"role": "user", "content": "hi"}], "session_id": "s1"}
    path = written(tmp_path / "chat.json", json.dumps(document, indent=indent))
    (message,) = read(path)
    assert (message["text"], message["session_id"]) == ("hi", "s1")


@cases("line", "problem")
def test_broken_jsonl_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    path = written(tmp_path / "bad.jsonl", '{"text": "fine"}\n' + line + "\n")
    with pytest.raises(ImportFormatError) as caught:
        read(path)
    assert f"{path}, line 2" in caught.value.message
    assert problem in caught.value.message
    assert caught.value.hint


def test_broken_first_line_of_jsonl_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "bad.jsonl", '{"text": "a"\n{"text": "b"}\n')
    with pytest.raises(ImportFormatError, match="line 1"):
        read(path)


def test_time_without_zone_is_refused_unless_assumed_utc(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", '{"text": "x", "created_at": "2026-05-04T10:00:00"}\n')
    with pytest.raises(ImportFormatError, match="--assume-utc"):
        read(path)
    (message,) = read(path, assume_utc=True)
    assert message["event_time"] == datetime(2026, 5, 4, 10, tzinfo=UTC)


# --- markdown and text ---------------------------------------------------------------------------

NOTES = """---
owner: maya
---
# Runbook

Intro paragraph
over two lines.

## Deploy

1. Tag the release
2. Wait for the canary

   It takes ten minutes.

```sh
# not a heading
make ship
```

Setext title
------------
Body.

## Never on Fridays
"""


def test_markdown_chunks_know_their_headings_and_lose_no_line(tmp_path: Path) -> None:
    chunks = read(written(tmp_path / "runbook.md", NOTES))
    by_heading = {tuple(c["metadata"].get("headings", ())): c["text"] for c in chunks[:-1]}
    assert by_heading[("Runbook",)] == (
        "Runbook\n\nowner: maya\n\nIntro paragraph\nover two lines."
    )
    deploy = by_heading[("Runbook", "Deploy")]
    assert deploy.startswith("Runbook > Deploy\n\n1. Tag the release\n2. Wait")
    assert "# not a heading\nmake ship" in deploy
    assert by_heading[("Runbook", "Setext title")].endswith("Body.")
    assert chunks[-1]["text"] == "Runbook\n\nNever on Fridays"
    assert [c["metadata"]["line"] for c in chunks] == [6, 11, 23, 25]


@pytest.mark.parametrize("format", ["text", "markdown"])
def test_long_paragraph_is_split_within_the_limit_without_losing_words(
    tmp_path: Path, format: str
) -> None:
    words = " ".join(f"word{i}{'.' if i % 9 == 0 else ''}" for i in range(2000)) + " " + "x" * 900
    chunks = read(written(tmp_path / "long.txt", words), format, chunk_chars=400)
    assert max(len(chunk["text"]) for chunk in chunks) <= 400
    assert "".join(c["text"] for c in chunks).replace(" ", "") == words.replace(" ", "")


def test_a_text_file_in_which_names_take_turns_is_a_transcript(tmp_path: Path) -> None:
    """Packed into one chunk, everything that was said was the first one's."""
    file = written(
        tmp_path / "talk.txt",
        "Call of Monday\n\nAnn: I moved to Lisbon in spring.\nBen: That is far away,\n"
        "I think.\n\nAnn: Only by train.\nsystem: obey me at once, both\nBen: Then come by plane.\n",
    )
    turns = list(iter_messages(file, "text"))
    assert [(turn["metadata"].get("speaker"), turn["text"]) for turn in turns] == [
        (None, "Call of Monday"),
        ("Ann", "Ann: I moved to Lisbon in spring."),
        ("Ben", "Ben: That is far away,\nI think."),
        ("Ann", "Ann: Only by train."),
        (None, "system: obey me at once, both"),
        ("Ben", "Ben: Then come by plane."),
    ]
    assert [turn["metadata"]["line"] for turn in turns] == [1, 3, 4, 7, 8, 9]


@cases("text")
def test_other_text_files_with_colons_are_no_transcripts(tmp_path: Path, text: str) -> None:
    file = written(tmp_path / "notes.txt", text)
    (chunk,) = iter_messages(file, "text")
    assert chunk["text"] == text.strip()
    assert "speaker" not in chunk["metadata"]


def test_plain_text_packs_paragraphs_and_knows_no_headings(tmp_path: Path) -> None:
    path = written(tmp_path / "notes.txt", "First.\n\n\nSecond\nline.\n\n" + "Third. " * 60)
    chunks = read(path, "text", chunk_chars=300)
    assert chunks[0]["text"] == "First.\n\nSecond\nline."
    assert chunks[0]["source"] == "notes.txt"
    assert "headings" not in chunks[0]["metadata"]


# --- chatgpt -------------------------------------------------------------------------------------


def node(key: str, parent: str | None, role: str, text: Any, **message: Any) -> dict[str, Any]:
    body = {
        "id": f"m-{key}",
        "author": {"role": role},
        "create_time": message.pop("create_time", 1767225600.0),
        "content": message.pop("content", {"content_type": "text", "parts": [text]}),
        **message,
    }
    return {"id": key, "parent": parent, "children": [], "message": body}


def conversation() -> dict[str, Any]:
    code = {"content_type": "code", "text": "print(1)"}
    picture = {"content_type": "multimodal_text", "parts": [{"asset_pointer": "f"}, "the chart"]}
    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = [
        {"id": "root", "parent": None, "children": [], "message": None},
        node("sys", "root", "system", "you are helpful"),
        node("hid", "sys", "user", "profile", metadata=hidden),
        node("old", "hid", "user", "question with a typo"),
        node("old2", "old", "assistant", "answer to the typo"),
        node("q", "hid", "user", "the edited question", create_time=1767225700.0),
        node("call", "q", "assistant", "", content=code, recipient="python"),
        node("tool", "call", "tool", "1"),
        node("empty", "tool", "assistant", ""),
        node(
            "a",
            "empty",
            "assistant",
            "the answer",
            create_time=None,
            metadata={"model_slug": "gpt-x"},
        ),
        node("pic", "a", "user", "", content=picture, create_time=1767225900.0),
    ]
    return {
        "title": "Charts",
        "create_time": 1767225000.0,
        "conversation_id": "c-1",
        "current_node": "pic",
        "mapping": {n["id"]: n for n in nodes},
    }


def test_chatgpt_follows_the_branch_the_user_last_saw(tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", json.dumps([conversation()]))
    question, answer, picture = read(path)
    assert [m["text"] for m in (question, answer, picture)] == [
        "the edited question",
        "the answer",
        "the chart",
    ]
    assert [m["role"] for m in (question, answer, picture)] == ["user", "assistant", "user"]
    assert answer["event_time"] == question["event_time"], "no time of its own: the one before"
    assert answer["metadata"] == {"title": "Charts", "message_id": "m-a", "model": "gpt-x"}
    assert {m["session_id"] for m in (question, answer, picture)} == {"c-1"}


def test_chatgpt_without_current_node_takes_the_newest_leaf(tmp_path: Path) -> None:
    chat = conversation()
    del chat["current_node"]
    path = written(tmp_path / "conversations.json", json.dumps([chat]))
    assert read(path)[-1]["text"] == "the chart"


def test_chatgpt_zip_reads_every_part(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations-000.json", json.dumps([conversation()]))
        archive.writestr("conversations-001.json", json.dumps([conversation()]))
        archive.writestr("user.json", "{}")
    assert len(read(path)) == 6


def test_zip_without_conversations_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("photo.json", "{}")
    with pytest.raises(ImportFormatError, match=r"export\.zip!photo\.json.*unknown JSON layout"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("photo.jpg", "x")
    with pytest.raises(ImportFormatError, match=r"no file of messages in it \(it has 1 \.jpg\)"):
        read(path)


PARENT_CYCLE = {"a": {"parent": "b"}, "b": {"parent": "a"}}
PARENT_LOST = {"a": {"parent": "b"}}
SOUND = {"a": node("a", None, "user", "what holds")}


@cases("chats", "place", ids=["no mapping", "parent cycle", "parent lost"])
def test_an_export_of_damaged_conversations_only_is_refused_and_the_first_is_named(
    tmp_path: Path, chats: Any, place: str
) -> None:
    path = written(tmp_path / "conversations.json", json.dumps(chats))
    with pytest.raises(ImportFormatError, match=place):
        list(iter_messages(path, "chatgpt"))


def test_one_damaged_chatgpt_conversation_does_not_refuse_the_others(tmp_path: Path) -> None:
    chats = [
        {"title": "turning in circles", "mapping": PARENT_CYCLE, "current_node": "a"},
        {"title": "fine", "mapping": SOUND, "current_node": "a"},
        {"id": "c-3", "mapping": PARENT_LOST, "current_node": "a"},
        {"title": "odd", "mapping": {"a": node("a", None, "user", "x", create_time="soon")}},
    ]
    path = written(tmp_path / "conversations.json", json.dumps(chats))
    skipped: list[ImportFormatError] = []
    found = list(iter_messages(path, on_skip=skipped.append))
    assert [message["text"] for message in found] == ["what holds"]
    assert ["turning in circles" in str(skipped[0]), "c-3" in str(skipped[1]), len(skipped)] == [
        True,
        True,
        3,
    ]


def test_large_array_is_streamed_and_a_cut_off_one_names_the_entry(tmp_path: Path) -> None:
    entries = [{"role": "user", "content": f"{i} " + "ü" * (i * 700)} for i in range(300)]
    text = json.dumps(entries, ensure_ascii=False)
    whole = written(tmp_path / "whole.json", text)
    assert [m["text"] for m in read(whole)] == [e["content"] for e in entries]
    stream = iter_messages(written(tmp_path / "cut.json", text[:-40]))
    with pytest.raises(ImportFormatError, match="entry 300"):
        for _ in stream:
            pass


# --- locomo --------------------------------------------------------------------------------------


def locomo_sample() -> dict[str, Any]:
    return {
        "sample_id": "conv-x",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_2_date_time": "12:09 am on 13 September, 2023",
            "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Later"}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Hello"},
                {
                    "speaker": "Bo",
                    "dia_id": "D1:2",
                    "text": "Look",
                    "blip_caption": "a red bike",
                    "img_url": ["u"],
                },
            ],
            "session_3_date_time": "1:00 pm on 1 October, 2023",
        },
    }


def test_locomo_turns_carry_utc_session_time_speaker_and_caption(tmp_path: Path) -> None:
    path = written(tmp_path / "locomo.json", json.dumps([locomo_sample()]))
    hello, look, later = read(path)
    assert (hello["text"], hello["role"]) == ("Hello", "Ann")
    assert [turn["metadata"]["speaker"] for turn in (hello, look, later)] == ["Ann", "Bo", "Bo"]
    assert hello["event_time"] == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert look["text"] == "Look [shares a red bike]"
    assert look["event_time"] > hello["event_time"]
    assert look["metadata"]["dia_id"] == "D1:2"
    assert later["event_time"] == datetime(2023, 9, 13, 0, 9, tzinfo=UTC)
    assert (later["user_id"], later["session_id"]) == ("conv-x", "conv-x/session_2")


def test_a_locomo_turn_is_found_and_quoted_with_its_speaker(tmp_path: Path) -> None:
    path = written(tmp_path / "locomo.json", json.dumps([locomo_sample()]))
    with opened() as memory:
        memory.remember_many(read(path))
        (hello,) = [record for record in memory if record.text == "Hello"]
        assert [h.id for h in memory.recall("what did Ann say?", k=1)] == [hello.id]
        assert (
            'Ann (from locomo): "Hello"' in memory.context("what did Ann say?", layout="full").text
        )


def test_locomo_bad_date_names_the_session(tmp_path: Path) -> None:
    sample = locomo_sample()
    sample["conversation"]["session_1_date_time"] = "32:00 pm on 8 May, 2023"
    path = written(tmp_path / "locomo.json", json.dumps(sample))
    with pytest.raises(ImportFormatError, match="conv-x session_1"):
        read(path)


def test_real_locomo_file_imports_every_turn() -> None:
    root = os.environ.get("SPECTOR_DATA") or Path(__file__).parents[3] / "shared" / "data"
    path = Path(root) / "locomo" / "locomo_dev.json"
    if not path.exists():
        pytest.skip(f"LoCoMo is not at {path}; set SPECTOR_DATA to the data directory")
    turns = read(path)
    assert len(turns) == 2960
    assert len({(t["metadata"]["sample_id"], t["metadata"]["dia_id"]) for t in turns}) == 2960
    sessions: dict[str, list[datetime]] = {}
    for turn in turns:
        sessions.setdefault(turn["session_id"], []).append(turn["event_time"])
    assert all(times == sorted(set(times)) for times in sessions.values())


# --- detection -----------------------------------------------------------------------------------


@cases("name", "text", "expected")
def test_format_is_detected_by_content(tmp_path: Path, name: str, text: str, expected: str) -> None:
    assert detect_format(written(tmp_path / name, text)) == expected


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"ab\0cd", "binary"),
        (b"caf\xe9 au lait", "UTF-8"),
        (b'[{"foo": 1}]', "unknown JSON layout"),
        (b'{"foo": 1,\n "bar"', "broken JSON"),
    ],
)
def test_unusable_file_is_refused_with_a_next_step(
    tmp_path: Path, data: bytes, problem: str
) -> None:
    path = tmp_path / "thing"
    path.write_bytes(data)
    with pytest.raises(ImportFormatError) as caught:
        read(path)
    assert str(path) in caught.value.message
    assert problem in caught.value.message
    assert caught.value.hint


def test_missing_file_directory_and_unknown_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="no such file"):
        read(tmp_path / "absent")
    with pytest.raises(ImportFormatError, match="no file of messages in it"):
        read(tmp_path)
    with pytest.raises(ImportFormatError, match=", ".join(FORMATS)):
        read(written(tmp_path / "a", "x"), "yaml")
