"""What is in an export is read or counted, and stands under who said it.

Damage without it: branches of a conversation and chats that were left vanished without a count,
what a tool answered stood under the assistant, words of a program were stored as a friend's, and
notes began with the number of their page.
Guard: small exports that have each of these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector.errors import EmbeddingError
from spector.importers import ImportReport, import_files
from tests.fakes import FakeEmbedder


def imported(path: Path, **options: Any) -> tuple[ImportReport, list[spector.MemoryRecord]]:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=16)) as memory:
        report = import_files(memory, path, **options)
        return report, list(memory.records())


def as_file(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


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
    report, records = imported(as_file(tmp_path / "conversations.json", [talk]))
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
    report, records = imported(as_file(tmp_path / "conversations.json", [talk]))
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
    _, records = imported(as_file(tmp_path / "result.json", account))
    assert {(each.text, each.session_id) for each in records} == {
        ("Violins at six.", "telegram/1"),
        ("Cellos at eight.", "telegram/2"),
    }


@pytest.mark.parametrize(
    "words",
    [
        "Essa mensagem foi apagada",
        "تم حذف هذه الرسالة",
        "यह मैसेज मिटा दिया गया",
        "<मीडिया के बिना>",
    ],
)
def test_words_of_the_program_in_more_languages(words: str, tmp_path: Path) -> None:
    path = tmp_path / "WhatsApp Chat with Asha.txt"
    path.write_text(
        f"13/05/24, 22:15 - Asha: Hello\n13/05/24, 22:16 - Asha: {words}\n", encoding="utf-8"
    )
    report, records = imported(path)
    assert [each.text for each in records] == ["Hello"]
    assert report.files[0].left_out.total() == 1


def test_a_page_of_notion_has_its_name_without_its_number(tmp_path: Path) -> None:
    folder = tmp_path / "Plan 1a2b3c4d5e6f47889900aabbccddeeff"
    folder.mkdir()
    (folder / "Pumps deadbeefdeadbeefdeadbeefdeadbeef.md").write_text(
        "# Pumps\n\nThe east pump leaks.", encoding="utf-8"
    )
    _, (record,) = imported(tmp_path)
    assert record.text == "Plan > Pumps\n\nThe east pump leaks."
    assert record.metadata["folder"] == "Plan"
    assert record.source == f"{folder.name}/Pumps deadbeefdeadbeefdeadbeefdeadbeef.md"


@pytest.mark.parametrize(
    "message",
    [
        {
            "type": "mcp_call",
            "id": "m",
            "name": "search",
            "arguments": "{}",
            "output": "It is Bonn.",
        },
        {"role": "function", "name": "search", "content": "It is Bonn."},
        {
            "role": "assistant",
            "content": [
                {"type": "mcp_tool_result", "content": [{"type": "text", "text": "It is Bonn."}]}
            ],
        },
    ],
)
def test_what_a_tool_answers_is_said_by_the_tool(message: Mapping[str, Any]) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=16)) as memory:
        record = memory.remember(message)
        assert (record.text, record.role) == ("It is Bonn.", "tool")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("chat.csv", "date,sender,message\n2024-05-13 10:15,Ann,hello\n"),
        (
            "docs.json",
            '[{"page_content": "hello", "metadata": {"created": "2024-05-13T10:15:00"}}]',
        ),
    ],
)
def test_times_without_zones_are_known_again_in_another_zone(
    name: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with spector.open(":memory:", embedder=FakeEmbedder(dim=16)) as memory:
        assert import_files(memory, path, timezone="UTC").stored == 1
        again = import_files(memory, path, timezone="Asia/Tokyo")
        assert (again.stored, again.known) == (0, 1)


def test_an_import_that_fails_on_the_way_counts_no_step_of_its_own(tmp_path: Path) -> None:
    class Failing(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if any("number 70" in text for text in texts):
                raise EmbeddingError("the server is gone", hint="start it")
            return super().embed(texts)

    path = tmp_path / "m.jsonl"
    path.write_text(
        "".join(
            json.dumps({"role": "user", "content": f"number {each}"}) + "\n" for each in range(100)
        )
    )
    with spector.open(":memory:", embedder=Failing(dim=16)) as memory:
        with pytest.raises(EmbeddingError) as failed:
            import_files(memory, path)
        assert failed.value.__notes__ == ["importing the same files again stores the rest"]
        assert len(memory) == 64
