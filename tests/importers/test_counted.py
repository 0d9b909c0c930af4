"""What is in an export is read or counted, and stands under who said it.

Damage without it: branches of a conversation and chats that were left vanished without a count,
what a tool answered stood under the assistant, words of a program were stored as a friend's, and
notes began with the number of their page.
Guard: small exports that have each of these.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector.errors import EmbeddingError, ImportFormatError, InvalidInputError
from spector.importers import (
    READERS,
    Broken,
    Format,
    Found,
    Head,
    ImportReport,
    LeftOut,
    Options,
    SourceFile,
    detect_format,
    import_files,
    label,
    parse_time,
    register,
)
from tests.cases import Cases
from tests.fakes import FakeEmbedder
from tests.importers.files import imported, lines, opened, written
from tests.importers.samples import SAMPLES

cases = Cases(__file__)


def node(key: str, parent: str | None, role: str, text: str) -> dict[str, Any]:
    message = {
        "id": key,
        "author": {"role": role},
        "create_time": 1735732800.0,
        "content": {"content_type": "text", "parts": [text]},
    }
    return {"id": key, "parent": parent, "children": [], "message": message}


def test_other_branches_are_counted(tmp_path: Path) -> None:
    mapping = {
        "root": {"id": "root", "parent": None, "children": [], "message": None},
        "q": node("q", "root", "user", "What grows in March?"),
        "old": node("old", "q", "assistant", "Peas."),
        "new": node("new", "q", "assistant", "Spinach."),
    }
    talk = {"title": "Garden", "conversation_id": "c", "current_node": "new", "mapping": mapping}
    report, records = imported(written(tmp_path / "conversations.json", [talk]))
    assert [each.text for each in records] == ["What grows in March?", "Spinach."]
    assert report.files[0].left_out == {"other branch": 1}
    assert report.total("read") == 3


def test_other_branches_of_claude_are_counted(tmp_path: Path) -> None:
    def said(key: str, parent: str, sender: str, text: str) -> dict[str, Any]:
        return {
            "uuid": key,
            "parent_message_uuid": parent,
            "sender": sender,
            "text": text,
            "created_at": "2025-02-01T10:00:00Z",
        }

    root = "00000000-0000-4000-8000-000000000000"
    messages = [
        said("a", root, "human", "The roof leaks."),
        said("b", "a", "assistant", "Where?"),
        said("c", "a", "assistant", "Since when?"),
    ]
    talk = {"uuid": "t", "name": "Roof", "chat_messages": messages}
    report, records = imported(written(tmp_path / "conversations.json", [talk]))
    assert [each.text for each in records] == ["The roof leaks.", "Since when?"]
    assert report.files[0].left_out == {"other branch": 1}


def test_chats_that_were_left_are_read(tmp_path: Path) -> None:
    def chat(key: int, text: str) -> dict[str, Any]:
        message = {
            "id": 1,
            "type": "message",
            "date": "2020-05-02T10:00:00",
            "date_unixtime": "1588413600",
            "from": "Zed",
            "from_id": "user7",
            "text": text,
        }
        return {"name": f"Chat {key}", "type": "private_group", "id": key, "messages": [message]}

    account = {
        "chats": {"list": [chat(1, "Violins at six.")]},
        "left_chats": {"list": [chat(2, "Cellos at eight.")]},
    }
    _, records = imported(written(tmp_path / "result.json", account))
    assert {(each.text, each.session_id) for each in records} == {
        ("Violins at six.", "telegram/1"),
        ("Cellos at eight.", "telegram/2"),
    }


@cases("words")
def test_words_of_the_program_in_more_languages(words: str, tmp_path: Path) -> None:
    path = written(
        tmp_path / "WhatsApp Chat with Asha.txt",
        f"13/05/24, 22:15 - Asha: Hello\n13/05/24, 22:16 - Asha: {words}\n",
    )
    report, records = imported(path)
    assert [each.text for each in records] == ["Hello"]
    assert report.files[0].left_out.total() == 1


def test_a_page_of_notion_has_its_name_without_its_number(tmp_path: Path) -> None:
    folder = tmp_path / "Plan 1a2b3c4d5e6f47889900aabbccddeeff"
    folder.mkdir()
    written(folder / "Pumps deadbeefdeadbeefdeadbeefdeadbeef.md", "# Pumps\n\nThe east pump leaks.")
    _, (record,) = imported(tmp_path)
    assert record.text == "Plan > Pumps\n\nThe east pump leaks."
    assert record.metadata["folder"] == "Plan"
    assert record.source == f"{folder.name}/Pumps deadbeefdeadbeefdeadbeefdeadbeef.md"


@cases("message")
def test_what_a_tool_answers_is_said_by_the_tool(message: Mapping[str, Any]) -> None:
    with opened() as memory:
        record = memory.remember(message)
        assert (record.text, record.role) == ("It is Bonn.", "tool")


@cases("name", "text")
def test_times_without_zones_are_known_again_in_another_zone(
    name: str, text: str, tmp_path: Path
) -> None:
    path = written(tmp_path / name, text)
    with opened() as memory:
        assert import_files(memory, path, timezone="UTC").stored == 1
        again = import_files(memory, path, timezone="Asia/Tokyo")
        assert (again.stored, again.known) == (0, 1)


def test_an_import_that_fails_on_the_way_counts_no_step_of_its_own(tmp_path: Path) -> None:
    class Failing(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if any("number 70" in text for text in texts):
                raise EmbeddingError("the server is gone", hint="start it")
            return super().embed(texts)

    path = lines(
        tmp_path / "m.jsonl",
        *({"role": "user", "content": f"number {each}"} for each in range(100)),
    )
    with spector.open(":memory:", embedder=Failing(dim=16)) as memory:
        with pytest.raises(EmbeddingError) as failed:
            import_files(memory, path)
        assert failed.value.__notes__ == ["importing the same files again stores the rest"]
        assert len(memory) == 64


# -- A folder of many exports: each is read as what it is, and none hides another ------------------
#
# Damage without it: a chat of ChatGPT in a folder made all other exports and notes in it "files
# not read", and a note with WhatsApp in its name all notes of a vault. Guard: folders with exports
# of several products, side by side and in one folder.


def put(folder: Path, kind: str, name: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file, text = SAMPLES[kind]
    (folder / (name or file)).write_text(text, encoding="utf-8")


def whole(folder: Path) -> ImportReport:
    return imported(folder)[0]


def formats(report: ImportReport) -> set[str]:
    assert report.ok, [each.error for each in report.files if each.error]
    return {each.format for each in report.files}


def test_exports_of_several_products_in_one_folder_are_all_read(tmp_path: Path) -> None:
    put(tmp_path / "gpt", "chatgpt")
    put(tmp_path / "claude", "claude")
    put(tmp_path / "phone", "whatsapp ios")
    put(tmp_path / "tg", "telegram")
    put(tmp_path / "work" / "general", "slack")
    written(tmp_path / "work" / "users.json", [{"id": "U1", "name": "ann"}])
    (tmp_path / "gpt" / "user.json").write_text('{"id": "u"}', encoding="utf-8")
    (tmp_path / "note.md").write_text("# Garden\n\nBeans grow.", encoding="utf-8")
    report = whole(tmp_path)
    assert formats(report) == {"chatgpt", "claude", "whatsapp", "telegram", "slack", "markdown"}
    assert report.others == {".json": 2}  # the user of ChatGPT, and those of Slack


def test_a_note_about_a_messenger_hides_no_vault(tmp_path: Path) -> None:
    (tmp_path / "Ideas.md").write_text("Beans grow.", encoding="utf-8")
    (tmp_path / "WhatsApp ideas.txt").write_text("Ask the shop about it.", encoding="utf-8")
    assert formats(whole(tmp_path)) == {"markdown", "text"}


def test_what_is_no_file_is_counted(tmp_path: Path) -> None:
    put(tmp_path, "jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "gone.jsonl").symlink_to("nowhere")
    assert whole(tmp_path).others == {"no file": 2}


# -- A format of one's own is one file: a reader, and what shows it --------------------------------
#
# Damage without it: who has another chat program waits for us. Guard: a toy format that is written
# through the public package alone, and gets all that imports promise.


def read(source: SourceFile, options: Options) -> Iterator[Found | LeftOut | Broken]:
    """Lines like "2024-05-03T10:00Z ann> hello"; "#" begins a notice."""
    with source.open_text() as stream:
        for number, line in enumerate(stream, 1):
            place = f"line {number}"
            if line.startswith("#"):
                yield LeftOut("notice", place)
                continue
            head, mark, text = line.rstrip("\n").partition("> ")
            when, _, who = head.rpartition(" ")
            if not mark or not who:
                yield Broken(source.error(place, "has no speaker", hint='write "ann> hello"'))
                continue
            moment = parse_time(when, source, place, options, name="the time")
            yield Found(
                {"text": text, "role": label(who), "source": source.name}
                | ({"event_time": moment} if moment else {}),
                place,
            )


def recognizes(head: Head) -> bool:
    return head.text.startswith("#chevrons")


CHEVRONS = Format("chevrons", "lines like ann> hello", read, recognizes)
LOG = "#chevrons\n2024-05-03T10:00Z ann> Who feeds the cat?\n ben> I do\n2024-05-03T10:01Z ann> \n"


@pytest.fixture
def _registered() -> Iterator[None]:
    register(CHEVRONS)
    register(CHEVRONS)  # a module that is loaded twice
    yield
    del READERS["chevrons"]


@pytest.mark.usefixtures("_registered")
def test_a_toy_format_is_recognized_dated_counted_and_known_again(tmp_path: Path) -> None:
    path = written(tmp_path / "cat.chv", LOG)
    assert detect_format(path) == "chevrons"
    with opened() as memory:
        report = import_files(memory, path)
        assert [(each.role, each.text) for each in memory] == [
            ("ann", "Who feeds the cat?"),
            ("ben", "I do"),
        ]
        moment = datetime(2024, 5, 3, 10, tzinfo=UTC)
        assert {each.event_time for each in memory} == {moment}, "ben's is that of the line before"
        assert report.files[0].left_out == {"notice": 1, "no text": 1}
        assert report.files[0].dated_by_others == 1
        path.write_text(LOG + "2024-05-03T10:02Z ann> Thanks\n")
        again = import_files(memory, path)
        assert (again.stored, again.known) == (1, 2)


@pytest.mark.usefixtures("_registered")
def test_it_is_read_in_archives_and_its_bad_lines_store_nothing(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("cat.txt", LOG)
        archive.writestr("odd.txt", LOG + "nothing at all\n")
    with opened() as memory:
        report = import_files(memory, tmp_path / "all.zip")
        assert [each.error for each in report.files] == [
            "",
            f"{tmp_path}/all.zip!odd.txt, line 5: has no speaker",
        ]
        assert len(memory) == 2
        assert import_files(memory, tmp_path / "all.zip", skip_bad=True).stored == 2
        (tmp_path / "bare.chv").write_text("2024-05-03T10:00Z ann> hi\n")
        with pytest.raises(ImportFormatError, match="may be anything"):
            import_files(memory, tmp_path / "bare.chv")
        assert import_files(memory, tmp_path / "bare.chv", format="chevrons").stored == 1


@pytest.mark.usefixtures("_registered")
def test_a_name_stands_for_one_format() -> None:
    for name in ("auto", "chatgpt", "chevrons"):
        with pytest.raises(InvalidInputError, match="already"):
            register(Format(name, "another", read, lambda head: False))
    with pytest.raises(InvalidInputError, match="must be a"):
        register(read)  # type: ignore[arg-type]
    assert READERS["chevrons"] is CHEVRONS
