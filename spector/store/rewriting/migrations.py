"""Steps from one format to the next; there is one format so far, and so no step.

The catalog has the format of its store in ``format_version``, and every partition repeats it. A
later format than this code knows is refused, whatever the mode. An opening to write runs the steps
that lead on from an earlier one.

A step converts a store to the next format, all or nothing: one commit of the catalog sets the new
version together with everything that it implies. So a migration that is killed continues with the
next opening after the last finished step. There is no way back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from spector.store.core import Store

__all__ = ["STEPS", "Step", "next_step"]


@dataclass(frozen=True, slots=True)
class Step:
    """How a store of format ``before`` becomes one of format ``before + 1``."""

    before: int
    #: commits the new version together with what it means, or nothing
    run: Callable[[Store], object]


STEPS: Final[tuple[Step, ...]] = ()


def next_step(version: int, steps: tuple[Step, ...] = STEPS) -> Step | None:
    """The step that leads on from a format, if one does."""
    return next((step for step in steps if step.before == version), None)
