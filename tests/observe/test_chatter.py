"""What people type in a chat, in lower case: nothing true is hidden, and news comes first.

Damage: an agent forgets the brother's town when the sister moves, or goes on with the old hour.
Guard: what stays true beside each other, in both orders, and words of change.
"""

from __future__ import annotations

from typing import Final

import pytest

import spector
from tests.fakes import FakeEmbedder
from tests.observe.test_gate_decisions import old, verdict

STAY: Final = (
    ("my brother lives in Oslo", "my other brother lives in Bergen"),
    ("I like oat milk in my coffee", "I also like almond milk sometimes"),
    ("the gym opens at 6 on weekdays", "the gym opens at 8 on sundays"),
    ("I have a meeting with Sarah on Tuesday", "I have a meeting with Tom on Thursday"),
    ("I'm allergic to cats", "I'm not allergic to dogs"),
    ("I went to Rome in April", "I went to Lisbon in June"),
    ("my work email is jo@acme.com", "my private email is jo@home.net"),
    ("we use redis for caching", "we use kafka for events"),
    ("I play tennis on saturdays", "maybe I should play padel on saturdays"),
    ("Ben's birthday is March 3", "Lena's birthday is March 8"),
    ("my daughter's teacher is Mrs. Holloway", "my son got a new teacher this year, Mr. Okafor"),
    (
        "the wifi password at home is bluebird42",
        "we changed the office wifi password, its greenfinch77 now",
    ),
    ("I have a meeting with Sam on Monday", "no wait, it's tuesday that i fly"),
    ("we use Postgres for billing", "search moved off elasticsearch, its on meili now"),
    ("I drive a Honda Civic", "my brother sold his Honda, he drives a Mazda now"),
    ("I'm allergic to penicillin", "my wife isn't allergic to penicillin"),
    ("the standup is at 9:30", "the retro got pushed to 10:15"),
    ("I work on Mondays from 9:00", "I'm not working Friday, just Monday"),
    ("I'm training for a half marathon in May", "I'm not training my dog any more"),
    ("i have a doctor appointment on friday", "new doctor appointment for my mom on monday"),
    ("abim Oslo'da yaşıyor", "ablam Bergen'de yaşıyor"),
    ("kahvemi yulaf sütüyle severim", "bazen badem sütünü de severim"),
    ("spor salonu hafta içi 6'da açılıyor", "spor salonu pazar günü 8'de açılıyor"),
    ("salı günü Selin'le toplantım var", "perşembe Tolga'yla toplantım var"),
    ("kedilere alerjim var", "köpeklere alerjim yok"),
    ("nisanda Roma'ya gittim", "haziranda Lizbon'a gittim"),
    ("iş mailim jo@acme.com", "özel mailim jo@home.net"),
    ("önbellek için redis kullanıyoruz", "olaylar için kafka kullanıyoruz"),
    ("cumartesileri tenis oynuyorum", "belki cumartesileri padel oynamalıyım"),
    ("Barış'ın doğum günü 3 Mart", "Lale'nin doğum günü 8 Mart"),
    ("kızımın öğretmeni Ayşe Hanım", "oğlumun öğretmeni değişti, bu sene Murat Bey"),
    ("evin wifi şifresi mavikus42", "ofisin wifi şifresini değiştirdik, artık yesilkus77"),
    ("pazartesi Selin'le toplantım var", "yok yok salı uçuyorum"),
    ("faturada postgres kullanıyoruz", "aramayı elasticten meiliye taşıdık"),
    ("Honda Civic kullanıyorum", "abim Hondasını sattı, artık Mazda kullanıyor"),
    ("penisiline alerjim var", "eşimin penisiline alerjisi yok"),
    ("toplantı 9:30'da", "sunum 10:15'e alındı"),
    ("yumurta yemiyorum", "yumurta alıyorum"),
    ("mayısta maratona hazırlanıyorum", "sınava artık hazırlanmıyorum"),
    ("cuma doktor randevum var", "annemin pazartesi yeni doktor randevusu var"),
)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("choir practice is in the annex", "choir practice got moved to the loft"),
        ("we keep the ladder at ours", "we no longer keep the ladder at ours, ask Wim"),
        ("i bake with spelt", "i switched to rye, the spelt is gone"),
        ("balkonda domates yetiştiriyorum", "balkonda artık biber yetiştiriyorum"),
    ],
)
def test_a_word_of_change_sets_the_order_and_hides_nothing(before: str, now: str) -> None:
    found = verdict(old(before), now, days=9)
    assert (found.verdict, found.may_change) == ("may change", (1,))
    assert found.superseded == ()


@pytest.mark.sampled
@pytest.mark.parametrize(("one", "other"), STAY)
def test_what_stays_true_is_superseded_in_neither_order(one: str, other: str) -> None:
    assert verdict(old(one), other, days=9).superseded == ()
    assert verdict(old(other), one, days=9).superseded == ()


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Ben Deniz, Ankara'da yaşıyorum", ["user is named Deniz.", "user lives in Ankara."]),
        (
            "Ben Ayşe Yılmaz, Kars'ta oturuyorum.",
            ["user is named Ayşe Yılmaz.", "user lives in Kars."],
        ),
        ("en sevdiğim grup Duman, üç kere canlı izledim", ["user favourite grup Duman."]),
        ("my sister Lena is getting married in september", ["user sister Lena."]),
        ("I used to play the cello.", ["user formerly plays cello."]),
        ("I used to live in Nantes.", ["user formerly lives in Nantes."]),
    ],
)
def test_facts_of_what_is_said_in_passing(text: str, facts: list[str]) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        memory.observe(text, user_id="ada")
        assert [each.text for each in memory.facts.query(user_id="ada")] == facts
