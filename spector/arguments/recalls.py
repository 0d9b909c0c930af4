"""Arguments of ``recall`` and ``context``: each check returns the value as it is used."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from spector.arguments.values import parse_integer, parse_number, parse_switch, refused, several
from spector.chat import chat_message
from spector.clock import to_ms
from spector.config import LAYOUTS, Config, Layout
from spector.errors import InvalidFilterError, InvalidInputError, InvalidTextError
from spector.kernel.contract import DEFAULT_DROP_FLAGS
from spector.layout import Category, Flag, Modality
from spector.messages import reading, shown

if TYPE_CHECKING:
    from spector.language.cues import Intent


_INCLUDABLE: Final = {
    "dormant": Flag.DORMANT,
    "superseded": Flag.SUPERSEDED,
    "quarantined": Flag.QUARANTINED,
    "derived": Flag.AUXILIARY,
    "statistics": Flag.AUXILIARY,
}
#: what a memory may be
SORTS: Final = ("memory", "fact", "procedure", "learning", "concept", "statistic", "theme")


@reading("the cue", InvalidTextError)
def parse_cue(cue: Any, config: Config) -> tuple[str | None, tuple[str, ...]]:
    """The text of a cue or message, or None; and notes on how it was shortened.

    Of a cue beyond ``Config.max_cue_bytes`` the first sentence and the end are read.
    """
    if cue is None:
        return None, ()
    if isinstance(cue, Mapping):
        said = cue.get("content", cue.get("text"))
        cue = said if isinstance(said, str) else chat_message(cue).text or said
    if not isinstance(cue, str):
        raise InvalidTextError(
            f"the cue must be a str, got {type(cue).__name__}",
            hint="pass a text, or vector= for a vector",
        )
    if not cue or cue.isspace():
        raise InvalidTextError("the cue is empty", hint="leave it out to rank without a cue")
    try:
        size = len(cue.encode())
    except UnicodeEncodeError:
        raise InvalidTextError(
            "the cue cannot be encoded as UTF-8", hint='decode it with errors="replace"'
        ) from None
    most = config.max_cue_bytes
    if size <= most:
        return cue, ()
    from spector.language.cues import shorten_cue

    return shorten_cue(cue, most), (
        f"the cue has {size} bytes, max_cue_bytes is {most}: its first sentence and its end were"
        " read",
    )


def parse_k(k: Any, config: Config, usual: int) -> int:
    """The number of hits wanted; ``usual`` for None."""
    if k is None:
        return min(usual, config.max_k)
    return parse_integer(k, "k", 1, config.max_k, "records() iterates over all memories")


def parse_page_of_hits(k: Any, offset: Any, config: Config, usual: int) -> tuple[int, int]:
    """The number of hits to find, and how many of the first ones are of earlier pages."""
    wanted = parse_k(k, config, usual)
    if type(offset) is int and not offset:
        return wanted, 0
    advice = "records() iterates over all memories"
    skipped = parse_integer(offset, "offset", 0, config.max_k - wanted, advice)
    return skipped + wanted, skipped


def parse_kind(value: Any) -> str:
    """The kind of cue that the caller names; "" to tell it by its wording."""
    if value is None:
        return ""
    if not isinstance(value, str) or value not in ("fact", "talk", "request"):
        raise InvalidInputError(
            f"unknown kind of cue {shown(value)}", hint="fact, talk, request, or None for a guess"
        )
    return value


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


def parse_intent(intent: Any) -> Intent | Literal["auto"] | None:
    """An intent, or "auto" for the one that the cue's wording shows.

    Raises:
        InvalidInputError: there is no such intent.
    """
    if intent is None:
        return None
    from spector.language.cues import Intent

    if isinstance(intent, str):
        if intent == "auto":
            return "auto"
        with contextlib.suppress(ValueError):
            return Intent(intent)
    raise InvalidInputError(
        f"intent must be None, 'auto' or an intent, got {shown(intent)}",
        hint="one of: " + ", ".join(Intent),
    )


def parse_as_of(as_of: datetime | str | None, zone: tzinfo = UTC) -> int | None:
    """The moment of a recall in milliseconds; None for now."""
    return None if as_of is None else to_ms(as_of, name="as_of", zone=zone)


def parse_valence(valence: Any) -> tuple[int, int]:
    """Inclusive range of stored valences from a pair of numbers in -1..1.

    The ends are rounded like a memory's valence, so a range that begins or ends with the remembered
    number includes it.
    """
    if valence is None:
        return -128, 127
    if isinstance(valence, (str, bytes, Mapping, Set)):  # may have two items, but not in order
        raise _not_a_pair()
    try:
        given = tuple(valence)
    except TypeError:
        raise _not_a_pair() from None
    if len(given) != 2 or not all(map(_is_number, given)):
        raise _not_a_pair()
    low, high = given
    if not -1.0 <= low <= high <= 1.0:
        raise InvalidFilterError(
            f"valence range ({low}, {high}) is not within -1..1 in order",
            hint="(0.2, 1) asks for pleasant memories",
        )
    return (-128 if low == -1.0 else round(float(low) * 127)), round(float(high) * 127)


def _is_number(value: Any) -> bool:
    """Whether a value is a number of Python or NumPy; booleans are not."""
    numbers = (int, float, np.floating, np.integer)
    return isinstance(value, numbers) and not isinstance(value, bool)


def _not_a_pair() -> InvalidFilterError:
    return InvalidFilterError(
        "valence must be a pair (min, max) of numbers in -1..1",
        hint="(0.2, 1) asks for pleasant memories",
    )


def parse_mask(kind: type[Category] | type[Modality], values: Any, name: str) -> int:
    """Bit mask of enum members given by name or value; 0 for no restriction."""
    if values is None:
        return 0
    mask = 0
    known = ", ".join(member.lower() for member in kind.__members__)
    for value in several(values, name, f"one or several of: {known}"):
        text = value.upper() if isinstance(value, str) else value
        whole = isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)
        found = [
            member for key, member in kind.__members__.items() if whole and text in (key, member)
        ]
        if not found:
            raise InvalidFilterError(f"unknown {name} {shown(value)}", hint=f"one of: {known}")
        mask |= 1 << int(found[0])
    return mask


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
    raise refused(value, name, "pass the id as a str")


def parse_mood(mood: Any) -> int:
    """Stored valence, -127..127, of a mood in -1..1; 0 for None."""
    if mood is None:
        return 0
    return round(127 * parse_number(mood, "mood", -1.0, 1.0, "-1 is gloomy, 1 is elated"))


def parse_budget(max_tokens: Any) -> int:
    """The number of tokens that a context may have."""
    return parse_integer(max_tokens, "max_tokens", 1, None, "1000 holds some thirty short memories")


def parse_always(always: Any) -> bool | Literal["pinned"]:
    """Whether a context always quotes something; "pinned": the pinned memories always."""
    if isinstance(always, str) and always == "pinned":
        return "pinned"
    if not isinstance(always, (bool, np.bool_)):
        raise InvalidInputError(
            f'always must be True, False or "pinned", got {shown(always)}',
            hint="leave it out for the default",
        )
    return bool(always)


def parse_layout(layout: Any, ids: Any) -> tuple[Layout, bool]:
    """The layout of a context, and whether its lines begin with ids."""
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise InvalidInputError(
            f"layout must be one of {', '.join(LAYOUTS)}, got {shown(layout)}",
            hint="leave it out for the compact one",
        )
    return layout, parse_switch(ids, "ids")
