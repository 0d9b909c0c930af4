"""Names for the types of arrays and callbacks that several rooms pass to one another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F32 = NDArray[np.float32]

#: called with (steps done, steps in total): bytes of a copy, where each counts twice, copied and
#: verified; partitions of a check or a compaction; memories of a rewriting
Progress = Callable[[int, int], None]
