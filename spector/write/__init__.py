"""Stores, changes and forgets: drafts become records, and each call is one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.write.changing import Change, Changer
    from spector.write.context import WriteContext
    from spector.write.drafts import (
        FIELDS,
        Draft,
        Memories,
        MemoryFields,
        Named,
        make_draft,
    )
    from spector.write.forgetting import Forgetter, Manner
    from spector.write.knowledge import (
        SAME_CONCEPT,
        ArrivalWriter,
        ChangedError,
        Committed,
        ConceptExtractor,
        ConceptPromoter,
        ConceptRun,
        Done,
        Incoming,
        KnowledgeWriter,
        Prepared,
        Promoted,
        Promotion,
        Ready,
        Series,
        SeriesWriter,
        Unit,
        UnitWriter,
        UnpreparedError,
        UseRecorder,
        codes_of,
        cosines,
        differences,
        item_mark,
        plan_rows_back,
        text_mark,
        unpacked,
        unpacked_rows,
    )
    from spector.write.reembed import reembed_store, source_model
    from spector.write.replacing import Beside, EndMover, KeyWriter
    from spector.write.speakers import Speakers
    from spector.write.updating import Updater
    from spector.write.writer import Writer

__all__ = [
    "FIELDS",
    "SAME_CONCEPT",
    "ArrivalWriter",
    "Beside",
    "Change",
    "ChangedError",
    "Changer",
    "Committed",
    "ConceptExtractor",
    "ConceptPromoter",
    "ConceptRun",
    "Done",
    "Draft",
    "EndMover",
    "Forgetter",
    "Incoming",
    "KeyWriter",
    "KnowledgeWriter",
    "Manner",
    "Memories",
    "MemoryFields",
    "Named",
    "Prepared",
    "Promoted",
    "Promotion",
    "Ready",
    "Series",
    "SeriesWriter",
    "Speakers",
    "Unit",
    "UnitWriter",
    "UnpreparedError",
    "Updater",
    "UseRecorder",
    "WriteContext",
    "Writer",
    "codes_of",
    "cosines",
    "differences",
    "item_mark",
    "make_draft",
    "plan_rows_back",
    "reembed_store",
    "source_model",
    "text_mark",
    "unpacked",
    "unpacked_rows",
]

__getattr__ = on_first_use(__name__)
