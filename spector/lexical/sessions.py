"""The rows before and after each row in its session: doubly linked chains in two columns.

A chain has the rows of one session, in the order of event time and id. Dead rows stay in it; a walk
passes over them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spector.language.words import term_hash
from spector.lexical.columns import Columns

__all__ = ["Chains", "label_hashes"]

#: above so many new rows of known sessions, whole chains are linked anew
_ONE_BY_ONE = 64
#: sessions in the dictionary before they move to the sorted arrays
_RECENT = 4096


def label_hashes(names: Sequence[str | None], key: bytes) -> NDArray[np.uint64]:
    """(n,) keyed hashes of sessions or users; 0 where a memory has none."""
    known = {n: term_hash(n, key) or 1 if n else 0 for n in set(names)}
    return np.array([known[name] for name in names], np.uint64)


class Chains:
    """Links the rows of ``columns`` as they are appended."""

    def __init__(self) -> None:
        self._keys = np.zeros(0, np.uint64)  # sessions, ascending, and the last row of each
        self._last = np.zeros(0, np.int32)
        self._recent: dict[int, int] = {}

    def link(self, columns: Columns, first: int, chained: NDArray[np.bool_]) -> None:
        """Link rows ``first`` and later, of which those that are ``chained`` belong to a chain.

        Their ``before`` and ``after`` must be -1.
        """
        rows = first + np.flatnonzero(chained)
        sessions = columns["session"][rows]
        known = (
            np.array([self._last_of(int(s)) >= 0 for s in sessions], bool)
            if (len(rows) <= _ONE_BY_ONE)
            else self._known(sessions)
        )
        if not known.any():
            self._link_all(columns, rows)
        elif len(rows) <= _ONE_BY_ONE:
            for row in rows.tolist():
                self._insert(columns, row)
        else:
            touched = np.unique(sessions)
            every = np.concatenate((self._members(columns, first, touched), rows))
            columns.writable("before")[every] = -1
            columns.writable("after")[every] = -1
            self._link_all(columns, every)

    def _link_all(self, columns: Columns, rows: NDArray[np.int64]) -> None:
        """Link rows that make up whole chains."""
        session = columns["session"][rows]
        order = np.lexsort((columns["id"][rows], columns["event_ms"][rows], session))
        rows, session = rows[order], session[order]
        same = session[1:] == session[:-1]
        columns["before"][rows[1:][same]] = rows[:-1][same]
        columns["after"][rows[:-1][same]] = rows[1:][same]
        last = np.concatenate((~same, [True])) if len(rows) else np.zeros(0, bool)
        self._recent.update(zip(session[last].tolist(), rows[last].tolist(), strict=True))
        self._settle()

    def _insert(self, columns: Columns, row: int) -> None:
        session = int(columns["session"][row])
        event, ids = columns["event_ms"], columns["id"]
        key = (int(event[row]), int(ids[row]))
        last = at = self._last_of(session)
        before, after = columns["before"], columns["after"]
        while at >= 0 and (int(event[at]), int(ids[at])) > key:
            at = int(before[at])
        if at == last:  # the end of a chain: a view ignores links to rows behind its last
            before[row] = last
            if last >= 0:
                after[last] = row
            self._recent[session] = row
            self._settle()
            return
        before, after = columns.writable("before"), columns.writable("after")
        following = int(after[at]) if at >= 0 else self._first_of(before, last)
        before[row], after[row] = at, following
        before[following] = row
        if at >= 0:
            after[at] = row

    @staticmethod
    def _first_of(before: NDArray[np.int32], row: int) -> int:
        while before[row] >= 0:
            row = int(before[row])
        return row

    @staticmethod
    def _members(columns: Columns, first: int, sessions: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Rows before ``first`` in chains of some sessions: linked, or alone in their chain."""
        mine = columns["session"][:first]
        at = np.minimum(np.searchsorted(sessions, mine), len(sessions) - 1)
        return np.flatnonzero((sessions[at] == mine) & columns["chained"][:first])

    def _last_of(self, session: int) -> int:
        """The last row of a session's chain; -1 when it has none."""
        found = self._recent.get(session)
        if found is not None or not len(self._keys):
            return -1 if found is None else found
        at = int(np.searchsorted(self._keys, np.uint64(session)))
        there = at < len(self._keys) and int(self._keys[at]) == session
        return int(self._last[at]) if there else -1

    def _known(self, sessions: NDArray[np.uint64]) -> NDArray[np.bool_]:
        known = np.isin(sessions, self._keys)
        if self._recent:
            known |= np.isin(sessions, np.array(list(self._recent), np.uint64))
        return known

    def _settle(self) -> None:
        if len(self._recent) < _RECENT:
            return
        keys = np.concatenate((np.array(list(self._recent), np.uint64), self._keys))
        last = np.concatenate((np.array(list(self._recent.values()), np.int32), self._last))
        self._keys, first = np.unique(keys, return_index=True)  # of equals the first
        self._last = last[first]
        self._recent = {}
