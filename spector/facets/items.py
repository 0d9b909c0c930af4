"""What facets of knowledge items share: triggers, evidence of one user, payloads under the lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from spector.arguments import parse_tags
from spector.errors import InvalidInputError
from spector.facets.base import Facet, ids_of
from spector.knowledge import Changes, KnowledgeReader, folded
from spector.layout import Flag
from spector.messages import refuse_unknown
from spector.records import MemoryRecord
from spector.store.catalog import ANYBODY, Scope
from spector.tiers import unknown
from spector.write import FIELDS, Memories

__all__ = ["ItemFacet"]

#: what the facet says itself
_FIXED = frozenset(
    {
        "tier",
        "category",
        "supersedes",
        "aliases",
        "key",
        "namespace",
        "expires_in",
        "expires_at",
        "refresh",
    }
)
_HIDDEN = Flag.SUPERSEDED | Flag.DORMANT | Flag.QUARANTINED


class ItemFacet(Facet):
    """A facet whose items are memories with a payload of one sort."""

    sort: str

    def _fields(self, given: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Fields of `remember` that a caller may give an item."""
        refuse_unknown(given, [each for each in FIELDS if each not in _FIXED], where)
        return {name: value for name, value in given.items() if value is not None}

    def _tags(self, tags: Any, name: str) -> tuple[str, ...]:
        """Tags of situations, each once whatever its case and accents.

        Raises:
            InvalidTagError: They are none. InvalidInputError: One has no letter or digit.
        """
        found: dict[str, str] = {}
        for each in parse_tags(tags, self._parts.config):
            key = folded(each)
            if not key:
                raise InvalidInputError(f"{name} has {each!r:.60}", hint="name a situation")
            found.setdefault(key, each)
        return tuple(found.values())

    def _evidence(self, targets: Memories | None, scope: Scope, name: str) -> list[MemoryRecord]:
        """Lasting memories of one user.

        Raises:
            InvalidInputError: They are of several users. UnknownRecordError: One does not exist.
        """
        records = [self._lasting(each, scope) for each in ids_of(targets, name)]
        if len({each.user_id for each in records}) > 1:
            raise InvalidInputError(
                f"{name} names memories of several users",
                hint="what is learned belongs to one user: add it once for each",
            )
        return records

    def _change(
        self,
        memory: int,
        plan: Callable[[dict[str, Any], int], Changes],
        strengthen: Iterable[tuple[int, Any]] = (),
        scope: Scope = ANYBODY,
    ) -> None:
        """Change the payload of an item, read in the moment of the commit."""

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            values = reader.payloads([memory], self.sort).get(memory)
            if values is None:
                raise InvalidInputError(
                    f"memory {memory} is no {self.sort}", hint="it was forgotten meanwhile"
                )
            return plan(values, now_ms)

        self._parts.knowledge.commit(
            decide, strengthen=list(strengthen), scope=scope, named=[memory]
        )

    def _payload(self, memory: int) -> dict[str, Any]:
        """The fields of an item.

        Raises:
            UnknownRecordError: It was forgotten meanwhile.
        """
        with self._read() as reader:
            values = reader.payloads([memory], self.sort).get(memory)
        if values is None:
            raise unknown(memory)
        return values

    def _triggered(
        self, tags: Iterable[str], scope: Scope
    ) -> list[tuple[MemoryRecord, dict[str, Any], int]]:
        """Living items that have one of these tags: record, payload, tags in common."""
        wanted = list(map(folded, tags))
        if not wanted:
            return []
        with self._read() as reader:
            common: dict[int, int] = {}
            for row in reader.named(wanted, ("trigger",), scope.user_id):
                common[row["id"]] = common.get(row["id"], 0) + 1
            payloads = reader.payloads(common, self.sort)
        return [
            (record, payloads[each], common[each])
            for each, record in self._living(payloads, scope).items()
            if not record.flags & _HIDDEN
        ]

    def _every(self, scope: Scope) -> list[tuple[MemoryRecord, dict[str, Any]]]:
        """All living items of a scope, oldest first."""
        with self._read() as reader:
            payloads = reader.all_payloads(self.sort)
        living = self._living(sorted(payloads), scope)
        return [(record, payloads[each]) for each, record in living.items()]

    def _triggers(self, records: Iterable[MemoryRecord]) -> dict[int, tuple[str, ...]]:
        """The tags by which items are found, as they were spelled."""
        known = {each.id: each for each in records}
        with self._read() as reader:
            names = reader.names_of(known)
        out: dict[int, tuple[str, ...]] = {}
        for each, rows in names.items():
            left = {row["folded"] for row in rows if row["sort"] == "trigger"}
            spelled = [tag for tag in known[each].tags if folded(tag) in left]
            left -= set(map(folded, spelled))  # tags of the record may have been changed
            out[each] = (*dict.fromkeys(spelled), *sorted(left))
        return out
