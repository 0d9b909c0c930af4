"""What contexts of a session have quoted, so that it is not observed as if it were new.

Recalled text that is stored again multiplies: an agent reads it back, and it is recalled once more.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable
from importlib import import_module
from typing import Final

from spector.language.words import compose, tokens
from spector.records import MemoryRecord

__all__ = ["Echoes"]

#: wordings that are kept; the oldest goes
_MOST: Final = 4096
#: texts that a retelling is compared with
_MOST_SAID: Final = 256
_BLOCK: Final = re.compile(r"<memories>.*?(?:</memories>|\Z)", re.DOTALL)
#: a quoted line of a context, by itself: its words are a JSON string
_LINE: Final = re.compile(r'^- (?:[^"\n]*: )?("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_PART: Final = re.compile(r"(?<=[.!?:\u2026])\s+|\n+")

#: an agent says "you" of what its user said with "I"
_PERSONS: Final = {
    "you": "i",
    "me": "i",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
    "are": "am",
    "re": "m",
    "were": "was",
}

_Words = tuple[str, ...]


class Echoes:
    """The wordings that a session has quoted, whole texts and their sentences. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: memory -> its words
        self._said: OrderedDict[int, str] = OrderedDict()
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
                self._said[each.id] = said
                self._said.move_to_end(each.id)
                while len(self._said) > _MOST_SAID:
                    self._said.popitem(last=False)
                for key in filter(None, found):
                    self._known[key] = (each.id, dates)
                    self._known.move_to_end(key)
                while len(self._known) > _MOST:
                    self._known.popitem(last=False)

    def rest(
        self, text: str, dates: Collection[str] | None = None, *, loosely: bool = False
    ) -> str:
        """What a text says beside what was quoted; the text itself where nothing was.

        Blocks of a context are left out, and sentences that are quoted word for word.

        Args:
            dates: the dates that the text names; where one of the quoted memory is missing, it is
                another text ("tomorrow" a day later). None does not compare them.
            loosely: also clauses that have only words of one quoted text: an agent retells.
        """
        if not self._known or self._holds(_key(text), dates):
            return "" if self._known else text
        worth = import_module("spector.language.worth")  # reads language: not before it is needed
        with self._lock:
            said = list(self._said.values()) if loosely else []
        rest: str = worth.without(
            _without_quotes(text), lambda each: self._holds(_key(each), dates), _PART
        )
        if said and any(map(str.isalnum, rest)):
            rest = worth.without_repeats(rest, [worth.Wording(each, 0) for each in said])
        return rest

    def erase(self, ids: Collection[int]) -> int:
        """Drop the wordings of forgotten memories; returns how many."""
        with self._lock:
            gone = [key for key, (memory, _) in self._known.items() if memory in ids]
            for key in gone:
                del self._known[key]
            for memory in ids:
                self._said.pop(memory, None)
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
    return _PART.split(text)


def _without_quotes(text: str) -> str:
    """A text without the blocks and lines of contexts."""
    rest = _LINE.sub(lambda found: "" if _is_json(found.group(1)) else found.group(), text)
    return _BLOCK.sub("", rest)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
