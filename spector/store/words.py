"""The words of a store: its index, kept up with its views from its catalog.

    words = Words(store)
    with store.snapshot() as view:
        found = words.at(view)      # a spector.lexical.view.WordView

The first call reads every text, about 30 microseconds each; a later one what has changed since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from spector.lexical.index import Known, Text, WordIndex
from spector.lexical.view import WordView
from spector.store.store import Store, View

__all__ = ["Words", "speaker_in", "speaker_of"]

_TEXTS: Final = (
    "SELECT record.id, segment_id, slot, event_ms, session_id, text, role, metadata, {seal}"
    " FROM record JOIN content ON content.id = record.id {rest}"
)
_MOST_SLOTS: Final = (1 << 31) - 1
_ROWS: Final = 1024
_LONGEST_NAME: Final = 200


class Words:
    """Follows one store. Thread-safe."""

    def __init__(
        self, store: Store, *, mark: Callable[[str, str | None], int] | None = None
    ) -> None:
        """``mark``: what to keep of each memory from its text and speaker, see ``WordIndex``."""
        self._store = store
        self._index = WordIndex(store.uuid, mark=mark)

    def at(self, view: View) -> WordView:
        """The words of a view; call it inside of the snapshot that the view is of.

        A store in memory has no snapshots: its catalog may be ahead of the view, and a memory that
        has moved meanwhile may be missing. Recall notices that and starts over.
        """
        return self._index.follow(view.partitions, self._source())

    def _source(self) -> _Source:
        return _Source(self._store)


class _Source:
    """The catalog of a store, at the moment of this thread's snapshot."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seal = ""

    def everything(self) -> Iterator[Text]:
        return self._texts("ORDER BY record.id", ())

    def texts(self, segment_id: int, first: int, stop: int) -> Iterator[Text]:
        return self._texts(
            "WHERE segment_id = ? AND slot >= ? AND slot < ?", (segment_id, first, stop)
        )

    def known(self, segment_id: int) -> Iterable[Known]:
        catalog = self._store.catalog
        with catalog.reading() as connection:
            found = connection.execute(
                f"SELECT record.id, slot, {self._seal_of(connection)} FROM record"
                " JOIN content ON content.id = record.id WHERE segment_id = ?",
                (segment_id,),
            ).fetchall()
        return [Known(*row) for row in found if _is_place(row[1]) and _is_seal(row[2])]

    def _texts(self, rest: str, params: tuple[Any, ...]) -> Iterator[Text]:
        with self._store.catalog.reading() as connection:
            cursor = connection.execute(
                _TEXTS.format(seal=self._seal_of(connection), rest=rest), params
            )
            while rows := cursor.fetchmany(_ROWS):
                for row in rows:
                    text = _text_of(row)
                    if text is not None:
                        yield text

    def _seal_of(self, connection: Any) -> str:
        if not self._seal:
            self._seal = self._store.catalog.seal_column(connection)
        return self._seal


def _text_of(row: tuple[Any, ...]) -> Text | None:
    """The memory of a row; None for a damaged one, which recall or check will name."""
    record_id, segment_id, slot, event_ms, session_id, text, role, metadata, seal = row
    if not (
        _is_place(segment_id) and _is_place(slot) and _is_seal(seal)
        and type(event_ms) is int and type(text) is str
    ):
        return None
    session = session_id if type(session_id) is str else None
    return Text(
        record_id, segment_id, slot, event_ms, session, speaker_of(role, metadata), text, seal
    )


def _is_place(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST_SLOTS


def _is_seal(value: object) -> bool:
    return value is None or (type(value) is int and 0 <= value <= 0xFFFF_FFFF)


def speaker_of(role: object, metadata_json: object) -> str | None:
    """The same of values as the catalog has them."""
    metadata: object = None
    if type(metadata_json) is str and ('"speaker"' in metadata_json or '"name"' in metadata_json):
        try:
            metadata = json.loads(metadata_json)
        except ValueError:
            metadata = None
    return speaker_in(role, metadata)


def speaker_in(role: object, metadata: object) -> str | None:
    """Who said it: ``speaker`` or ``name`` of the metadata, else the message's role."""
    known: Mapping[str, object] = metadata if isinstance(metadata, Mapping) else {}
    for key in ("speaker", "name"):
        name = known.get(key)
        if isinstance(name, str) and name.strip():
            return name.strip()[:_LONGEST_NAME]
    return role if isinstance(role, str) and role else None
