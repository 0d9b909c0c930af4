"""The lexical channel: a cue as a full-text query, and its evidence on a scale of 0..1."""

from __future__ import annotations

import math
import re
from typing import Final

__all__ = ["MAX_TERMS", "best_score", "match_query", "match_terms", "quoted"]

#: more words than this do not make a cue clearer, but each costs a posting list
MAX_TERMS: Final = 32
#: FTS5's k1 is fixed at 1.2
_K1_PLUS_1: Final = 2.2

_WORD = re.compile(r"[^\W_]+(?:['’._/:@#+-][^\W_]+)*", re.UNICODE)
_PART = re.compile(r"[^\W_]+", re.UNICODE)

#: words that say nothing about which memory is meant; they stay when a cue has no others
_STOP = frozenset(
    """a about after all also am an and any are as at be because been before being but by can could
    did do does doing for from had has have having he her here hers him his how i if in into is it
    its itself just let me more most my no nor not now of off on once only or other our out over own
    please same she should so some such tell than that the their them then there these they this
    those through to too under until up us very was we were what when where which while who whom
    whose why will with would you your yours ve ll re don didn doesn isn wasn aren won
    ve bir bu da de için ile mi mı mu mü ne ya""".split()
)


def match_query(terms: list[str]) -> str | None:
    """An FTS5 expression that any of the terms satisfies; None when there are none.

    Every term is quoted: nothing of a cue is FTS5 syntax.
    """
    return " OR ".join(quoted(term) for term in terms) or None


def quoted(term: str) -> str:
    """A term as an FTS5 string; terms hold letters, digits and spaces only."""
    return f'"{term}"'


def match_terms(cue: str) -> list[str]:
    """The words of a cue that are worth looking up.

    Words joined by punctuation ("INC-2219", "foo.bar") are searched as a phrase and as parts, so
    an identifier outranks its pieces.
    """
    phrases: dict[str, None] = {}
    words: dict[str, None] = {}
    for match in _WORD.finditer(cue.lower()):
        token = match.group()
        parts = _PART.findall(token)
        if len(parts) > 1:
            phrases[" ".join(parts)] = None
        for part in parts:
            words[part] = None
    strong = [word for word in words if word not in _STOP and len(word) > 1]
    return [*phrases, *(strong or words)][:MAX_TERMS]


def best_score(matches: int, total: int) -> float:
    """The most that one term can add to a BM25 score: idf x (k1 + 1), as FTS5 computes idf.

    A writer may have added matches since ``total`` was counted.
    """
    matches = min(matches, total)
    return _K1_PLUS_1 * max(math.log((total - matches + 0.5) / (matches + 0.5)), 0.0)
