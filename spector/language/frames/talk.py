"""Words of chat at the ends of a sentence: they state nothing and end no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spector.language.frames.sentences import Word

#: behind what is said
_CLOSERS: Final = tuple(tuple(row.split()) for row in (
    "just so you know", "just in case", "for the record", "in case you wonder", "by the way",
    "to be honest", "for what it's worth", "bu arada", "haberin olsun", "haberiniz olsun",
    "bilgin olsun", "bilginiz olsun", "aklinda olsun", "aklinda bulunsun", "dogrusu",
    *"""btw fyi lol lmao rofl haha hahaha hahah hehe heh tho though thx ty thanks ok okay yeah yep
    tbh imo imho innit mate dude bro anyways anyhow ahah ahaha valla vallahi ya yaa yav be abi kanka
    hocam iste yani""".split(),
))  # fmt: skip
#: words of a row -> the rows; no row ends with another one, so that one of them at most fits
_CLOSERS_OF: Final = {
    n: frozenset(row for row in _CLOSERS if len(row) == n) for n in {len(row) for row in _CLOSERS}
}
#: before what is said
_OPENERS: Final = tuple(tuple(row.split()) for row in (
    "ha bu arada", "bu arada", "haberin olsun", "bilgin olsun", "dogrusu", "just so you know",
    "by the way", "it turns out that", "it turned out that", "it turns out", "it turned out",
    "as it turns out", "turns out that", "turned out that", "turns out", "turned out", "meger",
    "megerse",
))  # fmt: skip
#: an emoticon begins with one of these
_EYES: Final = frozenset(":;=")
_SIGNS: Final = frozenset(",-–—…")
#: words that a sentence keeps at least
_LEAST: Final = 2


def without_talk(words: Sequence[Word]) -> tuple[Word, ...]:
    """The words of a sentence without "btw", "bu arada" and smileys at its ends."""
    kept = list(words)
    while (end := _closing(kept)) < len(kept) and end >= _LEAST:
        del kept[end:]
    texts = [word.text for word in kept]
    for row in _OPENERS:
        if tuple(texts[: len(row)]) == row and len(kept) - len(row) >= _LEAST:
            kept = kept[len(row) :]
            while len(kept) > _LEAST and kept[0].raw in _SIGNS:
                kept.pop(0)
            break
    return tuple(kept)


def _closing(words: Sequence[Word]) -> int:
    """Where the last words of talk begin, with the signs around them; the length for none."""
    end = len(words)
    while end and words[end - 1].kind == "sign":
        end -= 1
        if words[end].text in _EYES and end + 1 < len(words):
            return _before_signs(words, end)  # ":)"
    for n, rows in _CLOSERS_OF.items():
        begin = end - n
        if begin > 0 and tuple([word.text for word in words[begin:end]]) in rows:
            return _before_signs(words, begin)
    return len(words)


def _before_signs(words: Sequence[Word], at: int) -> int:
    while at and words[at - 1].raw in _SIGNS:
        at -= 1
    return at
