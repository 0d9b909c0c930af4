"""Decides what happens while nobody waits: one cycle of upkeep, and the daemon that runs it."""

from __future__ import annotations

from spector.sleep.cycle import (
    ReflectDaemon,
    reflect_once,
)

__all__ = [
    "ReflectDaemon",
    "reflect_once",
]
