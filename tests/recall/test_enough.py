"""How many candidates a scan through a filter is asked for.

Mechanism: a scan's floor is the worst of those it is asked for, so 128 candidates for ten hits cost
a filter of a tenth of all memories four times the time. Damage without it: slow recalls; with too
few and nothing after it, answers that lack memories. Guard: what is asked is written down, and the
answers are those of brute force.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import spector
from spector import Memory
from spector.kernel.contract.tags import tag_mask
from tests.api.helpers import ids


class _Asked:
    """A kernel that writes down how many candidates it is asked for."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self.wants: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def scan(self, table: Any, query: Any, k: int, **options: Any) -> Any:
        self.wants.append(k)
        return self._kernel.scan(table, query, k, **options)


def _stranger_of(tag: str) -> list[str]:
    """Tags that together have all bits of another one, so that its Bloom filter lets them pass."""
    wanted, found, n = tag_mask(tag), list[str](), 0
    while wanted:
        other = f"other {n}"
        n += 1
        if tag_mask(other) & wanted:
            found.append(other)
            wanted &= ~tag_mask(other)
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Memory, _Asked, list[int]]]:
    """900 memories: 300 of "common"; of "rare" 12, and 600 strangers to it that are more alike."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(900, 16)).astype(np.float32)
    vectors[300:, 0] += 2.0
    vectors[:12, 0] += 1.0
    strange = _stranger_of("rare")
    with spector.open(":memory:", embedder=None, dim=16) as memory:
        made = memory.remember_many(
            [
                {
                    "text": "x",
                    "vector": vectors[n],
                    "tags": (["rare", "common"] if n < 12 else ["common"] if n < 300 else strange),
                }
                for n in range(900)
            ]
        )
        kernel = _Asked(memory._parts.searcher._scanner)
        monkeypatch.setattr(memory._parts.searcher, "_scanner", kernel)
        yield memory, kernel, ids(made)


def _cue() -> Any:
    return np.eye(16, dtype=np.float32)[0]


def test_a_filter_asks_for_a_few_more_than_are_wanted(
    asked: tuple[Memory, _Asked, list[int]],
) -> None:
    memory, kernel, made = asked
    hits = memory.recall(vector=_cue(), k=10, tags=["common"])
    assert len(hits) == 10
    assert set(ids(hits)) <= set(made[:300])
    assert kernel.wants == [26]
    assert ids(hits) == ids(memory.recall(vector=_cue(), k=50, tags=["common"]))[:10]


def test_strangers_that_fill_the_first_scan_cost_no_answer_and_are_remembered(
    asked: tuple[Memory, _Asked, list[int]],
) -> None:
    memory, kernel, made = asked
    hits = memory.recall(vector=_cue(), k=10, tags=["rare"])
    assert len(hits) == 10
    assert set(ids(hits)) <= set(made[:12])
    assert kernel.wants == [26, 128, 2048]
    kernel.wants.clear()
    again = memory.recall(vector=_cue(), k=10, tags=["rare"])
    assert ids(again) == ids(hits)
    (want,) = kernel.wants
    assert 600 < want <= 2048
    kernel.wants.clear()
    memory.recall(vector=_cue(), k=11, tags=["rare"])  # of another k nothing is known
    assert kernel.wants[0] == 27


def test_a_filter_becomes_cheap_again_when_its_strangers_have_gone(
    asked: tuple[Memory, _Asked, list[int]],
) -> None:
    memory, kernel, made = asked
    memory.recall(vector=_cue(), k=10, tags=["rare"])
    memory.forget(made[300:])
    kernel.wants.clear()
    for _ in range(2):
        assert len(memory.recall(vector=_cue(), k=10, tags=["rare"])) == 10
    assert kernel.wants[-1] == 26


@pytest.mark.parametrize("how", [{"where": {"a": 1}}, {"min_importance": 0.1}])
def test_what_only_the_catalog_knows_is_asked_for_as_before(
    asked: tuple[Memory, _Asked, list[int]], how: dict[str, Any]
) -> None:
    memory, kernel, _ = asked
    memory.recall(vector=_cue(), k=10, **how)
    memory.recall(vector=_cue(), k=10, tags=["common"], **how)
    assert kernel.wants[0] == (128 if "where" in how else 10)


def test_what_is_remembered_of_filters_is_bounded(asked: tuple[Memory, _Asked, list[int]]) -> None:
    memory, _, _ = asked
    for n in range(600):
        memory.recall(vector=_cue(), k=1, tags=[f"tag {n}"])
    assert len(memory._parts.searcher._by_score._enough) <= 256


@pytest.mark.sampled
@pytest.mark.parametrize("exact", [False, True])
def test_what_is_remembered_is_never_less_than_what_is_wanted(exact: bool) -> None:
    """Mechanism: 2,048 were remembered for more hits than that, and were all that came the second
    time; a recall of one hit a session, which asks for more and more, then ended with one."""
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(3050, 8)).astype(np.float32)
    vectors[:3000, 0] += 4.0
    with spector.open(":memory:", embedder=None, dim=8) as memory:
        memory.remember_many(
            [
                {
                    "text": "x",
                    "vector": vectors[n],
                    "tags": ["b"],
                    "session_id": "busy" if n < 3000 else f"s{n}",
                }
                for n in range(3050)
            ]
        )
        cue = np.eye(8, dtype=np.float32)[0]
        for _ in range(3):
            assert len(memory.recall(vector=cue, k=3000, tags=["b"], exact=exact)) == 3000
            hits = memory.recall(vector=cue, k=10, tags=["b"], per_session=1, exact=exact)
            assert len(hits) == 10
