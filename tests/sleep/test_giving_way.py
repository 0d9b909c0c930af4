"""A theme does not hide the memories that it was made of.

Damage: after one night over a dozen Turkish remarks, the three hits of each question were three
texts of eight unrelated sentences, which had joined because all Turkish is alike to the embedder;
they are important by what they are, and hits that they quote were left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import spector
from spector import ManualClock, Memory
from spector.sleep.steps.gathering import _alike_from

SAID = (
    "Klinik sabah dokuzda açılıyor, pazar günleri kapalıyız.", "Kedimin adı Pamuk, altı yaşında.",
    "Eşim Kerem fındığa alerjik.", "Kerem bankada çalışıyor ama sevmiyor.",
    "Cumartesi akşamı komşularla balık yedik.", "Kızım Defne yüzme kursuna başladı.",
    "Arabamın bakımı altı bin lira tuttu.", "Annem dizinden ameliyat oldu.",
)  # fmt: skip


@pytest.fixture(scope="module")
def slept() -> Iterator[Memory]:
    clock = ManualClock("2026-09-07T08:00:00Z")
    with spector.open(":memory:", clock=clock) as memory:
        with memory.session("first", user_id="ece") as chat:
            for each in SAID:
                chat.observe(each)
        with memory.session("rules", user_id="ada") as chat:
            for each in ("green tea", "dark mode", "paper maps", "window seats", "early trains"):
                chat.observe(f"I prefer {each}.")
        clock.advance(days=3)
        memory.reflect()
        yield memory


@pytest.mark.parametrize("cue", ["Kedimin adı ne?", "Kerem neye alerjik?", "Klinik ne zaman açık?"])
def test_what_was_said_comes_before_what_was_made_of_it(slept: Memory, cue: str) -> None:
    assert any(each.write_source == "dream" for each in slept.records(user_id="ece"))
    hits = slept.recall(cue, k=3, user_id="ece")
    assert [hit.text for hit in hits if hit.record.write_source == "dream"] == []


def test_what_a_theme_quotes_is_not_said_twice(slept: Memory) -> None:
    hits = slept.recall("which seats on early trains?", k=10, user_id="ada")
    assert {"I prefer window seats.", "I prefer early trains."} <= {hit.text for hit in hits[:3]}
    assert [hit.text for hit in hits if hit.record.write_source == "dream"] == []


def test_a_theme_stands_for_sources_that_sleep(slept: Memory) -> None:
    sources = [each.id for each in slept.records(user_id="ada") if each.write_source != "dream"]
    for each in sources:
        slept.retire(each)
    try:
        hits = slept.recall("which seats on early trains?", k=3, user_id="ada")
        assert "window seats" in hits[0].text
        assert "theme" not in hits[0].explain().evidence
    finally:
        for each in sources:
            slept.reactivate(each)


@pytest.mark.parametrize(
    ("alike", "count", "least"), [(0.1, 30, 0.6), (0.4, 30, 0.78), (0.95, 30, 0.6), (0.4, 4, 0.6)]
)
def test_what_is_alike_depends_on_how_alike_all_is(alike: float, count: int, least: float) -> None:
    table = np.full((count, count), alike, np.float32)
    assert _alike_from(table) == pytest.approx(least, abs=1e-6)
