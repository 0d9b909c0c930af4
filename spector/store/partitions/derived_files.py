"""Files that are derived from others: replaced as a whole, never synced.

Nothing depends on one: whatever is lost of it is built anew. A crash leaves the old file, the new
one, or a temporary one beside it, which the next writer removes.
"""

from __future__ import annotations

import contextlib
import errno
from typing import Final

from spector.errors import StoreError
from spector.store.files import Files

__all__ = ["TEMPORARY", "replace_derived"]

#: a file that is being written bears this behind its name
TEMPORARY: Final = ".tmp"


def replace_derived(files: Files, name: str, image: bytearray) -> None:
    """Put a file with these bytes in the place of ``name``.

    Raises:
        StoreError, MemoryError: that failed, and the temporary file is gone.
    """
    fresh = name + TEMPORARY
    try:
        try:
            file = files.open(fresh, create=True)
        except StoreError as error:
            if error.errno != errno.EEXIST:
                raise
            files.remove(fresh)  # left by a process that was killed
            file = files.open(fresh, create=True)
        try:
            file.write_at(0, memoryview(image))
        finally:
            file.close()
        files.replace(fresh, name)
    except (StoreError, MemoryError):
        with contextlib.suppress(StoreError):
            files.remove(fresh)
        raise
