"""Thresholds of the gate, named as in the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ObserveConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveConfig:
    """Stands in for the section of the configuration."""

    gate_by: Literal["slots", "bands"] = "slots"
    supersede_precision: float = 0.97
    create_below: float = 0.70
    update_from: float = 0.75
    reinforce_above: float = 0.92
    gap_importance: float = 0.6
    contradiction_likeness: float = 0.45
    gate_neighbours: int = 5
    relate_neighbours: int = 8
    gate_scale: Literal["cosine", "calibrated"] = "cosine"
    on_update: Literal["create", "merge"] = "create"
    max_merged_chars: int = 2000
