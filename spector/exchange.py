"""Export to and import from JSON lines: one memory a line, keys as in ``remember``."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from spector.arguments import parse_callback, parse_integer, parse_path, parse_switch, parse_truth
from spector.clock import to_ms
from spector.config import Config
from spector.errors import (
    ImportFormatError,
    InvalidInputError,
    InvalidTimeError,
    ModelMismatchError,
    SpectorError,
)
from spector.layout import HEADER_BYTES, Flag
from spector.messages import counted
from spector.records import MemoryRecord
from spector.search import Listing
from spector.store.backup import file_beside
from spector.store.catalog import join_reserved_tags, split_reserved_tags
from spector.store.core import header_of
from spector.store.files import Bytes, read_lines, write_lines
from spector.write import Draft, Writer

__all__ = ["Exchange", "Vectors"]

Progress = Callable[[int, int | None], None]

_ARGUMENTS = (
    "text", "tier", "tags", "importance", "valence", "arousal", "event_time", "valid_from",
    "valid_until", "metadata", "session_id", "agent_id", "user_id", "source", "confidence",
    "category", "modality", "role", "vector",
)
#: ids of other memories, which get new ones
_LINKS = ("parents", "supersedes")
_RESTORED = ("stability_days", "utility", "access_count", "last_access", "flags")
_KNOWN = frozenset(
    (*_ARGUMENTS, *_RESTORED, "id", *_LINKS, "superseded_by", "own_until", "recorded_at", "content",
     "vector_model")
)
_BATCH = 512


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


class Exchange:
    """Writes the memories of a selection to a file, and reads them from one.

    Args:
        root: the directory of the store; None for one in memory.
    """

    def __init__(
        self, listing: Listing, writer: Writer, vectors: Vectors, *, root: str | None,
        config: Config,
    ) -> None:
        self._listing = listing
        self._writer = writer
        self._vectors = vectors
        self._root = root
        self._config = config

    def export(
        self, target: Any, given: Mapping[str, Any], *, vectors: Any, overwrite: Any,
        skip_damaged: Any, progress: Progress | None, count: Callable[[], int],
    ) -> int:
        """Write a selection to ``target``, which appears whole or not at all; see `Memory.export`.

        Args:
            count: how many memories there are, for the progress of a full export.
        """
        chosen = self._listing.select(given, "export")
        has_vectors = not self._vectors.can_embed
        if vectors is not None:
            has_vectors = parse_truth(vectors, "vectors")
        damaged: list[int] | None = [] if parse_truth(skip_damaged, "skip_damaged") else None
        place = file_beside(target, self._root, overwrite=parse_switch(overwrite, "overwrite"))
        written = _write(
            place, self._listing.records(chosen, damaged, proven=True),
            self._vectors if has_vectors else None,
            total=count() if chosen.is_everything else None,
            progress=parse_callback(progress, "progress"),
        )
        if damaged:
            warnings.warn(
                f"damaged memories were left out: {', '.join(map(str, sorted({*damaged})))}",
                RuntimeWarning, stacklevel=5,  # past the verb and the checks of its arguments
            )
        return written

    def import_(
        self, source: Any, *, change: Callable[[dict[str, Any]], dict[str, Any]] | None,
        limit: Any, progress: Progress | None,
    ) -> list[MemoryRecord]:
        """Store every line of ``source``, with the strength, use and flags in it; see `Memory`.

        These are part of the append: a quarantined memory is so from its commit on.
        """
        path = parse_path(source, "source")
        parse_callback(progress, "progress")
        if limit is not None:
            limit = parse_integer(limit, "limit", 0, sys.maxsize, "None reads all")
        if change is not None and not callable(change):
            raise InvalidInputError(
                f"change is a {type(change).__name__}",
                hint="pass a function from a line's dictionary to the one to import",
            )
        out: list[MemoryRecord] = []
        new_ids: dict[int, int] = {}
        most = min(_BATCH, self._config.batch_records)
        for start, batch in _batches(path, self._vectors, most, limit):
            try:
                stored = self._store(path, batch, change, new_ids)
            except SpectorError as error:
                error.add_note(f"{path}: in lines {start} to {start + len(batch) - 1}")
                raise
            for entry, record in zip(batch, stored, strict=True):
                if isinstance(entry.get("id"), int):
                    new_ids[entry["id"]] = record.id
            out += stored
            if progress is not None:
                progress(len(out), None)
        return out

    def _store(
        self, path: str, batch: list[dict[str, Any]],
        change: Callable[[dict[str, Any]], dict[str, Any]] | None, new_ids: Mapping[int, int],
    ) -> list[MemoryRecord]:
        given = batch if change is None else [change(dict(entry)) for entry in batch]
        given = [e if "recorded_at" in line else _with_source(e, path)
                 for e, line in zip(given, batch, strict=True)]  # fmt: skip
        drafts = [
            self._writer.draft(_arguments(entry, new_ids), {}, names_aliases=True)
            for entry in given
        ]
        for entry, draft in zip(batch, drafts, strict=True):
            draft.restored = _restored(entry)
            draft.tags = _with_own_end(draft, entry)
        return self._writer.store(drafts)


def _write(
    path: str, records: Iterable[tuple[MemoryRecord, Bytes]], vectors: Vectors | None, *,
    progress: Progress | None, total: int | None,
) -> int:
    """Write records to ``path``; returns the count."""
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        for record, image in records:
            out = record.to_dict()
            if vectors is not None:
                out["vector"] = vectors.of(image)
                out["vector_model"] = vectors.fingerprint
            yield json.dumps(out, ensure_ascii=False)
            count += 1
            if progress is not None and count % _BATCH == 0:
                progress(count, total)

    write_lines(path, lines())
    if progress is not None:
        progress(count, total)
    return count


def _batches(
    path: str, vectors: Vectors, most: int, limit: int | None
) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """(number of the first line, entries); an entry never refers to one of its own batch."""
    batch: list[dict[str, Any]] = []
    start = 1
    ids: set[int] = set()
    seen: set[int] = set()
    left = sys.maxsize if limit is None else limit
    try:
        for number, line in read_lines(path):
            if not line.strip():
                continue
            if not left:
                break
            left -= 1
            # a byte-order mark is not part of the text
            entry = _entry(path, number, line.removeprefix("\ufeff") if number == 1 else line)
            if entry.get("vector") is not None and not vectors.accepts(
                entry, f"{path} line {number}"
            ):
                del entry["vector"]
            _refuse_unknown(entry, seen, f"{path} line {number}")
            if len(batch) == most or not all(
                ids.isdisjoint(entry.get(name) or ()) for name in _LINKS
            ):
                yield start, batch
                start, batch, ids = number, [], set()
            batch.append(entry)
            if "id" in entry:
                ids.add(entry["id"])
                seen.add(entry["id"])
    except UnicodeDecodeError as error:
        raise ImportFormatError(
            f"{path} is not UTF-8: {error.reason} at byte {error.start} of a line",
            hint="convert it to UTF-8 first",
        ) from None
    if batch:
        yield start, batch


def _entry(path: str, number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ImportFormatError(f"{path} line {number} is not JSON: {error}") from None
    if not isinstance(entry, dict):
        raise ImportFormatError(
            f"{path} line {number} is not a JSON object", hint="one memory a line: {...}"
        )
    unknown = set(entry) - _KNOWN
    if unknown:
        raise ImportFormatError(
            f"{path} line {number} has the unknown key {min(unknown)!r}",
            hint="other formats: spector import PATH FILE --format ...",
        )
    for name, (is_fine, wanted) in _CHECKS.items():
        if entry.get(name) is not None and not is_fine(entry[name]):
            raise ImportFormatError(
                f"{path} line {number}: {name} is {str(entry[name])[:60]!r}", hint=f"write {wanted}"
            )
    return entry


def _refuse_unknown(entry: dict[str, Any], seen: set[int], where: str) -> None:
    """Raise when an entry supersedes an id that no entry before it has.

    Our own exports may name forgotten memories, and are exempt.
    """
    for older in () if "recorded_at" in entry else entry.get("supersedes") or ():
        if older not in seen:
            raise ImportFormatError(
                f"{where}: supersedes {older}, but no line before it has this id",
                hint="name the older memory's id in its own line, further up; or, to supersede a"
                " memory of the store, remember(..., supersedes=id)",
            )


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


#: key -> its check, for keys that ``remember`` does not take and would not check
_CHECKS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "vector": (lambda v: isinstance(v, list), "a list of numbers"),
    "vector_model": (lambda v: isinstance(v, str), "the fingerprint that export wrote"),
    "id": (lambda v: _is_count(v, (1 << 63) - 1), "an integer"),
    **{
        name: (
            lambda v: isinstance(v, list) and all(_is_count(p, (1 << 63) - 1) for p in v),
            "a list of ids",
        )
        for name in (*_LINKS, "superseded_by")
    },
    "stability_days": (lambda v: _is_number(v, 1e-3, 1e6), "a number of days from 0.001 on"),
    "utility": (lambda v: _is_number(v, 0.0, 1.0), "a number in 0..1"),
    "access_count": (lambda v: _is_count(v, 0xFFFF_FFFF), "an integer from 0 on"),
    "own_until": (_is_instant, "a time like 2026-05-04T17:30:00Z, or null"),
    "last_access": (_is_instant, "a time like 2026-05-04T17:30:00Z"),
    "flags": (
        lambda v: isinstance(v, list)
        and all(isinstance(f, str) and f.upper() in Flag.__members__ for f in v),
        f"a list of {', '.join(name.lower() for name in Flag.__members__)}",
    ),
}


def _with_source(entry: dict[str, Any], path: str) -> dict[str, Any]:
    """A line from elsewhere without role and source, with its file's name as the source.

    Text from a file must not pass for the user's own words.
    """
    if entry.get("role") or entry.get("source"):
        return entry
    return {**entry, "source": os.path.basename(path).encode(errors="replace").decode()}


def _arguments(entry: dict[str, Any], new_ids: Mapping[int, int]) -> dict[str, Any]:
    """The arguments of ``remember`` in a line; ids of other memories become their new ids."""
    out = {name: entry[name] for name in (*_ARGUMENTS, "content") if entry.get(name) is not None}
    for name in _LINKS:
        others = [new_ids[i] for i in entry.get(name) or () if i in new_ids]
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


def _restored(entry: dict[str, Any]) -> dict[str, Any]:
    """Fields of the record's mutable half in a line, which ``remember`` does not take."""
    out = {
        name: entry[name] for name in ("stability_days", "utility", "access_count")
        if entry.get(name) is not None
    }
    if entry.get("last_access"):
        seconds = to_ms(entry["last_access"], name="last_access") // 1000
        out["last_access_s"] = max(0, min(0xFFFF_FFFF, seconds))
    if isinstance(entry.get("flags"), list):
        flags = Flag.NONE
        for name in entry["flags"]:
            flags |= Flag[name.upper()]
        out["flags"] = int(flags & ~Flag.TOMBSTONE)
    return out
