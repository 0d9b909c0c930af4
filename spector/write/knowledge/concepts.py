"""Takes over what episodes name as concepts: a run of memories is one commit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.knowledge import Changes, KnowledgeReader, concepts_with
from spector.knowledge.induction import (
    Element,
    Extracted,
    Named,
    concept_of,
    named_after,
    named_in,
    plan_extraction,
)
from spector.layout import HEADER_BYTES, MUTABLE_DTYPE, Category, Flag
from spector.providers import embedded
from spector.records import MemoryRecord
from spector.store.core import Store, current_image
from spector.write.changing import Change
from spector.write.context import WriteContext
from spector.write.knowledge.commit import KnowledgeWriter, Prepared, UnpreparedError

__all__ = ["SAME_CONCEPT", "ConceptExtractor", "ConceptRun", "codes_of", "cosines", "vector_field"]

#: concepts of a category whose words are as alike as this are one
SAME_CONCEPT: Final = 0.92


#: more memories than a store can have
_NEVER: Final = 1 << 62
#: the state of sleep in a store that never slept
_NEVER_SLEPT: Final[dict[str, Any]] = {
    "one": 1,
    "cycle": 0,
    "started_ms": 0,
    "step": "",
    "cursor": 0,
    "decayed_ms": 0,
    "extracted_id": 0,
    "abstracted_id": 0,
    "compressed_ms": 0,
    "tested_ms": 0,
    "seed": 0,
    "recent": "{}",
    "central": "{}",
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
    left_out: int = 0
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
        with self._knowledge.reading() as reader:
            named = named_after(reader, after_id, limit, **self._shared())
        return self._take(named, keep_cursor=keep_cursor)

    def extract_from(self, memories: Collection[int], *, keep_cursor: bool = False) -> Extracted:
        """The same for chosen memories, whatever the cursor says."""
        with self._knowledge.reading() as reader:
            named = named_in(reader, sorted(memories), max(memories, default=0), **self._shared())
        return self._take(named, keep_cursor=keep_cursor)

    def _shared(self) -> dict[str, int]:
        """From how many memories and sessions on an entity is a concept; where they move, never."""
        sleep = self._parts.config.sleep
        moves = sleep.promote_by_entity == "move"
        return {
            "entity_memories": _NEVER if moves else sleep.promote_entity_memories,
            "entity_sessions": sleep.promote_entity_sessions,
        }

    def cursor(self) -> int:
        """Up to which id memories have been taken over."""
        with self._knowledge.reading() as reader:
            state = reader.sleep_state()
        return 0 if state is None else int(state["extracted_id"])

    def _take(self, named: Named, *, keep_cursor: bool) -> Extracted:
        if not (named.elements or named.episodes):
            return Extracted(named.last_id, named.memories)
        for _ in range(3):
            try:
                return self._commit(named, keep_cursor)
            except UnpreparedError:  # forgotten between the two looks
                continue
        return self._commit(named, keep_cursor)

    def concepts_after(self, after_id: int, limit: int) -> ConceptRun:
        """The same as a plan for a caller who commits it; `extract_concepts` says what it holds."""
        with self._knowledge.reading() as reader:
            named = named_after(reader, after_id, limit, **self._shared())
        if not (named.elements or named.episodes):
            return ConceptRun(named, ())
        return self._run(named)

    def _run(self, named: Named) -> ConceptRun:
        """What taking over a run takes: texts with their vectors, and the decision."""
        with self._knowledge.reading() as reader:
            fresh = [each for each in named.elements if concept_of(reader, each) is None]
            vectors = self._vectors([named.elements[each][0] for each in fresh])
            alike = self._alike(reader, fresh, vectors)
            room = {
                scope: self._room(reader, scope, len(fresh))
                for scope in {each.scope for each in named.elements}
            }
        places = {each: n for n, each in enumerate(fresh)}
        prepared = [
            Prepared(
                named.elements[each][0],
                _fields(each)
                | (
                    vector_field(self._parts, named.elements[each][1])
                    if vectors is None
                    else {"vector": vectors[n]}
                ),
            )
            for n, each in enumerate(fresh)
        ]
        run, knowledge = ConceptRun(named, prepared), self._parts.config.knowledge

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            run.is_stale = any(
                each not in places and concept_of(reader, each) is None for each in named.elements
            )
            if run.is_stale:
                return Changes()
            changes, found, run.left_out = plan_extraction(
                reader,
                named,
                now_ms,
                places=places,
                alike=alike,
                room=room,
                rate=knowledge.association_rate,
                most_references=knowledge.max_refs,
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
            run.left_out,
        )

    def _vectors(self, names: Sequence[str]) -> NDArray[np.float32] | None:
        """(n, dim) f32 of names; None without an embedder."""
        if self._parts.embedder is None or not names:
            return None
        return embedded(self._parts.embedder, list(names))

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
            bool(int(np.frombuffer(row.mutable, MUTABLE_DTYPE)[0]["flags"]) & Flag.DORMANT)
            for row in store.catalog.fetch(ids).values()
        )
        return max(0, left + asleep)


def _fields(element: Element) -> dict[str, Any]:
    fields: dict[str, Any] = {"tier": "semantic", "category": Category.ENTITY}
    return fields | ({"user_id": element.scope} if element.scope else {})


def vector_field(parts: WriteContext, sources: Sequence[int]) -> dict[str, Any]:
    """The field ``vector`` of a concept in a store without an embedder: the mean of its sources."""
    if parts.embedder is not None:
        return {}
    _, codes = codes_of(parts.router.durable_store(), parts.dim, sources)
    if not len(codes):
        return {}
    units = codes / np.maximum(np.sqrt(np.square(codes).sum(axis=1, keepdims=True)), 1e-12)
    mean = units.mean(axis=0)
    return {"vector": mean if np.any(mean) else units[0]}


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


def _best(cue: NDArray[np.float32], table: NDArray[np.float32]) -> int | None:
    """The row of a table that is as good as the cue, the likeliest; None without one."""
    if not len(table):
        return None
    found = cosines(cue, table)
    best = int(found.argmax())
    return best if found[best] >= SAME_CONCEPT else None
