"""What someone is to the user does not say who he is: of two dogs each has an age.

Damage: "my dog Max is 3" took the place of "my dog Biscuit is 11", because both were said of "the
user's dog"; and "Biscuit is 12 now" changed nothing, because Biscuit was not known to be the dog.
"""

from __future__ import annotations

import pytest

import spector


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
        ("my older sister Joana lives in Braga", "my sister Joana moved to Faro"),
        ("my dog Biscuit is 11", "Biscuit is 12 now"),
        ("our daughter Ines is allergic to nuts", "turns out Ines isn't allergic to nuts"),
        ("my dog Biscuit is 11", "my dog is 12 now"),
        ("my sister Joana lives in Braga", "my sister moved to Faro"),
        ("eşim Kerem Bosch'ta çalışıyor", "Kerem artık Siemens'te çalışıyor"),
        ("Kerem Bosch'ta çalışıyor", "Kerem Bosch'tan ayrıldı, artık Siemens'te çalışıyor"),
    ],
)
def test_the_same_one_is_known_by_name(old: str, new: str) -> None:
    assert last_action(old, new) == "supersede"


def test_which_of_two_is_meant_stays_open() -> None:
    sisters = "my sister Joana lives in Braga", "my sister Marta lives in Porto"
    assert last_action(*sisters, "my sister moved to Faro") == "create"


def test_a_namesake_hides_no_words() -> None:
    with spector.open(":memory:") as memory:
        kept = memory.observe("my sister Joana lives in Braga", user_id="ana").records[0]
        memory.observe("my friend Joana lives in Lisbon", user_id="ana")
        living = {each.id for each in memory.records(user_id="ana")}
    assert kept.id in living
