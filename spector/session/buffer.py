"""The few entries that matter now in a session, and which of them are worth keeping.

The number nine is the upper bound of Miller's seven plus or minus two (Cognitive Memory v9). Of a
full buffer the entry with the lowest ``importance * exp(-age / 30 min) * (1 + 0.1 * accesses)``
goes; its age counts from its last access. 30 minutes are an e-fold, not a half-life.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from spector.arguments import parse_integer, parse_number
from spector.clock import Clock, from_ms
from spector.errors import InvalidInputError
from spector.messages import shown, with_hints

__all__ = ["BufferEntry", "SessionBuffer"]

#: what one access adds to the score
_PER_ACCESS = 0.1
#: strengths are stored with 24 bits: 0.6 may come back as 0.59999996
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferEntry:
    """One entry of a session's buffer; ``id`` is None for what no memory has.

    What ``lasts`` is a memory on disk: it lives and ends there, whatever process ends it.
    """

    id: int | None
    text: str
    importance: float
    access_count: int = 0
    added_at: datetime
    last_accessed: datetime
    lasts: bool = False

    def __repr__(self) -> str:
        return f"BufferEntry(id={self.id}, importance={self.importance:g}, {shown(self.text)})"

    def score(self, now: datetime, scale_min: float) -> float:
        """What keeps it in the buffer at a moment; the lowest score goes."""
        age_min = max(0.0, (now - self.last_accessed).total_seconds() / 60)
        decay = math.exp(-age_min / scale_min)
        return self.importance * decay * (1 + _PER_ACCESS * self.access_count)


@with_hints
class SessionBuffer:
    """At most ``capacity`` entries of one session. Thread-safe.

    Args:
        scale_min: minutes in which the recency of an entry falls to 1/e.
        promote_accesses, promote_importance: either makes an entry worth keeping.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        capacity: int,
        scale_min: float,
        promote_accesses: int,
        promote_importance: float,
    ) -> None:
        self._clock = clock
        self._capacity = capacity
        self._scale_min = scale_min
        self._accesses = promote_accesses
        self._importance = promote_importance
        self._lock = threading.Lock()
        #: in the order in which they came
        self._entries: list[BufferEntry] = []

    def __repr__(self) -> str:
        return f"SessionBuffer({len(self._entries)} of {self._capacity})"

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[BufferEntry, ...]:
        """The entries in the order in which they came."""
        return tuple(self._entries)

    def add(
        self,
        id: int | None,
        text: str,
        *,
        importance: float,
        access_count: int = 0,
        lasts: bool = False,
    ) -> bool:
        """Put in an entry; of a full buffer the one with the lowest score goes.

        A known id is updated in place, and nothing goes.

        Returns:
            False when the new entry itself has the lowest score: then nothing changes.

        Raises:
            InvalidInputError: naming the argument.
        """
        if id is not None:
            id = parse_integer(id, "id", 0)
        if not isinstance(text, str):
            raise InvalidInputError(
                f"text must be a str, got {type(text).__name__}", hint="pass the words to keep"
            )
        importance = parse_number(importance, "importance", 0.0, 1.0)
        access_count = parse_integer(access_count, "access_count", 0)
        now = from_ms(self._clock.now_ms())
        new = BufferEntry(
            id=id,
            text=text,
            importance=importance,
            access_count=access_count,
            added_at=now,
            last_accessed=now,
            lasts=lasts,
        )
        with self._lock:
            at = self._place_of(id)
            if at is not None:
                known = self._entries[at]
                self._entries[at] = replace(
                    known,
                    text=text,
                    importance=importance,
                    last_accessed=now,
                    access_count=max(known.access_count, access_count),
                    lasts=lasts,
                )
                return True
            entries = [*self._entries, new]
            if len(entries) > self._capacity:
                # of equal scores the first, which is the oldest
                victim = min(entries, key=lambda each: each.score(now, self._scale_min))
                entries = [each for each in entries if each is not victim]
            self._entries = entries
            return entries[-1] is new

    def touch(self, id: int) -> bool:
        """Count an access of the entry with an id, now; False when there is none."""
        now = from_ms(self._clock.now_ms())
        with self._lock:
            at = self._place_of(id)
            if at is None:
                return False
            known = self._entries[at]
            self._entries[at] = replace(
                known, access_count=known.access_count + 1, last_accessed=now
            )
            return True

    def promotion_candidates(self) -> tuple[BufferEntry, ...]:
        """Entries worth keeping: accessed twice or more, or of importance 0.6 or more."""
        least = self._importance - _ROUNDING
        return tuple(
            each
            for each in self._entries
            if each.access_count >= self._accesses or each.importance >= least
        )

    def clear(self) -> int:
        """Drop all entries; returns how many there were."""
        with self._lock:
            count, self._entries = len(self._entries), []
            return count

    def erase(self, ids: Collection[int], texts: Collection[str] = ()) -> int:
        """Drop the entries of some ids, or with some texts; returns how many."""
        with self._lock:
            kept = [
                each
                for each in self._entries
                if each.id not in ids and each.text.strip() not in texts
            ]
            count, self._entries = len(self._entries) - len(kept), kept
            return count

    def _place_of(self, id: int | None) -> int | None:
        if id is None:
            return None
        return next((n for n, each in enumerate(self._entries) if each.id == id), None)
