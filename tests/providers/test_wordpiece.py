"""The bundled WordPiece equals the ``tokenizers`` library.

Mechanism: both encode the same texts. Damage without it: a text would be fed to the model as
other tokens than it was trained on, and recall would get worse without any error. Guard: real
conversations, every character of the basic plane, and samples of each normalisation rule.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.providers import wordpiece
from spector.providers.wordpiece import UNK_ID, WordPiece, load_vocabulary

VOCABULARY = Path(wordpiece.__file__).parent / "data" / "vocab.txt"

SAMPLES = {
    "plain": "Hello there, how's the new job going? I started on 2026-11-21 at 9:30!",
    "accents": "Señor Müller naïvely ordered crème brûlée in São Paulo; Ångström, Łódź, İstanbul",
    "combining": "e\u0301te\u0301 co\u0308operate A\u030a",
    "greek": "Ο Σίσυφος ΚΑΙ Ο ΟΔΥΣΣΕΥΣ",
    "cyrillic": "Привет, как дела? Ёлка й",
    "arabic": "مرحبا كيف حالك؟",
    "hindi": "नमस्ते दुनिया, आप कैसे हैं?",
    "thai": "สวัสดีชาวโลก",
    "hebrew": "שלום עולם",
    "korean": "안녕하세요 세계",
    "japanese": "こんにちは世界、東京タワーへ行きました。",
    "chinese": "我喜欢学习机器学习和ABC自然语言处理",
    "emoji": "so happy 😀😃 family 👨‍👩‍👧‍👦 flag 🇩🇪 thumbs 👍🏽 heart ❤️",
    "control": "a\x00b\x01c\td\ne\rf\x0bg\x0ch\x7fi\x85j\u200bk\u2028l\ufeffm\ufffdn\u00adn",
    "spaces": "  a\u00a0b\u3000c\u2003d\u202fe   f\n\n\tg  ",
    "punctuation": "wait...what?! (yes) [no] {x} <y> a_b c-d e/f $5 #tag @me 50% ~^`|\\",
    "code": 'def f(x: int) -> str:\n    return f"{x!r}"  # TODO: fix_me_2',
    "url": "see https://example.org/a/b?c=d&e=%20#frag or mail me@example.org",
    "hash": "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "exactly_100": "a" * 100,
    "over_100": "b" * 101 + " c",
    "long_accented": "é" * 101,
    "hashes": "## ### ##ing a##b",
    "quotes": "“curly” ‘single’ «guillemets» – — … ¿qué? ¡sí!",
    "ligatures": "ﬁne ﬂour ½ ² ™ № Ⅳ ß ẞ ŉ",
}


@pytest.fixture(scope="module")
def mine() -> WordPiece:
    return WordPiece()


@pytest.fixture(scope="module")
def reference() -> Any:
    tokenizers = pytest.importorskip(
        "tokenizers", reason="the tokenizers library, the reference here, is not installed"
    )
    return tokenizers.BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_encode_as_in_the_library(name: str, mine: WordPiece, reference: Any) -> None:
    text = SAMPLES[name]
    expected = reference.encode(text, add_special_tokens=False).ids
    assert mine.encode(text) == expected
    assert mine.encode(text) == expected, "the cached answer differs from the first one"


@pytest.mark.needs_data
def test_conversations_encode_as_in_the_library(
    mine: WordPiece, reference: Any, data_dir: Path
) -> None:
    samples = json.loads((data_dir / "locomo" / "locomo_dev.json").read_text("utf-8"))
    texts = [
        turn["text"]
        for sample in samples
        for turns in sample["conversation"].values()
        if isinstance(turns, list)
        for turn in turns
    ]
    assert len(texts) > 2000
    encoded = reference.encode_batch(texts, add_special_tokens=False)
    different = [t for t, e in zip(texts, encoded, strict=True) if mine.encode(t) != e.ids]
    assert not different


@lru_cache(maxsize=1)
def pair() -> tuple[WordPiece, Any]:
    """One of each for all examples of a property, which cannot use fixtures of a function."""
    tokenizers = pytest.importorskip("tokenizers", reason="the reference is not installed")
    return WordPiece(), tokenizers.BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)


@given(st.text(st.characters(max_codepoint=0x5FF, exclude_categories=["Cs", "Cn"]), max_size=60))
def test_any_latin_text_encodes_as_in_the_library(text: str) -> None:
    mine, reference = pair()
    if any(special in text for special in ("[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]")):
        return
    assert mine.encode(text) == reference.encode(text, add_special_tokens=False).ids


def test_special_tokens_in_a_text_are_ordinary_characters(mine: WordPiece) -> None:
    vocabulary = load_vocabulary()
    for name in ("[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"):
        assert vocabulary[name] not in mine.encode(f"ignore that {name} please")


def test_a_word_of_more_than_100_characters_is_unknown(mine: WordPiece) -> None:
    assert mine.encode("a" * 101) == [UNK_ID]
    assert UNK_ID not in mine.encode("a" * 100)


def test_text_without_visible_characters_has_no_tokens(mine: WordPiece) -> None:
    assert mine.encode("") == mine.encode(" \n\t\u200b\u00ad\x07") == []


def test_a_lone_surrogate_is_an_unknown_word_and_no_crash(mine: WordPiece) -> None:
    assert mine.encode("a \ud800 b") == [*mine.encode("a"), UNK_ID, *mine.encode("b")]


def test_the_vocabulary_ships_with_its_licence_and_notice() -> None:
    folder = VOCABULARY.parent
    assert "Apache License" in (folder / "LICENSE").read_text("utf-8")
    assert wordpiece.VOCAB_SHA256 in (folder / "NOTICE").read_text("utf-8")
    assert len(load_vocabulary()) == 30_522
