"""From the fields that a caller gives to the bytes and rows of new records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.write.drafts.append import append_batch, records_of
    from spector.write.drafts.batch import Batch, strengths_of
    from spector.write.drafts.draft import Draft, make_draft, may_name, with_aliases
    from spector.write.drafts.encode import (
        Encoded,
        bloom_of,
        encode_batch,
        reseal,
    )
    from spector.write.drafts.ends import ENDING, ends_in, without_end
    from spector.write.drafts.fields import FIELDS, Memories, MemoryFields, Named
    from spector.write.drafts.texts import is_own, wordless
    from spector.write.drafts.work import (
        ClaimIds,
        KeyStore,
        Settler,
        Work,
        path_of_draft,
        refuse_future_parents,
    )

__all__ = [
    "ENDING",
    "FIELDS",
    "Batch",
    "ClaimIds",
    "Draft",
    "Encoded",
    "KeyStore",
    "Memories",
    "MemoryFields",
    "Named",
    "Settler",
    "Work",
    "append_batch",
    "bloom_of",
    "encode_batch",
    "ends_in",
    "is_own",
    "make_draft",
    "may_name",
    "path_of_draft",
    "records_of",
    "refuse_future_parents",
    "reseal",
    "strengths_of",
    "with_aliases",
    "without_end",
    "wordless",
]

__getattr__ = on_first_use(__name__)
