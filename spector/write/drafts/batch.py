"""Drafts of one store as columns, the form that records, rows and record images are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.layout import Flag
from spector.write.drafts.draft import Draft

__all__ = ["Batch", "Strengths", "strengths_of"]


#: fields that stand beside a memory
_BESIDE = frozenset({"key", "expires_ms", "expires_in_ms", "attachment"})


class Batch:
    """Drafts as columns. A field that no draft has been given has no column and costs nothing."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self.size = len(drafts)
        given: set[str] = set().union(*map(vars, drafts))
        self._columns = {name: list(map(attrgetter(name), drafts)) for name in given}

    @property
    def has_entries(self) -> bool:
        """Whether a draft may have what stands beside its memory."""
        return not _BESIDE.isdisjoint(self._columns)

    def given(self, *names: str) -> dict[str, list[Any]]:
        """The columns that exist."""
        return {name: self._columns[name] for name in names if name in self._columns}

    def column(self, name: str, default: Any = None) -> list[Any]:
        """A column, or ``default`` for every draft."""
        return self._columns.get(name) or [default] * self.size


@dataclass(frozen=True, slots=True, eq=False)
class Strengths:
    """The starting values of the mutable halves: (n,) u16, f64, f64."""

    flags: NDArray[np.uint16]
    importance: NDArray[np.float64]
    stability_days: NDArray[np.float64]


_FLAGS = {
    "pinned": Flag.PINNED,
    "immutable": Flag.IMMUTABLE,
    "unresolved": Flag.UNRESOLVED,
    "derived": Flag.AUXILIARY,
    "quarantined": Flag.QUARANTINED,
    "is_wordless": Flag.NO_TEXT | Flag.AUXILIARY,
}


def strengths_of(batch: Batch, importance: Sequence[float], config: Config) -> Strengths:
    """Starting strengths: stability grows with importance; strong arousal makes a flashbulb.

    Flashbulb memories (Brown and Kulik; Cognitive Memory v9): pinned, importance at least 0.9,
    stability x 1.5.
    """
    flags = np.zeros(batch.size, dtype=np.uint16)
    for name, column in batch.given(*_FLAGS).items():
        flags[np.array(column, dtype=bool)] |= int(_FLAGS[name])
    strength = np.array(importance, dtype=np.float64)
    growth = np.ones(batch.size)
    for column in batch.given("arousal").values():
        flashbulb = np.array(column) >= config.flashbulb_arousal
        flags[flashbulb] |= int(Flag.FLASHBULB | Flag.PINNED)
        strength[flashbulb] = np.maximum(strength[flashbulb], 0.9)
        growth[flashbulb] = 1.5
    growth *= np.array(batch.column("growth", 1.0), dtype=np.float64)
    scale = 0.5 + strength if config.stability_by_importance else 1.0
    stability = config.initial_stability_days * scale * growth
    return Strengths(flags, strength, np.minimum(stability, config.max_stability_days))
