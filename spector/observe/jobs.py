"""Statements on their way to become memories, and what the stages share of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spector.observe.analysis import Analysis, Unit
from spector.observe.gate import Candidate
from spector.records import MemoryRecord, ObservedUnit
from spector.write import Ready

__all__ = ["Done", "Job", "Outside", "SessionMemory"]


class SessionMemory(Protocol):
    """What the stages read of a session, and write to it."""

    referents: Any
    previous: tuple[int, ...]

    @property
    def attention_vectors(self) -> Sequence[NDArray[np.float32]]: ...

    @property
    def tags(self) -> Any: ...

    @property
    def sensory(self) -> Any: ...

    def echoes(self, text: str, dates: Collection[str] | None = None) -> bool: ...
    def note_message(
        self, vector: NDArray[np.float32] | None, valence: float | None = None
    ) -> None: ...
    def note_stored(
        self, record: MemoryRecord, vector: NDArray[np.float32] | None = None, *,
        entry_id: str | None = None, tags: bool = True,
    ) -> bool: ...
    def note_skipped(self, text: str, importance: float) -> None: ...
    def erase(self, ids: Collection[int], texts: Collection[str]) -> int: ...


@dataclass(slots=True, kw_only=True)
class Outside:
    """What models outside have said of a statement; nothing in a store without one."""

    #: memory -> (kind, confidence); None where the rules relate
    relations: dict[int, tuple[str, float]] | None = None
    #: a second opinion on the importance
    importance: float | None = None
    #: memory -> the text that both make
    merged: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Job:
    """A statement that is about to become a memory, and what is known of it."""

    analysis: Analysis
    unit: Unit
    ready: Ready
    #: one for each fact that it states
    facts: Sequence[Ready] = ()
    #: memories that it may concern, of the moment before the commit
    candidates: Sequence[Candidate] = ()
    session: SessionMemory | None = None
    entry_id: str | None = None
    is_forced: bool = False
    outside: Outside = field(default_factory=Outside)

    @property
    def user_id(self) -> str | None:
        """Whose memory it will be."""
        return self.ready.draft.user_id


@dataclass(slots=True)
class Done:
    """What became of a statement."""

    unit: ObservedUnit
    reason: str = ""
    captured: tuple[int, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether a memory was made."""
        return self.unit.action in ("create", "supersede")
