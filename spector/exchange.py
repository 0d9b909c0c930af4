"""Export to and import from JSON lines: one memory a line, keys as in ``remember``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from spector.clock import to_ms
from spector.errors import ImportFormatError, InvalidTimeError, SpectorError
from spector.layout import Flag
from spector.records import MemoryRecord
from spector.store.files import read_lines, write_lines
from spector.write.writer import Writer

__all__ = ["export_lines", "import_lines"]

Progress = Callable[[int, int | None], None]

_ARGUMENTS = (
    "text", "tier", "tags", "importance", "valence", "arousal", "event_time", "valid_from",
    "valid_until", "metadata", "session_id", "agent_id", "user_id", "source", "confidence",
    "category", "modality", "role", "vector",
)
_RESTORED = ("stability_days", "utility", "access_count", "last_access", "flags")
_KNOWN = frozenset((*_ARGUMENTS, *_RESTORED, "id", "parents", "recorded_at", "content"))
_BATCH = 512


def export_lines(
    path: str, records: Iterable[MemoryRecord],
    vector_of: Callable[[int], list[float] | None] | None, *,
    progress: Progress | None, total: int | None,
) -> int:
    """Write records to ``path``; the file appears whole or not at all. Returns the count."""
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        for record in records:
            out = record.to_dict()
            if vector_of is not None:
                out["vector"] = vector_of(record.id)
            yield json.dumps(out, ensure_ascii=False)
            count += 1
            if progress is not None and count % _BATCH == 0:
                progress(count, total)

    write_lines(path, lines())
    if progress is not None:
        progress(count, total)
    return count


def import_lines(
    remember_many: Callable[[Iterable[dict[str, Any]]], list[MemoryRecord]],
    writer: Writer,
    path: str,
    *,
    progress: Progress | None,
) -> list[MemoryRecord]:
    """Store every line of ``path`` and restore what ``remember`` does not take."""
    out: list[MemoryRecord] = []
    new_ids: dict[int, int] = {}
    for start, batch in _batches(path):
        try:
            stored = remember_many(_arguments(entry, new_ids) for entry in batch)
        except SpectorError as error:
            error.add_note(f"{path}: in lines {start} to {start + len(batch) - 1}")
            raise
        for entry, record in zip(batch, stored, strict=True):
            if isinstance(entry.get("id"), int):
                new_ids[entry["id"]] = record.id
        out += _restore(writer, batch, stored)
        if progress is not None:
            progress(len(out), None)
    return out


def _batches(path: str) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """(number of its first line, entries); a parent is never in the batch of its child."""
    batch: list[dict[str, Any]] = []
    start = 1
    ids: set[int] = set()
    try:
        for number, line in read_lines(path):
            if not line.strip():
                continue
            entry = _entry(path, number, line)
            if len(batch) == _BATCH or not ids.isdisjoint(entry.get("parents") or ()):
                yield start, batch
                start, batch, ids = number, [], set()
            batch.append(entry)
            if "id" in entry:
                ids.add(entry["id"])
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


#: key -> what it must be: those that remember does not take, and would not check
_CHECKS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "id": (lambda v: _is_count(v, (1 << 63) - 1), "an integer"),
    "parents": (
        lambda v: isinstance(v, list) and all(_is_count(p, (1 << 63) - 1) for p in v),
        "a list of ids",
    ),
    "stability_days": (lambda v: _is_number(v, 1e-3, 1e6), "a number of days from 0.001 on"),
    "utility": (lambda v: _is_number(v, 0.0, 1.0), "a number in 0..1"),
    "access_count": (lambda v: _is_count(v, 0xFFFF_FFFF), "an integer from 0 on"),
    "last_access": (_is_instant, "a time like 2026-05-04T17:30:00Z"),
    "flags": (
        lambda v: isinstance(v, list) and all(str(f).upper() in Flag.__members__ for f in v),
        f"a list of {', '.join(name.lower() for name in Flag.__members__)}",
    ),
}


def _arguments(entry: dict[str, Any], new_ids: dict[int, int]) -> dict[str, Any]:
    """What ``remember`` takes of a line; parents are translated to their new ids."""
    out = {name: entry[name] for name in (*_ARGUMENTS, "content") if entry.get(name) is not None}
    parents = [new_ids[p] for p in entry.get("parents") or () if p in new_ids]
    if parents:
        out["parents"] = parents
    return out


def _restore(
    writer: Writer, batch: list[dict[str, Any]], stored: list[MemoryRecord]
) -> list[MemoryRecord]:
    entries = {record.id: entry for entry, record in zip(batch, stored, strict=True)}
    ids = [i for i, entry in entries.items() if any(name in entry for name in _RESTORED)]

    def change(header: Any, record: MemoryRecord) -> bool:
        entry = entries[record.id]
        for name in ("stability_days", "utility", "access_count"):
            if entry.get(name) is not None:
                header[name] = entry[name]
        if entry.get("last_access"):
            seconds = to_ms(entry["last_access"], name="last_access") // 1000
            header["last_access_s"] = max(0, min(0xFFFF_FFFF, seconds))
        if isinstance(entry.get("flags"), list):
            flags = Flag.NONE
            for name in entry["flags"]:
                flags |= Flag[name.upper()]
            header["flags"] = int(flags & ~Flag.TOMBSTONE)
        return True

    changed = {record.id: record for record in writer.change(ids, change)} if ids else {}
    return [changed.get(record.id, record) for record in stored]
