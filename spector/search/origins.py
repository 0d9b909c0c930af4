"""The origin of a memory as it is shown: names and texts in quotation marks that hold."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

from spector.language.statements import (
    BARE_ROLES,
    USERS,
    is_invisible,
    may_instruct,
    reads_like_a_role,
    words_of,
)
from spector.language.words import plain
from spector.records import Hit, MemoryRecord

#: what JSON allows but a prompt should not contain; each character becomes an escape
_RISKY: Final = re.compile(
    # the start of tags and of control tokens: </memories>, <|im_start|>, <s>, <<SYS>>
    r"<(?=\s*[/|!?\[\\\uff5c])|<(?=[^\W\d])|[\uff1c\ufe64]"
    # [INST], [/INST], [TOOL_CALLS], [gMASK]
    r"|\[(?=/?[A-Za-z_ ]{0,24}[A-Z]{3}[A-Za-z_ ]{0,24}\])"
    # control characters, line and paragraph separators, marks of direction
    "|[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
    # invisible: soft hyphens, fillers, joiners in a row, variation selectors, tag letters
    "|[\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164"
    "\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]|[\u200c\u200d\ufe0f]{3,}|[\ud800-\udfff]"
)

#: a name that begins with a digit might pass for a date or an id
_LABEL: Final = re.compile(r"[^\W\d_][\w.@+-]{0,31}")

#: a longer name is cut: it is there to tell people apart
_NAME_CHARS: Final = 80


def is_word_of_user(hit: Hit) -> bool:
    """Whether a user said it: no assistant, tool, document or other source."""
    said = hit.record.data_source == "user_message"
    return said and may_instruct(None, None, hit.record.source)


def quote_text(text: str) -> str:
    """``text`` as a JSON string on one line, with everything in it visible."""
    return visible(json.dumps(text, ensure_ascii=False))


def visible(text: str) -> str:
    """A text in which what a prompt should not contain is written as escapes."""
    return _RISKY.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return "".join(
        json.dumps(char)[1:-1] if ord(char) > 0x7F else f"\\u{ord(char):04x}"
        for char in found.group()
    )


def label(name: str) -> str:
    """A name or source that stands bare where it is one harmless word, else quoted; cut if long."""
    name = _cut(name)
    return name if _is_harmless(name) and not reads_like_a_role(name) else quote_text(name)


def role_label(role: str) -> str:
    """A role, bare where it is that of a user or the agent as everybody writes it."""
    return role if role.isascii() and role.lower() in BARE_ROLES else label(role)


def _is_harmless(name: str) -> bool:
    """Whether a name is one word, of letters of one script that are seen as they are."""
    if not _LABEL.fullmatch(name) or not name.isprintable():
        return False
    if name.isascii():
        return True
    scripts = {
        "LATIN" if char.isascii() else unicodedata.name(char, "?").partition(" ")[0]
        for char in name
        if char.isalpha()
    }
    return (
        len(scripts) == 1
        and unicodedata.is_normalized("NFKC", name)
        and not any(map(is_invisible, name))
    )


def origin_of(hit: Hit | MemoryRecord) -> str:
    """Who said it, as far as the store knows; "" if it does not.

    The role of a message is its origin. ``metadata["speaker"]`` is a name given with it: it
    replaces "user", and stands beside any other role. A name that would pass for a role
    ("assistant" in a message of a user), also in letters that look like it, never stands bare.
    """
    named, role = hit.metadata.get("speaker"), hit.role
    if not isinstance(named, str) or not named or (role and plain(named) == plain(role)):
        return role_label(role) if role else ""
    claims = reads_like_a_role(named)
    if not role or (plain(role) in USERS and not claims):
        return label(named)
    return f"{role_label(role)} (as {quote_text(_cut(named))})"


def origin_beside(hit: Hit | MemoryRecord, words: str) -> str:
    """`origin_of`, but nothing where the words say it: "Ann: hello" has no "Ann" before it.

    Only a name that was read from them, or is given without a role, is theirs to say. ``words``:
    as `quoted` makes them.
    """
    named = hit.metadata.get("speaker")
    if hit.role is None and isinstance(named, str):
        name = hit.text.removesuffix(words_of(hit.text, named)).rstrip()
        if name and words.startswith(quote_text(name)[:-1]):
            return ""
    return origin_of(hit)


def _cut(name: str) -> str:
    return name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}\u2026"
