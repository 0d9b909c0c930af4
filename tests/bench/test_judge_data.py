"""The pairs of the balanced hands cannot be told apart by their lengths and shared words.

Damage without it: a judge learns how a set was made instead of what a sentence does to another.
Guard: a classifier on lengths and overlap alone, leaving hands out, and the same one on pairs
that were made to give it away.
"""

from __future__ import annotations

import pytest

from bench.judge.hands import RELATIONS, TURKISH, UNBALANCED, overlap_auc, pairs_of, replaces


def test_lengths_and_shared_words_alone_tell_little_of_a_relation() -> None:
    hands = [rows for hand, rows in pairs_of().items() if hand not in UNBALANCED]
    assert overlap_auc(hands) < 0.60
    assert overlap_auc([rows for hand, rows in pairs_of().items() if hand in TURKISH]) < 0.60


def test_a_set_that_is_given_away_by_its_lengths_is_found_out() -> None:
    given = [
        [{**row, "new": row["new"] + " and so it is" * replaces(row)} for row in rows]
        for hand, rows in pairs_of().items()
        if hand not in UNBALANCED
    ]
    assert overlap_auc(given) > 0.70


@pytest.mark.parametrize("hand", sorted(set(pairs_of()) - set(UNBALANCED)))
def test_a_balanced_hand_has_every_relation_and_no_pair_twice(hand: str) -> None:
    rows = pairs_of()[hand]
    assert len({(row["old"], row["new"]) for row in rows}) == len(rows) == 200
    assert [sum(row["relation"] == one for row in rows) for one in RELATIONS] == [
        15,
        40,
        60,
        25,
        60,
    ]
