"""Deterministic keys of facts, concepts and entities.

A fact's key is a hash of its three parts, so two stores give one fact one key. A concept's key
folds case, accents and what separates words: ``coffee_mug`` and ``CoffeeMug`` are one concept.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from spector.language.words.folding import compose
from spector.language.words.unicode import plain

_SPACE: Final = re.compile(r"\s+")
#: where a word begins in what `_cases` gives
_CAMEL: Final = re.compile(r"(?<=[a0])(?=A)|(?<=A)(?=Aa)")
_BETWEEN: Final = re.compile(r"[\s_\-./]+")
#: words that tie others together and name nothing, folded; English, then Turkish
STOP_WORDS: Final = frozenset(
    """a an and are as at be by for from in into is it its of off on onto or over than that the
    their then this to under up was were with
    bir bu da de degil gibi icin ile ise ki mi mu ne o su ve veya ya""".split()
)


def fact_key(subject: str, predicate: str, object: str) -> str:
    """32 hex digits of SHA-256 over ``subject|predicate|object``.

    The parts are put into NFC, trimmed, their white space folded to one space and lower-cased; a
    ``|`` or ``\\`` in a part is escaped, so that no two triples share a spelling.
    """
    parts = (_SPACE.sub(" ", unicodedata.normalize("NFC", each).strip()) for each in
             (subject, predicate, object))  # fmt: skip
    line = "|".join(each.lower().replace("\\", "\\\\").replace("|", "\\|") for each in parts)
    return hashlib.sha256(line.encode()).hexdigest()[:32]


def folded(name: str) -> str:
    """A name as names are compared: no case, no accents, single spaces."""
    return _SPACE.sub(" ", plain(name)).strip()


def normalize_tokens(text: str) -> list[str]:
    """The words of an identifier, lower-cased, without stop words; accents stay.

    ``navigate_to_kitchen`` gives ``navigate``, ``kitchen``; ``graspObject`` gives ``grasp``,
    ``object``. Split at white space, ``_ - . /`` and inside camel case.
    """
    words = ((compose(each.lower()), folded(each)) for each in _pieces(text))
    return [word for word, key in words if key and key not in STOP_WORDS]


def concept_key(name: str) -> str:
    """A concept's name without case, accents and what separates its words."""
    return "".join(map(folded, _pieces(name)))


def _pieces(text: str) -> Iterator[str]:
    """The parts of an identifier, also of one in camel case and with letters of any alphabet."""
    for each in _BETWEEN.split(text):
        ends = [*(found.start() for found in _CAMEL.finditer(_cases(each))), len(each)]
        for start, end in zip((0, *ends), ends, strict=False):
            yield each[start:end]


def _cases(text: str) -> str:
    """``A`` for a capital, ``a`` for a small letter, ``0`` for a digit, one for each character."""
    return "".join(
        "A" if each.isupper() else "a" if each.islower() else "0" if each.isdigit() else each
        for each in text
    )


def slug(name: str) -> str:
    """A name as it stands in an entity's URI: folded, other signs as one ``-``."""
    return re.sub(r"[\W_]+", "-", folded(name)).strip("-")


def entity_uri(name: str, sort: str) -> str:
    """``entity://person/ada-lovelace``: the deterministic address of an entity."""
    return f"entity://{sort}/{slug(name)}"
