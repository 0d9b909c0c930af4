"""Short stores of beliefs: what an agent believes of its user and team, in tier ``semantic``.

Each store has seven subjects of four statements. A subject is asked for as a whole (four answers),
a statement by itself (one answer beside three of the same subject), and a subject that the store
has nothing about (no answer). Words and names vary by a seed; the texts were written for this file.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from bench.recall.shape import DataSet, Item, Question, Store

__all__ = ["beliefs"]

SEED: Final = 2711
STORES: Final = 12
_SUBJECTS_OF_A_STORE: Final = 7
_STRANGE_OF_A_STORE: Final = 4
_SINGLE_OF_A_SUBJECT: Final = 2
_NAMES: Final = ("Ines", "Tomas", "Yuki", "Priya", "Marek", "Selin", "Oskar", "Leila", "Duarte")
_CITIES: Final = ("Ghent", "Izmir", "Porto", "Leeds", "Graz", "Tartu", "Nantes", "Bergen")
_TOOLS: Final = ("Postgres", "Redis", "Kafka", "Elastic", "RabbitMQ", "MySQL", "Cassandra")
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


@dataclass(frozen=True, slots=True)
class _Subject:
    """A subject: how it is asked for as a whole, and (statement, its own question) pairs."""

    name: str
    whole: str
    pairs: tuple[tuple[str, str], ...]


_SUBJECTS: Final = (
    _Subject(
        "diet",
        "What should I keep in mind about what the user eats?",
        (
            ("The user has been vegetarian since university", "Does the user eat meat?"),
            (
                "Peanuts give the user a rash within minutes",
                "Which food is dangerous for the user?",
            ),
            ("The user skips breakfast and has lunch at {hour}", "When does the user have lunch?"),
            (
                "The user finds coriander soapy and picks it out of dishes",
                "Which herb is disliked?",
            ),
        ),
    ),
    _Subject(
        "database",
        "How is our database set up?",
        (
            ("Orders are kept in {tool} on two replicas", "Where are orders stored?"),
            ("Database connections are pooled, at most {number} of them", "How large is the pool?"),
            ("The nightly database dump goes to a bucket in {city}", "Where do database dumps go?"),
            ("Schema migrations of the database run only on {day}s", "When do migrations run?"),
        ),
    ),
    _Subject(
        "release",
        "What are the rules for releases?",
        (
            ("A release is cut every second {day}", "On which day is a release cut?"),
            ("{name} signs every release before it goes out", "Who signs releases?"),
            ("Releases are frozen in the last week of a quarter", "When are releases frozen?"),
            ("A release that fails its smoke test is rolled back", "What if a smoke test fails?"),
        ),
    ),
    _Subject(
        "travel",
        "What does the user like when travelling?",
        (
            ("On trains the user wants a seat in the quiet carriage", "Which train seat?"),
            (
                "The user flies only if a journey takes over {number} hours",
                "When does the user fly?",
            ),
            ("Travel is booked through the agency in {city}", "Which agency books the travel?"),
            ("On work trips the user stays in hotels with a gym", "What must a hotel have?"),
        ),
    ),
    _Subject(
        "health",
        "What do we know about the user's health?",
        (
            ("The user takes medicine against asthma every morning", "Which medicine is taken?"),
            (
                "The user's knee was operated on and stairs are hard",
                "Why does the user avoid stairs?",
            ),
            ("Dr. {name} is the user's family doctor", "Who is the user's doctor?"),
            ("The user has a check-up of the eyes each {month}", "When are the eyes checked?"),
        ),
    ),
    _Subject(
        "office",
        "Tell me about the office.",
        (
            ("The office in {city} has a single meeting room", "How many meeting rooms are there?"),
            (
                "The office door code changes on the first of each month",
                "When does the code change?",
            ),
            ("{name} waters the plants in the office", "Who waters the plants?"),
            ("Parking at the office is free after {hour}", "When is parking free?"),
        ),
    ),
    _Subject(
        "writing",
        "How should texts for the user be written?",
        (
            ("The user wants replies without exclamation marks", "Which punctuation is unwanted?"),
            (
                "Long replies should open with a summary of one sentence",
                "How do long replies begin?",
            ),
            ("The user writes in British spelling", "British or American spelling?"),
            ("Figures in replies get a space before their unit", "How are units written?"),
        ),
    ),
    _Subject(
        "pets",
        "What about the user's animals?",
        (
            ("The user's greyhound is called {pet}", "What is the dog's name?"),
            ("The cat must have its insulin at {hour}", "When does the cat need insulin?"),
            ("{name} looks after the animals during holidays", "Who looks after the animals?"),
            ("The dog is afraid of fireworks", "What scares the dog?"),
        ),
    ),
    _Subject(
        "billing",
        "How does billing work here?",
        (
            ("Invoices are sent on the last {day} of a month", "When are invoices sent?"),
            ("Customers in {city} pay in instalments", "Who pays in instalments?"),
            ("A late invoice costs {number} euros a week", "What does a late invoice cost?"),
            ("{name} approves refunds", "Who approves refunds?"),
        ),
    ),
    _Subject(
        "languages",
        "Which languages matter to the user?",
        (
            ("The user's mother tongue is Estonian", "What is the user's mother tongue?"),
            ("The user takes Italian lessons with {name}", "Who teaches the user Italian?"),
            ("The user reads French newspapers but speaks none", "Does the user speak French?"),
            ("German is the language of the team's contracts", "In which language are contracts?"),
        ),
    ),
    _Subject(
        "sport",
        "What sports does the user do?",
        (
            ("The user rows on the river on {day} evenings", "When does the user row?"),
            ("The user ran the half marathon of {city}", "Where was the half marathon?"),
            ("Climbing was given up after a fall", "Why was climbing given up?"),
            ("{name} is the user's tennis partner", "With whom does the user play tennis?"),
        ),
    ),
    _Subject(
        "security",
        "What are our security rules?",
        (
            ("Passwords are rotated every {number} days", "How often are passwords rotated?"),
            ("Laptops must be locked with a cable in {city}", "Where must laptops be chained?"),
            ("Access keys are kept in a vault run by {name}", "Who runs the vault?"),
            ("Guests get a wireless network of their own", "What network do guests use?"),
        ),
    ),
    _Subject(
        "family",
        "Who is in the user's family?",
        (
            ("The user's sister {name} studies law", "What does the sister study?"),
            ("The user's parents moved to {city} to retire", "Where do the parents live?"),
            ("The user's son starts school in {month}", "When does the son start school?"),
            ("The user's grandmother was a watchmaker", "What was the grandmother's work?"),
        ),
    ),
    _Subject(
        "monitoring",
        "How do we monitor the service?",
        (
            (
                "An alarm rings when latency exceeds {number} milliseconds",
                "When does the alarm ring?",
            ),
            (
                "{name} is on call in the first week of the month",
                "Who is on call in the first week?",
            ),
            ("Dashboards are rebuilt from {tool} each hour", "What feeds the dashboards?"),
            ("Logs are deleted after {number} days", "How long are logs kept?"),
        ),
    ),
    _Subject(
        "music",
        "What are the user's tastes in music?",
        (
            ("The user works to piano music without singing", "What music suits work?"),
            ("The user plays the cello in an orchestra in {city}", "Which instrument is played?"),
            ("The user cannot stand brass bands", "Which bands are disliked?"),
            ("{name} lends the user records", "Who lends records?"),
        ),
    ),
    _Subject(
        "garden",
        "What is known about the garden?",
        (
            ("Tomatoes grow on the south wall of the garden", "Where do tomatoes grow?"),
            ("The apple tree was grafted by {name}", "Who grafted the apple tree?"),
            ("The lawn is mown on {day}s", "On which day is the lawn mown?"),
            ("Slugs are kept off the beds with copper tape", "What keeps slugs away?"),
        ),
    ),
)


def beliefs(_: object = None) -> DataSet:
    """Twelve stores of 28 statements; a group is a subject."""
    draw = random.Random(SEED)
    stores, questions = [], []
    for n in range(STORES):
        drawn = draw.sample(_SUBJECTS, _SUBJECTS_OF_A_STORE + _STRANGE_OF_A_STORE)
        present, strange = drawn[:_SUBJECTS_OF_A_STORE], drawn[_SUBJECTS_OF_A_STORE:]
        name, items = f"beliefs-{n}", []
        for subject in present:
            ids = tuple(f"{subject.name}-{at}" for at in range(len(subject.pairs)))
            for each, (statement, _question) in zip(ids, subject.pairs, strict=True):
                items.append((each, statement.format(**_values(draw))))
            questions.append(_asked(name, subject, "several", subject.whole, ids))
            for at in draw.sample(range(len(ids)), _SINGLE_OF_A_SUBJECT):
                cue = subject.pairs[at][1]
                questions.append(_asked(name, subject, f"one-{at}", cue, ids[at : at + 1]))
        for subject in strange:
            questions.append(_asked(name, subject, "none", subject.whole, ()))
            at = draw.randrange(len(subject.pairs))
            questions.append(_asked(name, subject, f"none-{at}", subject.pairs[at][1], ()))
        draw.shuffle(items)
        stores.append(
            Store(
                name,
                tuple(
                    Item(each, text, "", "", None, order)
                    for order, (each, text) in enumerate(items)
                ),
            )
        )
    return DataSet("beliefs", "Beliefs, short stores", tuple(stores), tuple(questions))


def _asked(store: str, subject: _Subject, kind: str, cue: str, gold: tuple[str, ...]) -> Question:
    return Question(
        f"{store}-{subject.name}-{kind}",
        store,
        cue,
        kind.partition("-")[0],
        gold,
        None,
        subject.name,
    )


def _values(draw: random.Random) -> dict[str, str]:
    return {
        "name": draw.choice(_NAMES),
        "city": draw.choice(_CITIES),
        "tool": draw.choice(_TOOLS),
        "day": draw.choice(_DAYS),
        "pet": draw.choice(("Biscuit", "Nero", "Pixel", "Mango")),
        "hour": f"{draw.choice(('half past one', 'six', 'seven', 'nine'))} o'clock".replace(
            "one o'clock", "one"
        ),
        "month": draw.choice(("March", "May", "September", "November")),
        "number": str(draw.choice((4, 6, 14, 20, 40, 90))),
    }
