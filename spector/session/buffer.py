"""The few entries that matter now in a session, and which of them are worth keeping.

The number nine is the upper bound of Miller's seven plus or minus two (Cognitive Memory v9). Of a
full buffer the entry with the lowest ``importance * exp(-age / 30 min) * (1 + 0.1 * accesses)``
goes; its age counts from its last access. 30 minutes are an e-fold, not a half-life.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any, Final

from spector.arguments import parse_integer, parse_number
from spector.clock import Clock, from_ms
from spector.config import ObserveConfig, SessionConfig
from spector.errors import InvalidInputError
from spector.language.words import compose, tokens
from spector.messages import shown, with_hints
from spector.providers import estimated_tokens
from spector.records import MemoryRecord

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
    """The entries of one session, at most ``SessionConfig.buffer_items``. Thread-safe."""

    def __init__(self, clock: Clock, config: SessionConfig) -> None:
        self._clock = clock
        self._config = config
        self._lock = threading.Lock()
        #: in the order in which they came
        self._entries: list[BufferEntry] = []

    def __repr__(self) -> str:
        return f"SessionBuffer({len(self._entries)} of {self._config.buffer_items})"

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
        config, now = self._config, from_ms(self._clock.now_ms())
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
            if len(entries) > config.buffer_items:
                # of equal scores the first, which is the oldest
                victim = min(entries, key=lambda each: each.score(now, config.buffer_scale_min))
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
        accesses = self._config.promote_accesses
        least = self._config.promote_importance - _ROUNDING
        return tuple(
            each
            for each in self._entries
            if each.access_count >= accesses or each.importance >= least
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


# A ring of the newest raw inputs of a session; the oldest makes room in constant time.


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


# Synaptic tags: a strong memory strengthens the weak ones stored shortly before it.
#
# After Frey and Morris (1997), as Cognitive Memory v9 has it. What is stored with an importance below
# 0.5 is tagged for four hours; what is stored with 0.7 or more captures the living tags of its
# session, each once: their memories' stability grows by 1.3. Tags die with their session.


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
    """The tags of one session. Thread-safe."""

    def __init__(self, clock: Clock, session_id: str, config: ObserveConfig) -> None:
        self._clock = clock
        self._session_id = session_id
        #: importance of weak memories, and of strong ones
        self._below = config.tag_below - _ROUNDING
        self._from = config.capture_from - _ROUNDING
        self._ttl = timedelta(seconds=config.tag_ttl_s)
        #: of the stability of a captured memory
        self.factor = config.capture_factor
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


# What contexts of a session have quoted, so that it is not observed as if it were new.
#
# Recalled text that is stored again multiplies: an agent reads it back, and it is recalled once more.

#: wordings that are kept; the oldest goes
_MOST: Final = 4096
#: texts that a retelling is compared with
_MOST_SAID: Final = 256
_BLOCK: Final = re.compile(r"<memories>.*?(?:</memories>|\Z)", re.DOTALL)
#: a quoted line of a context, by itself: its words are a JSON string
_LINE: Final = re.compile(r'^- (?:[^"\n]*: )?("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_PART: Final = re.compile(r"(?<=[.!?:\u2026])\s+|\n+")

#: an agent says "you" of what its user said with "I"
_PERSONS: Final = {
    "you": "i",
    "me": "i",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
    "are": "am",
    "re": "m",
    "were": "was",
}

_Words = tuple[str, ...]


class Echoes:
    """The wordings that a session has quoted, whole texts and their sentences. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: memory -> its words
        self._said: OrderedDict[int, str] = OrderedDict()
        #: words -> (the memory that they are of, the dates that its text names)
        self._known: OrderedDict[_Words, tuple[int, frozenset[str]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def note(self, records: Iterable[MemoryRecord]) -> None:
        """Remember that memories were quoted."""
        for each in records:
            said = getattr(each, "said", each.text)
            notes = getattr(each, "notes", ())
            dates = frozenset(str(note.value) for note in notes if note.kind == "date")
            texts = dict.fromkeys((each.text, said))
            found = [_key(part) for text in texts for part in (text, *_sentences(text))]
            with self._lock:
                self._said[each.id] = said
                self._said.move_to_end(each.id)
                while len(self._said) > _MOST_SAID:
                    self._said.popitem(last=False)
                for key in filter(None, found):
                    self._known[key] = (each.id, dates)
                    self._known.move_to_end(key)
                while len(self._known) > _MOST:
                    self._known.popitem(last=False)

    def rest(
        self, text: str, dates: Collection[str] | None = None, *, loosely: bool = False
    ) -> str:
        """What a text says beside what was quoted; the text itself where nothing was.

        Blocks of a context are left out, and sentences that are quoted word for word.

        Args:
            dates: the dates that the text names; where one of the quoted memory is missing, it is
                another text ("tomorrow" a day later). None does not compare them.
            loosely: also clauses that have only words of one quoted text: an agent retells.
        """
        if not self._known or self._holds(_key(text), dates):
            return "" if self._known else text
        worth = import_module("spector.language.worth")  # reads language: not before it is needed
        with self._lock:
            said = list(self._said.values()) if loosely else []
        rest: str = worth.without(
            _without_quotes(text), lambda each: self._holds(_key(each), dates), _PART
        )
        if said and any(map(str.isalnum, rest)):
            rest = worth.without_repeats(rest, [worth.Wording(each, 0) for each in said])
        return rest

    def erase(self, ids: Collection[int]) -> int:
        """Drop the wordings of forgotten memories; returns how many."""
        with self._lock:
            gone = [key for key, (memory, _) in self._known.items() if memory in ids]
            for key in gone:
                del self._known[key]
            for memory in ids:
                self._said.pop(memory, None)
            return len(gone)

    def _holds(self, key: _Words, dates: Collection[str] | None) -> bool:
        found = self._known.get(key)
        if found is None:
            return False
        return not dates or found[1] <= frozenset(dates)


def _key(text: str) -> _Words:
    words = (each.text for each in tokens(compose(text)) if not each.sign)
    return tuple(_PERSONS.get(each, each) for each in words)


def _sentences(text: str) -> list[str]:
    return _PART.split(text)


def _without_quotes(text: str) -> str:
    """A text without the blocks and lines of contexts."""
    rest = _LINE.sub(lambda found: "" if _is_json(found.group(1)) else found.group(), text)
    return _BLOCK.sub("", rest)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
