"""The answer of a search: its hits, and what else is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from spector.records import Hit, HitList, ScanStats, Signals

__all__ = ["Answer"]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The hits of one plan, best first, and what was measured on the way to them.

    Attributes:
        signals: of the cue; None where nothing was measured.
        standing: instructions of the user that stand beside the hits.
        newer: id of a hit -> ids of hits that count instead: see `HitList.outdated`.
    """

    hits: tuple[Hit, ...] = ()
    stats: ScanStats | None = None
    signals: Signals | None = None
    standing: tuple[Hit, ...] = ()
    newer: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def with_hits(self, hits: Sequence[Hit]) -> Answer:
        """Other hits, with all else that this answer has."""
        return Answer(tuple(hits), self.stats, self.signals, self.standing, self.newer)

    def tied(self, ties: Sequence[tuple[int, int, str]]) -> Answer:
        """The same, with pairs of hits of which the first counts."""
        newer = {each: tuple(some) for each, some in self.newer.items()}
        for first, second, _ in ties:
            newer[second] = (*newer.get(second, ()), first)
        return replace(self, newer=newer) if ties else self

    def hit_list(self) -> HitList:
        """The same as a recall returns it."""
        return HitList(
            list(self.hits),
            self.stats,
            signals=self.signals,
            standing=self.standing,
            outdated=self.newer,
        )
