"""Every question of a set put to the product in one way of writing: one row a question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from tqdm import tqdm

import spector
from bench.recall.protocol.names import Names, swapped
from bench.recall.protocol.ways import message_of
from bench.recall.shape import DataSet, Item, Question, Store
from spector import ScoringProfile
from spector.clock import ManualClock
from spector.providers import Embedder

__all__ = ["Manner", "Row", "asked_of", "asked_with", "texts_asked"]

#: where any@10 looks
FIRST: Final = 10
_DAY: Final = timedelta(days=1)
_TOKENS: Final = 1000
#: what a user says that holds until it is revoked, as far as a judge needs to know one
_INSTRUCTION: Final = re.compile(
    r"^\s*(?:please\s+)?(?:always|never)\b"
    r"|\b(?:when|whenever|every time) i (?:ask|request|mention)\b",
    re.IGNORECASE,
)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Manner:
    """How a set is told and asked.

    Attributes:
        way: a key of ``WAYS``. times: a key of ``TIMES``.
        others: other stores that each question is put to.
        selective: ask with ``selective=True`` as well.
        silence: ask for contexts, too. config: fields of ``Config``.
    """

    way: str = "role"
    times: str = "real"
    tier: str | None = None
    others: int = 1
    selective: bool = False
    silence: bool = True
    config: tuple[tuple[str, Any], ...] = ()


def asked_of(data: DataSet, manner: Manner, embedder: Embedder) -> Iterator[Row]:
    """The rows of a set, store by store.

    A row has the question's id, group, category and kind (``own``, ``none``: nothing answers it,
    ``stranger``: of another store, ``swapped``: the same with the names of the store asked). Own
    ones have ``ranks`` of their gold items (among the hits and, in the last of the first ten
    places, the standing ones; None: not returned), ``hits`` and ``found`` of the product's own cut,
    and ``instruction``: an instruction that is not gold came first. All have ``quoted``: memories
    in the context, 0 when it is silent.
    """
    foreign = _foreign(data, manner.others) if manner.silence else {}
    total = len(data.questions) + sum(map(len, foreign.values()))
    bar = tqdm(total=total, desc=f"{data.name}: {manner.way}", unit="cue", disable=None)
    for store, questions in data.by_store():
        with _told(store, manner, embedder) as mind:
            for question in questions:
                yield mind.own(question)
                bar.update()
            for kind, each in foreign.get(store.name, ()):
                yield mind.silence(each, kind)
                bar.update()
    bar.close()


def asked_with(
    data: DataSet, manner: Manner, embedder: Embedder, profiles: Mapping[str, ScoringProfile]
) -> dict[str, list[Row]]:
    """Profile -> the rows of own questions, without contexts; each store is told once."""
    out: dict[str, list[Row]] = {name: [] for name in profiles}
    total = len(data.answerable) * len(profiles)
    bar = tqdm(total=total, desc=f"{data.name}: {manner.way}", unit="cue", disable=None)
    for store, questions in data.by_store():
        with _told(store, replace(manner, silence=False), embedder) as mind:
            for name, profile in profiles.items():
                for question in questions:
                    if question.gold:
                        out[name].append(mind.own(question, profile=profile))
                        bar.update()
    bar.close()
    return out


def texts_asked(data: DataSet, others: int = 1) -> list[str]:
    """Every cue that ``asked_of`` will put."""
    cues = [each.cue for each in data.questions]
    return cues + [each.cue for listed in _foreign(data, others).values() for _, each in listed]


def _foreign(data: DataSet, others: int) -> dict[str, list[tuple[str, Question]]]:
    """Store -> (kind, question) of the stores before it, in a circle. Sets of stores whose
    questions all stores can answer have none."""
    if len(data.stores) < 2 or data.name not in STRANGE:
        return {}
    names = [store.name for store in data.stores]
    known = {store.name: Names(store) for store in data.stores}
    until = {store.name: store.until() + _DAY for store in data.stores}
    out: dict[str, list[tuple[str, Question]]] = {name: [] for name in names}
    for step in range(1, min(len(names), others + 1)):
        for each in data.answerable:
            to = names[(names.index(each.store) + step) % len(names)]
            now, id_ = until[to], f"{each.id} to {to}"
            cue = swapped(each.cue, known[each.store], known[to])
            out[to].append(("stranger", _put(each, id_, each.cue, now)))
            out[to].append(("swapped", _put(each, id_, cue, now)))
    return out


#: sets whose stores know nothing of one another
STRANGE: Final = frozenset({"locomo", "beam"})


def _put(each: Question, id_: str, cue: str, now: datetime) -> Question:
    return Question(id_, each.store, cue, each.category, (), now, each.group)


def _told(store: Store, manner: Manner, embedder: Embedder) -> _Mind:
    clock = ManualClock(store.until())
    memory = spector.open(
        ":memory:",
        embedder=embedder,
        clock=clock,
        durability="relaxed",
        config=spector.Config(**dict(manner.config)),
    )
    try:
        records = memory.remember_many(
            message_of(item, manner.way, manner.times, manner.tier) for item in store.items
        )
    except BaseException:
        memory.close()
        raise
    names = {record.id: item.id for record, item in zip(records, store.items, strict=True)}
    return _Mind(memory, clock, store, names, manner)


class _Mind:
    """A memory that has been told a store."""

    def __init__(
        self,
        memory: spector.Memory,
        clock: ManualClock,
        store: Store,
        names: dict[int, str],
        manner: Manner,
    ) -> None:
        self._memory, self._clock, self._names, self._manner = memory, clock, names, manner
        self._until = store.until()
        self._instructions = {item.id for item in store.items if _is_instruction(item)}

    def __enter__(self) -> _Mind:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.close()

    def own(self, question: Question, **options: Any) -> Row:
        """Of a question to its own store; options of ``recall``."""
        row = self.silence(question, "own" if question.gold else "none")
        row |= self._recalled(question, **options)
        if self._manner.selective:
            found = self._memory.recall(question.cue, selective=True, **options)
            row["selective_hits"] = len(found)
            row["selective_found"] = len(self._gold_among(found, question))
        return row

    def silence(self, question: Question, kind: str) -> Row:
        """What the context says to it; nothing else is asked."""
        self._clock.set(question.now or self._until)
        row: Row = {
            "question": question.id,
            "group": question.group,
            "category": question.category,
            "kind": kind,
        }
        if self._manner.silence:
            said = self._memory.context(question.cue, max_tokens=_TOKENS)
            row["quoted"], row["tokens"] = len(said.hits), said.tokens
        return row

    def _recalled(self, question: Question, **options: Any) -> Row:
        hits = self._memory.recall(question.cue, **options)
        standing = tuple(getattr(hits, "standing", ()))
        shown = [*hits[: FIRST - len(standing)], *standing, *hits[FIRST - len(standing) :]]
        rank: dict[str, int] = {}
        for n, hit in enumerate(shown, 1):
            for item in self._items_of(hit):
                rank.setdefault(item, n)
        first = self._names[hits[0].id] if hits else None
        return {
            "ranks": [rank.get(each) for each in question.gold],
            "hits": len(hits),
            "found": len(self._gold_among(hits, question)),
            "instruction": first in self._instructions and first not in question.gold,
        }

    def _gold_among(self, hits: Sequence[spector.Hit], question: Question) -> set[str]:
        return {item for hit in hits for item in self._items_of(hit)} & set(question.gold)

    def _items_of(self, hit: spector.Hit) -> list[str]:
        """The item of a hit, and of the memories of equal words that it stands for."""
        ids = (hit.id, *getattr(hit, "also", ()))
        return [self._names[each] for each in ids if each in self._names]


def _is_instruction(item: Item) -> bool:
    return item.speaker == "user" and bool(_INSTRUCTION.search(item.text))
