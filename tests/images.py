"""The bytes of a memory, as partitions, journals and backups have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spector import Memory
from spector.store.core.records import current_image

__all__ = ["codes_of", "image_of"]


def image_of(memory: Memory, record_id: int) -> NDArray[np.uint8]:
    """(stride,) u8: header and vector."""
    found = current_image(*memory._parts.finder.find(record_id))
    return found[1]


def codes_of(memory: Memory, record_id: int) -> bytes:
    """The vector alone."""
    return image_of(memory, record_id)[64 : 64 + memory.dim].tobytes()
