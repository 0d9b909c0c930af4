

from __future__ import annotations

from spector.sleep.cycle import (
    ReflectDaemon,
    reflect_once,
)

__all__ = [
    "ReflectDaemon",
    "reflect_once",
]
