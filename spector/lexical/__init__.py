"""The inverted index of words: postings in memory, and their files."""

from __future__ import annotations

from spector.lexical.aliases import (
    Span,
    folded,
    is_slip,
    name_words,
    near_terms,
    spans,
)
from spector.lexical.block import (
    LEXICAL_DTYPE,
    LEXICAL_HEADER_BYTES,
    Block,
    pack_block,
    read_block,
    size_by_header,
)
from spector.lexical.files import (
    EXTENT_DTYPE,
    MOST_BLOCKS,
    NAMED_DTYPE,
    ROWS_DTYPE,
    SavedRows,
    blocks_named,
    list_size_by_header,
    pack_rows,
    read_rows,
)
from spector.lexical.image import (
    Kept,
    kept_of,
    stored,
)
from spector.lexical.index import (
    WordIndex,
)
from spector.lexical.source import (
    Extent,
    Known,
)
from spector.lexical.view import (
    Lookup,
    WordView,
)

__all__ = [
    "EXTENT_DTYPE",
    "LEXICAL_DTYPE",
    "LEXICAL_HEADER_BYTES",
    "MOST_BLOCKS",
    "NAMED_DTYPE",
    "ROWS_DTYPE",
    "Block",
    "Extent",
    "Kept",
    "Known",
    "Lookup",
    "SavedRows",
    "Span",
    "WordIndex",
    "WordView",
    "blocks_named",
    "folded",
    "is_slip",
    "kept_of",
    "list_size_by_header",
    "name_words",
    "near_terms",
    "pack_block",
    "pack_rows",
    "read_block",
    "read_rows",
    "size_by_header",
    "spans",
    "stored",
]
