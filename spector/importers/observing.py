"""Imports that observe: what was observed once is not observed again.

A message may give no memory, or several, so its key is marked instead of given to one. Marks of
these imports are apart from the keys of others: a file that was observed can be imported whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from spector.importers.entries import Message
from spector.importers.importing import Storing
from spector.importers.lineage import observed_path

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.store.payloads import KeyPath

__all__ = ["observable", "observing"]

#: what observing decides by itself: what is known, where it is kept, and how it feels
_DECIDED: Final = frozenset(("key", "namespace", "tier", "valence", "arousal"))


def observable(message: Message, source: str | None = None) -> Message:
    """A message of an import as ``observe`` takes it.

    The file of a conversation is where it is kept, and no source of what is said in it: it is in
    ``metadata["imported_from"]``, unless it is the ``source`` that the caller names.
    """
    taken = {name: value for name, value in message.items() if name not in _DECIDED}
    if taken.get("role") and taken.get("source") not in (None, source):
        metadata = taken.get("metadata") or {}
        taken["metadata"] = {"imported_from": taken.pop("source"), **metadata}
    return taken


def observing(
    memory: Memory, observe: Callable[[list[dict[str, Any]]], None], source: str | None = None
) -> Storing:
    """What stores the messages of an import by observing those that were not observed before.

    Args:
        observe: takes messages without keys and tiers.
        source: where all of them are from, as the caller says.
    """
    parts = memory._parts

    def path_of(message: Message) -> KeyPath | None:
        if message.get("key") is None:
            return None
        names = {name: message.get(name) for name in ("key", "namespace", "user_id", "agent_id")}
        return observed_path(parts.writer.draft({"text": message["text"], **names}, {}))

    def store(messages: list[Message]) -> list[str]:
        paths = [path_of(each) for each in messages]
        asked = list(dict.fromkeys(path for path in paths if path is not None))
        seen = {
            path
            for path, is_known in zip(asked, parts.forgetter.marked(asked), strict=True)
            if is_known
        }
        outcomes, fresh = [], []
        for message, path in zip(messages, paths, strict=True):
            outcomes.append("known" if path in seen else "new")
            if path not in seen:
                fresh.append(observable(message, source))
            if path is not None:
                seen.add(path)  # the same message again, within this step
        if fresh:
            observe(fresh)
            parts.forgetter.mark(asked)
        return outcomes

    return store
