"""The cache in front of an embedder: what it keeps, for how long, and that it never lies."""

from __future__ import annotations

import numpy as np
import pytest

from spector.errors import EmbeddingError
from spector.providers import CachedEmbedder
from tests.fakes import FailingEmbedder, FakeEmbedder
from tests.threads import at_once


class Seconds:
    """A monotonic clock that stands still until moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_second_question_does_not_reach_the_model() -> None:
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner)
    first, second = cached.embed(["tea", "milk"]), cached.embed(["milk", "tea"])
    assert inner.calls == [["tea", "milk"]]
    assert np.array_equal(first, second[::-1])
    assert np.array_equal(first, FakeEmbedder().embed(["tea", "milk"]))
    stats = cached.stats()
    assert (stats.hits, stats.misses, stats.entries, stats.hit_rate) == (2, 2, 2, 0.5)


def test_only_misses_are_embedded_each_once_and_in_one_call() -> None:
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner)
    cached.embed(["a"])
    found = cached.embed(["b", "a", "c", "b", "a", "c"])
    assert inner.calls == [["a"], ["b", "c"]]
    assert np.array_equal(found, FakeEmbedder().embed(["b", "a", "c", "b", "a", "c"]))
    assert cached.stats().misses == 3
    assert cached.stats().hits == 4


def test_the_least_recently_used_vector_goes_first() -> None:
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner, max_entries=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed([text])
    assert [call[0] for call in inner.calls] == ["a", "b", "c", "b"]
    assert cached.stats().entries == 2


def test_a_batch_larger_than_the_cache_is_answered_whole() -> None:
    cached = CachedEmbedder(FakeEmbedder(), max_entries=3)
    texts = [f"text {n}" for n in range(10)]
    assert np.array_equal(cached.embed(texts), FakeEmbedder().embed(texts))
    assert cached.stats().entries == 3


def test_a_vector_lives_for_its_time_and_no_longer() -> None:
    clock, inner = Seconds(), FakeEmbedder()
    cached = CachedEmbedder(inner, ttl_s=60, clock=clock)
    cached.embed(["a"])
    clock.now += 59.9
    cached.embed(["a"])
    assert len(inner.calls) == 1
    clock.now += 0.1
    cached.embed(["a"])
    assert len(inner.calls) == 2, "a hit must not prolong a life"


def test_another_fingerprint_is_another_vector() -> None:
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner)
    cached.embed(["a"])
    inner.fingerprint = "fake:other-weights"
    cached.embed(["a"])
    assert len(inner.calls) == 2


def test_a_caller_who_changes_an_answer_does_not_change_the_cache() -> None:
    cached = CachedEmbedder(FakeEmbedder())
    for _ in range(2):
        answer = cached.embed(["a"])
        expected = FakeEmbedder().embed(["a"])
        assert np.array_equal(answer, expected)
        answer[:] = 0


def test_a_failure_is_passed_on_and_not_remembered() -> None:
    inner = FailingEmbedder(fail_from=1)
    cached = CachedEmbedder(inner)
    cached.embed(["a"])
    with pytest.raises(EmbeddingError):
        cached.embed(["a", "b"])
    assert cached.stats().entries == 1
    inner.fail_from = 99
    assert np.array_equal(cached.embed(["b"]), FakeEmbedder().embed(["b"]))


def test_threads_may_share_a_cache() -> None:
    cached = CachedEmbedder(FakeEmbedder(), max_entries=5)
    texts = [f"text {n}" for n in range(12)]
    expected = FakeEmbedder().embed(texts)
    wrong: list[str] = []

    def work(offset: int) -> None:
        for n in range(200):
            i = (n * 7 + offset) % len(texts)
            if not np.array_equal(cached.embed([texts[i]])[0], expected[i]):
                wrong.append(texts[i])

    at_once(work, range(4))
    assert not wrong
    stats = cached.stats()
    assert stats.entries <= 5
    assert stats.hits + stats.misses == 800
