"""Files of fixed-stride records, and of their scan indexes."""

from __future__ import annotations

from spector.store.partitions.checksums import (
    record_ids,
    wrong_checksums,
)
from spector.store.partitions.index_files import (
    TEMPORARY,
    idx_of,
    is_idx,
    problem_of_file,
    remove_idx,
)
from spector.store.partitions.partition import (
    Partition,
    Segment,
    check_transition,
    image_rows,
    is_ahead,
    later_than_catalog,
    pack_header,
    require_readable,
    unpack_header,
)
from spector.store.partitions.scan_indexes import (
    Indexes,
)

__all__ = [
    "TEMPORARY",
    "Indexes",
    "Partition",
    "Segment",
    "check_transition",
    "idx_of",
    "image_rows",
    "is_ahead",
    "is_idx",
    "later_than_catalog",
    "pack_header",
    "problem_of_file",
    "record_ids",
    "remove_idx",
    "require_readable",
    "unpack_header",
    "wrong_checksums",
]
