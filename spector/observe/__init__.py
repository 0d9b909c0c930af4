"""Decides what becomes of a message: which memories it makes, changes or strengthens."""

from __future__ import annotations

from spector.observe.judges import Judges
from spector.observe.observing import Observing
from spector.observe.settling import Settling

__all__ = ["Judges", "Observing", "Settling"]
