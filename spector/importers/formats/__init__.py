"""The formats of files, each in a module with a ``FORMAT``, in the order in which they are tried."""

from __future__ import annotations

from typing import Final

from spector.importers.entries import Format
from spector.importers.formats import (
    chatgpt,
    claude_ai,
    claude_code,
    csv_table,
    discord,
    documents,
    jsonl,
    locomo,
    longmemeval,
    markdown,
    mem0,
    plain,
    sharegpt,
    slack,
    telegram,
    whatsapp,
)

__all__ = ["ARCHIVES", "CHATS", "FORMATS"]

_CHATS: Final = (chatgpt, claude_ai, claude_code, telegram, discord, slack, whatsapp)
_TABLES: Final = (locomo, longmemeval, sharegpt, mem0, documents, jsonl, csv_table)
#: exports of chat programs: of assistants, and of messengers between people
CHATS: Final[tuple[Format, ...]] = tuple(each.FORMAT for each in _CHATS)
FORMATS: Final[tuple[Format, ...]] = (
    *CHATS,
    jsonl.SPECTOR,
    *(each.FORMAT for each in (*_TABLES, markdown, plain)),
)
#: formats whose files lie in a folder or archive and need one another
ARCHIVES: Final = (slack.ARCHIVE, chatgpt.ARCHIVE, claude_ai.ARCHIVE, whatsapp.ARCHIVE)
