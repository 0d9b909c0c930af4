"""``memory.entities``: persons, organisations, places and things, and what mentions them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from typing import Any, Final, Unpack

from spector.arguments import id_of, parse_integer
from spector.clock import from_ms
from spector.errors import InvalidInputError, UnknownRecordError
from spector.facets.base import Facet, Guard, Owner, guarded, owned
from spector.knowledge import (
    ENTITY_NAMES,
    Changes,
    KnowledgeReader,
    New,
    checked_part,
    folded,
    plan_alias,
    plan_merge,
    plan_split,
    spellings,
)
from spector.records import Entity, MemoryRecord
from spector.store.catalog import Scope

#: letters of a name that may stand for a longer one
_LEAST_NICKNAME: Final = 3
#: behind every letter, and every id
_LAST_LETTER: Final = "\U0010ffff"
_LAST_ID: Final = 1 << 63


class Entities(Facet):
    """Entities live as long as a memory mentions them; each belongs to one user.

    ``user`` and ``agent`` are the first and the second person of what a user says.
    """

    @owned
    def find(self, name: str, *, limit: int = 10, **owner: Unpack[Owner]) -> list[Entity]:
        """Entities of this name or alias, then those whose names have words that begin so.

        Within both groups the most mentioned comes first. Case and accents make no difference.
        """
        wanted = folded(checked_part(name, "name"))
        most = parse_integer(limit, "limit", low=1)
        scope = self._scope(**owner)
        with self._read() as reader:
            rows = reader.named(wanted, ENTITY_NAMES, scope.user_id)
            exact = {row["id"] for row in rows}
            if len(exact) < most:
                rows = list(reader.all_names(ENTITY_NAMES, scope.user_id))
            near = {row["id"] for row in rows if f" {row['folded']}".count(f" {wanted}")} - exact
            found = self._made(reader, exact | near, scope)
        found.sort(key=lambda each: (each.id not in exact, -each.mentions, each.id))
        return found[:most]

    @owned
    def all(self, *, limit: int | None = None, **owner: Unpack[Owner]) -> list[Entity]:
        """Every entity that memories of the scope mention, the most mentioned first."""
        most = None if limit is None else parse_integer(limit, "limit", low=1)
        scope = self._scope(**owner)
        with self._read() as reader:
            found = self._made(reader, reader.items_of("entity", scope.user_id), scope)
        return sorted(found, key=lambda each: (-each.mentions, each.id))[:most]

    @owned
    def alike(self, **owner: Unpack[Owner]) -> list[tuple[Entity, Entity]]:
        """Persons who may be one: (Mel, Melanie). Nothing is merged; ``merge(b, a)`` does it.

        A name of three letters or more begins the first name of exactly one other person, and no
        memory mentions both: then they are two.
        """
        scope = self._scope(**owner)
        with self._read() as reader:
            found = self._made(reader, reader.items_of("entity", scope.user_id), scope)
            found = [each for each in found if each.type == "person"]
            mentions: dict[int, set[int]] = {}
            for row in reader.links("mention", a=[each.id for each in found]):
                mentions.setdefault(row["a"], set()).add(row["b"])
        firsts = sorted(
            (each.user_id or "", folded(each.name).split(" ")[0], each.id) for each in found
        )
        known, out = {each.id: each for each in found}, []
        for short in found:
            own, user = folded(short.name), short.user_id or ""
            low = bisect_right(firsts, (user, own, _LAST_ID))
            longer = firsts[low : bisect_left(firsts, (user, own + _LAST_LETTER, 0))][:2]
            if len(own) < _LEAST_NICKNAME or len(longer) != 1:
                continue
            other = longer[0][2]
            if not mentions[short.id] & mentions[other]:
                out.append((short, known[other]))
        return sorted(out, key=lambda pair: (-pair[0].mentions, pair[0].id))

    @owned
    def profile(self, name: str, *, limit: int = 15, **owner: Unpack[Owner]) -> list[MemoryRecord]:
        """The memories that mention an entity of this name or alias, the most useful first.

        Of equal utility the newer comes first.
        """
        wanted = folded(checked_part(name, "name"))
        most = parse_integer(limit, "limit", low=1)
        scope = self._scope(**owner)
        with self._read() as reader:
            ids = [row["id"] for row in reader.named(wanted, ENTITY_NAMES, scope.user_id)]
            links = reader.links("mention", a=ids)
        found = list(self._living(dict.fromkeys(row["b"] for row in links), scope).values())
        found.sort(key=lambda each: (-each.utility, -each.event_ms, -each.id))
        return found[:most]

    @guarded
    def of(self, memory_id: Any, **guard: Unpack[Guard]) -> list[Entity]:
        """The entities that a memory mentions, in the order in which they became known.

        Raises:
            UnknownRecordError: There is no such memory.
        """
        scope = self._scope(**guard)
        record = self._record(id_of(memory_id), scope)
        with self._read() as reader:
            ids = {row["a"] for row in reader.links("mention", b=[record.id])}
            found = self._made(reader, ids, scope)
        return sorted(found, key=lambda each: each.id)

    @guarded
    def alias(self, name: str, of: Any, **guard: Unpack[Guard]) -> Entity:
        """Give an entity a further name; texts that have it mention the entity from now on.

        Args:
            name: The further name.
            of: The entity, its id, its URI or its name.
            user_id, agent_id, session_id: A guard: memories of this scope mention the entity.

        Raises:
            InvalidInputError: The name leads to another entity already, or ``of`` to several.
            UnknownRecordError: There is no such entity.
        """
        self._may_write()
        text, scope = checked_part(name, "name"), self._scope(**guard)

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> int:
            found = self._one(reader, of, "of", scope)
            owner = reader.items([found])[found]["scope"]
            taken = reader.named(folded(text), ENTITY_NAMES, owner)
            if any(row["id"] != found for row in taken):
                raise InvalidInputError(
                    f"name {text!r:.60} is that of another entity",
                    hint="entities.merge(of, name) makes one of both",
                )
            if not taken:
                plan_alias(reader, changes, owner, text, found)
            return found

        found, _ = self._commit(decide)
        return self._get(found, scope)

    @guarded
    def merge(self, a: Any, b: Any, **guard: Unpack[Guard]) -> Entity:
        """Make one entity of two: ``a`` stays, with the names and mentions of both.

        `split` undoes it.

        Args:
            a, b: Entities, their ids, URIs or names.
            user_id, agent_id, session_id: A guard: memories of this scope mention both.

        Raises:
            InvalidInputError: Both are one entity, or belong to different users.
            UnknownRecordError: There is no such entity.
        """
        self._may_write()
        scope = self._scope(**guard)

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> int:
            kept, gone = self._one(reader, a, "a", scope), self._one(reader, b, "b", scope)
            items = reader.items([kept, gone])
            if kept == gone:
                raise InvalidInputError(
                    f"a and b are one entity: {items[gone]['json']['name']!r:.60}",
                    hint="entities.split(a) undoes a merge",
                )
            if items[kept]["scope"] != items[gone]["scope"]:
                raise InvalidInputError(
                    "a and b belong to different users", hint="merge entities of one user"
                )
            plan_merge(reader, changes, kept, gone)
            return kept

        kept, _ = self._commit(decide)
        return self._get(kept, scope)

    @guarded
    def split(self, entity: Any, **guard: Unpack[Guard]) -> Entity:
        """Undo the last merge into an entity; returns the one that was merged, made anew.

        Raises:
            InvalidInputError: Nothing was merged into it.
            UnknownRecordError: There is no such entity, or no memory mentions the other one
                any more.
        """
        self._may_write()
        scope = self._scope(**guard)

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> New:
            item = self._one(reader, entity, "entity", scope)
            about = reader.items([item])[item]["json"]
            if not about.get("merged"):
                raise InvalidInputError(
                    f"entity {about['name']!r:.60} was made of no merge",
                    hint="entities.merge(a, b) makes one entity of two",
                )
            present = {row["b"] for row in reader.links("mention", a=[item])}
            if not present & {each[0] for each in about["merged"][-1]["mentions"]}:
                raise UnknownRecordError(
                    f"no memory mentions {about['merged'][-1]['item']['name']!r:.60} any more",
                    hint="an entity lives as long as a memory mentions it",
                )
            return plan_split(reader, changes, item)

        made, done = self._commit(decide)
        return self._get(done.id_of(made), scope)

    def _one(self, reader: KnowledgeReader, target: Any, argument: str, scope: Scope) -> int:
        """The id of the one entity of a scope that an argument names."""
        if isinstance(target, str) and target.startswith("entity://"):
            ids = {
                item
                for item, row in reader.items_of("entity", scope.user_id).items()
                if row["json"]["uri"] == target
            }
        elif isinstance(target, str):
            wanted = folded(checked_part(target, argument))
            ids = {row["id"] for row in reader.named(wanted, ENTITY_NAMES, scope.user_id)}
        else:
            each = target.id if isinstance(target, Entity) else target
            if type(each) is not int or not 0 <= each < 1 << 63:
                raise InvalidInputError(
                    f"{argument} must be an entity, its id, its URI or its name,"
                    f" not {target!r:.60}",
                    hint="entities.find(name) lists entities",
                )
            ids = {
                item
                for item, row in reader.items([each]).items()
                if row["sort"] == "entity" and scope.user_id in (None, row["scope"])
            }
        if not scope.is_open:
            ids = {found.id for found in self._made(reader, ids, scope)}
        if not ids:
            raise UnknownRecordError(
                f"there is no entity {target!r:.60}", hint="entities.find(name) lists entities"
            )
        if len(ids) > 1:
            raise InvalidInputError(
                f"{argument} {target!r:.60} names {len(ids)} entities",
                hint="pass the id of one, or user_id=",
            )
        return ids.pop()

    def _get(self, entity: int, scope: Scope) -> Entity:
        with self._read() as reader:
            found = self._made(reader, [entity], scope)
        if not found:
            raise UnknownRecordError(
                f"there is no entity with id {entity}",
                hint="an entity lives as long as a memory mentions it",
            )
        return found[0]

    def _made(
        self, reader: KnowledgeReader, ids: Collection[int] | Iterable[int], scope: Scope
    ) -> list[Entity]:
        """Entities that a memory of the scope mentions, by ascending id."""
        items = reader.items(sorted(ids))
        mentions: dict[int, list[int]] = {}
        for row in reader.links("mention", a=list(items)):
            mentions.setdefault(row["a"], []).append(row["b"])
        rows = self._parts.store.catalog.fetch(
            sorted({b for each in mentions.values() for b in each})
        )
        names = reader.names_of(list(items))
        out = []
        for item, row in sorted(items.items()):
            about, spelled = row["json"], spellings(row["json"])
            own = folded(about["name"])
            times = [
                rows[b].event_ms
                for b in mentions.get(item, ())
                if b in rows and scope.holds(rows[b])
            ]
            if row["sort"] != "entity" or not times:
                continue
            out.append(
                Entity(
                    id=item,
                    uri=about["uri"],
                    name=about["name"],
                    type=about["type"],
                    mentions=len(times),
                    last_seen=from_ms(max(times)),
                    user_id=row["scope"] or None,
                    aliases=tuple(
                        spelled.get(each, each)
                        for each in sorted({row["folded"] for row in names.get(item, ())} - {own})
                    ),
                )
            )
        return out
