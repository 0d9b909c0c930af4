"""What a use of memories changes: themselves, what is tied to them, and how often they go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from spector.knowledge import Changes, KnowledgeReader
from spector.knowledge.association import GAIN, kin_of, plan_pairs
from spector.layout import Flag
from spector.records import MemoryRecord
from spector.store.catalog import ANYBODY, Scope
from spector.write.changing import Changer
from spector.write.context import WriteContext
from spector.write.knowledge.commit import KnowledgeWriter

__all__ = ["UseRecorder"]

#: what does not live: it neither fades nor grows
_AT_REST: Final = int(Flag.DORMANT | Flag.SUPERSEDED | Flag.QUARANTINED)


class UseRecorder:
    """Notes the uses of memories. Callers check that the store is open and writable."""

    def __init__(self, parts: WriteContext, changer: Changer, knowledge: KnowledgeWriter) -> None:
        self._parts = parts
        self._changer = changer
        self._knowledge = knowledge

    def note_use(
        self, ids: Sequence[int], scope: Scope = ANYBODY, *, associate: bool = False
    ) -> None:
        """Count that memories were recalled together, the best first.

        Each gains an access, now, and 2 % of stability. Where the store holds knowledge, or
        ``associate`` asks for it, each pair of the best ten counts once more, and at most twenty
        living neighbours gain 2 % of stability, once. Nothing crosses users or leaves the scope.
        """
        with self._parts.exclusive():
            self._changer.note_use(ids, scope)
            store = self._parts.router.durable_store()
            rows = store.catalog.fetch(ids)
            users = {
                each: rows[each].user_id for each in ids if each in rows and scope.holds(rows[each])
            }
            with store.catalog.latest() as db:
                reader = KnowledgeReader(db, store.catalog.path)
                if not users or not (associate or reader.holds_any):
                    return
                kin = kin_of(reader, list(users), self._parts.config.association)
            living = store.catalog.fetch(kin)
            owners = set(users.values())
            near = [
                each
                for each in kin
                if each in living and scope.holds(living[each]) and living[each].user_id in owners
            ]

            def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
                changes = Changes()
                plan_pairs(reader, changes, users, now_ms)
                return changes

            self._knowledge.commit(decide, strengthen=[(each, self._grow) for each in near])

    def _grow(self, header: Any, _: MemoryRecord) -> bool:
        """The stability of a living neighbour, 2 % greater."""
        if int(header["flags"]) & _AT_REST:
            return False
        grown = float(header["stability_days"]) * GAIN
        header["stability_days"] = min(grown, self._parts.config.max_stability_days)
        return True
