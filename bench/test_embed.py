"""The default embedder: one cue at a time, and texts in bulk on one core and on all."""

from __future__ import annotations

import os
from typing import Any

import pytest

from bench.data import Corpus
from bench.machine import one_core
from bench.measure import Row, seconds_of

CORES = len(os.sched_getaffinity(0))


@pytest.fixture(scope="module")
def single() -> Any:
    """An embedder of one thread, loaded and warm on one core."""
    from spector.providers.minilm import MiniLMEmbedder

    embedder = MiniLMEmbedder(threads=1)
    with one_core():
        embedder.embed(["warm up"])
    return embedder


def test_cue(row: Row, single: Any, corpus: Corpus, pinned: int) -> None:
    row.calls(
        lambda text: single.embed([text]),
        [(text,) for text in corpus.cue_texts[:200]],
        at_most=200,
        budget_s=10,
        id="embed/embed.cue",
        title="embedding one cue (a question), no cache",
        params={"dim": corpus.dim, "threads": 1},
    )


@pytest.mark.parametrize("threads", sorted({1, CORES}))
def test_bulk(row: Row, corpus: Corpus, full: bool, threads: int) -> None:
    from spector.providers.minilm import MiniLMEmbedder

    # every n-th, so that all dialogues and lengths are in
    texts = list(corpus.texts[:: 2 if full else 10])

    def measure() -> None:
        embedder = MiniLMEmbedder(threads=threads)
        embedder.embed(["warm up"])
        row.rounds(
            lambda: embedder.embed(texts),
            rounds=3,
            id=f"embed/embed.bulk.{threads}",
            title="embedding turns of conversation in bulk",
            unit="texts/s",
            work=len(texts),
            params={"texts": len(texts), "dim": corpus.dim, "threads": threads},
        )

    if threads > 1:
        measure()
        return
    with one_core():
        measure()
        # the plain loop over the same texts, in the same run
        embedder = MiniLMEmbedder(threads=1)
        some = texts[:200]
        embedder.embed(some[:1])
        spent = seconds_of(lambda: [embedder.embed([text]) for text in some])
        row.note(one_at_a_time_per_s=len(some) / spent)
