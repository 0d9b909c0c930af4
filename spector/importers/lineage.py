"""What a second import knows of the first one.

Of our own exports, a memory that had a key keeps it. One without a key is named by its id and time
of recording in the store that it came from, and a store knows its own memories.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from spector.errors import SpectorError, UnknownRecordError
from spector.importers.keys import NAMESPACE

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.store.payloads import KeyPath
    from spector.write.drafts import Draft

__all__ = ["Foresight", "Lineage", "observed_path"]

Line = dict[str, Any]
#: label of the namespace of these keys
_NAMESPACE = (NAMESPACE, "spector")
#: label that stands before the namespace of the key of a message that was observed
_OBSERVED: Final = "observed"


def observed_path(draft: Draft) -> KeyPath:
    """The key that is marked when a message was observed."""
    from spector.write.drafts import path_of_draft

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
        from spector.write.drafts import path_of_draft

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
