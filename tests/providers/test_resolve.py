"""What ``embedder=`` accepts, and that naming an embedder costs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spector import providers as embed
from spector.errors import InvalidInputError
from spector.providers import CachedEmbedder, MiniLMEmbedder, OpenAIEmbedder, resolve
from tests.fakes import FakeEmbedder


def test_names_and_objects_resolve() -> None:
    assert resolve(None) is None
    assert isinstance(resolve("default"), MiniLMEmbedder)
    small, large = resolve("openai"), resolve("openai:text-embedding-3-large")
    assert isinstance(small, OpenAIEmbedder)
    assert isinstance(large, OpenAIEmbedder)
    assert (small.dim, large.dim) == (1536, 3072)
    mine = FakeEmbedder()
    assert resolve(mine) is mine


def test_a_cache_goes_in_front_once() -> None:
    cached = resolve(FakeEmbedder(), cache_entries=10)
    assert isinstance(cached, CachedEmbedder)
    assert resolve(cached, cache_entries=10) is cached
    assert resolve(None, cache_entries=10) is None


@pytest.mark.parametrize("name", ["", "minilm", "openai:", "open-ai", "openai:unheard-of-model"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError):
        resolve(name)


class _NoEmbed:
    model_id, dim, fingerprint = "m", 3, "f"


class _NoFingerprint(FakeEmbedder):
    fingerprint = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self.model_id, self.dim = "m", 3


class _BoolDim(FakeEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.dim = True


class _NegativeDim(FakeEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.dim = -1


@pytest.mark.parametrize(
    ("thing", "names"),
    [
        (_NoEmbed(), "no method embed"),
        (_NoFingerprint(), "fingerprint"),
        (_BoolDim(), "dim"),
        (_NegativeDim(), "positive"),
        (FakeEmbedder, "class FakeEmbedder"),
        (42, "model_id"),
        (lambda texts: [[0.0]], "model_id"),
    ],
)
def test_objects_without_the_protocol_are_refused_by_what_they_lack(
    thing: object, names: str
) -> None:
    with pytest.raises(InvalidInputError, match=names):
        resolve(thing)  # type: ignore[arg-type]


def test_importing_and_resolving_loads_no_model_library(repo: Path) -> None:
    code = (
        "import sys; from spector.providers import resolve; resolve('default').fingerprint; "
        "resolve('openai').fingerprint; "
        "print([m for m in ('onnxruntime', 'openai', 'tokenizers', 'numba', 'httpx', 'httpx2') "
        "if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(repo)},
    )
    assert run.stdout.strip() == "[]"


def test_public_names_exist() -> None:
    assert all(hasattr(embed, name) for name in embed.__all__)
