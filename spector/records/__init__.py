"""What users receive: memories, hits, reports and receipts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.config import MAX_PROBLEMS
from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.records.details import (
        FSRS6_DECAY,
        FSRS6_FACTOR,
        KEY_BYTES,
        NAMESPACE_END,
        SUB_TIERS,
        Attached,
        AttachmentReader,
        Details,
        DualStrength,
        Note,
        details_of,
        is_user_said,
        labels_of,
        note_of,
        notes_of,
        source_of_role,
        stored_namespace,
        sub_tier_of,
        with_entry,
        without_notes,
    )
    from spector.records.hits import Explanation, Hit, HitList, ScanStats, Signals
    from spector.records.knowledge import (
        BUILTIN_KINDS,
        Activation,
        Assessment,
        Concept,
        Edge,
        Entity,
        Episode,
        FactEdge,
        FactRecord,
        Learning,
        LearningType,
        Percept,
        PredictedOutcome,
        Procedure,
        PromotionCandidate,
        Reached,
        ReadReport,
        RelationKind,
        Statistic,
        Step,
    )
    from spector.records.memory import (
        ALIAS_CHARS,
        MOST_ALIASES,
        NOT_GIVEN,
        TURNS_BEFORE,
        Decision,
        MemoryRecord,
        Verdict,
        aliases_in,
        complete,
        make_records,
        turn_before_in,
    )
    from spector.records.observation import (
        RELATIONS,
        Emotion,
        Importance,
        Judge,
        Judgement,
        LLMUsage,
        MessageVerdict,
        ObservedUnit,
        ObserveResult,
        PairRelation,
        PairVerdict,
        Reference,
        Statement,
    )
    from spector.records.reports import (
        BackupReport,
        CheckReport,
        CompactionReport,
        ErasureReceipt,
        ForgetReport,
        Loss,
        MemoryList,
        NamespaceSummary,
        Problem,
        Proposal,
        Purged,
        ReflectReport,
        RepairReport,
        Residue,
        SessionReport,
        Skipped,
        StepReport,
        UserSummary,
        Verification,
    )


__getattr__ = on_first_use(__name__)
