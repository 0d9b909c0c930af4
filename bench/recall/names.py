"""Names of a store, and cues with the names of one store replaced by those of another.

Silence on others' questions mostly shows that names are unknown. With the names of the store that
is asked in their place, a cue is unanswerable and has nothing strange about it.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from bench.recall.shape import Store

__all__ = ["Names", "swapped"]

_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*(?:[’']\w+)?")
#: what a sentence ends with, or a quotation begins with: the next word has its capital from there
_OPENS: Final = re.compile(r"[.!?:;\"“(\[*#\n-]\s*$")
_ROLES: Final = frozenset({"user", "assistant", "system", ""})
#: occurrences from which a capitalised word is a name, and the share of them with a capital
_FEWEST: Final = 3
_MOSTLY: Final = 0.9


@dataclass(frozen=True)
class Names:
    """Who and what a store speaks of by name, most frequent first."""

    store: Store

    @cached_property
    def speakers(self) -> tuple[str, ...]:
        counts = Counter(item.speaker for item in self.store.items)
        return tuple(name for name, _ in counts.most_common() if name not in _ROLES)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word, folded."""
        return frozenset(
            word.lower()
            for item in self.store.items
            for word in re.findall(r"\w+", f"{item.speaker} {item.text}")
        )

    @cached_property
    def others(self) -> tuple[str, ...]:
        """Words with a capital inside of sentences, that hardly ever stand without one."""
        capital: Counter[str] = Counter()
        small: Counter[str] = Counter()
        for item in self.store.items:
            for match in _WORD.finditer(item.text):
                word = match[0].partition("'")[0].partition("’")[0]
                if len(word) == 1:  # I
                    continue
                if word[0].islower():
                    small[word] += 1
                elif word[1:].islower() and not _opens(item.text, match.start()):
                    capital[word] += 1
        return tuple(
            word
            for word, count in capital.most_common()
            if count >= _FEWEST
            and word not in self.speakers
            and count >= _MOSTLY * (count + small[word.lower()])
        )


def _opens(text: str, at: int) -> bool:
    before = text[max(0, at - 4) : at]
    return not before.strip() or bool(_OPENS.search(before))


def swapped(cue: str, own: Names, asked: Names) -> str:
    """The cue with names of its own store replaced by names of the store that is asked.

    Speakers go by their order; any other name that the store asked does not know becomes one of
    its own, the same one each time. A cue without such a name stays as it is.
    """
    pairs = dict(zip(own.speakers, itertools.cycle(asked.speakers), strict=False))
    known = frozenset(own.others)
    pool = asked.others or asked.speakers

    def changed(match: re.Match[str]) -> str:
        word = match[0]
        bare = word.partition("'")[0].partition("’")[0]
        if bare in pairs:
            return pairs[bare] + word[len(bare) :]
        if bare in known and bare.lower() not in asked.words and pool:
            at = int.from_bytes(hashlib.sha256(bare.encode()).digest()[:4], "big")
            return pool[at % min(len(pool), 20)] + word[len(bare) :]
        return word

    return _WORD.sub(changed, cue)
