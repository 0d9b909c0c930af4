"""Frames of English sentences."""

from __future__ import annotations

from spector.language.frames.english import vocabulary
from spector.language.frames.english.matcher import english_drafts
from spector.language.frames.english.phrases import Phrase, group_at, phrase_at
