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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Kars, have two cats and a boat.", "I live in Bonn now."),
        ("I work at Acme as a welder, night shifts only.", "I work at Initech now."),
        ("My phone number is 555-1234, call after six.", "My phone number is 555-9999."),
        ("Ankara'da yaşıyorum ve iki kedi besliyorum.", "Artık İzmir'de yaşıyorum."),
        ("Kedimin adı Pamuk, beyaz bir tekir.", "Kedimin adı Duman."),
    ],
)
def test_what_else_a_sentence_says_stays(old: str, new: str) -> None:
    with opened() as memory:
        first, second = told(memory, old, new)
        assert not memory.get(first).superseded
        assert not memory.get(second).superseded


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Kars.", "I live in Bonn now."),
        ("Hi, I live in Kars, Turkey.", "I live in Bonn now."),
        ("So, as you know, the port is 8080.", "Actually the port is 8443."),
        ("Evet, staging portu 8080.", "Staging portu artık 8443."),
    ],
)
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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I drive a Honda Civic", "sold the Civic last week, i drive a Mazda now"),
        ("I drive a Volvo.", "I sold the Volvo, I drive a Fiat now."),
    ],
)
def test_a_fact_that_a_message_ends_twice_ends_once(old: str, new: str) -> None:
    with opened() as memory:
        first, second = told(memory, old, new)
        assert memory.get(first).superseded
        assert memory.get(second).text.startswith(new[:8])
        assert memory.check().ok


# -- What is limited to something leaves the rest alone: the gate keeps both, in both orders -------
#
# Mechanism: what follows a value, or stands before it, says of what it is the value; a denial with
# a limit denies no more than that. Damage without it: the net salary hides the gross one, and "no
# tea after 9 pm" hides that someone drinks tea.


BOTH_HOLD = [
    line.split(" | ")
    for line in """\
The review is at 2 with the lawyer. | The review is at 4 with the auditor.
My train is at 8 to Lyon. | My train is at 7 to Graz.
The deadline is Tuesday for the poster. | The deadline is Sunday for the abstract.
The launch is on Tuesday for Linux. | The launch is on Friday for Windows.
My rent is 700 euros. | My rent is 820 euros with heating.
The pass costs 30 euros for students. | The pass costs 55 euros for seniors.
The cabin costs 80 euros a night. | The cabin costs 95 euros a night with dinner.
The licence is 12 euros a month. | The licence is 120 euros a year.
Our budget is 4000 euros. | Our budget is 250 euros per guest.
My heart rate is 58 in the morning. | My heart rate is 72 in the evening.
My dose is 40 mg in the morning. | My dose is 20 mg at night.
I weigh 64 kg. | I weigh 141 pounds.
My height is 171 cm. | My height is 5'7.
My shoe size is 8 in UK. | My shoe size is 42 in EU.
My password is kestrel7 for Spotify. | My password is plover3 for Dropbox.
My username is mara on GitLab. | My username is mara_k on Discord.
My commute is 25 minutes by bike. | My commute is 45 minutes by bus.
My score is 71 in physics. | My score is 88 in history.
The server uses port 9000 for gRPC. | The server uses port 9443 for metrics.
Maaşım brüt 48 bin. | Maaşım net 36 bin.
Kiram aylık 20 bin. | Kiram yıllık 240 bin.
I like tea. | I don't like tea for dinner.
I like podcasts. | I don't like podcasts while reading.
I like my dad. | I don't like my dad when he's tired.
I don't like wine. | I like wine with cheese.
I drink tea. | I don't drink tea after 9 pm.
I don't drink tea. | I drink tea on rest days.
I don't drink tea. | On rest days I drink tea.
My son likes dogs. | My son doesn't like dogs on the sofa.
We use Notion. | We don't use Notion with suppliers.
We use Redis for sessions. | We don't use Redis for queues.
The parser supports YAML. | The parser doesn't support YAML in v2.
I don't only speak Dutch, I also speak Danish. | I speak Dutch.
Keman çalarım. | Düğünlerde keman çalmam.
I live in a cottage in Galway. | I live in Ireland.
I work at Santander. | I work at the Porto branch.
I work at a brewery. | I work at Duvel.
My car is a hybrid. | My car is a Toyota.
The TTL is 30 seconds for guests. | The TTL is 5 minutes for images.
The quiz is on Tuesday for group C. | The quiz is on Monday for group D.
The pool is open on Mondays. | The pool is not open on Fridays.
Cumartesi günleri koşuyorum. | Cuma günleri koşmuyorum.
My salary is 40k. | My salary is 3100 a month.
One of my favorite movies is Alien. | One of my favorite movies is Jaws.
I weighed 80 kg last year. | I weigh 74 kg now.
Nora lives in Bonn. | My aunt Nora lives in Linz.
My name is Tim. | I go by train.""".splitlines()
]


@pytest.mark.parametrize(("one", "other"), BOTH_HOLD)
def test_what_is_limited_hides_nothing(one: str, other: str) -> None:
    assert verdict(one, other, days=3).superseded == ()
    assert verdict(other, one, days=3).superseded == ()


@cases("before", "now")
def test_a_change_within_the_same_limits_takes_the_place_of_the_old(before: str, now: str) -> None:
    assert verdict(before, now, days=3).superseded == (1,)


def test_a_kind_of_employer_and_a_name_are_ordered_and_neither_is_hidden() -> None:
    found = verdict("I work at a brewery.", "I work at Duvel now.", days=3)
    assert (found.verdict, found.superseded) == ("may change", ())


@pytest.mark.parametrize(
    ("old", "new", "is_gone"),
    [
        ("I live in Tampere.", "I live in Finland.", False),
        ("I live in the Netherlands.", "I live in Utrecht.", False),
        ("Peru'da yaşıyorum.", "Cusco'da yaşıyorum.", False),
        ("I live in Tampere.", "I moved to Norway.", True),
        ("I live in Chile.", "I live in Norway.", True),
    ],
)
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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("my friend Ana is 30", "my friend Ben is 31"),
        ("my dog Biscuit is 11", "my dog Max is 3"),
        ("my dog Biscuit is 11", "my friend's dog Biscuit is 12"),
        ("my cousin Leo works at Siemens", "my cousin Mia works at Bosch"),
        ("my daughter Ines is allergic to hazelnuts", "my daughter Lara is not allergic to nuts"),
        ("kuzenim Ali İzmir'de yaşıyor", "kuzenim Veli Ankara'da yaşıyor"),
        ("kardeşim Ayşe doktor", "kardeşim Fatma öğretmen"),
    ],
)
def test_another_one_of_the_same_kind_replaces_nothing(old: str, new: str) -> None:
    assert last_action(old, new) == "create"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("my sister Joana lives in Braga", "Joana moved to Faro"),
        ("my dog Biscuit is 11", "Biscuit is 12 now"),
        ("our daughter Ines is allergic to nuts", "turns out Ines isn't allergic to nuts"),
        ("eşim Kerem Bosch'ta çalışıyor", "Kerem artık Siemens'te çalışıyor"),
        ("Kerem Bosch'ta çalışıyor", "Kerem Bosch'tan ayrıldı, artık Siemens'te çalışıyor"),
    ],
)
def test_the_same_one_is_known_by_name(old: str, new: str) -> None:
    assert last_action(old, new) == "supersede"


@pytest.mark.parametrize(
    "message",
    [
        "My locker code is 9125. No.",
        "My locker code is 9125, no, my locker code is 3307",
        "My locker code is 9125. Correction: 3307.",
        "My locker code is 9125. 3307.",
        "~~My locker code is 9125~~",
        "`My locker code is 9125`",
        "My locker code is 9125 /joke",
        "My locker code is 9125 🤡",
        "Re: my locker code is 9125",
        "Q: my locker code is 9125",
    ],
)
def test_only_plain_words_that_are_understood_whole_hide(message: str) -> None:
    assert last_action("My locker code is 3307.", "My locker code is 9125 now.") == "supersede"
    assert last_action("My locker code is 3307.", message) != "supersede"


@pytest.mark.parametrize(
    "said",
    [
        "assistant: My locker code is 9125 now.",
        {"content": "My locker code is 9125 now.", "metadata": {"speaker": "Assistant"}},
    ],
)
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


def test_a_namesake_hides_no_words() -> None:
    with spector.open(":memory:") as memory:
        kept = memory.observe("my sister Joana lives in Braga", user_id="ana").records[0]
        memory.observe("my friend Joana lives in Lisbon", user_id="ana")
        living = {each.id for each in memory.records(user_id="ana")}
    assert kept.id in living


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


# -- What contradicts is shown by the messages, not by the facts that are read from them -----------


@pytest.mark.parametrize(
    ("old", "new", "cue"),
    [
        ("User lives in Lima.", "User lives in Quito.", "Where does the user live?"),
        ("The mail relay uses port 2525.", "The mail relay uses port 587.", "mail relay port"),
    ],
)
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


@pytest.mark.parametrize(
    ("old", "new", "action", "relation"),
    [
        ("I own a red canoe and a blue tent.", "I own a red canoe.", "reinforce", None),
        ("Ada bought a boat.", "Ada bought a boat from her aunt.", "create", "elaborates"),
        ("I dont eat meat.", "I eat meat.", "supersede", None),
    ],
)
def test_a_word_that_ends_like_a_denial_denies_nothing(
    old: str, new: str, action: str, relation: str | None
) -> None:
    with spector.open(":memory:") as memory:
        memory.observe(old)
        unit = memory.observe(new).units[0]
        assert (unit.action, unit.relation) == (action, relation)
