"""Memories of our own exports, by which a second import knows what the first one has stored.

A memory that had a key keeps it. One without a key is named by its id and time of recording in the
store that it came from, and a store knows its own memories.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spector.errors import SpectorError
from spector.importers.keys import NAMESPACE

if TYPE_CHECKING:
    from spector.memory import Memory

__all__ = ["Lineage"]

Line = dict[str, Any]
#: label of the namespace of these keys
_NAMESPACE = (NAMESPACE, "spector")


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
                key=line["key"], namespace=line.get("namespace") or (),
                user_id=line.get("user_id"), agent_id=line.get("agent_id"),
            )
        except SpectorError:
            return False
        return True


def _key(own_id: int, recorded: str) -> str:
    return hashlib.sha256(f"{own_id} {recorded}".encode()).hexdigest()[:32]
