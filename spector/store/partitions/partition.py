"""What a scan sees of a partition: an immutable snapshot of fixed-stride records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spector.layout import headers_of
from spector.store.files import Bytes

__all__ = ["Partition"]


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """What a scan sees of a segment: an immutable snapshot that keeps its map alive.

    ``data`` is (slots, stride) u8, read-only. Where ``index`` has no row yet, scans look at the
    records themselves.
    """

    segment_id: int
    tier: int
    day: int
    sequence: int
    state: int
    slots: int
    live: int
    data: Bytes
    #: image of the partition's scan index, see ``spector.kernel.contract.index.layout``
    index: Bytes | None = None
    #: +1 with each rewrite of the partition, which may give its memories other slots
    generation: int = 0
    #: +1 whenever slots that had memories get others; on disk that never happens
    overwrites: int = 0

    def headers(self) -> NDArray[np.void]:
        """(slots,) view of the record headers."""
        return headers_of(self.data[: self.slots])
