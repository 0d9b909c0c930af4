"""What a recall writes on for a moment, kept from one to the next.

Damage without the bound: each thread that ever recalled from the largest store keeps five bytes for
each of its rows, for as long as it lives.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

from spector.search.view import features


def _ask(count: int) -> None:
    rows = np.array([count - 1, 3], np.int64)
    near = np.array([[3, -1], [4, count - 1]], np.int64)
    assert features.mark_rows(count, [rows, near.ravel()]).tolist() == [3, 4, count - 1]
    assert features.mark_rows(count, [rows], without=rows[:1]).tolist() == [3]
    assert features._positions(count, rows, near).tolist() == [[1, 2], [2, 0]]


def test_threads_keep_little_and_all_of_them_one_for_large_stores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(features, "_MOST_KEPT", 1000)
    monkeypatch.setattr(features, "_large", {})
    kept: list[int] = []

    def work() -> None:
        for count in (500, 1000, 5000, 1001, 900, 6000):
            _ask(count)
        kept.extend([len(features._scratch.mark), len(features._scratch.place)])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == 6
    assert max(kept) <= 1001
    assert set(features._large) == {"mark", "place"}
    assert not any(each.any() for each in features._large.values())


def test_threads_that_recall_at_once_do_not_write_on_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(features, "_MOST_KEPT", 10)
    monkeypatch.setattr(features, "_large", {})
    _ask(100)
    mine = features._take("mark", 100, np.bool_)
    other = features._take("mark", 100, np.bool_)
    assert mine is not other
    features._give_back("mark", mine)
    features._give_back("mark", other)
    assert features._take("mark", 100, np.bool_) is other
