"""What a path holds: one file, the files of a folder, or those of a zip archive.

Nothing is unpacked to the disk. Links that lead out of a folder are not followed.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.sources import SourceFile

#: endings of files that are read in a folder or archive
ENDINGS: Final = frozenset(".csv .json .jsonl .markdown .md .mdown .ndjson .text .tsv .txt".split())
#: files of one folder or archive at most
_MOST_FILES: Final = 200_000
#: an archive's file may have this many bytes however well it was packed
_FREE_BYTES: Final = 64 << 20
_MOST_BYTES: Final = 16 << 30
#: and beyond them may grow by this factor
_MOST_GROWTH: Final = 200


@dataclass(slots=True)
class Place:
    """What a path holds.

    Attributes:
        is_one: it is a file, and no folder or archive.
        files: those that may have messages, in the order of their names.
        others: how many there are besides, by their endings.
        refused: errors of files that are not read.
    """

    path: Path
    name: str
    is_one: bool
    files: list[SourceFile] = field(default_factory=list)
    others: dict[str, int] = field(default_factory=dict)
    refused: list[ImportFormatError] = field(default_factory=list)

    def add(self, source: SourceFile) -> None:
        """Add a file, or count it when its ending says that it has no messages."""
        if source.suffix in ENDINGS:
            self.files.append(source)
        else:
            self.count(source.suffix or "without an ending")

    def count(self, ending: str) -> None:
        """Count a file that is not read."""
        self.others[ending] = self.others.get(ending, 0) + 1

    def named(self, name: str) -> SourceFile | None:
        """The file of a name nearest to the top."""
        found = [each for each in self.files if each.name == name]
        return min(found, key=lambda each: len(each.folders), default=None)


@dataclass(frozen=True, slots=True)
class Export:
    """An export that lies in a folder or archive.

    Attributes:
        files: those that are read, in order, each with what its reader must know of the others.
        beside: settings and lists that belong to it, and have no messages.
    """

    files: list[tuple[SourceFile, dict[str, Any]]]
    beside: list[SourceFile]


@dataclass(frozen=True, slots=True)
class Archive:
    """A format whose files lie together in a folder or zip archive.

    Attributes:
        name: of the format of its files.
        exports: those that lie in a place, beside others or alone.
    """

    name: str
    exports: Callable[[Place], Iterator[Export]]


def exports_around(
    place: Place, members: list[SourceFile], is_beside: Callable[[SourceFile], bool]
) -> Iterator[Export]:
    """The exports of files of messages: one for each folder, with what lies beside them there.

    Args:
        is_beside: whether a file of their folder belongs to them, where that is no archive.
    """
    taken = set(members)
    for folders in dict.fromkeys(each.folders for each in members):
        beside = [
            each
            for each in place.files
            if each.folders == folders and each not in taken and (each.member or is_beside(each))
        ]
        yield Export([(each, {}) for each in members if each.folders == folders], beside)


def place_of(path: Path, name: str | None = None) -> Place:
    """What a path holds.

    Args:
        name: how the user named it.

    Raises:
        ImportFormatError: there is nothing that can be read.
    """
    given = name or str(path)
    source = SourceFile(path, given)
    if path.is_dir():
        place = Place(path, given, is_one=False)
        _fill_from_folder(place)
    else:
        source.require_file()
        if not zipfile.is_zipfile(path):
            return Place(path, given, is_one=True, files=[source])
        place = Place(path, given, is_one=False)
        _fill_from_archive(place, source)
    if not place.files and not place.refused:
        there = ", ".join(f"{count} {ending}" for ending, count in place.others.items())
        raise source.error(
            "",
            "no file of messages in it" + (f" (it has {there})" if there else ""),
            hint=f"files that can be read end in {', '.join(sorted(ENDINGS))}",
        )
    return place


def _fill_from_folder(place: Place) -> None:
    root = place.path.resolve()
    count = 0
    links: list[SourceFile] = []
    for at, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        inner = Path(at).relative_to(root).parts
        for _ in filter(os.path.islink, (os.path.join(at, each) for each in folders)):
            place.count("link to a folder")
        for each in sorted(names):
            if each.startswith("."):
                continue
            count += 1
            if count > _MOST_FILES:
                raise _too_many(SourceFile(place.path, place.name))
            file = Path(at) / each
            label = os.path.join(place.name, *inner, each)
            if file.is_symlink() and not file.resolve().is_relative_to(root):
                place.count("link out of the folder")
            elif file.is_file():
                source = SourceFile(file, label, folders=inner, is_alone=False)
                if file.is_symlink():
                    links.append(source)
                else:
                    place.add(source)
            else:  # a pipe, a device, a link to nothing
                place.count("no file")
    seen = {each.path for each in place.files}
    for link in links:  # to files that are not read otherwise, as those of a folder that is hidden
        target = link.path.resolve()
        if target in seen:
            place.count("link within the folder")
        else:
            seen.add(target)
            place.add(link)


def _fill_from_archive(place: Place, source: SourceFile) -> None:
    try:
        with source.open_bytes() as stream, zipfile.ZipFile(stream) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
    except zipfile.BadZipFile as exc:
        raise source.error("", f"cannot be read: {exc}", hint="export it again") from exc
    if len(members) > _MOST_FILES:
        raise _too_many(source)
    seen: set[str] = set()
    for member in sorted(members, key=lambda each: each.filename):
        parts = PurePosixPath(member.filename.replace("\\", "/")).parts
        if ".." in parts:
            place.count("path out of the archive")
            continue
        if any(part.startswith((".", "__MACOSX")) for part in parts) or not parts:
            continue
        inner = SourceFile(
            place.path,
            f"{place.name}!{member.filename}",
            member=member.filename,
            folders=parts[:-1],
            is_alone=False,
        )
        problem = _bomb(member)
        if member.filename in seen:
            problem = "is in the archive twice"
        seen.add(member.filename)
        if problem and inner.suffix in ENDINGS:
            place.refused.append(
                inner.error("", problem, hint="unpack it yourself, and name the file")
            )
        else:
            place.add(inner)


def _bomb(member: zipfile.ZipInfo) -> str:
    """Why a file of an archive is not unpacked; "" for one that is."""
    size = member.file_size
    if size > _MOST_BYTES:
        return f"has {size:,} bytes, and {_MOST_BYTES:,} are the most that is unpacked"
    if size > _FREE_BYTES and size > _MOST_GROWTH * max(1, member.compress_size):
        return f"grows to {size:,} bytes from {member.compress_size:,}"
    return ""


def _too_many(source: SourceFile) -> ImportFormatError:
    return source.error(
        "", f"has more than {_MOST_FILES:,} files", hint="import its folders one by one"
    )
