"""The feeling of a text: valence, arousal and one of six categories."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.language.tables import Match, Word, language_of, lexicon_of, table_of, words_of
from spector.language.weights import read_weights
from spector.language.words import plain
from spector.process import keeps
from spector.records import Emotion

# Emoji and smileys of a text, and the feeling that each shows.


def signs_in(text: str) -> list[tuple[str, str]]:
    """(sign, category) of each emoji and smiley, in their order."""
    pattern, kinds = _signs()
    return [(each.group(), kinds[each.group()]) for each in pattern.finditer(text.lower())]


@lru_cache(maxsize=1)
def _signs() -> tuple[re.Pattern[str], dict[str, str]]:
    """One pattern for all emoji and smileys, and the category of each."""
    kinds = {sign: name for name, signs in table_of("any", "signs").words.items() for sign in signs}
    ordered = sorted(kinds, key=len, reverse=True)
    spelt = "|".join(re.escape(each) for each in ordered if each.isascii())
    drawn = "|".join(re.escape(each) for each in ordered if not each.isascii())
    return re.compile(rf"(?<!\S)(?:{spelt})(?=[\s.,!?]|$)|{drawn}"), kinds


# A text as the trained head sees it: hashed pieces of words, and counts of words of feeling.

#: buckets of the hashed pieces
BUCKETS: Final = 1 << 16
#: lists of words, and signs, whose counts are features; question marks are the last
COUNTED: Final = (
    "anger", "disgust", "fear", "intensifiers", "joy", "negative", "negative_strong",
    "negative_weak", "negators_before", "positive", "positive_strong", "positive_weak",
    "profanity", "sadness", "strong", "surprise", "urgent",
    "sign anger", "sign disgust", "sign fear", "sign joy", "sign sadness", "sign surprise", "?",
)  # fmt: skip
#: the language that the head was trained on
_LANGUAGE: Final = "en"
_MOST_WORDS: Final = 400
_TOKEN: Final = re.compile(r"\[\w+\]|[^\W_]+(?:'[^\W_]+)*|[!?.]{2,8}|[^\w\s]")
#: lengths of the pieces of a word
_PIECES: Final = (3, 4, 5)


def hashed_features(text: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(buckets, counts) of a text: words, pairs of words and pieces of words; buckets ascending."""
    words = _TOKEN.findall(plain(text))[:_MOST_WORDS]
    counts: Counter[int] = Counter()
    for one, other in zip(["", *words], [*words, ""], strict=True):
        counts[_bucket(f"b{one} {other}")] += 1
    for word in words:
        counts.update(_of_word(word))
    buckets = np.array(sorted(counts), np.int64)
    return buckets, np.array([counts[int(each)] for each in buckets], np.float32)


def dense_features(text: str) -> NDArray[np.float32]:
    """(24,) twice the logarithm of one more than each count of COUNTED."""
    counts = Counter(each.name for each in lexicon_of(_LANGUAGE, "emotion").matches(words_of(text)))
    counts.update(f"sign {name}" for _, name in signs_in(text))
    counts["?"] = text.count("?")
    return np.array([2.0 * np.log1p(counts[each]) for each in COUNTED], np.float32)


def _bucket(piece: str) -> int:
    return zlib.crc32(piece.encode("utf-8", "surrogatepass")) % BUCKETS


@keeps(4096)
def _of_word(word: str) -> tuple[int, ...]:
    """The buckets of a word and of its pieces; conversations repeat their words."""
    framed = f"<{word[:20]}>"
    pieces = [
        "c" + framed[at : at + size] for size in _PIECES for at in range(len(framed) - size + 1)
    ]
    return tuple(_bucket(each) for each in ("w" + word, *pieces))


# A trained head for the feeling of an English text, from its vector and the pieces of its words.
#
# Two linear models, averaged: one of the vector and of counts of words of feeling, one of hashed
# words and pieces of words. The weights belong to one embedder; with another the rules decide alone.

#: in the order of the outputs
LABELS: Final = ("anger", "disgust", "fear", "joy", "neutral", "sadness", "surprise")
_PATH: Final = Path(__file__).parent / "data" / "heads.npz"
_BAD: Final = ("anger", "disgust", "fear", "sadness")

F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmotionHead:
    """Weights of the head, and how they are used.

    Attributes:
        weights: mean (d,), scale (d,), dense (d + counts, 7), hashed (buckets, 7), idf (buckets,),
            bias (7,), thresholds (7,), all f32.
        fingerprint: of the embedder that it was trained on.
    """

    weights: Mapping[str, F32]
    fingerprint: str
    #: of the texts that it was trained on
    language: str = "en"

    def category_of(self, log_odds: F32, denied: Collection[str] = ()) -> str | None:
        """The feeling that log-odds tell, none of the denied ones; None for none."""
        scores = log_odds - self.weights["thresholds"]
        scores[[label in denied for label in LABELS]] = -np.inf
        best = int(scores.argmax())
        return LABELS[best] if scores[best] >= 0 and LABELS[best] != "neutral" else None

    def log_odds(self, text: str, vector: F32) -> F32:
        """(7,) log-odds of each label."""
        w = self.weights
        even = (np.asarray(vector, np.float32) - w["mean"]) / w["scale"]
        dense = np.concatenate([even, dense_features(text)]).astype(np.float32)
        buckets, counts = hashed_features(text)
        values = (1.0 + np.log(counts)) * w["idf"][buckets]
        values /= max(1e-6, float(np.sqrt((values * values).sum())))
        # not through BLAS, which ends the process where it has no memory for its threads
        total = np.einsum("i,ij->j", dense, w["dense"])
        total = total + np.einsum("i,ij->j", values.astype(np.float32), w["hashed"][buckets])
        return np.asarray(0.5 * total + w["bias"], np.float32)

    def valence_of(self, log_odds: F32) -> float:
        """The valence that log-odds tell, -1 to 1."""
        p = 1.0 / (1.0 + np.exp(-log_odds.astype(np.float64)))
        bad = sum(float(p[LABELS.index(each)]) for each in _BAD)
        return max(-1.0, min(1.0, float(p[LABELS.index("joy")]) - bad))


@lru_cache(maxsize=1)
def _stored() -> EmotionHead | None:
    if (found := read_weights(_PATH)) is None:
        return None
    about, weights = found
    return EmotionHead(weights, about["fingerprint"])


def load_head(fingerprint: str | None) -> EmotionHead | None:
    """The head that comes with spector; None for any embedder but the one it was trained on."""
    head = _stored()
    return head if head is not None and head.fingerprint == fingerprint else None


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
    patterns = table_of(language, "emotion").patterns
    meant: list[Match] = []
    turned: set[int] = set()
    found = list(lexicon_of(language, "emotion").matches(words))
    before = [each.start for each in found if each.name == _BEFORE]
    behind = [each.start for each in found if each.name == "negators_behind"]
    for each in found:
        if not each.name.startswith("negators"):
            if _is_negated(each, words, before, behind, patterns["negated"]):
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
        _arousal(text, words, meant, turned, patterns, exclamation),
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
    patterns: Mapping[str, Sequence[re.Pattern[str]]], exclamation: float,
) -> float:  # fmt: skip
    counts = Counter(each.name for at, each in enumerate(meant) if at not in turned)
    folded = plain(text)
    hurried = counts["urgent"] + sum(bool(pattern.search(folded)) for pattern in patterns["urgent"])
    total = (
        _CAPITALS * _is_shouted(words, meant, patterns["inflected"])
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
    """Whether several words are in capitals, or among others one that is no acronym.

    Args:
        inflected: endings of verbs, which no acronym has.
    """
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
