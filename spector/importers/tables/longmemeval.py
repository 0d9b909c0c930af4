"""LongMemEval: questions, each with the sessions of chat that it is asked after.

The question is the user id, which keeps the haystacks of questions apart in one store. Dates have
no zone. A session has one date for all turns, so the n-th turn is n seconds later.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.entries import (
    Broken,
    Entry,
    Format,
    Found,
    LeftOut,
    Options,
    instructs,
    label,
)
from spector.importers.sources import Head, SourceFile
from spector.importers.times import local_time

_DATE: Final = "2023/05/30 (Tue) 23:40"


def _recognizes(head: Head) -> bool:
    return head.shape in ("array", "object") and isinstance(
        head.first.get("haystack_sessions"), list
    )


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The turns of every haystack; questions and answers are not read."""
    for number, entry in source.each_object():
        place = f"entry {number}"
        try:
            yield from list(_haystack(entry, source, place, options))
        except ImportFormatError as error:
            yield Broken(error)


FORMAT: Final = Format("longmemeval", "the LongMemEval data sets", read, _recognizes)


def _haystack(
    entry: dict[str, Any], source: SourceFile, place: str, options: Options
) -> Iterator[Entry]:
    sessions, dates = entry.get("haystack_sessions"), entry.get("haystack_dates")
    names = entry.get("haystack_session_ids")
    if not isinstance(sessions, list) or not isinstance(dates, list) or len(dates) != len(sessions):
        raise source.error(
            place, "has not one date for each of its sessions", hint="fetch the file again"
        )
    user = label(entry.get("question_id")) or place
    for number, (session, date) in enumerate(zip(sessions, dates, strict=True)):
        given = names[number] if isinstance(names, list) and number < len(names) else None
        name = label(given) or f"session_{number + 1}"
        where = f"{place} ({user}), session {name}"
        start = local_time(_DATE, date, source, where, options)
        if not isinstance(session, list):
            raise source.error(where, "is not a list of turns", hint="fetch the file again")
        for position, turn in enumerate(session):
            at = f"{where}, turn {position + 1}"
            if not isinstance(turn, dict):
                raise source.error(at, "is not an object", hint="fetch the file again")
            text = turn.get("content")
            if not isinstance(text, str) or not text.strip():
                yield LeftOut("no text", at)
                continue
            role = turn.get("role")
            if instructs(role):
                yield LeftOut("instructions", at)
                continue
            if role not in ("user", "assistant"):
                raise source.error(
                    at, f"role is {str(role)[:40]!r}", hint='write "user" or "assistant"'
                )
            yield Found(
                {
                    "text": text,
                    "role": role,
                    "event_time": start + timedelta(seconds=position),
                    "user_id": user,
                    "session_id": label(f"{user}/{name}"),
                    "source": "longmemeval",
                    "metadata": {"session": name, "turn": position},
                },
                at,
                written=f"{date}#{position}",
            )
