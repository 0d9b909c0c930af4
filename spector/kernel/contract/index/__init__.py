"""The scan index of a partition: its bytes, and how they are filled and grown."""

from __future__ import annotations

from spector.kernel.contract.index.image import Centre, ScanIndex, centre_of
from spector.kernel.contract.index.layout import (
    BLOCK_DTYPE,
    BLOCK_ROWS,
    INDEX_DTYPE,
    INDEX_HEADER_BYTES,
    INDEX_MAX_DIM,
    NO_IMPORTANCE,
    NO_SLOPE,
    SKETCH_BITS,
    SLOPE_SCALE,
    WIDE,
    WIDE_SLOPE_SCALE,
    Sections,
    image_layout,
    problem_of,
    sections_of,
    write_header,
)

__all__ = [
    "BLOCK_DTYPE",
    "BLOCK_ROWS",
    "INDEX_DTYPE",
    "INDEX_HEADER_BYTES",
    "INDEX_MAX_DIM",
    "NO_IMPORTANCE",
    "NO_SLOPE",
    "SKETCH_BITS",
    "SLOPE_SCALE",
    "WIDE",
    "WIDE_SLOPE_SCALE",
    "Centre",
    "ScanIndex",
    "Sections",
    "centre_of",
    "image_layout",
    "problem_of",
    "sections_of",
    "write_header",
]
