"""How much a text says, by which sleep chooses what to keep."""

from __future__ import annotations

from spector.language.worth.density import content_density, keep_score

__all__ = ["content_density", "keep_score"]
