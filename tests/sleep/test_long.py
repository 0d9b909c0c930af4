"""What people told outlasts any number of nights: nothing of it sleeps, and all of it is found.

Damage without it: a share that survives each night looks small, and is nothing after a hundred of
them. Guard: messages of a hundred days, a night after each, and a curve of what is awake.
"""

from __future__ import annotations

import pytest

from tests.sleep.nights import asleep, pass_days

_NOUNS = "boat river lamp chair clock bread stone glass paper garden window bridge".split()
_PLACES = "Kars Foça Cunda Assos Bergen Lyon Oslo Quito".split()


def _message(n: int) -> str:
    return (
        f"{_NOUNS[n % 12].capitalize()} {n} of the {_NOUNS[n // 12 % 12]} market went to"
        f" {_PLACES[n // 144 % 8]} with crate {n * 7919 % 100_003}"
    )


def _curve(messages: int, days: int) -> list[tuple[int, int, int]]:
    """(day, stored, awake) every tenth of the time; at the end each is recalled by its words."""
    curve, each_day = [], messages // days
    with asleep() as (memory, clock):
        made = []
        for day in range(days):
            made += memory.remember_many(
                [_message(n) for n in range(day * each_day, (day + 1) * each_day)]
            )
            pass_days(clock, 1)
            memory.reflect()
            if day % max(1, days // 10) == 0 or day == days - 1:
                awake = {each.id for each in memory.records(include=[])}
                curve.append((day + 1, len(made), sum(each.id in awake for each in made)))
        for each in made:
            assert each.id in {hit.id for hit in memory.recall(each.text, k=3)}, each.text
        assert memory.check().ok
    return curve


def test_messages_of_two_days_all_survive() -> None:
    assert all(stored == awake for _, stored, awake in _curve(16, 2))


@pytest.mark.slow
def test_ten_thousand_messages_of_a_hundred_days_all_survive(
    capsys: pytest.CaptureFixture[str],
) -> None:
    curve = _curve(10_000, 100)
    with capsys.disabled():
        print("\nday, stored, awake:", *curve, sep="\n  ")
    assert curve[-1][:2] == (100, 10_000)
    assert [awake for _, _, awake in curve] == [stored for _, stored, _ in curve]
