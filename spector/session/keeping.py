"""What sessions do to the store: keep entries, strengthen tagged memories, read vectors."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

from spector._types import F32
from spector.config import Config
from spector.errors import UnknownRecordError
from spector.layout import HEADER_BYTES
from spector.records import MemoryRecord
from spector.session.buffer import BufferEntry
from spector.session.state import SessionKey
from spector.store.catalog import ANYBODY, count_by_user
from spector.store.core import header_of
from spector.store.erasure import may_be_gone, memories_of, users_gone
from spector.tiers import Finder, TierRouter
from spector.write import Changer, Forgetter, Manner, Writer

__all__ = ["Keeping"]

#: fields of a memory of a volatile tier that its lasting copy gets
_COPIED = (
    "tags",
    "metadata",
    "valid_from",
    "valid_until",
    "event_time",
    "role",
    "source",
    "confidence",
    "valence",
    "arousal",
    "pinned",
    "immutable",
    "unresolved",
    "category",
    "modality",
    "parents",
)


class Keeping:
    """Writes for sessions. Callers check that the store may be written to."""

    def __init__(
        self,
        router: TierRouter,
        finder: Finder,
        writer: Writer,
        changer: Changer,
        forgetter: Forgetter,
        config: Config,
        dim: int,
        seen: tuple[str, ...],
    ) -> None:
        self._router = router
        self._finder = finder
        self._writer = writer
        self._changer = changer
        self._forgetter = forgetter
        self._config = config
        self._dim = dim
        #: the notes on users who are gone that were heeded last
        self._seen = seen

    def lasting(self, ids: Collection[int]) -> set[int]:
        """Those of some ids that are memories of a tier on disk."""
        out = set()
        for each in ids:
            with contextlib.suppress(UnknownRecordError):
                if not self._finder.locate(each)[2].volatile:
                    out.add(each)
        return out

    def gone_users(self, users: Collection[str]) -> set[str]:
        """Those of some users that another process has forgotten since the last call.

        What volatile tiers have of them goes.
        """
        durable, notes = self._router.durable_store(), self._notes()
        if notes == self._seen:
            return set()
        others = [each for each in self._router.stores() if each is not durable]
        here = {name for each in others for name, *_ in count_by_user(each.catalog)}
        gone = may_be_gone(durable, {*users, *here}, notes, self._seen)
        for user in gone & here:
            self._forgetter.forget_found(
                partial(memories_of, others, user), Manner(include_protected=True)
            )
        self._seen = notes
        return gone

    def _notes(self) -> tuple[str, ...]:
        """What processes that share the store have noted; empty where this one has it alone."""
        durable = self._router.durable_store()
        return () if durable.shared_for_s is None else users_gone(durable)

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
        record = self._writer.remember(
            text,
            {
                **fields,
                **key._asdict(),
                "importance": entry.importance,
                "tier": "episodic",
            },
        )
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
