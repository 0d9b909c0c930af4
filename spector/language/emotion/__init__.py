"""The feeling of a text: valence, arousal and one of six categories, in English and Turkish."""

from __future__ import annotations

from spector.language.emotion.detection import CATEGORIES, emotion_in, load_head
