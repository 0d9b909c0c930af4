"""What requests have in common, by an embedder that is asked once or whose answer is known.

Mechanism: a constant stands for half a second of embedding. Damage: a model that changes, and a
constant that does not. Guard: both are compared, and the constant is bound to the fingerprint.
"""

from __future__ import annotations

import numpy as np
import pytest

from spector.embed import CachedEmbedder, MiniLMEmbedder
from spector.read import wishes
from spector.read.wishes import REQUESTS, Wishes
from tests.fakes import FailingEmbedder, FakeEmbedder


def test_what_is_kept_is_what_the_offline_embedder_says(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = MiniLMEmbedder()
    assert embedder.fingerprint in wishes._KNOWN
    kept = Wishes(embedder).mean()
    monkeypatch.setattr(wishes, "_KNOWN", {})
    made = Wishes(embedder).mean()
    assert kept is not None
    assert made is not None
    assert kept.dtype == np.float32
    # another processor may round its integers otherwise
    assert float(np.abs(kept - made).max()) < 1e-2
    assert kept @ made / np.linalg.norm(kept) / np.linalg.norm(made) > 0.999


def test_another_model_is_asked_once_and_past_the_cache() -> None:
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner)
    made = Wishes(cached)
    first = made.mean()
    assert first is not None
    assert made.mean() is first
    assert inner.calls == [list(REQUESTS)]
    assert cached.stats().entries == 0
    assert np.allclose(first, inner.embed(REQUESTS).mean(axis=0), atol=1e-6)


def test_without_a_model_there_is_nothing_to_take_out() -> None:
    assert Wishes(None).mean() is None


def test_a_model_that_fails_fails_no_recall_and_is_asked_again() -> None:
    broken = FailingEmbedder(fail_from=0)
    made = Wishes(broken)
    assert made.mean() is None
    broken.fail_from = 9
    assert made.mean() is not None
