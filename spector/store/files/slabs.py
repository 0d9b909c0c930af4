"""Files that are slabs of memory, for volatile tiers and ``spector.open(":memory:")``."""

from __future__ import annotations

import numpy as np

from spector.errors import StoreNotFoundError
from spector.store.files.protocol import Bytes

__all__ = ["MemoryFile", "MemoryFiles"]


class MemoryFile:
    """A slab of zeroed memory; pages cost nothing until they are written."""

    def __init__(self, content: bytes = b"") -> None:
        self._slab: Bytes = np.frombuffer(content, np.uint8).copy()

    def read_at(self, offset: int, length: int) -> bytes:
        return self._slab[offset : offset + length].tobytes()

    def write_at(self, offset: int, data: bytes | memoryview) -> None:
        view = np.frombuffer(data, dtype=np.uint8)
        self._slab[offset : offset + len(view)] = view

    def size(self) -> int:
        return len(self._slab)

    def extent(self, offset: int) -> tuple[int, int] | None:
        return (offset, len(self._slab)) if offset < len(self._slab) else None

    def extend(self, size: int) -> None:
        if size > len(self._slab):
            grown = np.zeros(size, dtype=np.uint8)
            grown[: len(self._slab)] = self._slab
            self._slab = grown

    def map(self, length: int) -> Bytes:
        view = self._slab[:length]
        view.flags.writeable = False
        return view

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass


class MemoryFiles:
    """Files that live as long as the process."""

    durable = False
    root = ":memory:"

    def __init__(self) -> None:
        self._files: dict[str, MemoryFile] = {}

    def open(self, name: str, *, create: bool = False, writable: bool = True) -> MemoryFile:
        if create:
            self._files[name] = MemoryFile()
        if name not in self._files:
            raise StoreNotFoundError(f"no slab named {name}")
        return self._files[name]

    def glance(self, name: str, head: int, *, writable: bool, most: int) -> tuple[bytes, Bytes]:
        file = self.open(name)
        return file.read_at(0, head), file.map(min(file.size(), most))

    def map_private(self, name: str, *, most: int) -> Bytes | None:
        return None  # nothing that could be derived again is kept here

    def exists(self, name: str) -> bool:
        return name in self._files

    def listing(self) -> list[str]:
        return sorted(self._files)

    def closed_folders(self) -> list[str]:
        return []

    def size_of(self, name: str) -> int:
        return self._files[name].size()

    def sizes(self) -> dict[str, int]:
        return {name: file.size() for name, file in sorted(self._files.items())}

    def replace(self, source: str, target: str) -> None:
        self._files[target] = self._files.pop(source)

    def remove(self, name: str) -> None:
        if self._files.pop(name, None) is None:
            raise StoreNotFoundError(f"no slab named {name}")

    def is_free(self, name: str) -> bool:
        return name not in self._files

    def discard(self, name: str) -> None:
        self._files.pop(name, None)

    def sync_dir(self, name: str) -> None:
        pass
