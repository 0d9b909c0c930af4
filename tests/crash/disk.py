"""A model of a disk with a volatile cache: what a power cut may leave of a sequence of calls.

It knows files, names and syncs, and nothing of what the files are for. The rules, which are those
of POSIX read strictly, with what Linux adds where it says so:

- The bytes and the size of a file are durable from the next fsync or fdatasync of that file on.
  (fdatasync may leave times behind, but not a size that reading needs: fdatasync(2).)
- A name that was made, moved or removed is durable from the next fsync of its directory on. That a
  file was synced does not make its name durable, nor does that of a directory those within it.
- Until then each change may be there or not, whatever became of the others: later ones without
  earlier ones, of the same file or another. A rename is one change: both names or none.
- A write may be there in part: any of its blocks of 512 bytes or of 4 KiB, aligned in the file.
  Bytes outside of what was written do not change (SQLite calls this powersafe overwrite, and
  assumes it, too). A file may have grown and have zeros where the bytes were to be.
- A killed process changes nothing of this: what it wrote is in the cache.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.trace import MARK, Call

__all__ = ["KEEP", "ZEROS", "Disk", "Fate", "Image", "Item"]

#: what becomes of one change: None (lost), KEEP, ZEROS (the size without the bytes), or the ranges
#: (from, to) of the file that are kept of a write
Fate = str | None | tuple[tuple[int, int], ...]
KEEP, ZEROS = "keep", "zeros"
#: path -> bytes, or None for a directory
Image = dict[str, bytes | None]
_KEEP_SIZE = 1
_NO_REPLACE, _EXCHANGE = 1, 2
_O_TRUNC = os.O_TRUNC
_O_TMPFILE = getattr(os, "O_TMPFILE", -1)
_numbers = itertools.count()


@dataclass(eq=False, slots=True)
class Node:
    """A file or directory, whatever it is called."""

    folder: bool
    volatile: bool = False
    #: durable bytes, or durable names
    bytes: bytes = b""
    names: dict[str, Node] = field(default_factory=dict)
    #: what a process sees
    cached: bytearray = field(default_factory=bytearray)
    shown: dict[str, Node] = field(default_factory=dict)
    #: changes of its bytes since it was synced
    pending: list[Item] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Item:
    """One change that no sync has made durable yet."""

    kind: str  # write, resize, allocate, name
    node: Node | None = None
    offset: int = 0
    data: bytes = b""
    size: int = 0
    #: (directory, name, node or None) for a change of names
    names: tuple[tuple[Node, str, Node | None], ...] = ()
    what: str = ""
    #: how many syncs there had been
    epoch: int = 0
    number: int = field(default_factory=lambda: next(_numbers))

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


class Disk:
    """Takes calls one by one; at any moment it can say what is pending and build an image."""

    def __init__(self, volatile: Sequence[str] = (), before: Image | None = None) -> None:
        """A disk with the image ``before`` on it, durable.

        Names that end with one of ``volatile`` are never in an image.
        """
        self.top = Node(folder=True)
        self._volatile = tuple(volatile)
        self._names: list[Item] = []
        self._fds: dict[int, Node] = {}
        self._epoch = 0
        for path, data in sorted((before or {}).items()):
            folder, _, name = path.rpartition("/")
            parent = self._must(folder)
            node = Node(data is None, bytes=data or b"", cached=bytearray(data or b""))
            parent.names[name] = parent.shown[name] = node

    # -- what processes do ----------------------------------------------------------------------

    def feed(self, call: Call) -> None:
        """Take one call."""
        if call.kind != MARK:
            getattr(self, f"_{call.kind}")(call)

    def new_process(self) -> None:
        """Descriptors of the one before are gone; the cache is not."""
        self._fds.clear()

    def _open(self, call: Call) -> None:
        if call.flags & _O_TMPFILE == _O_TMPFILE:  # a file in the directory, without a name yet
            self._fds[call.fd] = Node(folder=False)
            return
        node = self._at(call.path)
        if node is None:
            raise ValueError(f"{call.path} was opened, but nothing made it")
        self._fds[call.fd] = node
        if call.flags & _O_TRUNC and not node.folder:
            self._change(node, Item("resize", node, size=0, what=f"truncate {call.path}"))

    def _create(self, call: Call) -> None:
        node = Node(folder=False, volatile=call.path.endswith(self._volatile or ("\0",)))
        self._fds[call.fd] = node
        self._name(f"create {call.path}", (call.path, node))

    def _close(self, call: Call) -> None:
        self._fds.pop(call.fd, None)

    def _write(self, call: Call) -> None:
        node = self._of(call)
        self._change(
            node,
            Item(
                "write",
                node,
                call.offset,
                call.data,
                what=f"write {call.path} {call.offset}+{len(call.data)}",
            ),
        )

    def _resize(self, call: Call) -> None:
        node = self._of(call)
        self._change(
            node,
            Item("resize", node, size=call.length, what=f"resize {call.path} to {call.length}"),
        )

    def _allocate(self, call: Call) -> None:
        if call.flags & ~_KEEP_SIZE:
            raise ValueError(f"fallocate of {call.path} in mode {call.flags} is not modelled")
        node, end = self._of(call), call.offset + call.length
        if not call.flags & _KEEP_SIZE and end > len(node.cached):
            self._change(
                node, Item("allocate", node, size=end, what=f"allocate {call.path} to {end}")
            )

    def _share(self, call: Call) -> None:
        if not self._of(call).volatile:
            raise ValueError(f"{call.path} is mapped for stores, which no trace can see")

    def _sync(self, call: Call) -> None:
        node = self._of(call)
        self._epoch += 1
        if node.folder:
            for item in [i for i in self._names if any(f is node for f, _, _ in i.names)]:
                self._names.remove(item)
                for folder, name, target in item.names:
                    _put(folder.names, name, target)
        else:
            node.bytes = bytes(node.cached)
            node.pending.clear()

    def _mkdir(self, call: Call) -> None:
        self._name(f"mkdir {call.path}", (call.path, Node(folder=True)))

    def _rename(self, call: Call) -> None:
        node = self._must(call.path)
        if call.flags & ~(_NO_REPLACE | _EXCHANGE):
            raise ValueError(f"rename of {call.path} with flags {call.flags} is not modelled")
        other = self._must(call.path2) if call.flags & _EXCHANGE else None
        self._name(f"rename {call.path} {call.path2}", (call.path, other), (call.path2, node))

    def _link(self, call: Call) -> None:
        _, nameless, fd = call.path2.partition("/proc/self/fd/")
        node = self._fds[int(fd)] if nameless else self._must(call.path2)
        self._name(f"link {call.path}", (call.path, node))

    def _unlink(self, call: Call) -> None:
        self._name(f"unlink {call.path}", (call.path, None))

    _rmdir = _unlink

    def _change(self, node: Node, item: Item) -> None:
        _apply(node.cached, item, KEEP)
        if not node.volatile:
            item.epoch = self._epoch
            node.pending.append(item)

    def _name(self, what: str, *changes: tuple[str, Node | None]) -> None:
        names = []
        for path, node in changes:
            folder, _, name = path.rpartition("/")
            parent = self._must(folder)
            _put(parent.shown, name, node)
            names.append((parent, name, node))
        self._names.append(Item("name", names=tuple(names), what=what, epoch=self._epoch))

    def _at(self, path: str) -> Node | None:
        node: Node | None = self.top
        for name in filter(None, path.split("/")):
            node = node.shown.get(name) if node is not None else None
        return node

    def _must(self, path: str) -> Node:
        node = self._at(path)
        if node is None:
            raise ValueError(f"nothing is at {path!r}")
        return node

    def _of(self, call: Call) -> Node:
        node = self._fds.get(call.fd)
        return node if node is not None else self._must(call.path)

    # -- what a power cut leaves ----------------------------------------------------------------

    def pending(self) -> list[Item]:
        """Changes that may be lost, in the order in which they were made.

        Those of files that no name can lead to any more are no matter, and left out.
        """
        found = [*self._names]
        seen: set[int] = set()
        stack = [self.top]
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            found += node.pending
            stack += node.names.values()
            stack += (
                target
                for item in self._names
                for folder, _, target in item.names
                if folder is node and target is not None
            )
        return sorted(found, key=lambda item: item.number)

    def image(self, fates: dict[Item, Fate]) -> Image:
        """The disk after a power cut in which each pending item had that fate; lost if not named."""
        names: dict[int, dict[str, Node]] = {}
        for item in self._names:
            if fates.get(item) is None:
                continue
            for folder, name, target in item.names:
                _put(names.setdefault(id(folder), dict(folder.names)), name, target)
        out: Image = {}
        for path, node in _walk(self.top, names, ""):
            if node.folder:
                out[path] = None
            elif not node.volatile:
                out[path] = _bytes_of(node, fates)
        return out

    def cache(self) -> Image:
        """What a process sees now, and would after one was killed."""
        out: Image = {}
        for path, node in _walk(self.top, None, ""):
            if not node.volatile:
                out[path] = None if node.folder else bytes(node.cached)
        return out

    def cached(self, path: str) -> bytes | None:
        """Bytes that a process reads under a name."""
        node = self._at(path)
        return None if node is None else bytes(node.cached)

    def is_dirty(self, path: str, *, but: str = "\0") -> bool:
        """True when a file, or anything in a directory, has changes that are not durable.

        Files called ``but`` do not count.
        """
        top = self._must(path)
        inside = [top, *(n for name, n in _walk(top, None, "") if name.split("/")[-1] != but)]
        changed = {id(folder) for item in self._names for folder, _, _ in item.names}
        return any(node.pending or id(node) in changed for node in inside)

    def durable(self, path: str) -> bytes | None:
        """Bytes that are safe under a name that is safe; None when either is not."""
        node: Node | None = self.top
        for name in path.split("/"):
            node = node.names.get(name) if node is not None else None
        return None if node is None else node.bytes


def _walk(
    node: Node, names: dict[int, dict[str, Node]] | None, path: str
) -> Iterator[tuple[str, Node]]:
    inner = node.shown if names is None else names.get(id(node), node.names)
    for name, child in sorted(inner.items()):
        where = f"{path}/{name}" if path else name
        yield where, child
        if child.folder:
            yield from _walk(child, names, where)


def _put(names: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _bytes_of(node: Node, fates: dict[Item, Fate]) -> bytes:
    kept = [(item, fates.get(item)) for item in node.pending]
    if not any(fate is not None for _, fate in kept):
        return node.bytes
    out = bytearray(node.bytes)
    for item, fate in kept:
        _apply(out, item, fate)
    return bytes(out)


def _apply(content: bytearray, item: Item, fate: Fate) -> None:
    if fate is None:
        return
    if item.kind == "write":
        if fate == ZEROS:
            _grow(content, item.end)
            return
        ranges = ((item.offset, item.end),) if isinstance(fate, str) else fate
        _grow(content, max((to for _, to in ranges), default=0))
        for start, to in ranges:
            content[start:to] = item.data[start - item.offset : to - item.offset]
    else:
        if item.kind == "resize":
            del content[item.size :]
        _grow(content, item.size)


def _grow(content: bytearray, size: int) -> None:
    if size > len(content):
        content.extend(bytes(size - len(content)))


def digest(image: Image) -> bytes:
    """The same for the same disk."""
    whole = hashlib.blake2b(digest_size=16)
    for path, data in sorted(image.items()):
        size = -1 if data is None else len(data)
        whole.update(f"{path}\0{size}\0".encode())
        whole.update(data or b"")
    return whole.digest()


def materialise(image: Image, root: str) -> None:
    """Write an image into a new directory."""
    os.mkdir(root)
    for path, data in sorted(image.items()):
        if data is None:
            os.mkdir(os.path.join(root, path), 0o700)
        else:
            Path(root, path).write_bytes(data)


__all__ += ["digest", "materialise"]
