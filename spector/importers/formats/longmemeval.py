"""LongMemEval: questions, each with the sessions of chat that it is asked after.

The question is the user id, which keeps the haystacks of questions apart in one store. Dates have
no zone. A session has one date for all turns, so the n-th turn is n seconds later.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from spector.importers.entries import Entry, Format, LeftOut, Options, instructs, label
from spector.importers.reading import list_in, message, read_each
from spector.importers.sources import Head, SourceFile
from spector.importers.times import Spot

_DATE: Final = "2023/05/30 (Tue) 23:40"
_AGAIN: Final = "fetch the file again"


def _recognizes(head: Head) -> bool:
    return head.shape in ("array", "object") and isinstance(
        head.first.get("haystack_sessions"), list
    )


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The turns of every haystack; questions and answers are not read."""
    return read_each(source.each_object(), _haystack, source, options)


FORMAT: Final = Format("longmemeval", "the LongMemEval data sets", read, _recognizes)


def _haystack(entry: dict[str, Any], spot: Spot) -> Iterator[Entry]:
    sessions, dates = entry.get("haystack_sessions"), entry.get("haystack_dates")
    names = list_in(entry, "haystack_session_ids")
    if not isinstance(sessions, list) or not isinstance(dates, list) or len(dates) != len(sessions):
        raise spot.error("has not one date for each of its sessions", hint=_AGAIN)
    user = label(entry.get("question_id")) or spot.place
    for number, (session, date) in enumerate(zip(sessions, dates, strict=True)):
        name = label(names[number]) if number < len(names) else None
        name = name or f"session_{number + 1}"
        within = spot.at(f"{spot.place} ({user}), session {name}")
        start = within.local_time(_DATE, date)
        if not isinstance(session, list):
            raise within.error("is not a list of turns", hint=_AGAIN)
        for position, turn in enumerate(session):
            at = spot.at(f"{within.place}, turn {position + 1}")
            if not isinstance(turn, dict):
                raise at.error("is not an object", hint=_AGAIN)
            text, role = turn.get("content"), turn.get("role")
            if not isinstance(text, str) or not text.strip():
                yield LeftOut("no text", at.place)
                continue
            if role not in ("user", "assistant") and not instructs(role):
                raise at.error(f"role is {str(role)[:40]!r}", hint='write "user" or "assistant"')
            yield message(
                at,
                text,
                role=role,
                event_time=start + timedelta(seconds=position),
                user_id=user,
                session_id=label(f"{user}/{name}"),
                source="longmemeval",
                metadata={"session": name, "turn": position},
                written=f"{date}#{position}",
            )
