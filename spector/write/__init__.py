"""Stores, changes and forgets: drafts become records, and each call is one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.write.append import path_of_draft
    from spector.write.changing import Change, Changer, growing
    from spector.write.commit import (
        Committed,
        KnowledgeWriter,
        Prepared,
        UnpreparedError,
        UseRecorder,
    )
    from spector.write.context import WriteContext, refuse_missing, scored
    from spector.write.draft import Draft
    from spector.write.fields import FIELDS, Memories, MemoryFields, Named
    from spector.write.forgetting import Forgetter, Manner
    from spector.write.promotion import (
        SAME_CONCEPT,
        ConceptExtractor,
        ConceptPromoter,
        ConceptRun,
        Promotion,
        likest,
    )
    from spector.write.reembed import reembed_store, source_model
    from spector.write.replacing import Beside, EndMover, KeyWriter, Updater
    from spector.write.series import (
        ArrivalWriter,
        ChangedError,
        Incoming,
        Ready,
        Series,
        SeriesWriter,
    )
    from spector.write.speakers import Speakers
    from spector.write.units import (
        Unit,
        UnitWriter,
        differences,
        item_mark,
        plan_rows_back,
        text_mark,
        unpacked,
        unpacked_rows,
    )
    from spector.write.writer import Writer


__getattr__ = on_first_use(__name__)
