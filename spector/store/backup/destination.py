"""The destination of a copy, the names beside it that it uses, and what must not be touched.

Whatever has one of those names is emptied or renamed. So everything that could have another owner
is refused before anything changes: the store that is copied, links, files of another user, and
directories with other files than a copy leaves behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from spector.arguments import parse_path
from spector.errors import InvalidInputError, StoreError, StoreExistsError
from spector.store.backup.directories import (
    EntryKind,
    entry_kind,
    mounted,
    put_in_place,
    remove_tree,
)
from spector.store.files import identity, translate_os_errors

__all__ = ["Destination", "file_beside", "stranger_in"]

#: names of files in a copy, finished or not; the last three come and go by themselves
_OURS: Final = re.compile(
    r"LOCK|catalog\.db(?:-wal|-shm|-journal)?|(?:.*/)?[^/]+\.(?:mem|idx|lex)(?:\.tmp)?"
    r"|(?:.*/)?(?:\.nfs[0-9a-f]+|\.fuse_hidden[0-9a-f]+|\.DS_Store)",
    re.DOTALL,
)
#: bytes that the name of a file may have
_NAME_MAX: Final = 255
_RENAME: Final = "rename it or move it away, or choose another destination"


@dataclass(frozen=True, slots=True)
class Destination:
    """A destination, and the names beside it that a copy uses temporarily."""

    #: the path of the copy, without symbolic links
    target: str
    #: where it is built
    staging: str
    #: where the older copy is for a moment if two names cannot be exchanged
    aside: str

    @classmethod
    def at(cls, path: str) -> Destination:
        with translate_os_errors("find", path):  # the current directory may be gone
            target = os.path.realpath(path)
        parent, name = os.path.split(target)
        beside = (f".{_short(name)}.spector-{kind}" for kind in ("incomplete", "previous"))
        return cls(target, *(os.path.join(parent, each) for each in beside))

    def refuse_harm(self, source: str) -> None:
        """Raise, before anything has changed, when a copy of ``source`` would destroy something.

        Raises:
            InvalidInputError: the source has one of the three names, is in one or a parent of one;
                or the destination is the current directory.
            StoreError: one of the names is taken by something that no copy has left, or the
                destination is a mount point, which cannot be replaced.
        """
        if _overlap(self.target, source):
            raise InvalidInputError(
                f"{self.target} is the store itself, inside it, or a parent of it",
                hint="choose a directory beside it, best on another disk",
            )
        for name in (self.staging, self.aside):
            if _overlap(name, source):
                raise InvalidInputError(
                    f"{os.path.realpath(source)} is a temporary name of a copy to {self.target},"
                    " which would remove it",
                    hint=f"rename {name} first, or choose another destination",
                )
        if _is_current(self.target):
            raise InvalidInputError(
                f"{self.target} is the current directory, which a copy would replace",
                hint="go to another directory (cd ..) and name it from there",
            )
        there = entry_kind(self.target) in (EntryKind.EMPTY, EntryKind.DIRECTORY)
        if there and _is_mount(self.target):
            raise mounted(self.target)
        for name in (self.staging, self.aside):
            refuse_strange(name)

    def is_passed_through(self) -> bool:
        """True when a killed copy, or one being made, has left something beside the destination."""
        return any(entry_kind(name) is not EntryKind.NOTHING for name in (self.staging, self.aside))

    def refuse_taken(self) -> None:
        """Raise when something is at the destination.

        Raises:
            StoreExistsError
        """
        found = entry_kind(self.target)
        if found is EntryKind.DIRECTORY:
            raise StoreExistsError(
                f"{self.target} is not empty", hint="name a directory that does not exist yet"
            )
        if found is EntryKind.OTHER:
            raise StoreExistsError(
                f"{self.target} is {found.value}", hint="name a directory that does not exist yet"
            )

    def put_back(self) -> None:
        """Give the older copy its name back after a crash between two renames.

        The caller must hold the lock: another copy may be between the two right now.
        """
        free = entry_kind(self.target) in (EntryKind.NOTHING, EntryKind.EMPTY)
        if free and entry_kind(self.aside) is not EntryKind.NOTHING:
            refuse_strange(self.aside)
            put_in_place(self.aside, self.target)

    def drop_aside(self) -> None:
        """Remove an older copy that a crash has left beside the newer one."""
        if entry_kind(self.aside) is not EntryKind.NOTHING:
            refuse_strange(self.aside)
            remove_tree(self.aside)

    @contextlib.contextmanager
    def explained(self, source: str) -> Iterator[None]:
        """Errors about the copy get a hint about the destination, not one about the source."""
        try:
            yield
        except StoreError as error:
            own = (self.target, self.staging, self.aside, os.path.dirname(self.target))
            about = any(_is_named(path, error.message) for path in own)
            if "PATH" in error.hint and about and not _is_named(source, error.message):
                error.hint = "look at the disk of the destination, or choose another destination"
            raise


def file_beside(path: object, source: str | None, *, overwrite: bool = True) -> str:
    """The path of a file that the user names; ``source`` is the store that it is made from.

    Raises:
        StoreExistsError: a file or a link is there, and it is not to be replaced.
        InvalidInputError: the name is impossible, inside the store or that of a file of a store; or
            a device, a pipe, a directory or a link to one is there.
    """
    target = parse_path(path, "target")
    folder, name = os.path.split(target)
    with translate_os_errors("find", folder or os.curdir):
        folder = os.path.realpath(folder)
    if source is not None and _is_within(folder, os.path.realpath(source)):
        raise InvalidInputError(
            f"{target} is in the store itself", hint=f"choose a file outside {source}"
        )
    if _OURS.fullmatch(name):
        for root in (folder, os.path.dirname(folder)):
            if os.path.exists(os.path.join(root, "catalog.db")):
                raise InvalidInputError(
                    f"{target} has the name of a file of the store at {root}",
                    hint="choose another name",
                )
    with contextlib.suppress(OSError):  # nothing is there, or writing it says why
        if not name or not stat.S_ISREG(os.stat(target).st_mode):
            raise InvalidInputError(
                f"{target} is not a file, and would be replaced by one",
                hint="name a file; spector export PATH - writes to standard output",
            )
    if not overwrite and os.path.lexists(target):
        raise StoreExistsError(
            f"{target} already exists",
            hint="choose another name; overwrite=True replaces it",
        )
    return target


def _is_within(folder: str, root: str) -> bool:
    """True when a directory is the root or below it, by name or by inode."""
    known = identity(root)
    parents = [PurePath(folder), *PurePath(folder).parents]
    return any(
        str(each) == root or (known is not None and identity(str(each)) == known)
        for each in parents
    )


def refuse_strange(path: str, *, mine: bool = True) -> None:
    """Raise unless ``path`` is free or a directory with nothing but files of a copy.

    ``mine``: it has to belong to this user, too. (Some network file systems give new files to
    another user.)

    Raises:
        StoreError: it names what is there.
    """
    with translate_os_errors("look at", path):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return
    if not stat.S_ISDIR(status.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a directory"
        raise StoreError(f"{path} is {what}; a copy uses this name", hint=_RENAME)
    if mine and status.st_uid != os.geteuid():
        raise StoreError(f"{path} belongs to another user; a copy uses this name", hint=_RENAME)
    strange = stranger_in(path)
    if strange is not None:
        raise StoreError(
            f"{path} has {strange} in it, which no copy of a store has left there; a copy uses"
            " this name",
            hint=_RENAME,
        )


def stranger_in(root: str, *, links: bool = False) -> str | None:
    """The name of something below ``root`` that no copy of a store has; None if there is none.

    Anything but a file or directory counts whatever its name. So does a link, unless ``links``:
    removing one loses nothing.
    """
    waiting = [""]
    with translate_os_errors("list", root):
        while waiting:
            within = waiting.pop()
            with (
                contextlib.suppress(FileNotFoundError),
                os.scandir(os.path.join(root, within)) as entries,
            ):
                for entry in entries:
                    name = os.path.join(within, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(name)
                    elif _is_ours(entry, name) or (links and entry.is_symlink()):
                        continue
                    elif os.path.lexists(entry.path):  # and has not just been removed
                        return name
    return None


def _is_ours(entry: os.DirEntry[str], name: str) -> bool:
    return entry.is_file(follow_symlinks=False) and _OURS.fullmatch(name) is not None


def _short(name: str) -> str:
    """``name``, or a shorter name derived from it where the longer names would not fit."""
    if len(os.fsencode(f".{name}.spector-incomplete")) <= _NAME_MAX:
        return name
    return f"{name[:40]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"


def _overlap(one: str, other: str) -> bool:
    """True when two paths are one directory, by name or inode, or one contains the other."""
    mine, theirs = PurePath(one), PurePath(os.path.realpath(other))
    if mine.is_relative_to(theirs) or theirs.is_relative_to(mine):
        return True
    known = identity(str(theirs))
    return known is not None and known == identity(one)


def _is_current(path: str) -> bool:
    try:
        return PurePath(os.path.realpath(os.getcwd())).is_relative_to(path)
    except OSError:  # it is gone
        return False


def _is_mount(path: str) -> bool:
    """True for the top of another device, and on Linux for every other mount point."""
    if os.path.ismount(path):
        return True
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
            return any(_unescaped(line.split(" ")[4]) == path for line in lines)
    except (OSError, IndexError):
        return False


def _unescaped(name: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), name)


def _is_named(path: str, message: str) -> bool:
    return re.search(re.escape(path) + r"(?![^/\s:;,)'\"])", message) is not None
