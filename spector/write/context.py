"""What everything that writes to the stores of one memory shares."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from spector.clock import Clock
from spector.config import Config
from spector.process import LayerCallbacks, Watchers
from spector.providers import Embedder, ImportanceScorer
from spector.store.catalog import Row
from spector.store.core import Store
from spector.tiers import Finder, TierRouter
from spector.write.speakers import Speakers

__all__ = ["WriteContext"]


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
