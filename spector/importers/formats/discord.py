"""Discord channels as DiscordChatExporter writes them in JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from spector.importers.entries import Entry, Format, LeftOut, Options
from spector.importers.reading import (
    left_out,
    list_in,
    numbered,
    object_in,
    objects_in,
    read_each,
    said,
    short_text,
    text_in,
    texts_in,
)
from spector.importers.sources import Head, SourceFile
from spector.importers.times import Spot

#: kinds of messages that people or their programs wrote; others are notices
_SPOKEN: Final = frozenset(
    """Default Reply ThreadStarterMessage ChatInputCommand ContextMenuCommand ApplicationCommand 0
        19 20 21 23""".split()
)
_MENTION: Final = re.compile(r"<@!?(\d+)>")
_PICTURES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def _recognizes(head: Head) -> bool:
    return (
        head.shape == "object"
        and head.has("channel", "messages")
        and isinstance(head.first["channel"], dict)
    )


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The messages of a channel, in their order."""
    document = source.load_object()
    found = document.get("messages")
    if not isinstance(found, list):
        raise source.error("", 'has no "messages"', hint="is it an export in JSON?")
    yield from read_each(
        numbered("message", found),
        lambda entry, spot: _message(entry, document, spot),
        source,
        options,
    )


FORMAT: Final = Format("discord", "a channel of DiscordChatExporter in JSON", read, _recognizes)


def _message(entry: Any, document: dict[str, Any], spot: Spot) -> Entry:
    if not isinstance(entry, dict):
        raise spot.error("is not an object", hint="export it again as JSON")
    if str(entry.get("type", "Default")) not in _SPOKEN:
        return LeftOut("notice", spot.place)
    author, channel = object_in(entry, "author"), object_in(document, "channel")
    is_bot = author.get("isBot") is True
    text = _text(entry, is_bot)
    if not text:
        return left_out(_kind(entry), spot.place)
    return said(
        spot,
        text,
        source="discord",
        speaker=author.get("nickname") or author.get("name") or author.get("id"),
        moment=spot.time(entry.get("timestamp"), "timestamp"),
        session=f"discord/{channel.get('id') or channel.get('name')}",
        own_id=entry.get("id"),
        is_bot=is_bot,
        channel=short_text(channel.get("name")),
        server=short_text(object_in(document, "guild").get("name")),
        reply_to=short_text(object_in(entry, "reference").get("messageId")),
        forwarded=bool(object_in(entry, "forwardedMessage")) or None,
    )


def _text(entry: dict[str, Any], is_bot: bool) -> str:
    """The words of a message: its own, those that it passes on, or what a program made of them."""
    text = text_in(entry, "content") or text_in(object_in(entry, "forwardedMessage"), "content")
    if not text and is_bot:
        shown = [texts_in(each, "title", "description") for each in objects_in(entry, "embeds")]
        text = "\n".join(each.strip() for texts in shown for each in texts)
    if "<@" not in text:
        return text
    mentioned = objects_in(entry, "mentions")
    names = {str(each.get("id")): each.get("nickname") or each.get("name") for each in mentioned}
    return _MENTION.sub(lambda found: f"@{names.get(found[1]) or found[1]}", text)


def _kind(entry: dict[str, Any]) -> str | None:
    for name, kind in (("stickers", "sticker"), ("embeds", "picture")):
        if entry.get(name):
            return kind
    files = list_in(entry, "attachments")
    if not files or not isinstance(files[0], dict):
        return None
    is_picture = str(files[0].get("fileName", "")).lower().endswith(_PICTURES)
    return "picture" if is_picture else "file"
