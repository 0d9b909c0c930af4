"""The word index of a store, kept up to date with its views from its catalog."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from spector.errors import CatalogCorruptError, StoreError
from spector.language.statements import (
    MemoryText,
    searched_words,
    speaker_in,
    without_dates,
    words_of,
)
from spector.language.words import fingerprint
from spector.layout import Flag
from spector.lexical import Extent, IndexImage, SlotEntry, WordIndex, WordView
from spector.records import TURNS_BEFORE, aliases_in, turn_before_in
from spector.store.catalog import Row
from spector.store.core import Store, View
from spector.store.partitions import Partition
from spector.store.words.files import WordFiles

#: as bytes: one damaged text must not keep all others from being found
_TEXTS: Final = (
    "SELECT record.id, segment_id, slot, event_ms, CAST(session_id AS BLOB),"
    " CAST(agent_id AS BLOB), CAST(user_id AS BLOB), CAST(text AS BLOB), CAST(role AS BLOB),"
    " CAST(metadata AS BLOB), CAST(source AS BLOB), mutable, seal"
    " FROM record JOIN content ON content.id = record.id {rest}"
)
#: texts that a save analyses at most to have them in the files
_MOST_TO_ANALYSE: Final = 20_000
_OF: Final = "\x1f"
#: keys of metadata that the words of a memory are indexed from
_INDEXED: Final = tuple(f'"{key}"' for key in ("aliases", "speaker", "name", *TURNS_BEFORE))
_MOST_SLOTS: Final = (1 << 31) - 1
_ROWS: Final = 1024
#: unreadable places of the catalog before it is given up
_MOST_FAILURES: Final = 2000


class Words:
    """Follows one store by a weak reference. Thread-safe."""

    def __init__(
        self,
        store: Store,
        *,
        mark: Callable[[MemoryText], int] | None = None,
        mark_version: int = 0,
    ) -> None:
        """
        Args:
            mark: what to keep of each memory from its text and speaker, see ``WordIndex``.
            mark_version: changes whenever ``mark`` may return something else.
        """
        # a writer's store has these words: a strong reference back would keep both, and all maps,
        # until the next garbage collection
        self._follows = weakref.ref(store)
        self._word_files = WordFiles(store, _mixed(fingerprint(), mark_version))
        self._kernel, self._key, self._mark = store.kernel, store.uuid, mark
        self._index = self._make_index()
        if store.writable:
            store.words = self

    def at(self, view: View) -> WordView:
        """The words of a view; call it inside the snapshot of the view.

        A store in memory has no snapshots: its catalog may be ahead of the view, and a memory that
        has moved meanwhile may be missing. Then ``Store.moves`` differs from the view's.
        """
        return self._index.follow(view.partitions, self._source())

    def drop_caches(self) -> None:
        """Give the memory of the index back. It begins anew when it is asked again."""
        self._word_files.forget()
        self._index = self._make_index()

    def follow(self, store: Store) -> None:
        """Take over what was committed, if this index was asked before."""
        if self._index.slots is not None:
            with contextlib.suppress(StoreError, MemoryError), store.snapshot() as view:
                self._index.follow(view.partitions, _Source(store))

    def save(self, store: Store) -> None:
        """Write what has changed, if that is worth it and not much is left to analyse.

        The store's lock is held, so the files are of the last commit and have nothing that was
        forgotten before.
        """
        # ``store`` is passed, because a garbage collection clears weak references first
        view, slots = store.view(), self._index.slots
        if not self._word_files.can_write or slots is None:
            return
        if sum(p.slots for p in view.partitions) - slots > _MOST_TO_ANALYSE:
            return
        with contextlib.suppress(StoreError, MemoryError):
            if not self._word_files.meet_others(view.partitions):
                return
            kept = self._index.image(view.partitions, _Source(store))
            alive = kept.columns["alive"]
            dead = int(np.count_nonzero(~alive))
            if self._word_files.is_worth_saving(len(alive), dead, kept):
                self._word_files.save(kept, view.partitions)

    def files_are_gone(self) -> None:
        self._word_files.forget()

    def _make_index(self) -> WordIndex:
        return WordIndex(
            self._kernel, self._key, mark=self._mark, saved=partial(_kept, self._word_files)
        )

    @property
    def _store(self) -> Store:
        store = self._follows()
        assert store is not None, "who asks for words has the store that they are of"
        return store

    def _source(self) -> _Source:
        return _Source(self._store)


def _kept(files: WordFiles, extents: Sequence[Extent]) -> IndexImage | None:
    return files.load([extent for extent in extents if isinstance(extent, Partition)])


def _mixed(fingerprint: int, version: int) -> int:
    """64 bits of both."""
    raw = fingerprint.to_bytes(8, "little") + version.to_bytes(8, "little", signed=True)
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little")


class _Source:
    """The catalog of a store, at the moment of this thread's snapshot."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._failures = 0

    def everything(self) -> Iterator[MemoryText]:
        try:
            yield from self._texts("ORDER BY record.id", ())
        except StoreError as error:
            if not self._is_passable(error):
                raise
            for segment_id, slots in self._partitions():
                yield from self.texts(segment_id, 0, slots)

    def texts(self, segment_id: int, first: int, stop: int) -> Iterator[MemoryText]:
        """The readable texts of some slots: a damaged page only costs the memories on it."""
        for start in range(first, stop, _ROWS):
            yield from self._readable(segment_id, start, min(start + _ROWS, stop))

    def _readable(self, segment_id: int, first: int, stop: int) -> Iterator[MemoryText]:
        place = (segment_id, first, stop)
        try:
            found = list(self._texts("WHERE segment_id = ? AND slot >= ? AND slot < ?", place))
        except StoreError as error:
            if not self._is_passable(error):
                raise
            if stop - first > 1:
                middle = (first + stop) // 2
                yield from self._readable(segment_id, first, middle)
                yield from self._readable(segment_id, middle, stop)
            return
        yield from found

    def _is_passable(self, error: StoreError) -> bool:
        """True to go on after damage, unless there is too much of it."""
        self._failures += 1
        code = getattr(error.__cause__, "sqlite_errorcode", None) or 0
        return self._failures <= _MOST_FAILURES and (
            isinstance(error, CatalogCorruptError) or code & 0xFF == sqlite3.SQLITE_IOERR
        )

    def _partitions(self) -> list[tuple[int, int]]:
        return [(row.id, row.slots) for row in self._store.catalog.segments()]

    def known(self, segment_id: int) -> Iterable[SlotEntry]:
        try:
            found = self._known("content", segment_id)
        except StoreError as error:
            if not self._is_passable(error):
                raise
            found = self._known("", segment_id)
        return [
            SlotEntry(record_id, slot, seal if _is_seal(seal) else None)
            for record_id, slot, seal, mutable in found
            if _is_place(slot) and not _has_no_text(mutable)
        ]

    def _known(self, sealed_by: str, segment_id: int) -> list[tuple[Any, ...]]:
        with self._store.catalog.reading() as connection:
            seal = "seal" if sealed_by else "NULL"
            join = "JOIN content ON content.id = record.id" if sealed_by else ""
            return connection.execute(
                f"SELECT record.id, slot, {seal}, mutable FROM record {join} WHERE segment_id = ?",
                (segment_id,),
            ).fetchall()

    def _texts(self, rest: str, params: tuple[Any, ...]) -> Iterator[MemoryText]:
        with self._store.catalog.reading() as connection:
            cursor = connection.execute(_TEXTS.format(rest=rest), params)
            while rows := cursor.fetchmany(_ROWS):
                for row in rows:
                    text = _text_of(row)
                    if text is not None:
                        yield text


def _text_of(row: tuple[Any, ...]) -> MemoryText | None:
    """The text of a row: no words for a damaged one, None without a valid place.

    Recall verifies what it shows, so it shows neither.
    """
    record_id, segment_id, slot, event_ms, *written, mutable, seal = row
    if not (_is_place(segment_id) and _is_place(slot) and type(event_ms) is int):
        return None
    try:
        session, agent, user, text, role, metadata, source = [
            each.decode() if type(each) is bytes else None for each in written
        ]
    except UnicodeDecodeError:  # one of them is damaged
        session, agent, user, text, role, metadata, source = map(_decoded, written)
    if session:
        # sessions of two users may have one name, but not one conversation
        session = _OF.join((session, agent or "", user or ""))
    about = metadata_of(metadata)
    speaker = speaker_in(role, about)
    return MemoryText(
        record_id,
        segment_id,
        slot,
        event_ms,
        session,
        speaker,
        without_dates(words_of(text or "", speaker)),
        seal if _is_seal(seal) else None,
        role,
        source,
        aliases_in(about),
        _has_no_text(mutable),
        turn_before_in(about)[1],
        user,
    )


def _has_no_text(mutable: object) -> bool:
    """Whether a memory's mutable half says that it has no text: it opens with the flags."""
    return type(mutable) is bytes and bool(int.from_bytes(mutable[:2], "little") & Flag.NO_TEXT)


def _decoded(raw: object) -> str | None:
    if not isinstance(raw, bytes):
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _is_place(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST_SLOTS


def _is_seal(value: object) -> bool:
    return value is None or (type(value) is int and 0 <= value <= 0xFFFF_FFFF)


def metadata_of(metadata_json: object) -> object:
    """What the words of a memory are indexed from in its metadata, from the catalog's JSON."""
    if type(metadata_json) is str and any(key in metadata_json for key in _INDEXED):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(metadata_json)
    return None


def speaker_of(role: object, metadata_json: object) -> str | None:
    """`speaker_in` of values as the catalog has them."""
    return speaker_in(role, metadata_of(metadata_json))


# The newest memories of a user and of some sessions, with their speakers.

#: memories of a user, or of a session, that are read
_NEWEST: Final = 256
#: memories of a store that are searched for those without a user
_NEWEST_OF_ALL: Final = 4 * _NEWEST
#: characters of a text that are read
_CHARS: Final = 2000

_LOOK: Final = (
    "SELECT r.id, CAST(r.session_id AS BLOB), CAST(substr(text, 1, {chars}) AS BLOB),"
    " CAST(role AS BLOB), CAST(metadata AS BLOB)"
    " FROM (SELECT id, session_id, agent_id, user_id FROM record {where}"
    " ORDER BY id DESC LIMIT {limit}) AS r JOIN content ON content.id = r.id"
    " WHERE r.user_id IS ? AND r.agent_id IS ? ORDER BY r.id DESC LIMIT {most}"
)


class Utterance(NamedTuple):
    """A memory and its speaker: the one in its metadata, else its role."""

    id: int
    session_id: str | None
    text: str
    speaker: str | None


def newest_utterances(
    store: Store, user_id: str | None, agent_id: str | None, sessions: Iterable[str] = ()
) -> list[Utterance]:
    """The newest memories of a user and agent, and of sessions of theirs, by ascending id.

    The number of rows read is bounded. Damaged rows are skipped.
    """
    if user_id is None:
        looks: list[tuple[str, int, tuple[Any, ...]]] = [("", _NEWEST_OF_ALL, ())]
    else:
        looks = [("WHERE user_id = ?", _NEWEST, (user_id,))]
    looks += [("WHERE session_id = ?", _NEWEST, (session,)) for session in sessions]
    found: dict[int, Utterance] = {}
    with contextlib.suppress(CatalogCorruptError), store.catalog.reading() as connection:
        for where, limit, params in looks:
            sql = _LOOK.format(chars=_CHARS, where=where, limit=limit, most=_NEWEST)
            rows = connection.execute(sql, (*params, user_id, agent_id)).fetchall()
            found.update((said.id, said) for said in _read(rows))
    return [found[each] for each in sorted(found)]


def _read(rows: Iterable[tuple[Any, ...]]) -> Iterator[Utterance]:
    for record_id, *written in rows:
        session, text, role, metadata = map(_lenient, written)
        if text:
            yield Utterance(record_id, session, text, speaker_of(role, metadata))


def _lenient(raw: object) -> str | None:
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else None


def spoken_words(row: Row) -> str:
    """The text that is embedded for a memory, see `searched_words`."""
    return searched_words(row.text, row.role, row.metadata)


def stored_words(content: Mapping[str, Any]) -> str:
    """`spoken_words` of a catalog row, whose metadata is JSON."""
    metadata = metadata_of(content.get("metadata"))
    return searched_words(str(content["text"]), content.get("role"), metadata)
