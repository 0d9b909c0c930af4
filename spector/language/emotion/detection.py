"""Reads the feeling of a text by words of feeling, signs and capitals.

Words that strengthen, curse or hurry raise arousal. Exclamation marks do not, unless a caller gives
them a weight: most turns of ordinary chat have one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.language.emotion.head import EmotionHead
from spector.language.emotion.signs import signs_in
from spector.language.tables import Lexicon, Match, Word, language_of, table_of, words_of
from spector.language.words import plain
from spector.process import keeps
from spector.records import Emotion

#: in the order in which ties are decided
CATEGORIES: Final = ("joy", "anger", "fear", "sadness", "surprise", "disgust")
#: list -> its weight in the valence
_WEIGHTS: Final = {
    "positive_weak": 0.5, "positive": 1.0, "positive_strong": 1.5,
    "negative_weak": -0.5, "negative": -1.0, "negative_strong": -1.5,
}  # fmt: skip
#: lists of words of the one feeling that is good
_GOOD: Final = dict.fromkeys(("positive_weak", "positive", "positive_strong"), "joy")
_BEFORE: Final = "negators_before"
_BE: Final = frozenset(("be", "been", "being"))
#: valence of a sign by its category
_OF_SIGN: Final = {"joy": 1.0, "surprise": 0.0}
#: a negator turns the sense of what is at most so many words away
_REACH: Final = 3
#: arousal of capitals, of each urgent, strong and intensifying word (two of each at most), and of
#: a curse
_CAPITALS, _URGENT, _PROFANITY, _STRONG, _INTENSIFIER = 0.35, 0.25, 0.30, 0.25, 0.10
_MOST: Final = 2
_LEAST_CAPITALS: Final = 2
_LETTERS_OF_CAPITALS: Final = 4
_MOST_EXCLAMATIONS: Final = 3
#: what a longer text says beyond this is not read
_MOST_CHARS: Final = 20_000
#: code has no feeling; a fence that nothing closes hides the rest
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_HAS_WORD: Final = re.compile(r"[^\W_]")
#: words that explain the result
_MOST_EVIDENCE: Final = 12


@dataclass(frozen=True, slots=True)
class _Rules:
    lexicon: Lexicon
    urgent: tuple[re.Pattern[str], ...]
    negated: tuple[re.Pattern[str], ...]
    #: endings of verbs, which no acronym has
    inflected: tuple[re.Pattern[str], ...]


@lru_cache(maxsize=16)
def _rules(language: str) -> _Rules:
    table = table_of(language, "emotion")
    patterns = table.patterns
    return _Rules(
        Lexicon(table.words), patterns["urgent"], patterns["negated"], patterns["inflected"]
    )


def emotion_in(
    text: str,
    *,
    vector: NDArray[np.float32] | None = None,
    head: EmotionHead | None = None,
    exclamation: float = 0.0,
) -> Emotion:
    """The feeling of a text; calm and without a category where nothing shows one.

    Args:
        vector: The embedding of the text, for the head.
        head: From :func:`load_head`, for the embedder that made the vector. It judges the category
            and the valence of English texts; where it abstains, and of arousal, the words decide.
        exclamation: What each "!" adds to arousal, three at most.
    """
    text = text[:_MOST_CHARS]
    if "`" in text:
        text = _CODE.sub(" ", text)
    language = language_of(text)
    found, denied = _by_words(text, language, exclamation)
    if head is None or vector is None or language != head.language or not _HAS_WORD.search(text):
        return found
    odds = head.log_odds(text, vector)
    judged, category = head.valence_of(odds), head.category_of(odds) or found.category
    if category in denied:  # it knows words, and hardly what negates them
        category = head.category_of(odds, denied)
    return Emotion(
        (found.valence + judged) / 2 if found.valence else judged,
        found.arousal,
        category,
        found.evidence,
    )


@keeps(512)
def _by_words(text: str, language: str, exclamation: float) -> tuple[Emotion, frozenset[str]]:
    """What words and signs show, and the feelings whose words all stand right behind a "not".

    The messages of a batch are looked at again with their vectors.
    """
    words = words_of(text)
    rules = _rules(language)
    meant: list[Match] = []
    turned: set[int] = set()
    found = list(rules.lexicon.matches(words))
    before = [each.start for each in found if each.name == _BEFORE]
    behind = [each.start for each in found if each.name == "negators_behind"]
    for each in found:
        if not each.name.startswith("negators"):
            if _is_negated(each, words, before, behind, rules.negated):
                turned.add(len(meant))
            meant.append(each)
    signs = signs_in(text)
    ends = {each.end for each in found if each.name == _BEFORE}
    names = [_GOOD.get(each.name, each.name) for each in meant]
    denied = {
        name for name, each in zip(names, meant, strict=True) if _is_beside(each, words, ends, text)
    }
    others = {"surprise"}  # which "not sure" says as well
    others |= {name for at, name in enumerate(names) if at not in turned}
    return Emotion(
        _valence(meant, turned, signs),
        _arousal(text, words, meant, turned, rules, exclamation),
        _category(meant, turned, signs),
        _evidence(words, meant, signs),
    ), frozenset(denied - others)


def _is_negated(
    each: Match, words: Sequence[Word], before: Iterable[int], behind: Iterable[int],
    endings: Iterable[re.Pattern[str]],
) -> bool:  # fmt: skip
    if any(0 < each.start - at <= _REACH for at in before):
        return True
    if any(0 < at - (each.end - 1) <= _REACH for at in behind):
        return True
    ending = words[each.start].text[max(0, each.letters - 1) :]
    return any(pattern.search(ending) for pattern in endings)


def _is_beside(each: Match, words: Sequence[Word], before: Collection[int], text: str) -> bool:
    """Whether at most space and a form of "be" stands between a word and the negator before it.

    Args:
        before: where negators end.
    """
    at = each.start
    while at and at not in before and words[at - 1].text in _BE:
        at -= 1
    gap = text[words[at - 1].start + len(words[at - 1].raw) : words[each.start].start] if at else ""
    return at in before and all(word in _BE for word in gap.split()) and gap[:1].isspace()


def _valence(meant: Sequence[Match], turned: set[int], signs: Sequence[tuple[str, str]]) -> float:
    good = bad = 0.0
    for at, each in enumerate(meant):
        weight = _WEIGHTS.get(each.name, 0.0) * (-1 if at in turned else 1)
        good, bad = good + max(weight, 0.0), bad + max(-weight, 0.0)
    for _, name in signs:
        weight = _OF_SIGN.get(name, -1.0)
        good, bad = good + max(weight, 0.0), bad + max(-weight, 0.0)
    return (good - bad) / (good + bad + 1.0)


def _arousal(
    text: str, words: Sequence[Word], meant: Sequence[Match], turned: set[int],
    rules: _Rules, exclamation: float,
) -> float:  # fmt: skip
    counts = Counter(each.name for at, each in enumerate(meant) if at not in turned)
    folded = plain(text)
    hurried = counts["urgent"] + sum(bool(pattern.search(folded)) for pattern in rules.urgent)
    total = (
        _CAPITALS * _is_shouted(words, meant, rules.inflected)
        + _URGENT * min(hurried, _MOST)
        + _PROFANITY * (counts["profanity"] > 0)
        + _STRONG * min(counts["strong"], _MOST)
        + _INTENSIFIER * min(counts["intensifiers"], _MOST)
        + exclamation * min(text.count("!"), _MOST_EXCLAMATIONS)
    )
    return min(1.0, round(total, 6))


def _is_shouted(
    words: Sequence[Word], meant: Sequence[Match], inflected: Iterable[re.Pattern[str]]
) -> bool:
    """Whether several words are in capitals, or among others one that is no acronym."""
    shouted = {
        at
        for at, each in enumerate(words)
        if each.raw.isupper() and sum(map(str.isalpha, each.raw)) >= _LETTERS_OF_CAPITALS
    }
    if len(shouted) >= _LEAST_CAPITALS:
        return True
    known = {at for each in meant for at in range(each.start, each.end)}
    return any(each.raw.islower() for each in words) and any(
        at in known or any(pattern.search(words[at].text) for pattern in inflected)
        for at in shouted
    )


def _category(
    meant: Sequence[Match], turned: set[int], signs: Sequence[tuple[str, str]]
) -> str | None:
    counts = Counter(name for _, name in signs)
    counts.update(each.name for at, each in enumerate(meant) if at not in turned)
    best = max(CATEGORIES, key=lambda each: counts[each])  # the first of equals
    return best if counts[best] else None


def _evidence(
    words: Sequence[Word], meant: Sequence[Match], signs: Sequence[tuple[str, str]]
) -> tuple[str, ...]:
    told = [" ".join(words[at].raw for at in range(each.start, each.end)) for each in meant]
    told += [sign for sign, _ in signs]
    return tuple(dict.fromkeys(told))[:_MOST_EVIDENCE]
