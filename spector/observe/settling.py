"""The gate of ``remember(supersedes="auto")``, loaded by the first memory that asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spector.config import ObserveConfig
from spector.knowledge import Changes
from spector.observe.judges import Judges
from spector.search import Neighbours
from spector.write import Draft

if TYPE_CHECKING:
    from spector.observe.gate import Settler

__all__ = ["Settling"]


@dataclass(frozen=True, eq=False)
class Settling:
    """Decides which memories drafts supersede; rules of language are loaded at first use.

    See :class:`spector.observe.gate.Settler`.
    """

    neighbours: Neighbours
    config: ObserveConfig
    judges: Judges

    def runs(self, drafts: Sequence[Draft]) -> Iterable[Sequence[Draft]]:
        """Drafts in their order, cut before each that may supersede one before it."""
        return self._settler.runs(drafts)

    def settle(
        self, drafts: Sequence[Draft], vectors: NDArray[np.float32] | None, now_ms: int
    ) -> Changes:
        """Decide for drafts, with no other writer until they are stored; the rows to add."""
        return self._settler.settle(drafts, vectors, now_ms)

    @cached_property
    def _settler(self) -> Settler:
        gate = import_module("spector.observe.gate")
        comparer = gate.Comparer(self.neighbours, self.config)
        made: Settler = gate.Settler(comparer, self.config, self.judges.judging())
        return made
