"""What is limited to something leaves the rest alone: the gate keeps both, in both orders.

Mechanism: what follows a value, or stands before it, says of what it is the value; a denial with a
limit denies no more than that. Damage without it: the net salary hides the gross one, and "no tea
after 9 pm" hides that someone drinks tea.
"""

from __future__ import annotations

import pytest

import spector
from tests.fakes import FakeEmbedder
from tests.observe.test_gate_decisions import verdict

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
Çay içerim. | Yatmadan önce çay içmem.
Çay içmem. | Nöbet günlerinde çay içerim.
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


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("My rent is 700 euros a month.", "My rent is 760 euros a month."),
        ("My rent is 700 euros with heating.", "My rent is now 820 euros with parking."),
        ("The review is at 2 with the lawyer.", "Actually, the review is at 4 with the auditor."),
        ("The review is at 2 with the lawyer.", "The review is at 4 with the lawyer."),
        ("I weigh 64 kg.", "I weigh 61 kg."),
        ("The disk's size is 900 MB.", "The disk's size is 2 GB."),
        ("My favourite song is Help by the Beatles.", "My favourite song is Creep by Radiohead."),
        ("I work at Santander in Porto.", "I work at Siemens in Munich."),
        ("I hate olives.", "I like olives."),
        ("I drink tea in the evening.", "I no longer drink tea."),
        ("In fact I like tea.", "I don't like tea at all."),
        ("Maaşım net 36 bin.", "Maaşım net 41 bin."),
        ("Çay içerim.", "Aslında çay içmem."),
    ],
)
def test_a_change_within_the_same_limits_takes_the_place_of_the_old(before: str, now: str) -> None:
    assert verdict(before, now, days=3).superseded == (1,)


def test_a_kind_of_employer_and_a_name_are_ordered_and_neither_is_hidden() -> None:
    found = verdict("I work at a brewery.", "I work at Duvel now.", days=3)
    assert (found.verdict, found.superseded) == ("may change", ())


@pytest.mark.parametrize(("kin", "is_gone"), [("neighbour", False), ("cousin", True)])
def test_a_fact_falls_to_its_own_person_and_not_to_a_namesake(kin: str, is_gone: bool) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        memory.observe("My cousin Dave lives in Oslo.", user_id="ada", event_time="2026-01-01")
        fact = next(
            each for each in memory.records(user_id="ada", sorts="fact") if "Oslo" in each.text
        )
        memory.observe(f"My {kin} Dave lives in Bern.", user_id="ada", event_time="2026-02-01")
        found = memory.get(fact.id)
    assert found is not None
    assert found.superseded is is_gone


def test_a_fact_keeps_its_limit() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        memory.observe(
            "The ticket costs 30 euros for adults.", user_id="ada", event_time="2026-01-01"
        )
        fact = next(iter(memory.records(user_id="ada", sorts="fact")))
        memory.observe("The ticket costs 12 euros.", user_id="ada", event_time="2026-02-01")
        found = memory.get(fact.id)
    assert found is not None
    assert not found.superseded
