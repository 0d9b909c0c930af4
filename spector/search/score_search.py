"""A search by the kernel's score alone, widened until no filter has cut its answer short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from spector.records import Hit
from spector.search.view import (
    Answer,
    Candidate,
    Confirmer,
    Plan,
    allowed_by_keys,
    allowed_records,
    scanned_hits,
)

__all__ = ["MOST_CANDIDATES", "ScoreSearch"]

#: candidates that are confirmed one by one before the catalog resolves a filter for all records
MOST_CANDIDATES: Final = 2048
#: records taken from the scan before it is known whether more are needed: of a filter that only
#: the catalog knows, and beyond those wanted of one that the gate applies too, which lets few
#: strangers pass unless what it leaves is rare
_CANDIDATES, _STRANGERS = 128, 16
#: filters of which it is remembered how many candidates they took
_REMEMBERED: Final = 256
#: evidence of the memory whose id the cue is
_IDENTITY: Final = 100.0


class ScoreSearch:
    """Thread-safe: what it remembers only saves a second scan."""

    def __init__(self, confirmer: Confirmer) -> None:
        self._confirmer = confirmer
        #: hits wanted and tags of the gate -> candidates that were enough the last time
        self._enough: dict[tuple[int, ...], int] = {}

    def drop_caches(self) -> None:
        self._enough.clear()

    def answer(self, plan: Plan) -> Answer:
        """The best by score; the memory whose id the cue is comes first."""
        first = self.hit_of_id(plan) if plan.request.lexical else None
        answer = self._best(plan)
        if first is None:
            return answer
        rest = [each for each in answer.hits if each.id != first.id]
        return Answer((first, *rest)[: plan.k], answer.stats)

    def _best(self, plan: Plan) -> Answer:
        k, query, filtered = plan.k, plan.query, plan.is_filtered
        gate = (k, query.tags_all, *query.any_masks.tolist())
        want = self._first_count(plan, gate) if filtered else k
        few = allowed_by_keys(plan)
        allow = None if few is None else few.allow
        while True:
            result = plan.scan(want, allow)
            ordered = scanned_hits(plan.snap, result.hits)
            hits, dropped = self._confirmer.first(plan, ordered, k)
            if len(result) < want or len(hits) == k:
                # every record that passes the filters has been considered, or enough were
                if filtered and allow is None:
                    self._remember(gate, k + 2 * dropped + _STRANGERS)
                break
            if allow is None and want < _CANDIDATES:
                want = _CANDIDATES
            elif allow is None and want < MOST_CANDIDATES:
                want = max(MOST_CANDIDATES, 2 * want)
            elif allow is None and filtered:
                # exact from here on; nothing more will be dropped by it
                allow, want = allowed_records(plan).allow, max(want, k)
            elif dropped:
                want = 2 * want + dropped
            else:
                break
        return Answer(tuple(hits), plan.stats(result))

    def _first_count(self, plan: Plan, gate: tuple[int, ...]) -> int:
        """How many to ask of the first scan through a filter: a few too many cost it more time than
        all that the gate does, and too few a second scan."""
        chosen = plan.request.selection
        if chosen.where or chosen.keys or (len(gate) == 2 and not gate[1]):
            return max(plan.k, _CANDIDATES)
        return max(plan.k, self._enough.get(gate, plan.k + _STRANGERS))

    def _remember(self, gate: tuple[int, ...], candidates: int) -> None:
        if len(self._enough) >= _REMEMBERED:
            self._enough.clear()
        self._enough[gate] = min(candidates, MOST_CANDIDATES)

    def hit_of_id(self, plan: Plan) -> Hit | None:
        """The memory whose id the cue is, if there is one and it passes the filters."""
        record_id = plan.request.reading.record_id
        if record_id is None:
            return None
        found = self.hits_of(plan, [record_id], {"name": _IDENTITY})
        return found[0] if found else None

    def hits_of(
        self,
        plan: Plan,
        ids: Sequence[int],
        evidence: Mapping[str, float] | None = None,
        *,
        most: int | None = None,
    ) -> list[Hit]:
        """Those of some memories that pass every gate and filter of a plan, in their order.

        Args:
            most: so many of them, the first; None for all.
        """
        snap, more = plan.snap, sum((evidence or {}).values())
        made: dict[int, Candidate] = {}
        for n, store in enumerate(snap.stores):
            places: list[tuple[int, int, int]] = []
            for found, (segment_id, slot) in store.catalog.places_of(ids).items():
                part = snap.position_of(n, segment_id, slot)
                if plan.mask is None or plan.mask[part]:
                    places.append((found, part, slot))
            if not places:
                continue
            sims = np.zeros(len(places), np.float32)
            scores = snap.kernel.score(
                snap.table,
                plan.query,
                [part for _, part, _ in places],
                [slot for _, _, slot in places],
                similarity=sims,
            ).tolist()
            for (found, part, slot), score, sim in zip(places, scores, sims.tolist(), strict=True):
                if score > -np.inf:
                    made[found] = Candidate(
                        found, n, part, slot, score, sim, dict(evidence or {}), score + more
                    )
        ordered = [made[each] for each in ids if each in made]
        count = len(ordered) if most is None else most
        return self._confirmer.first(plan, ordered, count)[0] if ordered else []
