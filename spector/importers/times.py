"""Times as files write them: ISO 8601, seconds and milliseconds since 1970, and fixed forms.

Points stand between day, month and year of a local date. With other signs the order is the one that
all rows of a table allow; where they allow both, it is not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from spector.clock import MAX_MS, MIN_MS, from_ms, ms_of_number, to_ms
from spector.errors import ImportFormatError, InvalidTimeError
from spector.importers.entries import Options
from spector.importers.sources import SourceFile

#: names that makers use for the time of a message, the surest first
TIME_KEYS: Final = tuple(
    """timestamp created_at createdAt create_time createTime created date_unixtime sent_at sentAt
    datetime dateTime ts time date posted_at timestamp_ms published_at creationdate updated_at
    updatedAt""".split()
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
_CLOCK: Final = r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
_HALF: Final = r"(?:\s?(?P<half>[AaPp])\.?[Mm]\.?)?"
#: fixed forms without a zone; months by hand because strptime reads names in the current locale
FORMS: Final = {
    "clock": re.compile(_CLOCK + _HALF),
    "local": re.compile(
        rf"(?P<first>\d{{1,2}})(?P<sign>[./-])(?P<other>\d{{1,2}})(?P=sign)(?P<year>\d{{4}})"
        rf"(?:[ ,T]+{_CLOCK}{_HALF})?"
    ),
    "1:56 pm on 8 May, 2023": re.compile(
        r"(?P<hour>\d{1,2}):(?P<minute>\d\d) (?P<half>[ap])m"
        r" on (?P<day>\d{1,2}) (?P<month>[A-Z][a-z]+), (?P<year>\d{4})"
    ),
    "2023/05/30 (Tue) 23:40": re.compile(
        r"(?P<year>\d{4})/(?P<month>\d\d?)/(?P<day>\d\d?)\s*(?:\([^)]*\))?\s*"
        r"(?:(?P<hour>\d\d?):(?P<minute>\d\d))?"
    ),
}
_MONTHS: Final = """January February March April May June July August September October November
    December""".split()
_NO_ZONE: Final = "no time zone"
_ZONE_HINT: Final = (
    "add Z or an offset to the times, or import with --tz Europe/Istanbul or --assume-utc"
)
#: of objects that databases write: their only time
_OF_DATABASES: Final = ("$date", "$numberLong", "seconds", "_seconds")


@dataclass(frozen=True, slots=True)
class Spot:
    """An entry of a file while it is read: where it stands, and how its times are read."""

    source: SourceFile
    options: Options
    place: str = ""

    def at(self, place: str) -> Spot:
        """Another place of the same file."""
        return replace(self, place=place)

    def error(self, problem: str, *, hint: str) -> ImportFormatError:
        """An error that names the file and the place."""
        return self.source.error(self.place, problem, hint=hint)

    def time(
        self, value: object, name: str = "event_time", *, is_end: bool = False
    ) -> datetime | None:
        """What :func:`parse_time` gives for a value."""
        if value is None or value == "":
            return None
        if isinstance(value, dict):
            value = next((value[key] for key in _OF_DATABASES if key in value), value)
            value = value.get("$numberLong", value) if isinstance(value, dict) else value
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise self.error(
                f"{name} must be a str or a number, got {type(value).__name__}",
                hint="write 2026-05-04T17:30:00Z or seconds since 1970",
            )
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            value = float(value)
        if isinstance(value, str):
            return None if _ZERO.fullmatch(value) else self._iso_time(_as_iso(value), name, is_end)
        ms = ms_of_number(value)
        if ms is None:
            return None
        if not MIN_MS <= ms <= MAX_MS:  # NaN fails the comparison, too
            raise self.error(
                f"{name} {str(value)[:40]} is outside the years 1 to 9999",
                hint="write seconds since 1970",
            )
        return from_ms(round(ms))

    def _iso_time(self, text: str, name: str, is_end: bool) -> datetime:
        zone = self.options.zone or (UTC if self.options.assume_utc else None)
        try:
            if len(text.strip()) == 10:
                return from_ms(to_ms(text, name=name, zone=zone or UTC, is_end=is_end))
            if zone is not None:
                parsed = datetime.fromisoformat(text.strip())
                if parsed.tzinfo is None:
                    return from_ms(to_ms(parsed.replace(tzinfo=zone), name=name))
            return from_ms(to_ms(text, name=name))
        except InvalidTimeError as exc:
            is_naive = _NO_ZONE in exc.message
            raise self.error(exc.message, hint=_ZONE_HINT if is_naive else exc.hint) from exc
        except (ValueError, OverflowError) as exc:
            raise self.error(
                f"{name}: {text[:80]!r} is not an ISO 8601 time",
                hint="write it like 2026-05-04T17:30:00Z",
            ) from exc

    def time_among(self, entry: Mapping[str, Any]) -> tuple[datetime | None, str]:
        """The time of an entry under one of the usual names, and the name; (None, "") for none."""
        for name in TIME_KEYS:
            if (value := entry.get(name)) is None:
                continue
            moment = self.time(value, name) if name in _SURE else self._time_or_none(value)
            if moment is not None:
                return moment, name
        return None, ""

    def _time_or_none(self, value: object) -> datetime | None:
        """The time that a value is, if it is one; a time without a zone is refused all the same."""
        if isinstance(value, str) and not value[:1].isdigit():
            return None
        if isinstance(value, (int, float)) and (value < 0 or ms_of_number(value) is None):
            return None
        try:
            return self.time(value, "time")
        except ImportFormatError as error:
            if _NO_ZONE in error.message:
                raise
            return None

    def local_time(self, form: str, value: object) -> datetime:
        """The moment that a value of one of ``FORMS`` names.

        Raises:
            ImportFormatError: it has another form.
        """
        found = FORMS[form].fullmatch(str(value).strip())
        try:
            if found is None:
                raise ValueError(form)
            parts = {"hour": 0, "minute": 0, **found.groupdict(0)}
            month = str(parts["month"])
            number = int(month) if month.isdecimal() else _MONTHS.index(month) + 1
            hour = hour_of(parts["hour"], str(parts.get("half") or ""))
            year, day, minute = (int(parts[name]) for name in ("year", "day", "minute"))
            return in_zone(datetime(year, number, day, hour, minute), self.options)
        except ValueError as exc:
            raise self.error(
                f"date {str(value)[:40]!r} is not like {form!r}", hint="correct the date"
            ) from exc


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
    return Spot(source, options, place).time(value, name, is_end=is_end)


def in_zone(local: datetime, options: Options) -> datetime:
    """The moment of a local time, in a format that never names its zone.

    Without a zone of the user's it is read as UTC, which is counted.
    """
    if local.tzinfo is None:
        if options.zone is None and not options.assume_utc:
            options.zoneless += 1
        local = local.replace(tzinfo=options.zone or UTC)
    return from_ms(to_ms(local))


# -- fixed forms -----------------------------------------------------------------------------------


def hour_of(hour: str | int, half: str | None) -> int:
    """The hour of a day, from the one of a half that begins with "a" or "p".

    Raises:
        ValueError: a half has no such hour.
    """
    if not half:
        return int(hour)
    if not 1 <= int(hour) <= 12:
        raise ValueError(f"there is no {hour} o'clock in half a day")
    return int(hour) % 12 + 12 * (half in "pP")


def _time_of_day(parts: Mapping[str, str | None]) -> str:
    hour, second = hour_of(parts["hour"] or 0, parts["half"]), parts["second"] or "00"
    return f"{hour:02}:{parts['minute']}:{second}"


def clock_of(value: str) -> str:
    """A time of the day, as ISO 8601 writes it; "" for anything else."""
    found = FORMS["clock"].fullmatch(value.strip())
    try:
        clock = _time_of_day(found.groupdict()) if found else ""
    except ValueError:
        return ""
    return clock if clock < "24" else ""


def order_of(values: Iterable[str]) -> bool | None:
    """Whether the day stands first in the dates of a column; None where that is not clear."""
    found = [each for value in values if (each := FORMS["local"].fullmatch(value.strip()))]
    day_first = any(each["sign"] == "." or int(each["first"]) > 12 for each in found)
    month_first = any(int(each["other"]) > 12 for each in found)
    return day_first if day_first != month_first else None


def iso_of(value: str, day_first: bool | None) -> str | None:
    """A date as ISO 8601 writes it; anything else as it is; None where its order is not clear."""
    found = FORMS["local"].fullmatch(value.strip())
    if found is None or day_first is None:
        return value if found is None else None
    day, month = (found["first"], found["other"])[:: 1 if day_first else -1]
    out = f"{found['year']}-{int(month):02}-{int(day):02}"
    try:
        return out if found["hour"] is None else f"{out}T{_time_of_day(found.groupdict())}"
    except ValueError:
        return value


# -- ISO 8601 and its relatives --------------------------------------------------------------------


def _as_iso(text: str) -> str:
    """A time as ISO 8601 writes it, where its maker writes its zone in another way."""
    text = _REGION.sub("", text.strip())
    if _OF_MAIL.fullmatch(text):
        try:
            return parsedate_to_datetime(text.replace("UTC", "+0000")).isoformat()
        except ValueError:
            return text
    return _ZONE_NAME.sub(lambda found: found[1] or "Z", text)
