"""Frames of Turkish sentences."""

from __future__ import annotations

from spector.language.frames.turkish.matcher import turkish_drafts
from spector.language.frames.turkish.objects import is_english_sentence, is_turkish_sentence
from spector.language.frames.turkish.tables import KIN
