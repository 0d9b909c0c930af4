"""Frames of English sentences."""

from __future__ import annotations

from spector.language.frames.english import vocabulary
from spector.language.frames.english.matcher import (
    doubts,
    english_drafts,
    is_unreal,
    sentence_modality,
)
from spector.language.frames.english.phrases import Phrase, group_at, phrase_at
from spector.language.frames.english.vocabulary import (
    ADVERBS,
    ARTICLES,
    CONJUNCTIONS,
    MODALS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
)
