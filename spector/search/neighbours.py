"""Memories that a new one may repeat or change: the best of each channel, each by itself.

Fused ranks hide a twin that one channel has first, so the
best by vector, by words and by slot are taken side by side. No score is changed, none is returned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import DEFAULT_DROP_FLAGS, dots, get_profile, norm
from spector.knowledge import DESCRIBING, KnowledgeReader, declared
from spector.language.words import analyse, cue_terms, folded
from spector.layout import Flag
from spector.records import Hit, MemoryRecord
from spector.search.associations import knowledge_of
from spector.search.features import places_of
from spector.search.plan import Plan, allowed_records
from spector.search.request import Cue, RecallRequest, Selection
from spector.search.scoring import best_by_score, hits_of
from spector.search.searcher import Searcher
from spector.search.snapshot import vectors_of
from spector.store.catalog import WITHOUT_USER

#: (subject, predicate) of a statement
Slot = tuple[str, str]

TIERS: Final = ("episodic", "semantic")
#: words of a long text that are looked up
_MOST_TERMS: Final = 48
#: memories by words that are looked at until enough pass the filters
_BY_WORDS: Final = 64
#: memories whose places are looked up together
_AT_ONCE: Final = 512
#: facts of one slot that are looked at, the newest
_OF_SLOT: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbour:
    """A memory near to a new one.

    Attributes:
        likeness: cosine to the new one; None where one of them has no vector.
        sorts: of its payloads, a fact counts as one. fact: its row, where it is a fact.
        observed: what observing it kept beside it; None where it was remembered.
    """

    record: MemoryRecord
    likeness: float | None
    sorts: frozenset[str] = frozenset()
    fact: Mapping[str, Any] | None = None
    observed: Mapping[str, Any] | None = None

    @property
    def id(self) -> int:
        """Of the memory."""
        return self.record.id


class Neighbours:
    """Finds neighbours in a store as it is now. Thread-safe, as the searcher is."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    def find(
        self,
        text: str,
        vector: NDArray[np.float32] | None,
        *,
        user_id: str | None,
        now_ms: int,
        slots: Collection[Slot] = (),
        count: int = 5,
        channels: Collection[str] | None = None,
    ) -> list[Neighbour]:
        """The best ``count`` of each channel, episodic and semantic, each once; dormant ones too.

        Args:
            text: of the new memory. vector: (dim,) f32, its own.
            user_id: the scope; memories without a user are a scope of their own.
            slots: what the new memory states; facts of a slot and their sources are found by it.
            channels: of "vector", "words", "slot", among what was said; None for all, and facts.
        """
        request = _request(text, vector, user_id, now_ms, count, derived=channels is None)
        wanted = {"vector", "words", "slot"} if channels is None else set(channels)

        def look(plan: Plan) -> list[Neighbour]:
            found: dict[int, Hit] = {}
            with knowledge_of(plan) as reader:
                if "vector" in wanted and vector is not None:
                    found |= _by_id(best_by_score(plan))
                if "words" in wanted:
                    found |= _by_id(_by_words(plan, text, count))
                if "slot" in wanted and slots:
                    ids = _of_slots(reader, user_id or "", slots)
                    found |= _by_id(hits_of(plan, ids, most=count))
                return _described(reader, [*found.values()], vector)

        return self._searcher.look(request, look)

    def likeness(self, *, user_id: str | None, now_ms: int, count: int = 200) -> list[float]:
        """The cosine of each of a user's first memories to the most alike of the others, ascending.

        Args:
            count: memories that are looked at; the oldest, so that the answer stays as they do.
        """

        def look(plan: Plan) -> list[float]:
            hits: list[Hit] = []
            for view in plan.views:
                for start in range(0, len(view), _AT_ONCE):
                    if len(hits) >= count:
                        break
                    ids = view.ids(np.arange(start, min(start + _AT_ONCE, len(view)))).tolist()
                    hits += hits_of(plan, ids, most=count - len(hits))
            found, out = hits[:count], list[float]()
            vectors = np.ascontiguousarray(vectors_of(found)) if found else np.zeros((0, 1))
            for n, own in enumerate(vectors):
                alike = _cosines(found, own)
                others = [each for at, each in enumerate(alike) if at != n and each is not None]
                if others:
                    out.append(max(others))
            return sorted(out)

        return self._searcher.look(_request("", None, user_id, now_ms, count), look)

    def predicates(self) -> frozenset[str]:
        """Predicates that callers declared as having one value at a time."""

        def look(plan: Plan) -> frozenset[str]:
            with knowledge_of(plan) as reader:
                return frozenset(declared(reader).single if reader.holds_any else ())

        return self._searcher.look(_request("", None, None, 0, 1), look)


def _described(
    reader: KnowledgeReader, hits: Sequence[Hit], vector: NDArray[np.float32] | None
) -> list[Neighbour]:
    if not hits:
        return []
    likeness = _cosines(hits, vector)
    ids = [hit.id for hit in hits]
    sorts = reader.sorts(ids)
    facts = {row["id"]: row for row in reader.facts(id=ids)} if sorts else {}
    observed = reader.payloads(ids, "observed") if sorts else {}
    return [
        Neighbour(
            record=hit.record,
            likeness=like,
            sorts=frozenset(sorts.get(hit.id, ())) - DESCRIBING,
            fact=facts.get(hit.id),
            observed=observed.get(hit.id),
        )
        for hit, like in zip(hits, likeness, strict=True)
    ]


def _request(
    text: str,
    vector: NDArray[np.float32] | None,
    user_id: str | None,
    now_ms: int,
    count: int,
    *,
    derived: bool = False,
) -> RecallRequest:
    selection = Selection(
        tiers=TIERS, user_id=user_id, where=WITHOUT_USER if user_id is None else None
    )
    drop = DEFAULT_DROP_FLAGS & ~int(Flag.DORMANT | (Flag.AUXILIARY if derived else 0))
    return RecallRequest(
        cue=Cue(text, vector),
        k=count,
        selection=selection,
        profile=get_profile("similarity"),
        now_ms=now_ms,
        drop_flags=drop,
        exact=True,
        lexical=False,
    )


def _by_id(hits: Iterable[Hit]) -> dict[int, Hit]:
    return {hit.id: hit for hit in hits}


def _by_words(plan: Plan, text: str, count: int) -> list[Hit]:
    """The best by BM25 over the words of a text, of every store."""
    terms = cue_terms(analyse(text))
    found: list[Hit] = []
    for n, view in enumerate(plan.views):
        if not view.n_rows or not terms:
            continue
        some = terms if len(terms) <= _MOST_TERMS else view.informative(terms, _MOST_TERMS)
        looked_up = view.look_up(some)
        rows, _ = view.best(looked_up, k=_BY_WORDS)
        hits = hits_of(plan, view.ids(rows).tolist(), most=count)
        if len(hits) < count and len(rows) == _BY_WORDS:  # others' memories have the words too
            allow = allowed_records(plan).allow
            mask = allow.admits(*places_of(plan.snap, n, view, np.arange(len(view))))
            rows, _ = view.best(looked_up, k=count, allow=mask)
            hits = hits_of(plan, view.ids(rows).tolist(), most=count)
        found += hits
    return found


def _of_slots(reader: KnowledgeReader, scope: str, slots: Collection[Slot]) -> list[int]:
    """Facts that hold of some slots and the memories that state them, the newest facts first."""
    if not reader.holds_any:
        return []
    rows: dict[int, None] = {}
    for subject, predicate in dict.fromkeys(slots):
        name = folded(predicate)
        found = reader.facts(
            scope=scope, subject=folded(subject), predicate=[name, f"not_{name}"], holds=1
        )
        rows |= dict.fromkeys(row["id"] for row in found[-_OF_SLOT:])
    newest = sorted(rows, reverse=True)
    sources = reader.sources(newest)
    return list(dict.fromkeys(each for fact in newest for each in (fact, *sources.get(fact, ()))))


def _cosines(hits: Sequence[Hit], vector: NDArray[np.float32] | None) -> list[float | None]:
    """Cosine of each hit to a vector; None for a hit without one."""
    if vector is None:
        return [None] * len(hits)
    stored = np.ascontiguousarray(vectors_of(hits)[:, : len(vector)])
    norms = [float(norm(each)) for each in stored]
    length = float(norm(vector))
    products = dots(stored, vector).tolist()
    return [
        max(-1.0, min(1.0, value / (size * length))) if size and length else None
        for value, size in zip(products, norms, strict=True)
    ]
