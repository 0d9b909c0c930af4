"""The lineage of a store: which earlier states its catalog has been in.

A change counter does not prove that: two copies of one store that are both written to continue from
the same number. So the first commit of each opening advances the counter by a random distance
(``Store.next_change_seq``), and the catalog notes it with the last change before it. A state is an
ancestor if its last opening is in our lineage and it ends no later than that opening did here.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from dataclasses import dataclass

__all__ = ["Lineage", "lineage_of", "note_opening"]


@dataclass(frozen=True, slots=True)
class Lineage:
    """The openings of a store that committed, and its last change."""

    #: (first change, last change before it), ascending; SQL table ``session``
    openings: tuple[tuple[int, int], ...]
    change_seq: int

    def went_through(self, other: Lineage) -> bool:
        """Whether the catalog with this lineage was once in the state of the other one.

        A catalog from before openings were noted has only its counter.
        """
        if not other.openings:
            return other.change_seq <= self.change_seq
        last = other.openings[-1]
        n = bisect_left(self.openings, last)
        if n == len(self.openings) or self.openings[n] != last:
            return False
        rest = self.openings[n + 1 :]
        return other.change_seq <= (rest[0][1] if rest else self.change_seq)


def lineage_of(db: sqlite3.Connection) -> Lineage:
    """The lineage that a catalog records, without its damaged rows."""
    change_seq = int(db.execute("SELECT CAST(max(change_seq) AS INTEGER) FROM head").fetchone()[0])
    rows = db.execute("SELECT first, after FROM session ORDER BY first")
    return Lineage(tuple((first, after) for first, after in rows if type(after) is int), change_seq)


def note_opening(db: sqlite3.Connection, first: int, after: int) -> None:
    """Note, in the first commit of an opening, its first change and the last one before it."""
    db.execute("INSERT OR REPLACE INTO session VALUES (?, ?)", (first, after))
