"""What is said of one person or thing hides nothing that was said of another."""

from __future__ import annotations

import random

import pytest

from spector.observe.gate import Candidate, Incoming, candidate_of, decide, statements_in, veto
from spector.records import MemoryRecord

#: two months after what was said first, in milliseconds
LATER = 60 * 86_400_000
#: subjects as they begin a sentence -> who it is
PERSONS = {
    "I": "user",
    "We": "user",
    "Omar": "omar",
    "They": "they",
    "He": "they",
    "She": "they",
    "My sister": "sister",
    "Lena's brother": "brother",
    "My neighbour": "neighbour",
    "The people upstairs": "people",
    "His wife": "wife",
    "My flatmate Ravi": "ravi",
    "Someone at the gym": "gym",
    "Her mother": "mother",
    "The new guy": "guy",
    "Grandma": "grandma",
    "Mr. Novak": "novak",
    "My ex": "ex",
}
OWN = {"I": "My", "We": "Our", "They": "Their", "He": "His", "She": "Her"}
PLURAL = {"I", "We", "They", "The people upstairs"}
PLACES = "Bergen Tralee Aarhus Split Cadiz Oulu".split()
FIRMS = "Kestrel Bluebell Vantor Osprey Lumina".split()
NAMES = "Piotr Mirela Kwame Ansel Ottilie".split()
OPENERS = ("", "", "Actually, ", "Update: ", "By the way, ", "No wait, ", "Oh, ", "FYI ")
ENDS = (".", ".", " now.", " these days.", " instead.", " from now on.", ", not the other one.")


def _say(who: str, verb: str) -> str:
    third = {"am": "is", "have": "has"}.get(verb, f"{verb}s")
    if verb == "am":
        return f"{who} " + ("am" if who == "I" else "are" if who in PLURAL else "is")
    return f"{who} {verb if who in PLURAL else third}"


def _frames(rng: random.Random, who: str) -> list[str]:
    place, firm, name = rng.choice(PLACES), rng.choice(FIRMS), rng.choice(NAMES)
    own = OWN.get(who, f"{who}'s")
    return [
        f"{_say(who, 'live')} in {place}",
        f"{_say(who, 'work')} at {firm}",
        f"{who} moved to {place}",
        f"{who} quit {firm}",
        f"{_say(who, 'prefer')} {firm} tea",
        f"{_say(who, 'am')} allergic to latex",
        f"{_say(who, 'am')} not allergic to latex",
        f"{own} landlord is {name}",
        f"{own} new dentist is {name}",
        f"{own} phone number is 555-01{rng.randint(10, 99)}",
        f"{own} rent is {rng.randint(5, 9)}20",
        f"{own} dog is called {name}",
        f"{_say(who, 'start')} work at {rng.randint(5, 10)}",
        f"{who} sold the {firm}",
        f"{_say(who, 'have')} moved to {place}",
    ]


def _old(text: str) -> Candidate:
    record = MemoryRecord(id=1, text=text, tier="episodic", role="user", event_ms=0)
    return candidate_of(record, likeness=0.9)


def _new(text: str) -> Incoming:
    stated = statements_in(text, role="user", speaker=None, event_ms=LATER)
    return Incoming(text=text, said=text, statements=stated, event_ms=LATER)


def _pair(rng: random.Random) -> tuple[str, str]:
    one = rng.choice(("I", "We", *PERSONS))
    other = rng.choice([each for each, who in PERSONS.items() if who != PERSONS[one]])
    at = rng.randrange(15)
    then = at if rng.random() < 0.8 else rng.randrange(15)
    said = _frames(rng, other)[then]
    opener = rng.choice(OPENERS)
    if opener.endswith(", ") and other in (*OWN, "The people upstairs") and other != "I":
        said = said[0].lower() + said[1:]
    return f"{_frames(rng, one)[at]}.", f"{opener}{said}{rng.choice(ENDS)}"


def _hidden(count: int, seed: int) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    pairs = (_pair(rng) for _ in range(count))
    return [pair for pair in pairs if decide(_new(pair[1]), [_old(pair[0])]).superseded]


def test_nothing_is_superseded_across_subjects() -> None:
    assert _hidden(2_000, 11) == []


@pytest.mark.slow
def test_nothing_is_superseded_across_subjects_in_a_hundred_thousand_pairs() -> None:
    assert _hidden(100_000, 12) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The office in Bergen opens at nine.", "The office in Split opens at ten now."),
        ("Lunch on Monday is at noon.", "Lunch on Tuesday is at one now."),
        ("The test server listens on port 81.", "The build server listens on port 99 now."),
        ("My work laptop runs Debian.", "My old tablet runs Android now."),
        ("Kestrel'de çalışıyorum.", "Ömer artık Osprey'de çalışıyor."),
        ("Bergen'de oturuyorum.", "Annem artık Oulu'da oturuyor."),
    ],
)
def test_another_thing_day_or_place_is_another_subject(old: str, new: str) -> None:
    assert veto(_new(new), _old(old)) == "another subject"
    assert not decide(_new(new), [_old(old)]).superseded


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My rent is 700.", "They raised my rent to 900."),
        ("I pay 40 for water.", "Water is 55 a month now."),
        ("My dentist is Dr. Ansel.", "I left Dr. Ansel, I go to Dr. Kwame now."),
        ("Our cat is called Pip.", "Scratch that, the cat's name is Pim."),
        ("I work at Kestrel.", "Started at Osprey last week, left Kestrel."),
        ("The rehearsal is on Monday.", "It got moved to Thursday."),
        ("I live in Bergen.", "We moved to Oulu."),
    ],
)
def test_what_speaks_of_the_same_is_under_no_veto(old: str, new: str) -> None:
    assert veto(_new(new), _old(old)) == ""
