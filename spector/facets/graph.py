"""``memory.graph``: typed, weighted links between memories, and walks over them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, Unpack

from spector.arguments import parse_choice, parse_integer, parse_number, parse_switch
from spector.clock import from_ms, to_ms
from spector.errors import InvalidInputError
from spector.facets.base import Facet, Guard, Owner, guarded, ids_of, one_id_of, owned
from spector.facets.concepts import Grounding, parse_percept
from spector.knowledge import (
    LAYERS,
    Changes,
    Experience,
    KnowledgeReader,
    Registry,
    StoreEdges,
    activate,
    best_path,
    checked_json,
    layer_name,
    levels,
    plan_kind,
    ranks_by_user,
    reach,
    scaled,
)
from spector.process import managed, verb
from spector.records import Activation, Edge, Percept, PredictedOutcome, Reached, RelationKind
from spector.store.catalog import RecordLinks, Row, Scope
from spector.write import Memories, Named

Direction = Literal["out", "in", "both"]
#: a rank above this protects (UCMA), and above this many times the mean rank
_TIMES_MEAN = 1.5
_MOST_HOPS = 16
#: confidence of a prediction whose episode was compressed, or says nothing of its own
_UNSURE = 0.3


class Graph(Facet):
    """Edges between memories of one user. ``supersedes`` and ``parents`` appear as edges too."""

    def __init__(self, parts: Any) -> None:
        super().__init__(parts)
        #: (change counter, user -> ids and ranks)
        self._ranks: tuple[int, dict[str, tuple[list[int], list[float]]]] | None = None
        self._links = RecordLinks(parts.store.catalog)

    # -- kinds --------------------------------------------------------------------------------

    @verb
    def kinds(self) -> list[RelationKind]:
        """The built-in kinds of edges, then the registered ones."""
        with self._read() as reader:
            return list(Registry(reader.kinds()))

    @verb
    def register(
        self,
        name: str,
        *,
        symmetric: bool = False,
        inverse: str | None = None,
        prunable: bool = False,
        priority: int = 0,
        origin: str = "agent",
    ) -> RelationKind:
        """Add a kind of edge; the store keeps it. The same again changes nothing.

        Args:
            symmetric: Both ends say the same of each other.
            inverse: How it reads from the target.
            prunable, priority: Whether such edges may go when there are too many, lowest first.

        Raises:
            InvalidInputError: The name is malformed, or has another meaning already.
        """
        self._may_write()
        kind = RelationKind(
            name=name,
            symmetric=parse_switch(symmetric, "symmetric"),
            inverse=inverse,
            prunable=parse_switch(prunable, "prunable"),
            priority=parse_integer(priority, "priority", low=0, high=1000),
            origin=str(origin),
        )

        return self._commit(lambda reader, changes, _: plan_kind(reader, changes, kind))[0]

    # -- edges --------------------------------------------------------------------------------

    @guarded
    def link(
        self,
        source: Named,
        target: Named,
        kind: str,
        *,
        weight: float = 1.0,
        confidence: float | None = None,
        note: Mapping[str, Any] | None = None,
        **guard: Unpack[Guard],
    ) -> Edge:
        """Tie two memories of one user; again keeps the greater weight and confidence.

        Args:
            kind: A built-in or registered kind; an inverse (``caused_by``) is turned round.
            weight: In (0, 1].
            confidence: 0..1; the weight by default.
            note: JSON about the edge.

        Raises:
            UnknownRecordError, UnknownRelationError: An end or the kind does not exist.
            InvalidInputError: The ends are one memory, or of two users.
        """
        self._may_write()
        strength = parse_number(weight, "weight", low=0.0, high=1.0)
        if strength == 0.0:
            raise InvalidInputError("weight is 0", hint="an edge has a weight in (0, 1]; unlink()")
        sure = (
            strength
            if confidence is None
            else parse_number(confidence, "confidence", low=0.0, high=1.0)
        )
        ends = [one_id_of(source, "source"), one_id_of(target, "target")]
        if ends[0] == ends[1]:
            raise InvalidInputError(
                "an edge ties two memories", hint="pass one source and another target"
            )
        scope = self._scope(**guard)
        users = {self._lasting(each, scope).user_id for each in ends}
        if len(users) > 1:
            raise InvalidInputError(
                f"memories {ends[0]} and {ends[1]} belong to different users",
                hint="an edge never joins users",
            )
        if not isinstance(note, Mapping | None):
            raise InvalidInputError(
                f"note must be a dictionary, not {type(note).__name__}",
                hint='write it like note={"why": "said so"}',
            )
        checked_json(dict(note or {}), "note")

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> Edge:
            first, second, relation = Registry(reader.kinds()).stored(ends[0], ends[1], kind)
            old = reader.edge(first, relation.name, second)
            known = old or Edge(
                source=first, target=second, kind=relation.name, weight=strength, confidence=sure
            )
            made_at = known.created_at or from_ms(now_ms)
            edge = replace(
                known,
                weight=max(known.weight, strength),
                confidence=max(known.confidence, sure),
                created_at=made_at,
                note=known.note if note is None else dict(note),
            )
            if edge != old:
                about = edge.weight, edge.confidence, edge.note
                changes.tie(first, edge.kind, second, edge.origin, to_ms(made_at), *about)
            return edge

        return self._commit(decide, scope=scope, named=ends)[0]

    @guarded
    def unlink(self, source: Named, target: Named, kind: str, **guard: Unpack[Guard]) -> bool:
        """Remove a stored edge; False when there is none."""
        self._may_write()
        ends = [one_id_of(source, "source"), one_id_of(target, "target")]

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> bool:
            first, second, relation = Registry(reader.kinds()).stored(ends[0], ends[1], kind)
            found = reader.edge(first, relation.name, second)
            if found is not None:
                changes.drop("edge", first, relation.name, second)
            return found is not None

        return self._commit(decide, scope=self._scope(**guard), named=ends)[0]

    @guarded
    def edges(
        self,
        id: Named,
        *,
        direction: Direction = "both",
        kinds: Iterable[str] | None = None,
        **guard: Unpack[Guard],
    ) -> list[Edge]:
        """The edges of a memory, by source, kind and target."""
        direction = parse_choice(direction, "direction", "out", "in", "both")
        node, scope = one_id_of(id, "id"), self._scope(**guard)
        with self._read() as reader:
            rows = self._rows([node])  # their bytes are not needed
            if not rows or not scope.holds(rows[node]):
                self._parts.finder.find(node, scope)
            edges = self._edges(reader, direction, kinds, scope, rows)
            found = edges.leaving([node])
        unique = {(e.source, e.kind, e.target): e for _, e in found.get(node, ())}
        return [unique[key] for key in sorted(unique)]

    # -- walks --------------------------------------------------------------------------------

    @guarded
    def neighbours(
        self,
        id: Named,
        *,
        hops: int = 2,
        kinds: Iterable[str] | None = None,
        min_weight: float = 0.0,
        direction: Direction = "out",
        limit: int = 100,
        **guard: Unpack[Guard],
    ) -> list[Reached]:
        """Memories within ``hops`` edges, the greatest product of weights first."""
        direction = parse_choice(direction, "direction", "out", "in", "both")
        node = one_id_of(id, "id")
        with self._walking([node], direction, kinds, guard) as edges:
            return reach(
                edges,
                node,
                hops=parse_integer(hops, "hops", low=1, high=_MOST_HOPS),
                min_weight=parse_number(min_weight, "min_weight", low=0.0, high=1.0),
                limit=parse_integer(limit, "limit", low=1),
            )

    @guarded
    def path(
        self,
        a: Named,
        b: Named,
        *,
        hops: int = 6,
        kinds: Iterable[str] | None = None,
        **guard: Unpack[Guard],
    ) -> list[Edge] | None:
        """The edges of the path out of ``a`` to ``b`` with the greatest product of weights."""
        start, end = one_id_of(a, "a"), one_id_of(b, "b")
        with self._walking([start, end], "out", kinds, guard) as edges:
            most = parse_integer(hops, "hops", low=1, high=_MOST_HOPS)
            return best_path(edges, start, end, hops=most)

    @guarded
    def walk(
        self,
        id: Named,
        *,
        hops: int = 2,
        kinds: Iterable[str] | None = None,
        direction: Direction = "both",
        **guard: Unpack[Guard],
    ) -> list[list[int]]:
        """Ids by their distance: the first list is one edge away."""
        direction = parse_choice(direction, "direction", "out", "in", "both")
        node = one_id_of(id, "id")
        with self._walking([node], direction, kinds, guard) as edges:
            return levels(edges, node, hops=parse_integer(hops, "hops", low=1, high=_MOST_HOPS))

    @guarded
    def activate(
        self,
        seeds: Memories,
        *,
        decay: float | None = None,
        threshold: float | None = None,
        hops: int | None = None,
        layers: Iterable[str] | None = None,
        **guard: Unpack[Guard],
    ) -> Activation:
        """What comes to mind from a few memories; None as configured (0.5, 0.05 and 3).

        Layers that were registered are asked as well; their ids are their own.
        """
        usual = self._parts.config.knowledge
        decay = usual.spread_decay if decay is None else decay
        threshold = usual.spread_threshold if threshold is None else threshold
        hops = usual.spread_hops if hops is None else hops
        start, scope = ids_of(seeds, "seeds"), self._scope(**guard)
        for each in start:
            self._record(each, scope)
        wanted = self._layers_named(layers)
        least = parse_number(threshold, "threshold", low=1e-6, high=1.0)
        with self._read() as reader:
            found = activate(
                self._edges(reader, "both", None, scope),
                start,
                lambda ids: _layers(reader, ids),
                decay=parse_number(decay, "decay", low=0.0, high=1.0),
                threshold=least,
                hops=parse_integer(hops, "hops", low=1, high=_MOST_HOPS),
            )
        if any(self._parts.layers):
            others = self._parts.layers.associated(start, least)
            found = Activation({**others, **found.layers})
        if layers is None:
            return found
        return Activation({name: each for name, each in found.items() if name in wanted})

    def _layers_named(self, layers: Iterable[str] | None) -> set[str]:
        """The layers of these names, also those of the brain; one that is not there is refused."""
        named = [layers] if isinstance(layers, str) else layers or ()
        wanted = {layer_name(each) for each in named}
        known = ["episodes", *LAYERS.values(), *self._parts.layers]
        for each in sorted(wanted - set(known)):
            raise InvalidInputError(
                f"there is no layer {each!r:.60}", hint=f"one of: {', '.join(known)}"
            )
        return wanted

    @owned
    def complete(
        self, percept: Percept, *, limit: int = 5, **owner: Unpack[Owner]
    ) -> list[PredictedOutcome]:
        """What happened in the newest twenty episodes of the concepts of a percept.

        Episodes without a tool foretell nothing. The newest come first, then the surest.
        """
        wanted = parse_percept(percept)
        most, scope = parse_integer(limit, "limit", low=1), self._scope(**owner)
        ground = Grounding(self._parts)
        concepts = ground.active(sorted(ground.matching(wanted, scope)), scope)
        ids = {each for ids in ground.episodes(concepts).values() for each in ids}
        living = self._living(sorted(ids), scope)
        figures = {
            each.name: each.text for found in ground.statistics(concepts).values() for each in found
        }

        def certainty_of(each: Experience) -> float:
            own: float | None = each["decision_confidence"]
            return _UNSURE if each.is_consolidated or own is None else own

        found = sorted(ground.experiences(living), key=lambda each: (-each.event_ms, -each.id))
        newest = found[: self._parts.config.association.completion_episodes]
        newest.sort(key=lambda each: (-each.event_ms, -certainty_of(each), -each.id))
        return [
            PredictedOutcome(
                tool=each["tool"],
                success=each["success"],
                goal=each["goal"],
                confidence=certainty_of(each),
                source_episode_id=each.id,
                math_context=dict(figures),
            )
            for each in newest
            if each["tool"]
        ][:most]

    # -- centrality ---------------------------------------------------------------------------

    @guarded
    def pagerank(self, ids: Memories | None = None, **guard: Unpack[Guard]) -> dict[int, float]:
        """Rank of each memory that has an edge; the ranks of a user sum to 1."""
        wanted = None if ids is None else set(ids_of(ids, "ids"))
        scope = self._scope(**guard)
        out: dict[int, float] = {}
        for user, (nodes, ranks) in self._all_ranks().items():
            if scope.user_id in (None, user):
                out.update(zip(nodes, ranks, strict=True))
        if wanted is not None:
            out = {each: out.get(each, 0.0) for each in sorted(wanted)}
        if scope.agent_id is not None or scope.session_id is not None:
            living = self._living(out, scope)
            out = {each: rank for each, rank in out.items() if each in living}
        return out

    @guarded
    def importance(self, ids: Memories | None = None, **guard: Unpack[Guard]) -> dict[int, float]:
        """PageRank scaled to an importance: ten times the rank, at most 1."""
        return scaled(self.pagerank(ids, **guard))

    @guarded
    def central(self, id: Named, **guard: Unpack[Guard]) -> bool:
        """Whether the graph of its user turns on a memory: its rank is above 0.01 and 1.5/n."""
        node = one_id_of(id, "id")
        user = self._record(node, self._scope(**guard)).user_id or ""
        nodes, ranks = self._all_ranks().get(user, ([], []))
        if not nodes:
            return False
        rank = dict(zip(nodes, ranks, strict=True)).get(node, 0.0)
        tuning = self._parts.config.knowledge
        least = _TIMES_MEAN / len(nodes) if tuning.pagerank_relative else 0.0
        return rank > max(tuning.pagerank_protection, least)

    def _all_ranks(self) -> dict[str, tuple[list[int], list[float]]]:
        """Ids and ranks by user; computed again after a change of the store."""
        with self._read() as reader:
            now = self._parts.store.head.change_seq
            if self._ranks is not None and self._ranks[0] == now:
                return self._ranks[1]
            found = list(ranks_by_user(reader, self._parts.config.knowledge))
        out = {user: (table.ids.tolist(), ranks.tolist()) for user, table, ranks in found}
        self._ranks = (now, out)
        return out

    @managed
    def _walking(
        self, nodes: Iterable[int], direction: str, kinds: Iterable[str] | None, guard: Guard
    ) -> Iterator[StoreEdges]:
        """The edges as a walk from memories of a scope, which are there, takes them."""
        scope = self._scope(**guard)
        for each in nodes:
            self._record(each, scope)
        with self._read() as reader:
            yield self._edges(reader, direction, kinds, scope)

    def _edges(
        self,
        reader: KnowledgeReader,
        direction: str,
        kinds: Iterable[str] | None,
        scope: Scope,
        known: Mapping[int, Row] | None = None,
    ) -> StoreEdges:
        return StoreEdges(reader, self._rows, direction, kinds, known, self._links.into, scope)

    def _rows(self, ids: Collection[int]) -> Mapping[int, Row]:
        """Living memories among ids."""
        return self._parts.store.catalog.fetch(sorted(ids))


def _layers(reader: KnowledgeReader, ids: Iterable[int]) -> dict[int, str]:
    """The layer of each memory: concepts, statistics, or episodes."""
    asked = list(ids)
    sorts = reader.sorts(asked)
    return {
        each: next((LAYERS[sort] for sort in sorts.get(each, ()) if sort in LAYERS), "episodes")
        for each in asked
    }
