"""Export to and import from JSON lines: one memory a line, with what is known beside its words."""

from __future__ import annotations

from spector.exchange.exchange import Exchange
from spector.exchange.vectors import Vectors

__all__ = ["Exchange", "Vectors"]
