"""Arguments that choose memories: each check returns the value as it is used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from spector.arguments.values import refusal, several
from spector.clock import to_ms
from spector.errors import InvalidFilterError
from spector.kernel.contract import DEFAULT_DROP_FLAGS
from spector.layout import Flag
from spector.messages import reading, shown

_INCLUDABLE: Final = {
    "dormant": Flag.DORMANT,
    "superseded": Flag.SUPERSEDED,
    "quarantined": Flag.QUARANTINED,
    "derived": Flag.AUXILIARY,
    "statistics": Flag.AUXILIARY,
}
#: what a memory may be
SORTS: Final = ("memory", "fact", "procedure", "learning", "concept", "statistic", "theme")


@reading("time_range", InvalidFilterError)
def parse_range(
    time_range: tuple[datetime | str | None, datetime | str | None] | None, zone: tzinfo = UTC
) -> tuple[int | None, int | None]:
    """Half-open [start, end) in milliseconds; None is open."""
    if time_range is None:
        return None, None
    if isinstance(time_range, str) or not isinstance(time_range, Sequence) or len(time_range) != 2:
        raise InvalidFilterError(
            "time_range must be a pair (start, end)", hint="use None for an open end"
        )
    start, end = time_range
    low = None if start is None else to_ms(start, name="time_range start", zone=zone)
    high = None if end is None else to_ms(end, name="time_range end", zone=zone)
    if low is not None and high is not None and high <= low:
        raise InvalidFilterError(
            "time_range ends before it starts", hint="the end is exclusive; swap the two"
        )
    return low, high


def parse_as_of(as_of: datetime | str | None, zone: tzinfo = UTC) -> int | None:
    """The moment of a recall in milliseconds; None for now."""
    return None if as_of is None else to_ms(as_of, name="as_of", zone=zone)


def _names(values: Any, name: str, names: Collection[str], unknown: str) -> tuple[str, ...]:
    """One or several of some names; ``unknown``: what is said of another one."""
    known = ", ".join(names)
    given = several(values, name, f"one or several of: {known}")
    for each in given:
        if not isinstance(each, str) or each not in names:
            raise InvalidFilterError(f"{unknown} {shown(each)}", hint=f"one of: {known}")
    return given


def parse_include(include: Iterable[str]) -> int:
    """Flags that drop a record: the default ones without those that the caller includes."""
    drop = DEFAULT_DROP_FLAGS
    if type(include) is tuple and not include:
        return drop
    for name in _names(include, "include", _INCLUDABLE, "cannot include"):
        drop &= ~int(_INCLUDABLE[name])
    return drop


def parse_sorts(sorts: Iterable[str] | None) -> frozenset[str] | None:
    """Sorts of memories that a hit may be of; None for all."""
    if sorts is None:
        return None
    given = _names(sorts, "sorts", SORTS, "there is no sort")
    if not given:
        raise InvalidFilterError("sorts is empty", hint="leave it out to recall every sort")
    return frozenset(given)


def parse_label(value: Any, name: str) -> str:
    """The id of a session, user or agent, of any length; printable, as those that are stored."""
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value
    raise refusal(value, name, "pass the id as a str")
