"""What contexts of a session have quoted, so that it is not observed as if it were new.

Recalled text that is stored again multiplies: an agent reads it back, and it is recalled once more.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable
from typing import Final

from spector.language.words import compose, tokens
from spector.records import MemoryRecord

__all__ = ["Echoes"]

#: wordings that are kept; the oldest goes
_MOST: Final = 4096
_BLOCK: Final = re.compile(r"<memories>.*?(?:</memories>|\Z)", re.DOTALL)
#: a quoted line of a context, by itself: its words are a JSON string
_LINE: Final = re.compile(r'^- (?:[^"\n]*: )?("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?\u2026])\s+|\n+")

#: an agent says "you" of what its user said with "I"
_PERSONS: Final = {
    "you": "i", "me": "i", "your": "my", "yours": "mine", "yourself": "myself", "are": "am",
    "re": "m", "were": "was",
}  # fmt: skip

_Words = tuple[str, ...]


class Echoes:
    """The wordings that a session has quoted, whole texts and their sentences. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: words -> (the memory that they are of, the dates that its text names)
        self._known: OrderedDict[_Words, tuple[int, frozenset[str]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def note(self, records: Iterable[MemoryRecord]) -> None:
        """Remember that memories were quoted."""
        for each in records:
            said = getattr(each, "said", each.text)
            notes = getattr(each, "notes", ())
            dates = frozenset(str(note.value) for note in notes if note.kind == "date")
            texts = dict.fromkeys((each.text, said))
            found = [_key(part) for text in texts for part in (text, *_sentences(text))]
            with self._lock:
                for key in filter(None, found):
                    self._known[key] = (each.id, dates)
                    self._known.move_to_end(key)
                while len(self._known) > _MOST:
                    self._known.popitem(last=False)

    def hold(self, text: str, dates: Collection[str] | None = None) -> bool:
        """Whether a text only repeats what was quoted: as a block, by its words, or by sentences.

        Args:
            dates: the dates that the text names; where one of the quoted memory is missing, it is
                another text ("tomorrow" a day later). None does not compare them.
        """
        if not self._known:
            return False
        rest, quotes = _without_quotes(text)
        if not _key(rest):
            return quotes
        if self._holds(_key(rest), dates):
            return True
        return all(self._holds(_key(each), dates) for each in _sentences(rest) if _key(each))

    def erase(self, ids: Collection[int]) -> int:
        """Drop the wordings of forgotten memories; returns how many."""
        with self._lock:
            gone = [key for key, (memory, _) in self._known.items() if memory in ids]
            for key in gone:
                del self._known[key]
            return len(gone)

    def _holds(self, key: _Words, dates: Collection[str] | None) -> bool:
        found = self._known.get(key)
        if found is None:
            return False
        return not dates or found[1] <= frozenset(dates)


def _key(text: str) -> _Words:
    words = (each.text for each in tokens(compose(text)) if not each.sign)
    return tuple(_PERSONS.get(each, each) for each in words)


def _sentences(text: str) -> list[str]:
    return _SENTENCE_END.split(text)


def _without_quotes(text: str) -> tuple[str, bool]:
    """A text without the blocks and lines of contexts, and whether there were any."""
    rest = _LINE.sub(lambda found: "" if _is_json(found.group(1)) else found.group(), text)
    rest = _BLOCK.sub("", rest)
    return rest, rest != text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
