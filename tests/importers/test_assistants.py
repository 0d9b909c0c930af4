"""Exports of assistants: what the two sides said, in the branch that was seen last.

Damage without it: calls of tools and thoughts as memories, the words of a document as those of the
user, an edited question beside its first wording. Guard: files made by hand after public
descriptions, with their traps.
"""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spector.errors import ImportFormatError
from spector.importers import detect_format
from tests.cases import Cases
from tests.importers.files import lines, read, reasons, written

cases = Cases(__file__)

# --- Claude.ai -----------------------------------------------------------------------------------

ROOT = "00000000-0000-4000-8000-000000000000"


def part(number: int, parent: str, sender: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "uuid": f"m{number}",
        "text": text,
        "content": [{"type": "text", "text": text}],
        "sender": sender,
        "created_at": f"2026-03-01T10:00:{number:02}.123456Z",
        "attachments": [],
        "files": [],
        "parent_message_uuid": parent,
        **more,
    }


CLAUDE = {
    "uuid": "k1",
    "name": "Garden",
    "summary": "",
    "created_at": "2026-03-01T10:00:00Z",
    "account": {"uuid": "a"},
    "chat_messages": [
        part(1, ROOT, "human", "When do I plant garlic in spring?"),
        part(2, "m1", "assistant", "In March."),
        part(3, ROOT, "human", "When do I plant garlic?"),
        part(
            4,
            "m3",
            "assistant",
            "",
            content=[
                {"type": "thinking", "thinking": "autumn is usual"},
                {"type": "tool_use", "name": "web_search", "input": {"q": "garlic"}},
                {"type": "tool_result", "content": [{"type": "text", "text": "page"}]},
                {"type": "text", "text": "In October."},
            ],
        ),
        part(
            5,
            "m4",
            "human",
            "",
            attachments=[
                {
                    "file_name": "beds.txt",
                    "file_type": "txt",
                    "extracted_content": "Bed 1: beans.\nBed 2: peas.",
                }
            ],
            files=[{"file_name": "a.png"}],
        ),
        part(6, "m5", "assistant", "", content=[{"type": "thinking", "thinking": "hm"}]),
        part(7, "m6", "assistant", "Bed 2 is free.", created_at=None),
    ],
}


@pytest.mark.parametrize("packed", [False, True])
def test_claude_ai(tmp_path: Path, packed: bool) -> None:
    empty = {**CLAUDE, "uuid": "k2", "chat_messages": []}
    torn = {**CLAUDE, "uuid": "k3", "name": "Torn", "chat_messages": "lost"}
    path = tmp_path / ("data.zip" if packed else "conversations.json")
    if packed:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("conversations.json", json.dumps([CLAUDE, empty, torn]))
            archive.writestr("projects.json", "[]")
            archive.writestr("users.json", json.dumps([{"uuid": "a"}]))
    else:
        path.write_text(json.dumps([CLAUDE, empty, torn], indent=1))
    assert detect_format(path) == "claude"
    skipped: list[ImportFormatError] = []
    found = read(path, on_skip=skipped.append)
    assert [(each["role"], each["text"]) for each in found] == [
        ("user", "When do I plant garlic?"),
        ("assistant", "In October."),
        ("document", "Bed 1: beans.\nBed 2: peas."),
        ("assistant", "Bed 2 is free."),
    ]
    assert found[2]["source"] == "beds.txt"
    assert found[0]["event_time"] == datetime(2026, 3, 1, 10, 0, 3, 123000, tzinfo=UTC)
    assert found[3]["event_time"] == datetime(2026, 3, 1, 10, tzinfo=UTC), "of the conversation"
    assert {each["session_id"] for each in found} == {"k1"}
    assert found[0]["metadata"] == {"title": "Garden", "message_id": "m3"}
    assert ["Torn" in each.message for each in skipped] == [True]


def test_claude_ai_without_parents_or_with_a_broken_chain_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    bare = [
        {k: v for k, v in part(n, ROOT, "human", f"line {n}").items() if k != "parent_message_uuid"}
        for n in range(3)
    ]
    written(path, [{"uuid": "k", "name": "", "chat_messages": bare}])
    assert [each["text"] for each in read(path)] == ["line 0", "line 1", "line 2"]
    lost = [part(1, ROOT, "human", "one"), part(2, "gone", "assistant", "two")]
    written(path, [{"uuid": "k", "name": "", "chat_messages": lost}])
    assert [each["text"] for each in read(path)] == ["one", "two"]
    loop = [part(1, "m2", "human", "one"), part(2, "m1", "assistant", "two")]
    written(path, [{"uuid": "k", "name": "", "chat_messages": loop}])
    with pytest.raises(ImportFormatError, match="own ancestor"):
        read(path)


# --- Claude Code ---------------------------------------------------------------------------------


def line(number: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ann/app",
        "sessionId": "8f1",
        "version": "2.1",
        "gitBranch": "main",
        "type": kind,
        "uuid": f"u{number}",
        "message": {"role": kind, "content": content, "model": "m"},
        "timestamp": f"2026-05-04T09:12:{number:02}.113Z",
        **more,
    }


CODE = [
    {"type": "summary", "summary": "Fix login", "leafUuid": "x"},
    {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
    line(1, "user", "The login test fails on CI"),
    line(2, "assistant", [{"type": "thinking", "thinking": "hm", "signature": "s"}]),
    line(3, "assistant", [{"type": "text", "text": "I look at the log."}]),
    line(
        4,
        "assistant",
        [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}],
    ),
    line(
        5,
        "user",
        [{"type": "tool_result", "tool_use_id": "t", "content": "a.py"}],
        toolUseResult={"stdout": "a.py"},
    ),
    line(6, "user", "Look into it", isSidechain=True),
    line(7, "user", "<command-name>/clear</command-name>"),
    line(
        8,
        "user",
        "Caveat: The messages below were generated by the user while running local commands.",
        isMeta=True,
    ),
    line(9, "user", "This session is being continued ...", isCompactSummary=True),
    line(10, "user", [{"type": "text", "text": "<system-reminder>x</system-reminder>\nUse tabs."}]),
    {"type": "system", "subtype": "local_command", "content": "x", "sessionId": "8f1"},
]


def test_claude_code(tmp_path: Path) -> None:
    path = lines(tmp_path / "8f1.jsonl", *CODE)
    assert detect_format(path) == "claude-code"
    found = read(path)
    assert [(each["role"], each["text"]) for each in found] == [
        ("user", "The login test fails on CI"),
        ("assistant", "I look at the log."),
        ("user", "Use tabs."),
    ]
    assert found[0]["event_time"] == datetime(2026, 5, 4, 9, 12, 1, 113000, tzinfo=UTC)
    assert {each["session_id"] for each in found} == {"8f1"}
    assert found[0]["metadata"]["branch"] == "main"
    assert sorted(set(reasons(path, "claude-code"))) == [
        "record of the program",
        "side chain",
        "summary",
        "thoughts",
        "tool call",
        "tool result",
    ]


def test_a_folder_of_claude_code_is_read_past_a_torn_session(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.jsonl").write_text(json.dumps(line(1, "user", "one")) + "\n")
    (tmp_path / "p" / "b.jsonl").write_text(json.dumps(line(1, "user", "two")) + '\n{"type": "us')
    skipped: list[ImportFormatError] = []
    found = read(tmp_path, on_skip=skipped.append)
    assert [each["text"] for each in found] == ["one", "two"]
    assert "b.jsonl, line 2" in skipped[0].message


# --- items of an agent's session, ShareGPT, LangChain, mem0, LongMemEval, CSV ---------------------


def test_items_of_an_agents_session(tmp_path: Path) -> None:
    items = cases.rows("items")
    path = lines(tmp_path / "session.jsonl", *items)
    found = read(path)
    assert [(each["role"], each["text"]) for each in found] == [
        ("user", "Status of order 5?"),
        ("tool", "shipped"),
        ("assistant", "It was shipped."),
    ]
    assert reasons(path, "jsonl") == ["thoughts", "tool call", "tool call", "picture"]


SHAREGPT: list[dict[str, Any]] = [
    {
        "id": "x",
        "conversations": [
            {"from": "system", "value": "Obey."},
            {"from": "human", "value": "hello there"},
            {"from": "gpt", "value": "hi"},
            {"from": "function_call", "value": "{}"},
            {"from": "observation", "value": "4 degrees"},
            {"from": "human", "value": " "},
        ],
    },
    {"conversations": [{"from": "User", "value": "no id"}]},
]


def test_sharegpt(tmp_path: Path) -> None:
    path = written(tmp_path / "data.json", SHAREGPT)
    assert detect_format(path) == "sharegpt"
    found = read(path)
    assert [(each["role"], each["text"]) for each in found] == [
        ("user", "hello there"),
        ("assistant", "hi"),
        ("tool", "4 degrees"),
        ("user", "no id"),
    ]
    assert [each["session_id"] for each in found] == ["x", "x", "x", "data.json/entry 2"]
    assert reasons(path, "sharegpt") == ["instructions", "tool call", "no text"]
    odd = {"conversations": [{"from": "narrator", "value": "x"}]}
    path.write_text("\n".join(json.dumps(each) for each in (SHAREGPT[0], odd)))
    with pytest.raises(ImportFormatError, match=r"line 2, turn 1.*narrator"):
        read(path)


MEM0 = cases.rows("MEM0")


def test_mem0(tmp_path: Path) -> None:
    path = tmp_path / "mem0.json"
    for document in ({"results": MEM0}, MEM0, {"results": MEM0, "relations": []}):
        written(path, document)
        assert detect_format(path) == "mem0"
        seat, chess, leave = read(path)
        assert seat["event_time"] == datetime(2025, 6, 1, 17, tzinfo=UTC)
        assert (seat["user_id"], seat["session_id"], seat["tags"]) == ("ana", "r1", ["travel"])
        assert chess["metadata"] == {"level": 3}
        assert "event_time" not in chess
        assert (leave["user_id"], leave["agent_id"]) == ("7", "bot")
        assert leave["valid_until"] == datetime(2025, 7, 2, tzinfo=UTC), "that day is included"
    assert reasons(path, "mem0") == ["no text"]


DOCUMENTS = cases.rows("DOCUMENTS")


def test_langchain_documents(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    for text in ("\n".join(map(json.dumps, DOCUMENTS)), json.dumps(DOCUMENTS)):
        path.write_text(text)
        assert detect_format(path) == "langchain"
        first, dumped, bare = read(path)
        assert (first["source"], first["metadata"]["page"]) == ("a.pdf", 3)
        assert first["event_time"] == datetime(2025, 6, 1, 10, tzinfo=UTC)
        assert (dumped["text"], dumped["source"]) == ("dumped", "docs.jsonl")
        assert "role" not in bare
    path.write_text(json.dumps(DOCUMENTS[0]) + '\n{"page_content": 3}\n')
    with pytest.raises(ImportFormatError, match="line 2"):
        read(path)


HAYSTACK: dict[str, Any] = dict(cases.rows("HAYSTACK"))


def test_longmemeval(tmp_path: Path) -> None:
    path = written(tmp_path / "longmemeval_s.json", [HAYSTACK, {**HAYSTACK, "question_id": "q2"}])
    assert detect_format(path) == "longmemeval"
    found = read(path)
    assert len(found) == 6
    assert found[1]["event_time"] == datetime(2023, 5, 20, 2, 21, 1, tzinfo=UTC)
    assert (found[2]["session_id"], found[2]["user_id"]) == ("q1/s2", "q1")
    assert {each["user_id"] for each in found} == {"q1", "q2"}
    assert not {"x?", "y"} & {each["text"] for each in found}
    written(path, [{**HAYSTACK, "haystack_dates": ["2023/05/20"]}])
    with pytest.raises(ImportFormatError, match="one date for each"):
        read(path)
    written(path, [{**HAYSTACK, "haystack_dates": ["2023/13/20", "2023/05/20"]}])
    with pytest.raises(ImportFormatError, match="2023/13/20"):
        read(path)


TABLE = (
    "\ufeffMessage;Sender;Created At;Tags;Room;user_id\r\n"
    '"I sail; often,\r\nin May";Ann;2025-06-01T10:00:00Z;"boats, sea";blue;7\r\n'
    ";Ben;2025-06-01T10:01:00Z;;;7\r\n"
    "\r\n"
    "Merhaba;Çağrı;1748772120;;;8\r\n"
)


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(TABLE.encode())
    assert detect_format(path) == "csv"
    sail, hello = read(path)
    assert (sail["text"], sail["role"]) == ("I sail; often,\nin May", "Ann")
    assert sail["event_time"] == datetime(2025, 6, 1, 10, tzinfo=UTC)
    assert sail["tags"] == ["boats", "sea"]
    assert sail["metadata"] == {"speaker": "Ann", "Room": "blue"}
    assert (hello["user_id"], hello["event_time"].minute) == ("8", 2)
    assert reasons(path, "csv") == ["no text"]
    tsv = tmp_path / "table.tsv"
    tsv.write_text("text\tnote\na, b\tc\n", encoding="utf-16")
    assert [each["text"] for each in read(tsv)] == ["a, b"]


@cases("text", "problem")
def test_a_table_that_is_odd_is_refused_with_its_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = written(tmp_path / "t.csv", text)
    with pytest.raises(ImportFormatError, match=problem):
        read(path)
