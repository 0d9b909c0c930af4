"""Decides what happens between calls: cycles of sleep and upkeep, and the daemon that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.sleep.condensing import Condenser, Tools
    from spector.sleep.daemon import ConceptWorker, ReflectDaemon, WriteSignal
    from spector.sleep.sleeper import Sleeper


__getattr__ = on_first_use(__name__)
