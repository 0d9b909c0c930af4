"""``memory.concepts``: what several memories have in common, and which memories these are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from spector.arguments import check_text, parse_choice, parse_integer, parse_number
from spector.errors import InvalidInputError, InvalidVectorError, UnknownRecordError
from spector.facets.base import HIDDEN, Guard, ItemFacet, Owner, guarded, ids_of, one_id_of, owned
from spector.facets.grounding import Grounding, concept_context
from spector.knowledge import (
    PROVENANCES,
    Changes,
    KnowledgeReader,
    checked_pair,
    checked_part,
    checked_properties,
    concept_key,
    concept_text,
    concepts_named,
    concepts_with,
    folded,
    layer_name,
    plan_concept,
    plan_concept_met,
    plan_reference,
    plan_reinforcement,
    plan_without_reference,
)
from spector.layout import Category
from spector.process import verb
from spector.providers import PromotionSource, embedded
from spector.records import Concept, Percept, Statistic
from spector.store.catalog import Scope
from spector.write import SAME_CONCEPT, Change, Memories, Named, Prepared, codes_of, cosines

#: categories of concepts that are patterns; others are things
_PATTERNS = frozenset({"causal_pattern", "operational_pattern"})


class Concepts(ItemFacet[Concept]):
    """Things, persons, actions and patterns; each is a memory with references to others."""

    sort = "concept"

    @owned
    def find_or_create(
        self,
        name: str,
        category: str = "object",
        *,
        definition: str = "",
        properties: Mapping[str, Any] | None = None,
        provenance: str = "episodic_consolidation",
        **owner: Unpack[Owner],
    ) -> tuple[Concept, bool]:
        """The concept of a name and category, and whether it was made now.

        Names that differ by case, accents or separators are one; so are concepts of a category
        whose words are alike by 0.92. Properties that are new are noted; another provenance makes
        a concept ``hybrid``.

        Raises:
            InvalidInputError: The name is empty, or properties are no JSON.
        """
        scope = self._scope(**owner)
        self._may_write()
        name, category = checked_part(name, "name"), folded(checked_part(category, "category"))
        if not concept_key(name):
            raise InvalidInputError(f"name is {name!r:.60}", hint="name it with a letter or digit")
        meaning = "" if not definition else check_text(definition, self._parts.config).strip()
        given = checked_properties(properties)
        origin = parse_choice(provenance, "provenance", *PROVENANCES)
        user, text = scope.user_id or "", concept_text(name, meaning)
        alike = self._same(name, category, text, user)

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> int | None:
            found = concepts_named(reader, name, category=category, scope=user)
            known = next(iter(found), alike)
            if known is None or not reader.payloads([known], self.sort):
                plan_concept(changes, name, category, meaning, given, origin, user)
                return None
            plan_concept_met(reader, changes, known, name, given, origin, user)
            return known

        kind = Category.PATTERN if category in _PATTERNS else Category.ENTITY
        fields = {
            "tier": "semantic",
            "user_id": scope.user_id,
            "agent_id": scope.agent_id,
            "category": kind,
        }
        known, done = self._commit(decide, [Prepared(text, fields)], is_known=alike is not None)
        if known is not None:
            return self._get(known), False
        return self._get(done.records[0].id), True

    def _same(self, name: str, category: str, text: str, scope: str) -> int | None:
        """A concept of this name, or with words that are alike; None when there is none."""
        with self._read() as reader:
            found = concepts_named(reader, name, category=category, scope=scope)
            if found:
                return found[0]
            others = concepts_with(reader, "category", category, scope)
        if not others or self._parts.embedder is None:
            return None
        best = self._likeness(text, others)[:1]
        return best[0][0] if best and best[0][1] >= SAME_CONCEPT else None

    def _likeness(self, text: str, ids: Collection[int]) -> list[tuple[int, float]]:
        """Cosine of each concept's words with a text, the most alike first.

        Raises:
            InvalidVectorError: The store has no embedder.
        """
        if self._parts.embedder is None:
            raise InvalidVectorError(
                "the store has no embedder to compare texts with",
                hint="open it with an embedder, or use find()",
            )
        cue: NDArray[np.float32] = embedded(self._parts.embedder, [text])[0]
        known, table = codes_of(self._parts.store, self._parts.dim, ids)
        return sorted(
            ((each, float(value)) for each, value in zip(known, cosines(cue, table), strict=True)),
            key=lambda each: (-each[1], each[0]),
        )

    # -- questions ----------------------------------------------------------------------------

    @guarded
    def of(self, name_or_id: str | Named, **guard: Unpack[Guard]) -> Concept | None:
        """The concept of a name, the oldest of several, or of an id; None without one.

        Raises:
            UnknownRecordError: There is no memory of that id. InvalidInputError: It is no concept.
        """
        scope = self._scope(**guard)
        if not isinstance(name_or_id, str):
            return self._get(self._typed(name_or_id, self.sort, scope), scope)
        name = checked_part(name_or_id, "name_or_id")
        with self._read() as reader:
            found = concepts_named(reader, name, scope=scope.user_id)
        records = self._living(found, scope)
        return next(iter(self._items([*records.values()][:1])), None)

    @owned
    def find(
        self,
        *,
        name: str | None = None,
        category: str | None = None,
        property: tuple[str, Any] | None = None,
        limit: int = 100,
        **owner: Unpack[Owner],
    ) -> list[Concept]:
        """Concepts of a name, a category and a property with its value; the oldest first."""
        most, scope = parse_integer(limit, "limit", low=1), self._scope(**owner)
        wanted: list[tuple[str, str]] = []
        if name is not None:
            wanted.append(("concept", concept_key(checked_part(name, "name"))))
        if category is not None:
            wanted.append(("category", folded(checked_part(category, "category"))))
        if property is not None:
            wanted.append(("property", checked_pair(property)))
        with self._read() as reader:
            found = [concepts_with(reader, sort, each, scope.user_id) for sort, each in wanted] or [
                set(reader.all_payloads(self.sort))
            ]
        ids = sorted(set.intersection(*found))
        records = [each for each in self._living(ids, scope).values() if not each.flags & HIDDEN]
        return self._items(records[:most])

    @owned
    def similar(
        self, text: str, *, min_likeness: float = 0.8, limit: int = 5, **owner: Unpack[Owner]
    ) -> list[Concept]:
        """Concepts whose words are like a text, the most alike first."""
        least = parse_number(min_likeness, "min_likeness", low=-1.0, high=1.0)
        most, scope = parse_integer(limit, "limit", low=1), self._scope(**owner)
        words = check_text(text, self._parts.config)
        records = {record.id: record for record, _ in self._every(scope)}
        found = self._likeness(words, records) if records else []
        return self._items([records[each] for each, like in found if like >= least][:most])

    @owned
    def stats(self, **owner: Unpack[Owner]) -> dict[str, Any]:
        """Counts of concepts and references, how sure they are, and what the worker has to do."""
        found = self._items([record for record, _ in self._every(self._scope(**owner))])
        categories = Counter(each.category for each in found)
        references = sum(len(ids) for each in found for ids in each.memory_refs.values())
        return {
            **self._parts.worker.status(),
            "concepts": len(found),
            "categories": dict(sorted(categories.items())),
            "references": references,
            "mean_confidence": sum(e.confidence for e in found) / len(found) if found else 0.0,
        }

    @verb
    def flush(self, timeout_s: float | None = None) -> bool:
        """Take over every episode, or wait for the worker to; False when time was up before."""
        self._may_write()
        most = None if timeout_s is None else parse_number(timeout_s, "timeout_s", 0.0, 1e9)
        return self._parts.worker.flush(most)

    @guarded
    def extract(self, memories: Memories, **guard: Unpack[Guard]) -> list[Concept]:
        """The concepts that the details of episodes name, each reinforced by its episodes.

        Objects and people, tokens of the goal, and tokens of the tool as actions. What was made so
        goes with the last of its episodes.
        """
        self._may_write()
        ids, scope = ids_of(memories, "memories"), self._scope(**guard)
        for each in () if scope.is_open else ids:
            self._parts.finder.find(each, scope)
        found = self._parts.extractor.extract_from(self._living(ids, scope))
        return [self._get(each) for each in found.concepts]

    @verb
    def add_source(self, source: PromotionSource) -> Callable[[], None]:
        """Have a further source asked when patterns are promoted; returns what ends that."""
        self._may_write()
        return self._parts.promoter.add_source(source)

    @guarded
    def ground(self, name_or_id: str | Named, **guard: Unpack[Guard]) -> list[Statistic]:
        """What the living episodes of a concept say in numbers, from eight of them on.

        Each number is a memory that is brought up to date: salience, novelty, success rate.
        Concepts that share episodes become ``related_to`` each other.
        """
        self._may_write()
        found = self.of(name_or_id, **guard)
        if found is None:
            raise UnknownRecordError(
                f"no concept has the name {name_or_id!r:.60}", hint="concepts.find() lists them"
            )
        episodes = found.memory_refs.get("episodes", ())
        return Grounding(self._parts).ground(found.id, found.name, episodes)

    @guarded
    def statistics(self, concept: Named, **guard: Unpack[Guard]) -> list[Statistic]:
        """What `ground` has noted of a concept, as it is stored."""
        of = self._typed(concept, self.sort, self._scope(**guard))
        return Grounding(self._parts).statistics([of]).get(of, [])

    @owned
    def context(
        self,
        percept: Percept,
        *,
        limit: int | None = None,
        budget_ms: float | None = None,
        **owner: Unpack[Owner],
    ) -> list[dict[str, Any]]:
        """What is known of the concepts of a percept, the surest first, within a time budget.

        Entries have a ``level``: 1 computed from the episodes now, 2 as stored, 3 the name alone.

        Args:
            limit, budget_ms: None as configured: five concepts, 50 milliseconds.
        """
        usual = self._parts.config.association
        limit = usual.concept_limit if limit is None else limit
        budget_ms = usual.budget_ms if budget_ms is None else budget_ms
        return concept_context(
            Grounding(self._parts), percept, self._scope(**owner), limit=limit, budget_ms=budget_ms
        )

    # -- references ---------------------------------------------------------------------------

    @guarded
    def add_ref(self, id: Named, layer: str, record: Named, **guard: Unpack[Guard]) -> Concept:
        """Tie a concept to a memory of a layer; of more than 200 the first to come goes.

        Raises:
            InvalidInputError: The memory is of another user.
        """
        self._may_write()
        scope, name = self._scope(**guard), layer_name(layer)
        concept, memory = ends = self._ends(id, record, scope)
        most = self._parts.config.knowledge.max_refs
        self._commit(
            lambda reader, changes, _: plan_reference(
                reader, changes, concept, name, memory, most=most
            ),
            scope=scope,
            named=ends,
        )
        return self._get(concept, scope)

    @guarded
    def remove_ref(self, id: Named, layer: str, record: Named, **guard: Unpack[Guard]) -> bool:
        """Untie a concept from a memory; False when nothing ties them."""
        self._may_write()
        scope, name = self._scope(**guard), layer_name(layer)
        ends = self._typed(id, self.sort, scope), one_id_of(record, "record")
        gone, _ = self._commit(
            lambda reader, changes, _: plan_without_reference(
                reader, changes, ends[0], name, ends[1]
            ),
            scope=scope,
            named=ends,
        )
        return gone

    @guarded
    def reinforce(self, id: Named, source: Named, **guard: Unpack[Guard]) -> Concept:
        """Count a memory that shows a concept, once; it becomes a reference.

        The confidence is ``0.5 + 0.1 sqrt(count)``, at most 0.99.
        """
        self._may_write()
        scope = self._scope(**guard)
        concept, memory = ends = self._ends(id, source, scope)
        strengthen: list[tuple[int, Change]] = []

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> None:
            sorts = reader.sorts([memory]).get(memory, set())
            layer = next(
                (f"{each}s" for each in ("concept", "statistic") if each in sorts), "episodes"
            )
            most = self._parts.config.knowledge.max_refs
            if plan_reinforcement(reader, changes, concept, layer, memory, now_ms, most=most):
                strengthen[:] = [(concept, self._parts.changer.reinforcing(True))]

        self._commit(decide, strengthen=strengthen, scope=scope, named=ends)
        return self._get(concept, scope)

    def _ends(self, concept: Any, record: Any, scope: Scope) -> tuple[int, int]:
        """Ids of a concept and of another lasting memory of its user."""
        first = self._typed(concept, self.sort, scope)
        second = one_id_of(record, "record")
        users = {self._record(first).user_id, self._lasting(second, scope).user_id}
        if first == second or len(users) > 1:
            raise InvalidInputError(
                f"memory {second} cannot be a reference of concept {first}",
                hint="a reference is another memory of the same user",
            )
        return first, second
