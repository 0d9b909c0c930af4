"""Telegram Desktop exports in JSON: ``result.json`` of one chat, or of a whole account.

The time is the instant in ``date_unixtime``; older exports have local times only.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any, Final

from spector.importers.entries import Broken, Entry, Format, LeftOut, Options
from spector.importers.reading import left_out, numbered, objects_in, read_each, said, short_text
from spector.importers.sources import Head, SourceFile
from spector.importers.times import Spot, in_zone

#: what a message may have in place of words
_WORDLESS: Final = ("photo", "file", "location_information", "contact_information", "poll")


def _recognizes(head: Head) -> bool:
    first = head.first
    if head.shape != "object":
        return False
    if isinstance(first.get("chats"), dict) and isinstance(first["chats"].get("list"), list):
        return True
    one = head.first_of("messages")
    return head.has("type", "id", "messages") and (
        not one or ("id" in one and "type" in one and ("date" in one or "date_unixtime" in one))
    )


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The messages of every chat, in their order."""
    document = source.load_object()
    found = [document]
    if isinstance(document.get("chats"), dict):
        lists = [
            document[name].get("list")
            for name in ("chats", "left_chats")
            if isinstance(document.get(name), dict)
        ]
        if not all(isinstance(each, list) for each in lists):
            raise source.error("", "has no list of chats", hint="export it again as JSON")
        found = [chat for each in lists for chat in each]
    for where, chat in numbered("chat", found):
        if not isinstance(chat, dict) or not isinstance(chat.get("messages"), list):
            yield Broken(source.error(where, 'has no "messages"', hint="export it again as JSON"))
            continue
        places = "message" if len(found) == 1 else f"{where}, message"
        yield from read_each(
            numbered(places, chat["messages"]), partial(_message, chat), source, options
        )


FORMAT: Final = Format(
    "telegram", "result.json of Telegram Desktop, of one chat or of all", read, _recognizes
)


def _message(chat: dict[str, Any], entry: Any, spot: Spot) -> Entry:
    if not isinstance(entry, dict):
        raise spot.error("is not an object", hint="export it again as JSON")
    if "id" in entry:
        spot = spot.at(f"{spot.place} (id {str(entry['id'])[:40]})")
    if entry.get("type") != "message":
        return LeftOut("notice", spot.place)
    text = _text(entry.get("text")) or _text(entry.get("text_entities")) or _poll(entry.get("poll"))
    if not text.strip():
        kind = entry.get("media_type") or next(filter(entry.get, _WORDLESS), None)
        return left_out(str(kind).split("_")[0] if kind else None, spot.place)
    name = chat.get("name")
    return said(
        spot,
        text,
        source="telegram",
        speaker=entry.get("from") or entry.get("from_id") or "deleted account",
        moment=_time(entry, spot),
        session=f"telegram/{chat.get('id', name)}",
        own_id=entry.get("id"),
        chat=short_text(name),
        reply_to=entry.get("reply_to_message_id"),
        forwarded_from=short_text(entry.get("forwarded_from")),
    )


def _text(value: Any) -> str:
    """A text, or pieces of one: links and bold words are pieces of their sentence."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    return "".join(_piece(each) for each in value)


def _poll(value: Any) -> str:
    """What a poll asks, and its answers."""
    if not isinstance(value, dict) or not isinstance(value.get("question"), str):
        return ""
    answers = objects_in(value, "answers")
    return "\n- ".join(
        [
            value["question"],
            *(each["text"] for each in answers if isinstance(each.get("text"), str)),
        ]
    )


def _piece(value: Any) -> str:
    """A piece of a text; a link behind words stands after them."""
    text = value.get("text") if isinstance(value, dict) else value
    if not isinstance(text, str):
        return ""
    link = value.get("href") if isinstance(value, dict) else None
    return f"{text} ({link})" if isinstance(link, str) and link and link not in text else text


def _time(entry: dict[str, Any], spot: Spot) -> datetime | None:
    if entry.get("date_unixtime") not in (None, ""):
        return spot.time(entry["date_unixtime"], "date_unixtime")
    value = entry.get("date")
    try:
        return None if value is None else in_zone(datetime.fromisoformat(value), spot.options)
    except (TypeError, ValueError) as exc:
        problem = f"date {str(value)[:40]!r} is not a time"
        raise spot.error(problem, hint="export it again as JSON") from exc
