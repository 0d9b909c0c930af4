"""Files of fixed-stride records, and of their scan indexes."""

from __future__ import annotations

from spector.store.partitions.scan_indexes import (
    Indexes,
    idx_of,
    is_idx,
    problem_of_file,
    records_crc,
    remove_idx,
    replace_derived,
)
from spector.store.partitions.segment import (
    ExpectedHeader,
    Partition,
    Segment,
    check_transition,
    image_rows,
    is_ahead,
    later_than_catalog,
    record_ids,
    require_readable,
    rows_in,
    unpack_header,
    wrong_checksums,
)
