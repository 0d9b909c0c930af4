"""What an import changes: rows for the memories that a batch stores, and for the lines beside them.

A fact, a concept or a statistic that the store has already is not stored twice: its line stands
for the one that is there, which gains the sources and references of the line. A tie to a memory
of a later line waits for it. Nothing is tied across users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.knowledge.changes import Changes, New
from spector.knowledge.concepts import concepts_named, property_name
from spector.knowledge.entities import ENTITY_NAMES, plan_alias, plan_merge
from spector.knowledge.graph import Registry
from spector.knowledge.parsing import Knowledge, Tie
from spector.knowledge.procedures import put_triggers
from spector.knowledge.reader import KnowledgeReader
from spector.knowledge.writing import ITEM_KEY, Apply, Place, meet, put_tie, tie_known
from spector.language.words import concept_key, entity_uri, folded
from spector.records import RelationKind
from spector.store.payloads import compact_json, encode

#: what two associations have in common that are one
_SAID: Final = ("cue", "outcome", "tool", "about")


class MetError(Exception):
    """A memory that was to be stored is in the store by now: it came between two looks."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A line whose memory has its id."""

    knowledge: Knowledge | None
    #: its id in the file
    given_id: int | None
    place: Place


class Arrivals:
    """Which memories and entities the lines of one file have become, so far."""

    def __init__(self) -> None:
        self._places: dict[int, Place] = {}
        #: (user in the file, name, type) -> user -> entity
        self._entities: dict[tuple[str, str, str], dict[str, int]] = {}
        #: entities that this import has made
        self._made: set[int] = set()
        #: id in the file that no line has had yet -> (place, tie)
        self._waiting: dict[int, list[tuple[Place, Tie]]] = {}

    def id_of(self, given: int) -> int | None:
        """The id that a memory of the file has got."""
        place = self._places.get(given)
        return None if place is None else place.id

    def note(self, given: int | None, place: Place) -> None:
        """A memory of the file has got its place, and nothing is tied to it."""
        if given is not None:
            self._places[given] = place

    def expects(self, given: Sequence[int | None], says_more: bool) -> bool:
        """Whether lines bring knowledge: they say it, or a tie waits for their memories."""
        return says_more or not self._waiting.keys().isdisjoint(given)

    # -- what is there already ----------------------------------------------------------------

    def known(
        self, reader: KnowledgeReader, lines: Sequence[tuple[Knowledge | None, int | None, str]]
    ) -> dict[int, int]:
        """Number of a line -> the memory of the store that is what it says.

        Args:
            lines: what each says, its id in the file, its user in the store.
        """
        out: dict[int, int] = {}
        here: dict[int, int] = {}
        for n, (knowledge, given_id, scope) in enumerate(lines):
            identity = None if knowledge is None else knowledge.identity(scope)
            if identity is None:
                continue
            found = self._same(reader, identity, here)
            if found is not None:
                out[n] = found
                if given_id is not None:
                    here[given_id] = found
        return out

    def _same(
        self, reader: KnowledgeReader, identity: tuple[Any, ...], here: Mapping[int, int]
    ) -> int | None:
        if identity[0] == "fact":
            rows = reader.facts(scope=identity[1], fact_key=identity[2], holds=1)
            return rows[0]["id"] if rows else None
        if identity[0] == "concept":
            scope, key, category = identity[1:]
            found = concepts_named(reader, key, category=category, scope=scope)
            return found[0] if found else None
        concept = here.get(identity[1], self.id_of(identity[1]))
        if concept is None:
            return None
        edges = reader.edges([concept], direction="in", kinds=["quantifies"])
        payloads = reader.payloads([edge.source for edge in edges], "statistic")
        return next(
            (
                each
                for each, values in sorted(payloads.items())
                if values["code"] == identity[2] and values["concept_id"] == concept
            ),
            None,
        )

    # -- memories -----------------------------------------------------------------------------

    def plan(
        self, reader: KnowledgeReader, arrived: Sequence[Arrival], apply: Apply, now_ms: int
    ) -> None:
        """Apply what lines say of memories that have just been stored, or were there before.

        Raises:
            MetError: A fact that was to be stored holds already.
            UnknownRelationError: An edge is of a kind that no line before has registered.
        """
        self._refuse_met(reader, arrived)
        for each in arrived:
            self.note(each.given_id, each.place)
        changes = Changes()
        for each in arrived:
            if each.knowledge is not None and not each.place.is_known:
                self._put_payloads(changes, each.knowledge, each.place, now_ms)
        mentions = self._put_mentions(reader, changes, arrived)
        registry, known = Registry(reader.kinds()), []
        for place, tie in self._ready(arrived):
            other = self._places[tie.target]
            if other.given_scope != place.given_scope:
                raise ImportFormatError(
                    f"{tie.where}: memory {tie.target} belongs to another user",
                    hint="nothing ties memories of two users: take the tie out",
                )
            if other.scope != place.scope or other.id == place.id or not other.is_lasting:
                continue  # of another user by now, one memory by now, or of a volatile tier
            if place.is_known:
                known.append((place, tie, other))
            else:
                put_tie(changes, registry, place, tie, other, now_ms)
        if changes:
            self._note_entities(mentions, apply(changes))
        for each in arrived:
            if each.knowledge is not None and each.place.is_known:
                meet(reader, each.knowledge, each.place, apply)
        for place, tie, other in known:
            tie_known(reader, registry, place, tie, other, apply, now_ms)

    def _refuse_met(self, reader: KnowledgeReader, arrived: Sequence[Arrival]) -> None:
        for each in arrived:
            if each.knowledge is None or each.place.is_known:
                continue
            identity = each.knowledge.identity(each.place.scope)
            if identity is not None and self._same(reader, identity, {}) is not None:
                raise MetError

    def _put_payloads(
        self, changes: Changes, knowledge: Knowledge, place: Place, now_ms: int
    ) -> None:
        """The rows that a memory owns alone."""
        for sort, values in knowledge.payloads.items():
            fields = dict(values)
            for name in ("concept_id", "nearest_id"):
                if fields.get(name) is not None:
                    other = self._places.get(fields[name])
                    fields[name] = None if other is None or other.scope != place.scope else other.id
            changes.put("payload", id=place.id, sort=sort, json=encode(sort, fields))
        if knowledge.fact is not None:
            row = dict(knowledge.fact)
            if row["verified_ms"] is None:
                row["verified_ms"] = now_ms
            changes.put("fact", id=place.id, scope=place.scope, **row)
        put_triggers(changes, place.scope, place.id, knowledge.triggers)
        if "concept" in knowledge.payloads:
            values = knowledge.payloads["concept"]
            names = [("concept", each) for each in (concept_key(values["name"]), *knowledge.names)]
            names.append(("category", folded(values["category"])))
            names += [("property", property_name(*pair)) for pair in values["properties"].items()]
            for sort, each in dict.fromkeys(names):
                changes.put("name", scope=place.scope, sort=sort, folded=each, id=place.id)

    def _ready(self, arrived: Sequence[Arrival]) -> Iterable[tuple[Place, Tie]]:
        """Ties of these lines, and of lines before them, whose other end is there by now."""
        for each in arrived:
            if each.given_id is not None:
                yield from self._waiting.pop(each.given_id, ())
            for tie in each.knowledge.ties if each.knowledge is not None else ():
                if tie.target in self._places:
                    yield each.place, tie
                else:
                    self._waiting.setdefault(tie.target, []).append((each.place, tie))

    # -- entities -----------------------------------------------------------------------------

    def _put_mentions(
        self, reader: KnowledgeReader, changes: Changes, arrived: Sequence[Arrival]
    ) -> dict[tuple[str, str, str], dict[str, int | New]]:
        """Tie memories to what they mention; returns which entities these are."""
        wanted: dict[str, set[str]] = {}
        for each in arrived:
            for name, _, _ in each.knowledge.mentions if each.knowledge is not None else ():
                wanted.setdefault(each.place.scope, set()).add(folded(name))
        known: dict[tuple[str, str], list[int | New]] = {}
        uris: dict[int | New, str] = {}
        for scope, names in wanted.items():
            rows = reader.named(sorted(names), ENTITY_NAMES, scope)
            items = reader.items({row["id"] for row in rows})
            for row in rows:
                known.setdefault((scope, row["folded"]), []).append(row["id"])
                uris[row["id"]] = items[row["id"]]["json"].get("uri", "")
        out: dict[tuple[str, str, str], dict[str, int | New]] = {}
        counts: dict[tuple[int | New, int], int] = {}
        for each in arrived:
            scope = each.place.scope
            for name, kind, count in each.knowledge.mentions if each.knowledge is not None else ():
                candidates = known.setdefault((scope, folded(name)), [])
                item = self._choose(candidates, uris, entity_uri(name, kind))
                if item is None:
                    item = changes.new_item()
                    candidates.append(item)
                    uris[item] = entity_uri(name, kind)
                    _put_entity(changes, item, scope, name, kind)
                out.setdefault((each.place.given_scope, name, kind), {})[scope] = item
                key = item, each.place.id
                counts[key] = counts.get(key, 0) + count
        for (item, memory), count in counts.items():
            changes.put("link", a=item, kind="mention", b=memory, n=count, t_ms=None)
        return out

    def _choose(
        self, candidates: Sequence[int | New], uris: Mapping[int | New, str], uri: str
    ) -> int | New | None:
        """The entity of a name: of the same type, or one that was there before this import.

        Two of one name that the file has apart stay apart.
        """
        for each in candidates:
            if uris[each] == uri:
                return each
        for each in candidates:
            if not isinstance(each, New) and each not in self._made:
                return each
        return None

    def _note_entities(
        self, found: Mapping[tuple[str, str, str], Mapping[str, int | New]], items: Sequence[int]
    ) -> None:
        self._made.update(items)
        for who, by_scope in found.items():
            self._entities.setdefault(who, {}).update(
                (scope, items[item.n] if isinstance(item, New) else item)
                for scope, item in by_scope.items()
            )

    def _entities_of(
        self, reader: KnowledgeReader, scope: str, who: tuple[str, str]
    ) -> dict[str, int]:
        """User -> the entity that a line means; none when no memory mentions it."""
        found = self._entities.get((scope, *who))
        if found:
            return found
        rows = reader.named(folded(who[0]), ENTITY_NAMES, scope)
        return {scope: rows[0]["id"]} if rows else {}

    # -- lines beside memories ----------------------------------------------------------------

    def plan_item(self, reader: KnowledgeReader, line: Mapping[str, Any], apply: Apply) -> None:
        """Apply a line that is no memory.

        Raises:
            InvalidInputError: It contradicts what the store has.
        """
        changes = Changes()
        {
            "kind": self._kind,
            "predicate": self._predicate,
            "pair": self._pair,
            "association": self._association,
            "alias": self._alias,
            "merge": self._merge,
        }[line[ITEM_KEY]](reader, changes, line)
        if changes:
            apply(changes)

    def _kind(self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]) -> None:
        registry = Registry(reader.kinds())
        is_new = line["name"] not in registry
        kind = registry.add(
            RelationKind(
                **{
                    name: line[name]
                    for name in ("name", "symmetric", "inverse", "prunable", "priority", "origin")
                }
            )
        )
        if is_new:
            _put_item(changes, "relation_kind", "", kind.to_dict())

    def _predicate(
        self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]
    ) -> None:
        known = {row["json"]["name"] for row in reader.items_of("predicate").values()}
        if line["said"]["name"] not in known:
            _put_item(changes, "predicate", "", line["said"])

    def _pair(self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]) -> None:
        both = [
            each
            for each in map(self._places.get, line["ids"])
            if each is not None and each.is_lasting
        ]
        ids = sorted({each.id for each in both})
        if len(ids) < 2 or len({each.scope for each in both}) > 1:
            return  # one is not part of this import, or they are of two users, or one memory
        known = [row for row in reader.links("pair", a=ids[:1]) if row["b"] == ids[1]]
        count = line["count"] + sum(row["n"] or 0 for row in known)
        times = [each for each in (line["at"], *(row["t_ms"] for row in known)) if each is not None]
        changes.put("link", a=ids[0], kind="pair", b=ids[1], n=count, t_ms=max(times, default=None))

    def _association(
        self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]
    ) -> None:
        by_scope: dict[str, list[tuple[Place, Mapping[str, Any]]]] = {}
        for each in line["evidence"]:
            place = self._places.get(each["id"])
            if place is not None and place.is_lasting:
                by_scope.setdefault(place.scope, []).append((place, each))
        for scope, evidence in by_scope.items():
            about = dict(line["json"])
            item: int | New | None = None
            for known, row in reader.items_of("association", scope).items():
                had = row["json"]
                if all(had.get(each) == about[each] for each in _SAID):
                    item, about = known, _joined(had, about)
            if item is None:
                item = changes.new_item()
            text = compact_json(about)
            changes.put("item", item_id=item, sort="association", scope=scope, json=text)
            for place, each in evidence:
                changes.put(
                    "link",
                    a=item,
                    kind="evidence",
                    b=place.id,
                    n=int(each["success"]),
                    t_ms=each["at"],
                )

    def _alias(self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]) -> None:
        found = self._entities_of(reader, line["scope"], line["of"])
        for scope, item in found.items():
            if not reader.named(folded(line["name"]), ENTITY_NAMES, scope):
                plan_alias(reader, changes, scope, line["name"], item)

    def _merge(self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]) -> None:
        kept = self._entities_of(reader, line["scope"], line["kept"])
        gone = self._entities_of(reader, line["scope"], line["gone"])
        for scope in sorted(set(kept) & set(gone)):
            one, other = kept[scope], gone[scope]
            if one == other:
                continue
            plan_merge(reader, changes, one, other)
            for by_scope in self._entities.values():
                if by_scope.get(scope) == other:
                    by_scope[scope] = one


def _put_item(changes: Changes, sort: str, scope: str, about: Mapping[str, Any]) -> None:
    item = changes.new_item()
    changes.put("item", item_id=item, sort=sort, scope=scope, json=compact_json(dict(about)))


def _put_entity(changes: Changes, item: New, scope: str, name: str, kind: str) -> None:
    about = {"uri": entity_uri(name, kind), "name": name, "type": kind}
    changes.put("item", item_id=item, sort="entity", scope=scope, json=compact_json(about))
    changes.put("name", scope=scope, sort="entity", folded=folded(name), id=item)


def _joined(had: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """One association of two: observations add up, the strength is their mean by observations."""
    counts = int(had.get("observations", 0)), int(given["observations"])
    total = sum(counts)
    strength = float(had.get("strength", 0.0)) * counts[0] + given["strength"] * counts[1]
    return {
        **had,
        "observations": total,
        "strength": min(1.0, strength / total) if total else given["strength"],
    }
