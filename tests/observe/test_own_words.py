"""Corrections in people's own words, and statements that stay true, decided by the gate alone.

Mechanism: slots hide what is surely replaced, words of change order the rest. Damage without it: an
agent goes on saying what has changed, or forgets what is still so. Guard: both lists, in both
orders where true.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.observe.test_gate_decisions import old, verdict

CHANGES: Final = (
    ("I like drinking coffee in the morning.", "I do not like coffee anymore, I drink tea now."),
    ("I work at Northwind as an analyst.", "I now work at Contoso as a lead."),
    (
        "Production deployment is allowed on Fridays.",
        "Production deployment is not allowed on Fridays.",
    ),
    ("I take 20 mg of the tablets daily.", "The doctor lowered my dose to 10 mg daily."),
    ("My phone number is 555-0101.", "My new phone number is 555-0199."),
    ("I live in Porto.", "We finally moved to Braga last month."),
    ("My sister's boyfriend is called Emre.", "My sister broke up with Emre, she is with Can now."),
    ("The demo is on Tuesday at 3pm.", "The demo got pushed to Thursday at 3pm."),
    ("My car is a Honda Civic.", "Sold the Civic, I drive a Tesla now."),
    ("I'm a vegetarian.", "I started eating meat again, so I'm not vegetarian anymore."),
    ("My rent is 900 euros.", "They raised my rent to 950 euros."),
    ("We use Jira for tickets.", "We switched from Jira to Linear."),
    ("My doctor is Dr. Patel.", "My doctor is Dr. Kim these days."),
    ("I usually get up at 7.", "I get up at 6 now."),
    ("The wifi password is sunflower42.", "The wifi password changed, it's moonlight77 now."),
    ("I'm 34.", "I turned 35 yesterday."),
    ("Our meeting room is B12.", "Our meeting room is C3 from now on."),
    ("My boss is Karen.", "My new boss is Tom."),
    ("I go to the gym on Mondays.", "I don't go to the gym on Mondays anymore."),
    ("I smoke.", "I quit smoking."),
    ("My flight is at 9:40.", "Actually, my flight is at 11:15."),
    ("I'm single.", "I got married in June."),
    ("I have two cats.", "I have three cats now."),
    ("I study biology at Leiden.", "I switched to chemistry."),
    ("Toplantı salı günü saat 10'da.", "Toplantı perşembe gününe alındı."),
    ("Ankara'da oturuyorum.", "Geçen ay Eskişehir'e taşındım."),
    ("Kahveyi şekerli içerim.", "Artık kahveyi şekersiz içiyorum."),
    ("Telefon numaram 0532 111 22 33.", "Yeni telefon numaram 0533 444 55 66."),
    ("Patronum Ayşe Hanım.", "Yeni patronum Mehmet Bey."),
    ("Sigara içiyorum.", "Sigarayı bıraktım."),
    ("Bir bankada çalışıyorum.", "Artık bir sigorta şirketinde çalışıyorum."),
    ("En sevdiğim takım Galatasaray.", "En sevdiğim takım artık Göztepe."),
    ("I'm allergic to shellfish.", "Turns out I'm not allergic to shellfish after all."),
    (
        "My favorite restaurant is Lupa.",
        "My favorite restaurant is Nonna's now, Lupa went downhill.",
    ),
    ("The API key expires in March.", "The API key expires in April, not March."),
    ("I drive to work.", "I take the train to work instead of driving now."),
    ("My daughter is in second grade.", "My daughter just started third grade."),
    ("My budget for the trip is 2000 dollars.", "Let's cap the trip budget at 1500 dollars."),
    ("The repo's default branch is master.", "We renamed the default branch from master to main."),
    ("I weigh 82 kilos.", "I'm down to 78 kilos."),
)
#: changes that no rule sees: they are kept beside the old value, which is no harm
UNSEEN: Final = 11
STAY: Final = (
    ("I like jazz.", "I like techno too."),
    ("My brother lives in Oslo.", "I live in Bergen."),
    ("I have a dog named Rex.", "I have a cat named Mia."),
    ("I work at Acme.", "My wife works at Globex."),
    ("I bought shoes for 80 euros.", "I bought a jacket for 120 euros."),
    ("I had pasta for lunch.", "I had soup for lunch."),
    ("The staging database is Postgres.", "The analytics database is ClickHouse."),
    ("I speak Spanish.", "I'm learning Portuguese."),
    ("My meeting with Ann is at 10.", "My meeting with Bob is at 11."),
    ("I live in Lyon.", "I used to live in Nantes."),
    ("I was in Rome last week.", "I'm going to Milan next week."),
    ("Our team uses Slack.", "The client uses Teams."),
    ("My son plays football.", "My son plays the violin."),
    ("I don't eat pork.", "I don't eat beef."),
    ("My mother is a nurse.", "My mother is a wonderful cook."),
    ("My phone is broken.", "My laptop is slow."),
    ("I want to move to Spain.", "I might move to Italy someday."),
    ("I ran 5 km today.", "I ran 8 km today."),
    ("Tom's birthday is May 3.", "Ann's birthday is June 9."),
    ("I love my job.", "I don't love the commute."),
    ("Kedim var, adı Pamuk.", "Köpeğim var, adı Karabaş."),
    ("Annem Bursa'da yaşıyor.", "Babam İzmir'de yaşıyor."),
    ("Türk kahvesi severim.", "Filtre kahve de severim."),
    ("Dün Kadıköy'deydim.", "Yarın Beşiktaş'ta olacağım."),
    ("Kızım beş yaşında.", "Oğlum sekiz yaşında."),
    ("My dentist is Dr. Lee.", "My eye doctor is Dr. Roy."),
    ("I take vitamin D in the morning.", "I take magnesium at night."),
    ("My office is on the 3rd floor.", "My office is quiet today."),
    ("The printer is out of toner.", "The printer is on floor 2."),
    ("The report is due Friday.", "The slides are due Monday."),
    ("I play guitar.", "I play drums as well."),
    ("My car is blue.", "My car is a Volvo."),
    ("My wife is Ann.", "My wife is Canadian."),
    ("My manager is Bob.", "My manager is on vacation."),
    ("I was born in 1990.", "My sister was born in 1993."),
    ("Our landlord is Bob.", "Our landlord is strict."),
    ("I'm reading Dune.", "I'm reading a biography of Curie."),
    ("The red bike needs a new chain.", "The blue bike needs a new saddle."),
    ("The kitchen light is broken.", "The kitchen light is a smart bulb."),
    ("I met Ada in Paris.", "I met Bob in London."),
    ("I get up at 7.", "My sister gets up at 6 now."),
    ("I take 20 mg of aspirin daily.", "The doctor lowered my ibuprofen dose to 10 mg."),
    ("The demo is on Tuesday.", "The retro got pushed to Thursday."),
    ("My meeting with Ann is on Tuesday.", "My meeting with Bob was moved to Thursday."),
    ("My rent is 900 euros.", "They raised my phone bill to 950 euros."),
    ("The project budget is 2000 euros.", "We raised the marketing budget to 3000 euros."),
    ("Ada's ticket costs 9 euros.", "The price of the bus dropped to 5 euros."),
    ("I fly to Berlin on Monday.", "I moved to Berlin on Tuesday."),
    ("I collect stamps.", "I collect coins now."),
    ("We have a cat.", "We have a dog now."),
    ("I was sick last week.", "I'm tired, not sick."),
    ("I was born in Ankara.", "I moved from Ankara to Kars."),
    ("My wife likes coffee.", "I like tea, not coffee."),
    ("I sold my stocks.", "I sold my car."),
    ("I have a Honda Civic.", "I sold my Honda stock."),
    ("The food at Lupa is great.", "The food at Lupa is expensive."),
    ("The weather in Oslo is cold.", "The people in Oslo are kind."),
    ("Ada painted the fence.", "Ada painted the door."),
    ("The city of Rome is old.", "The city of Rome is loud."),
    ("I visited the city of Rome.", "I visited the city of Milan."),
    ("The issue with the app is speed.", "The issue with the app is memory."),
    ("Bob was promoted by Ann.", "Bob was praised by Carl."),
    ("Ada doesn't work on Fridays.", "Bob works on Fridays."),
    ("The north gate is closed.", "The south gate is not closed."),
    ("I ran 5 km on Monday.", "I ran 7 km on Tuesday."),
    ("Mom takes 5 mg in the evening.", "My dose was raised to 10 mg in the evening."),
    ("My dog eats twice a day.", "My cat eats three times a day now."),
    ("Kahveyi severim.", "Artık çayı da severim."),
    ("Toplantı salı günü.", "Sınav perşembe gününe alındı."),
    ("I quit my job.", "I quit smoking."),
    ("I left the keys at home.", "I left the office at 5."),
    ("My flight to Rome is at 9:40.", "My flight to Oslo was moved to 11:15."),
    ("I stopped at the bakery.", "I like the bakery."),
    ("The blue team won 3 games.", "The red team won 5 games now."),
)


def test_most_corrections_come_before_what_they_correct() -> None:
    found = [verdict(old(before), now, days=9) for before, now in CHANGES]
    assert all(each.action in ("create", "supersede") for each in found)
    missed = [
        pair
        for pair, each in zip(CHANGES, found, strict=True)
        if not (each.superseded or each.may_change)
    ]
    assert len(missed) <= UNSEEN, missed


@pytest.mark.parametrize(("one", "other"), STAY)
def test_what_stays_true_is_superseded_in_neither_order(one: str, other: str) -> None:
    assert verdict(old(one), other, days=9).superseded == ()
    assert verdict(old(other), one, days=9).superseded == ()
