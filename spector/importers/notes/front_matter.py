"""The properties at the top of a note: a small part of YAML, as note programs write it.

What is not understood stays a text: nothing is lost and nothing is guessed.
"""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["CHANGED", "CREATED", "names_in", "properties_of", "tags_in", "told_of"]

#: properties that say when a note was made, the surest first, and when it was changed
CREATED: Final = (
    "date",
    "created",
    "created_at",
    "created-at",
    "date created",
    "datetime",
    "timestamp",
    "creation date",
    "day",
)
CHANGED: Final = ("updated", "updated_at", "modified", "last_modified", "date modified")
#: properties that are fields of a memory, or are for programs
_UNSAID: Final = frozenset(
    (
        *CREATED,
        *CHANGED,
        "tags",
        "tag",
        "aliases",
        "alias",
        "id",
        "uuid",
        "cssclass",
        "cssclasses",
        "publish",
        "permalink",
        "slug",
        "layout",
        "draft",
        "banner",
        "cover",
        "icon",
        "position",
        "collapsed",
    )
)

_KEY: Final = re.compile(r"^([^\s:#\-][^:#]*?)\s*:(?:\s+(.*))?$")
_ITEM: Final = re.compile(r"^\s*-\s+(.*)$")
_NUMBER: Final = re.compile(r"^-?\d{1,15}(?:\.\d{1,15})?$")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}
_MOST: Final = 64


def properties_of(lines: list[str]) -> dict[str, Any]:
    """Name -> value: a text, a number, a truth, or a list of them."""
    out: dict[str, Any] = {}
    name = ""
    folded: list[str] | None = None
    for line in lines:
        found = _KEY.match(line)
        if found is not None and not line.startswith((" ", "\t")):
            name, rest = found[1].strip().strip("\"'"), (found[2] or "").strip()
            folded = [] if rest in ("|", ">", "|-", ">-") else None
            if len(out) < _MOST:
                value = None if folded is not None else _value(rest)
                out[name] = value if out.get(name) is None else [*_list(out[name]), *_list(value)]
            continue
        item = _ITEM.match(line)
        if item is None and folded is None and out.get(name, "") is None and line.strip():
            folded = []  # properties of a property stay as they are written
        if folded is not None and line.startswith((" ", "\t")):
            folded.append(line.strip())
            out[name] = "\n".join(folded)
        elif item is not None and name in out:
            before = out[name]
            if len(_list(before)) < _MOST:
                out[name] = [*_list(before), _scalar(item[1].strip())]
    return {key: value for key, value in out.items() if value is not None}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def told_of(properties: dict[str, Any]) -> str:
    """What the properties say besides tags, dates and other names, one a line; "" for nothing."""
    out = []
    for name, value in properties.items():
        values = value if isinstance(value, list) else [value]
        said = ", ".join(str(each) for each in values if each is not None and each != "")
        if said and not isinstance(value, bool) and name.lower() not in _UNSAID:
            out.append(f"{name}: {said}")
    return "\n".join(out)


def _value(text: str) -> Any:
    text = _without_comment(text)
    if text.startswith("[") and text.endswith("]") and not text.startswith("[["):
        return [_scalar(each) for each in _split_list(text[1:-1]) if each][:_MOST]
    return _scalar(text)


def _without_comment(text: str) -> str:
    if text[:1] in ("'", '"'):
        return text
    return text if text.startswith("#") else re.split(r"\s#", text, maxsplit=1)[0].rstrip()


def _split_list(text: str) -> list[str]:
    out, quote, at = [""], "", 0
    for at in range(len(text)):
        char = text[at]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == ",":
            out.append("")
            continue
        out[-1] += char
    return [each.strip() for each in out]


def _scalar(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.match(text):
        return float(text) if "." in text else int(text)
    return text


def names_in(value: Any) -> list[str]:
    """Names of a property that is one text or a list of them."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, list):
        return [str(each) for each in value if isinstance(each, (str, int)) and str(each).strip()]
    return []


def tags_in(properties: dict[str, Any]) -> list[str]:
    """The tags among properties: a list, or one text with commas or spaces between them."""
    out: list[str] = []
    for name, value in properties.items():
        if name.lower() in ("tags", "tag"):
            names = re.split(r"[,\s]+", value) if isinstance(value, str) else names_in(value)
            out += [each.strip().lstrip("#") for each in names]
    return [each for each in dict.fromkeys(out) if each]
