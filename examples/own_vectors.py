"""Bring your own vectors: no model is loaded, and the store lives in memory."""

from __future__ import annotations

import numpy as np

import spector

DIM = 64


def main() -> None:
    rng = np.random.default_rng(7)
    topics = rng.standard_normal((3, DIM))
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        for n in range(300):
            vector = topics[n % 3] + 0.3 * rng.standard_normal(DIM)
            memory.remember(
                f"observation {n}", vector=vector, tags=[f"topic-{n % 3}"], metadata={"n": n}
            )

        near = memory.recall(vector=topics[1], k=20)
        print(near[0].text, f"{near[0].score:.3f}", near.stats)
        assert {hit.tags for hit in near} == {("topic-1",)}

        late = memory.recall(vector=topics[1], k=5, where={"n": {"gte": 200}})
        assert len(late) == 5
        assert all(hit.metadata["n"] >= 200 for hit in late)


if __name__ == "__main__":
    main()
