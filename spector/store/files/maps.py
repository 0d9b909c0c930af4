"""Maps of files: they need no descriptor, and their pages can be read before they are touched.

Touching a page that the disk cannot read, or that lies beyond the end of a truncated file, ends the
process with SIGBUS. Linux can read pages beforehand and report a failure (MADV_POPULATE_READ, since
5.14). This covers pages that are bad at that moment: one that the system evicts is read again
later, and may fail then.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import sys
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.process import Sole, held_by_calling, postpone

__all__ = ["Map", "populate"]

_POPULATE_READ: Final = 22
_EHWPOISON: Final = 133


#: what mmap returns when it fails
_FAILED: Final = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_longlong,
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Map(Sole):
    """A map without a descriptor: shared and read-only, or private and writable.

    ``mmap.mmap`` duplicates the descriptor before Python 3.13, and a store of ten years has more
    day partitions than a process may have descriptors. Arrays keep the map alive as their base.
    """

    def __init__(self, fd: int, length: int, *, private: bool = False) -> None:
        self._length = length
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if private else 0)
        kind = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
        #: the address, or empty
        self._held: list[int | None] = []
        address = held_by_calling(self._held, _libc.mmap, None, length, protection, kind, fd, 0)
        if address is None or address == _FAILED:
            self._held.clear()
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (length,),
            "data": (address, not private),
        }

    def __del__(self, _munmap: Any = _libc.munmap) -> None:  # at the end there are no globals
        held = getattr(self, "_held", None)  # an interrupt may have come first
        try:
            if held and held[0] not in (None, _FAILED):
                address = held[0]
                del held[0]
                _munmap(address, self._length)
        except BaseException as error:  # an interrupt, which Python would only print here
            postpone(error)


def populate(view: NDArray[np.uint8]) -> bool:
    """Read every page under a C-contiguous array now; False where the system cannot.

    Raises:
        OSError: EIO, some page cannot be read.
    """
    if not view.nbytes:
        return True
    if not sys.platform.startswith("linux"):
        return False
    first = int(view.ctypes.data)
    low = first - first % mmap.PAGESIZE
    while _libc.madvise(low, first + view.nbytes - low, _POPULATE_READ):
        code = ctypes.get_errno()
        if code in (errno.EFAULT, _EHWPOISON):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if code not in (errno.EINTR, errno.EAGAIN):
            return False
    return True
