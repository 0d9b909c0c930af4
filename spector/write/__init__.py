"""Stores, changes and forgets: drafts become records, and each call is one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.write.changing import Change, Changer
    from spector.write.context import WriteContext, refuse_missing
    from spector.write.drafts import FIELDS, Draft, Memories, MemoryFields, Named
    from spector.write.forgetting import Forgetter, Manner
    from spector.write.knowledge import (
        SAME_CONCEPT,
        ArrivalWriter,
        ChangedError,
        ConceptExtractor,
        ConceptPromoter,
        ConceptRun,
        Incoming,
        KnowledgeWriter,
        Prepared,
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


__getattr__ = on_first_use(__name__)
