"""Scoring and scanning of records: the six phases, three backends, one contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.kernel.checksum import crc32c, crc32c_rows
    from spector.kernel.dispatch import get_kernel, kernel_info
    from spector.kernel.ordering import cluster
    from spector.kernel.threads import ParallelKernel, usable_cores


__getattr__ = on_first_use(__name__)
