"""SQLite itself: connections, typed errors, journals, hardening."""

from __future__ import annotations

from spector.store.sqlite import shared_descriptors
from spector.store.sqlite.connections import (
    connected,
    connecting,
    end_statements,
    leaves_statements,
)
from spector.store.sqlite.damage import (
    SQL_ERRORS,
)
from spector.store.sqlite.fulltext import (
    has_room,
    problem_of_full_text,
    problem_of_schema,
)
from spector.store.sqlite.hardening import (
    attaching,
    confine,
    refuse_planted,
)
from spector.store.sqlite.journals import (
    has_journal,
    refuse_harm,
)
from spector.store.sqlite.reads import (
    Latest,
    Pinning,
    Reading,
    end_failed,
    one_moment,
    translated_sql,
)
from spector.store.sqlite.shared_descriptors import (
    held,
    raw_file,
)
from spector.store.sqlite.wal_frames import (
    Broken,
    broken_at,
    read_frames,
    read_head,
    salts_of,
)

__all__ = [
    "SQL_ERRORS",
    "Broken",
    "Latest",
    "Pinning",
    "Reading",
    "attaching",
    "broken_at",
    "confine",
    "connected",
    "connecting",
    "end_failed",
    "end_statements",
    "has_journal",
    "has_room",
    "held",
    "leaves_statements",
    "one_moment",
    "problem_of_full_text",
    "problem_of_schema",
    "raw_file",
    "read_frames",
    "read_head",
    "refuse_harm",
    "refuse_planted",
    "salts_of",
    "shared_descriptors",
    "translated_sql",
]
