"""Word tables of languages: one folder of data files each, read when first needed and checked."""

from __future__ import annotations

from spector.language.tables.detection import (
    common_share,
    in_languages,
    language_of,
    languages_applied,
    only_language,
)
from spector.language.tables.files import (
    FOLDER,
    PARTS,
    TableError,
    aliases_of_relations,
    grammar_table,
    languages,
    pattern_rows,
    patterns_of,
    read_table,
    table_of,
    territories,
    word_lists,
)
from spector.language.tables.lexicon import Lexicon, Match, Word, lexicon_of, words_of
