"""The cautious token count: windows cover the text, fit the limit, and overlap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.providers.byte_pairs import count_tokens, split_windows


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
