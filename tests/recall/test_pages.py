"""A page of hits is a part of the unpaged answer, in its order; none is missing or comes twice.

Mechanism: the answer up to the page's end is found, and cut. Damage without it: a program that
shows hits page by page shows one twice, or never. Guard: pages against the whole answer over cues,
filters and profiles; limits; what a page marks as used.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidInputError, ManualClock, Memory, UnknownArgumentError
from spector.cli.main import main
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

_CUES: tuple[str | None, ...] = tuple(cases.rows("_CUES"))
_HOW: tuple[dict[str, Any], ...] = tuple(cases.rows("_HOW"))


@pytest.fixture(scope="module")
def filled() -> Iterator[Memory]:
    rng, clock = random.Random(5), ManualClock("2026-06-01T09:00:00Z")
    people, things = "Ann Bob Cem".split(), "boiler kettle ladder violin bicycle".split()
    deeds = (
        "bought a",
        "sold the",
        "repaired the",
        "now has a",
        "does not want the",
        "prefers the",
    )
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64), clock=clock) as memory:
        for n in range(200):
            clock.advance(hours=3)
            memory.remember(
                f"{rng.choice(people)} {rng.choice(deeds)} {rng.choice(things)} {n % 90}.",
                user_id=rng.choice("xy"),
                session_id=f"s{n % 17}",
                tags=[rng.choice("ab")],
                **({"key": str(n), "namespace": "n"} if n % 2 else {}),  # type: ignore[typeddict-item]
            )
        yield memory


@pytest.mark.parametrize("how", _HOW, ids=lambda each: " ".join(each) or "plain")
def test_pages_are_the_unpaged_answer(filled: Memory, how: dict[str, Any]) -> None:
    for cue in _CUES:
        if cue is None and "selective" in how:
            continue
        whole = filled.recall(cue, k=33, **how)
        least = whole[len(whole) // 2].score if whole else 0.0
        for size in (4, 11):
            pages = [filled.recall(cue, k=size, offset=n, **how) for n in range(0, 33, size)]
            found = [(hit.id, hit.score) for page in pages for hit in page]
            assert found[:33] == [(hit.id, hit.score) for hit in whole], (cue, size)
        pages = [filled.recall(cue, k=11, offset=n, min_score=least, **how) for n in (0, 11, 22)]
        assert [hit.id for page in pages for hit in page] == [
            hit.id for hit in whole if hit.score >= least
        ], cue


@pytest.mark.parametrize("how", [{}, {"intent": "auto"}, {"associate": True}, {"exact": True}])
def test_pages_lose_no_hit_where_weak_beliefs_are_left_out(how: dict[str, Any]) -> None:
    """What `cut` leaves out takes a place among the k of a page, and none among its hits."""
    rng = random.Random(5)
    words = "boiler kettle ladder window river violin stone garden port ferry Ada Bob tea".split()
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        memory.remember_many(
            [
                {
                    "text": f"{' '.join(rng.choices(words, k=rng.randrange(2, 9)))} {n % 60}",
                    "tier": rng.choice(("episodic", "semantic")),
                }
                for n in range(300)
            ]
        )
        left_out = 0
        for cue in ("What does Ada like?", "when did the ferry come?"):
            whole = [hit.id for hit in memory.recall(cue, k=60, **how)]
            pages = [memory.recall(cue, k=10, offset=n, **how) for n in range(0, 60, 10)]
            assert [hit.id for page in pages for hit in page] == whole, cue
            left_out += len(whole) < 60
        assert left_out


def test_only_the_hits_of_the_page_are_used(memory: Memory) -> None:
    memory.remember_many([f"river {n}" for n in range(6)])
    page = memory.recall("river 3", k=2, offset=2, learn=True)
    assert {each.id for each in memory.records() if each.access_count} == {hit.id for hit in page}


def test_a_page_behind_the_last_is_empty_and_no_silence(memory: Memory) -> None:
    memory.remember("river")
    found = memory.recall("river", offset=5)
    assert (list(found), found.abstained) == ([], False)


def test_what_is_no_page_is_refused(memory: Memory) -> None:
    memory.remember("river")
    for wrong in (-1, 1.5, "1", True, None, memory.recall("river")):
        with pytest.raises(InvalidInputError, match="offset"):
            memory.recall("river", offset=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="offset"):
        memory.recall("river", k=10, offset=10_000_000)
    for score in (float("nan"), float("inf"), "1", True):
        with pytest.raises(InvalidInputError, match="min_score"):
            memory.recall("river", min_score=score)  # type: ignore[arg-type]
    with pytest.raises(UnknownArgumentError):
        memory.context("river", offset=1)  # type: ignore[call-arg]


def test_the_command_line_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "mind")
    with spector.open(path) as memory:
        memory.remember_many(["The boiler is red.", "The boiler was green once."])
    seen = set()
    for offset in ("0", "1"):
        capsys.readouterr()
        assert main(["recall", path, "boiler", "-k", "1", "--offset", offset]) == 0
        seen.add(capsys.readouterr().out)
    assert len(seen) == 2
    assert main(["recall", path, "boiler", "--min-score", "100"]) == 1
