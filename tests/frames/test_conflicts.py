"""What contradicts what, and what does not: slots, values, polarity and words of change.

Mechanism: a statement is compared with the living ones of its subject. Damage without it: the old
port is recalled beside the new one; or a sister's colour, a second dog, a guess retires what holds.
"""

from __future__ import annotations

import pytest

from spector.language.frames import Statement, Verdict, compare, extract


def verdict(old: str, new: str, **more: object) -> Verdict:
    before = extract(old)
    found = [compare(before, each, new, **more) for each in extract(new)]  # type: ignore[arg-type]
    return max(found, key=lambda each: each.confidence, default=Verdict("none"))


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("The staging server uses port 8080.", "The staging server uses port 8443.", "value"),
        ("I live in Paris.", "I live in Berlin.", "value"),
        ("User lives in Paris.", "User lives in Berlin.", "value"),
        ("I live in Paris.", "My home is in Berlin.", "value"),
        ("I love dogs.", "I do not love dogs.", "polarity"),
        ("I don't like tea.", "I like tea.", "polarity"),
        ("I live in Rome.", "I no longer live in Rome.", "polarity"),
        ("I eat meat.", "I stopped eating meat.", "polarity"),
        ("I have a car.", "I don't have a car anymore.", "polarity"),
        ("I use Vim.", "I switched from Vim to Helix.", "said"),
        ("I use Vim.", "I use Helix instead of Vim.", "said"),
        ("I prefer tea.", "From now on I prefer coffee.", "said"),
        ("The project's database is MySQL.", "The database is SQLite now.", "said"),
        ("I live in Lille.", "I moved from Lille to Nantes.", "said"),
        ("My wife is Anna.", "My wife is Carla.", "value"),
        ("The report is due on March 17.", "The report's deadline was moved to 2 April.", "value"),
        ("I'm single.", "I got married last week.", "value"),
        ("I'm a nurse.", "I work as a welder now.", "value"),
        ("The ticket costs 40 euros.", "The ticket costs 42 euros.", "value"),
        ("My favourite colour is blue.", "Green is the colour I like best.", "value"),
        ("Rize'de yaşıyorum.", "Ordu'da yaşıyorum.", "value"),
        ("Rize'de yaşıyorum.", "Artık Rize'de yaşamıyorum.", "polarity"),
        ("Rize'de yaşıyorum.", "Ordu'ya taşındım.", "value"),
        ("En sevdiğim renk mavi.", "En sevdiğim renk artık mor.", "said"),
        ("Projenin veritabanı MySQL.", "Veritabanı artık SQLite.", "said"),
        ("Sunucu 8080 portunda çalışıyor.", "Sunucunun portu 8443.", "value"),
    ],
)
def test_a_new_statement_replaces_the_old_one(old: str, new: str, rule: str) -> None:
    found = verdict(old, new)
    assert (found.kind, found.old_index) == ("replaces", 0)
    assert found.rule == rule or (found.rule == "said" and rule == "value")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I bought a red car", "I bought a blue car"),
        ("My favourite colour is blue", "My sister's favourite colour is green"),
        ("I live in Paris.", "My sister lives in Berlin."),
        ("I live in Paris.", "Maybe I live in Berlin."),
        ("I live in Paris.", "Should I live in Berlin?"),
        ("I live in Paris.", "I'm going to live in Berlin."),
        ("I live in Paris.", "If I lived in Berlin, I would ski."),
        ("I live in Paris.", "Tom says I live in Berlin."),
        ("I live in Paris.", "In 2012 I lived in Berlin."),
        ("I live in Paris.", "I used to live in Berlin."),
        ("I live in Paris.", "I don't live in Berlin."),
        ("I live in Paris.", "I live in Paris, France."),
        ("I like tea.", "I like coffee."),
        ("I like tea.", "I also like coffee."),
        ("I speak Dutch.", "I speak Danish."),
        ("I have a dog.", "I have a cat."),
        ("I use Vim.", "I use Firefox."),
        ("I use Vim.", "I use Firefox now."),
        ("I live in Oslo and Bergen.", "I live in Bergen and Oslo."),
        ("I live in Oslo.", "I live in Oslo and Bergen."),
        ("I play the cello.", "I play tennis now."),
        ("We found lovely flowers.", "Now, I've finally found my real muses."),
        ("My sister is Anna.", "My sister is Berta."),
        ("My friend is Anna.", "My friend is Berta."),
        ("I'm allergic to nuts.", "I'm allergic to pollen."),
        ("The staging server uses port 8080.", "The test server uses port 8443."),
        ("The report is due on March 17.", "The slides are due on April 2."),
        ("The report is due on March 17.", "The report is due on 17 March."),
        ("I visited Lisbon.", "I visited Porto."),
        ("I was born in Izmir.", "I live in Berlin."),
        ("My age is 42.", "My brother is 35 years old."),
        ("Rize'de yaşıyorum.", "Ablam Ordu'da yaşıyor."),
        ("Rize'de yaşıyorum.", "Ordu'da mı yaşıyorsun?"),
        ("En sevdiğim renk mavi.", "Ablamın en sevdiği renk mor."),
        ("Rize'de yaşıyorum.", "Belki Ordu'da yaşarım."),
    ],
)
def test_both_statements_stay(old: str, new: str) -> None:
    assert verdict(old, new) == Verdict("none")


def test_the_one_that_is_meant_among_several_is_found() -> None:
    old = [*extract("I like tea."), *extract("I live in Paris."), *extract("I use Vim.")]
    (new,) = extract("I live in Berlin.")
    assert compare(old, new).old_index == 1
    (new,) = extract("I switched from Vim to Helix.")
    assert compare(old, new).old_index == 2


def test_words_of_change_need_one_slot_to_change() -> None:
    (new,) = extract("From now on I prefer coffee.")
    two = [*extract("I prefer tea."), *extract("I prefer cocoa.")]
    assert compare(two, new, "From now on I prefer coffee.") == Verdict("none")


def test_two_values_of_an_unknown_role_in_other_words_are_both_kept() -> None:
    (old,) = extract("My dentist is Dr Ruiz.")
    (new,) = extract("Dr Wu is my dentist.")
    assert compare([old], new).kind == "contradicts"
    assert compare([old], extract("My dentist is Dr Wu.")[0]).kind == "replaces"


def test_there_and_back_again() -> None:
    cities = ("Paris", "Berlin", "Paris")
    paris, berlin, again = (extract(f"I live in {city}.")[0] for city in cities)
    assert compare([paris], berlin).kind == "replaces"
    assert compare([berlin], again).kind == "replaces"
    assert compare([paris], again) == Verdict("none")


def test_relative_dates_are_compared_as_days() -> None:
    now = 1_764_115_200_000
    day = 86_400_000
    (old,) = extract("The report is due on 2025-11-27.")
    (same,) = extract("The report is due tomorrow.", reference_time=now)
    (later,) = extract("The report is due tomorrow.", reference_time=now + day)
    assert same.value == "2025-11-27"
    assert compare([old], same) == Verdict("none")
    assert compare([old], later).rule == "value"


def test_names_are_folded() -> None:
    old, new = (
        Statement("Éva", "lives_in", "Pécs", single=True),
        Statement("eva", "lives_in", "Győr", single=True),
    )
    assert compare([old], new).rule == "value"
    assert compare([old], Statement("EVA", "lives_in", "pecs", single=True)) == Verdict("none")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I work at Nokia on Mondays.", "I work at Ericsson on Fridays."),
        ("I live in Rome in summer.", "I live in Oslo in winter."),
        ("In winter I live in Oslo.", "In summer I live in Rome."),
        ("The server runs on port 80 at night.", "The server runs on port 90 by day."),
        ("The depot closes at 17:00.", "The depot closes at 12:00 on Sundays."),
        ("Pazartesileri Nokia'da çalışıyorum.", "Cumaları Ericsson'da çalışıyorum."),
        ("Yazın Roma'da yaşıyorum.", "Kışın Oslo'da yaşıyorum."),
        ("I never eat meat at home.", "I eat meat in restaurants."),
        ("The API uses port 80 in production.", "The API uses port 90 in staging."),
        ("My brother Tom lives in Rome.", "My brother Ben lives in Oslo."),
        ("Kardeşim Ali Roma'da yaşıyor.", "Kardeşim Can Oslo'da yaşıyor."),
    ],
)
def test_what_holds_at_times_that_come_back_leaves_other_times_alone(old: str, new: str) -> None:
    for before, after in ((old, new), (new, old)):
        assert extract(before)
        assert extract(after)
        assert verdict(before, after).kind == "none"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I work at Nokia on Mondays.", "I work at Ericsson on Mondays."),
        ("I weigh 80 kg.", "I weigh 78 kg."),
        ("The depot closes at 17:00.", "The depot closes at 18:00."),
        ("Yazın Roma'da yaşıyorum.", "Yazın Oslo'da yaşıyorum."),
        ("My brother Tom lives in Rome.", "My brother Tom lives in Oslo."),
    ],
)
def test_another_value_at_the_same_time_replaces(old: str, new: str) -> None:
    assert verdict(old, new).kind == "replaces"
