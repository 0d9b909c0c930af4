"""What users receive: memories, hits, reports and receipts."""

from __future__ import annotations

from spector.config import MAX_PROBLEMS
from spector.records.erasure import (
    ErasureReceipt,
    Purged,
    Residue,
    Verification,
)
from spector.records.hits import Explanation, Hit, HitList, RecordSource, ScanStats, Signals
from spector.records.memory import (
    ALIAS_CHARS,
    MOST_ALIASES,
    NOT_GIVEN,
    MemoryRecord,
    aliases_in,
    make_records,
)
from spector.records.reports import (
    BackupReport,
    CheckReport,
    CompactionReport,
    ForgetReport,
    Loss,
    Problem,
    ReflectReport,
    RepairReport,
    UserSummary,
)

__all__ = [
    "ALIAS_CHARS",
    "MAX_PROBLEMS",
    "MOST_ALIASES",
    "NOT_GIVEN",
    "BackupReport",
    "CheckReport",
    "CompactionReport",
    "ErasureReceipt",
    "Explanation",
    "ForgetReport",
    "Hit",
    "HitList",
    "Loss",
    "MemoryRecord",
    "Problem",
    "Purged",
    "RecordSource",
    "ReflectReport",
    "RepairReport",
    "Residue",
    "ScanStats",
    "Signals",
    "UserSummary",
    "Verification",
    "aliases_in",
    "make_records",
]
