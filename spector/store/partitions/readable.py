"""Pages of a map that are read before they are used: an error now instead of a signal later."""

from __future__ import annotations

from spector.errors import PartitionCorruptError
from spector.store.files import Bytes, is_time_limit, populate

__all__ = ["require_readable", "unreadable"]


def require_readable(view: Bytes, where: str) -> bool:
    """Read every page under an array from a map now; False where the system does not know how.

    This costs nothing where all of it is going to be read anyway.

    Raises:
        PartitionCorruptError: the disk cannot read some of it, or the file was cut off.
    """
    try:
        return populate(view)
    except OSError as error:
        if is_time_limit(error):
            raise
        raise unreadable(where, error.errno) from error


def unreadable(where: str, code: int | None) -> PartitionCorruptError:
    found = PartitionCorruptError(
        f"{where}: the disk cannot read some of it, or it was cut off",
        hint="run: spector check PATH; what can be read is salvaged by spector check PATH"
        " --repair DEST",
    )
    found.errno = code
    return found
