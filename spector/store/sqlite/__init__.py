"""SQLite itself: connections, typed errors, journals, hardening."""

from __future__ import annotations

from spector.store.sqlite.connections import (
    LEAST_LOG_BYTES,
    MAX_ROWID,
    SQL_ERRORS,
    UNREADABLE,
    LostTable,
    TransactionReads,
    connect_into,
    id_chunks,
    open_connection,
    pad_ids,
    problem_of_full_text,
    problem_of_schema,
    read_table,
    read_transaction,
    reason_of,
    refuse_foreign_code,
    roll_back_open,
    select_among,
    typed_sql_errors,
)
from spector.store.sqlite.database import (
    UNKNOWN_MARKS,
    Database,
    Marks,
    copy_log,
    limit_log,
    need_no_lock,
    page_bytes,
    restart_log,
    truncate_log,
    vacuum,
)
from spector.store.sqlite.shared_descriptors import keep_open, raw_file
from spector.store.sqlite.wal_frames import (
    Broken,
    broken_at,
    has_journal,
    read_frames,
    read_head,
    salts_of,
    varint,
)
