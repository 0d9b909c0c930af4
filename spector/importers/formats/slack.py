"""Slack exports: a folder or zip archive with ``users.json`` and a file a day for each channel.

The time of a message is its ``ts``, which is also its id within the channel. Ids of users and
channels in the text become names.
"""

from __future__ import annotations

import contextlib
import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.entries import Entry, Format, LeftOut, Options
from spector.importers.places import Archive, Export, Place
from spector.importers.reading import (
    left_out,
    list_in,
    object_in,
    objects_in,
    read_each,
    said,
    text_in,
    texts_in,
)
from spector.importers.sources import Head, SourceFile
from spector.importers.times import Spot

_DAY: Final = re.compile(r"^\d{4}-\d\d-\d\d\.json$")
#: subtypes of messages that people wrote; others are notices of the program
_SPOKEN: Final = frozenset(
    "bot_message thread_broadcast me_message file_share file_comment reply_broadcast".split()
)
#: blocks that begin a line, and blocks within blocks
_LINES: Final = frozenset(
    "rich_text_section rich_text_preformatted rich_text_quote section header context".split()
)
_DEEPEST: Final = 12
_MARK: Final = re.compile(r"<([@#!]?)([^<>|\s]*[^<>|]*)(?:\|([^<>]*))?>")


def _recognizes(head: Head) -> bool:
    first = head.first
    return (
        head.shape == "array"
        and isinstance(first.get("ts"), str)
        and (
            "user" in first
            or "subtype" in first
            or "bot_id" in first
            or first.get("type") == "message"
        )
    )


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The messages of a channel on one day, in their order."""
    return read_each(source.each_object("message"), _message, source, options)


def _exports(place: Place) -> Iterator[Export]:
    """Folders with a list of users or channels, and below it days of channels."""
    lists = ("users.json", "channels.json")
    tops = {each.folders for each in place.files if each.name in lists}
    for top in sorted(tops):
        if any(top[:length] in tops for length in range(len(top))):
            continue
        within = replace(
            place, files=[each for each in place.files if each.folders[: len(top)] == top]
        )
        days = [each for each in within.files if _DAY.match(each.name) and each.folders != top]
        if days:
            context = {"users": _names(within, lists[0]), "channels": _names(within, lists[1])}
            beside = [each for each in within.files if each.suffix == ".json"]
            yield Export([(each, context) for each in days], beside)


FORMAT: Final = Format(
    "slack",
    "an export of Slack: its folder, its zip file, or one day of a channel",
    read,
    _recognizes,
)
ARCHIVE: Final = Archive("slack", _exports)


def _names(place: Place, name: str) -> dict[str, str]:
    """Id -> name, as a file of the export gives them; what is odd in it is left out."""
    source = place.named(name)
    if source is None:
        return {}
    out: dict[str, str] = {}
    with contextlib.suppress(ImportFormatError):
        for _, entry in source.each_object():
            profile = object_in(entry, "profile")
            name = (
                text_in(profile, "display_name")
                or text_in(entry, "real_name")
                or text_in(profile, "real_name")
                or text_in(entry, "name")
            )
            if isinstance(entry.get("id"), str) and name:
                out[entry["id"]] = name.strip()
    return out


def _message(entry: dict[str, Any], spot: Spot) -> Entry:
    subtype = entry.get("subtype")
    is_spoken = subtype is None or (isinstance(subtype, str) and subtype in _SPOKEN)
    if entry.get("type", "message") != "message" or not is_spoken:
        return LeftOut("notice", spot.place)
    if entry.get("hidden") is True:
        return LeftOut("hidden", spot.place)
    context = spot.options.context
    names = _Names(context.get("users", {}), context.get("channels", {}))
    text = names.shown_in(entry.get("text"))
    if not text.strip():
        text = names.shown_in(_beside(entry, names))
    if not text.strip():
        first = next(iter(list_in(entry, "files")), None)
        kind = first.get("mimetype") if isinstance(first, dict) else None
        return left_out(kind, spot.place, "file" if entry.get("files") else "no text")
    thread, ts = text_in(entry, "thread_ts"), entry.get("ts")
    channel = spot.source.folders[-1] if spot.source.folders else ""
    return said(
        spot,
        text,
        source="slack",
        speaker=_speaker(entry, names.users),
        moment=spot.time(ts, "ts"),
        session=f"slack/{channel}" if channel else None,
        own_id=ts if isinstance(ts, str) else "",
        is_bot=subtype == "bot_message" or "bot_id" in entry,
        channel=channel,
        thread=thread if thread != ts else None,
    )


@dataclass(frozen=True, slots=True)
class _Names:
    """Names for the ids of users and channels, as other files of the export give them."""

    users: Mapping[str, str]
    channels: Mapping[str, str]

    def shown_in(self, text: object) -> str:
        """A text with names for ids, links for their marks, and characters for entities."""
        return html.unescape(_MARK.sub(self._shown, text)) if isinstance(text, str) else ""

    def _shown(self, found: re.Match[str]) -> str:
        kind, target, name = found.groups()
        if kind == "@":
            return f"@{self.users.get(target) or name or target}"
        if kind == "#":
            return f"#{self.channels.get(target) or name or target}"
        if kind == "!":
            return name or f"@{target.split('^')[0]}"
        target = target.removeprefix("mailto:").removeprefix("tel:")
        return f"{name} ({target})" if name and name not in target else target

    def collect(self, part: Any, out: list[str], depth: int = 0) -> None:
        """Add the words of blocks of rich text to ``out``."""
        if isinstance(part, list):
            for each in part:
                self.collect(each, out, depth)
            return
        if not isinstance(part, dict) or depth > _DEEPEST:
            return
        kind, text = part.get("type"), part.get("text")
        if kind == "user":
            out.append(f"@{self.users.get(str(part.get('user_id')), part.get('user_id'))}")
        elif kind == "channel":
            out.append(f"#{self.channels.get(str(part.get('channel_id')), part.get('channel_id'))}")
        elif kind == "emoji":
            out.append(f":{part.get('name')}:")
        elif kind == "link":
            out.append(str(text or part.get("url") or ""))
        elif isinstance(text, str):
            out.append(text)
        else:
            if kind in _LINES and out:
                out.append("\n")
            self.collect(text, out, depth + 1)
            self.collect(part.get("elements"), out, depth + 1)


def _beside(entry: dict[str, Any], names: _Names) -> str:
    """The words of a message without a text: of its blocks, or of what a program attached."""
    out: list[str] = []
    names.collect(entry.get("blocks"), out)
    if out:
        return html.escape("".join(out).strip(), quote=False)
    for each in objects_in(entry, "attachments"):
        out += texts_in(each, "pretext", "title", "text") or texts_in(each, "fallback")
    return "\n".join(out)


def _speaker(entry: dict[str, Any], users: Mapping[str, str]) -> str | None:
    user = text_in(entry, "user")
    return (
        users.get(user)
        or text_in(object_in(entry, "user_profile"), "display_name", "real_name", "name")
        or text_in(entry, "username")
        or text_in(object_in(entry, "bot_profile"), "name")
        or user
    )
