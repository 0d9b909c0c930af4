"""Commits knowledge: memories with their payloads and edges, or nothing."""

from __future__ import annotations

from spector.write.knowledge.arrivals import (
    ArrivalWriter,
    Incoming,
)
from spector.write.knowledge.commit import (
    Committed,
    KnowledgeWriter,
    Prepared,
    UnpreparedError,
)
from spector.write.knowledge.concepts import (
    SAME_CONCEPT,
    ConceptExtractor,
    ConceptRun,
    codes_of,
    cosines,
)
from spector.write.knowledge.journal import (
    item_mark,
    plan_rows_back,
    unpacked,
    unpacked_rows,
)
from spector.write.knowledge.promotion import ConceptPromoter, Promoted, Promotion
from spector.write.knowledge.rows import (
    Changes,
    apply_changes,
    changes_of_names,
    words_in,
)
from spector.write.knowledge.series import (
    ChangedError,
    Ready,
    Series,
    SeriesWriter,
)
from spector.write.knowledge.units import (
    Done,
    Unit,
    UnitWriter,
    differences,
    text_mark,
)
from spector.write.knowledge.use import (
    UseRecorder,
)

__all__ = [
    "SAME_CONCEPT",
    "ArrivalWriter",
    "ChangedError",
    "Changes",
    "Committed",
    "ConceptExtractor",
    "ConceptPromoter",
    "ConceptRun",
    "Done",
    "Incoming",
    "KnowledgeWriter",
    "Prepared",
    "Promoted",
    "Promotion",
    "Ready",
    "Series",
    "SeriesWriter",
    "Unit",
    "UnitWriter",
    "UnpreparedError",
    "UseRecorder",
    "apply_changes",
    "changes_of_names",
    "codes_of",
    "cosines",
    "differences",
    "item_mark",
    "plan_rows_back",
    "text_mark",
    "unpacked",
    "unpacked_rows",
    "words_in",
]
