"""The strengths and labels of memories as columns, for what looks at very many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import PartitionCorruptError
from spector.layout import HEADER_BYTES, MUTABLE_BYTES, MUTABLE_DTYPE, RECORD_DTYPE
from spector.store.catalog import labels_after, labels_of
from spector.store.core.store import Store

__all__ = ["NO_END", "STRENGTH_DTYPE", "Strengths", "read_strengths"]

#: ``until_ms`` of a memory that does not end
NO_END: Final = np.iinfo(np.int64).max

#: one row a memory: what the catalog has of it, what its header has, and its mutable half
STRENGTH_DTYPE: Final = np.dtype(
    [
        ("id", "<i8"),
        ("segment_id", "<i8"),
        ("slot", "<i8"),
        ("event_ms", "<i8"),
        ("recorded_ms", "<i8"),
        ("until_ms", "<i8"),
        ("user", "<i4"),
        ("session", "<i4"),
        ("tier", "u1"),
        ("category", "u1"),
        ("confidence", "u1"),
        *[(name, MUTABLE_DTYPE[name].str) for name in MUTABLE_DTYPE.names or ()],
    ]
)


@dataclass(frozen=True, slots=True)
class Strengths:
    """Memories by ascending id.

    Attributes:
        rows: (n,) of `STRENGTH_DTYPE`; ``user`` and ``session`` count in the lists below.
        users: users by number; None for memories without one. sessions: the same of sessions.
    """

    rows: NDArray[np.void]
    users: tuple[str | None, ...]
    sessions: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def blocks(self, chosen: NDArray[np.bool_]) -> list[bytes]:
        """The mutable halves of the chosen rows, 24 bytes each."""
        picked = self.rows[chosen]
        halves = np.zeros(len(picked), MUTABLE_DTYPE)
        for name in MUTABLE_DTYPE.names or ():
            halves[name] = picked[name]
        raw = halves.tobytes()
        return [raw[at : at + MUTABLE_BYTES] for at in range(0, len(raw), MUTABLE_BYTES)]


def read_strengths(
    store: Store, *, ids: Sequence[int] | None = None, after: int = -1, limit: int = -1
) -> Strengths:
    """Memories of a store as columns, of one moment.

    Args:
        ids: these, of which unknown ones are left out; or else
        after, limit: at most so many with a greater id.
    """
    with store.exclusive():
        store.ensure_usable()
        if ids is None:
            found = labels_after(store.catalog, after, limit)
        else:
            found = labels_of(store.catalog, sorted(ids))
        rows = np.zeros(len(found), STRENGTH_DTYPE)
        if not found:
            return Strengths(rows, (), ())
        columns = list(zip(*found, strict=True))
        for name, column in zip(
            ("id", "segment_id", "slot", "event_ms", "recorded_ms"), columns, strict=False
        ):
            rows[name] = column
        rows["until_ms"] = [NO_END if each is None else each for each in columns[5]]
        rows["session"], sessions = _numbered(columns[6])
        rows["user"], users = _numbered(columns[7])
        halves = np.frombuffer(b"".join(columns[8]), MUTABLE_DTYPE)
        for name in MUTABLE_DTYPE.names or ():
            rows[name] = halves[name]
        _add_headers(store, rows)
    return Strengths(rows, users, sessions)


def _numbered(values: Sequence[Any]) -> tuple[NDArray[np.int32], tuple[Any, ...]]:
    """A number for each value, and the values by number."""
    numbers = {each: n for n, each in enumerate(dict.fromkeys(values))}
    return np.array([numbers[each] for each in values], np.int32), tuple(numbers)


def _add_headers(store: Store, rows: NDArray[np.void]) -> None:
    """Tier, category and confidence, which only the partitions have."""
    for segment_id in np.unique(rows["segment_id"]).tolist():
        here = np.flatnonzero(rows["segment_id"] == segment_id)
        segment, slots = store.segments.get(segment_id), rows["slot"][here]
        if segment is None or slots.min() < 0 or slots.max() >= segment.row.slots:
            raise PartitionCorruptError(
                f"the catalog names places of partition {segment_id} that do not exist",
                hint="run: spector check PATH",
            )
        headers = segment.records()[:, :HEADER_BYTES][slots].copy().view(RECORD_DTYPE)[:, 0]
        for name in ("tier", "category", "confidence"):
            rows[name][here] = headers[name]
