"""Tables of knowledge: declared as data, made when the first commit needs one."""

from __future__ import annotations

from spector.store.payloads.rows import (
    KNOWLEDGE_MINOR,
    Connection,
    count_of,
    damaged_row,
    delete_owned,
    delete_rows,
    edge_columns,
    facts_among,
    has_tables,
    last_id_of,
    living_among,
    make_tables,
    mentioning_after,
    note_holding,
    owners_of,
    payloads_of,
    put_rows,
    rows_of,
    scopes_of_names,
    sorts_condition,
    tables_in,
)
from spector.store.payloads.rules import TIER_OF_SORT, problems_of_row
from spector.store.payloads.schema import PAYLOAD_TABLES, table_named
from spector.store.payloads.sorts import (
    PAYLOAD_FACETS,
    SORTS,
    compact_json,
    decode,
    encode,
    words_in,
)
from spector.store.payloads.tables import Column, PayloadTable
from spector.store.payloads.words import owned_rows, words_of_row

__all__ = [
    "KNOWLEDGE_MINOR",
    "PAYLOAD_FACETS",
    "PAYLOAD_TABLES",
    "SORTS",
    "TIER_OF_SORT",
    "Column",
    "Connection",
    "PayloadTable",
    "compact_json",
    "count_of",
    "damaged_row",
    "decode",
    "delete_owned",
    "delete_rows",
    "edge_columns",
    "encode",
    "facts_among",
    "has_tables",
    "last_id_of",
    "living_among",
    "make_tables",
    "mentioning_after",
    "note_holding",
    "owned_rows",
    "owners_of",
    "payloads_of",
    "problems_of_row",
    "put_rows",
    "rows_of",
    "scopes_of_names",
    "sorts_condition",
    "table_named",
    "tables_in",
    "words_in",
    "words_of_row",
]
