"""Whether a short text is Turkish: by its letters, its frequent words, or its words of time."""

from __future__ import annotations

import re
from typing import Final

from spector.language.dates.grammar import grammar_of
from spector.language.words import analyse, is_turkish, plain

_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_CONTRACTED: Final = ("'ve", "'s", "'re", "'ll", "n't", "'m", "'d")
#: endings of finite verbs that no English word has
_VERB: Final = re.compile(
    r"[a-z]+(?:iyor|uyor|yor)(?:um|sun|uz|sunuz|lar|du|dum|duk)?|[a-z]+(?:acag|eceg)(?:im|iz)"
    r"|[a-z]+(?:acak|ecek)(?:sin|lar|ler)?|[a-z]{3,}(?:dim|dum|dik|duk|tim|tum|tik|tuk)"
    r"|[a-z]+(?:mistim|mistik|mustum)"
)
#: case endings behind an apostrophe; English has 's, 't, 're, 've, 'll, 'd and 'm
_CASE: Final = re.compile(
    r"\w'(?:[dt][ae]n?(?:ki)?|n?d[ae]n?|y?[aeiu]|n?[iu]n|y?l[ae]|l[ae]r\w*|[iu]?nc[iu]\w*)\b"
)
_MOST_WORDS: Final = 200


def reads_turkish(text: str) -> bool:
    """Whether a text is to be read as Turkish; English words in it decide against it."""
    folded = plain(text[:4_000])
    words = _WORD.findall(folded)[:_MOST_WORDS]
    frequent = grammar_of("en").lists["frequent"]
    english = sum(word in frequent or word.endswith(_CONTRACTED) for word in words)
    if english * 4 > len(words):
        return False
    if is_turkish(text, folded) or analyse(text[:4_000]).turkish:
        return True
    if _CASE.search(folded) and english * 6 <= len(words):
        return True
    if english:
        return False
    frequent = grammar_of("tr").lists["frequent"]
    return any(word in frequent or _VERB.fullmatch(word) for word in words)
