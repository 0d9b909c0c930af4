"""Who says a message in JSON that has no role: a name under one of the usual keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spector.importers.entries import label

__all__ = ["SPEAKER_KEYS", "named_in"]

#: names that makers use for who says a message
SPEAKER_KEYS: Final = (
    "speaker",
    "sender",
    "sender_name",
    "senderName",
    "author",
    "from",
    "from_name",
    "username",
    "user_name",
    "userName",
    "creator",
    "sent_by",
    "nickname",
    "user",
)
#: of an object for a person: its name
_NAMES: Final = (
    "display_name",
    "displayName",
    "nickname",
    "name",
    "full_name",
    "real_name",
    "username",
    "id",
)


def named_in(entry: Mapping[str, Any]) -> tuple[str | None, str]:
    """Who says an entry, and the key that his name stands under; (None, "") for no one."""
    for key in SPEAKER_KEYS:
        value = entry.get(key)
        if isinstance(value, dict):
            value = next((value[name] for name in _NAMES if value.get(name)), None)
        if (found := label(value)) is not None:
            return found, key
    return None, ""
