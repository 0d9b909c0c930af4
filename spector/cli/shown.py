"""Memories as people see them: a table where there is room for one, else a paragraph for each.

What a memory says, and who is said to have said it, was written by strangers. So whatever the
command itself says of a memory stands in a column of its own, never in the one of the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from spector.cli.output import Column, Console, clean, wrap

if TYPE_CHECKING:
    from spector.records import Hit, MemoryRecord

__all__ = ["day", "show_memories", "state_of", "who_said"]

_SHORT_CHARS: Final = 240
#: below this many columns a table would be a strip of single words
_TABLE_WIDTH: Final = 96
#: columns that are only there when one of the memories has something in it
_IF_ANY: Final = ("state", "user")


def show_memories(
    console: Console, memories: Sequence[Hit | MemoryRecord], *, full: bool = False,
    protected: bool = False, users: bool = False,
) -> None:
    """When, tier, who said it, words and id of each; of hits the rank and the score as well.

    Args:
        full: whole texts, however long.
        protected: also say of each whether it is pinned or immutable.
        users: also say of each whose it is.
    """
    columns = [
        Column("#", right=True), Column("score", right=True), Column("when"), Column("tier"),
        Column("user", flexible=True, least=8), Column("who", flexible=True, least=10),
        Column("state", flexible=True, least=16), Column("text", flexible=True), Column("id"),
    ]  # fmt: skip
    from spector.records import Hit

    ranked = any(isinstance(each, Hit) for each in memories)
    rows = []
    for rank, each in enumerate(memories, 1):
        record = each.record if isinstance(each, Hit) else each
        text = clean(record.text)
        if not full and len(text) > _SHORT_CHARS:
            text = text[: _SHORT_CHARS - 3].rstrip() + "..."
        rows.append((
            str(rank), f"{each.score:.3f}" if isinstance(each, Hit) else "",
            day(record.event_time), record.tier, (record.user_id or "") if users else "",
            who_said(record), state_of(record, protected=protected), text, str(record.id),
        ))  # fmt: skip
    kept = [
        n for n, column in enumerate(columns)
        if (ranked or column.title not in ("#", "score"))
        and (column.title not in _IF_ANY or any(row[n] for row in rows))
    ]
    if console.width >= _TABLE_WIDTH:
        console.table([columns[n] for n in kept], ([row[n] for n in kept] for row in rows))
        return
    for rank_text, score, when, tier, user, who, state, text, record_id in rows:
        head = [f"{rank_text}. {score}" if ranked else "", when, tier]
        head += [f"user {user}" if user else "", who, state, f"id {record_id}"]
        console.say(console.style("  ".join(clean(part) for part in head if part), "bold"))
        for line in wrap(text, console.width - 3):
            console.say(f"   {line}")


def who_said(record: MemoryRecord) -> str:
    """Role or name of the speaker, and the source; "" when the store knows neither.

    A name that would pass for another role is quoted, as it is in a context for a prompt.
    """
    from spector.search.selection import label, origin_of

    source = "" if record.source is None else f"from {label(record.source)}"
    origin = origin_of(record)
    return f"{origin} ({source})" if origin and source else origin or source


def state_of(record: MemoryRecord, *, protected: bool = False) -> str:
    """Why recalls leave a memory out unless they are asked for it, and its end; "" when none does.

    ``protected``: also why a selection does not forget it.
    """
    from spector.layout import Flag

    states: list[str] = []
    if record.superseded:
        until = record.valid_until
        states.append("superseded" if until is None else f"superseded, until {day(until)}")
    states += (
        name for flag, name in ((Flag.DORMANT, "dormant"), (Flag.QUARANTINED, "quarantined"))
        if flag in record.flags
    )  # fmt: skip
    if protected:
        states += _protections(record)
    return ", ".join(states)


def _protections(record: MemoryRecord) -> Iterable[str]:
    return (name for name in ("pinned", "immutable") if getattr(record, name))


def day(moment: datetime | None) -> str:
    """A moment to the minute, UTC."""
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}"
