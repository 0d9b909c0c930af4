"""From the fields that a caller gives to the bytes and rows of new records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.write.drafts.append import (
        Batch,
        ClaimIds,
        Encoded,
        KeyStore,
        Settler,
        Work,
        append_batch,
        encode_batch,
        path_of_draft,
        records_of,
        refuse_future_parents,
        reseal,
        strengths_of,
    )
    from spector.write.drafts.draft import (
        ENDING,
        Draft,
        ends_in,
        is_own,
        make_draft,
        may_name,
        with_aliases,
        without_end,
        wordless,
    )
    from spector.write.drafts.fields import FIELDS, Memories, MemoryFields, Named


__getattr__ = on_first_use(__name__)
