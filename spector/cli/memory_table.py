"""Memories for people: a table if the terminal is wide enough, else a paragraph for each.

Texts and speaker names in a store are untrusted. So the command's own remarks about a memory have a
column of their own and are never mixed with its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Final

from spector.cli.output import Column, Console, clean, wrap
from spector.messages import counted

if TYPE_CHECKING:
    from spector.records import Hit, MemoryRecord


_SHORT_CHARS: Final = 240
#: minimum width for a table
_TABLE_WIDTH: Final = 96
#: columns that are left out when they are empty for all memories
_IF_ANY: Final = ("state", "user")


def show_memories(
    console: Console,
    memories: Sequence[Hit | MemoryRecord],
    *,
    full: bool = False,
    protected: bool = False,
    users: bool = False,
) -> None:
    """Print time, tier, speaker, text and id of each memory; of hits also rank and score.

    Args:
        full: print whole texts, however long.
        protected: also print whether a memory is pinned or immutable.
        users: also print the user of each memory.
    """
    columns = [
        Column("#", right=True),
        Column("score", right=True),
        Column("when"),
        Column("tier"),
        Column("user", flexible=True, least=8),
        Column("speaker", flexible=True, least=10),
        Column("state", flexible=True, least=16),
        Column("text", flexible=True),
        Column("id"),
    ]
    from spector.records import Hit

    ranked = any(isinstance(each, Hit) for each in memories)
    rows = []
    for rank, each in enumerate(memories, 1):
        record = each.record if isinstance(each, Hit) else each
        name, before = record.turn_before
        text = clean(f"({name}: {before}) {record.text}" if name else record.text)
        if not full and len(text) > _SHORT_CHARS:
            text = text[: _SHORT_CHARS - 3].rstrip() + "..."
        state = state_of(record, protected=protected, zone=console.zone)
        states = (state, without_words(record))
        rows.append(
            (
                str(rank),
                f"{each.score:.3f}" if isinstance(each, Hit) else "",
                day(record.event_time, console.zone),
                record.tier,
                (record.user_id or "") if users else "",
                speaker_label(record),
                ", ".join(filter(None, states)),
                text,
                str(record.id),
            )
        )
    kept = [
        n
        for n, column in enumerate(columns)
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


def without_words(record: MemoryRecord) -> str:
    """What a memory without a text has instead."""
    if record.text or record.attachment_bytes is None:
        return ""
    return f"no text, {counted(record.attachment_bytes, 'byte', commas=True)} attached"


def speaker_label(record: MemoryRecord) -> str:
    """Role or name of the speaker, and the source; "" if both are unknown.

    A name that could pass for another role is quoted, as in a context for a prompt.
    """
    from spector.search import label, origin_of

    source = "" if record.source is None else f"from {label(record.source)}"
    origin = origin_of(record)
    return f"{origin} ({source})" if origin and source else origin or source


def state_of(record: MemoryRecord, *, protected: bool = False, zone: tzinfo = UTC) -> str:
    """States in which recall skips a memory, with the end of its validity; "" if none.

    ``protected``: also states in which forget by selection keeps it.
    """
    from spector.layout import Flag

    states: list[str] = []
    if record.superseded:
        until = record.valid_until
        states.append("superseded" if until is None else f"superseded, until {day(until, zone)}")
    if record.dormant:
        since, rule = record.dormant_since, record.dormant_rule
        when = "" if since is None else f" since {day(since, zone)}"
        states.append(f"dormant{when} ({rule})" if rule else f"dormant{when}")
    if Flag.QUARANTINED in record.flags:
        states.append("quarantined")
    if protected:
        states += [name for name in ("pinned", "immutable") if getattr(record, name)]
    return ", ".join(states)


def day(moment: datetime | None, zone: tzinfo = UTC) -> str:
    """A moment to the minute, in a zone."""
    from spector.clock import local_of_ms, to_ms

    if moment is None:
        return ""
    return f"{moment if zone is UTC else local_of_ms(to_ms(moment), zone):%Y-%m-%d %H:%M}"
