"""What a text must have in it for a pattern to match: a way to leave out patterns that cannot."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

#: pieces shorter than this are in nearly every text
_SHORTEST: Final = 3
#: with more alternatives than this a pattern is tried at once
_MOST: Final = 120


class Screen:
    """Patterns of which only those are tried that a text could match.

    What each of them needs is read from the pattern itself, so the answer is that of trying all.
    """

    def __init__(self, patterns: Iterable[re.Pattern[str]]) -> None:
        self._needs = [(each, needed_by(each)) for each in patterns]
        self._pieces = tuple({
            piece for _, needs in self._needs if needs is not None for piece in needs
        })  # fmt: skip

    def matches(self, text: str) -> bool:
        """Whether any of the patterns is in a text."""
        found = {each for each in self._pieces if each in text}
        return any(
            pattern.search(text) is not None
            for pattern, needs in self._needs
            if needs is None or not needs.isdisjoint(found)
        )


def needed_by(pattern: re.Pattern[str]) -> frozenset[str] | None:
    """Pieces of which each match has at least one; None where that cannot be said."""
    if pattern.flags & ~re.UNICODE:
        return None
    try:
        parsed = importlib.import_module("re._parser").parse(pattern.pattern)
        return _of_sequence(list(parsed))
    except Exception:  # no public interface: another Python may have another one
        return None


def _of_sequence(items: Sequence[Any]) -> frozenset[str] | None:
    """The best of what its parts need: the longest pieces, then the fewest."""
    found: list[frozenset[str]] = []
    word = ""
    for kind, value in [*items, (None, None)]:
        if str(kind) == "LITERAL":
            word += chr(value)
            continue
        if len(word) >= _SHORTEST:
            found.append(frozenset((word,)))
        word = ""
        own = None if kind is None else _of_item(str(kind), value)
        if own is not None:
            found.append(own)
    if not found:
        return None
    return min(found, key=lambda each: (-min(map(len, each)), len(each), sorted(each)))


def _of_item(kind: str, value: Any) -> frozenset[str] | None:
    if kind == "SUBPATTERN":
        return _of_sequence(list(value[-1]))
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and value[0] > 0:
        return _of_sequence(list(value[2]))
    if kind == "BRANCH":
        ways = [_of_sequence(list(each)) for each in value[1]]
        if all(each is not None for each in ways):
            pieces = frozenset().union(*(each for each in ways if each is not None))
            return pieces if len(pieces) <= _MOST else None
    return None
