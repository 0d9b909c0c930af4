"""Words of texts: Unicode folding, tokens, stems, stop words, terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.language.words.analysis import (
        SPACELESS,
        Analysis,
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
        compose,
        concept_key,
        entity_uri,
        fact_key,
        folded,
        is_turkish,
        normalize_nfkc,
        normalize_tokens,
        normalize_unicode,
        plain,
        slug,
        tokens,
        within,
        wording_of,
    )
    from spector.language.words.stemming import ENGLISH, ENGLISH_STOP, TURKISH, TURKISH_STOP


__getattr__ = on_first_use(__name__)
