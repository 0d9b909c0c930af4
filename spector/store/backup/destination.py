"""The destination of a copy: the names beside it, and how a finished copy gets its name at once."""

from __future__ import annotations

import contextlib
import ctypes
import enum
import errno
import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from spector.arguments import parse_path
from spector.errors import InvalidInputError, StoreError, StoreExistsError, StoreLockedError
from spector.process import managed
from spector.store.files import (
    LOCK_NAME,
    DiskFiles,
    DurableMark,
    WriterLock,
    identity,
    read_durable_mark,
    sync_folder,
    translate_os_errors,
)

# Whole directories: what is at a path, and how a finished one gets its name at once.
#
# A copy of a store is built in a directory beside its destination and then renamed; an older copy is
# exchanged in one step where the system can (Linux, ``renameat2``), and in two steps elsewhere.

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_MOUNTED = {errno.EBUSY, errno.EXDEV}
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


class EntryKind(enum.Enum):
    """What is at a path."""

    NOTHING = "nothing"
    EMPTY = "an empty directory"
    DIRECTORY = "a directory"
    OTHER = "not a directory"


def entry_kind(path: str) -> EntryKind:
    with translate_os_errors("look at", path):
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return EntryKind.OTHER if os.path.islink(path) else EntryKind.NOTHING
        if not stat.S_ISDIR(status.st_mode):
            return EntryKind.OTHER
        return EntryKind.DIRECTORY if os.listdir(path) else EntryKind.EMPTY


def is_sole(path: str) -> bool:
    """True when a file has only this name and is reached through no link."""
    with translate_os_errors("look at", path):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return False
        return (
            stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and os.path.realpath(path) == path
        )


def share(source: str, target: str) -> None:
    """Give a file a second name. Only for a source that is about to be removed.

    A file that has other names already (``cp -al`` of a backup) or is reached through a link is
    refused, because its other owner stays.
    """
    with translate_os_errors("link", target):
        if os.stat(source).st_nlink != 1 or os.path.realpath(source) != source:
            raise OSError(errno.EMLINK, "the file is shared already")
        directory = os.path.dirname(target)
        if not os.path.isdir(directory):
            os.mkdir(directory, 0o700)
        os.link(source, target)


def put_in_place(staging: str, target: str) -> None:
    """Rename a finished directory to a free name (or over an empty directory), durably."""
    _sync_tree(staging)
    with translate_os_errors("rename to", target):
        try:
            os.rename(staging, target)
        except OSError as error:
            if error.errno in _MOUNTED:
                raise mounted(target) from error
            raise
    _sync(os.path.dirname(target))


def mounted(target: str) -> StoreError:
    """The error for a directory that cannot be replaced, because a disk is mounted there."""
    return StoreError(
        f"{target} is a mount point: nothing can be put in its place",
        hint=f"name a directory inside it, {shlex.quote(os.path.join(target, 'copy'))}"
        " for instance",
    )


def put_instead(staging: str, target: str, aside: str) -> None:
    """Give the finished directory the name of the older one, which is removed.

    Where two names cannot be exchanged, the older one is ``aside`` for a moment.
    What cannot be removed is left to the next copy: the new one is complete.
    """
    _sync_tree(staging)
    if _exchange(staging, target):
        try:
            _sync(os.path.dirname(target))
        except StoreError:  # a power cut may give the older one its name back, so it stays
            with contextlib.suppress(OSError):
                os.rename(staging, aside)
            raise
        left = staging
    else:
        with translate_os_errors("rename to", target):
            os.rename(target, aside)
            try:
                os.rename(staging, target)
            except OSError:
                os.rename(aside, target)
                raise
        _sync(os.path.dirname(target))
        left = aside
    with contextlib.suppress(StoreError):
        remove_tree(left)


def remove_tree(root: str) -> None:
    """Remove a directory and everything in it; of a link only the link.

    LOCK goes last: without it another copy could start building among the files being removed.
    """
    lock = os.path.join(root, LOCK_NAME)
    with translate_os_errors("remove", root):
        if os.path.islink(root) or not os.path.isdir(root):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(root)
            return
        for directory, folders, names in os.walk(root, topdown=False):
            for name in names:
                path = os.path.join(directory, name)
                if path != lock:
                    os.unlink(path)
            for name in folders:
                path = os.path.join(directory, name)
                if os.path.islink(path):
                    os.unlink(path)
                else:
                    os.rmdir(path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(lock)
        os.rmdir(root)


def _exchange(one: str, other: str) -> bool:
    """Swap two names in one step; False where the system cannot."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    if not renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE):
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    with translate_os_errors("rename to", other):
        raise OSError(code, os.strerror(code))


def _sync_tree(root: str) -> None:
    """Make the names in a directory tree durable; its files have been synced one by one."""
    for directory, _, _ in os.walk(root, topdown=False):
        _sync(directory)


def _sync(path: str) -> None:
    with translate_os_errors("sync directory", path):
        sync_folder(path)


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
        if found in (EntryKind.DIRECTORY, EntryKind.OTHER):
            what = "not empty" if found is EntryKind.DIRECTORY else found.value
            raise StoreExistsError(
                f"{self.target} is {what}", hint="name a directory that does not exist yet"
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
        problem = "is " + ("a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a directory")
    elif mine and status.st_uid != os.geteuid():
        problem = "belongs to another user"
    elif (strange := stranger_in(path)) is not None:
        problem = f"has {strange} in it, which no copy of a store has left there"
    else:
        return
    raise StoreError(f"{path} {problem}; a copy uses this name", hint=_RENAME)


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
                        continue
                    ours = entry.is_file(follow_symlinks=False) and _OURS.fullmatch(name)
                    if ours or (links and entry.is_symlink()):
                        continue
                    if os.path.lexists(entry.path):  # and has not just been removed
                        return name
    return None


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
            names = [line.split(" ")[4] for line in lines]
    except (OSError, IndexError):
        return False
    octal = re.compile(r"\\([0-7]{3})")
    return path in (octal.sub(lambda found: chr(int(found[1], 8)), name) for name in names)


def _is_named(path: str, message: str) -> bool:
    return re.search(re.escape(path) + r"(?![^/\s:;,)'\"])", message) is not None


# Build a directory beside its destination: one at a time, whole or not at all.
#
# A killed run leaves its directory behind, under a name that depends only on the destination. Its
# lock died with the process, so the next run to the same destination takes the directory over and
# empties it, unless it has been opened as a store and written to.


@managed
def building(place: Destination) -> Iterator[tuple[DiskFiles, WriterLock]]:
    """An empty directory with its lock, which is moved to the destination at the end of the block.

    When the block fails, the directory is removed and the destination is unchanged.

    Raises:
        StoreLockedError: another copy to the same destination is being made.
        StoreExistsError: something is at the destination.
    """
    place.refuse_taken()
    with staged(place) as (files, lock):
        place.refuse_taken()  # the older copy may have got its name back
        yield files, lock
        put_in_place(place.staging, place.target)


@managed
def staged(place: Destination) -> Iterator[tuple[DiskFiles, WriterLock]]:
    """An empty directory with its lock, which the block has to move to the destination.

    When the block fails, the directory and the parents made for it are removed. Before it begins, a
    crash between two renames is undone.

    Raises:
        StoreLockedError: another copy to the same destination is being made.
        StoreExistsError: the directory in the way has been used as a store.
        StoreError: what is in the way was not left by a copy.
    """
    made, above = list[str](), os.path.dirname(place.target)
    while not os.path.lexists(above):  # lowest first
        made.append(above)
        above = os.path.dirname(above)
    try:
        refuse_strange(place.staging)  # a foreign directory does not even get a lock file
        _refuse_used(place, read_durable_mark(place.staging))
        files = DiskFiles(place.staging)
        if files.root != place.staging:
            raise StoreError(f"{place.staging} is a symbolic link", hint="take it away")
        files.make_root()
        lock = _claim(files, place)
        try:
            refuse_strange(place.staging, mine=False)  # no other copy changes it from here on
            _refuse_used(place, lock.mark)
            try:
                place.put_back()
                clear(files)
                yield files, lock
            except BaseException:
                with contextlib.suppress(StoreError):  # the first error matters
                    remove_tree(place.staging)
                raise
        finally:
            lock.release()
    except BaseException:
        with contextlib.suppress(OSError):  # up to the first that is not empty
            for path in made:
                os.rmdir(path)
        raise


def _claim(files: DiskFiles, place: Destination) -> WriterLock:
    """Take the lock of the directory; leftovers in it are of a dead process."""
    try:
        lock = WriterLock(files.root, speaks=False)
    except StoreLockedError as error:
        raise _busy(place) from error
    if not files.exists(LOCK_NAME):  # another copy finished between our two steps
        lock.release()
        raise _busy(place)
    return lock


def _refuse_used(place: Destination, mark: DurableMark | None) -> None:
    """Raise for a store that has been opened to write: its new memories may be nowhere else.

    The remains of a killed copy may be complete, and only its name keeps it from being used.
    """
    if mark is not None:
        raise StoreExistsError(
            f"{place.staging} is a store that has been in use; a copy to {place.target} would be"
            " built in its place",
            hint="rename it or move it away, or choose another destination",
        )


def clear(files: DiskFiles) -> None:
    """Remove everything but the lock."""
    for name in files.listing():
        if name != LOCK_NAME:
            files.remove(name)


def _busy(place: Destination) -> StoreLockedError:
    return StoreLockedError(
        f"another copy to {place.target} is being made", hint="wait until it is done"
    )
