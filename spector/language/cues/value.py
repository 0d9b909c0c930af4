"""Tells whether a cue asks for a number, a day or an hour as it is now."""

from __future__ import annotations

import re
from typing import Final

from spector.language.words import plain

_LONGEST_CUE: Final = 400
_ASKS: Final = re.compile(
    r"\b(?:how (?:many|much|often|old|long|far|tall|big)|what time|when (?:is|are|do|does|should"
    r"|will)"
    r"|what(?:'s| is| are) (?:the|my|our|his|her|their)|what \w+ should|which (?:day|date|time)"
    r"|kac(?:ta|a)?|ne kadar|ne zaman|hangi (?:gun|saat|tarih)\w*)\b"
)
#: asks how things were, or about a stretch of time
_BEFORE: Final = re.compile(
    r"\b(?:did|was|were|had|used to|before|previous\w*|former\w*|origin\w{2,6}|initial\w{0,2}"
    r"|at first|first time|earlier|once|ago|yesterday|last (?:week|month|year|time)|old|older"
    r"|back then"
    r"|history|ever|between|in total|across|altogether|combined|passed|elapsed|apart"
    r"|how long ago|what year|change[ds]?|differ\w*"
    r"|compare\w*"
    r"|eskiden|eski|once|onceden|onceki|ilk|gecen|dun|degis\w+)\b"
    r"|\w(?:[dt][iu]|m[iu]s(?:t[iu])?)(?:m|n|k|niz|nuz|ler|lar)?[ ?!.]*$"
)


def asks_for_value(cue: str) -> bool:
    """Whether a cue asks for a value, and not for an old one."""
    folded = plain(cue[:_LONGEST_CUE])
    return bool(_ASKS.search(folded)) and not _BEFORE.search(folded)
