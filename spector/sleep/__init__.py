"""Decides what happens between calls: one cycle of upkeep, and the daemon that runs it."""

from __future__ import annotations

from spector.sleep.daemon import ReflectDaemon
from spector.sleep.sleeper import Sleeper

__all__ = [
    "ReflectDaemon",
    "Sleeper",
]
