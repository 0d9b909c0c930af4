"""What of many memories is worth keeping: what they say, what only they say, who was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from spector.language.observing.content import substance_of
from spector.language.words import analyse, is_stop

#: texts that may share a word which still counts as theirs alone
_RARE: Final = 2
#: what such a word adds to the substance of a text
_OF_RARE: Final = 2.0
#: substance at which a text has half of what substance can give
_HALF: Final = 16.0
_OF_TEXT, _OF_IMPORTANCE = 0.6, 0.4
#: what an answer is worth less than what a user said: as much as its text can be worth
_OF_ANSWER: Final = 0.6
#: what a reply to a question of someone else is worth more: what one wanted to know is asked again
_OF_REPLY: Final = 0.1
#: characters that are read
_MOST: Final = 4000


def keep_scores(
    texts: Sequence[str],
    importance: Sequence[float],
    answers: Collection[int] = (),
    *,
    replies: Collection[int] = (),
) -> list[float]:
    """How much each of many memories is worth keeping, -0.6 to 1.1.

    Six parts are what it says, with the words that at most one other of them has; four are its
    importance. Texts have no bound from which they are equal, or all of a conversation would be.
    What an assistant or a tool answered goes before what a user said: it can be asked for again.

    Args:
        answers: places of texts that no user said.
        replies: places of texts that someone else had asked for.
    """
    words = [
        frozenset(each for each in analyse(text[:_MOST]).words if not is_stop(each))
        for text in texts
    ]
    known = Counter(word for each in words for word in each)
    out = []
    for text, mine, weight in zip(texts, words, importance, strict=True):
        rare = sum(known[word] <= _RARE for word in mine)
        value = max(0.0, substance_of(text[:_MOST])) + _OF_RARE * rare
        out.append(_OF_TEXT * value / (value + _HALF) + _OF_IMPORTANCE * weight)
    for each in answers:
        out[each] -= _OF_ANSWER
    for each in replies:
        out[each] += _OF_REPLY
    return out
