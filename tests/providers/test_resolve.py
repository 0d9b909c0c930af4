"""What ``embedder=`` accepts, and that naming an embedder costs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.errors import EmbeddingError, InvalidInputError, LLMError
from spector.providers import CachedEmbedder, MiniLMEmbedder, OpenAIEmbedder, resolve, resolve_llm
from spector.providers.token_counts import count_tokens, split_windows
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


@pytest.mark.parametrize("name", ["openai", "openai:text-embedding-3-large"])
def test_openai_without_its_client_names_the_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    for resolved, error in ((resolve, EmbeddingError), (resolve_llm, LLMError)):
        with pytest.raises(error, match="not installed") as caught:
            resolved(name)
        assert caught.value.hint == 'pip install "spector-memory[openai]"'


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


# -- The cautious token count: windows cover the text, fit the limit, and overlap ------------------


@pytest.mark.parametrize(
    ("text", "real_tokens"),
    # counts of cl100k, noted from its published tokenizer's behaviour: a word, three digits, a
    # punctuation mark each
    [("Hello world", 2), ("The quick brown fox jumps over the lazy dog.", 10), ("1234567", 3)],
)
def test_prose_is_never_counted_too_low(text: str, real_tokens: int) -> None:
    assert real_tokens <= count_tokens(text) <= 3 * real_tokens


def test_keys_and_scripts_count_by_letter_and_by_byte() -> None:
    assert count_tokens("qzjxkvwqpzmxnvbqhtryplk") == 23
    assert count_tokens("日本語") == 9
    assert count_tokens("{}[]()") == 6


@given(st.text(max_size=400), st.integers(70, 200), st.integers(0, 60))
def test_windows_cover_the_text_and_fit(text: str, limit: int, overlap: int) -> None:
    windows = split_windows(text, limit=limit, overlap=overlap)
    covered = 0
    for window in windows:
        assert len(windows) == 1 or count_tokens(window) <= limit + 1
        at = text.find(window, max(0, covered - len(window)))
        assert at >= 0
        assert at <= covered or text[covered:at].isspace()
        covered = at + len(window)
    assert not text[covered:].strip()


def test_neighbours_share_about_the_overlap() -> None:
    text = " ".join(f"w{n}" for n in range(1000))
    windows = split_windows(text, limit=300, overlap=60)
    for left, right in zip(windows, windows[1:], strict=False):  # noqa: RUF007
        shared = next(n for n in range(len(right), 0, -1) if left.endswith(right[:n]))
        assert 40 <= count_tokens(right[:shared]) <= 61
