"""Decides what happens between calls: one cycle of upkeep, and the daemon that runs it."""

from __future__ import annotations

from spector.sleep.cycle import (
    reflect_once,
)
from spector.sleep.daemon import (
    ReflectDaemon,
)

__all__ = [
    "ReflectDaemon",
    "reflect_once",
]
