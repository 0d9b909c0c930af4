"""Stores concepts: those that episodes name, and those that patterns are promoted to."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.knowledge import (
    CAUSAL,
    OPERATIONAL,
    Admitted,
    Changes,
    Element,
    Extracted,
    Figure,
    KnowledgeReader,
    Named,
    New,
    admitted,
    causal_candidates,
    concept_of,
    concepts_named,
    concepts_with,
    is_same_pattern,
    named_after,
    named_in,
    operational_candidates,
    plan_extraction,
    plan_new_figures,
    plan_promotion,
    plan_restated_figure,
    statistics_of,
)
from spector.layout import HEADER_BYTES, Category, Flag
from spector.process import elsewhere
from spector.providers import PromotionSource, embedded
from spector.records import MemoryRecord, PromotionCandidate
from spector.store.core import Store, current_image
from spector.store.payloads import table_named
from spector.write.append import flags_of
from spector.write.changing import Change
from spector.write.commit import KnowledgeWriter, Prepared, UnpreparedError
from spector.write.context import WriteContext

# Takes over what episodes name as concepts: a run of memories is one commit.

#: concepts of a category whose words are as alike as this are one
SAME_CONCEPT: Final = 0.92


#: more memories than a store can have
_NEVER: Final = 1 << 62
#: the state of sleep in a store that never slept
_NEVER_SLEPT: Final[dict[str, Any]] = {
    **dict.fromkeys(table_named("sleep_state").names, 0),
    **{"one": 1, "step": "", "recent": "{}", "central": "{}"},
}


@dataclass(slots=True)
class ConceptRun:
    """A run of memories that is to be taken over, in a commit of the caller."""

    named: Named
    #: names that may become concepts
    prepared: Sequence[Prepared]
    decide: Callable[[KnowledgeReader, int], Changes] | None = None
    #: concepts that were there, and those of them that are reinforced: ``decide`` fills them
    known: list[int] = field(default_factory=list)
    met: list[int] = field(default_factory=list)
    #: a concept has gone since it was planned: nothing was decided
    is_stale: bool = False


class ConceptExtractor:
    """Makes and reinforces concepts. Callers check that the store is open and writable."""

    def __init__(self, parts: WriteContext, knowledge: KnowledgeWriter) -> None:
        self._parts = parts
        self._knowledge = knowledge

    def extract_concepts(
        self, after_id: int, limit: int, *, keep_cursor: bool = False
    ) -> Extracted:
        """Take over what the first ``limit`` memories after an id name, in one commit.

        It can be repeated: a memory counts for a concept once. The next run begins at `last_id` of
        the answer; there is nothing left when it read fewer memories than ``limit``.

        Args:
            keep_cursor: note `last_id` in the state of sleep, in the same commit. A cycle of sleep
                notes it itself.
        """
        return self._take(self._named_after(after_id, limit), keep_cursor=keep_cursor)

    def _named_after(self, after_id: int, limit: int) -> Named:
        with self._knowledge.reading() as reader:
            return named_after(reader, after_id, limit, self._shared())

    def extract_from(self, memories: Collection[int], *, keep_cursor: bool = False) -> Extracted:
        """The same for chosen memories, whatever the cursor says."""
        with self._knowledge.reading() as reader:
            named = named_in(reader, sorted(memories), max(memories, default=0), self._shared())
        return self._take(named, keep_cursor=keep_cursor)

    def _shared(self) -> tuple[int, int]:
        """From how many memories and sessions on an entity is a concept; where they move, never."""
        sleep = self._parts.config.sleep
        moves = sleep.promote_by_entity == "move"
        return _NEVER if moves else sleep.promote_entity_memories, sleep.promote_entity_sessions

    def cursor(self) -> int:
        """Up to which id memories have been taken over."""
        with self._knowledge.reading() as reader:
            state = reader.sleep_state()
        return 0 if state is None else int(state["extracted_id"])

    def _take(self, named: Named, *, keep_cursor: bool) -> Extracted:
        if not (named.elements or named.episodes):
            return Extracted(named.last_id, named.memories)
        for _ in range(3):
            with contextlib.suppress(UnpreparedError):  # forgotten between the two looks
                return self._commit(named, keep_cursor)
        return self._commit(named, keep_cursor)

    def concepts_after(self, after_id: int, limit: int) -> ConceptRun:
        """The same as a plan for a caller who commits it; `extract_concepts` says what it holds."""
        named = self._named_after(after_id, limit)
        return self._run(named) if named.elements or named.episodes else ConceptRun(named, ())

    def _run(self, named: Named) -> ConceptRun:
        """What taking over a run takes: texts with their vectors, and the decision."""
        with self._knowledge.reading() as reader:
            fresh = [each for each in named.elements if concept_of(reader, each) is None]
            embedder, names = self._parts.embedder, [named.elements[each][0] for each in fresh]
            vectors = embedded(embedder, names) if embedder is not None and names else None
            alike = self._alike(reader, fresh, vectors)
            room = {
                scope: self._room(reader, scope, len(fresh))
                for scope in {each.scope for each in named.elements}
            }
        places = {each: n for n, each in enumerate(fresh)}
        prepared = [
            Prepared(
                name,
                _fields(self._parts, Category.ENTITY, each.scope, memories)
                | ({} if vectors is None else {"vector": vectors[n]}),
            )
            for n, each in enumerate(fresh)
            for name, memories in (named.elements[each],)
        ]
        run, tuning = ConceptRun(named, prepared), self._parts.config.knowledge

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            run.is_stale = any(
                each not in places and concept_of(reader, each) is None for each in named.elements
            )
            if run.is_stale:
                return Changes()
            changes, found = plan_extraction(
                reader, named, now_ms, places=places, alike=alike, room=room, tuning=tuning
            )
            run.known[:] = sorted({each for each in found.values() if each is not None})
            if changes:
                touched = {row.get("id") or row.get("a") for _, row in changes.puts}
                run.met[:] = [each for each in run.known if each in touched]
            return changes

        run.decide = decide
        return run

    def _commit(self, named: Named, keep_cursor: bool) -> Extracted:
        run, wake = self._run(named), list[tuple[int, Change]]()

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            assert run.decide is not None
            changes = run.decide(reader, now_ms)
            if run.is_stale:
                raise UnpreparedError
            wake[:] = [(each, _wake) for each in run.known]
            state = (reader.sleep_state() or _NEVER_SLEPT) if keep_cursor else None
            if changes and state is not None and state["extracted_id"] < named.last_id:
                changes.put("sleep_state", **(state | {"extracted_id": named.last_id}))
            return changes

        done = self._knowledge.commit(decide, run.prepared, strengthen=wake)
        made = {record.id for record in done.records.values()}
        return Extracted(
            named.last_id,
            named.memories,
            tuple(sorted({*run.known, *made})),
            tuple(sorted(made)),
        )

    def _alike(
        self,
        reader: KnowledgeReader,
        fresh: Sequence[Element],
        vectors: NDArray[np.float32] | None,
    ) -> dict[Element, int | Element]:
        """Element -> the concept, or the element before it, whose words are as good as the same."""
        if vectors is None:
            return {}
        out: dict[Element, int | Element] = {}
        groups: dict[tuple[str, str], list[int]] = {}
        for n, each in enumerate(fresh):
            groups.setdefault((each.scope, each.category), []).append(n)
        store, dim = self._parts.router.durable_store(), self._parts.dim
        for (scope, category), members in groups.items():
            ids, table = codes_of(store, dim, concepts_with(reader, "category", category, scope))
            before: list[int] = []
            for n in members:
                best = _best(vectors[n], table)
                twin = _best(vectors[n], vectors[before])
                if best is not None:
                    out[fresh[n]] = ids[best]
                elif twin is not None:
                    out[fresh[n]] = fresh[before[twin]]
                else:
                    before.append(n)
        return out

    def _room(self, reader: KnowledgeReader, scope: str, wanted: int) -> int:
        """How many more concepts a scope may have."""
        ids = sorted({row["id"] for row in reader.all_names(("concept",), scope)})
        left = self._parts.config.knowledge.max_concepts - len(ids)
        if left >= wanted:
            return left
        store = self._parts.router.durable_store()
        asleep = sum(
            bool(flags_of(row) & Flag.DORMANT) for row in store.catalog.fetch(ids).values()
        )
        return max(0, left + asleep)


def _fields(
    parts: WriteContext, category: Category, scope: str, sources: Sequence[int]
) -> dict[str, Any]:
    """The fields of a concept; without an embedder its vector is the mean of its sources'."""
    fields: dict[str, Any] = {"tier": "semantic", "category": category, "user_id": scope or None}
    if parts.embedder is not None:
        return fields
    _, codes = codes_of(parts.router.durable_store(), parts.dim, sources)
    if not len(codes):
        return fields
    units = codes / np.maximum(np.sqrt(np.square(codes).sum(axis=1, keepdims=True)), 1e-12)
    mean = units.mean(axis=0)
    return {**fields, "vector": mean if np.any(mean) else units[0]}


def _wake(header: Any, _: MemoryRecord) -> bool:
    """A retired concept that is met again holds again."""
    before = int(header["flags"])
    header["flags"] = before & ~int(Flag.DORMANT)
    return bool(before & Flag.DORMANT)


def codes_of(store: Store, dim: int, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]:
    """The memories among ids that exist, and (n, dim) f32, their vectors up to a factor each."""
    known, codes = [], []
    for row in store.catalog.fetch(sorted(ids)).values():
        found = current_image(store, row)
        if found is not None:
            known.append(row.id)
            codes.append(found[1][HEADER_BYTES : HEADER_BYTES + dim].view(np.int8))
    if not known:
        return [], np.zeros((0, dim), np.float32)
    return known, np.stack(codes).astype(np.float32)


def cosines(cue: NDArray[np.float32], table: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n,) f32: cosine of a cue (dim,) with each row of a table (n, dim), not through BLAS."""
    norms = np.sqrt(np.square(table).sum(axis=1) * np.square(cue).sum())
    found: NDArray[np.float32] = (table * cue).sum(axis=1) / np.maximum(norms, 1e-12)
    return found


def likest(
    store: Store, dim: int, cue: NDArray[np.float32], ids: Collection[int]
) -> list[tuple[int, float]]:
    """The cosine of each memory among ids with a cue (dim,), the most alike first."""
    known, table = codes_of(store, dim, ids)
    found = zip(known, cosines(cue, table).tolist(), strict=True)
    return sorted(found, key=lambda each: (-each[1], each[0]))


def _best(cue: NDArray[np.float32], table: NDArray[np.float32]) -> int | None:
    """The row of a table that is as good as the cue, the likeliest; None without one."""
    if not len(table):
        return None
    found = cosines(cue, table)
    best = int(found.argmax())
    return best if found[best] >= SAME_CONCEPT else None


_log = logging.getLogger("spector.concepts")
#: likeness of words from which a pattern of a foreign source is a known concept
_SIMILAR: Final = 0.8
#: categories whose names differ by their words, and not by likeness
_BY_WORDS: Final = frozenset({CAUSAL, OPERATIONAL})


@dataclass(frozen=True, slots=True)
class Promotion:
    """One candidate: the commit that takes it over, or why there is none."""

    name: str
    category: str
    #: why it is not promoted; "" when it is
    reason: str = ""
    #: the concept that it reinforces; None: one is made
    concept: int | None = None
    prepared: tuple[Prepared, ...] = ()
    decide: Callable[[KnowledgeReader, int], Changes] | None = None
    #: the statistic whose words become ``name``, in the commit of ``decide``
    restates: int | None = None


class ConceptPromoter:
    """Says what candidates for promotion change; sleep commits it."""

    def __init__(self, parts: WriteContext, knowledge: KnowledgeWriter) -> None:
        self._parts = parts
        self._knowledge = knowledge
        self._sources: list[PromotionSource] = []

    def add_source(self, source: PromotionSource) -> Callable[[], None]:
        """Ask a further source whenever patterns are promoted; returns what ends it."""
        if not callable(getattr(source, "get_promotion_candidates", None)):
            raise InvalidInputError(
                f"a {type(source).__name__} is no source of promotions",
                hint="give it get_promotion_candidates(min_confidence, min_observations)",
            )
        self._sources.append(source)

        def cancel() -> None:
            self._sources[:] = [each for each in self._sources if each is not source]

        return cancel

    def promotions(self) -> Iterator[Promotion]:
        """Every candidate of every source, the built-in ones first.

        The caller commits each before it takes the next, unless nothing shall be written. The
        statistic of a trend comes after its concept.
        """
        sleep = self._parts.config.sleep
        with self._knowledge.reading() as reader:
            causal = causal_candidates(reader, sleep)
            trends = operational_candidates(reader, sleep)
        for each in causal:
            yield self._promotion(each)
        for candidate, figure in trends:
            yield self._promotion(candidate)
            statistic = self._statistic(candidate, figure)
            if statistic is not None:
                yield statistic
        for source in list(self._sources):
            for candidate in self._asked(source):
                yield self._promotion(candidate)

    def _asked(self, source: PromotionSource) -> list[Any]:
        """What a foreign source answers; one that fails has nothing to say."""
        sleep = self._parts.config.sleep
        try:
            found: Iterable[Any] = elsewhere(
                source.get_promotion_candidates,
                sleep.promote_min_confidence,
                sleep.promote_min_observations,
            )
            return list(found)
        except Exception:
            _log.exception("a source of promotions failed: %s", type(source).__name__)
            return []

    def _promotion(self, candidate: Any) -> Promotion:
        sleep, most = self._parts.config.sleep, self._parts.config.knowledge.max_refs
        with self._knowledge.reading() as reader:
            found = admitted(reader, candidate, sleep)
            if found == "malformed":
                return Promotion(repr(candidate)[:60], "", "malformed")
            if isinstance(found, str):
                return Promotion(candidate.pattern_name, candidate.category, found)
            known = self._known(reader, found)

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            still = admitted(reader, candidate, sleep)
            if isinstance(still, str):  # a source was forgotten meanwhile
                return Changes()
            concept = known
            if concept is None or not reader.payloads([concept], "concept"):
                concept = _by_name(reader, still)
            if concept is None and known is not None:
                return Changes()  # it was forgotten: the next cycle makes it anew
            return plan_promotion(reader, still, now_ms, known=concept, most=most)

        kind = Category.PATTERN if candidate.category in _BY_WORDS else Category.ENTITY
        fields = _fields(self._parts, kind, found.scope, found.sources)
        return Promotion(
            candidate.pattern_name,
            candidate.category,
            concept=known,
            prepared=() if known is not None else (Prepared(candidate.pattern_name, fields),),
            decide=decide,
        )

    def _known(self, reader: KnowledgeReader, pattern: Admitted) -> int | None:
        """The concept of a pattern, by its name, its words, or for foreign ones by likeness."""
        found = _by_name(reader, pattern)
        if found is not None or pattern.candidate.category in _BY_WORDS:
            return found
        if self._parts.embedder is None:
            return None
        others = concepts_with(reader, "category", pattern.candidate.category, pattern.scope)
        if not others:
            return None
        cue = np.asarray(embedded(self._parts.embedder, [pattern.candidate.pattern_name])[0])
        store, dim = self._parts.router.durable_store(), self._parts.dim
        return next(
            (each for each, like in likest(store, dim, cue, others) if like >= _SIMILAR), None
        )

    def _statistic(self, candidate: PromotionCandidate, figure: Figure) -> Promotion | None:
        """The statistic of a trend, once its concept is there and unless it says it already."""
        ids, name = candidate.source_memory_ids, candidate.pattern_name
        with self._knowledge.reading() as reader:
            scope = next((each.scope for each in reader.owners(ids).values()), "")
            known = concepts_named(reader, name, category=OPERATIONAL, scope=scope)
            if not known:
                return None
            concept = known[0]
            stored = statistics_of(reader, [concept])
        old = next((each for each, about in stored.items() if about["code"] == figure.code), None)
        if old is not None and dict(stored[old]["values"]) == dict(figure.values):
            return None

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            sources = list(reader.owners(ids))
            if not (sources and reader.payloads([concept], "concept")):
                return Changes()
            if old is None:
                changes = plan_new_figures([figure], concept, sources, now_ms)
                changes.tie(
                    New(0),
                    "statistically_confirms",
                    concept,
                    "promote",
                    now_ms,
                    confidence=figure.confidence,
                )
                return changes
            return plan_restated_figure(reader, figure, old, concept, sources, now_ms)

        fields = {} if old is not None else _fields(self._parts, Category.SUMMARY, scope, ids)
        return Promotion(
            figure.text,
            "statistic",
            concept=concept,
            prepared=(Prepared(figure.text, fields),),
            decide=decide,
            restates=old,
        )


def _by_name(reader: KnowledgeReader, pattern: Admitted) -> int | None:
    """The concept of the pattern's category and scope whose name says the same."""
    candidate = pattern.candidate
    others = concepts_with(reader, "category", candidate.category, pattern.scope)
    names = reader.payloads(others, "concept")
    return next(
        (
            each
            for each, values in sorted(names.items())
            if is_same_pattern(values["name"], candidate.pattern_name)
        ),
        None,
    )
