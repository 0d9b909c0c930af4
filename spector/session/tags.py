"""Synaptic tags: a strong memory strengthens the weak ones stored shortly before it.

After Frey and Morris (1997), as Cognitive Memory v9 has it. What is stored with an importance below
0.5 is tagged for four hours; what is stored with 0.7 or more captures the living tags of its
session, each once: their memories' stability grows by 1.3. Tags die with their session.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from spector.clock import Clock, from_ms

__all__ = ["SynapticTag", "SynapticTags"]

#: strengths are stored with 24 bits: 0.7 comes back as 0.69999999
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class SynapticTag:
    """The mark of a weak memory; ``captured`` once a strong one has strengthened it."""

    memory_id: int
    tagged_at: datetime
    ttl: timedelta
    session_id: str
    captured: bool = False

    def is_alive(self, now: datetime) -> bool:
        """Whether a strong memory stored at a moment captures it."""
        return not self.captured and now - self.tagged_at < self.ttl


class SynapticTags:
    """The tags of one session. Thread-safe.

    Args:
        below, capture_from: importance of weak memories, and of strong ones.
        factor: of the stability of a captured memory.
    """

    def __init__(
        self,
        clock: Clock,
        session_id: str,
        *,
        below: float,
        capture_from: float,
        ttl_s: float,
        factor: float,
    ) -> None:
        self._clock = clock
        self._session_id = session_id
        self._below = below - _ROUNDING
        self._from = capture_from - _ROUNDING
        self._ttl = timedelta(seconds=ttl_s)
        self.factor = factor
        self._lock = threading.Lock()
        self._tags: dict[int, SynapticTag] = {}
        #: how many were ever captured, and have expired
        self.captured = 0
        self.expired = 0

    def __len__(self) -> int:
        return len(self._tags)

    @property
    def tags(self) -> tuple[SynapticTag, ...]:
        """The tags in the order in which they were made, captured ones included."""
        return tuple(self._tags.values())

    def due(self, importance: float) -> tuple[int, ...]:
        """The memories that one of some importance would capture now."""
        self.drop_expired()
        if importance < self._from:
            return ()
        now = from_ms(self._clock.now_ms())
        return tuple([each.memory_id for each in self.tags if each.is_alive(now)])

    def capture(self, importance: float) -> tuple[int, ...]:
        """Capture the tags that a memory of some importance captures now, and return their ids.

        The caller strengthens the memories by `factor`, or gives the tags back: `release`.
        """
        found = self.due(importance)
        with self._lock:
            won = [each for each in found if each in self._tags and not self._tags[each].captured]
            for each in won:
                self._tags[each] = replace(self._tags[each], captured=True)
            self.captured += len(won)
        return tuple(won)

    def release(self, ids: Collection[int]) -> None:
        """Undo `capture`: nothing was committed."""
        with self._lock:
            for each in ids:
                tag = self._tags.get(each)
                if tag is not None and tag.captured:
                    self._tags[each] = replace(tag, captured=False)
                    self.captured -= 1

    def note_stored(self, memory_id: int, importance: float) -> bool:
        """Tag a memory that was stored now, if it is weak; says whether it is tagged."""
        self.drop_expired()
        if importance >= self._below:
            return False
        tag = SynapticTag(
            memory_id=memory_id,
            tagged_at=from_ms(self._clock.now_ms()),
            ttl=self._ttl,
            session_id=self._session_id,
        )
        with self._lock:
            return self._tags.setdefault(memory_id, tag) is tag

    def drop_expired(self) -> int:
        """Drop what is older than its life; returns how many were never captured."""
        now = from_ms(self._clock.now_ms())
        with self._lock:
            old = [each for each in self._tags.values() if now - each.tagged_at >= each.ttl]
            for each in old:
                del self._tags[each.memory_id]
            count = sum(not each.captured for each in old)
            self.expired += count
            return count

    def erase(self, ids: Collection[int]) -> int:
        """Drop the tags of forgotten memories; returns how many."""
        with self._lock:
            gone = [each for each in ids if self._tags.pop(each, None) is not None]
            return len(gone)
