"""Finds and reads what a new memory is compared with; the gate itself knows no store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.config import ObserveConfig
from spector.knowledge import statement_of_fact
from spector.language.frames import BY_HEAD
from spector.layout import Flag
from spector.observe.gate.candidates import Candidate, Incoming, candidate_of
from spector.records import notes_of, without_notes
from spector.search import Neighbour, Neighbours

__all__ = ["Comparer"]

#: memories whose likeness calibrates a scale, and users whose scale is kept
_SAMPLE: Final = 200
_USERS: Final = 64
#: memories that are looked at where bands of likeness decide
_OF_BANDS: Final = 8


class Comparer:
    """Reads what a message states and finds the memories that it may concern."""

    def __init__(self, neighbours: Neighbours, config: ObserveConfig) -> None:
        self._neighbours = neighbours
        self._config = config
        self._samples: dict[str | None, Sequence[float]] = {}

    def registered(self) -> frozenset[str]:
        """Predicates that callers registered as having one value at a time."""
        return self._neighbours.predicates()

    def sample(self, user_id: str | None, now_ms: int) -> Sequence[float]:
        """How alike a user's memories are, for a calibrated scale; empty where none is asked for.

        It is read anew until there are as many as the scale is of.
        """
        if self._config.gate_by != "bands" or self._config.gate_scale != "calibrated":
            return ()
        known = self._samples.get(user_id, ())
        if len(known) < _SAMPLE:
            known = self._neighbours.likeness(user_id=user_id, now_ms=now_ms, count=_SAMPLE)
            if len(self._samples) >= _USERS:
                self._samples.clear()
            self._samples[user_id] = known
        return known

    def candidates(
        self,
        new: Incoming,
        vector: NDArray[np.float32] | None,
        *,
        user_id: str | None,
        now_ms: int,
        single_valued: Collection[str] = (),
    ) -> list[Candidate]:
        """The memories of the same scope that the gate compares with a new one."""
        bands = self._config.gate_by == "bands"
        count = _OF_BANDS if bands else self._config.gate_neighbours
        found = self._near(new, vector, user_id, now_ms, count)
        if bands:
            near = sorted(found, key=lambda each: (-(each.likeness or -1.0), each.id))
            found = near[:_OF_BANDS]
        return [_read(each, single_valued) for each in found]

    def _near(
        self,
        new: Incoming,
        vector: NDArray[np.float32] | None,
        user_id: str | None,
        now_ms: int,
        count: int,
    ) -> list[Neighbour]:
        """What was said: themes that nights made quote it, and would take its places. Facts that
        the head found decide nothing."""
        slots = [(each.subject, each.predicate) for each in new.statements]

        def find(count: int) -> list[Neighbour]:
            return self._neighbours.find(
                new.said, vector, user_id=user_id, now_ms=now_ms, slots=slots, count=count
            )

        found = find(count)
        others = sum(map(_is_aside, found))
        if others:
            found = find(count + others)
        return [each for each in found if not _is_aside(each)]


def _is_aside(near: Neighbour) -> bool:
    if near.fact is not None:
        return bool(near.fact["json"].get("by") == BY_HEAD)
    return Flag.AUXILIARY in near.record.flags


def _read(near: Neighbour, single_valued: Collection[str]) -> Candidate:
    observed = near.observed or {}
    return candidate_of(
        near.record,
        said=without_notes(near.record.text, notes_of(near.observed)),
        data_source=observed.get("data_source"),
        statements=None if near.fact is None else (statement_of_fact(near.fact),),
        likeness=near.likeness,
        is_knowledge=bool(near.sorts),
        is_dormant=Flag.DORMANT in near.record.flags,
        single_valued=single_valued,
    )
