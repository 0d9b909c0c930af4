"""A recall can say which dormant memories the cue would have hit; it returns none of them."""

from __future__ import annotations

from typing import Any

import pytest

import spector
from spector import InvalidInputError, ManualClock, RecallOptions
from tests.api.helpers import ids
from tests.conftest import NOW
from tests.fakes import FakeEmbedder


def test_dormant_memories_that_the_cue_would_have_hit_are_named() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=ManualClock(NOW)) as memory:
        here = memory.remember("the river rose")
        rest = memory.remember("the river fell", user_id="ada")
        other = memory.remember("the river froze", user_id="bob")
        memory.retire([rest, other])
        plain, hinted = memory.recall("river"), memory.recall("river", dormant_hint=True)
        assert ids(plain) == ids(hinted) == [here.id]
        assert plain.stats.dormant == ()
        assert set(hinted.stats.dormant) == {rest.id, other.id}
        assert memory.recall("river", user_id="ada", dormant_hint=True).stats.dormant == (rest.id,)
        options = RecallOptions(dormant_hint=True)
        assert memory.recall("river", user_id="bob", options=options).stats.dormant == (other.id,)
        asked = memory.recall("river", dormant_hint=True, include=["dormant"])
        assert len(asked) == 3
        assert set(asked.stats.dormant) == {rest.id, other.id}
        assert memory.get(rest).access_count == 0


@pytest.mark.parametrize("bad", ["yes", 1, None])
def test_the_hint_is_a_switch(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="dormant_hint"):
        RecallOptions(dormant_hint=bad)
