"""Odd files of strangers: mended by kind, and said where they cannot be read.

Damage without it: the second of the film as a date of 1970, what Ben wrote as the user's, a system
prompt that instructs, one of two messages with the same id, a note that is read under three names.
Guard: files of each kind, made by hand.
"""

from __future__ import annotations

import os
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spector.errors import ImportFormatError
from spector.importers import import_files, iter_messages
from spector.language.statements import may_instruct
from tests.cases import Cases
from tests.importers.files import lines, opened, read, reasons, written
from tests.importers.test_messengers import message

cases = Cases(__file__)

MOMENT = datetime(2024, 5, 3, 10, tzinfo=UTC)


# --- times ---------------------------------------------------------------------------------------


@pytest.mark.sampled
@cases("value")
def test_a_moment_as_programs_write_it(tmp_path: Path, value: Any) -> None:
    path = lines(tmp_path / "m.jsonl", {"role": "user", "content": "x y", "timestamp": value})
    assert [each["event_time"] for each in read(path)] == [MOMENT]


@pytest.mark.sampled
@cases("value")
@pytest.mark.parametrize("name", ["timestamp", "ts"])
def test_what_stands_for_no_time_is_none_and_is_kept(tmp_path: Path, name: str, value: Any) -> None:
    path = lines(tmp_path / "m.jsonl", {"role": "user", "content": "x y", name: value})
    (found,) = read(path)
    assert "event_time" not in found
    assert found["metadata"][name] == value
    with opened() as memory:
        assert import_files(memory, path).files[0].undated == 1


@pytest.mark.sampled
@cases("value")
def test_a_time_that_cannot_be_known_refuses_its_file(tmp_path: Path, value: Any) -> None:
    path = lines(tmp_path / "m.jsonl", {"role": "user", "content": "x y", "timestamp": value})
    with pytest.raises(ImportFormatError, match=r"line 1|document"):
        read(path)


def test_a_field_of_ours_is_never_dropped_for_its_value(tmp_path: Path) -> None:
    path = lines(tmp_path / "m.jsonl", {"role": "user", "content": "x", "valid_until": 86400})
    with pytest.raises(ImportFormatError, match="valid_until 86400 is too small"):
        read(path)
    both = {"role": "user", "content": "x", "created_at": 1714730400, "updated_at": 1714739999}
    (found,) = read(lines(path, both))
    assert (found["event_time"], found["metadata"]) == (MOMENT, {"updated_at": 1714739999})


# --- speakers ------------------------------------------------------------------------------------


@cases("entry", "role", "speaker")
def test_who_says_a_message_without_a_role(
    tmp_path: Path, entry: dict[str, Any], role: str | None, speaker: str | None
) -> None:
    (found,) = read(lines(tmp_path / "m.jsonl", {"text": "I hate tea", **entry}))
    assert found.get("role") == role
    assert found.get("metadata", {}).get("speaker") == speaker


@pytest.mark.parametrize("role", ["system", "developer", " System ", "DEVELOPER"])
def test_instructions_of_a_file_raise_no_trust(tmp_path: Path, role: str) -> None:
    talk = [{"role": role, "content": "Always answer in verse."}, {"role": "user", "content": "x"}]
    path = lines(tmp_path / "m.jsonl", *talk)
    assert [each["role"] for each in read(path)] == ["user"]
    assert reasons(path, "jsonl") == ["instructions"]
    table = lines(tmp_path / "m.csv", f"role,text\n{role},Always answer in verse.\nuser,x\n")
    assert reasons(table, "csv") == ["instructions"]


@pytest.mark.parametrize("name", ["User", "system", "Developer", "Kullanıcı", "assistant", "AI"])
def test_a_person_may_call_himself_anything(tmp_path: Path, name: str) -> None:
    chat = {
        "name": "A",
        "type": "private_group",
        "id": 1,
        "messages": [message(2, "Always answer in verse.", **{"from": name})],
    }
    path = lines(tmp_path / "result.json", chat)
    (found,) = read(path)
    assert (found["role"], found["metadata"]["speaker"]) == ("person", f'"{name}"')
    assert not may_instruct(found["role"], found["metadata"]["speaker"], found["source"])
    assert may_instruct("user", None, None), "the user himself may"


# --- messages of LangChain, items of an agent ----------------------------------------------------


def dumped(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    names = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": names, "kwargs": {"content": content, **more}}


DUMPED = [
    dumped("SystemMessage", "Obey."),
    dumped("HumanMessage", "I live in Kars.", id="h1", name="Ayşe"),
    dumped("AIMessage", "Noted.", type="ai", tool_calls=[{"name": "save", "args": {"x": 1}}]),
    dumped("AIMessage", "", tool_calls=[{"name": "save", "args": {}}]),
    dumped("ToolMessage", "saved", tool_call_id="t"),
    dumped("RemoveMessage", "", id="h1"),
    dumped("AIMessageChunk", [{"type": "text", "text": "So it is."}]),
]
AS_DICTS = cases.rows("AS_DICTS")


@pytest.mark.parametrize("form", ["array", "lines", "conversation"])
@pytest.mark.parametrize("talk", [DUMPED, AS_DICTS])
def test_messages_of_langchain(tmp_path: Path, talk: list[Any], form: str) -> None:
    path = tmp_path / ("m.jsonl" if form == "lines" else "m.json")
    if form == "lines":
        lines(path, *talk)
    else:
        written(path, {"messages": talk} if form == "conversation" else talk)
    found = read(path)
    assert [(each["role"], each["text"]) for each in found] == [
        ("user", "I live in Kars."),
        ("assistant", "Noted."),
        ("tool", "saved"),
        ("assistant", "So it is."),
    ]
    assert found[0]["metadata"] == {"id": "h1", "speaker": "Ayşe"}
    assert found[1]["attachment"] == {"tool_calls": [{"name": "save", "arguments": '{"x": 1}'}]}
    assert reasons(path, "jsonl") == ["instructions", "tool call", "no text"]


def test_two_texts_of_one_message_are_not_chosen_from(tmp_path: Path) -> None:
    entry = {"role": "user", "content": "one", "text": "one"}
    assert [each["text"] for each in read(lines(tmp_path / "m.jsonl", entry))] == ["one"]
    with pytest.raises(ImportFormatError, match='both "text" and "content"'):
        read(lines(tmp_path / "m.jsonl", {**entry, "text": "another"}))


def test_a_document_among_messages_is_not_lost(tmp_path: Path) -> None:
    document = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "Document"],
        "kwargs": {"page_content": "a passage"},
    }
    with pytest.raises(ImportFormatError, match='line 2: has neither "text" nor'):
        read(lines(tmp_path / "m.jsonl", DUMPED[1], document))


def test_items_that_say_nothing_are_records(tmp_path: Path) -> None:
    items = cases.rows("items")
    path = lines(tmp_path / "items.jsonl", *items)
    assert [(each["role"], each["text"]) for each in read(path)] == [
        ("user", "Status of order 5?"),
        ("tool", "shipped"),
        ("assistant", "No."),
    ]
    assert reasons(path, "jsonl") == [
        "record of the program",
        "record of the program",
        "tool call",
        "instructions",
        "picture",
    ]


# --- ids, names and places -----------------------------------------------------------------------


def test_two_messages_with_the_same_id_are_both_kept(tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": text, "id": 1, "session_id": "s"}
        for text in ("one kettle", "two kettles", "one kettle")
    ]
    path = lines(tmp_path / "m.jsonl", *talk)
    with opened() as memory:
        report = import_files(memory, path)
        assert (report.stored, report.known) == (2, 1)
        assert import_files(memory, path).stored == 0
        assert sorted(each.text for each in memory) == ["one kettle", "two kettles"]


def test_a_file_is_read_once_whatever_links_to_it(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".annex").mkdir(parents=True)
    (vault / "sub").mkdir()
    (vault / "note.md").write_text("Feed in April.\n")
    (vault / ".annex" / "o1").write_text("Kept elsewhere.\n")
    for link, target in (
        ("alias.md", "note.md"),
        ("sub/up.md", "../note.md"),
        ("self", "."),
        ("annexed.md", ".annex/o1"),
        ("twice.md", ".annex/o1"),
        ("dead.md", "nowhere"),
    ):
        os.symlink(target, vault / link)
    with opened() as memory:
        report = import_files(memory, vault)
        assert sorted(each.text for each in memory) == [
            "annexed\n\nKept elsewhere.",
            "note\n\nFeed in April.",
        ]
    assert report.ok
    assert report.others == {"link within the folder": 3, "link to a folder": 1, "no file": 1}


def test_names_that_cannot_be_stored_as_they_are(tmp_path: Path) -> None:
    for name in ("👩\u200d🚀 Space", "new\nline", os.fsdecode(b"b\xffd")):
        (tmp_path / f"{name}.md").write_text("Rockets.\n")
    with opened() as memory:
        assert import_files(memory, tmp_path).ok
        assert sorted(each.source or "" for each in memory) == [
            "b d.md",
            "new line.md",
            "👩 🚀 Space.md",
        ]


def test_an_archive_as_it_is_made_on_windows(tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("C:\\Users\\Ann\\Trips\\Kars.md", "Two days.")
        archive.writestr("..\\..\\evil.md", "From above.")
    found = {each["source"]: each["text"] for each in read(path)}
    [kars] = [each for each in found if each.endswith("Trips/Kars.md")]
    assert found[kars].endswith("Trips > Kars\n\nTwo days.")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["notes.zip"]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("start", "said"),
    [
        (b"PK\x03\x04\x14\0\xa6", "zip archive that is damaged"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"SQLite format 3\0\x10", "a database of SQLite"),
        (b"\x89PNG\r\n", "a picture"),
    ],
)
@pytest.mark.parametrize("name", ["chat.json", "notes.md", "_chat.txt", "t.csv"])
def test_what_is_no_text_is_named(tmp_path: Path, start: bytes, said: str, name: str) -> None:
    (tmp_path / name).write_bytes(start + b"abc")
    with pytest.raises(ImportFormatError, match=said) as caught:
        list(iter_messages(tmp_path / name))
    assert caught.value.hint


@cases("document", "said")
def test_exports_that_are_known_and_not_read_are_refused_by_name(
    tmp_path: Path, document: Any, said: str
) -> None:
    path = lines(tmp_path / "export.json", document)
    with pytest.raises(ImportFormatError, match=said):
        read(path)
