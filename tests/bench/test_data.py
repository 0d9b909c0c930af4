"""Input of the benchmarks: the same on every run, of the promised shape, and not degenerate."""

from __future__ import annotations

import numpy as np
import pytest

from bench.data import NOW, TOPICS, Corpus, batches, reference, topic


@pytest.fixture
def corpus() -> Corpus:
    rng = np.random.default_rng(3)
    base = rng.standard_normal((7, 48), dtype=np.float32)
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    texts = tuple(f"turn {n}" for n in range(7))
    return Corpus("made up", texts, ("Ana",) * 7, base, ("what?",), base[:1])


def test_vectors_do_not_depend_on_how_they_are_asked_for(corpus: Corpus) -> None:
    whole = corpus.vectors(0, 20_050)
    assert whole.shape == (20_050, 48)
    for start, stop in [(0, 1), (9_990, 10_010), (5, 20_050), (10_000, 20_000), (20_000, 20_001)]:
        np.testing.assert_array_equal(corpus.vectors(start, stop), whole[start:stop])
    assert corpus.vectors(5, 5).shape == (0, 48)


def test_copies_are_unit_vectors_near_their_turn_and_never_equal(corpus: Corpus) -> None:
    vectors = corpus.vectors(0, 7_000)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosines = np.einsum("ij,ij->i", vectors, corpus.base[np.arange(7_000) % 7])
    assert 0.90 < cosines.mean() < 0.95
    assert len(np.unique(vectors[::7], axis=0)) == 1_000


def test_a_topic_selects_one_percent_and_a_reference_one_record(corpus: Corpus) -> None:
    records = corpus.records(0, 1_000, 1_000)
    assert sum(topic(7) in record["tags"] for record in records) == 1_000 // TOPICS
    assert sum(reference(7) in record["text"] for record in records) == 1
    times = [record["event_time"] for record in records]
    assert times == sorted(times)
    assert times[-1] < NOW


def test_batches_cover_everything_once() -> None:
    assert list(batches(10, 4)) == [(0, 4), (4, 8), (8, 10)]
    assert list(batches(0, 4)) == []
