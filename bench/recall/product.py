"""spector itself, through its public API, given the texts that the other arms have, and the
embedder: it embeds what it makes of texts and cues. Without an embedder their vectors are given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import spector
from bench.recall.metrics import Answer, K
from bench.recall.shape import SOME_DAY, Item, Question, Store
from bench.recall.vectors import TEMPLATES, Matrix, Row
from spector import Hit, HitList, ScoringProfile
from spector.clock import ManualClock
from spector.providers import Embedder
from spector.recall.abstention import judge
from spector.records import Signals

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
    """``spector.open``, ``remember_many``, ``recall``.

    Attributes:
        mode: a key of ``MODES``, or with ``options`` the name of arms of one's own.
        options: keywords of ``recall`` instead of the mode's; a sorted tuple of pairs.
        template: of the texts that are remembered. Who spoke is told as the memory's role.
        config: fields of ``Config``; a sorted tuple of pairs.
        context_tokens: ask for a ``context`` of so many tokens, and count what it quotes.

    Where a set's items have parts (the turns of a session) the parts are remembered, and an item
    stands where the best of its parts does.
    """

    mode: str = "default"
    options: tuple[tuple[str, Any], ...] | None = None
    template: str = "plain"
    config: tuple[tuple[str, Any], ...] = ()
    context_tokens: int = 0
    path: str = ":memory:"
    needs_vectors: bool = True
    by_parts: bool = True

    @property
    def title(self) -> str:
        return MODES[self.mode][0] if self.mode in MODES else self.mode

    def opened(
        self, store: Store, vectors: Matrix, embedder: Embedder | None = None
    ) -> AbstractContextManager[Callable[[Question, Row], Answer]]:
        return self._opened(store, vectors, embedder)

    @contextmanager
    def _opened(
        self, store: Store, vectors: Matrix, embedder: Embedder | None
    ) -> Iterator[Callable[[Question, Row], Answer]]:
        with self.told(store, vectors, embedder) as mind:
            yield lambda question, vector: mind.answer(self, question, vector)

    @contextmanager
    def told(self, store: Store, vectors: Matrix, embedder: Embedder | None) -> Iterator[Mind]:
        """A memory that has been told a store."""
        clock = ManualClock(store.until())
        with spector.open(
            self.path,
            embedder=embedder,
            dim=vectors.shape[1],
            clock=clock,
            durability="relaxed",
            config=spector.Config(**dict(self.config)),
        ) as memory:
            yield Mind(memory, clock, store, None if embedder else vectors, self.template)


class Mind:
    """A memory with the texts of a store, and which item each memory belongs to."""

    def __init__(
        self,
        memory: spector.Memory,
        clock: ManualClock,
        store: Store,
        vectors: Matrix | None,
        template: str,
    ) -> None:
        """``vectors``: of the texts; None: the memory embeds texts and cues by itself, which it
        must where it changes them."""
        owner = {part.id: item.id for item in store.items for part in item.parts or (item,)}
        named = remember_texts(memory, store.texts(by_parts=True), vectors, template)
        self._memory, self._clock, self._until = memory, clock, store.until()
        self._item_of = {record_id: owner[name] for record_id, name in named.items()}
        self._embeds = vectors is None
        self._depth = K if len(owner) == len(store.items) else K * _PARTS

    def answer(self, arm: Product, question: Question, vector: Row) -> Answer:
        """What an arm's way of asking brings back."""
        options = dict(MODES[arm.mode][1] if arm.options is None else arm.options)
        self._clock.set(question.now or self._until)
        given = None if self._embeds else vector
        start = time.process_time()
        if arm.context_tokens:
            context = self._memory.context(
                question.cue,
                vector=given,
                k=self._depth,
                max_tokens=arm.context_tokens,
                **options,
            )
            hits: Sequence[Hit] = context.hits
            sure, tokens = None, float(context.tokens)
        else:
            found = self._memory.recall(question.cue, vector=given, k=self._depth, **options)
            hits, sure, tokens = found, evidence_of(found), None
        cpu_ms = (time.process_time() - start) * 1e3
        best: dict[str, float] = {}
        for hit in hits:
            for each in (hit.id, *hit.also):
                best.setdefault(self._item_of[each], float(hit.score))
        return Answer(tuple(best)[:K], tuple(best.values())[:K], cpu_ms, sure, tokens)

    def noticed(self, question: Question, cue: str, vector: Row) -> tuple[Signals | None, set[str]]:
        """Signals of a recall, and the items of its ten hits, copies with them."""
        self._clock.set(question.now or self._until)
        hits = self._memory.recall(cue, vector=vector, k=K)
        found = {self._item_of[each] for hit in hits for each in (hit.id, *hit.also)}
        return hits.signals, found


def remember_texts(
    memory: spector.Memory, texts: Sequence[Item], vectors: Matrix | None, template: str
) -> dict[int, str]:
    """Tell a memory these texts; returns the item of each record."""
    rows: Sequence[Row | None] = [None] * len(texts) if vectors is None else list(vectors)
    told = [_as_message(*each, template) for each in zip(texts, rows, strict=True)]
    records = memory.remember_many(told)
    return {record.id: item.id for record, item in zip(records, texts, strict=True)}


def evidence_of(hits: HitList) -> float | None:
    """The probability of an answer by which a context says nothing, 1 for cues that are never met
    with silence; None where nothing was noticed."""
    return None if hits.signals is None else judge(hits.signals, 0.0).probability


def _as_message(item: Item, vector: Row | None, template: str) -> dict[str, Any]:
    return {
        "text": TEMPLATES[template](item),
        "vector": vector,
        "role": item.speaker or None,
        "session_id": item.session or None,
        "event_time": item.time or SOME_DAY,
        "metadata": {"order": item.order},
    }
