"""A short extract of texts: the sentences that say most, in the order in which they stood."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from spector.language.words import plain
from spector.language.worth.density import content_density, says_little

#: ends of sentences; a full stop within a number, an ordinal, a name or an abbreviation is none
_END: Final = re.compile(
    r"(?:(?<!\b(?:mr|dr|ms|st|vs|av|sn|vb|vd|tl))(?<!\b(?:mrs|e\.g|i\.e|etc|örn|bkz))"
    r"(?<!\bprof)(?<!\bdoç)(?<!\b(?-i:[A-HJ-ZÇĞİÖŞÜ]))(?!(?<=\bno)\.\s?\d)"
    r"(?!(?<=\d)\.\s(?-i:[a-zçğıöşü]))\.(?=[\s\"'”’)\]]|$)|\.{2,}|[!?…])"
    r"[.!?…]*[\"'”’)\]]*|\n+",
    re.IGNORECASE,
)
_MOST: Final = 400
#: after these a text goes on: no end of a sentence
_OPEN_ENDS: Final = " ,;:-–—"
_ENDED: Final = re.compile(r"[.!?…。！？][\"'”’)\]]*$|[^\w\s,;:\-–—\"'”’)\]%$€₺]$")


def joined(sentences: Sequence[str]) -> str:
    """Sentences one after another; where one has no end mark, a full stop tells it from the next."""
    return " ".join([*map(_ended, sentences[:-1]), *sentences[-1:]])


def _ended(sentence: str) -> str:
    if _ENDED.search(sentence):
        return sentence
    return f"{sentence.rstrip(_OPEN_ENDS)}."


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, as they stand in it, without what is empty."""
    found, start = [], 0
    for end in (*(each.end() for each in _END.finditer(text)), len(text)):
        found.append(text[start:end].strip())
        start = end
    return [each for each in found if any(c.isalnum() for c in each)]


def extract_of(
    texts: Sequence[str],
    most: int,
    cost: Callable[[str], int],
    *,
    worth: Callable[[str], float] = content_density,
) -> str:
    """Sentences of texts that say most, without repetition; "" if none fits.

    Questions, greetings and reactions are left out where there is something else.

    Args:
        most: what the extract may cost. cost: of a text, as its tokens.
        worth: of a sentence; of equal ones the earlier is taken.
    """
    sentences: list[str] = []
    seen: set[str] = set()
    for text in texts:
        for sentence in sentences_of(text):
            known = plain(sentence).strip(" .!?")
            if known not in seen:
                seen.add(known)
                sentences.append(sentence)
    sentences = sentences[:_MOST]
    sentences = [each for each in sentences if not says_little(each)] or sentences
    order = sorted(range(len(sentences)), key=lambda n: (-worth(sentences[n]), n))
    chosen: list[int] = []
    for n in order:
        if cost(joined([sentences[at] for at in sorted([*chosen, n])])) <= most:
            chosen.append(n)
    return joined([sentences[n] for n in sorted(chosen)])
