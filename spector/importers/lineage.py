"""What a second import knows of the first one.

Of our own exports, a memory that had a key keeps it. One without a key is named by its id and time
of recording in the store that it came from, and a store knows its own memories.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from spector.errors import SpectorError, UnknownRecordError
from spector.importers.entries import Found, Message
from spector.importers.sources import SourceFile

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.store.payloads import KeyPath
    from spector.write import Draft


# Names of messages, by which a second import knows what the first one has stored.
#
# A message is named by the source, its conversation and the id that its maker gave it. Without an id
# it is named by its conversation or file, its speaker, time and text, and its number among those that
# are equal. Of messages that share an id, those with other words than the first one are named by
# these, too.

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


Line = dict[str, Any]
#: label of the namespace of these keys
_NAMESPACE = (NAMESPACE, "spector")
#: label that stands before the namespace of the key of a message that was observed
_OBSERVED: Final = "observed"


def observed_path(draft: Draft) -> KeyPath:
    """The key that is marked when a message was observed."""
    from spector.write import path_of_draft

    path = path_of_draft(draft)
    return path._replace(namespace=f"{_OBSERVED}/{path.namespace}")


class Foresight:
    """What messages will become, asked in the order in which they would be stored.

    Args:
        observes: they would be observed.
    """

    def __init__(self, memory: Memory, *, observes: bool = False) -> None:
        self._memory = memory
        self._observes = observes
        self._asked: set[int] = set()

    def of(self, draft: Draft) -> str:
        """What a message will become: "new", "known" or "forgotten"."""
        from spector.write import path_of_draft

        if draft.key is None:
            return "new"
        path = observed_path(draft) if self._observes else path_of_draft(draft)
        digest = hash(path)
        if digest in self._asked:
            return "known"
        self._asked.add(digest)
        if not self._observes and self._is_here(path):
            return "known"
        if not self._memory._parts.forgetter.marked([path])[0]:
            return "new"
        return "known" if self._observes else "forgotten"

    def _is_here(self, path: KeyPath) -> bool:
        try:
            self._memory._parts.finder.by_key(path)
        except UnknownRecordError:
            return False
        return True


class Lineage:
    """From a line of an export to the one that is imported; None for a memory of this store.

    Attributes:
        known: lines so far whose memory is here already.
    """

    def __init__(self, memory: Memory, change: Callable[[Line], Line | None]) -> None:
        self._memory = memory
        self._change = change
        self.known = 0

    def __call__(self, line: Line) -> Line | None:
        own_id, recorded = line.get("id"), line.get("recorded_at")
        changed = self._change(line)
        if changed is None:
            return None
        if changed.get("key") is None and isinstance(own_id, int) and isinstance(recorded, str):
            if self._is_own(own_id, recorded, changed):
                self.known += 1
                return None
            changed = {**changed, "key": _key(own_id, recorded), "namespace": list(_NAMESPACE)}
        if changed.get("key") is not None and self._has_key(changed):
            self.known += 1
        return changed

    def _is_own(self, own_id: int, recorded: str, line: Line) -> bool:
        """Whether a line is of a memory that this store has, for the same user and agent."""
        try:
            found = self._memory.get(own_id)
        except SpectorError:
            return False
        scope = (line.get("user_id"), line.get("agent_id"))
        same = found.to_dict().get("recorded_at") == recorded
        return same and (found.user_id, found.agent_id) == scope and found.text == line.get("text")

    def _has_key(self, line: Line) -> bool:
        try:
            self._memory.get(
                key=line["key"],
                namespace=line.get("namespace") or (),
                user_id=line.get("user_id"),
                agent_id=line.get("agent_id"),
            )
        except SpectorError:
            return False
        return True


def _key(own_id: int, recorded: str) -> str:
    return hashlib.sha256(f"{own_id} {recorded}".encode()).hexdigest()[:32]
