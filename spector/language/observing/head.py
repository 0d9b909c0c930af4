"""Trained heads that say what a message is worth: whether it has content, how much it matters, and
whether it states what it says.

One reads a text and its vector and belongs to one embedder; the other reads the text alone, for
every other embedder. Both are linear, over signs of the surface (length, marks, numbers, capitals,
person) and hashed words, and were trained on messages of many hands (bench/judge/heads.py).
"""

from __future__ import annotations

import itertools
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.language.statements import FIRST_PERSON, ends_with_question, is_of_time, says_i
from spector.language.words import is_stop, plain
from spector.language.worth import NUMBER_WORDS
from spector.records import MessageVerdict

#: of weights and data together
HEADS_VERSION: Final = 1
HEADS: Final = Path(__file__).parent / "data" / "heads.npz"
#: importance of what has content and hardly matters
_LEAST: Final = 0.15
#: buckets of hashed words and pairs of words
_BUCKETS: Final = 512
#: words that are read, and characters
_MOST_WORDS, MOST_CHARS = 400, 4000
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+|[^\w\s]")
_ADDRESS: Final = re.compile(r"\w@\w|://|\w[/\\]\w|[a-z][A-Z]")
_SIGN: Final = re.compile(r"[^\w\s.,!?;:'\"()’“”-]")
#: words at the beginning that count once more
_FIRST: Final = 2

F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class MessageHead:
    """Weights of one head.

    Attributes:
        weights: (d, 3) f32, with the means and scales of the features taken in.
        bias: (3,) f32.
        drops_at: probability of content below which a message may be left out.
        doubts_at: the same, below which it is kept in doubt.
        states_at: probability of being meant below which a message states nothing.
        fingerprint: of the embedder; "" for the head that needs none.
    """

    weights: F32
    bias: F32
    drops_at: float
    doubts_at: float
    states_at: float
    fingerprint: str = ""

    def shares(self, text: str, vector: F32 | None = None) -> F32:
        """(3,) probabilities: it has content; it matters much, if it has; it is meant: neither
        taken back or in jest, nor the words of others, nor an example."""
        # not through BLAS, which ends the process where it has no memory for its threads
        odds = np.einsum("i,ij->j", features_of(text, vector), self.weights) + self.bias
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -30, 30))), np.float32)

    def verdict(self, text: str, vector: F32 | None = None) -> MessageVerdict:
        """Content and importance of a text; its class is read by rules.

        Args:
            vector: (d,) f32 of the embedder that the head was trained on, if it was on one.
        """
        content, much, meant = map(float, self.shares(text, vector))
        return MessageVerdict(
            content=content,
            importance=float(importance_of(content, much)),
            states=meant >= self.states_at,
            is_cut=len(text) > MOST_CHARS,
        )


def importance_of(content: Any, much: Any) -> Any:
    """Importance in 0..1: what hardly has content is worth little, whatever it would be."""
    return content * content * (_LEAST + (1.0 - _LEAST) * much)


def features_of(text: str, vector: F32 | None = None) -> F32:
    """(d,) f32: the vector if there is one, signs of the surface, hashed words."""
    text = text[:MOST_CHARS]
    folded = plain(text)
    parts = [_surface(text, folded), _hashed(folded)]
    return np.concatenate(parts if vector is None else [np.asarray(vector, np.float32), *parts])


def _surface(text: str, folded: str) -> F32:
    """Signs of a text. Its length is none: short messages of the hands have no content, those of
    other people do."""
    words = [each for each in _TOKEN.findall(text) if each[0].isalpha()]
    low = [each for each in _TOKEN.findall(folded) if each[0].isalnum()]
    numbers = sum(each[0].isdigit() for each in low) + len(NUMBER_WORDS.findall(folded))
    capitals = sum(each[0].isupper() for each in words[1:])
    persons = len(FIRST_PERSON.findall(folded)) + says_i(folded)
    stops, times = sum(map(is_stop, low)), sum(map(is_of_time, low))
    size = max(1, len(low))
    return np.array(
        [
            np.log1p(numbers), np.log1p(times), np.log1p(capitals), np.log1p(persons),
            numbers > 0, times > 0, capitals > 0, persons > 0, stops / size, "?" in text,
            ends_with_question(text), "!" in text, "," in text, ":" in text, "\n" in text,
            any(c in "\"“”" for c in text), _ADDRESS.search(text) is not None,
            _SIGN.search(text) is not None, text[:1].isupper(), sum(map(len, low)) / size,
        ],
        np.float32,
    )  # fmt: skip


def _hashed(folded: str) -> F32:
    """(buckets,) counts of words, of pairs of words and of the first words, on a log scale, even."""
    words = ["0" if each[0].isdigit() else each for each in _TOKEN.findall(folded)[:_MOST_WORDS]]
    pairs = itertools.pairwise(["^", *words, "$"])
    pieces = [f"w{each}" for each in words] + [f"b{one} {other}" for one, other in pairs]
    pieces += [f"f{each}" for each in words[:_FIRST]]
    out = np.zeros(_BUCKETS, np.float32)
    for each in pieces:
        out[zlib.crc32(each.encode("utf-8", "surrogatepass")) % _BUCKETS] += 1
    out = np.log1p(out)
    return np.asarray(out / max(1e-6, float(np.sqrt((out * out).sum()))), np.float32)


@lru_cache(maxsize=1)
def load_heads() -> tuple[MessageHead, MessageHead, Mapping[str, Any]]:
    """The head that reads texts alone, the one that reads vectors beside them, and what they are
    made of: ``version``, ``sha256`` of the data, ``hands``."""
    with np.load(HEADS, allow_pickle=False) as stored:
        about: dict[str, Any] = json.loads(bytes(stored["about"]).decode())
        alone, beside = (
            MessageHead(
                stored[f"{name}_weights"].astype(np.float32),
                stored[f"{name}_bias"].astype(np.float32),
                **about[name],
            )
            for name in ("alone", "beside")
        )
    return alone, beside, about


def head_for(fingerprint: str | None) -> MessageHead:
    """The head for texts with a vector of this embedder; None for texts alone."""
    alone, beside, _ = load_heads()
    return beside if beside.fingerprint == fingerprint else alone
