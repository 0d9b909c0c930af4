"""A word of change and a shared thing put the newer statement first, and hide nothing.

Mechanism: ``changes_perhaps`` looks for a cue of change, or for another value in one place.
Damage: an outdated statement is read first; or one that is still so, behind a look-alike.
Guard: edges of changes and of their look-alikes; nothing here is superseded.
"""

from __future__ import annotations

import pytest

import spector
from spector.records import ObserveResult


def _observed(old: str, new: str) -> tuple[ObserveResult, ObserveResult]:
    with spector.open(":memory:") as memory:
        first = memory.observe(old, user_id="ann")
        return first, memory.observe(new, user_id="ann")


def _ties(old: str, new: str) -> list[str]:
    first, second = _observed(old, new)
    assert not any(each.superseded for each in second.units)
    ids = {each.id for each in first.records}
    return [each.kind for unit in second.units for each in unit.edges if each.target in ids]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The parcel locker code is 5521.", "The parcel locker code went over to a new one, 8034."),
        ("Harpsichord tuition is with Mrs Bell.", "No more harpsichord tuition with Mrs Bell."),
        ("Deposit for the hall: 40 percent.", "Deposit for the hall: 55 percent."),
        ("Shuttle to the depot leaves at 6.15.", "Shuttle to the depot leaves at 7.40, they say."),
        ("Kulübün provaları salonda.", "Kulübün provaları bodruma taşındı."),
        ("My boss is Tilda.", "I report to Anselm now."),  # one slot, other words
        ("I work at the bench by the oven.", "I work at Marlowe now."),  # no employer is a bench
        ("Arpı salonda çalışırım.", "Arpı artık bodrumda çalışırım."),
    ],
)
def test_a_change_comes_before_what_it_may_have_changed(old: str, new: str) -> None:
    assert "may_change" in _ties(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I pay 30 for the garden.", "Wilma pays 45 for the garden now."),
        ("I'm going to Ghent by train.", "Otto's going to Ghent by coach now."),
        ("moving to a flat in Mons on the 1st", "my sister's moving to a flat in Pau on the 15th"),
        ("My niece Ada studies law in Bonn.", "My niece Ida has left her studies in Bonn."),
        ("Shuttle to the depot leaves at 6.15.", "Another shuttle to the depot leaves at 7.40."),
        ("Shuttle to the depot leaves at 6.15.", "Ferry to the island leaves at 7.40."),
        ("My boss is Tilda.", "Edda reports to Anselm now."),
        ("Logs are kept for 30 days on prod.", "Logs are kept for 7 days on staging."),
        ("Yedek anahtar komşuda.", "Yedek anahtar artık annemde de var."),
    ],
)
def test_what_adds_or_is_about_another_changes_no_order(old: str, new: str) -> None:
    assert "may_change" not in _ties(old, new)
