"""The live sessions of one memory: found by their key, ended when idle, asked, or at its close."""

from __future__ import annotations

import contextlib
import logging
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from spector._types import F32
from spector.clock import Clock
from spector.config import Config
from spector.errors import SpectorError, StoreClosedError, UnknownRecordError
from spector.layout import HEADER_BYTES
from spector.providers import TokenCounter
from spector.records import MemoryRecord, SessionReport
from spector.session.buffer import BufferEntry
from spector.session.state import SessionKey, SessionState
from spector.store.catalog import ANYBODY, count_by_user
from spector.store.core import header_of
from spector.store.erasure import may_be_gone, memories_of, users_gone
from spector.tiers import Finder, TierRouter
from spector.write import Changer, Forgetter, Manner, Writer, growing

_log = logging.getLogger("spector.sessions")
#: milliseconds of the memory's clock between two looks for idle sessions
_SWEEP_MS = 60_000


class Handle(Protocol):
    """What a caller has of a session."""

    state: SessionState


class Sessions:
    """The sessions of one memory, in this process. Thread-safe.

    It keeps what sessions know, and refers to the objects of callers weakly: a session keeps its
    memory open, and not the other way round.
    """

    def __init__(self, clock: Clock, config: Config, tools: Keeping) -> None:
        self._clock = clock
        self._config = config
        #: what sessions may do to the store
        self.tools = tools
        #: best hits of a recall that enter the buffer, and usually the zone ``staging``
        self.staged = config.session.stage
        self._lock = threading.RLock()
        self._states: dict[SessionKey, SessionState] = {}
        self._handles: weakref.WeakValueDictionary[SessionKey, Handle] = (
            weakref.WeakValueDictionary()
        )
        self._swept_ms = clock.now_ms()
        self._closed = False
        #: figures of sessions that have ended
        self._ended = 0

    def __len__(self) -> int:
        return len(self._states)

    def state(self, key: SessionKey, counter: TokenCounter) -> SessionState:
        """The state of a session, made if there is none.

        Raises:
            StoreClosedError: the memory is closed.
        """
        self.sweep()
        self._heed()
        with self._lock:
            if self._closed:
                raise StoreClosedError(
                    "the memory of this session was closed", hint="open it again with spector.open"
                )
            found = self._states.get(key)
            if found is not None and not found.is_idle:
                found.use()
                return found
        if found is not None:
            self._end_quietly(found)
        with self._lock:
            made = SessionState(
                key,
                clock=self._clock,
                config=self._config,
                counter=counter,
                vectors_of=self.tools.vectors_of,
                lasts=self.tools.lasts,
            )
            return self._states.setdefault(key, made)

    def handle(self, state: SessionState, make: Callable[[], Handle]) -> Any:
        """The object of a session: the one that a caller still has, or a new one."""
        with self._lock:
            found = self._handles.get(state.key)
            if found is None or found.state is not state:
                found = self._handles[state.key] = make()
            return found

    def states(self) -> list[SessionState]:
        """The live sessions in the order in which they began."""
        self.sweep(at_once=True)
        return self._all()

    def _all(self) -> list[SessionState]:
        with self._lock:
            return list(self._states.values())

    def end(self, state: SessionState) -> SessionReport:
        """End a session: keep what is worth keeping, drop the rest; see `Session.end`.

        Raises:
            SpectorError: an entry could not be kept; the session has ended all the same.
        """
        with state.ending:
            if state.report is not None:
                return state.report
            promoted: list[int] = []
            volatile: list[BufferEntry] = []
            try:
                if self.tools.may_write() and self._volatile(state):
                    with self.tools.exclusive():
                        self._heed()
                        volatile += self._volatile(state)
                        self._promote(state, volatile, promoted)
                else:
                    volatile += self._volatile(state)
            finally:
                with self._lock:
                    if self._states.get(state.key) is state:
                        del self._states[state.key]
                    self._ended += 1
                state.finish(promoted, len(volatile) - len(promoted))
            assert state.report is not None
            return state.report

    def _volatile(self, state: SessionState) -> list[BufferEntry]:
        """Entries that no lasting memory has."""
        entries = [each for each in state.buffer.entries if not each.lasts]
        lasting = self.tools.lasting([each.id for each in entries if each.id is not None])
        return [each for each in entries if each.id not in lasting]

    def _promote(
        self, state: SessionState, volatile: Sequence[BufferEntry], promoted: list[int]
    ) -> None:
        """Make lasting memories of the entries that are worth it; one failure spares the others."""
        worth = state.buffer.promotion_candidates()
        failure: SpectorError | None = None
        done: set[str] = set()
        for entry in volatile:
            words = entry.text.strip()
            if entry not in worth or not words or words in done:
                continue
            try:
                record = self.tools.promote(entry, state.key)
            except SpectorError as error:
                error.add_note(f"session {state.key.session_id} could not keep {words[:60]!r}")
                failure = failure or error
                continue
            promoted.append(record.id)
            done.add(words)
        if failure is not None:
            raise failure

    def sweep(self, *, at_once: bool = False) -> None:
        """End the sessions that were not used for too long."""
        now_ms = self._clock.now_ms()
        if not at_once and abs(now_ms - self._swept_ms) < _SWEEP_MS:
            return
        self._swept_ms = now_ms
        for each in self._all():
            if each.is_idle:
                self._end_quietly(each)

    def close(self, *, keep: bool = True) -> None:
        """End all sessions; no new one begins.

        Args:
            keep: False drops them with all that they have, as a kill would.

        Raises:
            SpectorError: an entry could not be kept; all sessions have ended all the same.
        """
        with self._lock:
            self._closed, states = True, list(self._states.values())
        failure: SpectorError | None = None
        for each in states:
            if not keep:
                each.finish([], 0)
                continue
            try:
                self.end(each)
            except SpectorError as error:
                failure = failure or error
        with self._lock:
            self._states.clear()
        if failure is not None:
            raise failure

    def forget(self, ids: Collection[int], texts: Collection[str] = ()) -> int:
        """Drop what sessions have of forgotten memories; returns how many pieces."""
        return sum(each.erase(ids, texts) for each in self._all())

    def forget_whole(self, labels: Mapping[str, str]) -> None:
        """Drop all that sessions of a user, agent or id have."""
        for each in self._all():
            if labels.items() <= each.key._asdict().items():
                each.clear()

    def _heed(self) -> None:
        """Drop all of users that another process has forgotten."""
        users = {each.key.user_id for each in self._all() if each.key.user_id is not None}
        for each in self.tools.gone_users(users):
            self.forget_whole({"user_id": each})

    def drop_expired_tags(self) -> int:
        """Drop tags that are older than their life; returns how many were never captured."""
        return sum(each.tags.drop_expired() for each in self._all())

    def stats(self) -> Mapping[str, Any]:
        """Figures of all live sessions together, JSON-ready."""
        states = self._all()
        zones: dict[str, int] = {"system": 0, "active": 0, "staging": 0}
        for each in states:
            for zone, usage in each.zones.usage().items():
                zones[zone] += int(usage["used"])
        return {
            "live": len(states),
            "ended": self._ended,
            "sensory": {
                "size": sum(each.sensory.size for each in states),
                "total_ingested": sum(each.sensory.total_ingested for each in states),
            },
            "buffer": sum(len(each.buffer) for each in states),
            "tags": sum(len(each.tags) for each in states),
            "zones": zones,
        }

    def _end_quietly(self, state: SessionState) -> None:
        """End an idle session for a caller who has nothing to do with it."""
        with contextlib.suppress(SpectorError):
            try:
                self.end(state)
            except SpectorError:
                _log.exception("an idle session could not keep all that it should")
                raise


# What sessions do to the store: keep entries, strengthen tagged memories, read vectors.

#: fields of a memory of a volatile tier that its lasting copy gets
_COPIED = tuple(
    """tags metadata valid_from valid_until event_time role source confidence valence arousal pinned
    immutable unresolved category modality parents""".split()
)


@dataclass(slots=True, eq=False)
class Keeping:
    """What sessions may do to the store. Callers check that it may be written to.

    Attributes:
        seen: the notes on users who are gone that were heeded last.
        may_write: whether the memory may be written to.
        exclusive: a context in which no other thread or process writes to the store.
        wake: begins a cycle of sleep, if the daemon runs.
        interrupt: lets a cycle of the daemon end after its unit.
        associates: whether the session counts in a recall with some arguments.
    """

    router: TierRouter
    finder: Finder
    writer: Writer
    changer: Changer
    forgetter: Forgetter
    config: Config
    dim: int
    seen: tuple[str, ...]
    may_write: Callable[[], bool]
    exclusive: Callable[[], AbstractContextManager[object]]
    wake: Callable[[], None]
    interrupt: Callable[[], None]
    associates: Callable[[Mapping[str, Any]], bool]

    def lasts(self, tier: str) -> bool:
        """Whether memories of a tier are on disk."""
        return not self.router[tier].volatile

    def lasting(self, ids: Collection[int]) -> set[int]:
        """Those of some ids that are memories of a tier on disk."""
        out = set()
        for each in ids:
            with contextlib.suppress(UnknownRecordError):
                if not self.finder.locate(each)[2].volatile:
                    out.add(each)
        return out

    def gone_users(self, users: Collection[str]) -> set[str]:
        """Those of some users that another process has forgotten since the last call.

        What volatile tiers have of them goes.
        """
        durable, notes = self.router.durable_store(), self._notes()
        if notes == self.seen:
            return set()
        others = [each for each in self.router.stores() if each is not durable]
        here = {name for each in others for name, *_ in count_by_user(each.catalog, None)}
        gone = may_be_gone(durable, {*users, *here}, notes, self.seen)
        for user in gone & here:
            self.forgetter.forget_found(
                partial(memories_of, others, user), Manner(include_protected=True)
            )
        self.seen = notes
        return gone

    def _notes(self) -> tuple[str, ...]:
        """What processes that share the store have noted; empty where this one has it alone."""
        durable = self.router.durable_store()
        return () if durable.shared_for_s is None else users_gone(durable)

    def promote(self, entry: BufferEntry, key: SessionKey) -> MemoryRecord:
        """Make an episodic memory of an entry; a working memory of it moves there."""
        source = None
        if entry.id is not None:
            with contextlib.suppress(UnknownRecordError):  # the ring has overwritten it
                source = self.finder.get(entry.id, ANYBODY)
        fields: dict[str, Any] = {}
        if source is not None:
            fields = {name: getattr(source, name) for name in _COPIED}
        text = entry.text if source is None else source.text
        record = self.writer.remember(
            text,
            {
                **fields,
                **key._asdict(),
                "importance": entry.importance,
                "tier": "episodic",
            },
        )
        if source is not None:
            with contextlib.suppress(UnknownRecordError):
                self.forgetter.forget_ids([source.id], Manner(include_protected=True), ANYBODY)
        return record

    def strengthen(self, ids: Collection[int], factor: float) -> None:
        """Multiply the stability of those of some memories that live."""
        change = growing(factor, self.config.max_stability_days)
        living = sorted(self.lasting(ids))
        while living:
            try:
                self.changer.change(living, change)
            except UnknownRecordError:  # one was forgotten meanwhile
                fewer = sorted(self.lasting(living))
                if fewer == living:
                    raise
                living = fewer
            else:
                return

    def vectors_of(self, ids: Sequence[int]) -> dict[int, F32]:
        """The vectors of those of some memories that live and have one."""
        out: dict[int, F32] = {}
        for each in ids:
            with contextlib.suppress(UnknownRecordError):
                store, row, _ = self.finder.locate(each)
                image = store.record_image(row.segment_id, row.slot)
                scale = np.float32(header_of(image)["scale"])
                if scale:
                    codes = image[HEADER_BYTES : HEADER_BYTES + self.dim].view(np.int8)
                    out[each] = scale * codes.astype(np.float32)
        return out
