"""Decides what becomes of a message: which memories it makes, changes or strengthens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.observe.analysis import Analyst
    from spector.observe.gate import Comparer
    from spector.observe.importance import Rater
    from spector.observe.judges import Judges
    from spector.observe.observer import Observer
    from spector.observe.observing import Observing
    from spector.observe.settling import Settler


__getattr__ = on_first_use(__name__)
