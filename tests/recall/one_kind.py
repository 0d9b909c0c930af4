"""Stores in which all memories are alike, and eight questions each that one memory answers.

Mechanism they stand for: where everything is an order, nothing is far from anything, so neither a
likeness nor how it stands out from that of other memories says whether there is an answer. Only a
number, a name or a value tells one memory from the next.

    for store in STORES:
        with spector.open(":memory:") as memory:
            ids = fill(memory, store)
            for question in store.questions:
                ...  # memory ``ids[question.answer]`` answers ``question.cue``
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from spector import Memory

__all__ = ["AMONG_ORDERS", "STORES", "Question", "Store", "fill", "withheld"]

_FIRST: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Question:
    """A cue and the number of the memory that answers it."""

    cue: str
    answer: int


@dataclass(frozen=True, slots=True)
class Store:
    """At least forty memories of one form, and eight questions."""

    name: str
    texts: tuple[str, ...]
    questions: tuple[Question, ...]


def fill(memory: Memory, store: Store, *, user_id: str = "u") -> list[int]:
    """Remember the texts of a store, an hour apart; the ids in their order."""
    items = [
        {"text": text, "user_id": user_id, "event_time": _FIRST + timedelta(hours=n)}
        for n, text in enumerate(store.texts)
    ]
    return [record.id for record in memory.remember_many(items)]


def withheld(memory: Memory, store: Store, **scope: str) -> list[str]:
    """The questions to which a context says nothing."""
    return [
        question.cue
        for question in store.questions
        if memory.context(question.cue, user_id=scope.get("user_id")).abstained
    ]


def _about(texts: tuple[str, ...], asked: dict[str, str]) -> tuple[Question, ...]:
    """Questions by a part of the one text that answers them."""
    out = []
    for cue, part in asked.items():
        (answer,) = [n for n, text in enumerate(texts) if part in text]
        out.append(Question(cue, answer))
    return tuple(out)


def _orders() -> Iterator[str]:
    towns = itertools.cycle(("Bursa", "Leeds", "Porto", "Graz", "Malmo", "Ghent", "Turin"))
    states = itertools.cycle(("packed", "shipped", "on hold", "delivered", "returned"))
    for n in range(48):
        yield f"Order {4688 + n} with {2 + n % 5} chairs for {next(towns)} is {next(states)}."


def _servers() -> Iterator[str]:
    sites = itertools.cycle(("Oslo", "Dublin", "Vienna", "Izmir"))
    systems = itertools.cycle(("Debian 12", "Rocky 9", "Ubuntu 24"))
    for n in range(45):
        memory = (8, 16, 32, 64, 128)[n * 7 % 5]
        yield f"Server web-{n + 1:02d} in {next(sites)} runs {next(systems)} with {memory} GB."


def _expenses() -> Iterator[str]:
    shops = tuple(
        (
            "Kahve Dunyasi | Book Nook | Green Grocer | Metro Tickets | Blue Taxi | "
            "Corner Bakery | Paint Depot | Cinema Rex | Fish Market | Shoe Barn | "
            "Flower Stall | Pizza Roma | Lamp House | City Pool | Toy Chest | Tea Garden | "
            "Bike Works | Paper Mill | Garden Centre | Dry Cleaner | Key Cutter | "
            "Noodle Bar | Pet Palace | Music Box | Phone Kiosk | Salad Stop | Tile Store | "
            "Wine Cellar | Yarn Shop | Zoo Entrance | Ice Rink | Museum Cafe | Night Bus | "
            "Opera Ticket | Photo Lab | Quilt Fair | Rail Card | Spice Route | "
            "Travel Desk | Used Books | Vet Clinic | Window Cleaner"
        ).split(" | ")
    )
    for n, shop in enumerate(shops):
        yield f"Spent {7 + 3 * n} euro at {shop}, paid by card."


_ORDERS: Final = tuple(_orders())
_SERVERS: Final = tuple(_servers())
_EXPENSES: Final = tuple(_expenses())

STORES: Final = (
    Store(
        "orders",
        _ORDERS,
        _about(
            _ORDERS,
            {
                "What is the status of order 4711?": "Order 4711 ",
                "Has order 4690 been delivered yet?": "Order 4690 ",
                "Where does 4702 go?": "Order 4702 ",
                "How many chairs are in order 4725?": "Order 4725 ",
                "Is #4733 on hold?": "Order 4733 ",
                "Tell me about order 4699.": "Order 4699 ",
                "4718 numaralı siparişin durumu ne?": "Order 4718 ",
                "Which town is order 4707 for?": "Order 4707 ",
            },
        ),
    ),
    Store(
        "servers",
        _SERVERS,
        _about(
            _SERVERS,
            {
                "Where is web-07?": "web-07 ",
                "How much memory does web-31 have?": "web-31 ",
                "Which system runs on web-12?": "web-12 ",
                "Is web-45 in Dublin?": "web-45 ",
                "What do we know about web-20?": "web-20 ",
                "Does server web-03 run Debian?": "web-03 ",
                "Which site hosts web-38?": "web-38 ",
                "web-26 hangi sistemle çalışıyor?": "web-26 ",
            },
        ),
    ),
    Store(
        "expenses",
        _EXPENSES,
        _about(
            _EXPENSES,
            {
                "How much did I spend at Book Nook?": "Book Nook",
                "How expensive was the veterinarian?": "Vet Clinic",
                "How much was it at Pizza Roma?": "Pizza Roma",
                "What did I pay for the Blue Taxi?": "Blue Taxi",
                "How many euro went to the Yarn Shop?": "Yarn Shop",
                "How much was the skating?": "Ice Rink",
                "Travel Desk için ne kadar harcadım?": "Travel Desk",
                "What was the price of the movie?": "Cinema Rex",
            },
        ),
    ),
)

_AMONG: Final = (
    *(f"Order #{2000 + n}: {1 + n % 4} x printer paper, shipped." for n in range(40)),
    "I am allergic to penicillin.",
    "My son Deniz plays handball on Saturdays.",
    "I repair clocks for a living.",
    "We keep bees behind the house.",
    "My sister lives in Trabzon.",
    "I take the night train to work.",
    "My landlord is called Mr. Okafor.",
    "I broke my ankle on the ice last winter.",
)
#: facts about their user in other words than the questions, beside forty that are alike
AMONG_ORDERS: Final = Store(
    "facts among orders",
    _AMONG,
    _about(
        _AMONG,
        {
            "Which medicine must I not take?": "penicillin",
            "What sport does my child do?": "handball",
            "What is my job?": "clocks",
            "Which animals do I have?": "bees",
            "Where does my sister live?": "Trabzon",
            "How do I commute?": "train",
            "Who owns my flat?": "Okafor",
            "Have I ever broken a bone?": "ankle",
        },
    ),
)
