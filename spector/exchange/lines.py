"""Reads the lines of an export: one at a time, each checked, in batches for one commit each."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Final

import numpy as np

from spector.arguments import without_owners
from spector.chat import HALF, is_unicode
from spector.clock import from_ms, to_ms
from spector.errors import (
    ImportFormatError,
    InvalidInputError,
    InvalidTimeError,
    ModelMismatchError,
)
from spector.knowledge import ITEM_KEY, MEMORY_KEYS, Knowledge, parse_item, parse_memory
from spector.layout import HEADER_BYTES, Flag, TierCode
from spector.messages import counted
from spector.store.catalog import join_reserved_tags, split_reserved_tags
from spector.store.core import header_of
from spector.store.files import Bytes, read_lines
from spector.store.payloads import TIER_OF_SORT
from spector.write import Draft

# Checks of the values in a line that `remember` does not take, and would not check.

#: keys with ids of other memories, which get new ones
LINKS: Final = ("parents", "supersedes")


def _is_number(value: Any, low: float, high: float) -> bool:
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return real and low <= value <= high  # NaN is not


def _is_count(value: Any, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= high


def _is_instant(value: Any) -> bool:
    try:
        to_ms(value)
    except InvalidTimeError:
        return False
    return True


def _is_base64(value: Any) -> bool:
    try:
        return isinstance(value, str) and base64.b64decode(value, validate=True) is not None
    except ValueError:
        return False


#: key -> its check, for keys that ``remember`` does not take and would not check
CHECKS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "vector": (lambda v: isinstance(v, list), "a list of numbers"),
    "vector_model": (lambda v: isinstance(v, str), "the fingerprint that export wrote"),
    "id": (lambda v: _is_count(v, (1 << 63) - 1), "an integer"),
    **{
        name: (
            lambda v: isinstance(v, list) and all(_is_count(p, (1 << 63) - 1) for p in v),
            "a list of ids",
        )
        for name in (*LINKS, "superseded_by")
    },
    "stability_days": (lambda v: _is_number(v, 1e-3, 1e6), "a number of days from 0.001 on"),
    "utility": (lambda v: _is_number(v, 0.0, 1.0), "a number in 0..1"),
    "access_count": (lambda v: _is_count(v, 0xFFFF_FFFF), "an integer from 0 on"),
    "refresh_s": (lambda v: _is_number(v, 1e-3, 1e11), "a number of seconds"),
    "revision": (lambda v: _is_count(v, (1 << 53) - 1) and v > 0, "an integer from 1 on"),
    "attachment_base64": (_is_base64, "the bytes in base64"),
    "own_until": (_is_instant, "a time like 2026-05-04T17:30:00Z, or null"),
    "last_access": (_is_instant, "a time like 2026-05-04T17:30:00Z"),
    "flags": (
        lambda v: (
            isinstance(v, list)
            and all(isinstance(f, str) and f.upper() in Flag.__members__ for f in v)
        ),
        f"a list of {', '.join(name.lower() for name in Flag.__members__)}",
    ),
}


#: keys that `remember` takes
ARGUMENTS: Final = tuple(
    """text tier tags importance valence arousal event_time valid_from valid_until metadata session_id
    agent_id user_id source confidence category modality role vector key namespace expires_at
    attachment""".split()
)
#: key of an attachment that is bytes
ATTACHED: Final = "attachment_base64"
_RESTORED: Final = tuple(
    "stability_days utility access_count last_access flags revision refresh_s".split()
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
    knowledge: Knowledge
    #: characters of it
    length: int = 0

    @property
    def sorts(self) -> frozenset[str]:
        """Sorts of its payloads."""
        return self.knowledge.sorts

    @property
    def identity(self) -> tuple[Any, ...] | None:
        """What only one memory of its user may be; the user as far as that is a text."""
        user = self.given.get("user_id") if isinstance(self.given, Mapping) else None
        return self.knowledge.identity(user if isinstance(user, str) else "")


@dataclass(slots=True)
class Batch:
    """Lines for one commit: of memories, or of what is none."""

    memories: list[Line] = field(default_factory=list)
    #: number of the line, and what it says
    items: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    _length: int = 0
    _ids: set[int] = field(default_factory=set)
    _identities: set[tuple[Any, ...] | None] = field(default_factory=set)

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
        return line.identity not in self._identities and all(
            self._ids.isdisjoint(line.entry.get(name) or ()) for name in LINKS
        )

    def add(self, line: Line) -> None:
        self.memories.append(line)
        self._length += line.length
        if "id" in line.entry:
            self._ids.add(line.entry["id"])
        self._identities |= {line.identity} - {None}


@dataclass(frozen=True, slots=True)
class Source:
    """A file of lines, and what is taken of it."""

    path: str
    vectors: Vectors
    #: memories of a batch at most
    most: int
    #: memories to read at most; lines of other kinds behind the last are not read
    limit: int | None
    change: Change | None
    #: memories whose payloads are of other sorts are passed over
    accepts: Callable[[frozenset[str]], bool] | None
    #: lines that no export wrote keep the user and agent that they name
    takes_owners: bool

    def batches(self, notes: list[str]) -> Iterator[Batch]:
        """Lines in batches; no memory of a batch refers to one of its own.

        Args:
            notes: gets what was left out, and why.
        """
        batch = Batch()
        seen: set[int] = set()
        left = sys.maxsize if self.limit is None else self.limit
        try:
            for number, text in read_lines(self.path):
                if not text.strip():
                    continue
                if not left:
                    break
                where = f"{self.path} line {number}"
                # a byte-order mark is not part of the text
                entry = _entry(where, text.removeprefix("\ufeff") if number == 1 else text)
                if ITEM_KEY in entry:
                    if batch.memories or len(batch.items) == self.most:
                        yield batch
                        batch = Batch()
                    batch.items.append((number, _checked(parse_item, entry, where)))
                    continue
                if not self.takes_owners and "recorded_at" not in entry:  # our exports are copies
                    entry = without_owners(entry, notes)
                line = self._line(number, entry, seen, len(text))
                if line is not None and not is_unicode(line.given):
                    notes.append(f"line {number}: {HALF}")
                    continue
                if line is None or (self.accepts is not None and not self.accepts(line.sorts)):
                    continue
                left -= 1
                if not batch.takes(line, self.most):
                    yield batch
                    batch = Batch()
                batch.add(line)
                if "id" in entry:
                    seen.add(entry["id"])
        except UnicodeDecodeError as error:
            raise ImportFormatError(
                f"{self.path} is not UTF-8: {error.reason} at byte {error.start} of a line",
                hint="convert it to UTF-8 first",
            ) from None
        if batch:
            yield batch

    def _line(self, number: int, entry: dict[str, Any], seen: set[int], length: int) -> Line | None:
        where = f"{self.path} line {number}"
        if entry.get("vector") is not None and not self.vectors.accepts(entry, where):
            del entry["vector"]
        knowledge = _checked(lambda each: parse_memory(each, where), entry, where)
        _refuse_unknown(entry, knowledge, seen, where)
        given = entry if self.change is None else self.change(dict(entry))
        return None if given is None else Line(number, entry, given, knowledge, length)


def _checked(parse: Callable[[dict[str, Any]], Any], entry: dict[str, Any], where: str) -> Any:
    """What a parser makes of an entry; its errors name the line."""
    try:
        return parse(entry)
    except InvalidInputError as error:
        raise ImportFormatError(f"{where}: {error.message}", hint=error.hint) from error


def _entry(where: str, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ImportFormatError(f"{where} is not JSON: {error}") from None
    if not isinstance(entry, dict):
        raise ImportFormatError(f"{where} is not a JSON object", hint="one memory a line: {...}")
    if ITEM_KEY in entry:
        return entry
    unknown = set(entry) - KNOWN - _REPEATED
    if unknown:
        raise ImportFormatError(
            f"{where} has the unknown key {min(unknown)!r}",
            hint="other formats: spector import PATH FILE --format ...",
        )
    for name, (is_fine, wanted) in CHECKS.items():
        if entry.get(name) is not None and not is_fine(entry[name]):
            raise ImportFormatError(
                f"{where}: {name} is {str(entry[name])[:60]!r}", hint=f"write {wanted}"
            )
    return entry


def _refuse_unknown(
    entry: dict[str, Any], knowledge: Knowledge, seen: set[int], where: str
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
    for tie in knowledge.ties:
        if tie.target not in seen:
            raise ImportFormatError(
                f"{where}: is tied to {tie.target}, but no line before it has this id",
                hint="name the other memory's id in its own line, further up",
            )


# From the line of a memory to its draft: arguments of `remember`, strength, use and flags.

_TIMES: Final = frozenset(("event_time", "valid_from", "valid_until"))
#: sort of a payload -> times the usual starting stability, where the line gives none
_GROWTH: Final = {"fact": 2.0, "learning": 3.0}


def draft_of(
    line: Line,
    path: str,
    make: Callable[[dict[str, Any]], Draft],
    id_of: Callable[[int], int | None],
    zone: tzinfo | None = None,
) -> Draft:
    """The draft of a line.

    Args:
        make: a draft of arguments of `remember`.
        id_of: the id that a memory of the file has got.
        zone: of times that name none; None leaves them to be refused.
    """
    given = line.given
    if "recorded_at" not in line.entry:
        given = _with_source(given, path)
    arguments = _arguments(given, id_of)
    if zone is not None:
        for name in _TIMES & arguments.keys():
            arguments[name] = _in_zone(arguments[name], zone, is_end=name == "valid_until")
    sorts = line.sorts
    for sort in sorts & TIER_OF_SORT.keys():
        arguments["tier"] = TierCode(TIER_OF_SORT[sort]).name.lower()
    draft = make(arguments)
    flags = line.entry.get("flags")  # of an export: a caller's own fact may have sources as well
    draft.derived = line.knowledge.is_derived and (flags is None or "auxiliary" in flags)
    draft.restored = _restored(line.entry, is_derived=draft.derived, is_wordless=draft.is_wordless)
    draft.tags = _with_own_end(draft, line.entry)
    draft.revision = line.entry.get("revision")
    if line.entry.get("refresh_s") is not None and draft.expires_ms is not None:
        draft.refresh_ms = round(1000 * line.entry["refresh_s"])
    if "stability_days" not in draft.restored:
        for sort in sorts & _GROWTH.keys():
            draft.growth = _GROWTH[sort]
    return draft


def _in_zone(value: Any, zone: tzinfo, *, is_end: bool) -> Any:
    """A time in a zone, if it names none itself; what is no time as it is."""
    if not isinstance(value, str):
        return value
    try:
        parsed = datetime.fromisoformat(value.strip())
        if len(value.strip()) == 10:
            return from_ms(to_ms(value, zone=zone, is_end=is_end))
    except (ValueError, OverflowError):
        return value
    return parsed.replace(tzinfo=zone) if parsed.tzinfo is None else value


def _with_source(entry: dict[str, Any], path: str) -> dict[str, Any]:
    """A line from elsewhere without role and source, with its file's name as the source.

    Text from a file must not pass for the user's own words.
    """
    if entry.get("role") or entry.get("source"):
        return entry
    return {**entry, "source": os.path.basename(path).encode(errors="replace").decode()}


def _arguments(entry: dict[str, Any], id_of: Callable[[int], int | None]) -> dict[str, Any]:
    """The arguments of ``remember`` in a line; ids of other memories become their new ids."""
    out = {name: entry[name] for name in (*ARGUMENTS, "content") if entry.get(name) is not None}
    if entry.get(ATTACHED) is not None:
        out["attachment"] = base64.b64decode(entry[ATTACHED])
    for name in LINKS:
        others = [new for i in entry.get(name) or () if (new := id_of(i)) is not None]
        if others:
            out[name] = others
    return out


def _with_own_end(draft: Draft, entry: dict[str, Any]) -> tuple[str, ...]:
    """The draft's tags, with the end of validity that it had before it was superseded."""
    if "own_until" not in entry:
        return draft.tags
    until = entry["own_until"]
    until_ms = None if until is None else to_ms(until, name="own_until")
    found = split_reserved_tags(draft.tags)
    return join_reserved_tags(found.own, found.supersedes, (until_ms,))


def _restored(entry: dict[str, Any], *, is_derived: bool, is_wordless: bool) -> dict[str, Any]:
    """Fields of the record's mutable half in a line, which ``remember`` does not take.

    Args:
        is_derived: it repeats others, and recalls leave it out.
        is_wordless: it has no text, and recalls leave it out, too.
    """
    out = {
        name: entry[name]
        for name in ("stability_days", "utility", "access_count")
        if entry.get(name) is not None
    }
    if entry.get("last_access"):
        seconds = to_ms(entry["last_access"], name="last_access") // 1000
        out["last_access_s"] = max(0, min(0xFFFF_FFFF, seconds))
    if isinstance(entry.get("flags"), list):
        flags = Flag.NONE
        for name in entry["flags"]:
            flags |= Flag[name.upper()]
        out["flags"] = int(flags & ~(Flag.TOMBSTONE | Flag.AUXILIARY | Flag.NO_TEXT))
    if is_derived:
        out["flags"] = out.get("flags", 0) | int(Flag.AUXILIARY)
    if is_wordless:
        out["flags"] = out.get("flags", 0) | int(Flag.AUXILIARY | Flag.NO_TEXT)
    return out


# Vectors that leave and enter a store: those of one model only.


@dataclass(frozen=True, slots=True)
class Vectors:
    """The model of a store's vectors: only vectors of one model leave or enter it."""

    dim: int
    #: of the model of the store's vectors; "" when the caller gave them
    fingerprint: str
    can_embed: bool

    def of(self, image: Bytes) -> list[float] | None:
        """The vector of a record from its (stride,) u8 bytes; None when it has none."""
        scale = float(header_of(image)["scale"])
        codes = image[HEADER_BYTES : HEADER_BYTES + self.dim].view(np.int8).astype(np.float64)
        values: list[float] = (scale * codes).round(7).tolist()
        return values if scale else None

    def accepts(self, entry: dict[str, Any], where: str) -> bool:
        """True when the entry's vector is of this store's model; False: embed the text instead.

        Raises:
            ModelMismatchError: it is not, and there is no embedder.
            ImportFormatError: its model is unknown, and its length is not the store's.
        """
        model = entry.get("vector_model")
        if model is None:  # not from an export: the author of the line vouches for its vector
            return True
        length = len(entry["vector"])
        if model == self.fingerprint and (model or length == self.dim):
            return True
        if self.can_embed:
            return False
        if model != self.fingerprint:
            raise ModelMismatchError(
                f"{where}: the vector is of {model or 'no known model'}, the store's are of "
                f"{self.fingerprint or 'no known model'}",
                hint="open the store with an embedder, which then embeds the texts again",
            )
        raise ImportFormatError(
            f"{where}: the vector has {counted(length, 'number')}, the store's have {self.dim}",
            hint=f"import into a store made with dim={length}, or open one with an embedder",
        )
