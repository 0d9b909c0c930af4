"""What everything that writes to the stores of one memory shares."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from spector.clock import Clock
from spector.config import Config
from spector.errors import ConflictError, InvalidInputError
from spector.process import LayerCallbacks, Watchers
from spector.providers import Embedder, ImportanceScorer
from spector.records import MemoryRecord
from spector.store.catalog import Row
from spector.store.core import Store
from spector.tiers import Finder, TierRouter
from spector.write.speakers import Speakers

__all__ = ["WriteContext", "conflict", "refuse_conflict"]


def conflict(what: str, expected: int, current: MemoryRecord | None) -> ConflictError:
    """The error of a memory whose revision is not the one that a caller expects."""
    is_now = "is not there" if current is None else f"has revision {current.revision}"
    return ConflictError(
        f"{what} {is_now}, and if_revision is {expected}",
        hint="read it again, and decide anew",
        current=current,
    )


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

    def note_replaced(self, before: Row, after: Row) -> None:
        """After a memory has changed: what knows its former words or user forgets them."""
        self.speakers.forget()
        if (before.text, before.user_id) != (after.text, after.user_id):
            self.watchers.note_gone([before.id], [text] if (text := before.text.strip()) else [])

    def erasure_due_ms(self) -> int:
        """When the bytes of what is forgotten or replaced now are to be gone from the files."""
        after_ms = min(1000 * self.config.erase_after_s, 1e18)
        return self.clock.now_ms() + round(after_ms)
