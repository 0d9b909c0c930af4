"""The tables of the SQLite catalog and their queries."""

from __future__ import annotations

from spector.store.catalog import rows, schema
from spector.store.catalog.catalog import (
    Catalog,
    rounded,
)
from spector.store.catalog.filters import (
    SqlFilter,
    compile_where,
)
from spector.store.catalog.lineage import (
    Lineage,
    lineage_of,
    note_opening,
)
from spector.store.catalog.ownership import (
    ROW,
    WORDS,
    bloom,
    is_sealed_pair,
    row_of_words,
)
from spector.store.catalog.retired import (
    LeftSlot,
    RetireQueue,
)
from spector.store.catalog.row_codec import (
    MOST_SEGMENTS,
    ROW_COLUMNS,
    SPENT,
    Head,
    Row,
    SegmentRow,
    StoredRow,
    decode_row,
    is_sealed,
    is_typed,
    recovery_hint,
    verify_row,
    verify_stored,
)
from spector.store.catalog.rows import (
    add_seals,
    insert_rows,
    move_rows,
    tags_json,
    to_json,
)
from spector.store.catalog.schema import (
    APPLICATION_ID,
    BACKUP_NOTE,
    CATALOG_NAME,
    FULLTEXT_TOKENIZER,
    JOURNAL_HEADER,
    JOURNAL_MUTABLE,
    JOURNAL_RECORDS,
    JOURNAL_RETIRE,
    RELAXED_LOG,
    UNSYNCED,
)
from spector.store.catalog.scopes import (
    ANYBODY,
    SCOPES,
    Scope,
    members,
)
from spector.store.catalog.supersession import (
    LINKED_SQL,
    LINKS_SQL,
    PINNED_SQL,
    SUPERSEDED_SQL,
    has_ended,
    has_windows,
    link_tags,
    newer_than,
    reserved_last,
    split_reserved_tags,
    successors,
)
from spector.store.catalog.tables import (
    MAX_ROWID,
    UNREADABLE,
    LostTable,
    read_table,
    reason_of,
)
from spector.store.catalog.wal import (
    LOG_NAME,
    Log,
)

__all__ = [
    "ANYBODY",
    "APPLICATION_ID",
    "BACKUP_NOTE",
    "CATALOG_NAME",
    "FULLTEXT_TOKENIZER",
    "JOURNAL_HEADER",
    "JOURNAL_MUTABLE",
    "JOURNAL_RECORDS",
    "JOURNAL_RETIRE",
    "LINKED_SQL",
    "LINKS_SQL",
    "LOG_NAME",
    "MAX_ROWID",
    "MOST_SEGMENTS",
    "PINNED_SQL",
    "RELAXED_LOG",
    "ROW",
    "ROW_COLUMNS",
    "SCOPES",
    "SPENT",
    "SUPERSEDED_SQL",
    "UNREADABLE",
    "UNSYNCED",
    "WORDS",
    "Catalog",
    "Head",
    "LeftSlot",
    "Lineage",
    "Log",
    "LostTable",
    "RetireQueue",
    "Row",
    "Scope",
    "SegmentRow",
    "SqlFilter",
    "StoredRow",
    "add_seals",
    "bloom",
    "compile_where",
    "decode_row",
    "has_ended",
    "has_windows",
    "insert_rows",
    "is_sealed",
    "is_sealed_pair",
    "is_typed",
    "lineage_of",
    "link_tags",
    "members",
    "move_rows",
    "newer_than",
    "note_opening",
    "read_table",
    "reason_of",
    "recovery_hint",
    "reserved_last",
    "rounded",
    "row_of_words",
    "rows",
    "schema",
    "split_reserved_tags",
    "successors",
    "tags_json",
    "to_json",
    "verify_row",
    "verify_stored",
]
