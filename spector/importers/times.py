"""Times as files write them: ISO 8601, seconds and milliseconds since 1970, with and without zone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from spector.clock import MAX_MS, MIN_MS, from_ms, ms_of_number, to_ms
from spector.errors import ImportFormatError, InvalidTimeError
from spector.importers.entries import Options
from spector.importers.sources import SourceFile

__all__ = ["TIME_KEYS", "in_zone", "parse_time", "time_among"]

#: names that makers use for the time of a message, the surest first
TIME_KEYS: Final = (
    "timestamp",
    "created_at",
    "createdAt",
    "create_time",
    "createTime",
    "created",
    "date_unixtime",
    "sent_at",
    "sentAt",
    "datetime",
    "dateTime",
    "ts",
    "time",
    "date",
    "posted_at",
    "timestamp_ms",
    "published_at",
    "creationdate",
    "updated_at",
    "updatedAt",
)
#: of these a value that is no time refuses the entry; of the others it is a property
_SURE: Final = frozenset(("timestamp", "created_at", "create_time", "time", "date"))
_NUMBER: Final = re.compile(r"\s*-?\d{1,19}(?:\.\d{1,9})?\s*")
#: what programs write for a time that they do not know
_ZERO: Final = re.compile(r"\s*(?:0001-01-01|1970-01-01)T00:00:00(?:\.0{1,9})?(?:Z|\+00:00)\s*")
#: signs of a zone that ISO 8601 does not have, behind a time
_ZONE_NAME: Final = re.compile(r"(?<=\d)(?: ?(?:UTC|GMT|z)|(?: ?([+-]\d\d:?\d\d)) (?:UTC|GMT))$")
_REGION: Final = re.compile(r"\[[A-Za-z_]+(?:/[\w+-]+)*\]$")
#: "Fri, 03 May 2024 10:00:00 GMT", as mails and servers write it
_OF_MAIL: Final = re.compile(
    r"\s*(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d(?::\d\d)?"
    r" (?:GMT|UTC|[+-]\d{4})\s*"
)
#: of objects that databases write: their only time
_OF_DATABASES: Final = ("$date", "$numberLong", "seconds", "_seconds")


def parse_time(
    value: object,
    source: SourceFile,
    place: str,
    options: Options,
    *,
    name: str = "event_time",
    is_end: bool = False,
) -> datetime | None:
    """UTC datetime from an ISO 8601 string, or from seconds or milliseconds since 1970.

    None for what stands for no time: nothing, zero, and numbers too small to be one.

    A day without a time is its first moment, or with ``is_end`` the first one after it.

    Raises:
        ImportFormatError: it is none, or has no zone and the user names none.
    """
    if value is None or value == "":
        return None
    if isinstance(value, dict):
        value = next((value[key] for key in _OF_DATABASES if key in value), value)
        value = value.get("$numberLong", value) if isinstance(value, dict) else value
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise source.error(
            place,
            f"{name} must be a str or a number, got {type(value).__name__}",
            hint="write 2026-05-04T17:30:00Z or seconds since 1970",
        )
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, str):
        return (
            None
            if _ZERO.fullmatch(value)
            else _parse_iso_time(_as_iso(value), source, place, options, name, is_end)
        )
    ms = ms_of_number(value)
    if ms is None:
        return None
    if not MIN_MS <= ms <= MAX_MS:  # NaN fails the comparison, too
        raise source.error(
            place,
            f"{name} {str(value)[:40]} is outside the years 1 to 9999",
            hint="write seconds since 1970",
        )
    return from_ms(round(ms))


def time_among(
    entry: Mapping[str, Any], source: SourceFile, place: str, options: Options
) -> tuple[datetime | None, str | None]:
    """The time of an entry under one of the usual names, and the name."""
    for name in TIME_KEYS:
        value = entry.get(name)
        if value is None:
            continue
        if name in _SURE:
            moment = parse_time(value, source, place, options, name=name)
        else:
            moment = _time_or_none(value, source, place, options)
        if moment is not None:
            return moment, name
    return None, None


def _time_or_none(
    value: object, source: SourceFile, place: str, options: Options
) -> datetime | None:
    """The time that a value is; None for what is none, although a time without a zone is refused."""
    if isinstance(value, str) and not value[:1].isdigit():
        return None
    if isinstance(value, (int, float)) and (value < 0 or ms_of_number(value) is None):
        return None
    try:
        return parse_time(value, source, place, options, name="time")
    except ImportFormatError as error:
        if "no time zone" in error.message:
            raise
        return None


def in_zone(local: datetime, options: Options) -> datetime:
    """The moment of a local time, in a format that never names its zone.

    Without a zone of the user's it is read as UTC, which is counted.
    """
    if local.tzinfo is None:
        if options.zone is None and not options.assume_utc:
            options.zoneless += 1
        local = local.replace(tzinfo=options.zone or UTC)
    return from_ms(to_ms(local))


def _as_iso(text: str) -> str:
    """A time as ISO 8601 writes it, where its maker writes its zone in another way."""
    text = _REGION.sub("", text.strip())
    if _OF_MAIL.fullmatch(text):
        try:
            return parsedate_to_datetime(text.replace("UTC", "+0000")).isoformat()
        except ValueError:
            return text
    return _ZONE_NAME.sub(lambda found: found[1] or "Z", text)


def _parse_iso_time(
    text: str, source: SourceFile, place: str, options: Options, name: str, is_end: bool
) -> datetime:
    try:
        zone = options.zone or (UTC if options.assume_utc else None)
        if len(text.strip()) == 10:
            return from_ms(to_ms(text, name=name, zone=zone or UTC, is_end=is_end))
        if zone is not None:
            parsed = datetime.fromisoformat(text.strip())
            if parsed.tzinfo is None:
                return from_ms(to_ms(parsed.replace(tzinfo=zone), name=name))
        return from_ms(to_ms(text, name=name))
    except InvalidTimeError as exc:
        naive = "no time zone" in exc.message
        raise source.error(
            place,
            exc.message,
            hint="add Z or an offset to the times, or import with --tz Europe/Istanbul or"
            " --assume-utc"
            if naive
            else exc.hint,
        ) from exc
    except (ValueError, OverflowError) as exc:
        raise source.error(
            place,
            f"{name}: {text[:80]!r} is not an ISO 8601 time",
            hint="write it like 2026-05-04T17:30:00Z",
        ) from exc
