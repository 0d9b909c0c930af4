"""SQLite itself: connections, typed errors, journals, hardening."""

from __future__ import annotations

from spector.store.sqlite import shared_descriptors
from spector.store.sqlite.checkpoints import (
    UNKNOWN_MARKS,
    Marks,
    copy_log,
    limit_log,
    page_bytes,
    restart_log,
    truncate_log,
    vacuum,
)
from spector.store.sqlite.connections import (
    LEAST_LOG_BYTES,
    connect_into,
    end_statements,
    leaves_statements,
    open_connection,
)
from spector.store.sqlite.damage import SQL_ERRORS
from spector.store.sqlite.database import Database, need_no_lock
from spector.store.sqlite.fulltext import has_room, problem_of_full_text, problem_of_schema
from spector.store.sqlite.hardening import allow_attach, confine, refuse_foreign_code
from spector.store.sqlite.journals import has_journal, refuse_harm
from spector.store.sqlite.reads import (
    ConnectionLease,
    MainConnection,
    SnapshotLease,
    TransactionReads,
    read_transaction,
    roll_back_open,
    typed_sql_errors,
)
from spector.store.sqlite.shared_descriptors import keep_open, raw_file
from spector.store.sqlite.tables import (
    MAX_ROWID,
    UNREADABLE,
    LostTable,
    read_table,
    reason_of,
)
from spector.store.sqlite.wal_frames import (
    Broken,
    broken_at,
    read_frames,
    read_head,
    salts_of,
)

__all__ = [
    "LEAST_LOG_BYTES",
    "MAX_ROWID",
    "SQL_ERRORS",
    "UNKNOWN_MARKS",
    "UNREADABLE",
    "Broken",
    "ConnectionLease",
    "Database",
    "LostTable",
    "MainConnection",
    "Marks",
    "SnapshotLease",
    "TransactionReads",
    "allow_attach",
    "broken_at",
    "confine",
    "connect_into",
    "copy_log",
    "end_statements",
    "has_journal",
    "has_room",
    "keep_open",
    "leaves_statements",
    "limit_log",
    "need_no_lock",
    "open_connection",
    "page_bytes",
    "problem_of_full_text",
    "problem_of_schema",
    "raw_file",
    "read_frames",
    "read_head",
    "read_table",
    "read_transaction",
    "reason_of",
    "refuse_foreign_code",
    "refuse_harm",
    "restart_log",
    "roll_back_open",
    "salts_of",
    "shared_descriptors",
    "truncate_log",
    "typed_sql_errors",
    "vacuum",
]
