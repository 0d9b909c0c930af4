"""Finds the ranked memories that a cue names; they come first, whatever the vectors say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import ScoringProfile
from spector.language.words import is_sign
from spector.search.evidence.lexical_query import LexicalQuery
from spector.search.evidence.named import FEW, Name
from spector.search.view import FeatureTable, Snapshot

__all__ = ["named_rows", "overriding_score"]

#: words that a cue which only names something has at most; longer ones ask something about it
_NAME_WORDS: Final = 2
#: memories whose texts are read for a number beside the word for its kind
_READ: Final = 64
#: what the factors of a usual profile (mood, tier, category, ...) multiply out to at most
_HIGHEST_MODIFIER: Final = 1.25


def overriding_score(profile: ScoringProfile) -> float:
    """Evidence that exceeds any similarity and strength, on the scale of the score."""
    rest = sum(profile.weights().values()) - profile.w_similarity
    span = 2 * profile.w_similarity + rest  # from cosine -1 and no strength to 1 and all of it
    if profile.fusion == "multiplicative":
        span = profile.w_similarity * (1 + rest)
    return span * _HIGHEST_MODIFIER + profile.w_lexical


def named_rows(
    snap: Snapshot,
    tables: Sequence[FeatureTable],
    own: Sequence[NDArray[np.uint8]],
    cue: LexicalQuery,
    profile: ScoringProfile,
    gone: NDArray[np.bool_] | None,
) -> NDArray[np.bool_] | None:
    """(N,) mask of the memories that a cue names; None when there are none.

    Named are: memories with all words of a cue that is only a name, if few have them; memories with
    an identifier or number of the cue; memories whose alias is nearly all of the cue. Of a cue that
    is only emoji or characters its vector says nothing, so all memories with them are named. A
    question is not a name: a memory that says only the name does not answer it.

    Args:
        own: per store (t, n), how often each memory has each term in its own text.
        gone: (N,) what cannot be a hit, such as memories of other users; it is not counted.
    """
    if not profile.ranking.by_name:
        return None
    choices = list(cue.names)
    signs = bool(cue.terms) and cue.is_name and all(is_sign(t.text) for t in cue.terms)
    short = signs or 0 < len(cue.terms) <= _NAME_WORDS
    if cue.is_name and short and (cue.df() > 0).all():
        choices.append(Name(tuple(range(len(cue.terms)))))
    if not choices and not cue.aliases:
        return None
    named = np.zeros(sum(each.shape[1] for each in own), np.bool_)
    if cue.aliases:
        rows = cue.aliases.rows
        named |= np.concatenate(
            [np.isin(each.rows[: len(each)], rows[each.store]) for each in tables]
        )
    for choice in choices:
        having = np.concatenate([(each[list(choice.terms)] > 0).all(axis=0) for each in own])
        if gone is not None:
            having &= ~gone
        if choice.number:
            having = _having_said(snap, tables, having, choice)
        if signs or np.count_nonzero(having) <= FEW:
            named |= having
    return named if named.any() else None


def _having_said(
    snap: Snapshot, tables: Sequence[FeatureTable], having: NDArray[np.bool_], name: Name
) -> NDArray[np.bool_]:
    """(N,) those of ``having``, a mask, whose text has the name; none where too many must be read."""
    out = np.zeros(len(having), np.bool_)
    if np.count_nonzero(having) > _READ:
        return out
    start = 0
    for features in tables:
        at = np.flatnonzero(having[start : start + len(features)])
        ids = features.ids[at].tolist()
        rows = snap.stores[features.store].catalog.fetch_stored(ids) if ids else {}
        out[start + at] = [each in rows and name.is_in(rows[each].text) for each in ids]
        start += len(features)
    return out
