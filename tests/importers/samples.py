"""A small file of every format, as tests of all formats need them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from tests.importers.test_assistants import CLAUDE, CODE, DOCUMENTS, HAYSTACK, MEM0, SHAREGPT, TABLE
from tests.importers.test_messengers import ANDROID_US, DAY, IOS, TELEGRAM, TURKISH, post

__all__ = ["SAMPLES"]


def _lines(entries: Sequence[object]) -> str:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in entries)


def _node(key: str, parent: str | None, role: str, text: str, at: float) -> dict[str, object]:
    return {
        "id": key,
        "parent": parent,
        "children": [],
        "message": {
            "id": f"m-{key}",
            "author": {"role": role},
            "create_time": at,
            "content": {"content_type": "text", "parts": [text]},
        },
    }


_TALK: Final[list[object]] = [
    {
        "role": "user",
        "content": "The pump reads three bar.",
        "timestamp": 1714730000,
        "session_id": "a",
        "id": "1",
    },
    {
        "role": "assistant",
        "content": "Noted.",
        "timestamp": "2024-05-03T10:00:00Z",
        "session_id": "a",
        "id": "2",
    },
    {
        "role": "user",
        "content": [{"type": "text", "text": "Çaydanlık kırmızı."}],
        "createdAt": 1714730500,
        "session_id": "a",
        "id": "3",
    },
    {"text": "A fact alone.", "event_time": "2024-05-04T10:00:00Z", "tags": ["x"]},
]

#: name of the format -> name of the file, and its text
SAMPLES: Final[dict[str, tuple[str, str]]] = {
    "jsonl": ("chat.jsonl", _lines(_TALK)),
    "jsonl array": ("chat.json", json.dumps(_TALK, indent=1)),
    "jsonl conversations": ("talks.json", json.dumps([{"id": "c", "messages": _TALK[:3]}])),
    "chatgpt": (
        "conversations.json",
        json.dumps(
            [
                {
                    "title": "Lock",
                    "conversation_id": "c1",
                    "create_time": 1714730000.0,
                    "current_node": "b",
                    "mapping": {
                        "a": _node("a", None, "user", "My lock has four digits.", 1714730001.0),
                        "b": _node("b", "a", "assistant", "Noted the lock.", 1714730002.0),
                    },
                }
            ]
        ),
    ),
    "claude": ("conversations.json", json.dumps([CLAUDE], indent=1)),
    "claude-code": ("8f1.jsonl", _lines(list(CODE))),
    "telegram": (
        "result.json",
        json.dumps(
            {"name": "Garden", "type": "private_group", "id": 4711, "messages": TELEGRAM}, indent=1
        ),
    ),
    "whatsapp ios": ("_chat.txt", IOS),
    "whatsapp us": ("WhatsApp Chat with Ann.txt", ANDROID_US),
    "whatsapp tr": ("_chat.txt", TURKISH),
    "slack": ("2024-05-03.json", json.dumps(DAY, indent=1)),
    "discord": (
        "harbour.json",
        json.dumps(
            {
                "guild": {"id": "1", "name": "Boats"},
                "channel": {"id": "77", "name": "harbour"},
                "messages": [post(1, "The tide turns at six"), post(2, "Then we go at five")],
            },
            indent=1,
        ),
    ),
    "sharegpt": ("data.jsonl", _lines(SHAREGPT)),
    "mem0": ("mem0.json", json.dumps({"results": MEM0})),
    "langchain": ("docs.jsonl", _lines(DOCUMENTS)),
    "longmemeval": ("longmemeval.json", json.dumps([HAYSTACK])),
    "locomo": (
        "locomo.json",
        json.dumps(
            [
                {
                    "sample_id": "c1",
                    "conversation": {
                        "speaker_a": "A",
                        "speaker_b": "B",
                        "session_1_date_time": "1:56 pm on 8 May, 2023",
                        "session_1": [
                            {"speaker": "A", "dia_id": "D1:1", "text": "hi there"},
                            {"speaker": "B", "dia_id": "D1:2", "text": "well met"},
                        ],
                    },
                }
            ]
        ),
    ),
    "csv": ("table.csv", TABLE),
    "markdown": ("Daily.md", "---\ndate: 2024-05-03\ntags: [a]\n---\n# Top\n\ntext\n\n- a\n- b\n"),
    "text": ("notes.txt", "First.\n\nSecond line.\n\nThird."),
}
