"""Frames of English sentences."""

from __future__ import annotations

from spector.language.frames.english.matcher import english_drafts
from spector.language.frames.english.modality import sentence_modality

__all__ = [
    "english_drafts",
    "sentence_modality",
]
