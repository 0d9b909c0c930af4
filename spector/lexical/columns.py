"""The columns of an index's rows, which grow at their end.

A view keeps the arrays that it began with. It never reads rows behind its last one, so appending
writes into the same arrays; changing a row that a view may read copies the column first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.language.words import field_terms, term_hash

__all__ = ["Columns", "FieldTable"]

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
