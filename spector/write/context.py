"""What everything that writes to the stores of one memory shares."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.clock import Clock
from spector.config import Config
from spector.errors import ConflictError, InvalidInputError, InvalidVectorError
from spector.messages import shown
from spector.process import LayerCallbacks, Watchers, elsewhere
from spector.providers import Embedder, ImportanceScorer, embedded
from spector.records import MemoryRecord
from spector.store.catalog import Row
from spector.store.core import Store, Transaction
from spector.tiers import Finder, TierRouter, TierStore
from spector.write.append import (
    Batch,
    Encoded,
    append_batch,
    encode_batch,
    records_of,
    strengths_of,
)
from spector.write.draft import Draft
from spector.write.speakers import Speakers


def conflict(what: str, expected: int, current: MemoryRecord | None) -> ConflictError:
    """The error of a memory whose revision is not the one that a caller expects."""
    is_now = "is not there" if current is None else f"has revision {current.revision}"
    return ConflictError(
        f"{what} {is_now}, and if_revision is {expected}",
        hint="read it again, and decide anew",
        current=current,
    )


def refuse_missing(key: Any, expected: Any) -> None:
    """Refuse a key that no memory has, and of which a revision is expected.

    Raises:
        ConflictError
    """
    if key is not None and isinstance(expected, int) and expected > 0:
        raise conflict(f"the memory with the key {shown(key)}", expected, None) from None


def refuse_conflict(current: MemoryRecord, expected: int | None) -> None:
    """Refuse to change a memory that has not the revision that a caller expects; None: any.

    Raises:
        ConflictError
        InvalidInputError: it has no key, and so no revision.
    """
    if expected is None or expected == current.revision > 0:
        return
    if current.key is None:
        raise InvalidInputError(
            f"memory {current.id} has no key, and so no revision",
            hint="leave if_revision out, or remember it with a key",
        )
    raise conflict(f"memory {current.id}", expected, current)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WriteContext:
    """The parts and settings of one memory's writers."""

    router: TierRouter
    finder: Finder
    embedder: Embedder | None
    importance: ImportanceScorer | None
    clock: Clock
    config: Config
    dim: int
    speakers: Speakers
    callbacks: LayerCallbacks = field(default_factory=LayerCallbacks)
    watchers: Watchers = field(default_factory=Watchers)
    #: the stores of the router, which knows them weakly: the last call may come from a collector
    stores: tuple[Store, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stores", tuple(self.router.stores()))
        for store in self.stores:
            store.when_moved.append(self.speakers.forget)

    def exclusive(self) -> AbstractContextManager[object]:
        """A context in which no other thread of this process changes any store of the memory.

        The stores share one lock, so ids and changes of several stores are in order.
        """
        return self.stores[0].exclusive()

    def encoded(
        self,
        store: Store,
        batch: Batch,
        importance: Sequence[float],
        ids: Sequence[int],
        tiers: Sequence[TierStore],
        vectors: NDArray[np.float32] | None,
        now_ms: int,
    ) -> Encoded:
        """The record images of drafts of a store."""
        return encode_batch(
            batch,
            strengths_of(batch, importance, self.config),
            ids,
            [tier.code for tier in tiers],
            vectors,
            now_ms=now_ms,
            dim=self.dim,
            uuid=store.uuid,
            config=self.config,
        )

    def append(
        self,
        tx: Transaction,
        store: Store,
        drafts: Sequence[Draft],
        tiers: Sequence[TierStore],
        ids: list[int],
        importance: Sequence[float],
        vectors: NDArray[np.float32] | None,
        now_ms: int,
    ) -> list[MemoryRecord]:
        """Stage new memories of a store, and return their records."""
        batch = Batch(drafts)
        encoded = self.encoded(store, batch, importance, ids, tiers, vectors, now_ms)
        names = [tier.name for tier in tiers]
        records = records_of(batch, ids, names, encoded.headers, now_ms)
        append_batch(tx, tiers, batch, ids, encoded, now_ms)
        return records

    def claim_ids(self, tx: Transaction, count: int, now_ms: int) -> list[int]:
        """Ids in the order of time, unique over all tiers, below 2**53 until the year 2248: the
        millisecond is in the high bits; if a clock goes back, ids count on from the last one."""
        first = max(self.next_id(now_ms), tx.last_id + 1)
        tx.note_id(first + count - 1)
        if tx.catalog.in_memory:
            self.router.durable_store().note_id(first + count - 1)
        return list(range(first, first + count))

    def next_id(self, now_ms: int) -> int:
        """The id that a memory of now gets, if no transaction has given it out."""
        last = max([store.head.last_id for store in self.stores])
        return max(last + 1, min(max(now_ms, 0), (1 << 43) - 1) << 10)

    def note_replaced(self, before: Row, after: Row) -> None:
        """After a memory has changed: what knows its former words or user forgets them."""
        self.speakers.forget()
        if (before.text, before.user_id) != (after.text, after.user_id):
            self.watchers.note_gone([before.id], [text] if (text := before.text.strip()) else [])

    def erasure_due_ms(self) -> int:
        """When the bytes of what is forgotten or replaced now are to be gone from the files."""
        after_ms = min(1000 * self.config.erase_after_s, 1e18)
        return self.clock.now_ms() + round(after_ms)


# What the models of a store say of drafts: their vectors and, unless given, their importance.


def vectors_of(
    parts: WriteContext, drafts: Sequence[Draft], tiers: Sequence[TierStore], words: Sequence[str]
) -> NDArray[np.float32] | None:
    """(n, dim) f32: given vectors as they are, the others made of ``words`` in one call.

    Without a text there is none. Without an embedder, volatile memories may do without a vector:
    zeros, or None for all.
    """
    missing = [
        n for n, draft in enumerate(drafts) if draft.vector is None and not draft.is_wordless
    ]
    if missing and parts.embedder is None:
        lasting = [tiers[n].name for n in missing if not tiers[n].volatile]
        if lasting:
            raise InvalidVectorError(
                f"no vector for a memory of tier {lasting[0]}, and the store has no embedder",
                hint="pass vector=, or open the store with an embedder",
            )
        if len(missing) == len(drafts):
            return None
    if not missing and not any(draft.is_wordless for draft in drafts):
        return np.array([draft.vector for draft in drafts])
    out = np.zeros((len(drafts), parts.dim), dtype=np.float32)
    for n, draft in enumerate(drafts):
        if draft.vector is not None:
            out[n] = draft.vector
    if parts.embedder is not None and missing:
        out[missing] = embedded(parts.embedder, [words[n] for n in missing])
    return out


def importance_of(parts: WriteContext, draft: Draft) -> float:
    if draft.importance is not None:
        return draft.importance
    if parts.importance is None or draft.is_wordless:
        return parts.config.default_importance
    return scored(parts.importance, draft)


def scored(scorer: ImportanceScorer, draft: Draft) -> float:
    """The caller's importance of a draft.

    Raises:
        InvalidInputError: it is none.
    """
    score = float(elsewhere(scorer.score, draft.text, role=draft.role, metadata=draft.metadata))
    if not 0.0 <= score <= 1.0:
        raise InvalidInputError(
            f"the importance scorer returned {score}", hint="it must return 0..1"
        )
    return score
