"""Every memory comes to be looked at for a theme, and each theme has room for all of its sources.

Damage without it: five hundred newest memories that fit no theme keep all older ones from ever
being looked at; a summary of a category keeps its sources out of themes; a theme of a hundred
memories quotes five of them. Guard: stores of more memories than a cycle compares.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import spector
from spector import Config, Memory, MemoryRecord
from spector.language.worth import sentences_of
from tests.sleep.nights import asleep, pass_days


def _themes(memory: Memory) -> Iterator[tuple[MemoryRecord, list[int]]]:
    """Themes with the ids of their sources."""
    for each in memory.records():
        if each.write_source == "dream" and each.category == spector.Category.SUMMARY:
            edges = memory.graph.edges(each.id)
            sources = [e.target for e in edges if e.kind == "derived_from" and e.source == each.id]
            yield each, sorted(sources)


def test_older_memories_get_their_turn_behind_many_that_fit_no_theme() -> None:
    with asleep() as (memory, clock):
        old = memory.remember_many(
            [{"text": f"Tavla masası {n} Selin ile kuruldu.", "session_id": "old"}
             for n in range(6)]
        )  # fmt: skip
        memory.remember_many([
            {"text": f"note {n * 7919} about {n * 104729}", "importance": 0.25 + n % 2 * 0.5}
            for n in range(620)
        ])  # fmt: skip
        covered: set[int] = set()
        for _ in range(4):
            pass_days(clock, 1)
            memory.reflect(["decay", "consolidate"])
            covered = {each for _, sources in _themes(memory) for each in sources}
        assert len(covered & {each.id for each in old}) >= 3


def test_a_theme_quotes_each_of_its_sources() -> None:
    with asleep() as (memory, clock):
        made = memory.remember_many([
            {"text": f"Deniz bought the {n}th lamp in Urla. It was fun. We all had a great time.",
             "session_id": "one"} for n in range(30)
        ])  # fmt: skip
        pass_days(clock, 1)
        memory.reflect("consolidate")
        themes = list(_themes(memory))
        assert sorted(each for _, sources in themes for each in sources) == [e.id for e in made]
        for theme, sources in themes:
            assert 3 <= len(sources) <= 12
            for each in sources:
                assert sentences_of(memory.get(each).text)[0] in theme.text


def test_a_theme_goes_with_the_words_that_it_quotes() -> None:
    """A memory of which nothing else is known is given other words: no theme says the old ones."""
    with asleep() as (memory, clock):
        made = memory.remember_many([
            {"text": f"Deniz bought the {n}th lamp in Urla.", "session_id": "one"}
            for n in range(4)
        ])  # fmt: skip
        pass_days(clock, 1)
        memory.reflect("consolidate")
        assert any("2th lamp" in theme.text for theme, _ in _themes(memory))
        memory.update(made[2].id, text="Deniz bought a boat in Foça.")
        assert not any("2th lamp" in each.text for each in memory.records())
        memory.reflect("consolidate")
        assert not any("2th lamp" in each.text for each in memory.records())


def test_what_is_in_a_summary_of_its_category_may_still_join_a_theme() -> None:
    with asleep() as (memory, clock):
        memory.remember_many([
            {"text": f"The boiler number {n} hums in B flat.", "category": "fact"}
            for n in range(2)
        ])  # fmt: skip
        memory.remember_many([
            {"text": f"Fact {n * 7919}: {n * 104729}", "category": "fact", "importance": 0.9}
            for n in range(10)
        ])  # fmt: skip
        pass_days(clock, 1)
        memory.reflect(["consolidate", "summarize"])
        last = memory.remember("The boiler number 2 hums in B flat.", category="fact")
        pass_days(clock, 1)
        memory.reflect("consolidate")
        assert any(last.id in sources and len(sources) == 3 for _, sources in _themes(memory))


@pytest.mark.parametrize("originals", ["keep", "dormant"])
def test_a_cycle_that_is_cut_while_it_gathers_makes_the_same_themes(originals: str) -> None:
    seen = []
    for cut in (False, True):
        sleep = spector.SleepConfig(originals=originals)  # type: ignore[arg-type]
        with asleep(config=Config(sleep=sleep)) as (memory, clock):
            memory.remember_many([
                {"text": f"Emre rode line {n} to Kadikoy.", "session_id": f"s{n // 40}"}
                for n in range(120)
            ])  # fmt: skip
            pass_days(clock, 1)
            report = memory.reflect("consolidate", max_seconds=1e-9 if cut else None)
            calls = 1
            while not report.finished:
                report, calls = memory.reflect("consolidate", max_seconds=1e-9), calls + 1
            assert (calls > 3) is cut
            seen.append([(theme.text, sources) for theme, sources in _themes(memory)])
    assert seen[0] == seen[1]
    assert len(seen[0]) >= 10


@pytest.mark.parametrize(("text", "sentences"), [
    ("The car cost 4.500 lira. It runs.", ["The car cost 4.500 lira.", "It runs."]),
    ("We offered 12.8 million.", ["We offered 12.8 million."]),
    ("Dr. Yıldız called. Gel!", ["Dr. Yıldız called.", "Gel!"]),
    ("Prof. Dr. Ayla geldi mi? Evet.", ["Prof. Dr. Ayla geldi mi?", "Evet."]),
    ("5. sınıfta okuyor. Saat 9.30'da.", ["5. sınıfta okuyor.", "Saat 9.30'da."]),
    ("J. R. R. Tolkien wrote it... no. 7 is out", ["J. R. R. Tolkien wrote it...", "no. 7 is out"]),
    ("Who, I? No. Not I. He.", ["Who, I?", "No.", "Not I.", "He."]),
    ("one\n\ntwo", ["one", "two"]),
    ("... !", []),
    ("", []),
])  # fmt: skip
def test_a_theme_never_quotes_half_of_a_number_or_a_name(text: str, sentences: list[str]) -> None:
    assert sentences_of(text) == sentences
