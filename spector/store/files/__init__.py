"""The only door to files: locks, maps, descriptors, syncs, damaged disks."""

from __future__ import annotations

from spector.store.files.bad_sectors import (
    Raw,
    Stretch,
    first_bytes,
    is_io_error,
    is_of_disk,
    join,
    name_some,
    read_around,
    read_file,
    read_raw,
    spans,
    unread_in,
    written,
)
from spector.store.files.descriptors import (
    opened,
)
from spector.store.files.disk import (
    DiskFile,
    DiskFiles,
)
from spector.store.files.guards import (
    OPEN_FLAGS,
    identity,
    refuse_other_than_files,
)
from spector.store.files.lock import (
    LOCK_NAME,
    Word,
    WriterLock,
    last_word,
    no_writer,
)
from spector.store.files.maps import (
    populate,
)
from spector.store.files.os_errors import (
    is_missing,
    is_time_limit,
    translated,
)
from spector.store.files.protocol import (
    Bytes,
    File,
    Files,
    as_bytes,
)
from spector.store.files.slabs import (
    MemoryFile,
    MemoryFiles,
)
from spector.store.files.syncing import (
    sync_folder,
)
from spector.store.files.text_files import (
    read_lines,
    write_lines,
)
from spector.store.files.watched import (
    Watched,
)

__all__ = [
    "LOCK_NAME",
    "OPEN_FLAGS",
    "Bytes",
    "DiskFile",
    "DiskFiles",
    "File",
    "Files",
    "MemoryFile",
    "MemoryFiles",
    "Raw",
    "Stretch",
    "Watched",
    "Word",
    "WriterLock",
    "as_bytes",
    "first_bytes",
    "identity",
    "is_io_error",
    "is_missing",
    "is_of_disk",
    "is_time_limit",
    "join",
    "last_word",
    "name_some",
    "no_writer",
    "opened",
    "populate",
    "read_around",
    "read_file",
    "read_lines",
    "read_raw",
    "refuse_other_than_files",
    "spans",
    "sync_folder",
    "translated",
    "unread_in",
    "write_lines",
    "written",
]
