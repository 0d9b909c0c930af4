"""Every question of a set put to the product in one way of writing: one row a question.

A measurement that gives the speaker as ``role=`` says nothing of stores where the name only opens
the text, so every run is made in all ways; the worse of ``role`` and ``name`` is the headline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

from tqdm import tqdm

import spector
from bench.recall import sets
from bench.recall.names import Names, swapped
from bench.recall.shape import SOME_DAY, DataSet, Item, Question, Store
from bench.vectors import Memoised
from spector.clock import ManualClock
from spector.providers import Embedder, MiniLMEmbedder

__all__ = ["SETS", "WAYS", "Row", "asked_of", "measure"]

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
#: way -> what of a speaker is written
WAYS: Final[dict[str, Callable[[Item], dict[str, Any]]]] = {
    "role": lambda item: {"text": item.text, "role": item.speaker or None},
    "name": lambda item: {"text": f"{item.speaker}: {item.text}" if item.speaker else item.text},
    "words": lambda item: {"text": item.text},
}
#: name -> (way -> how it is read); a way that would be the same as another is left out
SETS: Final[dict[str, dict[str, str]]] = {
    "locomo": dict.fromkeys(WAYS, "locomo"),
    "beam": dict.fromkeys(WAYS, "beam"),
    "prefeval-chat": dict.fromkeys(WAYS, "prefeval-chat"),
    # its memories have no speaker, but the turns of a cue may have
    "madial": {"role": "madial-named", "words": "madial"},
    "prefeval": {"role": "prefeval"},
}
#: sets whose stores know nothing of one another
STRANGE: Final = frozenset({"locomo", "beam"})

Row = dict[str, Any]


def measure(name: str, way: str, config: Sequence[str] = (), silence: bool = True) -> list[Row]:
    """The rows of a set; empty where this way is the same as another.

    ``config``: fields of ``Config`` as ``name=value``. ``silence``: ask for contexts, too.
    """
    if way not in SETS[name]:
        return []
    fields = {field: json.loads(value) for field, _, value in (c.partition("=") for c in config)}
    data, embedder = sets.load(SETS[name][way]), Memoised(MiniLMEmbedder(threads=1))
    return list(asked_of(data, way, embedder, silence, **fields))


def message_of(item: Item, way: str) -> dict[str, Any]:
    """The arguments of ``remember`` for an item."""
    told = {"event_time": item.time or SOME_DAY, "session_id": item.session or None}
    return {**WAYS[way](item), **told}


def asked_of(
    data: DataSet, way: str, embedder: Embedder, silence: bool = True, **config: Any
) -> Iterator[Row]:
    """The rows of a set, store by store.

    A row has the question's id, group, category and kind (``own``, ``none``: nothing answers it,
    ``stranger``: of another store, ``swapped``: the same with the names of the store asked). Own
    ones have ``ranks`` of their gold items (among the hits and, in the last of the first ten
    places, the standing ones; None: not returned), ``hits`` of the product's own cut,
    and ``instruction``: an instruction that is not gold came first. All have ``quoted``: memories
    in the context, 0 when it is silent.
    """
    foreign = _foreign(data) if silence else {}
    total = len(data.questions) + sum(map(len, foreign.values()))
    bar = tqdm(total=total, desc=f"{data.name}: {way}", unit="cue", disable=None)
    for store, questions in data.by_store():
        clock = ManualClock(store.until())
        with spector.open(
            ":memory:",
            embedder=embedder,
            clock=clock,
            durability="relaxed",
            config=spector.Config(**config),
        ) as memory:
            records = memory.remember_many(message_of(item, way) for item in store.items)
            names = {record.id: item.id for record, item in zip(records, store.items, strict=True)}
            mind = Mind(memory, store, names)
            own = [("own" if each.gold else "none", each) for each in questions]
            for kind, each in (*own, *foreign.get(store.name, ())):
                clock.set(each.now or store.until())
                row: Row = {
                    "question": each.id,
                    "group": each.group,
                    "category": each.category,
                    "kind": kind,
                }
                if silence:
                    said = memory.context(each.cue, max_tokens=_TOKENS)
                    row["quoted"], row["tokens"] = len(said.hits), said.tokens
                if kind in ("own", "none"):
                    row |= mind.recalled(each)
                yield row
                bar.update()
    bar.close()


def _foreign(data: DataSet) -> dict[str, list[tuple[str, Question]]]:
    """Store -> (kind, question) of the store before it, in a circle. Sets of stores whose
    questions all stores can answer have none."""
    if len(data.stores) < 2 or data.name not in STRANGE:
        return {}
    names = [store.name for store in data.stores]
    known = {store.name: Names(store) for store in data.stores}
    until = {store.name: store.until() + _DAY for store in data.stores}
    out: dict[str, list[tuple[str, Question]]] = {name: [] for name in names}
    for each in data.answerable:
        to = names[(names.index(each.store) + 1) % len(names)]
        cue = swapped(each.cue, known[each.store], known[to])
        for kind, asked in (("stranger", each.cue), ("swapped", cue)):
            put = Question(
                f"{each.id} to {to}", each.store, asked, each.category, (), until[to], each.group
            )
            out[to].append((kind, put))
    return out


class Mind:
    """A memory that has been told a store; ``names``: memory -> item."""

    def __init__(self, memory: spector.Memory, store: Store, names: dict[int, str]) -> None:
        self._memory, self._names = memory, names
        self._instructions = {
            item.id
            for item in store.items
            if item.speaker == "user" and _INSTRUCTION.search(item.text)
        }

    def recalled(self, question: Question) -> Row:
        hits = self._memory.recall(question.cue)
        standing = tuple(hits.standing)
        shown = [*hits[: FIRST - len(standing)], *standing, *hits[FIRST - len(standing) :]]
        rank: dict[str, int] = {}
        for n, hit in enumerate(shown, 1):
            # and of the memories of equal words that it stands for
            for each in (hit.id, *hit.also):
                if each in self._names:
                    rank.setdefault(self._names[each], n)
        first = self._names[hits[0].id] if hits else None
        return {
            "ranks": [rank.get(each) for each in question.gold],
            "hits": len(hits),
            "instruction": first in self._instructions and first not in question.gold,
        }
