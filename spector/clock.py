"""Clocks and times; no other module asks the operating system for the time."""

from __future__ import annotations

import operator
import re
import time
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Final, Protocol, runtime_checkable

from spector.errors import InvalidInputError, InvalidTimeError
from spector.messages import shown, with_hints

MS_PER_DAY = 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
#: range of ``datetime`` in milliseconds
MIN_MS = -62_135_596_800_000  # 0001-01-01T00:00:00Z
MAX_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


@runtime_checkable
class Clock(Protocol):
    """A source of time: ``now_ms()`` returns milliseconds since 1970-01-01 UTC."""

    def now_ms(self) -> int: ...


class SystemClock:
    """The operating system's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


@with_hints
class ManualClock:
    """A clock that moves only when it is set; for tests, replays and imports."""

    def __init__(self, start: datetime | int) -> None:
        self._ms = start if isinstance(start, int) else to_ms(start)

    def now_ms(self) -> int:
        return self._ms

    def set(self, at: datetime | int) -> None:
        """Jump to an instant, forwards or backwards."""
        self._ms = at if isinstance(at, int) else to_ms(at)

    def advance(
        self, *, days: float = 0, hours: float = 0, seconds: float = 0, ms: int = 0
    ) -> None:
        """Move forward by the sum of the given amounts."""
        delta = timedelta(days=days, hours=hours, seconds=seconds)
        self._ms += delta // timedelta(milliseconds=1) + ms


class CheckedClock:
    """A clock that rejects impossible times of another clock before they are stored.

    Nanoseconds taken for milliseconds would stay in ids and in days of partitions for ever.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC, within the years 1 to 9999.

        Raises:
            InvalidTimeError: the other clock returned something else.
        """
        answer = self._clock.now_ms()
        try:
            ms = operator.index(answer)
        except TypeError:
            ms = MAX_MS + 1
        if not MIN_MS <= ms <= MAX_MS:
            raise InvalidTimeError(
                f"the clock returned {answer!r}, which is not a time in the years 1 to 9999",
                hint="now_ms() must return milliseconds since 1970-01-01 UTC as an int",
            )
        return ms


#: numbers from here on are milliseconds, microseconds, nanoseconds; 1e11 s is the year 5138
_UNITS: Final = ((1e17, 1e-6), (1e14, 1e-3), (1e11, 1.0))
_LEAST_S: Final = 1e8


def to_ms(
    when: datetime | str, *, name: str = "time", zone: tzinfo = UTC, is_end: bool = False
) -> int:
    """Milliseconds since 1970-01-01 UTC from an aware ``datetime`` or an ISO 8601 string.

    A date alone ("2026-05-04") is that day in a time zone: its first moment, or with ``is_end`` the
    first one after it.

    Raises:
        InvalidTimeError: a naive datetime, a string that does not parse, a time outside the years
            1 to 9999 in UTC, or another type.
    """
    if type(when) is datetime and when.tzinfo is UTC:
        return (when - _EPOCH) // _MS
    if isinstance(when, str):
        text = when.strip()
        try:
            parsed = datetime.fromisoformat(text)
            if len(text) == 10:
                parsed = _day_of(parsed, zone, is_end)
        except (ValueError, OverflowError):
            raise InvalidTimeError(
                f"{name} {shown(when)} is not an ISO 8601 date or time",
                hint="write it like 2026-05-04 or 2026-05-04T17:30:00Z",
            ) from None
        when = parsed
    if not isinstance(when, datetime):
        raise InvalidTimeError(
            f"{name} must be a datetime or an ISO 8601 string, got {type(when).__name__}",
            hint="pass datetime.now(timezone.utc) or a string like 2026-05-04T17:30:00Z",
        )
    if when.tzinfo is None or when.utcoffset() is None:
        raise InvalidTimeError(
            f"{name} {when.isoformat()} has no time zone",
            hint="pass datetime(..., tzinfo=timezone.utc), or a string that ends in Z",
        )
    ms = (when - _EPOCH) // _MS
    if not MIN_MS <= ms <= MAX_MS:
        raise InvalidTimeError(
            f"{name} {when.isoformat()} is outside the years 1 to 9999 in UTC",
            hint="pass a time in this range",
        )
    return ms


def _day_of(midnight: datetime, zone: tzinfo, is_end: bool) -> datetime:
    """A bound of a day in a zone, in UTC."""
    if is_end and midnight.date() == date.max:
        return datetime.max.replace(tzinfo=UTC)
    local = midnight + timedelta(days=1) if is_end else midnight
    return local.replace(tzinfo=zone).astimezone(UTC)


def ms_of_number(value: float) -> float | None:
    """Milliseconds since 1970 of a time that a program wrote as a number, in whichever unit.

    None for one before 1973, and as long before 1970: it counts something else, as the seconds of a
    film do.
    """
    size = abs(value)
    if size < _LEAST_S:
        return None
    return value * next((factor for least, factor in _UNITS if size >= least), 1000)


def from_ms(ms: int) -> datetime:
    """Aware UTC ``datetime`` of milliseconds since 1970, clamped to the years 1 to 9999."""
    return _EPOCH + timedelta(milliseconds=max(MIN_MS, min(MAX_MS, int(ms))))


def local_of_ms(ms: int, zone: tzinfo) -> datetime:
    """The time in a zone; in UTC at both ends of the calendar."""
    moment = from_ms(ms)
    try:
        return moment if zone is UTC else moment.astimezone(zone)
    except OverflowError:
        return moment


def day_of_ms(ms: int) -> int:
    """Days since 1970-01-01 UTC (floor, so 1969-12-31 is -1)."""
    return ms // MS_PER_DAY


def iso_of_day(day: int) -> str:
    """``YYYY-MM-DD`` of a day number."""
    return from_ms(day * MS_PER_DAY).date().isoformat()


def iso_of_ms(ms: int) -> str:
    """ISO 8601 in UTC with a trailing Z, milliseconds only when they are not zero."""
    spec = "milliseconds" if ms % 1000 else "seconds"
    return from_ms(ms).isoformat(timespec=spec).replace("+00:00", "Z")


def zone_named(name: str | tzinfo, argument: str = "timezone") -> tzinfo:
    """The time zone of a name ("UTC", "Europe/Istanbul"), an offset ("+03:00"), or a ``tzinfo``.

    Raises:
        InvalidInputError: There is no such zone, or this machine does not know it.
    """
    if isinstance(name, tzinfo):
        return _usable(name, argument)
    if not isinstance(name, str):
        raise InvalidInputError(
            f"{argument} must be a str or a tzinfo, got {type(name).__name__}",
            hint='pass a name like "Europe/Istanbul" or an offset like "+03:00"',
        )
    name = str.__str__(name)  # a subclass may answer as it likes
    if name in ("UTC", "Z"):
        return UTC
    found = re.fullmatch(r"([+-])([01]\d|2[0-3]):([0-5]\d)", name)
    if found:
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(offset if found[1] == "+" else -offset)
    import zoneinfo  # reads the configuration of the interpreter

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        missing = not zoneinfo.available_timezones()
        raise InvalidInputError(
            f"{argument} {shown(name)} is no time zone that this machine knows"
            + (", which has no database of time zones" if missing else ""),
            hint=(
                "pip install tzdata, or pass"
                if missing
                else 'pass a name like "Europe/Istanbul", or'
            )
            + ' an offset like "+03:00"',
        ) from None


def zone_name(zone: tzinfo) -> str:
    """How a time zone is named in a text: "UTC", "Europe/Istanbul", "+03:00", else "local"."""
    if zone is UTC:
        return "UTC"
    from zoneinfo import ZoneInfo

    if isinstance(zone, ZoneInfo) and zone.key:
        return zone.key
    if type(zone) is timezone:
        return str(timezone(zone.utcoffset(None))).removeprefix("UTC") or "UTC"
    return "local"


def _usable(zone: tzinfo, argument: str) -> tzinfo:
    """A ``tzinfo`` that can tell its offset."""
    try:
        known = zone.utcoffset(datetime(2026, 1, 1)) is not None
    except Exception:  # whatever its own method raises
        known = False
    if not known:
        raise InvalidInputError(
            f"{argument} is a tzinfo without an offset: {shown(zone)}",
            hint='pass zoneinfo.ZoneInfo("Europe/Istanbul") or timezone(timedelta(hours=3))',
        )
    return zone
