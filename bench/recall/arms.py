"""The arms: ways to answer a cue from a store, all given the same texts and vectors."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Protocol

from bench.recall.channels import Formula
from bench.recall.metrics import Answer, ranked
from bench.recall.product import MODES, Product
from bench.recall.shape import Question, Store
from bench.recall.vectors import Matrix, Row
from spector.providers import Embedder

#: how far down the plain arms' answers go; ranks behind 10 show what a reranker could still reach
DEPTH: Final = 50
#: one question to one store
Ask = Callable[[Question, Row], Answer]


class Arm(Protocol):
    """Opens a store for questions; what it holds is let go when the context ends."""

    @property
    def title(self) -> str: ...

    @property
    def template(self) -> str: ...

    #: whether the vectors decide anything; without, a set need not be embedded
    @property
    def needs_vectors(self) -> bool: ...

    #: whether it is given the vectors of the items' parts, where items have parts
    @property
    def by_parts(self) -> bool: ...

    def opened(
        self, store: Store, vectors: Matrix, embedder: Embedder | None = None
    ) -> AbstractContextManager[Ask]: ...


@dataclass(frozen=True, slots=True)
class Plain:
    """A formula over the channels."""

    title: str
    formula: Formula
    by_parts: bool = False

    @property
    def template(self) -> str:
        return self.formula.template

    @property
    def needs_vectors(self) -> bool:
        return bool(self.formula.dense)

    def opened(
        self, store: Store, vectors: Matrix, embedder: Embedder | None = None
    ) -> AbstractContextManager[Ask]:
        channels = self.formula.channels(store, vectors)
        names = [item.id for item in store.items]

        def ask(question: Question, vector: Row) -> Answer:
            start = time.process_time()
            scores = self.formula.scores(channels, question.cue, vector)
            rows = ranked(scores, DEPTH)
            cpu_ms = (time.process_time() - start) * 1e3
            return Answer(
                tuple(names[row] for row in rows),
                tuple(float(scores[row]) for row in rows),
                cpu_ms,
                self.formula.evidence(channels, question.cue, vector),
            )

        return nullcontext(ask)


#: what the issue calls the best simple combination for turns
TURNS: Final = Formula(
    words=0.12,
    near=0.4,
    dense=0.48,
    smooth=0.3,
    centred=True,
    length=1.2,
    lexical_template="dated",
)

ARMS: Final[dict[str, Arm]] = {
    "bm25": Plain("BM25", Formula(words=1)),
    "bm25-near": Plain("BM25 with neighbours", Formula(near=1)),
    "dense": Plain("dense", Formula(dense=1)),
    "dense-long": Plain("dense, centred, length", Formula(dense=1, centred=True, length=1.2)),
    "rrf60": Plain(
        "RRF, K = 60",
        Formula(words=1, dense=1, lexical_scale="rank60", dense_scale="rank60"),
    ),
    "rrf10": Plain(
        "RRF, K = 10",
        Formula(words=1, dense=1, lexical_scale="rank10", dense_scale="rank10"),
    ),
    "zsum": Plain(
        "z(BM25) + z(dense)", Formula(words=1, dense=1, lexical_scale="z", dense_scale="z")
    ),
    "zhalf": Plain(
        "z(BM25) + 0.5 z(dense)", Formula(words=1, dense=0.5, lexical_scale="z", dense_scale="z")
    ),
    "turns": Plain("turn formula", TURNS),
    "spector-context": Product("spector, context of 1,000 tokens", (), context_tokens=1000),
    "spector-selective": Product("spector, selective", (("selective", True),)),
    "spector-always": Product("the same, never silent", (("always", True),), context_tokens=1000),
    **{f"spector-{mode}" if mode != "default" else "spector": Product(mode) for mode in MODES},
}
