"""Files of fixed-stride records, and of their scan indexes."""

from __future__ import annotations

from spector.store.partitions.derived_files import replace_derived
from spector.store.partitions.header import (
    check_transition,
    is_ahead,
    later_than_catalog,
    pack_header,
    unpack_header,
)
from spector.store.partitions.images import image_rows, record_ids, wrong_checksums
from spector.store.partitions.index_files import (
    idx_of,
    is_idx,
    problem_of_file,
    remove_idx,
)
from spector.store.partitions.partition import Partition
from spector.store.partitions.readable import require_readable
from spector.store.partitions.scan_indexes import Indexes
from spector.store.partitions.segment import Segment

__all__ = [
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
    "replace_derived",
    "require_readable",
    "unpack_header",
    "wrong_checksums",
]
