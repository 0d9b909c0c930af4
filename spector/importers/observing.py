"""Imports that observe: what was observed once is not observed again.

A message may give no memory, or several, so its key is marked instead of given to one. Marks of
these imports are apart from the keys of others: a file that was observed can be imported whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spector.importers.entries import Message
from spector.importers.importing import Storing

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.store.payloads import KeyPath

__all__ = ["observing"]

#: label that stands before the namespace of a key
_OBSERVED = "observed"


def observing(memory: Memory, observe: Callable[[list[dict[str, Any]]], None]) -> Storing:
    """What stores the messages of an import by observing those that were not observed before.

    Args:
        observe: takes messages without keys.
    """
    from spector.write.drafts import path_of_draft

    parts = memory._parts

    def path_of(message: Message) -> KeyPath | None:
        if message.get("key") is None:
            return None
        names = {name: message.get(name) for name in ("key", "namespace", "user_id", "agent_id")}
        path = path_of_draft(parts.writer.draft({"text": message["text"], **names}, {}))
        return path._replace(namespace=f"{_OBSERVED}/{path.namespace}")

    def store(messages: list[Message]) -> list[str]:
        paths = [path_of(each) for each in messages]
        asked = [path for path in paths if path is not None]
        seen = {path for path, is_known in zip(asked, parts.forgetter.marked(asked), strict=True)
                if is_known}  # fmt: skip
        fresh = [each for each, path in zip(messages, paths, strict=True) if path not in seen]
        if fresh:
            observe([
                {name: value for name, value in each.items() if name not in ("key", "namespace")}
                for each in fresh
            ])
            parts.forgetter.mark([path for path in asked if path not in seen])
        return ["known" if path in seen else "new" for path in paths]

    return store
