"""BM25, neighbours and fields computed the plain way, and an index over a list of texts."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from spector.language.statements.form import MemoryText
from spector.language.words.analysis import Term, analyse, field_terms
from spector.lexical.index import SlotEntry

__all__ = ["Shelf", "Span", "bm25", "neighbours_of", "terms_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """A partition that exists only as numbers."""

    segment_id: int
    slots: int
    live: int
    generation: int = 0
    overwrites: int = 0


@dataclass(slots=True)
class Shelf:
    """A source of texts: partitions of slots, each with a memory or None."""

    partitions: dict[int, list[MemoryText | None]] = field(default_factory=dict)
    generations: dict[int, int] = field(default_factory=dict)
    read: int = 0
    used: int = 0

    def fresh(self) -> int:
        """The number of a new partition; none is used twice."""
        self.used += 1
        self.partitions[self.used] = []
        return self.used

    def some(self, rng: random.Random) -> int:
        """One of three partitions, or a new one."""
        return rng.choice(list(self.partitions)) if len(self.partitions) > 2 else self.fresh()

    def put(self, segment_id: int, text: MemoryText) -> None:
        slots = self.partitions.setdefault(segment_id, [])
        slots.append(text._replace(segment_id=segment_id, slot=len(slots)))

    def spans(self) -> tuple[Span, ...]:
        return tuple(
            Span(n, len(slots), sum(t is not None for t in slots), self.generations.get(n, 0))
            for n, slots in self.partitions.items()
        )

    def all(self) -> list[MemoryText]:
        return [text for slots in self.partitions.values() for text in slots if text is not None]

    def everything(self) -> Iterator[MemoryText]:
        for text in sorted(self.all(), key=lambda text: text.id):
            self.read += 1
            yield text

    def texts(self, segment_id: int, first: int, stop: int) -> Iterator[MemoryText]:
        for text in self.partitions[segment_id][first:stop]:
            if text is not None:
                self.read += 1
                yield text

    def known(self, segment_id: int) -> Iterable[SlotEntry]:
        texts = self.partitions[segment_id]
        return [SlotEntry(t.id, t.slot, t.seal) for t in texts if t is not None]


def terms_of(text: MemoryText) -> tuple[Counter[str], tuple[str, ...], int]:
    """Occurrences in the text, terms of the field, content words."""
    found = analyse(text.text)
    content = found.content()
    terms = field_terms(text.speaker, text.event_ms, turkish=found.turkish)
    return Counter(found.words + found.joined), terms, len(content)


def bm25(
    texts: Sequence[MemoryText], terms: Sequence[Term], k1: float = 0.6, b: float = 0.75
) -> dict[int, float]:
    """id -> score of every text with any of the terms."""
    read = {text.id: terms_of(text) for text in texts}
    sizes = {n: length + len(fields) for n, (_, fields, length) in read.items()}
    mean = max(1.0, sum(sizes.values()) / max(1, len(sizes)))
    scores: dict[int, float] = {}
    for term in terms:
        pairs = read.items()
        tf = {n: counts[term.text] + (term.text in fields) for n, (counts, fields, _) in pairs}
        df = sum(1 for value in tf.values() if value)
        idf = math.log1p((len(texts) - df + 0.5) / (df + 0.5))
        for n, value in tf.items():
            if value:
                norm = k1 * (1 - b + b * sizes[n] / mean)
                scores[n] = scores.get(n, 0.0) + idf * (k1 + 1) * value / (value + norm)
    return scores


def neighbours_of(texts: Sequence[MemoryText], record_id: int, reach: int) -> list[int]:
    """Ids before and after a memory in its session, -1 where none."""
    me = next(text for text in texts if text.id == record_id)
    out = [-1] * (2 * reach)
    if not me.session_id:
        return out
    chain = sorted((t.event_ms, t.id) for t in texts if t.session_id == me.session_id)
    at = chain.index((me.event_ms, me.id))
    for step in range(1, reach + 1):
        if at - step >= 0:
            out[step - 1] = chain[at - step][1]
        if at + step < len(chain):
            out[reach + step - 1] = chain[at + step][1]
    return out
