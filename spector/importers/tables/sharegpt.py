"""Conversations in the form of ShareGPT: {"conversations": [{"from": "human", "value": ...}]}."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.entries import Broken, Entry, Format, Found, LeftOut, Message, Options, label
from spector.importers.sources import Head, SourceFile, each_entry
from spector.importers.times import time_among

_LISTS: Final = ("conversations", "conversation")
_ROLES: Final = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "observation": "tool",
    "tool": "tool",
    "function_response": "tool",
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
    for place, entry in each_entry(source):
        try:
            if isinstance(entry, ImportFormatError):
                raise entry
            yield from list(_conversation(entry, source, place, options))
        except ImportFormatError as error:
            yield Broken(error)


FORMAT: Final = Format(
    "sharegpt", 'conversations of {"from", "value"}, as data sets have them', read, _recognizes
)


def _conversation(
    entry: dict[str, Any], source: SourceFile, place: str, options: Options
) -> Iterator[Entry]:
    turns = _turns_in(entry)
    if turns is None:
        raise source.error(
            place, 'has no "conversations"', hint="is it in the form of ShareGPT? see --format"
        )
    moment, _ = time_among(entry, source, place, options)
    session = label(entry.get("id")) or f"{source.name}/{place}"
    for number, turn in enumerate(turns, 1):
        where = f"{place}, turn {number}"
        if not isinstance(turn, dict) or not isinstance(turn.get("from"), str):
            raise source.error(where, 'has no "from"', hint="is it in the form of ShareGPT?")
        name, text = turn["from"].strip().lower(), turn.get("value")
        if name in _LEFT_OUT:
            yield LeftOut(_LEFT_OUT[name], where)
            continue
        if name not in _ROLES:
            raise source.error(
                where, f'"from" is {turn["from"][:40]!r}', hint=f"one of: {', '.join(_ROLES)}"
            )
        if not isinstance(text, str) or not text.strip():
            yield LeftOut("no text", where)
            continue
        message: Message = {
            "text": text,
            "role": _ROLES[name],
            "source": "sharegpt",
            "session_id": session,
        }
        if moment is not None:
            message["event_time"] = moment
        yield Found(message, where, borrowed=moment is not None)
