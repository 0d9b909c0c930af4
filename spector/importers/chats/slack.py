"""Slack exports: a folder or zip archive with ``users.json`` and a file a day for each channel.

The time of a message is its ``ts``, which is also its id within the channel. Ids of users and
channels in the text become names.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.entries import Broken, Entry, Format, LeftOut, Options, left_out, said
from spector.importers.places import Archive, Export, Place
from spector.importers.sources import Head, SourceFile
from spector.importers.times import parse_time

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
    channel = source.folders[-1] if source.folders else ""
    for number, entry in source.each_object():
        place = f"message {number}"
        try:
            yield _message(entry, channel, source, place, options)
        except ImportFormatError as error:
            yield Broken(error)


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
    try:
        for _, entry in source.each_object():
            given = entry.get("profile")
            profile: dict[str, Any] = given if isinstance(given, dict) else {}
            names = (
                profile.get("display_name"),
                entry.get("real_name"),
                profile.get("real_name"),
                entry.get("name"),
            )
            found = next((each for each in names if isinstance(each, str) and each.strip()), None)
            if isinstance(entry.get("id"), str) and found is not None:
                out[entry["id"]] = found.strip()
    except ImportFormatError:
        return out
    return out


def _message(
    entry: dict[str, Any], channel: str, source: SourceFile, place: str, options: Options
) -> Entry:
    subtype = entry.get("subtype")
    is_spoken = subtype is None or (isinstance(subtype, str) and subtype in _SPOKEN)
    if entry.get("type", "message") != "message" or not is_spoken:
        return LeftOut("notice", place)
    if entry.get("hidden") is True:
        return LeftOut("hidden", place)
    users = options.context.get("users", {})
    channels = options.context.get("channels", {})
    text = _text(entry.get("text"), users, channels)
    if not text.strip():
        text = _text(_beside(entry, users, channels), users, channels)
    if not text.strip():
        files = entry.get("files")
        kind = (
            files[0].get("mimetype")
            if isinstance(files, list) and files and isinstance(files[0], dict)
            else None
        )
        return left_out(kind, place, "file" if files else "no text")
    moment = parse_time(entry.get("ts"), source, place, options, name="ts")
    thread, ts = entry.get("thread_ts"), entry.get("ts")
    return said(
        text,
        place=place,
        source="slack",
        speaker=_speaker(entry, users),
        moment=moment,
        session=f"slack/{channel}" if channel else None,
        own_id=ts if isinstance(ts, str) else "",
        is_bot=entry.get("subtype") == "bot_message" or "bot_id" in entry,
        channel=channel or None,
        thread=thread if isinstance(thread, str) and thread != ts else None,
    )


def _beside(entry: dict[str, Any], users: dict[str, str], channels: dict[str, str]) -> str | None:
    """The words of a message without a text: of its blocks, or of what a program attached."""
    out: list[str] = []
    _collect(entry.get("blocks"), out, users, channels, 0)
    if out:
        return html.escape("".join(out).strip(), quote=False)
    found = entry.get("attachments")
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict):
            said = [each.get(name) for name in ("pretext", "title", "text")]
            kept = [one for one in said if isinstance(one, str) and one.strip()]
            kept = kept or [each[name] for name in ("fallback",) if isinstance(each.get(name), str)]
            out += kept
    return "\n".join(out)


def _collect(
    part: Any, out: list[str], users: dict[str, str], channels: dict[str, str], depth: int
) -> None:
    """Add the words of blocks of rich text to ``out``."""
    if isinstance(part, list):
        for each in part:
            _collect(each, out, users, channels, depth)
        return
    if not isinstance(part, dict) or depth > _DEEPEST:
        return
    kind, text = part.get("type"), part.get("text")
    if kind == "user":
        out.append(f"@{users.get(str(part.get('user_id')), part.get('user_id'))}")
    elif kind == "channel":
        out.append(f"#{channels.get(str(part.get('channel_id')), part.get('channel_id'))}")
    elif kind == "emoji":
        out.append(f":{part.get('name')}:")
    elif kind == "link":
        out.append(str(text or part.get("url") or ""))
    elif isinstance(text, str):
        out.append(text)
    else:
        if kind in _LINES and out:
            out.append("\n")
        _collect(text, out, users, channels, depth + 1)
        _collect(part.get("elements"), out, users, channels, depth + 1)


def _speaker(entry: dict[str, Any], users: dict[str, str]) -> str | None:
    user = entry.get("user")
    if isinstance(user, str) and user in users:
        return users[user]
    profile = entry.get("user_profile")
    for place, names in (
        (profile, ("display_name", "real_name", "name")),
        (entry, ("username",)),
        (entry.get("bot_profile"), ("name",)),
    ):
        for name in names:
            found = place.get(name) if isinstance(place, dict) else None
            if isinstance(found, str) and found.strip():
                return found
    return user if isinstance(user, str) else None


def _text(value: Any, users: dict[str, str], channels: dict[str, str]) -> str:
    """The text with names for ids, links for their marks, and characters for entities."""
    if not isinstance(value, str):
        return ""

    def shown(found: re.Match[str]) -> str:
        kind, target, name = found[1], found[2], found[3]
        if kind == "@":
            return f"@{users.get(target) or name or target}"
        if kind == "#":
            return f"#{channels.get(target) or name or target}"
        if kind == "!":
            return name or f"@{target.split('^')[0]}"
        target = target.removeprefix("mailto:").removeprefix("tel:")
        return f"{name} ({target})" if name and name not in target else target

    return html.unescape(_MARK.sub(shown, value))
