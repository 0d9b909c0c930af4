"""spector itself, through its public API, given the texts and vectors that the other arms have."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import spector
from bench.recall.metrics import Answer, K
from bench.recall.shape import Item, Question, Store
from bench.recall.vectors import TEMPLATES, Matrix, Row
from spector import ScoringProfile
from spector.clock import ManualClock

#: the instant of sets that have no time
_SOME_DAY: Final = datetime(2024, 1, 1, tzinfo=UTC)
#: parts that are recalled for each item that is wanted
_PARTS: Final = 16
#: only words count: similarity is the one other term that this profile would have
_TEXT_ONLY: Final = ScoringProfile(name="text", w_similarity=0.0, w_lexical=1.0)

MODES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "default": ("spector, default", {}),
    "vector": ("spector, vectors only", {"profile": "similarity", "lexical": False}),
    "text": ("spector, text only", {"profile": _TEXT_ONLY}),
}


@dataclass(frozen=True, slots=True)
class Product:
    """``spector.open``, ``remember_many``, ``recall``. Vectors are given, so no model runs.

    Attributes:
        mode: a key of ``MODES``, or with ``options`` the name of arms of one's own.
        options: keywords of ``recall`` instead of the mode's; a sorted tuple of pairs.
        template: of the texts that are remembered. Who spoke is told as the memory's role.
        config: fields of ``Config``; a sorted tuple of pairs.

    Where a set's items have parts (the turns of a session) the parts are remembered, and an item
    stands where the best of its parts does.
    """

    mode: str = "default"
    options: tuple[tuple[str, Any], ...] | None = None
    template: str = "plain"
    config: tuple[tuple[str, Any], ...] = ()
    path: str = ":memory:"
    needs_vectors: bool = True
    by_parts: bool = True

    @property
    def title(self) -> str:
        return MODES[self.mode][0] if self.mode in MODES else self.mode

    def opened(
        self, store: Store, vectors: Matrix
    ) -> AbstractContextManager[Callable[[Question, Row], Answer]]:
        return self._opened(store, vectors)

    @contextmanager
    def _opened(
        self, store: Store, vectors: Matrix
    ) -> Iterator[Callable[[Question, Row], Answer]]:
        clock = ManualClock(told_until(store))
        options = dict(MODES[self.mode][1] if self.options is None else self.options)
        owner = {part.id: item.id for item in store.items for part in item.parts or (item,)}
        depth = K if len(owner) == len(store.items) else K * _PARTS
        config = spector.Config(**dict(self.config))
        with spector.open(
            self.path, embedder=None, dim=vectors.shape[1], clock=clock, durability="relaxed",
            config=config,
        ) as memory:  # fmt: skip
            named = remember_texts(memory, store.texts(by_parts=True), vectors, self.template)

            def ask(question: Question, vector: Row) -> Answer:
                clock.set(question.now or told_until(store))
                start = time.perf_counter()
                hits = memory.recall(question.cue, vector=vector, k=depth, **options)
                elapsed_ms = (time.perf_counter() - start) * 1e3
                best: dict[str, float] = {}
                for hit in hits:
                    best.setdefault(owner[named[hit.id]], float(hit.score))
                return Answer(tuple(best)[:K], tuple(best.values())[:K], elapsed_ms)

            yield ask


def remember_texts(
    memory: spector.Memory, texts: Sequence[Item], vectors: Matrix, template: str
) -> dict[int, str]:
    """Tell a memory these texts; returns the item of each record."""
    rows: Sequence[dict[str, Any]] = [
        _as_message(item, vector, template)
        for item, vector in zip(texts, vectors, strict=True)
    ]
    records = memory.remember_many(rows)
    return {record.id: item.id for record, item in zip(records, texts, strict=True)}


def told_until(store: Store) -> datetime:
    """When the last text was told; some fixed day for texts without a time."""
    return max((item.time for item in store.items if item.time), default=_SOME_DAY)


def _as_message(item: Item, vector: Row, template: str) -> dict[str, Any]:
    return {
        "text": TEMPLATES[template](item),
        "vector": vector,
        "role": item.speaker or None,
        "session_id": item.session or None,
        "event_time": item.time or _SOME_DAY,
        "metadata": {"order": item.order},
    }
