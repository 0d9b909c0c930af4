"""What one session knows for the time being; nothing of it is on disk.

The steps of observing read it and write to it: who was named, which texts a context has quoted,
what was said last, the mood, the tags of weak memories.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, get_args

from spector._types import F32
from spector.arguments import parse_choice, parse_number
from spector.clock import Clock, from_ms
from spector.config import Config, SessionConfig
from spector.errors import InvalidInputError
from spector.messages import shown, with_hints
from spector.providers import TokenCounter
from spector.records import MemoryRecord, SessionReport
from spector.session.buffer import Echoes, SensoryBuffer, SessionBuffer, SynapticTags

#: ids -> the vectors of those memories that have one
VectorsOf = Callable[[Sequence[int]], Mapping[int, F32]]

#: messages whose vectors attention looks at, beside the buffer
_MESSAGES: Final = 3
#: valence from which a message sets the mood, and how long a mood lasts
_MOOD_FROM: Final = 0.2
_MOOD_MS: Final = 30 * 60_000
#: inputs that are remembered as the source of memories
_MOST_SOURCES: Final = 4096


class SessionKey(NamedTuple):
    """What a session is known by: sessions with other keys share nothing."""

    user_id: str | None
    agent_id: str | None
    session_id: str


class SessionState:
    """The volatile state of one session. Thread-safe.

    Attributes:
        referents: who was named, as the resolver of references left it; None before any.
        previous: ids of the memories that the message before was stored as.
        off_record: until when nothing is kept: "answer" of the agent, "session"; None for now on.
        speaker: how the talk names the user; None where it does not.
        said: speaker -> the last memory of what he said.
        observed: messages that were observed.
    """

    def __init__(
        self,
        key: SessionKey,
        *,
        clock: Clock,
        config: Config,
        counter: TokenCounter,
        vectors_of: VectorsOf,
        lasts: Callable[[str], bool],
    ) -> None:
        session = config.session
        self.key = key
        self.clock = clock
        self.idle_ms = round(session.idle_s * 1000)
        self.started_at = from_ms(clock.now_ms())
        self.used_ms = clock.now_ms()
        self.sensory = SensoryBuffer(session.sensory_capacity, clock, key.session_id)
        self.buffer = SessionBuffer(clock, session)
        self.zones = Zones(clock, counter, session)
        self.tags = SynapticTags(clock, key.session_id, config.observe)
        self.referents: Any = None
        self.previous: tuple[int, ...] = ()
        self.off_record: str | None = None
        self.speaker: str | None = None
        self.said: dict[str, int] = {}
        self.observed = 0
        #: held by what ends the session
        self.ending = threading.RLock()
        #: what its end has done; None while it lives
        self.report: SessionReport | None = None
        self.counter = counter
        self.staging_tokens = session.staging_tokens
        self._echoes = Echoes()
        self._vectors_of = vectors_of
        self._lasts = lasts
        self._vectors: dict[int, F32] = {}
        self._messages: deque[F32] = deque(maxlen=_MESSAGES)
        self._mood: tuple[float, int] | None = None
        #: memory -> entry of the sensory buffer that it was made from
        self._sources: dict[int, str] = {}

    def count_by(self, counter: TokenCounter) -> None:
        """Count the tokens of the zones by another counter."""
        self.counter = counter
        self.zones.count_by(counter)

    @property
    def is_idle(self) -> bool:
        """Whether it was last used too long ago to go on."""
        return self.clock.now_ms() - self.used_ms >= self.idle_ms

    def use(self) -> None:
        """Note that it is used now."""
        self.used_ms = self.clock.now_ms()

    # -- what was said ----------------------------------------------------------------------------

    def note_message(self, vector: F32 | None, valence: float | None = None) -> None:
        """Note the vector of a message, and the valence of a user's."""
        self.observed += 1
        if vector is not None:
            self._messages.append(vector.copy())  # a view would keep its whole batch alive
        if valence is not None and abs(valence) >= _MOOD_FROM:
            self._mood = (valence, self.clock.now_ms())

    @property
    def mood(self) -> float | None:
        """Valence of the last message of a user that had any; None after 30 minutes."""
        found = self._mood
        if found is None or self.clock.now_ms() - found[1] >= _MOOD_MS:
            return None
        return found[0]

    @property
    def attention_vectors(self) -> list[F32]:
        """Vectors of the buffer's memories and of the last three messages."""
        ids = [each.id for each in self.buffer.entries if each.id is not None]
        missing = [each for each in ids if each not in self._vectors]
        known = {**self._vectors, **self._vectors_of(missing)} if missing else self._vectors
        self._vectors = {each: known[each] for each in ids if each in known}
        return [*self._vectors.values(), *self._messages]

    # -- what was stored and recalled -------------------------------------------------------------

    def note_stored(
        self,
        record: MemoryRecord,
        vector: F32 | None = None,
        *,
        entry_id: str | None = None,
        tags: bool = True,
    ) -> bool:
        """Note that a memory was stored through the session; says whether it is tagged.

        Args:
            vector: of the memory, if it is at hand.
            entry_id: the entry of the sensory buffer that it was made from.
            tags: False for memories of volatile tiers, which are never tagged.
        """
        self.buffer.add(
            record.id,
            record.text,
            importance=_share(record.importance),
            access_count=record.access_count,
            lasts=self._lasts(record.tier),
        )
        if vector is not None:
            self._vectors[record.id] = vector.copy()
        if entry_id is not None:
            self._sources[record.id] = entry_id
            while len(self._sources) > _MOST_SOURCES:
                del self._sources[next(iter(self._sources))]
        return tags and self.tags.note_stored(record.id, record.importance)

    def note_skipped(self, text: str, importance: float) -> None:
        """Note what was not worth a memory; the session may still find that it is."""
        self.buffer.add(None, text, importance=_share(importance))

    def note_recalled(self, records: Sequence[MemoryRecord]) -> None:
        """Add memories that came to mind to the buffer, or count an access of them there.

        Repeating them says nothing new.
        """
        self._echoes.note(records)
        count_access = self.buffer.touch
        for each in records:
            if not count_access(each.id):
                self.buffer.add(
                    each.id,
                    each.text,
                    importance=_share(each.importance),
                    lasts=self._lasts(each.tier),
                )

    def note_quoted(self, records: Sequence[MemoryRecord]) -> None:
        """Note that a context quoted memories: repeating them says nothing new."""
        self._echoes.note(records)

    def rest_of(
        self, text: str, dates: Collection[str] | None = None, *, loosely: bool = False
    ) -> str:
        """What a text says beside what the session has quoted; see `Echoes.rest`."""
        return self._echoes.rest(text, dates, loosely=loosely)

    # -- the end ----------------------------------------------------------------------------------

    def erase(self, ids: Collection[int], texts: Collection[str]) -> int:
        """Drop what the session has of forgotten memories; returns how many pieces."""
        entries = {self._sources.pop(each) for each in ids if each in self._sources}
        for each in ids:
            self._vectors.pop(each, None)
        self.previous = tuple(each for each in self.previous if each not in ids)
        self.said = {who: each for who, each in self.said.items() if each not in ids}
        found = [
            self.buffer.erase(ids, texts),
            self.zones.erase(ids, texts),
            self.tags.erase(ids),
            self.sensory.erase(entries, texts),
            self._echoes.erase(ids),
        ]
        if any(found):
            self._messages.clear()
            self.referents = None
        return sum(found)

    def finish(self, promoted: Sequence[int], dropped: int) -> None:
        """Note the end, and drop everything."""
        tags, now = self.tags, from_ms(self.clock.now_ms())
        tags.drop_expired()
        self.report = SessionReport(
            session_id=self.key.session_id,
            promoted=tuple(promoted),
            dropped=dropped,
            tags_captured=tags.captured,
            tags_expired=tags.expired,
            observed=self.observed,
            elapsed_s=(now - self.started_at).total_seconds(),
        )
        self.clear()

    def clear(self) -> None:
        """Drop everything that was said and stored."""
        self.buffer.clear()
        self.sensory.drain()
        for zone in ("system", "active", "staging"):
            self.zones.clear(zone)
        self.tags.erase([each.memory_id for each in self.tags.tags])
        self._echoes = Echoes()
        self._messages.clear()
        self._vectors, self._sources, self._mood = {}, {}, None
        self.referents, self.previous, self.said = None, (), {}

    def stats(self) -> dict[str, Any]:
        """Figures of the session, JSON-ready."""
        return {
            "session_id": self.key.session_id,
            "user_id": self.key.user_id,
            "agent_id": self.key.agent_id,
            "started_at": self.started_at.isoformat(),
            "used_at": from_ms(self.used_ms).isoformat(),
            "observed": self.observed,
            "sensory": {"size": self.sensory.size, "total_ingested": self.sensory.total_ingested},
            "buffer": len(self.buffer),
            "zones": self.zones.usage(),
            "mood": self.mood,
            "tags": {
                "live": len(self.tags),
                "captured": self.tags.captured,
                "expired": self.tags.expired,
            },
        }


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


# Three token budgets of a prompt: what always holds, what is worked on, what was just recalled.
#
# ``system`` never evicts. In ``active`` and ``staging`` the item with the lowest
# ``0.7 * importance + 0.3 / (1 + hours since its last access)`` makes room (UCMA, chapter 10).

Zone = Literal["system", "active", "staging"]
_ZONES: Final[tuple[Zone, ...]] = get_args(Zone)
ItemId = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneItem:
    """An item of a zone, and the tokens that it takes."""

    item_id: ItemId
    content: str
    zone: Zone
    importance: float
    tokens: int
    added_at: datetime
    last_accessed: datetime

    def __repr__(self) -> str:
        return f"ZoneItem({self.item_id!r}, {self.zone}, {self.tokens} tokens)"


@with_hints
class Zones:
    """Items of a prompt in three zones, each within its budget of tokens. Thread-safe."""

    def __init__(self, clock: Clock, counter: TokenCounter, config: SessionConfig) -> None:
        self._clock = clock
        self._counter = counter
        self._config = config
        self._budgets: dict[Zone, int] = {
            "system": config.system_tokens,
            "active": config.active_tokens,
            "staging": config.staging_tokens,
        }
        self._lock = threading.Lock()
        self._items: dict[ItemId, ZoneItem] = {}

    def __repr__(self) -> str:
        used = ", ".join(f"{zone} {int(of['used'])}" for zone, of in self.usage().items())
        return f"Zones({used})"

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._items

    def count_by(self, counter: TokenCounter) -> None:
        """Count tokens by another counter, those of the items that are there, too."""
        counts = {key: counter(each.content) for key, each in list(self._items.items())}
        with self._lock:
            self._counter = counter
            for key, tokens in counts.items():
                if key in self._items:
                    self._items[key] = replace(self._items[key], tokens=tokens)

    def add(self, item_id: ItemId, content: str, zone: Zone, importance: float) -> bool:
        """Put an item into a zone, or change one; others of the zone make room for it.

        A known id is changed: its words, its importance and its zone.

        Returns:
            False when it does not fit: it is larger than the zone, or the zone is ``system`` and
            full. Then nothing was evicted, and an item with this id is as it was.

        Raises:
            InvalidInputError: naming the argument.
        """
        item_id, zone = _item_id(item_id), parse_choice(zone, "zone", *_ZONES)
        if not isinstance(content, str):
            raise InvalidInputError(
                f"content must be a str, got {type(content).__name__}", hint="pass a text"
            )
        importance = parse_number(importance, "importance", 0.0, 1.0)
        tokens = self._counter(content)  # may be code of the caller: outside of the lock
        now = from_ms(self._clock.now_ms())
        with self._lock:
            old = self._items.get(item_id)
            victims = self._victims(item_id, zone, tokens, now)
            if victims is None:
                return False
            for each in victims:
                del self._items[each]
            self._items[item_id] = ZoneItem(
                item_id=item_id,
                content=content,
                zone=zone,
                importance=importance,
                tokens=tokens,
                added_at=now if old is None else old.added_at,
                last_accessed=now,
            )
            return True

    def get(self, item_id: ItemId) -> ZoneItem | None:
        """An item by its id, or None. Counts as an access."""
        now = from_ms(self._clock.now_ms())
        with self._lock:
            found = self._items.get(_item_id(item_id))
            if found is not None:
                found = self._items[found.item_id] = replace(found, last_accessed=now)
            return found

    def remove(self, item_id: ItemId) -> bool:
        """Take out an item; False when there is none."""
        with self._lock:
            return self._items.pop(_item_id(item_id), None) is not None

    def clear(self, zone: str) -> int:
        """Empty a zone; returns how many items it had."""
        zone = parse_choice(zone, "zone", *_ZONES)
        with self._lock:
            kept = {key: each for key, each in self._items.items() if each.zone != zone}
            count, self._items = len(self._items) - len(kept), kept
            return count

    def items(self, zone: str) -> tuple[ZoneItem, ...]:
        """The items of a zone, the most important first."""
        zone = parse_choice(zone, "zone", *_ZONES)
        found = [each for each in list(self._items.values()) if each.zone == zone]
        return tuple(sorted(found, key=lambda each: -each.importance))

    def render(self) -> str:
        """All items as one text: zones in order with a blank line between, one item a line.

        Within a zone the most important come first; empty zones are left out.
        """
        blocks = ["\n".join(each.content for each in self.items(zone)) for zone in _ZONES]
        return "\n\n".join(block for block in blocks if block)

    def usage(self) -> dict[str, dict[str, float]]:
        """Tokens used, the budget, and the percentage of it, by zone."""
        out: dict[str, dict[str, float]] = {}
        for zone in _ZONES:
            used, budget = sum(each.tokens for each in self.items(zone)), self._budgets[zone]
            percent = round(100.0 * used / budget, 1) if budget else 0.0
            out[zone] = {"used": used, "budget": budget, "pct": percent}
        return out

    def erase(self, ids: Collection[int], texts: Collection[str] = ()) -> int:
        """Take out the items of some memories, or with some texts; returns how many."""
        with self._lock:
            gone = [
                key
                for key, each in self._items.items()
                if key in ids or any(text in each.content for text in texts)
            ]
            for key in gone:
                del self._items[key]
            return len(gone)

    def _victims(
        self, item_id: ItemId, zone: Zone, tokens: int, now: datetime
    ) -> list[ItemId] | None:
        """The items that make room for one, lowest score first; None when it cannot fit."""
        budget = self._budgets[zone]
        if tokens > budget:
            return None
        others = [e for e in self._items.values() if e.zone == zone and e.item_id != item_id]
        excess = sum(each.tokens for each in others) + tokens - budget
        if excess <= 0:
            return []
        if zone == "system":
            return None
        victims: list[ItemId] = []
        for each in sorted(others, key=lambda each: self._score(each, now)):
            if excess <= 0:
                break
            victims.append(each.item_id)
            excess -= each.tokens
        return victims

    def _score(self, item: ZoneItem, now: datetime) -> float:
        """What keeps an item in its zone; the lowest score goes."""
        hours = max(0.0, (now - item.last_accessed).total_seconds() / 3600)
        config = self._config
        return config.zone_importance * item.importance + config.zone_recency / (1 + hours)


def _item_id(value: object) -> ItemId:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidInputError(
            f"item_id must be a str or an int, got {shown(value)}",
            hint="pass a name of yours, or the id of a memory",
        )
    return value
