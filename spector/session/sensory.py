"""A ring of the newest raw inputs of a session; the oldest makes room in constant time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spector.clock import Clock, from_ms
from spector.errors import InvalidInputError
from spector.messages import shown, with_hints
from spector.providers import estimated_tokens

__all__ = ["SensoryBuffer", "SensoryEntry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SensoryEntry:
    """One raw input, as it came."""

    #: unique within its session
    entry_id: str
    content: str
    #: where it came from: "user", "assistant", "tool", or a name of the caller's
    source: str
    modality: str = "text"
    timestamp: datetime

    def __repr__(self) -> str:
        return f"SensoryEntry({self.entry_id!r}, source={self.source!r}, {shown(self.content)})"

    @property
    def token_estimate(self) -> int:
        """Tokens of the content, rather high than low."""
        return estimated_tokens(self.content)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "entry_id": self.entry_id,
            "content": self.content,
            "source": self.source,
            "modality": self.modality,
            "timestamp": self.timestamp.isoformat(),
            "token_estimate": self.token_estimate,
        }


@with_hints
class SensoryBuffer:
    """The newest raw inputs, at most ``capacity``. Thread-safe (UCMA, chapter 9).

    Args:
        name: prefix of the entries' ids.
    """

    def __init__(self, capacity: int, clock: Clock, name: str = "") -> None:
        self._clock = clock
        self._name = name
        self._lock = threading.Lock()
        self._entries: deque[SensoryEntry] = deque(maxlen=capacity)
        self._total = 0

    def __repr__(self) -> str:
        return f"SensoryBuffer(size={self.size}, total_ingested={self.total_ingested})"

    def ingest(self, content: str, *, source: str, modality: str = "text") -> SensoryEntry:
        """Keep one input; of a full ring the oldest is dropped.

        Raises:
            InvalidInputError: an argument is no text.
        """
        for name, value in (("content", content), ("source", source), ("modality", modality)):
            if not isinstance(value, str):
                raise InvalidInputError(
                    f"{name} must be a str, got {type(value).__name__}", hint="pass a text"
                )
        now = from_ms(self._clock.now_ms())
        with self._lock:
            self._total += 1
            entry = SensoryEntry(
                entry_id=f"{self._name}#{self._total}",
                content=content,
                source=source,
                modality=modality,
                timestamp=now,
            )
            self._entries.append(entry)
        return entry

    def drain(self) -> list[SensoryEntry]:
        """All entries, oldest first; the ring is empty afterwards, and none is lost."""
        with self._lock:
            entries, self._entries = self._entries, deque(maxlen=self._entries.maxlen)
        return list(entries)

    @property
    def size(self) -> int:
        """How many entries there are now."""
        return len(self._entries)

    @property
    def total_ingested(self) -> int:
        """How many there have ever been."""
        return self._total

    def erase(self, entry_ids: Collection[str], texts: Collection[str]) -> int:
        """Drop some entries, and those that have one of some texts; returns how many."""
        with self._lock:
            kept = [
                each
                for each in self._entries
                if each.entry_id not in entry_ids
                and not any(text in each.content for text in texts)
            ]
            count = len(self._entries) - len(kept)
            self._entries = deque(kept, maxlen=self._entries.maxlen)
            return count
