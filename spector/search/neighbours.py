"""The memories of one scope that a text is like: what is asked before something is written.

The nearest by vector and the best by words are found apart, because a decision looks at each for a
reason of its own. Memories without a user are a scope of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import DEFAULT_DROP_FLAGS, Ranking, ScoringProfile
from spector.layout import Flag
from spector.records import Hit, HitList, MemoryRecord
from spector.search.searcher import Searcher
from spector.search.view import Cue, RecallRequest, Selection, units_of
from spector.store.catalog import WITHOUT_USER

__all__ = ["Near", "Neighbours", "Wanted"]

#: the tiers that are compared
_TIERS: Final = ("episodic", "semantic")
#: the cosine, and nothing else
_BY_VECTOR: Final = ScoringProfile(name="nearest", mood_boost=1.0)
#: the words of a memory itself, and nothing else
_BY_WORDS: Final = ScoringProfile(
    name="worded", w_similarity=0.0, w_lexical=1.0, mood_boost=1.0,
    ranking=Ranking(
        near=0.0, before=(), after=(), about=0.0, by_time=False, preference=0.0, short=0.0,
        question=0.0, time_words=0.0, by_name=False, newer=False,
    ),
)  # fmt: skip
#: dormant memories and plans that have ended are compared, too
_DROPPED: Final = int(DEFAULT_DROP_FLAGS & ~Flag.DORMANT)


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What is about to be written.

    Attributes:
        vector: (dim,) f32, or None in a store without an embedder.
        by_words: the words are looked up, too.
    """

    text: str
    vector: NDArray[np.float32] | None
    user_id: str | None = None
    by_words: bool = True


@dataclass(frozen=True, slots=True)
class Near:
    """A memory that something is like.

    Attributes:
        vector: (dim,) f32 unit vector, as it is stored; zeros where there is none.
        by_vector, by_words: which of the two channels found it.
    """

    record: MemoryRecord
    vector: NDArray[np.float32]
    by_vector: bool = False
    by_words: bool = False


class Neighbours:
    """Looks for what is like that which is about to be written. Thread-safe."""

    def __init__(self, searcher: Searcher, dim: int) -> None:
        self._searcher = searcher
        self._dim = dim

    def of(
        self, wanted: Sequence[Wanted], *, now_ms: int, nearest: int, worded: int
    ) -> list[tuple[Near, ...]]:
        """The neighbours of each, all as of one moment: the nearest first.

        Args:
            nearest: how many by vector. worded: how many by words.
        """
        requests: list[RecallRequest] = []
        asked: list[tuple[int, bool]] = []
        for n, each in enumerate(wanted):
            if each.vector is not None and nearest:
                requests.append(_request(each, now_ms, nearest, by_words=False))
                asked.append((n, False))
            if each.by_words and worded:
                requests.append(_request(each, now_ms, worded, by_words=True))
                asked.append((n, True))
        found: list[list[tuple[Hit, bool]]] = [[] for _ in wanted]
        for (n, by_words), hits in zip(asked, self._answers(requests), strict=True):
            found[n] += [(hit, by_words) for hit in hits]
        return [_merged(each, self._dim) for each in found]

    def _answers(self, requests: Sequence[RecallRequest]) -> list[HitList]:
        return self._searcher.recall_all(requests) if requests else []


def _request(wanted: Wanted, now_ms: int, k: int, *, by_words: bool) -> RecallRequest:
    return RecallRequest(
        cue=Cue(wanted.text, None) if by_words else Cue(None, wanted.vector), k=k,
        selection=Selection(
            tiers=_TIERS, user_id=wanted.user_id,
            where=WITHOUT_USER if wanted.user_id is None else None,
        ),
        profile=_BY_WORDS if by_words else _BY_VECTOR, now_ms=now_ms, drop_flags=_DROPPED,
        ended=True,
    )  # fmt: skip


def _merged(found: Sequence[tuple[Hit, bool]], dim: int) -> tuple[Near, ...]:
    """The hits of both channels, each memory once."""
    if not found:
        return ()
    hits = {hit.id: hit for hit, _ in found}
    units = dict(zip(hits, units_of(list(hits.values()))[:, :dim], strict=True))
    channels: dict[int, set[bool]] = {}
    for hit, by_words in found:
        channels.setdefault(hit.id, set()).add(by_words)
    return tuple(
        Near(hit.record, units[each], False in channels[each], True in channels[each])
        for each, hit in hits.items()
    )
