"""Decides what becomes of a message: which memories it makes, changes or strengthens."""

from __future__ import annotations

from spector.observe.settling import Settling

__all__ = ["Settling"]
