"""The form of every set: stores of dated texts, and questions with known answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

#: the instant of texts that have no time
SOME_DAY: Final = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Item:
    """One text to remember. ``id`` is unique in its store; ``order`` counts the store's texts.

    ``parts`` are the texts that it was put together from: the turns of a session.
    """

    id: str
    text: str
    speaker: str
    session: str
    time: datetime | None
    order: int
    parts: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Store:
    """What one mind has been told, oldest first."""

    name: str
    items: tuple[Item, ...]

    def texts(self, by_parts: bool = False) -> tuple[Item, ...]:
        """The items, or with ``by_parts`` the parts in the place of an item that has some."""
        if not by_parts:
            return self.items
        return tuple(part for item in self.items for part in item.parts or (item,))

    def until(self) -> datetime:
        """When the last text was told; some fixed day for texts without a time."""
        return max((item.time for item in self.items if item.time), default=SOME_DAY)

    def place_of(self) -> dict[str, int]:
        """Item id -> its row in everything that is computed for this store."""
        return {item.id: row for row, item in enumerate(self.items)}

    def sessions(self) -> list[str]:
        """The session of each item."""
        return [item.session for item in self.items]


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

    def categories(self) -> list[str]:
        """Those of the answerable questions, most frequent first."""
        counts = Counter(question.category for question in self.answerable)
        return [name for name, _ in counts.most_common()]


def folds(data: DataSet, count: int) -> list[tuple[str, ...]]:
    """Groups of questions dealt into ``count`` folds of nearly equal size, always the same way.

    The largest group goes to the emptiest fold, so that no fold is left with crumbs. There are
    never more folds than groups.
    """
    sizes = Counter(question.group for question in data.answerable)
    parts: list[list[str]] = [[] for _ in range(min(count, len(sizes)))]
    weights = [0] * len(parts)
    for name, size in sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0])):
        at = weights.index(min(weights))
        parts[at].append(name)
        weights[at] += size
    return [tuple(sorted(part)) for part in parts]


def of_groups(questions: Sequence[Question], groups: Sequence[str]) -> list[Question]:
    """The questions that belong to one of the groups."""
    wanted = set(groups)
    return [question for question in questions if question.group in wanted]
