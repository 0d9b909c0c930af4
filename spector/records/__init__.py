"""What users receive: memories, hits, reports and receipts."""

from __future__ import annotations

from spector.config import MAX_PROBLEMS
from spector.records.erasure import (
    ErasureReceipt,
    Purged,
    Residue,
    Verification,
)
from spector.records.graph import (
    Activation,
    Assessment,
    Edge,
    Reached,
    RelationKind,
)
from spector.records.hits import Explanation, Hit, HitList, RecordSource, ScanStats, Signals
from spector.records.knowledge import (
    Concept,
    Entity,
    Episode,
    FactEdge,
    FactRecord,
    Learning,
    LearningType,
    Percept,
    PredictedOutcome,
    Procedure,
    Statistic,
    Step,
)
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
    "Activation",
    "Assessment",
    "BackupReport",
    "CheckReport",
    "CompactionReport",
    "Concept",
    "Edge",
    "Entity",
    "Episode",
    "ErasureReceipt",
    "Explanation",
    "FactEdge",
    "FactRecord",
    "ForgetReport",
    "Hit",
    "HitList",
    "Learning",
    "LearningType",
    "Loss",
    "MemoryRecord",
    "Percept",
    "PredictedOutcome",
    "Problem",
    "Procedure",
    "Purged",
    "Reached",
    "RecordSource",
    "ReflectReport",
    "RelationKind",
    "RepairReport",
    "Residue",
    "ScanStats",
    "Signals",
    "Statistic",
    "Step",
    "UserSummary",
    "Verification",
    "aliases_in",
    "make_records",
]
