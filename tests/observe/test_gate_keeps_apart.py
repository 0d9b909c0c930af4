"""A memory that says several things is not hidden by a newer word on one of them.

Damage without it: "I moved" hides the cats, the job and the name of the sentence that said where
one lives; or a fact outlives the message that stated it.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import spector
from spector import ManualClock, Memory
from spector.observe.gate import Candidate, Incoming, candidate_of, decide, statements_in, veto
from spector.records import MemoryRecord
from tests.cases import Cases
from tests.fakes import FakeEmbedder
from tests.observe.test_gate_decisions import verdict

cases = Cases(__file__)


def opened() -> Memory:
    return spector.open(":memory:", embedder=FakeEmbedder(dim=64))


def told(memory: Memory, *texts: str) -> list[int]:
    out = []
    for month, text in enumerate(texts, 1):
        found = memory.observe(text, user_id="ada", event_time=f"2026-0{month}-01")
        assert found.stored, found
        record = found.units[0].record
        out.append(record.id)
    return out


@cases("old", "new")
def test_what_else_a_sentence_says_stays(old: str, new: str) -> None:
    with opened() as memory:
        first, second = told(memory, old, new)
        assert not memory.get(first).superseded
        assert not memory.get(second).superseded


@cases("old", "new")
def test_what_says_nothing_else_is_superseded_with_its_facts(old: str, new: str) -> None:
    with opened() as memory:
        first, second = told(memory, old, new)
        assert memory.get(first).superseded
        ended = [r for r in memory.records(user_id="ada", sorts="fact") if r.superseded]
        assert len(ended) == 1
        memory.reinstate(first, keep=True)
        assert not memory.get(first).superseded
        assert not memory.get(second).superseded
        assert not memory.get(ended[0].id).superseded
        assert memory.check().ok


def test_a_fact_comes_back_when_the_newer_message_is_forgotten() -> None:
    with opened() as memory:
        first, second = told(memory, "Note: the port is 8080.", "Actually the port is 8443.")
        memory.forget(second)
        memory.reinstate(first)
        texts = {r.text for r in memory.records(user_id="ada") if not r.superseded}
        assert texts == {"Note: the port is 8080."}
        facts = {r.text for r in memory.records(user_id="ada", sorts="fact") if not r.superseded}
        assert facts == {"port is 8080."}


def test_a_fact_that_another_memory_states_too_stays() -> None:
    with opened() as memory:
        told(memory, "Note: the port is 8080.")
        other = memory.remember("the log of the server", user_id="ada")
        fact = next(iter(memory.records(user_id="ada", sorts="fact")))
        memory.facts.add("port", "is", "8080", source=other, user_id="ada")
        assert len(memory.facts.get(fact.id).sources) == 2
        memory.observe("Actually the port is 8443.", user_id="ada", event_time="2026-03-01")
        assert not memory.get(fact.id).superseded


# -- What is limited to something leaves the rest alone: the gate keeps both, in both orders -------
#
# Mechanism: what follows a value, or stands before it, says of what it is the value; a denial with
# a limit denies no more than that. Damage without it: the net salary hides the gross one, and "no
# tea after 9 pm" hides that someone drinks tea.


@cases("one", "other")
def test_what_is_limited_hides_nothing(one: str, other: str) -> None:
    assert verdict(one, other, days=3).superseded == ()
    assert verdict(other, one, days=3).superseded == ()


@cases("before", "now")
def test_a_change_within_the_same_limits_takes_the_place_of_the_old(before: str, now: str) -> None:
    assert verdict(before, now, days=3).superseded == (1,)


@cases("old", "new", "is_gone")
def test_a_country_hides_no_town_unless_one_moved(old: str, new: str, is_gone: bool) -> None:
    with opened() as memory:
        first, second = told(memory, old, new)
        assert memory.get(first).superseded is is_gone
        assert not memory.get(second).superseded


@pytest.mark.parametrize(("kin", "is_gone"), [("neighbour", False), ("cousin", True)])
def test_a_fact_falls_to_its_own_person_and_not_to_a_namesake(kin: str, is_gone: bool) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        memory.observe("My cousin Dave lives in Oslo.", user_id="ada", event_time="2026-01-01")
        fact = next(
            each for each in memory.records(user_id="ada", sorts="fact") if "Oslo" in each.text
        )
        memory.observe(f"My {kin} Dave lives in Bern.", user_id="ada", event_time="2026-02-01")
        found = memory.get(fact.id)
    assert found.superseded is is_gone


def test_a_fact_keeps_its_limit() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        memory.observe(
            "The ticket costs 30 euros for adults.", user_id="ada", event_time="2026-01-01"
        )
        fact = next(iter(memory.records(user_id="ada", sorts="fact")))
        memory.observe("The ticket costs 12 euros.", user_id="ada", event_time="2026-02-01")
        found = memory.get(fact.id)
    assert not found.superseded


# -- What someone is to the user does not say who he is: of two dogs each has an age ---------------
#
# Damage: "my dog Max is 3" took the place of "my dog Biscuit is 11", because both were said of
# "the user's dog"; and "Biscuit is 12 now" changed nothing, because Biscuit was not known to be
# the dog.


def last_action(*texts: str) -> str:
    with spector.open(":memory:") as memory:
        for text in texts:
            result = memory.observe(text, user_id="ana")
    return result.units[-1].action


@cases("old", "new")
def test_another_one_of_the_same_kind_replaces_nothing(old: str, new: str) -> None:
    assert last_action(old, new) == "create"


@cases("old", "new")
def test_the_same_one_is_known_by_name(old: str, new: str) -> None:
    assert last_action(old, new) == "supersede"


@cases("message")
def test_only_plain_words_that_are_understood_whole_hide(message: str) -> None:
    assert last_action("My locker code is 3307.", "My locker code is 9125 now.") == "supersede"
    assert last_action("My locker code is 3307.", message) != "supersede"


@cases("said")
def test_a_word_that_names_an_assistant_as_its_speaker_changes_nothing(said: Any) -> None:
    with spector.open(":memory:") as memory:
        memory.observe("My locker code is 3307.", user_id="u")
        result = memory.observe(said, user_id="u")
        assert not any(each.superseded for each in result.units)
        facts = memory.facts.query(user_id="u")
        assert [each.object for each in facts if each.subject == "user"] == ["3307"]


def test_which_of_two_is_meant_stays_open() -> None:
    sisters = "my sister Joana lives in Braga", "my sister Marta lives in Porto"
    assert last_action(*sisters, "my sister moved to Faro") == "create"


# -- What is said of one person or thing hides nothing that was said of another --------------------


#: two months after what was said first, in milliseconds
LATER = 60 * 86_400_000
#: subjects as they begin a sentence -> who it is
PERSONS = dict(cases.rows("PERSONS"))
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
    assert _hidden(1_000, 11) == []


@pytest.mark.slow
def test_nothing_is_superseded_across_subjects_in_a_hundred_thousand_pairs() -> None:
    assert _hidden(100_000, 12) == []


@cases("old", "new")
def test_another_thing_day_or_place_is_another_subject(old: str, new: str) -> None:
    assert veto(_new(new), _old(old)) == "another subject"
    assert not decide(_new(new), [_old(old)]).superseded


@cases("old", "new")
def test_what_speaks_of_the_same_is_under_no_veto(old: str, new: str) -> None:
    assert veto(_new(new), _old(old)) == ""


# -- What contradicts is shown by the messages, not by the facts that are read from them -----------


@cases("old", "new", "cue")
def test_the_words_that_were_said_are_the_hits_and_name_each_other(
    old: str, new: str, cue: str
) -> None:
    clock = ManualClock("2026-03-03T08:00:00Z")
    with spector.open(":memory:", clock=clock) as memory:
        first = memory.observe(old, user_id="ada").records[0]
        clock.advance(days=1)
        second = memory.observe(new, user_id="ada")
        assert second.units[0].action == "supersede"
        assert second.units[0].nearest == first.id
        memory.reinstate(first.id, keep=True)
        hits = {hit.id: hit for hit in memory.recall(cue, user_id="ada")}
        later = second.records[0].id
        assert later in hits[first.id].conflicts
        assert first.id in hits[later].conflicts


class Ticking(ManualClock):
    """A clock that goes on whenever it is read, as real ones do."""

    def now_ms(self) -> int:
        self.advance(seconds=0.002)
        return super().now_ms()


def test_what_a_batch_says_later_is_newer_also_while_time_goes_on() -> None:
    with spector.open(":memory:", clock=Ticking("2026-03-03T08:00:00Z")) as memory:
        first, second, third = memory.observe_many(
            ["I live in Lima.", "I live in Quito.", "I live in Bogota."], user_id="ada"
        )
        assert [each.units[0].action for each in (second, third)] == ["supersede", "supersede"]
        assert first.records[0].id in second.units[0].superseded
        texts = [hit.text for hit in memory.recall("Where do I live?", user_id="ada")]
        assert texts == ["I live in Bogota."]


@cases("old", "new", "action", "relation")
def test_a_word_that_ends_like_a_denial_denies_nothing(
    old: str, new: str, action: str, relation: str | None
) -> None:
    with spector.open(":memory:") as memory:
        memory.observe(old)
        unit = memory.observe(new).units[0]
        assert (unit.action, unit.relation) == (action, relation)
