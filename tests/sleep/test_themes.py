"""A theme is what one speaker said of one thing, and never stands in for what was said.

Damage without it: a theme takes a place among the hits and hides the memory that answers; the
daughter and the sandwiches are in one theme; five sandwiches in forty lunches are what the user
"usually" has; a theme goes on saying what was corrected. Guard: short conversations, and nights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

import spector
from spector import Flag, ManualClock, Memory
from tests.facets.test_erasure import mention
from tests.sleep.nights import BEGIN, asleep, is_dormant, pass_days, set_strength, themes_in

FERRY = (
    "Selin painted the ferry green.",
    "Selin sold the ferry to a baker.",
    "Selin swims in the bay at dawn.",
    "Selin teaches sailing on Sundays.",
)


@contextmanager
def told(texts: Sequence[str], *, about: str = "Selin") -> Iterator[tuple[Memory, ManualClock]]:
    """A memory of a user that was told of somebody, a day apart, and slept."""
    with asleep() as (memory, clock):
        for each in texts:
            mention(memory, memory.remember(each, user_id="u", importance=0.6), about)
            pass_days(clock, 1)
        memory.reflect(["consolidate"])
        yield memory, clock


def test_a_theme_has_each_event_once_with_its_date() -> None:
    with asleep() as (memory, _):
        for day, text in ((1, FERRY[0]), (2, FERRY[1]), (2, FERRY[1]), (3, FERRY[2])):
            made = memory.remember(text, user_id="u", event_time=f"2026-01-0{day}T10:00:00Z")
            mention(memory, made, "Selin")
        memory.reflect(["consolidate"])
        (theme,) = themes_in(memory)
        assert theme.text == (
            f"2026-01-01: {FERRY[0]}\n2026-01-02: {FERRY[1]}\n2026-01-03: {FERRY[2]}"
        )


def test_what_has_no_common_subject_is_in_no_common_theme() -> None:
    with asleep() as (memory, clock):
        for name in ("Selin", "Orhan", "Nazan"):
            for n in range(4):
                made = memory.remember(f"{name} fixed pump {n}.", session_id="s", importance=0.6)
                mention(memory, made, name)
        memory.remember_many([f"Rain again, for {n} hours." for n in range(6)], session_id="s")
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        texts = [theme.text for theme in themes_in(memory)]
        assert len(texts) == 3
        for name in ("Selin", "Orhan", "Nazan"):
            (own,) = (text for text in texts if name in text)
            assert own.count(name) == 4


def test_a_memory_is_in_one_theme() -> None:
    with asleep() as (memory, clock):
        for n in range(5):
            made = memory.remember(f"Selin met Orhan at pier {n}.", importance=0.6)
            mention(memory, made, "Selin", *(["Orhan"] if n < 4 else []))
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        (theme,) = themes_in(memory)
        assert all(f"pier {n}" in theme.text for n in range(5))


def test_speakers_have_themes_of_their_own_and_assistants_have_none() -> None:
    with asleep() as (memory, clock):
        for who in ("Ece", "Can", "assistant"):
            for n in range(3):
                role = who if who == "assistant" else "user"
                named = {} if who == role else {"metadata": {"speaker": who}}
                made = memory.remember(
                    f"The Lyra leaks at plank {n}, {who} saw it.",
                    role=role,
                    importance=0.6,
                    **named,
                )
                mention(memory, made, "Lyra")
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        texts = sorted(theme.text for theme in themes_in(memory))
        assert [text.count("Can saw") for text in texts] == [3, 0]
        assert [text.count("Ece saw") for text in texts] == [0, 3]


def test_what_is_rare_is_no_habit_and_nothing_says_usually() -> None:
    clock = ManualClock(BEGIN)
    with spector.open(":memory:", clock=clock) as memory:
        for day in range(18):
            soup = "tomato soup" if day % 6 == 0 else ("bread", "beans", "plov")[day % 3]
            memory.observe(f"I had {soup} for dinner today.", user_id="u")
            clock.advance(days=1)
        memory.reflect()
        assert not [each.text for each in themes_in(memory) if "usually" in each.text]
        for theme in themes_in(memory):
            assert len({"soup", "bread", "beans", "plov"} & set(theme.text.split())) == 1


def test_a_theme_takes_no_place_among_the_hits_and_stands_beside_them() -> None:
    with told(FERRY) as (memory, _):
        (theme,) = themes_in(memory)
        for k in (1, 3, 10):
            hits = memory.recall("What did Selin do with the ferry?", k=k, user_id="u")
            assert [hit.text in FERRY for hit in hits] == [True] * min(k, 4)
            assert not hits.themes, "its sources are there"
        hits = memory.recall("What of Selin?", k=5, user_id="u", where={"importance": {"lt": 0.5}})
        assert not hits
        assert not hits.themes, "a source that the filter leaves out speaks through no theme"
        asked = memory.recall("Selin", k=5, user_id="u", include=["derived"])
        assert theme.id in [hit.id for hit in asked]


def test_a_theme_speaks_for_sources_that_a_night_put_to_rest_and_for_no_others() -> None:
    with told(FERRY) as (memory, _):
        (theme,) = themes_in(memory)
        (*_, last) = sources = [each.id for each in memory.records() if each.id != theme.id]
        other = memory.remember("Orhan knows Selin well.", user_id="u", importance=0.6)
        rested(memory, sources)
        hits = memory.recall("What about Selin?", user_id="u")
        assert [hit.id for hit in hits] == [other.id]
        assert [hit.id for hit in hits.themes] == [theme.id]
        context = memory.context("What about Selin?", max_tokens=400, user_id="u", always=True)
        quoted, behind = context.text.split("known:")
        assert "Orhan" in quoted
        assert "(derived)" in behind
        assert "system" not in context.text
        assert not memory.recall("What about Selin?", user_id="v").themes
        memory.remember("Selin gave it up.", user_id="u", supersedes=last)
        assert not memory.recall("What about Selin?", user_id="u").themes


def rested(memory: Memory, ids: Sequence[int]) -> None:
    """Have memories at rest as a night puts them."""
    from spector.knowledge import Changes, encode

    def decide(reader: object, now_ms: int) -> Changes:
        changes = Changes()
        for each in ids:
            fields = {"since_ms": now_ms, "rule": "beyond the budget"}
            changes.put("payload", id=each, sort="rest", json=encode("rest", fields))
        return changes

    for each in ids:
        set_strength(memory, each, flags=int(memory.get(each).flags | Flag.DORMANT))
    memory._parts.knowledge.commit(decide)


def test_of_what_a_caller_retired_no_theme_speaks() -> None:
    with told(FERRY) as (memory, _):
        made = {each.id for each in themes_in(memory)}
        for each in list(memory.records()):
            if each.id not in made:
                memory.retire(each.id)
        memory.remember("Orhan knows Selin well.", user_id="u", importance=0.6)
        assert not memory.recall("What about Selin?", user_id="u").themes


def test_a_theme_is_brought_up_to_date_and_rests_when_too_little_is_left() -> None:
    with told(FERRY) as (memory, clock):
        (before,) = themes_in(memory)
        first, second, *_ = sorted(
            (each for each in memory.records() if each.id != before.id), key=lambda each: each.id
        )
        memory.remember("Nobody painted it.", user_id="u", supersedes=first.id)
        pass_days(clock, 1)
        cycle = memory.reflect(["consolidate"]).cycle
        (after,) = themes_in(memory)
        assert after.id == before.id
        assert FERRY[0] not in after.text
        assert FERRY[1] in after.text
        assert not memory.reflect(["consolidate"]).cycle
        memory.reflect_undo(cycle)
        assert memory.get(before.id).text == before.text
        memory.remember("Nor was it sold.", user_id="u", supersedes=second.id)
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        assert is_dormant(memory, before.id)
        assert memory.get(before.id).dormant_rule == "quotes what has changed"
        assert memory.check().ok


@pytest.mark.parametrize("cut", [False, True])
def test_a_night_that_is_cut_makes_the_same_themes(cut: bool) -> None:
    with asleep() as (memory, clock):
        for n in range(60):
            made = memory.remember(f"Boat{n // 5} took load {n} to Foça.", importance=0.6)
            mention(memory, made, f"Boat{n // 5}", *(["Foça"] if n % 3 else []))
        pass_days(clock, 1)
        calls = 1
        while not memory.reflect("consolidate", max_seconds=1e-9 if cut else None).finished:
            calls += 1
        assert (calls > 3) is cut
        texts = [theme.text for theme in themes_in(memory)]
        assert len(texts) == len(set(texts))
        assert sum(text.count("load") for text in texts) in range(30, 61)


def test_a_theme_quotes_an_instruction_and_gives_none() -> None:
    rule = "Please always answer Selin in metric units."
    with told((rule, *FERRY[:3])) as (memory, _):
        (theme,) = themes_in(memory)
        assert rule in theme.text
        memory.retire(next(each.id for each in memory.records() if each.text == rule))
        context = memory.context("Where does Selin swim?", max_tokens=300, user_id="u")
        assert not context.standing
        assert rule not in context.text


def test_nodes_that_say_nothing_are_not_quoted() -> None:
    with told(FERRY[:2]) as (memory, _):
        for text in ("user", "time of day"):
            memory.remember(text, tier="semantic", category="entity", user_id="u")
        found = memory.context(
            "tell me about the user and the ferry", max_tokens=300, knowledge=True, user_id="u"
        )
        assert '"user"' not in found.text
        assert "time of day" not in found.text


def test_being_quoted_promotes_nothing_and_being_reinforced_does() -> None:
    with asleep() as (memory, clock):
        quoted = memory.remember("The Lyra has two masts and a blue keel.", user_id="u")
        helped = memory.remember("The bakery opens at six on Mondays.", user_id="u")
        for _ in range(4):
            memory.context("How many masts has the Lyra?", max_tokens=200, user_id="u", learn=True)
            memory.reinforce(helped.id)
        assert memory.get(quoted.id).access_count >= 3
        pass_days(clock, 1)
        memory.reflect(["promote"])
        assert memory.get(quoted.id).tier == "episodic"
        assert memory.get(helped.id).tier == "semantic"
