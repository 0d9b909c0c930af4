"""Floods: many memories of one doubtful origin do not push out what others say.

A document that gets imported could fill the hits of a question with fifty paraphrases of it. So of
one origin of little certainty, a share of the hits keeps its places and the rest ranks behind what
others say about the cue, if they do. Where the origin repeats one statement, or the question, none
of it ranks before them. The same holds for one statement of many such origins, which may be one
origin under many names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from spector.kernel.contract import cosine_table, squared
from spector.language.statements import ends_with_question, may_instruct
from spector.layout import CERTAIN_BYTE
from spector.records import Hit
from spector.search.selection.rescoring import lower_below
from spector.search.view import (
    Candidate,
    Ranked,
    Snapshot,
    found_of,
    header_column,
    units_of,
)

__all__ = ["DEEP", "WINDOW", "demote_floods", "is_doubted", "trusted_candidates"]

#: of the hits, for each such origin
_SHARE: Final = 4
#: others count from this share of the best score: a document that alone is about the cue keeps its
#: places
_ABOUT: Final = 0.5
#: candidates among which others are looked for, and how many of them the catalog confirms
_LOOKED_AT: Final = 8192
_CONFIRMED: Final = 256
#: candidates of a large store, which a flood may fill
DEEP: Final = 512
#: best hits that show whether an origin has too many
WINDOW: Final = 10
#: confidence, 0..255, of a writer that does not know what to believe
_HALF: Final = 128
#: mean cosine from which hits are one statement
_ONE_STATEMENT: Final = 0.75


def is_doubted(hits: Sequence[Hit]) -> bool:
    """Whether any hit is of little certainty."""
    return any(map(_is_doubted, hits))


def _is_doubted(hit: Hit) -> bool:
    """Less than fairly certain; or just so, and not the user's words."""
    confidence = found_of(hit).certainty
    return confidence < CERTAIN_BYTE or (
        confidence <= _HALF and not may_instruct(hit.role, None, hit.source)
    )


def trusted_candidates(snap: Snapshot, ranked: Ranked) -> list[Candidate]:
    """The best candidates that are certain enough from any origin, in their order."""
    rows = ranked.first_rows(min(len(ranked), _LOOKED_AT))
    certain = header_column(snap, ranked.part[rows], ranked.slot[rows], "confidence") > _HALF
    return [ranked[at] for at in np.flatnonzero(certain)[:_CONFIRMED].tolist()]


def demote_floods(hits: Sequence[Hit], others: Callable[[], Sequence[Hit]]) -> list[Hit]:
    """Hits with floods among the best of them behind what others say.

    Args:
        hits: best first, more than `WINDOW` of them where there are.
        others: gives the best hits that are believed; asked only when an origin has too much.
    """
    most = WINDOW // _SHARE
    if not _too_much(hits[:WINDOW], most) or hits[0].score <= 0:
        return list(hits)
    about = [hit for hit in others() if hit.score >= _ABOUT * hits[0].score][:WINDOW]
    if not about:
        return list(hits)
    flood, last = _too_much(hits, most), about[-1].score
    known = {hit.id for hit in hits}
    every = [*hits, *(hit for hit in about if hit.id not in known)]
    moved = [lower_below(hit, last, "origin") if hit.id in flood else hit for hit in every]
    return sorted(moved, key=lambda hit: -hit.score)


def _too_much(hits: Sequence[Hit], most: int) -> set[int]:
    """Ids of the hits that a doubted origin has beyond its share: all, where it is one statement.

    Also one statement that doubted origins make more often than that.
    """
    doubted = [hit for hit in hits if _is_doubted(hit)]
    by_origin: dict[tuple[object, ...], list[Hit]] = {}
    for hit in doubted:
        by_origin.setdefault((hit.source, hit.role, hit.user_id, hit.agent_id), []).append(hit)
    out: set[int] = set()
    for mine in by_origin.values():
        if len(mine) > most:
            telling = (
                []
                if _is_one_statement(mine)
                else [hit for hit in mine if not ends_with_question(hit.text)]
            )
            out |= {hit.id for hit in mine} - {hit.id for hit in telling[:most]}
    for alike in _alike(doubted) if len(by_origin) > 1 else ():
        if len(alike) > most:
            out |= {hit.id for hit in alike}
    return out


def _is_one_statement(hits: Sequence[Hit]) -> bool:
    return squared(units_of(hits).mean(axis=0)) >= _ONE_STATEMENT


def _alike(hits: Sequence[Hit]) -> Iterator[list[Hit]]:
    """For each hit, all hits that make the same statement, of any origin."""
    units = units_of(hits)
    for like in cosine_table(units, units) >= _ONE_STATEMENT:
        yield [hits[n] for n in np.flatnonzero(like).tolist()]
