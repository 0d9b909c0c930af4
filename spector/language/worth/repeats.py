"""What of a text only repeats other texts, clause by clause, in whatever words around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from spector.language.worth.wording import Wording

_CLAUSE: Final = re.compile(
    r"(?<=[.!?\u2026\u3002])\s+|\n+|(?<=[,;:])\s+|\s+(?=(?:and|but|that|you|your|ve|ama)\s)"
)


def without(text: str, is_known: Callable[[str], bool], split: re.Pattern[str]) -> str:
    """A text without its parts that are known, and without the headings of those.

    Args:
        split: what stands between two parts.
    """
    ends = [(each.start(), each.end()) for each in split.finditer(text)]
    parts: list[tuple[int, int]] = []
    at = 0
    for start, end in (*ends, (len(text), len(text))):
        parts.append((at, start))
        at = end
    known = [is_known(text[start:end]) for start, end in parts]
    if not any(known):
        return text
    for n in range(len(parts) - 2, -1, -1):  # "Relevant memories:" stands before what is known
        known[n] = known[n] or (
            known[n + 1] and text[parts[n][0] : parts[n][1]].rstrip().endswith(":")
        )
    kept = [
        text[start : parts[n + 1][0] if n + 1 < len(parts) else end]
        for n, (start, end) in enumerate(parts)
        if not known[n]
    ]
    return "".join(kept).strip()


def without_repeats(text: str, known: Sequence[Wording]) -> str:
    """A text without the clauses that say nothing but what one of some texts says.

    A clause repeats a text that has all its content words and numbers, and denies as it does.
    """

    def is_known(clause: str) -> bool:
        own = Wording(clause, 0)
        content = set(own.content)
        return bool(content) and any(
            content <= set(each.content)
            and own.numbers <= each.numbers
            and (own.denials > 0) == (each.denials > 0)
            for each in known
        )

    return without(text, is_known, _CLAUSE)
