"""From the line of a memory to its draft: arguments of `remember`, strength, use and flags."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Any, Final

from spector.clock import from_ms, to_ms
from spector.exchange.checks import LINKS
from spector.exchange.lines import ARGUMENTS, ATTACHED, Line
from spector.layout import Flag, TierCode
from spector.store.catalog import join_reserved_tags, split_reserved_tags
from spector.store.payloads import TIER_OF_SORT
from spector.write import Draft

__all__ = ["draft_of"]

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
    draft.derived = (
        line.knowledge is not None
        and line.knowledge.is_derived
        and (flags is None or "auxiliary" in flags)
    )
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
