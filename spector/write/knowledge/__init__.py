"""Commits knowledge: memories with their payloads and edges, or nothing."""

from __future__ import annotations

from spector.write.knowledge.commit import (
    Committed,
    KnowledgeWriter,
    Prepared,
    UnpreparedError,
    UseRecorder,
    apply_changes,
    changes_of_names,
    words_in,
)
from spector.write.knowledge.promotion import (
    SAME_CONCEPT,
    ConceptExtractor,
    ConceptPromoter,
    ConceptRun,
    Promoted,
    Promotion,
    codes_of,
    cosines,
)
from spector.write.knowledge.series import (
    ArrivalWriter,
    ChangedError,
    Incoming,
    Ready,
    Series,
    SeriesWriter,
)
from spector.write.knowledge.units import (
    Done,
    Unit,
    UnitWriter,
    differences,
    item_mark,
    plan_rows_back,
    text_mark,
    unpacked,
    unpacked_rows,
)
