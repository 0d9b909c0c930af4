"""A small store, a small set, and an embedder that needs no model: for the tests of the harness."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from bench.recall.shape import DataSet, Item, Question, Store

DAY = datetime(2024, 5, 8, 12, 0, tzinfo=UTC)
TEXTS = ("The cat sat", "A dog barked loudly", "Ships sail", "The bank closed early today")


class Recording:
    """An embedder that counts: unit vectors by the hash of the text."""

    model_id = "recording"
    dim = 8
    fingerprint = "recording-1"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.seen += texts
        rows = np.stack(
            [np.random.default_rng(list(text.encode())).standard_normal(self.dim) for text in texts]
        )
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def a_store(name: str = "one", texts: Sequence[str] = TEXTS) -> Store:
    return Store(
        name,
        tuple(
            Item(f"t{n}", text, "Ann", f"s{n // 2}", DAY + timedelta(minutes=n), n)
            for n, text in enumerate(texts)
        ),
    )


def a_set() -> DataSet:
    stores = (a_store("one"), a_store("two", ("Rain fell", "Snow fell", "Wind blew", "Fog rose")))
    asked = (
        Question("q0", "one", "which cat sat?", "x", ("t0",), DAY + timedelta(days=1), "one"),
        Question("q1", "one", "dog and bank", "y", ("t1", "t3"), DAY + timedelta(days=1), "one"),
        Question("q2", "two", "what about the snow", "x", ("t1",), DAY + timedelta(days=1), "two"),
        Question("q3", "two", "nobody knows", "x", (), DAY + timedelta(days=1), "two"),
    )
    return DataSet("locomo", "made up", stores, asked)
