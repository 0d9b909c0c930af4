"""Reads the lines of an export: one at a time, each checked, in batches for one commit each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spector.arguments import without_owners
from spector.chat import HALF, is_unicode
from spector.errors import ImportFormatError, InvalidInputError
from spector.exchange.checks import CHECKS, LINKS
from spector.exchange.vectors import Vectors
from spector.knowledge.exchange import ITEM_KEY, MEMORY_KEYS, Knowledge, parse_item, parse_memory
from spector.store.files import read_lines

__all__ = ["ARGUMENTS", "ATTACHED", "KNOWN", "Batch", "Change", "Line", "batches"]

#: keys that `remember` takes
ARGUMENTS: Final = (
    "text",
    "tier",
    "tags",
    "importance",
    "valence",
    "arousal",
    "event_time",
    "valid_from",
    "valid_until",
    "metadata",
    "session_id",
    "agent_id",
    "user_id",
    "source",
    "confidence",
    "category",
    "modality",
    "role",
    "vector",
    "key",
    "namespace",
    "expires_at",
    "attachment",
)
#: key of an attachment that is bytes
ATTACHED: Final = "attachment_base64"
_RESTORED: Final = (
    "stability_days",
    "utility",
    "access_count",
    "last_access",
    "flags",
    "revision",
    "refresh_s",
)
KNOWN: Final = frozenset(
    (
        *ARGUMENTS,
        *_RESTORED,
        "id",
        *LINKS,
        "superseded_by",
        "own_until",
        "recorded_at",
        "content",
        "vector_model",
        ATTACHED,
        *MEMORY_KEYS,
    )
)
_KNOWLEDGE: Final = frozenset(MEMORY_KEYS)
#: keys of `MemoryRecord.to_dict` that repeat what a payload says
_REPEATED: Final = frozenset({"details"})

#: characters of lines from which a batch takes no more
_MOST_CHARS: Final = 32 << 20

#: from the dictionary of a line to the one to import; None leaves the line out
Change = Callable[[dict[str, Any]], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Line:
    """The line of a memory."""

    number: int
    #: as it stands in the file
    entry: dict[str, Any]
    #: as the caller changed it
    given: dict[str, Any]
    knowledge: Knowledge | None
    #: characters of it
    length: int = 0

    @property
    def sorts(self) -> frozenset[str]:
        """Sorts of its payloads."""
        return frozenset() if self.knowledge is None else self.knowledge.sorts

    @property
    def user(self) -> str:
        """The user whose memory it becomes, as far as that is a text."""
        user = self.given.get("user_id") if isinstance(self.given, Mapping) else None
        return user if isinstance(user, str) else ""


@dataclass(slots=True)
class Batch:
    """Lines for one commit: of memories, or of what is none."""

    memories: list[Line] = field(default_factory=list)
    #: number of the line, and what it says
    items: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    _length: int = 0
    _ids: set[int] = field(default_factory=set)
    _identities: set[tuple[Any, ...]] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.memories or self.items)

    @property
    def numbers(self) -> tuple[int, int]:
        """Numbers of its first and last line."""
        found = [each.number for each in self.memories] or [number for number, _ in self.items]
        return found[0], found[-1]

    def takes(self, line: Line, most: int) -> bool:
        """Whether the line may be of this batch: it refers to none of it, and repeats none."""
        if self.items or len(self.memories) == most or self._length > _MOST_CHARS:
            return False
        identity = None if line.knowledge is None else line.knowledge.identity(line.user)
        return identity not in self._identities and all(
            self._ids.isdisjoint(line.entry.get(name) or ()) for name in LINKS
        )

    def add(self, line: Line) -> None:
        self.memories.append(line)
        self._length += line.length
        if "id" in line.entry:
            self._ids.add(line.entry["id"])
        identity = None if line.knowledge is None else line.knowledge.identity(line.user)
        if identity is not None:
            self._identities.add(identity)


def batches(
    path: str,
    vectors: Vectors,
    most: int,
    limit: int | None,
    change: Change | None,
    accepts: Callable[[frozenset[str]], bool] | None = None,
    *,
    takes_owners: bool,
    notes: list[str],
) -> Iterator[Batch]:
    """Lines in batches of at most ``most``; no memory of a batch refers to one of its own.

    Args:
        limit: memories to read at most; lines of other kinds behind the last are not read.
        accepts: memories whose payloads are of other sorts are passed over.
        takes_owners: lines that no export wrote keep the user and agent that they name.
        notes: gets what was left out, and why.
    """
    batch = Batch()
    seen: set[int] = set()
    left = sys.maxsize if limit is None else limit
    try:
        for number, text in read_lines(path):
            if not text.strip():
                continue
            if not left:
                break
            # a byte-order mark is not part of the text
            entry = _entry(path, number, text.removeprefix("\ufeff") if number == 1 else text)
            if ITEM_KEY in entry:
                if batch.memories or len(batch.items) == most:
                    yield batch
                    batch = Batch()
                batch.items.append((number, _checked(parse_item, entry, f"{path} line {number}")))
                continue
            if not takes_owners and "recorded_at" not in entry:  # our own exports are copies
                entry = without_owners(entry, notes)
            line = _line(path, number, entry, vectors, change, seen, len(text))
            if line is not None and not is_unicode(line.given):
                notes.append(f"line {number}: {HALF}")
                continue
            if line is None or (accepts is not None and not accepts(line.sorts)):
                continue
            left -= 1
            if not batch.takes(line, most):
                yield batch
                batch = Batch()
            batch.add(line)
            if "id" in entry:
                seen.add(entry["id"])
    except UnicodeDecodeError as error:
        raise ImportFormatError(
            f"{path} is not UTF-8: {error.reason} at byte {error.start} of a line",
            hint="convert it to UTF-8 first",
        ) from None
    if batch:
        yield batch


def _line(
    path: str,
    number: int,
    entry: dict[str, Any],
    vectors: Vectors,
    change: Change | None,
    seen: set[int],
    length: int,
) -> Line | None:
    where = f"{path} line {number}"
    if entry.get("vector") is not None and not vectors.accepts(entry, where):
        del entry["vector"]
    knowledge = None
    if not _KNOWLEDGE.isdisjoint(entry):
        knowledge = _checked(lambda each: parse_memory(each, where), entry, where)
    _refuse_unknown(entry, knowledge, seen, where)
    given = entry if change is None else change(dict(entry))
    return None if given is None else Line(number, entry, given, knowledge, length)


def _checked(parse: Callable[[dict[str, Any]], Any], entry: dict[str, Any], where: str) -> Any:
    """What a parser makes of an entry; its errors name the line."""
    try:
        return parse(entry)
    except InvalidInputError as error:
        raise ImportFormatError(f"{where}: {error.message}", hint=error.hint) from error


def _entry(path: str, number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ImportFormatError(f"{path} line {number} is not JSON: {error}") from None
    if not isinstance(entry, dict):
        raise ImportFormatError(
            f"{path} line {number} is not a JSON object", hint="one memory a line: {...}"
        )
    if ITEM_KEY in entry:
        return entry
    unknown = set(entry) - KNOWN - _REPEATED
    if unknown:
        raise ImportFormatError(
            f"{path} line {number} has the unknown key {min(unknown)!r}",
            hint="other formats: spector import PATH FILE --format ...",
        )
    for name, (is_fine, wanted) in CHECKS.items():
        if entry.get(name) is not None and not is_fine(entry[name]):
            raise ImportFormatError(
                f"{path} line {number}: {name} is {str(entry[name])[:60]!r}", hint=f"write {wanted}"
            )
    return entry


def _refuse_unknown(
    entry: dict[str, Any], knowledge: Knowledge | None, seen: set[int], where: str
) -> None:
    """Raise when an entry supersedes, or is tied to, an id that no entry before it has.

    Our own exports may name forgotten memories, and later lines: they are exempt.
    """
    if "recorded_at" in entry:
        return
    for older in entry.get("supersedes") or ():
        if older not in seen:
            raise ImportFormatError(
                f"{where}: supersedes {older}, but no line before it has this id",
                hint="name the older memory's id in its own line, further up; or, to supersede a"
                " memory of the store, remember(..., supersedes=id)",
            )
    for tie in knowledge.ties if knowledge is not None else ():
        if tie.target not in seen:
            raise ImportFormatError(
                f"{where}: is tied to {tie.target}, but no line before it has this id",
                hint="name the other memory's id in its own line, further up",
            )
