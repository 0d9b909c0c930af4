"""Frames of English sentences."""

from __future__ import annotations

from spector.language.frames.english.matcher import english_drafts

__all__ = [
    "english_drafts",
]
