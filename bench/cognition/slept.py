"""Observed conversations on disk, and what recall finds in them: the base of what sleep is asked.

Observing takes minutes, so each conversation is observed once and kept beside the vectors (see
``bench.recall.vectors``). Every experiment works on a copy. What observes has changed: it is made
anew.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import spector
from bench.cognition.keeping import message_of
from bench.machine import REPO
from bench.recall.sets import load
from bench.recall.shape import Question, Store
from bench.recall.vectors import Matrix, Memoised, Shelf, default_folder
from spector import Config, ManualClock, Memory
from spector.providers import MiniLMEmbedder

__all__ = ["DAYS", "K", "Talk", "found_by", "owners_of", "ratio", "talks", "waking"]

K: Final = 10
#: six months
DAYS: Final = 180
#: what decides how a message is stored
_OBSERVES: Final = ("observe", "language", "write", "store", "config")


class Shelved(Memoised):
    """An embedder that makes no vector twice, and gives the vectors of words as it is."""

    def __init__(self, embedder: MiniLMEmbedder, shelf: Shelf | None) -> None:
        super().__init__(embedder, shelf)
        self._inner = embedder

    def word_vectors(self, words: Sequence[str]) -> Matrix:
        """Of words in their context."""
        return self._inner.word_vectors(words)


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation: its store on disk, its questions, its embedder."""

    name: str
    folder: Path
    questions: tuple[Question, ...]
    #: the moment after its last message, in ms
    ends_ms: int
    embedder: Shelved
    #: tokens of its messages
    texts: Mapping[str, str]


def talks(names: Sequence[str] = ("locomo", "beam"), count: int | None = None) -> Iterator[Talk]:
    """The first ``count`` conversations of each set, each observed at its own times."""
    folder = default_folder()
    embedder = Shelved(MiniLMEmbedder(), Shelf(folder))
    for name in names:
        found = load(name)
        for store in found.stores[:count]:
            yield Talk(
                store.name,
                _observed(store, folder / "observed", embedder),
                tuple(each for each in found.questions if each.store == store.name and each.gold),
                _ms(store),
                embedder,
                {each.id: each.text for each in store.items},
            )


def _ms(store: Store) -> int:
    return int(store.until().timestamp() * 1000) + 60_000


def _observed(store: Store, folder: Path, embedder: Shelved) -> Path:
    """The store of a conversation, observed session by session as its time went on."""
    path, mark = folder / store.name, folder / f"{store.name}.mark"
    wanted = _mark()
    if path.is_dir() and mark.is_file() and mark.read_text(encoding="utf-8") == wanted:
        return path
    shutil.rmtree(path, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    clock = ManualClock(store.items[0].time or store.until())
    embedder.keep(each.text for each in store.items)
    with spector.open(path, embedder=embedder, clock=clock) as memory:
        for _, group in itertools.groupby(store.items, key=lambda each: each.session):
            items = list(group)
            clock.set(items[-1].time or store.until())
            memory.observe_many([message_of(each) for each in items], scopes_from_message=True)
    mark.write_text(wanted, encoding="utf-8")
    return path


def _mark() -> str:
    """A number that changes with what observes."""
    found = hashlib.sha256()
    for name in _OBSERVES:
        for path in sorted((REPO / "spector" / name).rglob("*")):
            if path.is_file() and path.suffix in (".py", ".txt", ".json", ".npz", ".tsv"):
                found.update(path.read_bytes())
    return found.hexdigest()


@contextmanager
def waking(
    talk: Talk, config: Config | None = None, *, days: float = 0
) -> Iterator[tuple[Memory, ManualClock]]:
    """A copy of a conversation's store, some days after its last message."""
    clock = ManualClock(talk.ends_ms)
    clock.advance(days=days)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = Path(folder, talk.name)
        shutil.copytree(talk.folder, path)
        with spector.open(
            path,
            embedder=talk.embedder,
            clock=clock,
            config=config or Config(),
            durability="relaxed",
        ) as memory:
            yield memory, clock


def owners_of(memory: Memory) -> dict[int, frozenset[str]]:
    """Memory -> the messages that it is from; a fact is from those that state it.

    What sleep makes of many messages is from none: it would be right by its size.
    """
    own = {
        each.id: frozenset([each.metadata["item"]])
        for each in memory.records()
        if "item" in each.metadata
    }
    out = dict(own)
    for fact in memory.facts.query():
        out[fact.id] = frozenset().union(*(own.get(each, frozenset()) for each in fact.sources))
    return out


def found_by(
    memory: Memory,
    questions: Sequence[Question],
    owners: Mapping[int, frozenset[str]],
    **options: Any,
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For each question, whether a message that answers it is among ten hits."""
    out = np.zeros(len(questions), bool)
    for n, question in enumerate(questions):
        hits = memory.recall(question.cue, k=K, **options)
        found = {
            owner for hit in hits for one in (hit.id, *hit.also) for owner in owners.get(one, ())
        }
        out[n] = bool(found & set(question.gold))
    return out


def ratio(after: np.ndarray[Any, Any], before: np.ndarray[Any, Any]) -> float:
    """The part of recall that is left."""
    return float(after.sum() / max(1, before.sum()))
