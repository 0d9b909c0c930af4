"""The hot tier: what has proved itself so often that a context quotes it whatever the cue.

Of Cognitive Memory v9: semantic, active, of high utility, often used and not old. The choice is
kept for some minutes for each scope; each answer looks its members up again, so that one which was
forgotten, retired or changed meanwhile is never shown.
"""

from __future__ import annotations

import contextlib
import heapq
import threading
from collections import OrderedDict
from typing import Final

import numpy as np

from spector.clock import MS_PER_DAY, Clock
from spector.config import Config
from spector.errors import UnknownRecordError
from spector.kernel.contract import DEFAULT_DROP_FLAGS
from spector.layout import MUTABLE_DTYPE
from spector.records import Explanation, Hit, MemoryRecord
from spector.search.listing import Listing
from spector.search.request import Selection
from spector.store.catalog import strengths_of
from spector.tiers import Finder, TierRouter

#: scopes whose choice is kept; the one asked for longest ago goes
_MOST_SCOPES: Final = 1000
#: strengths are stored with 24 bits: 0.8 may come back as 0.79999998
_ROUNDING: Final = 1e-6

_Key = tuple[int, str | None, str | None, str | None]


#: tiers whose memories can be hot: what is true whenever it was said
_TIERS: Final = frozenset({"semantic"})


class HotTier:
    """The most useful semantic memories of a scope. Thread-safe."""

    def __init__(
        self, router: TierRouter, finder: Finder, listing: Listing, clock: Clock, config: Config
    ) -> None:
        self._router = router
        self._finder = finder
        self._listing = listing
        self._clock = clock
        self._config = config.association
        self._lock = threading.Lock()
        #: scope -> (when it was chosen, ids of the choice)
        self._kept: OrderedDict[_Key, tuple[int, list[int]]] = OrderedDict()

    def drop_caches(self) -> None:
        """Choose anew from now on."""
        with self._lock:
            self._kept.clear()

    def records(self, chosen: Selection, limit: int) -> list[MemoryRecord]:
        """At most ``limit`` hot memories of a selection's scope, the most useful first."""
        scope = chosen.scope
        key = (limit, scope.user_id, scope.agent_id, scope.session_id)
        now_ms = self._clock.now_ms()
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and 0 <= now_ms - kept[0] < 1000 * self._config.hot_ttl_s:
            found = self._looked_up(kept[1], chosen)
            if [each.id for each in found if self._is_hot(each, now_ms)] == kept[1]:
                return found
        found = self._looked_up(self._choose(chosen, limit, now_ms), chosen)
        if not found:  # the first hot memory of a scope need not wait
            return found
        with self._lock:
            self._kept[key] = now_ms, [each.id for each in found]
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST_SCOPES:
                self._kept.popitem(last=False)
        return found

    def _choose(self, chosen: Selection, limit: int, now_ms: int) -> list[int]:
        """Ids of the hottest memories, the most useful first; of equal ones the newer."""
        condition, _ = self._listing.condition(chosen)
        config, best = self._config, list[tuple[float, int]]()
        oldest = round(now_ms - config.hot_days * MS_PER_DAY)
        for store in self._router.stores():
            if not store.files.durable and len(self._router.stores()) > 1:
                continue  # what the process forgets is in no tier of knowledge
            rows = strengths_of(store.catalog, condition, oldest, now_ms)
            if not rows:
                continue
            strengths = np.frombuffer(b"".join(each for _, each in rows), MUTABLE_DTYPE)
            hot = (
                (strengths["flags"] & int(DEFAULT_DROP_FLAGS) == 0)
                & (strengths["utility"] >= config.hot_utility - _ROUNDING)
                & (strengths["access_count"] >= config.hot_accesses)
            )
            best += [(float(strengths["utility"][n]), rows[n][0]) for n in np.flatnonzero(hot)]
        return [each for _, each in heapq.nlargest(limit, best)]

    def _looked_up(self, ids: list[int], chosen: Selection) -> list[MemoryRecord]:
        found: list[MemoryRecord] = []
        for each in ids:
            with contextlib.suppress(UnknownRecordError):
                found.append(self._finder.get_within(each, chosen.scope))
        return found

    def _is_hot(self, record: MemoryRecord, now_ms: int) -> bool:
        """Whether a memory of the choice still belongs there."""
        until_ms, from_ms = record.valid_until_ms, record.valid_from_ms
        return (
            record.tier in _TIERS
            and not record.flags & DEFAULT_DROP_FLAGS
            and record.utility >= self._config.hot_utility - _ROUNDING
            and record.recorded_ms > now_ms - self._config.hot_days * MS_PER_DAY
            and (until_ms is None or until_ms > now_ms)
            and (from_ms is None or from_ms <= now_ms)
        )


def hot_hit(record: MemoryRecord) -> Hit:
    """A hit that no cue has found: it has no score."""
    return Hit(record=record, score=0.0, explainer=_explain, via="hot")


def _explain() -> Explanation:
    return Explanation(
        profile="hot", fusion="additive", values={}, terms={}, modifiers={}, fused=0.0
    )
