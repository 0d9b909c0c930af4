"""The inverted index of words: postings in memory, and their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.lexical.block import (
        BLOCK,
        LEXICAL_DTYPE,
        LEXICAL_HEADER_BYTES,
        StoredBlock,
        pack_block,
        read_block,
    )
    from spector.lexical.files import (
        EXTENT_DTYPE,
        MOST_BLOCKS,
        NAMED_DTYPE,
        ROWS,
        ROWS_DTYPE,
        IndexImage,
        SavedRows,
        blocks_named,
        image_from_files,
        pack_rows,
        read_rows,
        stored_block,
    )
    from spector.lexical.index import Extent, SlotEntry, WordIndex
    from spector.lexical.view import (
        Lookup,
        Span,
        WordView,
        fold_alias,
        is_typo,
        name_words,
        spans,
        typo_terms,
    )


__getattr__ = on_first_use(__name__)
