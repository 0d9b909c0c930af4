"""The only way to files: locks, maps, descriptors, syncs, damaged disks."""

from __future__ import annotations

from spector.store.files.bad_sectors import (
    Raw,
    Stretch,
    describe_ranges,
    first_bytes,
    is_io_error,
    is_of_disk,
    name_some,
    read_file,
    read_raw,
    unreadable_stretches,
    written_end,
    written_ranges,
)
from spector.store.files.disk import (
    OPEN_FLAGS,
    DiskFile,
    DiskFiles,
    Watched,
    identity,
    open_descriptor,
    populate,
    refuse_other_than_files,
)
from spector.store.files.lock import (
    LOCK_NAME,
    DurableMark,
    WriterLock,
    read_durable_mark,
    without_writer,
)
from spector.store.files.protocol import (
    CHECK,
    CHECK_OR_SALVAGE,
    SALVAGE,
    Bytes,
    File,
    Files,
    MemoryFile,
    MemoryFiles,
    as_bytes,
    is_missing,
    is_time_limit,
    translate_os_errors,
)
from spector.store.files.syncing import sync_folder
from spector.store.files.text_files import read_lines, write_lines
