"""The columns of an index's rows, their ids, and the chains of their sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.language.words import field_terms, term_hash

_DTYPES: Final[dict[str, Any]] = {
    "id": np.int64,
    "event_ms": np.int64,
    "session": np.uint64,
    "user": np.uint64,
    "segment": np.int32,
    "slot": np.int32,
    "seal": np.int64,
    "content": np.uint16,
    "size": np.uint16,
    "code": np.uint8,
    "field": np.int32,
    "marks": np.uint8,
    "alive": np.bool_,
    "chained": np.bool_,
    "before": np.int32,
    "after": np.int32,
}
_FIELD_KEYS: Final = 16_384


class Columns:
    """Arrays of one length by name, see ``_DTYPES``; ``len()`` is the number of rows in use."""

    def __init__(self) -> None:
        self._arrays = {name: np.zeros(0, dtype) for name, dtype in _DTYPES.items()}
        self._used = 0
        #: columns that no view has
        self._own: set[str] = set()

    def __len__(self) -> int:
        return self._used

    def __getitem__(self, name: str) -> NDArray[Any]:
        """(rows,) the column, to be read; rows that no view has may be written."""
        return self._arrays[name][: self._used]

    def append(self, rows: dict[str, NDArray[Any]], count: int) -> int:
        """Add rows, one array a column; returns the number of the first."""
        first, need = self._used, self._used + count
        for name, array in self._arrays.items():
            if need > len(array):
                grown = np.zeros(max(need, len(array) + len(array) // 2, 64), array.dtype)
                grown[:first] = array[:first]
                array = self._arrays[name] = grown
            array[first:need] = rows[name]
        self._used = need
        return first

    def writable(self, name: str) -> NDArray[Any]:
        """(rows,) the column, to be written; copied unless that was done since ``freeze``."""
        if name not in self._own:
            self._arrays[name] = self._arrays[name].copy()
            self._own.add(name)
        return self._arrays[name][: self._used]

    def freeze(self) -> dict[str, NDArray[Any]]:
        """The columns for a view; they no longer change in place."""
        self._own.clear()
        return {name: array[: self._used] for name, array in self._arrays.items()}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Columns:
        """Columns with these rows."""
        out = cls()
        out.append(dict(arrays), len(arrays["id"]))
        return out

    def select(self, rows: NDArray[np.int64]) -> Columns:
        """Only some rows, in their order, not linked."""
        out = Columns()
        out.append({name: self[name][rows] for name in _DTYPES}, len(rows))
        out["before"][:] = out["after"][:] = -1
        return out

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())


class FieldTable:
    """Distinct pairs of speaker and day, with their terms. A row holds the number of its pair."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[tuple[str, int, bool], int] = {}
        self.terms: list[NDArray[np.uint64]] = []
        #: code of each pair's speaker, its day since 1970, whether its text is Turkish
        self.places: list[tuple[int, int, bool]] = []
        self._names: list[str] = []
        self._speakers: dict[str, int] = {}
        self._columns = np.zeros((0, 2), np.int64)
        #: hash of a term -> the pairs that have it
        self._having: dict[int, list[int]] = {}

    def number(self, speaker: str | None, event_ms: int, turkish: bool) -> int:
        """The number of a speaker and a day."""
        name = speaker or ""
        place = (name, event_ms // 86_400_000, turkish)
        found = self._known.get(place)
        if found is None:
            if len(self._known) >= _FIELD_KEYS:
                self._known.clear()
            found = self._known[place] = len(self.terms)
            code = self._speakers.get(name)
            if code is None:
                code = self._speakers[name] = len(self._names)
                self._names.append(name)
            self._append(code, *place[1:])
        return found

    def _append(self, code: int, day: int, turkish: bool) -> None:
        terms = field_terms(self._names[code], day * 86_400_000, turkish=turkish)
        hashes = [term_hash(term, self._key) for term in terms]
        self.places.append((code, day, turkish))
        self.terms.append(np.array(hashes, np.uint64))
        for value in hashes:
            self._having.setdefault(value, []).append(len(self.terms) - 1)

    @classmethod
    def of(
        cls, key: bytes, names: Sequence[str], places: Iterable[tuple[int, int, bool]]
    ) -> FieldTable:
        """A table with these speakers and pairs, in this order."""
        table = cls(key)
        table._names = list(names)
        for code, name in enumerate(names):
            table._speakers.setdefault(name, code)
        for place in places:
            if len(table._known) < _FIELD_KEYS:
                table._known.setdefault((names[place[0]], *place[1:]), len(table.terms))
            table._append(*place)
        return table

    def having(self, values: Iterable[int]) -> NDArray[np.bool_] | None:
        """(pairs,) bool: pairs that have any of some terms, by their hashes; None for none."""
        pairs = [n for value in values for n in self._having.get(value, ())]
        if not pairs:
            return None
        out = np.zeros(len(self.terms), bool)
        out[pairs] = True
        return out

    def speakers(self) -> list[str]:
        """Names as given, in the order of their codes; "" for none."""
        return list(self._names)

    def speaker_codes(self) -> NDArray[np.int64]:
        """(pairs,) code of each pair's speaker."""
        return self._of_pairs()[:, 0]

    def turkish(self) -> NDArray[np.bool_]:
        """(pairs,) bool: pairs of Turkish texts."""
        return self._of_pairs()[:, 1] > 0

    def _of_pairs(self) -> NDArray[np.int64]:
        columns = self._columns
        if len(columns) != len(self.places):
            found = [(code, turkish) for code, _, turkish in self.places]
            columns = self._columns = np.array(found, np.int64).reshape(-1, 2)
        return columns


# A map from ids to rows: a sorted column of ids, and a column of their rows.


def living_rows(
    order: tuple[NDArray[np.int64], NDArray[np.int32]],
    ids: NDArray[np.int64],
    alive: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """(n,) rows of ids by the arrays of an `IdMap`; -1 where no row is alive (rows,)."""
    known, rows = order
    if not len(known):
        return np.full(len(ids), -1, np.int64)
    at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    found = rows[at].astype(np.int64)
    there = (known[at] == ids) & (found < len(alive))  # later rows are of a later view
    there &= alive[np.where(there, found, 0)]
    return np.where(there, found, -1)


class IdMap:
    """Rows by id. Ids mostly come in ascending order, so they are mostly appended.

    Arrays that `arrays` has returned never change; appended entries go behind them.
    """

    def __init__(self) -> None:
        self._ids = np.zeros(0, np.int64)
        self._rows = np.zeros(0, np.int32)
        self._used = 0

    @classmethod
    def of(cls, ids: NDArray[np.int64], rows: NDArray[np.int64]) -> IdMap:
        """A map of rows with distinct ids, in any order."""
        order = np.argsort(ids, kind="stable")
        out = cls()
        out._ids, out._rows = ids[order], rows[order].astype(np.int32)
        out._used = len(order)
        return out

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(n,) ids, ascending, and the row of each."""
        return self._ids[: self._used], self._rows[: self._used]

    def rows_of(self, ids: NDArray[np.int64], alive: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(n,) rows of ids; -1 where no row is alive (rows,)."""
        return living_rows(self.arrays(), ids, alive)

    def assign(self, ids: NDArray[np.int64], first: int) -> None:
        """Map ids (n,), ascending, to rows from ``first`` on; known ids get the new row."""
        used, count = self._used, len(ids)
        rows = np.arange(first, first + count, dtype=np.int32)
        if not count or not used or ids[0] > self._ids[used - 1]:
            self._grow(used + count)
            self._ids[used : used + count], self._rows[used : used + count] = ids, rows
            self._used = used + count
            return
        known, old = self.arrays()
        at = np.minimum(np.searchsorted(known, ids), used - 1)
        if (known[at] == ids).all():
            old = old.copy()
            old[at] = rows
            self._ids, self._rows = known, old
            return
        every, where = np.concatenate((ids, known)), np.concatenate((rows, old))
        self._ids, newest = np.unique(every, return_index=True)  # of equals the first: the new one
        self._rows = where[newest]
        self._used = len(self._ids)

    def _grow(self, need: int) -> None:
        if need <= len(self._ids):
            return
        room = max(need, self._used + self._used // 2, 64)
        ids, rows = np.zeros(room, np.int64), np.zeros(room, np.int32)
        ids[: self._used], rows[: self._used] = self.arrays()
        self._ids, self._rows = ids, rows


# The rows before and after each row in its session: doubly linked chains in two columns.
#
# A chain has the rows of one session, in the order of event time and id. Dead rows stay in it; a walk
# passes over them.

#: above so many new rows of known sessions, whole chains are linked anew
_ONE_BY_ONE = 64


def label_hashes(names: Sequence[str | None], key: bytes) -> NDArray[np.uint64]:
    """(n,) keyed hashes of sessions or users; 0 where a memory has none."""
    known = {n: term_hash(n, key) or 1 if n else 0 for n in set(names)}
    return np.array([known[name] for name in names], np.uint64)


class Chains:
    """Links the rows of ``columns`` as they are appended."""

    def __init__(self) -> None:
        #: session -> the last row of its chain
        self._last: dict[int, int] = {}

    def link(self, columns: Columns, first: int, chained: NDArray[np.bool_]) -> None:
        """Link rows ``first`` and later, of which those that are ``chained`` belong to a chain.

        Their ``before`` and ``after`` must be -1.
        """
        rows = first + np.flatnonzero(chained)
        sessions = columns["session"][rows]
        if self._last.keys().isdisjoint(sessions.tolist()):
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
        self._last.update(zip(session[last].tolist(), rows[last].tolist(), strict=True))

    def _insert(self, columns: Columns, row: int) -> None:
        session = int(columns["session"][row])
        event, ids = columns["event_ms"], columns["id"]
        key = (int(event[row]), int(ids[row]))
        last = at = self._last.get(session, -1)
        before, after = columns["before"], columns["after"]
        while at >= 0 and (int(event[at]), int(ids[at])) > key:
            at = int(before[at])
        if at == last:  # the end of a chain: a view ignores links to rows behind its last
            before[row] = last
            if last >= 0:
                after[last] = row
            self._last[session] = row
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
