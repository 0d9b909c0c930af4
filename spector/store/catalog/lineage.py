"""Which states of a store a catalog has been through.

Change counters alone do not tell: two copies of one store that are both written to count on from
the same number. So the first commit of each opening takes the counter a random distance further
(``Store.next_change_seq``), and is noted in the catalog with the last change before it. A state is
one of ours if its last opening is one of ours, and it ends no later than ours did.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from dataclasses import dataclass

__all__ = ["Lineage", "lineage_of", "note_opening"]

_TABLE = "CREATE TABLE IF NOT EXISTS session(first INTEGER PRIMARY KEY, after INTEGER NOT NULL)"


@dataclass(frozen=True, slots=True)
class Lineage:
    """(first change, last change before it) of each opening that committed; and the last change."""

    sessions: tuple[tuple[int, int], ...]
    change_seq: int

    def went_through(self, other: Lineage) -> bool:
        """Whether the catalog that has this lineage once was the one that has the other.

        Of a catalog without sessions, made before they were noted, only the counter is known.
        """
        if not other.sessions:
            return other.change_seq <= self.change_seq
        last = other.sessions[-1]
        n = bisect_left(self.sessions, last)
        if n == len(self.sessions) or self.sessions[n] != last:
            return False
        rest = self.sessions[n + 1 :]
        return other.change_seq <= (rest[0][1] if rest else self.change_seq)


def lineage_of(db: sqlite3.Connection) -> Lineage:
    """What a catalog says of itself; what is damaged there is left out."""
    change_seq = int(db.execute("SELECT CAST(max(change_seq) AS INTEGER) FROM head").fetchone()[0])
    found = db.execute(
        "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'session')"
    ).fetchone()[0]
    rows = db.execute("SELECT first, after FROM session ORDER BY first") if found else ()
    return Lineage(
        tuple((first, after) for first, after in rows if type(after) is int), change_seq
    )


def note_opening(db: sqlite3.Connection, first: int, after: int) -> None:
    """In the first commit of an opening: where it begins, and what it goes on from."""
    db.execute(_TABLE)
    db.execute("INSERT OR REPLACE INTO session VALUES (?, ?)", (first, after))
