"""Names of messages, by which a second import knows what the first one has stored.

A message is named by the source, its conversation and the id that its maker gave it. Without an id
it is named by its conversation or file, its speaker, time and text, and its number among those that
are equal. Of messages that share an id, those with other words than the first one are named by
these, too.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Final

from spector.importers.entries import Found, Message
from spector.importers.sources import SourceFile

__all__ = ["NAMESPACE", "Keys"]

#: label of the namespace of all keys of imports; the format is the next one
NAMESPACE: Final = "import"
#: hexadecimal digits of a key: 128 bits
_DIGITS: Final = 32


class Keys:
    """The keys of one file's messages, asked for in their order."""

    def __init__(self, kind: str, source: SourceFile) -> None:
        self.namespace = (NAMESPACE, kind)
        self._file = "/".join((*source.folders, source.name))
        #: digest of a message without an id -> how many there were
        self._equal: dict[bytes, int] = {}
        #: digest of an id -> that of the text that came with it first
        self._texts: dict[bytes, int] = {}

    def of(self, found: Found) -> str:
        """The key of the next message."""
        message = found.message
        conversation = found.conversation or message.get("session_id") or self._file
        if found.own_id:
            digest = _digest(["id", conversation, found.own_id])
            text = hash(message["text"])
            if self._texts.setdefault(digest, text) != text:  # two messages with the same id
                digest = _digest(["id", conversation, found.own_id, message["text"]])
            return digest.hex()[:_DIGITS]
        moment = None if found.borrowed else found.written or message.get("event_time")
        plain = ["text", conversation, _speaker(message), _iso(moment), message["text"]]
        digest = _digest(plain)
        self._equal[digest] = number = self._equal.get(digest, 0) + 1
        return (digest if number == 1 else _digest([*plain, str(number)])).hex()[:_DIGITS]


def _speaker(message: Message) -> str:
    metadata = message.get("metadata")
    named = metadata.get("speaker") if isinstance(metadata, dict) else None
    return str(named or message.get("role") or "")


def _iso(moment: object) -> str:
    return moment.isoformat() if isinstance(moment, datetime) else str(moment or "")


def _digest(parts: list[str]) -> bytes:
    text = json.dumps(parts, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).digest()[:16]
