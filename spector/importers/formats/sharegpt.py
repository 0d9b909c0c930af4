"""Conversations in the form of ShareGPT: {"conversations": [{"from": "human", "value": ...}]}."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spector.importers.entries import Entry, Format, LeftOut, Options, label
from spector.importers.reading import message, numbered, read_each
from spector.importers.sources import Head, SourceFile, each_entry
from spector.importers.times import Spot

_LISTS: Final = ("conversations", "conversation")
_ROLES: Final = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys("gpt assistant chatgpt bing bard model".split(), "assistant"),
    **dict.fromkeys("observation tool function_response".split(), "tool"),
}
_LEFT_OUT: Final = {"system": "instructions", "function_call": "tool call"}


def _turns_in(entry: dict[str, Any]) -> list[Any] | None:
    for name in _LISTS:
        found = entry.get(name)
        if isinstance(found, list) and all(
            isinstance(each, dict) and "from" in each and "value" in each for each in found[:1]
        ):
            return found
    return None


def _recognizes(head: Head) -> bool:
    return head.shape != "text" and bool(_turns_in(head.first))


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The turns of every conversation; they have no times unless the conversation has one."""
    return read_each(each_entry(source), _conversation, source, options)


FORMAT: Final = Format(
    "sharegpt", 'conversations of {"from", "value"}, as data sets have them', read, _recognizes
)


def _conversation(entry: dict[str, Any], spot: Spot) -> Iterator[Entry]:
    turns = _turns_in(entry)
    if turns is None:
        raise spot.error(
            'has no "conversations"', hint="is it in the form of ShareGPT? see --format"
        )
    moment, _ = spot.time_among(entry)
    session = label(entry.get("id")) or f"{spot.source.name}/{spot.place}"
    for place, turn in numbered(f"{spot.place}, turn", turns):
        at = spot.at(place)
        if not isinstance(turn, dict) or not isinstance(turn.get("from"), str):
            raise at.error('has no "from"', hint="is it in the form of ShareGPT?")
        name = turn["from"].strip().lower()
        if name in _LEFT_OUT:
            yield LeftOut(_LEFT_OUT[name], place)
            continue
        if name not in _ROLES:
            raise at.error(f'"from" is {turn["from"][:40]!r}', hint=f"one of: {', '.join(_ROLES)}")
        yield message(
            at,
            turn.get("value"),
            role=_ROLES[name],
            source="sharegpt",
            session_id=session,
            event_time=moment,
            borrowed=moment is not None,
        )
