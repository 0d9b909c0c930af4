"""One batch of drafts on its way into a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.store.core import Store, Transaction
from spector.store.payloads import KeyPath

if TYPE_CHECKING:
    from spector.knowledge import Changes
    from spector.records import MemoryRecord
    from spector.store.catalog import Row
    from spector.tiers import TierStore
    from spector.write.drafts.draft import Draft

__all__ = ["ClaimIds", "KeyStore", "Settler", "Work", "path_of_draft", "refuse_future_parents"]

#: gives out so many ids in a transaction, at a time in ms
ClaimIds = Callable[[Transaction, int, int], list[int]]


class StagedChange(Protocol):
    """A change of an earlier memory in the commit of a batch."""

    @property
    def before(self) -> Row: ...

    def stage(self, tx: Transaction) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Drafts of one store with all that their records are made of; ``vectors`` is (n, dim) f32."""

    store: Store
    drafts: Sequence[Draft]
    tiers: Sequence[TierStore]
    importance: Sequence[float]
    vectors: NDArray[np.float32] | None
    #: changes of earlier memories
    others: Sequence[StagedChange]
    now_ms: int
    claim_ids: ClaimIds
    #: called with the transaction and the ids before the commit
    then: Callable[[Transaction, list[int]], None] | None

    def vectors_of(self, members: Sequence[int]) -> NDArray[np.float32] | None:
        """(m, dim) f32 of some drafts."""
        return None if self.vectors is None else self.vectors[list(members)]


class Settler(Protocol):
    """Decides what drafts with ``settles`` supersede."""

    def runs(self, drafts: Sequence[Draft]) -> Iterable[Sequence[Draft]]:
        """Drafts in their order, cut before each that may supersede one before it."""

    def settle(
        self, drafts: Sequence[Draft], vectors: NDArray[np.float32] | None, now_ms: int
    ) -> Changes:
        """Decide for drafts, with no other writer until they are stored; the rows to add."""


class KeyStore(Protocol):
    """Stores batches in which drafts have keys."""

    def store(self, work: Work) -> list[MemoryRecord | None]:
        """The memory that each draft has become; None where it was left out."""


def path_of_draft(draft: Draft) -> KeyPath:
    """Where the key of a draft is unique."""
    assert draft.key is not None
    return KeyPath(draft.namespace, draft.key, draft.user_id or "", draft.agent_id or "")


def refuse_future_parents(drafts: Sequence[Draft], first_id: int) -> None:
    """Refuse parents with ids that have not been given out: a parent precedes its child.

    Raises:
        InvalidInputError: naming the id.
    """
    for draft in drafts:
        if draft.parents and max(draft.parents) >= first_id:
            raise InvalidInputError(
                f"parent {max(draft.parents)} does not exist",
                hint="pass ids of memories that were remembered before",
            )
