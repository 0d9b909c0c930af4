"""The newest memories of a user and of some sessions, with their speakers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from spector.errors import CatalogCorruptError
from spector.language.statements import searched_words
from spector.store.catalog import Row
from spector.store.core import Store
from spector.store.words.index import metadata_of, speaker_of

__all__ = ["Utterance", "newest_utterances", "spoken_words", "stored_words"]

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
        session, text, role, metadata = map(_decoded, written)
        if text:
            yield Utterance(record_id, session, text, speaker_of(role, metadata))


def _decoded(raw: object) -> str | None:
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else None


def spoken_words(row: Row) -> str:
    """The text that is embedded for a memory, see `searched_words`."""
    return searched_words(row.text, row.role, row.metadata)


def stored_words(content: Mapping[str, Any]) -> str:
    """`spoken_words` of a catalog row, whose metadata is JSON."""
    metadata = metadata_of(content.get("metadata"))
    return searched_words(str(content["text"]), content.get("role"), metadata)
