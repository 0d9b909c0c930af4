"""The form of every set: stores of dated texts, and questions with known answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

#: the instant of texts that have no time
SOME_DAY: Final = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Item:
    """One text to remember. ``id`` is unique in its store; ``order`` counts the store's texts."""

    id: str
    text: str
    speaker: str
    session: str
    time: datetime | None
    order: int


@dataclass(frozen=True, slots=True)
class Store:
    """What one mind has been told, oldest first."""

    name: str
    items: tuple[Item, ...]

    def until(self) -> datetime:
        """When the last text was told; some fixed day for texts without a time."""
        return max((item.time for item in self.items if item.time), default=SOME_DAY)


@dataclass(frozen=True, slots=True)
class Question:
    """A cue put to a store. ``gold`` is empty when nothing in the store answers it.

    ``group`` is what a bootstrap draws: questions of one group are not independent.
    """

    id: str
    store: str
    cue: str
    category: str
    gold: tuple[str, ...]
    now: datetime | None
    group: str


@dataclass(frozen=True, slots=True)
class DataSet:
    """Stores and the questions asked of them."""

    name: str
    title: str
    stores: tuple[Store, ...]
    questions: tuple[Question, ...]
    #: what was repaired or left out while reading, for the report
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        known = {store.name: {item.id for item in store.items} for store in self.stores}
        assert len(known) == len(self.stores), "store names repeat"
        for store in self.stores:
            assert len(known[store.name]) == len(store.items), f"{store.name}: item ids repeat"
        for question in self.questions:
            lost = set(question.gold) - known[question.store]
            assert not lost, f"{question.id}: gold {lost} is not in its store"

    @property
    def answerable(self) -> tuple[Question, ...]:
        """Questions with at least one gold item, which is what recall can be measured on."""
        return tuple(question for question in self.questions if question.gold)

    def by_store(self) -> Iterator[tuple[Store, list[Question]]]:
        """Each store with its questions, those without an answer included."""
        for store in self.stores:
            yield store, [each for each in self.questions if each.store == store.name]
