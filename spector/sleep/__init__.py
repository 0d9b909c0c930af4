"""Decides what happens between calls: cycles of sleep and upkeep, and the daemon that runs them."""

from __future__ import annotations

from spector.sleep.condensing import Condenser, Tools
from spector.sleep.daemon import ReflectDaemon, WriteSignal
from spector.sleep.sleeper import Sleeper
from spector.sleep.worker import ConceptWorker

__all__ = [
    "ConceptWorker",
    "Condenser",
    "ReflectDaemon",
    "Sleeper",
    "Tools",
    "WriteSignal",
]
