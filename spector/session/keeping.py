"""What sessions do to the store: keep entries, strengthen tagged memories, read vectors."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from spector._types import F32
from spector.config import Config
from spector.errors import UnknownRecordError
from spector.layout import HEADER_BYTES
from spector.records import MemoryRecord
from spector.session.buffer import BufferEntry
from spector.session.state import SessionKey
from spector.store.catalog import ANYBODY
from spector.store.core import header_of
from spector.tiers import Finder
from spector.write import Changer, Forgetter, Manner, Writer

__all__ = ["Keeping"]

#: fields of a memory of a volatile tier that its lasting copy gets
_COPIED = (
    "tags", "metadata", "valid_from", "valid_until", "event_time", "role", "source", "confidence",
    "valence", "arousal", "pinned", "immutable", "unresolved", "category", "modality", "parents",
)  # fmt: skip


class Keeping:
    """Writes for sessions. Callers check that the store may be written to."""

    def __init__(
        self, finder: Finder, writer: Writer, changer: Changer, forgetter: Forgetter,
        config: Config, dim: int,
    ) -> None:
        self._finder = finder
        self._writer = writer
        self._changer = changer
        self._forgetter = forgetter
        self._config = config
        self._dim = dim

    def lasting(self, ids: Collection[int]) -> set[int]:
        """Those of some ids that are memories of a tier on disk."""
        out = set()
        for each in ids:
            with contextlib.suppress(UnknownRecordError):
                if not self._finder.locate(each)[2].volatile:
                    out.add(each)
        return out

    def promote(self, entry: BufferEntry, key: SessionKey) -> MemoryRecord:
        """Make an episodic memory of an entry; a working memory of it moves there."""
        source = None
        if entry.id is not None:
            with contextlib.suppress(UnknownRecordError):  # the ring has overwritten it
                source = self._finder.get(entry.id, ANYBODY)
        fields: dict[str, Any] = {}
        if source is not None:
            fields = {name: getattr(source, name) for name in _COPIED}
        text = entry.text if source is None else source.text
        record = self._writer.remember(text, {
            **fields, **key._asdict(), "importance": entry.importance, "tier": "episodic",
        })  # fmt: skip
        if source is not None:
            with contextlib.suppress(UnknownRecordError):
                self._forgetter.forget_ids([source.id], Manner(include_protected=True), ANYBODY)
        return record

    def strengthen(self, ids: Collection[int], factor: float) -> None:
        """Multiply the stability of those of some memories that live."""
        most = self._config.max_stability_days

        def change(header: Any, _: MemoryRecord) -> bool:
            header["stability_days"] = min(float(header["stability_days"]) * factor, most)
            return True

        living = sorted(self.lasting(ids))
        while living:
            try:
                self._changer.change(living, change)
            except UnknownRecordError:  # one was forgotten meanwhile
                fewer = sorted(self.lasting(living))
                if fewer == living:
                    raise
                living = fewer
            else:
                return

    def vectors_of(self, ids: Sequence[int]) -> dict[int, F32]:
        """The vectors of those of some memories that live and have one."""
        out: dict[int, F32] = {}
        for each in ids:
            with contextlib.suppress(UnknownRecordError):
                store, row, _ = self._finder.locate(each)
                image = store.record_image(row.segment_id, row.slot)
                scale = np.float32(header_of(image)["scale"])
                if scale:
                    codes = image[HEADER_BYTES : HEADER_BYTES + self._dim].view(np.int8)
                    out[each] = scale * codes.astype(np.float32)
        return out
