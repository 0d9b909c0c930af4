"""``memory.concepts``: what several memories have in common, and which memories these are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from spector.arguments import check_text, parse_choice, parse_integer, parse_number
from spector.errors import InvalidInputError, InvalidVectorError, UnknownRecordError
from spector.facets.base import (
    HIDDEN,
    Facet,
    Guard,
    ItemFacet,
    Owner,
    guarded,
    ids_of,
    one_id_of,
    owned,
)
from spector.knowledge import (
    ENOUGH,
    PROVENANCES,
    Changes,
    Experience,
    Figure,
    KnowledgeReader,
    Registry,
    certainty,
    checked_pair,
    checked_part,
    checked_properties,
    concept_key,
    concepts_named,
    concepts_with,
    experiences,
    figures_of,
    folded,
    items_made,
    layer_name,
    normalize_tokens,
    plan_concept,
    plan_concept_met,
    plan_cooccurrence,
    plan_new_figures,
    plan_references,
    plan_reinforcement,
    plan_restated_figure,
    references_of,
    statistics_of,
)
from spector.layout import MUTABLE_DTYPE, Category
from spector.process import verb
from spector.providers import PromotionSource, embedded
from spector.records import Concept, Percept, Statistic
from spector.store.catalog import Scope
from spector.write import SAME_CONCEPT, Change, Memories, Named, Prepared, likest

#: levels of an entry of `Concepts.context`: everything, what is stored, the name alone
_FULL, _STORED, _NAMED = 1, 2, 3


class Grounding(Facet):
    """Reads and renews the statistics of concepts."""

    def experiences(self, ids: Iterable[int]) -> list[Experience]:
        """The living episodes among ids, with their details."""
        asked = list(dict.fromkeys(ids))
        with self._read() as reader:
            rows = self._parts.store.catalog.fetch(asked)  # the bytes of vectors are not needed
            known = {}
            for each, row in rows.items():
                header = np.frombuffer(row.mutable, MUTABLE_DTYPE)[0]
                known[each] = row.event_ms, float(header["importance"]), int(header["flags"])
            return experiences(reader, asked, known)

    def statistics(self, concepts: Collection[int]) -> dict[int, list[Statistic]]:
        """The statistics of concepts that are stored, by concept."""
        with self._read() as reader:
            payloads = statistics_of(reader, concepts)
            living = self._living(sorted(payloads))
            found = [(record, payloads[each]) for each, record in living.items()]
            out: dict[int, list[Statistic]] = {}
            for made in items_made(reader, "statistic", found):
                out.setdefault(made.concept_id, []).append(made)
        return out

    def ground(self, concept: int, name: str, episodes: Collection[int]) -> list[Statistic]:
        """The statistics of a concept, stored or brought up to date; none below eight episodes."""
        known, tuning = self.experiences(episodes), self._parts.config.knowledge
        figures = figures_of(name, known, tuning.ground_from)
        stored = {each.code: each for each in self.statistics([concept]).get(concept, [])}
        ids = [each.id for each in known]
        for each in figures:
            old = stored.get(each.code)
            if old is not None:
                with self._read() as reader:
                    now_ms = self._parts.clock.now_ms()
                    changes = plan_restated_figure(reader, each, old.id, concept, ids, now_ms)
                if changes:
                    self._parts.updater.restate(old.id, each.text, changes)
        fresh = [each for each in figures if each.code not in stored]
        if fresh:
            self._store(fresh, concept, ids)
        self._parts.knowledge.commit(
            lambda reader, now_ms: plan_cooccurrence(reader, concept, now_ms, tuning.jaccard)
        )
        return self.statistics([concept]).get(concept, []) if figures else []

    def _store(self, figures: list[Figure], concept: int, episodes: list[int]) -> None:
        user = self._record(concept).user_id
        fields = {"tier": "semantic", "category": Category.SUMMARY, "user_id": user}

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> None:
            living = list(self._living(episodes))
            changes.add(plan_new_figures(figures, concept, living, now_ms))

        self._commit(decide, [Prepared(each.text, fields) for each in figures])

    def matching(self, percept: Percept, scope: Scope) -> dict[int, dict[str, Any]]:
        """Concepts of a percept, active or not, with their fields.

        Objects and people are found by their names, the goal by its tokens as well.
        """
        names = [*percept.objects, *percept.people]
        if percept.goal:
            names += [percept.goal, *normalize_tokens(percept.goal)]
        with self._read() as reader:
            found = {
                each for name in names for each in concepts_named(reader, name, scope=scope.user_id)
            }
            return reader.payloads(sorted(found), "concept")

    def active(self, concepts: Iterable[int], scope: Scope) -> list[int]:
        """Those that recalls may show."""
        living = self._living(concepts, scope)
        return [each for each, record in living.items() if not record.flags & HIDDEN]

    def episodes(self, concepts: Collection[int]) -> dict[int, tuple[int, ...]]:
        """The episodes that concepts refer to."""
        with self._read() as reader:
            found = references_of(reader, concepts)
        return {each: layers.get("episodes", ()) for each, layers in found.items()}

    def relations(self, concept: int) -> list[dict[str, Any]]:
        """Relations of a concept to other living concepts, the strongest first."""
        out = []
        with self._read() as reader:
            edges = reader.edges([concept])
            others = {end for each in edges for end in (each.source, each.target)}
            names = reader.payloads(list(self._living(sorted(others))), "concept")
            kinds = {each.name: each for each in Registry(reader.kinds())}
        for each in edges:
            is_out = each.source == concept
            other, kind = (each.target if is_out else each.source), kinds.get(each.kind)
            name = each.kind if is_out or (kind and kind.symmetric) else kind and kind.inverse
            if name and other in names and other != concept:
                out.append({"type": name, "target": names[other]["name"], "weight": each.weight})
        return sorted(out, key=lambda each: (-each["weight"], each["type"], each["target"]))

    def context(
        self, percept: Percept, scope: Scope, *, limit: Any, budget_ms: Any
    ) -> list[dict[str, Any]]:
        """What is known of the concepts of a percept, the surest first, within a budget of time.

        With time left an entry is computed anew (level 1); in the second half of the budget it has
        what is stored (level 2); after it, its name, category and number of episodes (level 3).
        """
        start = time.monotonic()
        most = parse_integer(limit, "limit", low=1)
        budget_s = parse_number(budget_ms, "budget_ms", low=0.0, high=3.6e6) / 1000.0
        known = self.matching(parse_percept(percept), scope)
        order = sorted(known, key=lambda each: (-known[each]["confidence"], each))
        # records are read one by one: most names have few concepts
        chosen = list(islice((each for each in order if self.active([each], scope)), most))
        with self._read() as reader:
            counts = {each: reader.reference_count(each, "episodes") for each in chosen}
        out = []
        for each in chosen:
            entry: dict[str, Any] = {
                **{name: known[each][name] for name in ("name", "category", "confidence")},
                "episode_count": counts[each],
                "relationships": [],
                "properties": {},
                "layer_context": [],
                "level": _NAMED,
            }
            out.append(entry)
            spent = time.monotonic() - start
            if spent < budget_s:
                entry["level"] = _STORED
                entry["relationships"] = self.relations(each)
                for one in self.statistics([each]).get(each, []):
                    _note(entry, one, one.confidence)
            if spent < budget_s / 2:
                entry["level"] = _FULL
                if entry["episode_count"] >= ENOUGH:
                    episodes = self.experiences(self.episodes([each]).get(each, ()))
                    for figure in figures_of(entry["name"], episodes):
                        _note(entry, figure, certainty(figure.n))
        return out


def parse_percept(percept: Any) -> Percept:
    """A percept whose parts are texts.

    Raises:
        InvalidInputError: It is none.
    """
    if not isinstance(percept, Percept):
        raise InvalidInputError(
            f"a percept is expected, not {type(percept).__name__}",
            hint='write it like Percept(objects=["mug"], goal="grasp_mug")',
        )
    for name in ("objects", "people"):
        value = getattr(percept, name)
        if (
            isinstance(value, str)
            or not isinstance(value, Iterable)
            or not all(isinstance(each, str) for each in value)
        ):
            raise InvalidInputError(
                f"{name} of a percept is {value!r:.60}", hint=f'write it like {name}=["mug"]'
            )
    if percept.goal is not None and not isinstance(percept.goal, str):
        raise InvalidInputError(
            f"goal of a percept is {percept.goal!r:.60}", hint='write it like goal="grasp_mug"'
        )
    return percept


def _note(entry: dict[str, Any], one: Statistic | Figure, confidence: float) -> None:
    """Have an entry say a statistic, in place of one of its name."""
    entry["properties"][one.code] = one.values.get("rate", one.values.get("mean"))
    others = [each for each in entry["layer_context"] if each["name"] != one.name]
    entry["layer_context"] = [
        *others,
        {"layer": "statistics", "name": one.name, "verbal": one.text, "confidence": confidence},
    ]


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
        about = {
            "name": name,
            "category": category,
            "definition": meaning,
            "properties": checked_properties(properties),
            "provenance": parse_choice(provenance, "provenance", *PROVENANCES),
        }
        user, text = scope.user_id or "", f"{name}: {meaning}" if meaning else name
        alike = self._same(name, category, text, user)

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> int | None:
            found = concepts_named(reader, name, category=category, scope=user)
            known = next(iter(found), alike)
            if known is None or not reader.payloads([known], self.sort):
                plan_concept(changes, about, user)
                return None
            plan_concept_met(reader, changes, known, about, user)
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
        """Cosine of each concept's words with a text, the most alike first."""
        if self._parts.embedder is None:
            raise InvalidVectorError(
                "the store has no embedder to compare texts with",
                hint="open it with an embedder, or use find()",
            )
        cue: NDArray[np.float32] = embedded(self._parts.embedder, [text])[0]
        return likest(self._parts.store, self._parts.dim, cue, ids)

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
        scope = self._scope(**owner)
        return Grounding(self._parts).context(percept, scope, limit=limit, budget_ms=budget_ms)

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
            lambda reader, changes, _: plan_references(
                reader, changes, concept, name, [memory], most=most
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

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> bool:
            kind = f"reference:{name}"
            is_tied = any(row["b"] == ends[1] for row in reader.links(kind, a=ends[:1]))
            if is_tied:
                changes.drop("link", ends[0], kind, ends[1])
            return is_tied

        return self._commit(decide, scope=scope, named=ends)[0]

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
            if plan_reinforcement(
                reader, changes, concept, [memory], now_ms, layer=layer, most=most
            ):
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
