"""The backend in plain NumPy, which defines what the others compute."""

from __future__ import annotations

from spector.kernel.reference.index import NumpyIndex
from spector.kernel.reference.lexical import NumpyLexical, NumpyNeighbours
from spector.kernel.reference.scan import (
    CRC_TABLE,
    NumpyGather,
    ReferenceKernel,
    crc32c_bytes,
    score_terms,
)
