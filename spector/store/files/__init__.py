"""The only way to files: locks, maps, descriptors, syncs, damaged disks."""

from __future__ import annotations

from spector.store.files.bad_sectors import (
    Raw,
    Stretch,
    describe_ranges,
    first_bytes,
    is_io_error,
    is_of_disk,
    join_ranges,
    name_some,
    read_around,
    read_file,
    read_raw,
    unreadable_stretches,
    written_ranges,
)
from spector.store.files.descriptors import open_descriptor
from spector.store.files.disk import DiskFile, DiskFiles
from spector.store.files.guards import OPEN_FLAGS, identity, refuse_other_than_files
from spector.store.files.lock import (
    LOCK_NAME,
    DurableMark,
    WriterLock,
    read_durable_mark,
    without_writer,
)
from spector.store.files.maps import populate
from spector.store.files.os_errors import is_missing, is_time_limit, translate_os_errors
from spector.store.files.protocol import (
    Bytes,
    File,
    Files,
    as_bytes,
)
from spector.store.files.slabs import MemoryFile, MemoryFiles
from spector.store.files.syncing import sync_folder
from spector.store.files.text_files import read_lines, write_lines
from spector.store.files.watched import Watched

__all__ = [
    "LOCK_NAME",
    "OPEN_FLAGS",
    "Bytes",
    "DiskFile",
    "DiskFiles",
    "DurableMark",
    "File",
    "Files",
    "MemoryFile",
    "MemoryFiles",
    "Raw",
    "Stretch",
    "Watched",
    "WriterLock",
    "as_bytes",
    "describe_ranges",
    "first_bytes",
    "identity",
    "is_io_error",
    "is_missing",
    "is_of_disk",
    "is_time_limit",
    "join_ranges",
    "name_some",
    "open_descriptor",
    "populate",
    "read_around",
    "read_durable_mark",
    "read_file",
    "read_lines",
    "read_raw",
    "refuse_other_than_files",
    "sync_folder",
    "translate_os_errors",
    "unreadable_stretches",
    "without_writer",
    "write_lines",
    "written_ranges",
]
