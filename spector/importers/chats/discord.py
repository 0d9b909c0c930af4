"""Discord channels as DiscordChatExporter writes them in JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.entries import (
    Broken,
    Entry,
    Format,
    LeftOut,
    Options,
    left_out,
    said,
    short_text,
)
from spector.importers.sources import Head, SourceFile
from spector.importers.times import parse_time

#: kinds of messages that people or their programs wrote; others are notices
_SPOKEN: Final = frozenset(
    """Default Reply ThreadStarterMessage ChatInputCommand ContextMenuCommand ApplicationCommand 0
        19 20 21 23""".split()
)
_MENTION: Final = re.compile(r"<@!?(\d+)>")


def _recognizes(head: Head) -> bool:
    return (
        head.shape == "object"
        and head.has("channel", "messages")
        and isinstance(head.first["channel"], dict)
    )


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The messages of a channel, in their order."""
    document = source.load_object()
    messages = document.get("messages")
    if not isinstance(messages, list):
        raise source.error("", 'has no "messages"', hint="is it an export in JSON?")
    for number, entry in enumerate(messages, 1):
        try:
            yield _message(entry, document, source, f"message {number}", options)
        except ImportFormatError as error:
            yield Broken(error)


FORMAT: Final = Format("discord", "a channel of DiscordChatExporter in JSON", read, _recognizes)


def _message(
    entry: Any, document: dict[str, Any], source: SourceFile, place: str, options: Options
) -> Entry:
    if not isinstance(entry, dict):
        raise source.error(place, "is not an object", hint="export it again as JSON")
    if str(entry.get("type", "Default")) not in _SPOKEN:
        return LeftOut("notice", place)
    text = _text(entry)
    if not text:
        return left_out(_kind(entry), place)
    channel, guild = _object(document, "channel"), _object(document, "guild")
    author, reference = _object(entry, "author"), _object(entry, "reference")
    return said(
        text,
        place=place,
        source="discord",
        speaker=author.get("nickname") or author.get("name") or author.get("id"),
        moment=parse_time(entry.get("timestamp"), source, place, options, name="timestamp"),
        session=f"discord/{channel.get('id') or channel.get('name')}",
        own_id=entry.get("id"),
        is_bot=author.get("isBot") is True,
        channel=short_text(channel.get("name")),
        server=short_text(guild.get("name")),
        reply_to=short_text(reference.get("messageId")),
        forwarded=True if _object(entry, "forwardedMessage") else None,
    )


def _text(entry: dict[str, Any]) -> str:
    """The words of a message: its own, those that it passes on, or what a program made of them."""
    embeds = entry.get("embeds")
    author = _object(entry, "author")
    shown = [
        each.get(name)
        for each in (embeds if isinstance(embeds, list) else ())
        if isinstance(each, dict) and author.get("isBot") is True
        for name in ("title", "description")
    ]
    told = "\n".join(each.strip() for each in shown if isinstance(each, str) and each.strip())
    for text in (entry.get("content"), _object(entry, "forwardedMessage").get("content"), told):
        if isinstance(text, str) and text.strip():
            return _with_names(text, entry.get("mentions")) if "<@" in text else text
    return ""


def _with_names(text: str, mentions: Any) -> str:
    """A text with names for the ids of who is mentioned."""
    names = {
        str(each.get("id")): each.get("nickname") or each.get("name")
        for each in (mentions if isinstance(mentions, list) else ())
        if isinstance(each, dict)
    }
    return _MENTION.sub(lambda found: f"@{names.get(found[1]) or found[1]}", text)


def _kind(entry: dict[str, Any]) -> str | None:
    for name, kind in (("stickers", "sticker"), ("embeds", "picture")):
        if entry.get(name):
            return kind
    files = entry.get("attachments")
    first = files[0] if isinstance(files, list) and files else None
    if not isinstance(first, dict):
        return None
    name = str(first.get("fileName", "")).lower()
    return "picture" if name.endswith((".png", ".jpg", ".jpeg", ".gif", ".webp")) else "file"


def _object(entry: dict[str, Any], name: str) -> dict[str, Any]:
    found = entry.get(name)
    return found if isinstance(found, dict) else {}
