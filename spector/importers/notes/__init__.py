"""Notes: Markdown with its front matter and folders, plain text, transcripts."""

from __future__ import annotations

from typing import Final

from spector.importers.entries import Format
from spector.importers.notes import markdown, plain

__all__ = ["FORMATS"]

FORMATS: Final[tuple[Format, ...]] = (markdown.FORMAT, plain.FORMAT)
