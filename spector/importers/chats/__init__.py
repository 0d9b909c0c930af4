"""Exports of chat programs: of assistants, and of messengers between people."""

from __future__ import annotations

from typing import Final

from spector.importers.chats import (
    chatgpt,
    claude_ai,
    claude_code,
    discord,
    slack,
    telegram,
    whatsapp,
)
from spector.importers.entries import Format

__all__ = ["ARCHIVES", "FORMATS"]

FORMATS: Final[tuple[Format, ...]] = (
    chatgpt.FORMAT,
    claude_ai.FORMAT,
    claude_code.FORMAT,
    telegram.FORMAT,
    discord.FORMAT,
    slack.FORMAT,
    whatsapp.FORMAT,
)
#: formats whose files lie in a folder or archive and need one another
ARCHIVES: Final = (slack.ARCHIVE, chatgpt.ARCHIVE, claude_ai.ARCHIVE, whatsapp.ARCHIVE)
