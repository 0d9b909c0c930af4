"""The reusable suites, run over the tiers and embedders that there are, and over broken ones.

Mechanism: a suite is a class; pytest runs what is subclassed. Damage without it: a tier of a user
loses records that our own tests would have found. Guard: every embedder and tier of ours passes,
and each planted fault is caught by the test that is named.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector import CachedEmbedder, Embedder, MiniLMEmbedder, OpenAIEmbedder, PartitionedTier
from spector.config import Config
from spector.store.partitions import Partition
from spector.testing import EmbedderTests, TierTests
from spector.tiers import TierStore, default_tiers
from tests.fakes import FakeEmbedder
from tests.providers.wire import WireServer
from tests.tiers.flash import FlashTier, SparkTier


class TestFakeEmbedder(EmbedderTests):
    def make_embedder(self) -> Embedder:
        return FakeEmbedder()


class TestMiniLMEmbedder(EmbedderTests):
    def make_embedder(self) -> Embedder:
        return MiniLMEmbedder(threads=1)


class TestCachedEmbedder(EmbedderTests):
    def make_embedder(self) -> Embedder:
        return CachedEmbedder(FakeEmbedder())


class TestOpenAIEmbedder(EmbedderTests):
    def setup_method(self) -> None:
        self.server = WireServer()
        self.server.__enter__()

    def teardown_method(self) -> None:
        self.server.__exit__(None, None, None)

    def make_embedder(self) -> Embedder:
        return OpenAIEmbedder(
            model="house-model", dimensions=8, api_key="test-key", base_url=self.server.url
        )


class TestFlashTier(TierTests):
    def make_tier(self) -> TierStore:
        return FlashTier()


class TestSparkTier(TierTests):
    def make_tier(self) -> TierStore:
        return SparkTier()


class _OurTierTests(TierTests):
    """Our own tiers are in every store already."""

    def open(self, path: Path) -> spector.Memory:
        clock = spector.ManualClock("2026-03-01T12:00:00Z")
        return spector.open(
            path,
            embedder=None,
            dim=8,
            clock=clock,
            config=Config(
                working_capacity=64,
                episodic_capacity=3,
                semantic_capacity=5,
                procedural_capacity=7,
            ),
        )


def _tier_called(name: str) -> TierStore:
    return next(tier for tier in default_tiers() if tier.name == name)


class TestWorkingTier(_OurTierTests):
    def make_tier(self) -> TierStore:
        return _tier_called("working")


class TestEpisodicTier(_OurTierTests):
    def make_tier(self) -> TierStore:
        return _tier_called("episodic")


class TestSemanticTier(_OurTierTests):
    def make_tier(self) -> TierStore:
        return _tier_called("semantic")


class TestProceduralTier(_OurTierTests):
    def make_tier(self) -> TierStore:
        return _tier_called("procedural")


# -- planted faults ------------------------------------------------------------------------------


class _Zeros(FakeEmbedder):
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.zeros((len(texts), self.dim), dtype=np.float32)


class _Doubles(FakeEmbedder):
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed(texts).astype(np.float64)  # type: ignore[return-value]


class _Neighbours(FakeEmbedder):
    """Padding leaks: a vector depends on how many texts are embedded with it."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = super().embed(texts) + np.float32(0.01 * len(texts))
        return found / np.linalg.norm(found, axis=1, keepdims=True)


class _Drifting(FakeEmbedder):
    """Weights that differ from one process to the next under one fingerprint."""

    made = 0

    def __init__(self) -> None:
        type(self).made += 1
        super().__init__(seed=self.made)
        self.fingerprint = "the same"


class _Nameless(FakeEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.model_id = ""


@pytest.mark.parametrize(
    ("broken", "test"),
    [
        (_Zeros, "test_vectors_are_unit_float32_rows"),
        (_Zeros, "test_a_blank_text_is_an_error_or_a_vector_but_never_zeros"),
        (_Doubles, "test_vectors_are_unit_float32_rows"),
        (_Neighbours, "test_a_vector_depends_on_its_own_text_only"),
        (_Drifting, "test_one_fingerprint_means_the_same_vectors"),
        (_Nameless, "test_the_attributes_describe_the_model"),
    ],
)
def test_a_broken_embedder_is_caught(broken: Callable[[], Embedder], test: str) -> None:
    class Suite(EmbedderTests):
        def make_embedder(self) -> Embedder:
            return broken()

    with pytest.raises(AssertionError):
        getattr(Suite(), test)()


class _Hiding(FlashTier):
    """Says of every partition that it holds nothing of the time asked for."""

    def may_hold(self, partition: Partition, min_ms: int, max_ms: int) -> bool:
        return False


class _Losing(PartitionedTier):
    """Calls itself volatile, and so loses what it should keep; the test is told otherwise."""

    name, code, volatile = "losing", 42, True


class _NotVolatile(_Losing):
    volatile = False


@pytest.mark.parametrize(
    ("attached", "claimed", "test"),
    [
        (_Hiding, _Hiding, "test_a_time_range_finds_exactly_the_records_in_it"),
        (_Losing, _NotVolatile, "test_a_restart_keeps_all_records_or_none_of_a_volatile_tier"),
    ],
)
def test_a_broken_tier_is_caught(
    attached: Callable[[], TierStore], claimed: Callable[[], TierStore], test: str, tmp_path: Path
) -> None:
    class Suite(TierTests):
        def make_tier(self) -> TierStore:
            return claimed()

        def open(self, path: Path) -> spector.Memory:
            clock = spector.ManualClock("2026-03-01T12:00:00Z")
            return spector.open(path, embedder=None, dim=8, clock=clock, extra_tiers=[attached()])

    with pytest.raises(AssertionError):
        getattr(Suite(), test)(tmp_path)


@pytest.mark.parametrize("suite", [EmbedderTests, TierTests])
def test_a_suite_without_a_subject_says_what_to_override(suite: type) -> None:
    with pytest.raises(NotImplementedError, match=r"override make_(embedder|tier)\(\)"):
        (suite().make_embedder if suite is EmbedderTests else suite().make_tier)()


def test_the_kit_does_not_need_pytest() -> None:
    code = "import sys, spector.testing; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
