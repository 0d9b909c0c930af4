"""The scope of a call: which user, agent and session a memory must belong to.

It guards the verbs that name memories by id. A scope is exact, as in a recall: a memory without a
user is in no user's scope.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from spector.arguments import SCOPES
from spector.records import MemoryRecord
from spector.store.catalog.catalog import Catalog, id_chunks
from spector.store.catalog.row_codec import Row

__all__ = ["ANYBODY", "SCOPES", "Scope", "members"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The labels that a memory must have; None accepts any value, also none."""

    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None

    @property
    def is_open(self) -> bool:
        """True when every memory is in it."""
        return self is ANYBODY or self == ANYBODY

    @property
    def labels(self) -> tuple[str | None, str | None, str | None]:
        """User, agent and session."""
        return self.user_id, self.agent_id, self.session_id

    def holds(self, memory: Row | MemoryRecord) -> bool:
        """Whether a memory has exactly the labels that are given."""
        return all(
            wanted is None or getattr(memory, name) == wanted
            for name, wanted in ((name, getattr(self, name)) for name in SCOPES)
        )


ANYBODY: Final = Scope()


def members(catalog: Catalog, ids: Iterable[int], scope: Scope, *, inside: bool) -> set[int]:
    """Those of the ids that are living memories inside the scope, or outside of it."""
    out: set[int] = set()
    asked = [(name, value) for name in SCOPES if (value := getattr(scope, name)) is not None]
    within = " AND ".join(f"{name} IS ?" for name, _ in asked) or "1"
    values = tuple(value for _, value in asked)
    with catalog.reading() as db:
        for chunk in id_chunks(sorted(ids)):
            marks = ",".join("?" * len(chunk))
            sql = f"SELECT id FROM record WHERE id IN ({marks}) AND ({within}) = ?"
            out.update(each for (each,) in db.execute(sql, (*chunk, *values, int(inside))))
    return out
