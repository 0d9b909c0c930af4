"""Contexts of stores whose memories are all of one kind.

Mechanism: whether a store seems to have an answer was judged by how alike its memories are to each
other. Damage: beside forty order lines, or among forty recipes, no memory is ever liker to a cue
than they are to one another, and answerable questions were met with silence. Guard: five such
stores, written for this project, whose every question has its answer in one memory, and questions
about nothing in any of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import spector
from spector import ManualClock, Memory
from spector.clock import to_ms
from tests.cases import Cases
from tests.recall.one_kind import STORES, Store, fill, withheld

cases = Cases(__file__)

NOW = to_ms("2026-06-10T09:00:00Z")

RECIPES = [
    f"{dish} is cooked for {minutes} minutes with {spice}."
    for dish, minutes, spice in (
        ("Lentil soup", 35, "cumin"),
        ("Mushroom risotto", 28, "parmesan"),
        ("Fish stew", 40, "saffron"),
        ("Roast chicken", 75, "thyme"),
        ("Beef chili", 120, "cocoa"),
        ("Pumpkin curry", 30, "ginger"),
        ("Onion tart", 45, "nutmeg"),
        ("Rice pudding", 50, "vanilla"),
        ("Stuffed peppers", 60, "mint"),
        ("Bean salad", 15, "sumac"),
        ("Apple crumble", 40, "cinnamon"),
        ("Noodle broth", 20, "star anise"),
        ("Potato gratin", 70, "garlic"),
        ("Spinach pie", 55, "dill"),
    )
]
TICKETS = [
    f"Ticket {1200 + n}: {what}, assigned to {who}."
    for n, (what, who) in enumerate(
        (
            ("the login page times out", "Mira"),
            ("invoices show the wrong currency", "Jonas"),
            ("search ignores accents", "Petra"),
            ("the export button does nothing", "Mira"),
            ("avatars are cropped on tablets", "Sami"),
            ("reminders arrive twice", "Jonas"),
            ("the dark theme hides links", "Petra"),
            ("backups fail on Sundays", "Sami"),
            ("the map does not load offline", "Mira"),
            ("passwords with spaces are refused", "Jonas"),
            ("the calendar skips leap days", "Petra"),
            ("printing cuts off the margin", "Sami"),
        )
    )
]
READINGS = [
    f"Blood pressure on {day} May: {high} over {low}, {how}."
    for day, high, low, how in (
        (1, 128, 82, "after breakfast"),
        (2, 131, 85, "after a bad night"),
        (3, 124, 79, "rested"),
        (4, 140, 92, "after the argument with the landlord"),
        (5, 127, 80, "after a walk"),
        (6, 122, 78, "on holiday"),
        (7, 135, 88, "after three coffees"),
        (8, 126, 81, "rested"),
        (9, 129, 83, "before the dentist"),
        (10, 125, 80, "after yoga"),
        (11, 133, 86, "in the heat"),
        (12, 121, 77, "after swimming"),
    )
]
PLANTS = [
    f"The {plant} stands {where} and wants water {often}."
    for plant, where, often in (
        ("basil", "on the kitchen sill", "every day"),
        ("cactus", "in the study", "once a month"),
        ("fern", "in the bathroom", "every second day"),
        ("orchid", "by the east window", "weekly"),
        ("lemon tree", "on the balcony", "every morning"),
        ("ivy", "on the bookshelf", "on Sundays"),
        ("palm", "beside the sofa", "twice a week"),
        ("aloe", "on the desk", "every three weeks"),
        ("rosemary", "by the front door", "rarely"),
        ("peace lily", "in the hall", "on Fridays"),
    )
]
ORDERS = [
    *(f"Order #{2000 + n}: {1 + n % 4} x printer paper, shipped." for n in range(40)),
    "I am allergic to penicillin.",
    "My son Deniz plays handball on Saturdays.",
    "I repair clocks for a living.",
    "We keep bees behind the house.",
    "My sister lives in Trabzon.",
    "I take the night train to work.",
    "My landlord is called Mr. Okafor.",
    "I broke my ankle on the ice last winter.",
]

#: memories -> (question, what the memory that answers it has in it)
KINDS = {
    "recipes": (
        RECIPES,
        (
            ("How long does the lentil soup cook?", "Lentil"),
            ("What goes into the fish stew?", "saffron"),
            ("Which spice do I put into the curry?", "Pumpkin"),
            ("How long must the chicken roast?", "Roast"),
            ("What do I season the apple dessert with?", "cinnamon"),
            ("What dish is ready the fastest?", "Bean"),
            ("How long is the gratin in the oven?", "gratin"),
            ("What herb is in the spinach pie?", "dill"),
        ),
    ),
    "tickets": (
        TICKETS,
        (
            ("Who works on the slow sign-in?", "login"),
            ("What is wrong with the bills?", "currency"),
            ("Who has the problem with duplicate reminders?", "twice"),
            ("What fails at the weekend?", "backups"),
            ("Which ticket is about printing?", "margin"),
            ("What happens to profile pictures?", "avatars"),
            ("Who takes care of the map?", "offline"),
            ("What is broken about passwords?", "spaces"),
        ),
    ),
    "readings": (
        READINGS,
        (
            ("What was my blood pressure on 4 May?", "140"),
            ("How was it after swimming?", "121"),
            ("What did coffee do to my blood pressure?", "coffees"),
            ("How was it while I was on vacation?", "122"),
            ("How was my pressure before the dentist?", "129"),
            ("What was it after I slept badly?", "131"),
            ("How high was it when it was hot?", "heat"),
            ("What did I measure after yoga?", "125"),
        ),
    ),
    "plants": (
        PLANTS,
        (
            ("How often do I water the cactus?", "cactus"),
            ("Where is the orchid?", "orchid"),
            ("What grows in the bathroom?", "fern"),
            ("When does the ivy get water?", "ivy"),
            ("Which plant is next to the couch?", "palm"),
            ("Where did I put the aloe?", "aloe"),
            ("What do I have on the balcony?", "lemon"),
            ("Which plant is at the entrance?", "rosemary"),
        ),
    ),
    "orders": (
        ORDERS,
        (
            ("Which medicine must I not take?", "penicillin"),
            ("What sport does my child do?", "handball"),
            ("What is my job?", "clocks"),
            ("Which animals do I have?", "bees"),
            ("Where does my sister live?", "Trabzon"),
            ("How do I commute?", "train"),
            ("Who owns my flat?", "Okafor"),
            ("Have I ever broken a bone?", "ankle"),
        ),
    ),
}
#: what no memory of any of them is about
ELSEWHERE = (
    "Which opera did Ivana sing in Verona?",
    "When did Bogdan sail around the cape?",
    "What instrument does the exiled poet play?",
    "How deep is the glacier lake?",
    "Which fabric did the costume maker order?",
    "Who taught the parrot to whistle?",
    "What did the archaeologists find under the mosque?",
    "Why was the marathon cancelled?",
)


@pytest.fixture(scope="module")
def minds() -> Iterator[dict[str, Memory]]:
    clock = ManualClock(NOW)
    minds = {name: spector.open(":memory:", clock=clock) for name in KINDS}
    for name, (texts, _) in KINDS.items():
        minds[name].remember_many(
            {
                "text": text,
                "user_id": "u",
                "role": "user",
                "session_id": f"s{n // 4}",
                "event_time": f"2026-05-{1 + n % 28:02}T09:00:00Z",
            }
            for n, text in enumerate(texts)
        )
    yield minds
    for mind in minds.values():
        mind.close()


@pytest.mark.parametrize("scope", [{}, {"user_id": "u"}], ids=["open", "scoped"])
def test_answerable_questions_are_not_withheld(
    minds: dict[str, Memory], scope: dict[str, str]
) -> None:
    withheld = [
        (name, cue)
        for name, (_, asked) in KINDS.items()
        for cue, _ in asked
        if minds[name].context(cue, **scope).abstained  # type: ignore[arg-type]
    ]
    assert len(withheld) <= 2, withheld


def test_what_is_quoted_has_the_answer(minds: dict[str, Memory]) -> None:
    """In doubt two memories are quoted: answers right behind them are the price of that."""
    lost = [
        (name, cue, word)
        for name, (_, asked) in KINDS.items()
        for cue, word in asked
        if word not in minds[name].context(cue).text
    ]
    assert len(lost) <= 5, lost
    found = [any(word in hit.text for hit in minds[name].recall(cue)) for name, cue, word in lost]
    assert all(found), "ranked behind the ten best"


def test_questions_about_something_else_are_met_with_silence(minds: dict[str, Memory]) -> None:
    spoke = [
        (name, cue) for name in KINDS for cue in ELSEWHERE if not minds[name].context(cue).abstained
    ]
    assert len(spoke) <= 12, spoke


# -- In a store where all memories are alike, a number or name in a sentence finds its memory ------
#
# Mechanism: only identifiers that stand joined (INC-2219) came first by name; the "4711" of "order
# 4711" was one word among others, and where all likenesses are equal their noise outweighed it.
# Damage: of sixty orders some question about an order brought another order first. Guard: sixty
# numbers in several ways of asking, counts and dates that are no names, and five stores of one
# kind.


STATES = ("shipped", "waiting for payment", "packed", "returned", "on hold", "delivered")
TOWNS = ("Bursa", "Leeds", "Ankara", "Graz", "Mersin")


def first_of(text: str, cue: str, numbers: list[int]) -> list[int]:
    """The numbers whose memory does not come first when they are asked for."""
    with spector.open(":memory:") as memory:
        ids = {
            n: memory.remember(
                text.format(n=n, state=STATES[n * 7 % 6], town=TOWNS[n * 3 % 5]),
                user_id="u",
                session_id="s",
                role="user",
            ).id
            for n in numbers
        }
        return [
            n for n in numbers if memory.recall(cue.format(n=n), k=1, user_id="u")[0].id != ids[n]
        ]


@pytest.mark.sampled
@cases("text", "cue", "first")
def test_a_number_in_a_sentence_finds_its_memory(text: str, cue: str, first: int) -> None:
    assert first_of(text, cue, list(range(first, first + 30))) == []


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("Server {a} stands in rack {b} since {c} May.", "Which server is in rack {b}?"),
        ("Server {a} stands in rack {b} since {c} May.", "Which rack has server {a}?"),
        ("Order {a} went to room {b} on floor {c}.", "Which order went to room {b}?"),
        ("Patient {a} lies in bed no. {b} and takes {c} mg.", "Who lies in bed {b}?"),
        ("{a} numaralı sunucu {b} numaralı rafta duruyor.", "{b} numaralı rafta ne var?"),
        ("{a} numaralı sunucu {b} numaralı rafta duruyor.", "{a} numaralı sunucu nerede?"),
    ],
)
def test_of_two_numbers_the_one_beside_its_kind_is_meant(text: str, cue: str) -> None:
    numbers = [{"a": n + 1, "b": (n * 7 + 13) % 60 + 1, "c": n * 11 % 28 + 1} for n in range(60)]
    with spector.open(":memory:") as memory:
        ids = [memory.remember(text.format(**each), user_id="u").id for each in numbers]
        wrong = [
            each
            for each, own in zip(numbers, ids, strict=True)
            if memory.recall(cue.format(**each), k=1, user_id="u")[0].id != own
        ]
    assert wrong == []


def test_what_other_users_have_is_not_counted() -> None:
    with spector.open(":memory:") as memory:
        for user in range(20):
            for n in range(1, 6):
                memory.remember(f"Order {n} is in box {n % 5 + 1}.", user_id=f"u{user}")
        (hit,) = memory.recall("Where is order 3?", k=1, user_id="u4")
    assert hit.text == "Order 3 is in box 4."
    assert "name" in hit.explain().evidence


@pytest.mark.sampled
@pytest.mark.parametrize(
    "cue",
    [
        "What did I do 3 weeks ago?",
        "What happened in 2023?",
        "What did we plan for 8 May 2023?",
        "Who are the 3 children?",
        "2 gün önce ne oldu?",
        "When did we sell 3,600 tickets?",
    ],
)
def test_what_counts_or_dates_something_is_no_name(cue: str) -> None:
    with spector.open(":memory:") as memory:
        for n in range(1, 9):
            memory.remember(f"The weather report of 2023 has {n} pages, 3 of them in colour.")
        memory.remember("The hall has 600 seats.")
        memory.remember("The children are Noor, Emil and Ada, and we plan a picnic in May.")
        hits = memory.recall(cue, k=10)
    assert not any("name" in hit.explain().evidence for hit in hits)


def test_a_number_that_many_memories_have_names_none() -> None:
    with spector.open(":memory:") as memory:
        memory.remember_many(f"Order 4711, note {n}: the customer called." for n in range(20))
        hits = memory.recall("what is the status of order 4711?", k=20)
    assert not any("name" in hit.explain().evidence for hit in hits)


@pytest.mark.sampled
@pytest.mark.parametrize("store", STORES, ids=lambda store: store.name)
def test_in_a_store_of_one_kind_the_answer_comes_first(store: Store) -> None:
    assert len(store.texts) >= 40
    assert len(store.questions) == 8
    with spector.open(":memory:") as memory:
        ids = fill(memory, store)
        wrong = [
            question.cue
            for question in store.questions
            if memory.recall(question.cue, k=1, user_id="u")[0].id != ids[question.answer]
        ]
    assert wrong == []


@pytest.mark.parametrize("name", ["orders", "patients", "servers"])
def test_a_context_does_not_withhold_what_is_asked_for_by_its_number(name: str) -> None:
    (store,) = [each for each in STORES if each.name == name]
    with spector.open(":memory:") as memory:
        fill(memory, store)
        assert withheld(memory, store) == []
