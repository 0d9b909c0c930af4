"""What other processes of a shared store learn of a user who was forgotten, without a name.

The row ``user_gone`` of the table ``meta`` has a note of each of the last such users: the last id
of a memory at that moment, the change that forgot, and one byte of a hash, which every 256th name
has. Who has a memory of before it, which a filter would have found, is not the user of a note.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from spector.layout import Flag
from spector.store.catalog import put_meta
from spector.store.core import Store, Transaction

__all__ = ["may_be_gone", "memories_of", "note_user_gone", "users_gone"]

#: the key in ``meta``
_KEY: Final = "user_gone"
_MOST: Final = 64
_HELD: Final = int(Flag.PINNED | Flag.IMMUTABLE)


def note_user_gone(tx: Transaction, store: Store, user_id: str) -> None:
    """Note, under the lock that forgets the memories of a user, who was forgotten."""
    head = tx.head()
    moment = f"{head.last_id}.{head.change_seq}"
    notes = [*users_gone(store), f"{moment}.{_byte_of(moment, user_id)}"]
    put_meta(tx.connection, {_KEY: " ".join(notes[-_MOST:])})


def users_gone(store: Store) -> tuple[str, ...]:
    """The notes of users who were forgotten by any process, in order."""
    with store.catalog.reading() as db:
        found = db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    return () if found is None else tuple(str(found[0]).split())


def may_be_gone(
    store: Store, users: Iterable[str], notes: tuple[str, ...], seen: tuple[str, ...]
) -> set[str]:
    """Those of some users that a note may be of which had not been seen."""
    first = notes.index(seen[-1]) + 1 if seen and seen[-1] in notes else 0
    if not notes[first:]:
        return set()
    any_user = first == 0 and len(notes) == _MOST  # more have gone than there are notes
    last, fresh = int(notes[-1].split(".")[0]), [each.rpartition(".") for each in notes[first:]]
    return {
        user
        for user in users
        if (any_user or any(_byte_of(moment, user) == byte for moment, _, byte in fresh))
        and not _is_known(store, user, last)
    }


def memories_of(stores: Iterable[Store], user_id: str) -> list[int]:
    """The ids of a user's memories in some stores, of ended ones too."""
    sql, out = "SELECT id FROM record WHERE user_id = ?", list[int]()
    for each in stores:
        with each.catalog.reading() as db:
            out += [record_id for (record_id,) in db.execute(sql, (user_id,))]
    return out


def _is_known(store: Store, user_id: str, last_id: int) -> bool:
    """Whether a user has a memory of before, which forgetting the user would have taken."""
    sql = "SELECT mutable FROM record WHERE user_id = ? AND id <= ?"
    with store.catalog.reading() as db:
        return any(
            not int.from_bytes(block[:2], "little") & _HELD
            for (block,) in db.execute(sql, (user_id, last_id))
        )


def _byte_of(moment: str, user_id: str) -> str:
    text = f"{moment} {user_id}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=1).hexdigest()
