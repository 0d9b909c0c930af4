"""The hot tier: what belongs to it, when it is chosen anew, and how a context quotes it.

Damage without it: a memory that was forgotten, retired or moved to another user stands in every
prompt for five minutes more.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import spector
from spector.clock import ManualClock
from spector.config import AssociationConfig, Config
from tests.fakes import FakeEmbedder


def heated(memory: spector.Memory, text: str, uses: int = 16, **fields: object) -> int:
    """A semantic memory that helped so often: 16 times make a utility of 0.907."""
    record = memory.remember(text, **{"tier": "semantic", **fields})  # type: ignore[arg-type]
    for _ in range(uses):
        memory.reinforce(record.id)
    return record.id


def ids(memory: spector.Memory, **scopes: str) -> list[int]:
    return [record.id for record in memory.hot(**scopes)]


def test_the_most_useful_come_first(memory: spector.Memory) -> None:
    less = heated(memory, "Ada lives in Kars", 14)
    more = heated(memory, "Ada likes tea", 20)
    assert ids(memory) == [more, less]
    assert [record.utility >= 0.8 for record in memory.hot()] == [True, True]


def test_what_is_missing_a_condition_stays_out(memory: spector.Memory, clock: ManualClock) -> None:
    inside = heated(memory, "Ada lives in Kars", 10)
    memory.reinforce(inside, False)
    assert memory.get(inside).utility < 0.8
    assert ids(memory) == []
    for _ in range(3):
        memory.reinforce(inside)
    assert memory.get(inside).utility >= 0.8
    assert ids(memory) == [inside]
    heated(memory, "Ada went home", tier="episodic")
    heated(memory, "Ada works", tier="working")
    clock.advance(days=29, hours=23)
    assert ids(memory) == [inside]
    clock.advance(hours=1)
    assert ids(memory) == []


def test_nine_uses_are_too_few(memory: spector.Memory) -> None:
    config = AssociationConfig(hot_utility=0.5)
    with spector.open(
        ":memory:", embedder=FakeEmbedder(), config=Config(association=config)
    ) as other:
        heated(other, "nine", 9)
        ten = heated(other, "ten", 10)
        assert ids(other) == [ten]


def test_of_sixteen_fifteen_are_shown(memory: spector.Memory) -> None:
    for n in range(16):
        heated(memory, f"Ada knows thing {n}", 12 + n)
    assert len(memory.hot()) == 15
    assert len(memory.hot(limit=3)) == 3
    assert len(memory.hot(limit=100)) == 16
    texts = [record.text for record in memory.hot()]
    assert "Ada knows thing 0" not in texts
    memory.forget(memory.hot()[0].id)
    assert [record.text for record in memory.hot()][-1] == "Ada knows thing 0"


Change = Callable[[spector.Memory, int], object]


@pytest.mark.parametrize(
    "change",
    [
        lambda memory, id: memory.forget(id),
        lambda memory, id: memory.retire(id),
        lambda memory, id: memory.update(id, valid_until="2026-01-01"),
        lambda memory, id: memory.update(id, move_to={"user_id": "v"}),
        lambda memory, id: memory.remember("anew", tier="semantic", supersedes=id, user_id="u"),
    ],
)
def test_a_member_that_changes_leaves_at_once(memory: spector.Memory, change: Change) -> None:
    one, two = (heated(memory, text, user_id="u") for text in ("Ada likes tea", "Ada has a cat"))
    assert set(ids(memory, user_id="u")) == {one, two}
    change(memory, one)
    assert ids(memory, user_id="u") == [two]


def test_a_member_whose_words_change_is_shown_with_the_new_ones(memory: spector.Memory) -> None:
    one = heated(memory, "Ada likes tea")
    assert ids(memory) == [one]
    memory.update(one, text="Ada likes coffee")
    assert [record.text for record in memory.hot()] == ["Ada likes coffee"]


def test_the_choice_is_kept_for_five_minutes(memory: spector.Memory, clock: ManualClock) -> None:
    one = heated(memory, "Ada likes tea", 20)
    assert ids(memory) == [one]
    two = heated(memory, "Ada has a cat")
    assert ids(memory) == [one]
    clock.advance(seconds=299)
    assert ids(memory) == [one]
    clock.advance(seconds=1)
    assert ids(memory) == [one, two]


def test_scopes_share_nothing(memory: spector.Memory) -> None:
    ours = heated(memory, "Ada likes tea", user_id="u")
    theirs = heated(memory, "Bob likes tea", user_id="v", agent_id="a")
    assert ids(memory, user_id="u") == [ours]
    assert ids(memory, user_id="v") == [theirs]
    assert ids(memory, user_id="v", agent_id="b") == []
    assert set(ids(memory)) == {ours, theirs}


# -- in a context ----------------------------------------------------------------------------------


def test_a_context_quotes_them_first_and_once(memory: spector.Memory) -> None:
    hot = heated(memory, "Ada likes tea", user_id="u")
    memory.remember("Ada moved to Kars", user_id="u")
    plain = memory.context("Where did Ada move to?", user_id="u", always=True)
    assert plain.hot == ()
    found = memory.context("Where did Ada move to?", user_id="u", always=True, hot=True)
    assert [hit.id for hit in found.hot] == [hot]
    assert found.hot[0].via == "hot"
    lines = found.text.splitlines()
    assert lines.index("always:") < next(n for n, line in enumerate(lines) if "Kars" in line)
    assert found.text.count("Ada likes tea") == 1
    asked = memory.context("Does Ada like tea?", user_id="u", always=True, hot=True)
    assert asked.text.count("Ada likes tea") == 1
    assert asked.to_dict()["hot"][0]["id"] == hot


def test_they_take_a_quarter_of_the_budget_at_most(memory: spector.Memory) -> None:
    for n in range(12):
        heated(memory, f"Ada knows thing {n} about a rather long subject " + "word " * 10)
    memory.remember("Ada moved to Kars")
    found = memory.context(
        "Where did Ada move to?", max_tokens=400, tokenizer=len, always=True, hot=True
    )
    section = found.text.partition("always:")[2].partition("21 Nov 2026:\n")[0]
    assert found.tokens <= 400
    assert len(section) + len("always:\n") <= 100
    wide = memory.context(
        "Where did Ada move to?", max_tokens=8000, tokenizer=len, always=True, hot=True
    )
    assert len(wide.hot) == 12


def test_small_talk_an_earlier_time_and_filters_leave_them_out(memory: spector.Memory) -> None:
    heated(memory, "Ada likes tea", tags=["drink"])
    assert memory.context("thanks!", hot=True).text == ""
    assert memory.context("Ada", hot=True, always=True, as_of="2026-11-20").hot == ()
    assert memory.context("Ada", hot=True, always=True, tags=["food"]).hot == ()
    assert len(memory.context("Ada", hot=True, always=True, tags=["drink"]).hot) == 1


def test_a_session_quotes_those_of_its_user(memory: spector.Memory) -> None:
    heated(memory, "Ada likes tea", user_id="u")
    heated(memory, "Bob likes beer", user_id="v")
    memory.remember("Ada moved to Kars", user_id="u")
    session = memory.session("s", user_id="u")
    text = session.context("Where did Ada move to?", always=True).text
    assert "Ada likes tea" in text
    assert "Bob" not in text
    assert "tea" not in session.context("Where did Ada move to?", always=True, hot=False).text
    assert session.state.rest_of("Ada likes tea") == ""


def test_quoting_them_does_not_count_as_use(memory: spector.Memory) -> None:
    hot = heated(memory, "Ada likes tea", user_id="u")
    memory.remember("Bob moved to Kars", user_id="u")
    memory.remember("Bob moved to Izmir", user_id="u")
    before = memory.get(hot).access_count
    memory.session("s", user_id="u").context("Where did Bob move to?")
    assert memory.get(hot).access_count == before
