"""What every facet does: check that the store may be used, read one moment, name scopes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypedDict, TypeVar, Unpack

from spector.arguments import id_of, parse_tags
from spector.errors import InvalidInputError, UnknownRecordError
from spector.knowledge import Changes, KnowledgeReader, folded, items_made
from spector.layout import Flag
from spector.messages import items_of, no_attribute, refuse_unknown, with_hints, with_keywords
from spector.parts import Parts
from spector.process import managed, verb
from spector.records import ForgetReport, MemoryRecord
from spector.store.catalog import ANYBODY, Scope
from spector.store.payloads import moment_of
from spector.tiers import unknown
from spector.write import FIELDS, Change, Committed, Memories, Named, Prepared, UnpreparedError

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
#: an item of a facet
ItemT = TypeVar("ItemT")


class Owner(TypedDict, total=False):
    """Whose knowledge a verb is about; None restricts nothing."""

    user_id: str | None
    agent_id: str | None


class Guard(Owner, total=False):
    """The scope of a verb that names memories; one outside of it is unknown to the verb."""

    session_id: str | None


def owned(method: F) -> F:
    """A `verb` about the knowledge of an owner, with these keywords in its signature."""
    return verb(with_keywords(Owner)(method))


def guarded(method: F) -> F:
    """A `verb` that names memories by id, with the keywords of a guard in its signature."""
    return verb(with_keywords(Guard)(method))


class Facet:
    """A noun of a memory: reads in any mode, changes in ``mode="rw"``.

    ``user_id=None`` restricts nothing, as in a recall; results carry their scope, and nothing is
    joined across users.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        with_hints(cls)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            known = [each for each in dir(type(self)) if not each.startswith("_")]
            raise no_attribute(type(self).__name__, name, known)

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._calls = parts.calls

    @managed
    def _read(self) -> Iterator[KnowledgeReader]:
        """What the store knows, in one moment."""
        self._parts.access.ensure()
        store = self._parts.store
        store.view()  # a reading process follows the writer here
        with moment_of(store.catalog) as db:
            yield KnowledgeReader(db, store.catalog.path)

    def _may_write(self) -> None:
        self._parts.access.ensure(write=True)

    def _scope(self, user_id: Any = None, agent_id: Any = None, session_id: Any = None) -> Scope:
        return self._parts.listing.scope(user_id, agent_id, session_id)

    def _commit(
        self,
        decide: Callable[[KnowledgeReader, Changes, int], T],
        prepared: Sequence[Prepared] = (),
        *,
        is_known: bool = False,
        **how: Any,
    ) -> tuple[T, Committed]:
        """Commit what ``decide`` adds to a change set under the lock: its answer, what was made.

        Args:
            is_known: what would be prepared is in the store, unless it is forgotten meanwhile.
        """
        found: list[T] = []

        def decided(reader: KnowledgeReader, now_ms: int) -> Changes:
            changes = Changes()
            found[:] = [decide(reader, changes, now_ms)]
            return changes

        if is_known:
            with contextlib.suppress(UnpreparedError):
                return self._commit(decide, **how)
        done = self._parts.knowledge.commit(decided, prepared, **how)
        return found[0], done

    def _record(self, record_id: int, scope: Scope = ANYBODY) -> MemoryRecord:
        """A living record of a scope, or `UnknownRecordError`."""
        return self._parts.finder.get_within(record_id, scope)

    def _lasting(self, record_id: int, scope: Scope = ANYBODY) -> MemoryRecord:
        """A living record of the store on disk: what a row of knowledge may name."""
        record = self._record(record_id, scope)
        if self._parts.router[record.tier].volatile:
            raise InvalidInputError(
                f"memory {record.id} is of the {record.tier} tier, which the process forgets",
                hint="knowledge names lasting memories: remember it in another tier first",
            )
        return record

    def _living(self, ids: Iterable[int], scope: Scope = ANYBODY) -> dict[int, MemoryRecord]:
        """Those of the records that live in a scope, in the order of ``ids``."""
        out: dict[int, MemoryRecord] = {}
        for each in ids:
            with contextlib.suppress(UnknownRecordError):
                out[each] = self._record(each, scope)
        return out

    def _forget(self, memory: int, scope: Scope) -> ForgetReport:
        """Forget a memory of a scope that is not protected; what it was drawn from stays."""
        return self._parts.forgetting.forget(
            memory,
            {},
            scope.labels,
            purge=False,
            verify=False,
            include_protected=False,
            skip_protected=False,
        )

    def _typed(self, target: Any, sort: str, scope: Scope = ANYBODY) -> int:
        """The id of a living memory that has a payload of a sort."""
        record = self._record(id_of(target), scope)
        with self._read() as reader:
            sorts = reader.sorts([record.id]).get(record.id, set())
        if sort not in sorts:
            found = ", ".join(sorted(sorts)) or "a plain memory"
            raise InvalidInputError(
                f"memory {record.id} is no {sort}: {found}",
                hint=f"pass the id of a {sort}; spector inspect shows what an id is",
            )
        return record.id


def ids_of(targets: Any, argument: str) -> tuple[int, ...]:
    """Ids of one or several memories, hits or records, each once.

    Raises:
        InvalidInputError: Something else is among them.
    """
    if targets is None:
        return ()
    many = not isinstance(targets, (str, bytes)) and isinstance(targets, Iterable)
    ids = [id_of(each) for each in (items_of(targets, argument) if many else [targets])]
    for each in ids:
        if type(each) is not int or not 0 <= each < 1 << 63:
            raise InvalidInputError(
                f"{argument} must be ids, hits or records of memories, not {each!r:.60}",
                hint=f"write it like {argument}=record.id",
            )
    return tuple(dict.fromkeys(ids))


def one_id_of(target: Any, argument: str) -> int:
    """The id of one memory, hit or record.

    Raises:
        InvalidInputError: It is none of these, or names none or several memories.
    """
    ids = ids_of(target, argument)
    if len(ids) != 1:
        raise InvalidInputError(
            f"{argument} names {len(ids)} memories", hint=f"write it like {argument}=record.id"
        )
    return ids[0]


def drawn_from(records: Sequence[MemoryRecord], scope: Scope) -> dict[str, Any]:
    """Whose a memory is that is drawn from others, and how sure; without others the caller's."""
    owner = records[0] if records else scope
    sure = min((each.confidence for each in records), default=None)
    return {"user_id": owner.user_id, "agent_id": owner.agent_id, "confidence": sure}


# What facets of knowledge items share: triggers, evidence of one user, payloads under the lock.

#: what the facet says itself
_FIXED = frozenset(
    "tier category supersedes aliases key namespace expires_in expires_at refresh".split()
)
HIDDEN = Flag.SUPERSEDED | Flag.DORMANT | Flag.QUARANTINED


class ItemFacet(Facet, Generic[ItemT]):
    """A facet whose items are memories with a payload of one sort."""

    sort: str

    def _fields(self, given: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Fields of `remember` that a caller may give an item."""
        refuse_unknown(given, [each for each in FIELDS if each not in _FIXED], where)
        return {name: value for name, value in given.items() if value is not None}

    def _tags(self, tags: Any, name: str) -> tuple[str, ...]:
        """Tags of situations, each once whatever its case and accents."""
        found: dict[str, str] = {}
        for each in parse_tags(tags, self._parts.config):
            key = folded(each)
            if not key:
                raise InvalidInputError(f"{name} has {each!r:.60}", hint="name a situation")
            found.setdefault(key, each)
        return tuple(found.values())

    def _evidence(self, targets: Memories | None, scope: Scope, name: str) -> list[MemoryRecord]:
        """Lasting memories of one user."""
        records = [self._lasting(each, scope) for each in ids_of(targets, name)]
        if len({each.user_id for each in records}) > 1:
            raise InvalidInputError(
                f"{name} names memories of several users",
                hint="what is learned belongs to one user: add it once for each",
            )
        return records

    def _change(
        self,
        id: Named,
        plan: Callable[[dict[str, Any], int], Mapping[str, Any]],
        guard: Guard,
        strengthen: Change | None = None,
    ) -> ItemT:
        """Change the fields of an item that ``plan`` names, read in the moment of the commit."""
        self._may_write()
        scope = self._scope(**guard)
        memory = self._typed(id, self.sort, scope)

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> None:
            values = reader.payloads([memory], self.sort).get(memory)
            if values is None:
                raise InvalidInputError(
                    f"memory {memory} is no {self.sort}", hint="it was forgotten meanwhile"
                )
            if changed := plan(values, now_ms):
                changes.payload(memory, self.sort, {**values, **changed})

        strengthening = [] if strengthen is None else [(memory, strengthen)]
        self._commit(decide, strengthen=strengthening, scope=scope, named=[memory])
        return self._get(memory, scope)

    def _get(self, memory: int, scope: Scope = ANYBODY) -> ItemT:
        """An item, unless it was forgotten meanwhile."""
        for made in self._items([self._record(memory, scope)]):
            return made
        raise unknown(memory)

    def _items(self, records: Iterable[MemoryRecord]) -> list[ItemT]:
        """The items of memories that are there still."""
        known = list(records)
        with self._read() as reader:
            payloads = reader.payloads([each.id for each in known], self.sort)
        return self._made((each, payloads[each.id]) for each in known if each.id in payloads)

    def _made(self, found: Iterable[tuple[MemoryRecord, dict[str, Any]]]) -> list[ItemT]:
        with self._read() as reader:
            return items_made(reader, self.sort, found)

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
            if not record.flags & HIDDEN
        ]

    def _every(self, scope: Scope) -> list[tuple[MemoryRecord, dict[str, Any]]]:
        """All living items of a scope, oldest first."""
        with self._read() as reader:
            payloads = reader.all_payloads(self.sort)
        living = self._living(sorted(payloads), scope)
        return [(record, payloads[each]) for each, record in living.items()]


class TriggeredFacet(ItemFacet[ItemT]):
    """A facet whose items are found by tags of situations."""

    @guarded
    def get(self, id: Named, **guard: Unpack[Guard]) -> ItemT:
        """An item by its id or record.

        Raises:
            UnknownRecordError: There is none. InvalidInputError: The memory is of another sort.
        """
        scope = self._scope(**guard)
        return self._get(self._typed(id, self.sort, scope), scope)

    def _all(self, field: str, wanted: Any, scope: Scope) -> list[ItemT]:
        """The items of a scope with this value of a field, or all, oldest first."""
        return self._made(each for each in self._every(scope) if wanted in (None, each[1][field]))
