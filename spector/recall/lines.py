"""The lines of a context within their room: a whole text, its summary, or an excerpt."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import Final

from spector.language.statements import excerpt
from spector.recall.quoting import Line, line_of
from spector.records import Hit
from spector.search.selection import quote_text

__all__ = ["line_within"]

#: a text of more characters a token than that is not counted: it does not fit
_CHARS_PER_TOKEN: Final = 16


def line_within(
    hit: Hit,
    limit: int,
    count: Callable[[str], int],
    words: frozenset[str] = frozenset(),
    *,
    whole: bool = True,
    mark: str = "",
    zone: tzinfo = UTC,
) -> Line | None:
    """The line of a memory with at most ``limit`` tokens of its words; None if there is none.

    ``words``: of the cue, which an excerpt is about.
    """

    def cost(text: str) -> int:
        if len(text) > _CHARS_PER_TOKEN * limit:
            return limit + 1
        return count(quote_text(text))

    if limit < 1:
        return None
    if cost(hit.text) <= limit:
        return line_of(hit, quote_text(hit.text), whole=whole, cut=False, mark=mark, zone=zone)
    summary = hit.record.summary if hit.record.consolidated else None
    fits = summary is not None and cost(summary) <= limit
    part = summary if fits else excerpt(hit.text, words, limit, cost)
    if not part:
        return None
    return line_of(hit, quote_text(part), whole=whole, cut=True, mark=mark, zone=zone)
