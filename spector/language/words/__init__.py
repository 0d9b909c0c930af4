"""Letters and words: folding, stems, stop words."""

from __future__ import annotations

from spector.language.words.analysis import (
    SPACELESS,
    Analysed,
    Term,
    analyse,
    cue_terms,
    field_terms,
    fingerprint,
    is_identifier,
    is_sign,
    is_stop,
    term_hash,
    words,
)
from spector.language.words.folding import (
    Token,
    composed,
    is_turkish,
    tokens,
    wording_of,
)
from spector.language.words.stemming import (
    ENGLISH,
    TURKISH,
)
from spector.language.words.unicode import (
    compatible,
    normalize,
    plain,
)

__all__ = [
    "ENGLISH",
    "SPACELESS",
    "TURKISH",
    "Analysed",
    "Term",
    "Token",
    "analyse",
    "compatible",
    "composed",
    "cue_terms",
    "field_terms",
    "fingerprint",
    "is_identifier",
    "is_sign",
    "is_stop",
    "is_turkish",
    "normalize",
    "plain",
    "term_hash",
    "tokens",
    "wording_of",
    "words",
]
