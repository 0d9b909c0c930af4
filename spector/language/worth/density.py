"""The density of a text: content words, names, numbers, and what asks or opens."""

from __future__ import annotations

import re
from typing import Final

from spector.language.statements import FIRST_PERSON, ends_with_question, is_of_time, names_of
from spector.language.words import compose, is_stop, plain, tokens, words

#: openers that say little, at the beginning of a text
_OPENER: Final = re.compile(
    r"(?:wow|oh|haha|lol|yeah|yes|yep|no|nope|ok|okay|hey|hi|hello|thanks|thank you|great|awesome"
    r"|cool|nice|sure|absolutely|exactly|right|that's|sounds|glad|congrats|evet|hayir|tamam|peki"
    r"|merhaba|selam|tesekkur\w*|harika|super|guzel)\b"
)
_NAME, _NUMBER, _FIRST, _QUESTION, _OPENS = 1.5, 1.5, 0.7, 2.0, 1.0
_FIRST_TR: Final = re.compile(
    r"\b(?:ben|bana|beni|benim|bende|biz|bizim)\b|\w+(?:[iu]yorum|d[iu]m|ac[ae]g[iu]m|eceg[iu]m)\b"
)
#: characters that are read
_MOST: Final = 4000


#: density below which a sentence says little, and below which one that reacts does
_LITTLE: Final = 3.0
_LITTLE_REACTION: Final = 6.0


def says_little(sentence: str) -> bool:
    """Whether a sentence asks, greets or reacts, or has hardly a content word."""
    density = content_density(sentence)
    if density < _LITTLE or ends_with_question(sentence):
        return True
    reacts = _OPENER.match(plain(compose(sentence[:_MOST])).lstrip()) is not None
    return reacts and density < _LITTLE_REACTION


def content_density(text: str) -> float:
    """Content words, names, numbers and time words of a text, less what asks or opens.

    ``words + 1.5 names + 1.5 numbers and time words + 0.7 [first person] - 2 [question] - 1
    [opener]``, at least 0.
    """
    text = compose(text[:_MOST])
    folded = plain(text)
    content = {each for each in words(text) if not is_stop(each) and len(each) > 1}
    found = {each.text for each in tokens(text)}
    times = sum(any(c.isdigit() for c in each) or is_of_time(each) for each in found)
    names = len(set(names_of(text)))
    first = FIRST_PERSON.search(folded) or _FIRST_TR.search(folded)
    score = len(content) + _NAME * names + _NUMBER * times
    score += _FIRST * (first is not None)
    score -= _QUESTION * ends_with_question(text)
    score -= _OPENS * (_OPENER.match(folded.lstrip()) is not None)
    return max(0.0, score)
