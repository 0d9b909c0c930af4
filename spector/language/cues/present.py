"""Tells whether a cue asks how things are now, or when something was."""

from __future__ import annotations

import re
from typing import Final

from spector.language.statements import ASKS_TR, NOW, NOW_TR
from spector.language.words import is_turkish, plain
from spector.process import keeps

_LONGEST_CUE: Final = 2_000
_PHRASE_WORDS: Final = 6

_BEFORE: Final = re.compile(
    r"\b(?:did|was|were|had|been|used to|before|previous|previously|former|formerly|origin\w{2,6}"
    r"|earlier|earliest|once|ago|yesterday|last|old|older|oldest|past|back then|history|ever"
    r"|initial\w{0,2}|first|(?:19|20)\d\d)\b|\b(?:have|has) (?:i|we|you|he|she|they|it)\b"
)
_PRESENT: Final = re.compile(r"(?:\b|')(?:is|am|are|do|does|s|re|may|can|must)\b|n't\b")
_ASKS: Final = re.compile(
    r"(?:what|who|whom|whose|where|which|when|how|why|is|are|am|do|does|may|can|must)\b"
)
_PHRASE: Final = re.compile(r"(?:my|our)\b")

_BEFORE_TR: Final = re.compile(
    r"\b(?:eskiden|eski|once|onceden|onceki|ilk|gecen|dun|vaktiyle|eskisi|(?:19|20)\d\d)\b"
)
#: the verb of a Turkish sentence is its last word, but for the particle of a question
_PAST_TR: Final = re.compile(
    r"(?:[dt][iu]|m[iu]s(?:t[iu])?)(?:m|n|k|niz|nuz|ler|lar)?(?: m[iu]\w{0,4})?[ ?!.]*$"
)
#: a question for the time of something that was
_WHEN: Final = re.compile(
    r"\b(?:when|how long ago|(?:on |at |in )?(?:what|which) (?:day|date|time|week|month|year))"
    r" (?:did|was|were|had)\b"
)
_WHEN_TR: Final = re.compile(
    r"\bne zaman|\bkac (?:gun|hafta|ay|yil) once|\bhangi (?:gun|tarih|saat|hafta|ay|yil)"
)


@keeps(256)
def asks_when(cue: str) -> bool:
    """Whether a cue asks at what time something was."""
    if len(cue) > _LONGEST_CUE:
        return False
    folded = plain(cue).strip()
    return bool(_WHEN.search(folded) or (_WHEN_TR.search(folded) and _PAST_TR.search(folded)))


@keeps(256)
def asks_for_now(cue: str) -> bool:
    """Whether a cue asks how things are: a question in the present tense, or with "now"."""
    if len(cue) > _LONGEST_CUE or "\n" in cue.strip():
        return False
    folded = plain(cue).strip()
    if is_turkish(cue, folded) or ASKS_TR.search(folded):
        if _BEFORE_TR.search(folded) or _PAST_TR.search(folded):
            return False
        if NOW_TR.search(folded) or ASKS_TR.search(folded):
            return True
    if _BEFORE.search(folded):
        return False
    if folded.endswith("?") or _ASKS.match(folded):
        return bool(_PRESENT.search(folded) or NOW.search(folded))
    is_phrase = _PHRASE.match(folded) or NOW.search(folded)
    return bool(is_phrase) and len(folded.split()) <= _PHRASE_WORDS
