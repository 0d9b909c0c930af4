"""A theme gives the values of one matter with their dates, and never stands in for what was said.

Damage without it: a theme takes a place among the hits and hides the memory that answers; weights
and sandwiches are in one theme; five sandwiches in forty lunches are what the user "usually" has; a
theme goes on saying what was corrected. Guard: short conversations, and nights.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

import spector
from spector import Config, Flag, ManualClock, Memory, SleepConfig
from spector.sleep import gathering
from tests.cases import Cases
from tests.sleep.nights import BEGIN, asleep, is_dormant, pass_days, set_strength, tell, themes_in

cases = Cases(__file__)

WEIGHTS = ("72 kg", "70 kg", "70 kg", "68 kg")


@contextmanager
def told(values: Sequence[str] = WEIGHTS) -> Iterator[tuple[Memory, ManualClock]]:
    """A memory of a user that was told what Selin weighs, a day apart, and slept."""
    with asleep() as (memory, clock):
        for each in values:
            tell(memory, "Selin", "weighs", each, user_id="u")
            pass_days(clock, 1)
        memory.reflect(["consolidate"])
        yield memory, clock


def test_a_theme_is_one_sentence_of_values_and_dates() -> None:
    with told() as (memory, _):
        (theme,) = themes_in(memory)
        assert theme.text == (
            "Selin weighs: “72 kg” (2026-01-01), “70 kg” (2026-01-02, 2026-01-03), "
            "“68 kg” (2026-01-04)"
        )


@cases("said", "sentence")
def test_a_matter_is_named_in_the_language_of_what_was_said(said: str, sentence: str) -> None:
    with asleep() as (memory, clock):
        for each in (72, 70, 68):
            made = memory.remember(said.format(each), importance=0.6)
            memory.facts.add("user", "weight", str(each), source=made)
            pass_days(clock, 1)
        memory.reflect(["consolidate"])
        (theme,) = themes_in(memory)
        assert theme.text == sentence


def test_what_is_of_another_matter_or_person_is_in_another_theme() -> None:
    with asleep() as (memory, clock):
        for name in ("Selin", "Orhan"):
            for n in range(4):
                tell(memory, name, "fixed", f"pump {n}", session_id="s")
                tell(memory, name, "met", f"Nazan at pier {n}", session_id="s")
        memory.remember_many([f"Rain again, for {n} hours." for n in range(6)], session_id="s")
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        texts = sorted(theme.text for theme in themes_in(memory))
        opened = ["Orhan fixed: ", "Orhan met: ", "Selin fixed: ", "Selin met: "]
        assert [text[: text.index(":") + 2] for text in texts] == opened
        assert all(text.count("(2026-01-01)") == 4 for text in texts)


@cases("predicate", "statement")
def test_what_values_and_dates_cannot_say_is_left_as_it_is(
    predicate: str, statement: dict[str, Any]
) -> None:
    from spector.knowledge import Changes, KnowledgeReader

    with asleep() as (memory, clock):
        for n in range(3):
            tell(memory, "Selin", predicate, f"thing {n}")

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            changes = Changes()
            for row in reader.facts():
                said = json.dumps({**row["json"], **statement})
                changes.put("fact", **{**row, "json": said})
            return changes

        memory._parts.knowledge.commit(decide)
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        assert not themes_in(memory)


def test_speakers_have_themes_of_their_own_and_assistants_have_none() -> None:
    with asleep() as (memory, clock):
        for who in ("Ece", "Can", "assistant"):
            for n in range(3):
                role = who if who == "assistant" else "user"
                named = {} if who == role else {"metadata": {"speaker": who}}
                tell(memory, "Lyra", "leaks at", f"plank {n} ({who})", role=role, **named)
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        texts = sorted(theme.text for theme in themes_in(memory))
        assert [text.count("(Can)") for text in texts] == [3, 0]
        assert [text.count("(Ece)") for text in texts] == [0, 3]


def test_a_value_that_was_denied_leaves_the_theme_until_it_is_stated_again() -> None:
    with asleep() as (memory, clock):

        def night(value: str, predicate: str = "takes") -> str:
            tell(memory, "Selin", predicate, value, user_id="u")
            pass_days(clock, 1)
            memory.reflect(["consolidate"])
            return "".join(theme.text for theme in themes_in(memory))

        for value in ("zinc", "iron", "aspirin"):
            night(value)
        assert "iron" in night("salt")
        denied = night("iron", "not_takes")
        assert "iron" not in denied
        assert "salt" in denied
        assert night("iron").endswith("“iron” (2026-01-06)")


def test_each_agent_has_themes_of_its_own() -> None:
    with asleep() as (memory, clock):
        for n in range(3):
            for agent in ("a", "b") if n else ("b",):
                tell(memory, "Selin", "met", f"guest {n} of {agent}", user_id="u", agent_id=agent)
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        (theme,) = themes_in(memory)
        assert theme.agent_id == "b"
        assert theme.text.count("of b") == 3
        assert "of a" not in theme.text


@cases("subject", "value", "opened")
def test_no_value_or_name_reads_as_a_word_of_the_theme(
    subject: str, value: str, opened: str
) -> None:
    with asleep() as (memory, clock):
        for said in (value, "milk", "water"):
            made = memory.remember(f"A cup of {said}.", importance=0.6)
            memory.facts.add(subject, "drank", said, source=made)
            pass_days(clock, 1)
        memory.reflect(["consolidate"])
        (theme,) = themes_in(memory)
        assert theme.text.startswith(f"{opened}, “milk” (2026-01-02), ")


@cases("said", "day")
def test_the_day_of_saying_is_not_that_of_what_names_another(said: str, day: str) -> None:
    with asleep() as (memory, clock):
        for town in ("Oslo", "Rome", "Bonn"):
            made = memory.remember(said.format(town), importance=0.6)
            memory.facts.add("Selin", "visited", town, source=made)
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        (theme,) = themes_in(memory)
        assert theme.text == f"Selin visited: “Oslo” ({day}), “Rome” ({day}), “Bonn” ({day})"


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
    with told() as (memory, _):
        (theme,) = themes_in(memory)
        for k in (1, 3, 10):
            hits = memory.recall("What does Selin weigh?", k=k, user_id="u")
            assert [hit.id != theme.id for hit in hits] == [True] * min(k, 3)
            assert not hits.themes, "its sources are there"
        hits = memory.recall("What of Selin?", k=5, user_id="u", where={"importance": {"lt": 0.5}})
        assert not hits
        assert not hits.themes, "a source that the filter leaves out speaks through no theme"
        asked = memory.recall("Selin", k=5, user_id="u", include=["derived"])
        assert theme.id in [hit.id for hit in asked]


def test_a_theme_speaks_for_sources_that_a_night_put_to_rest_and_for_no_others() -> None:
    with told() as (memory, clock):
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
        newer = tell(memory, "Selin", "weighs", "67 kg", user_id="u")
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        (theme,) = themes_in(memory)
        edges = memory.graph.edges(theme.id, direction="out", kinds=["derived_from"])
        assert {*sources, newer.id} <= {each.target for each in edges}, "what rests still counts"
        assert theme.text.endswith("“68 kg” (2026-01-04), “67 kg” (2026-01-05)")
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
    with told() as (memory, clock):
        (theme,) = themes_in(memory)
        for each in list(memory.records()):
            memory.retire(each.id)
        memory.remember("Orhan knows Selin well.", user_id="u", importance=0.6)
        assert not memory.recall("What about Selin?", user_id="u").themes
        tell(memory, "Selin", "weighs", "66 kg", user_id="u")
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        assert is_dormant(memory, theme.id), "one statement is left"


def test_a_theme_whose_source_was_retired_wakes_without_it() -> None:
    with told() as (memory, clock):
        (theme,) = themes_in(memory)
        first, *others = [each.id for each in memory.records() if each.id != theme.id]
        rested(memory, others)
        memory.remember("Orhan knows Selin well.", user_id="u", importance=0.6)
        memory.retire(first)
        assert is_dormant(memory, theme.id)
        pass_days(clock, 1)
        cycle = memory.reflect(["consolidate"]).cycle
        (hit,) = memory.recall("What about Selin?", user_id="u").themes
        assert hit.id == theme.id
        assert "72 kg" not in hit.text
        assert "68 kg" in hit.text
        assert not memory.reflect(["consolidate"]).cycle
        memory.reflect_undo(cycle)
        assert is_dormant(memory, theme.id)
        assert memory.get(theme.id).text == theme.text


def test_undo_of_a_night_that_heeded_a_denial_gives_the_words_of_before() -> None:
    with asleep() as (memory, clock):
        for value in ("zinc", "iron", "aspirin", "salt"):
            tell(memory, "Selin", "takes", value, user_id="u")
            pass_days(clock, 1)
        memory.reflect(["consolidate"])
        before = [each.text for each in themes_in(memory)]
        tell(memory, "Selin", "not_takes", "iron", user_id="u")
        pass_days(clock, 1)
        cycle = memory.reflect(["consolidate"]).cycle
        assert "iron" not in themes_in(memory)[0].text
        memory.reflect_undo(cycle)
        assert [each.text for each in themes_in(memory)] == before


@pytest.mark.parametrize("how", ["by a caller", "by a night", "by a night, then a caller"])
def test_a_theme_that_a_caller_retired_stays_so_and_one_that_a_night_put_to_rest_wakes(
    how: str,
) -> None:
    by_caller = how.endswith("caller")
    with told() as (memory, clock):
        (theme,) = themes_in(memory)
        if "night" in how:
            for each in [each.id for each in memory.records() if each.id != theme.id][:2]:
                memory.remember("Nobody weighed her.", user_id="u", supersedes=each)
            memory.reflect(["consolidate"])
            assert memory.get(theme.id).dormant_rule == "quotes what has changed"
        if "then" in how:
            memory.reactivate(theme.id)
        if by_caller:
            memory.retire(theme.id)
        tell(memory, "Selin", "weighs", "66 kg", user_id="u")
        pass_days(clock, 1)
        cycle = memory.reflect(["consolidate"]).cycle
        assert is_dormant(memory, theme.id) is by_caller
        assert "66 kg" in memory.get(theme.id).text
        report = memory.reflect_undo(cycle)
        assert is_dormant(memory, theme.id)
        assert not report.kept
        rule = None if by_caller else "quotes what has changed"
        assert memory.get(theme.id).dormant_rule == rule


@pytest.mark.parametrize("purge", [False, True])
def test_what_remains_of_a_theme_is_one_again_by_the_next_night(purge: bool) -> None:
    with told() as (memory, clock):
        (theme,) = themes_in(memory)
        first, second, *_ = [each.id for each in memory.records() if each.id != theme.id]
        memory.forget(first, purge=purge)
        assert not themes_in(memory)
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        (again,) = themes_in(memory)
        assert "72 kg" not in again.text
        assert again.text.count("(2026-01-0") == 2
        memory.forget(second)
        pass_days(clock, 1)
        assert not memory.reflect(["consolidate"]).cycle, "two are too few"


def test_a_theme_is_brought_up_to_date_and_rests_when_too_little_is_left() -> None:
    with told() as (memory, clock):
        (before,) = themes_in(memory)
        first, second, *_ = sorted(
            (each for each in memory.records() if each.id != before.id), key=lambda each: each.id
        )
        memory.remember("Nobody weighed her.", user_id="u", supersedes=first.id)
        pass_days(clock, 1)
        cycle = memory.reflect(["consolidate"]).cycle
        (after,) = themes_in(memory)
        assert after.id == before.id
        assert "72 kg" not in after.text
        assert "68 kg" in after.text
        assert not memory.reflect(["consolidate"]).cycle
        memory.reflect_undo(cycle)
        assert memory.get(before.id).text == before.text
        memory.remember("Nor then.", user_id="u", supersedes=second.id)
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        assert is_dormant(memory, before.id)
        assert memory.get(before.id).dormant_rule == "quotes what has changed"
        assert memory.check().ok


@pytest.mark.parametrize("cut", [False, True])
def test_a_night_that_is_cut_makes_the_same_themes(cut: bool) -> None:
    with asleep() as (memory, clock):
        for n in range(60):
            tell(memory, f"Boat{n // 5}", "took", f"load {n}")
        pass_days(clock, 1)
        calls = 1
        while not memory.reflect("consolidate", max_seconds=1e-9 if cut else None).finished:
            calls += 1
        assert (calls > 3) is cut
        texts = [theme.text for theme in themes_in(memory)]
        assert len(texts) == len(set(texts)) == 12
        assert sum(text.count("load") for text in texts) == 60


def test_nodes_that_say_nothing_are_not_quoted() -> None:
    with told(WEIGHTS[:2]) as (memory, _):
        for text in ("user", "time of day"):
            memory.remember(text, tier="semantic", category="entity", user_id="u")
        found = memory.context(
            "tell me about the user and Selin", max_tokens=300, knowledge=True, user_id="u"
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


# A night costs no answer: what was answered before it is answered after it.
#
# Damage without it: what nights make takes the places of what was said, so the memory that answers is
# at rank one among three hits and absent among ten. Guard: own conversations of three people, asked
# before and after a week of nights; with a budget, what has content outlasts chat and encouragement.

#: (what is said, what asks for it, a word of the answer)
GARDENER = tuple(cases.rows("GARDENER"))
NURSE = tuple(cases.rows("NURSE"))
SKIPPER = tuple(cases.rows("SKIPPER"))
CHAT = tuple(cases.rows("CHAT"))
TALKS = {"gardener": GARDENER, "nurse": NURSE, "skipper": SKIPPER}
WAYS = ("any@10", "hit@1", "context")


def talked(memory: Memory, clock: ManualClock, name: str, *, chance: random.Random) -> None:
    """A week of a conversation: what is said in any order among chat, some of it twice."""
    said = [text for text, *_ in TALKS[name]] + list(CHAT) + [TALKS[name][5][0]] * 2
    chance.shuffle(said)
    for day in range(7):
        with memory.session(f"{name}{day}", user_id=name) as chat:
            for text in said[day::7]:
                chat.observe(text)
        clock.advance(days=1)


def answers(memory: Memory, name: str) -> set[tuple[str, str]]:
    """Ways in which questions are answered."""
    found = set()
    for _, cue, answer in TALKS[name]:
        hits = [hit.text for hit in memory.recall(cue, k=10, user_id=name)]
        context = memory.context(cue, max_tokens=300, user_id=name, always=True).text
        for way, texts in zip(WAYS, (hits, hits[:1], [context]), strict=True):
            if any(answer in text for text in texts):
                found.add((way, cue))
    return found


@pytest.mark.parametrize("name", TALKS)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_was_answered_before_a_week_of_nights_is_answered_after_it(
    name: str, seed: int
) -> None:
    clock = ManualClock("2026-05-04T08:00:00Z")
    with spector.open(":memory:", clock=clock) as memory:
        talked(memory, clock, name, chance=random.Random(seed))
        before = answers(memory, name)
        assert len(before) > 20
        for _ in range(7):
            clock.advance(days=1)
            memory.reflect()
        resting = [each for each in memory.records(include=["dormant"]) if each.dormant]
        excused = {
            (way, cue)
            for way in WAYS
            for _, cue, answer in TALKS[name]
            if any(answer in each.text and each.dormant_rule for each in resting)
            and not any(answer in each.text for each in memory.records(include=[]))
        }
        assert before - answers(memory, name) <= excused


@pytest.mark.parametrize("speaker", ["", "Rowan"])
def test_a_budget_takes_chat_and_encouragement_before_what_has_content(speaker: str) -> None:
    clock = ManualClock("2026-05-04T08:00:00Z")
    config = Config(sleep=SleepConfig(keep_share=0.5, blast_radius=1.0))
    with spector.open(":memory:", clock=clock, config=config) as memory:
        for name in TALKS:
            said = [text for text, *_ in TALKS[name]] + list(CHAT)
            random.Random(3).shuffle(said)
            named = {"metadata": {"speaker": speaker}} if speaker else {}
            memory.remember_many(
                [{"text": text, "role": "user", **named} for text in said], user_id=name
            )
        clock.advance(days=100)
        memory.reflect(["forget"])
        for name in TALKS:
            awake = {each.text for each in memory.records(user_id=name, include=[])}
            assert len(awake & {text for text, *_ in TALKS[name]}) >= 9
            assert len(awake) == 10


# -- A budget of memories takes what says least, and never what must stay --------------------------
#
# Damage without it: a budget of half that takes the last memory of where someone lives, an
# instruction or a name. Guard: stores in English and Turkish whose dull half is known, and budgets
# over nights.


ENGLISH = {
    "pinned": "hm pinned",
    "rule": "Always answer in short sentences.",
    "name": "My name is Nilgun.",
    "slot": "I live in Bergen.",
}
TURKISH = {
    "pinned": "hm sabit",
    "rule": "Her zaman kısa cevap ver.",
    "name": "Benim adım Nilgün.",
    "slot": "Bergen'de yaşıyorum.",
}


def _budget(share: float, **more: float) -> Config:
    return Config(sleep=spector.SleepConfig(keep_share=share, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("said", [ENGLISH, TURKISH], ids=["en", "tr"])
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_pinned_rules_names_and_last_holders_outlast_a_budget(
    said: dict[str, str], share: float
) -> None:
    with asleep(config=_budget(share)) as (memory, clock):
        kept = [
            memory.remember(text, importance=0.05, pinned=what == "pinned")
            for what, text in said.items()
        ]
        memory.remember_many([{"text": f"hm {n}", "importance": 0.4} for n in range(56)])
        for _ in range(12):
            pass_days(clock, 7)
            memory.reflect("forget")
        assert not [each.text for each in kept if is_dormant(memory, each.id)]
        active = list(memory.records(include=[]))
        assert len(active) == math.ceil(60 * share)
        assert memory.count() == 60, "nothing is deleted"


@pytest.mark.parametrize("nights", [1, 4])
def test_of_memories_that_state_one_value_the_last_stays(nights: int) -> None:
    with asleep(config=_budget(0.1, blast_radius=1.0 if nights == 1 else 0.02)) as (memory, clock):
        holders = [memory.remember(text, importance=0.1) for text in ("Kars", "Kars!", "in Kars")]
        for each in holders:
            memory.facts.add("user", "lives_in", "Kars", source=each)
        memory.remember_many([{"text": f"hm {n}", "importance": 0.1} for n in range(30)])
        for _ in range(nights):
            pass_days(clock, 30)
            memory.reflect("forget")
        assert sum(not is_dormant(memory, each.id) for each in holders) == 1


def test_a_holder_that_sleeps_protects_no_other() -> None:
    with asleep(config=_budget(0.1, blast_radius=1.0)) as (memory, clock):
        asleep_one, only = (memory.remember(text, importance=0.1) for text in ("Kars", "in Kars"))
        for each in (asleep_one, only):
            memory.facts.add("user", "lives_in", "Kars", source=each)
        memory.retire(asleep_one)
        memory.remember_many([{"text": f"hm {n}", "importance": 0.9} for n in range(30)])
        pass_days(clock, 30)
        memory.reflect("forget")
        assert not is_dormant(memory, only.id)


def test_each_user_has_a_budget_of_its_own() -> None:
    with asleep(config=_budget(0.5, blast_radius=1.0)) as (memory, clock):
        for user, count in (("a", 40), ("b", 10), (None, 6)):
            memory.remember_many(
                [{"text": f"hm {n}", "importance": 0.3} for n in range(count)], user_id=user
            )
        pass_days(clock, 30)
        memory.reflect("forget")
        assert _active(memory) == {"a": 20, "b": 5, None: 3}


def _active(memory: Memory) -> dict[str | None, int]:
    counts: dict[str | None, int] = {}
    for each in memory.records(include=[]):
        counts[each.user_id] = counts.get(each.user_id, 0) + 1
    return counts


def test_what_is_younger_than_its_floor_waits_and_nothing_better_goes_for_it() -> None:
    with asleep(config=_budget(0.5, blast_radius=1.0)) as (memory, clock):
        said = memory.remember_many(
            [f"The harbour of Foca has {n} blue boats and {n + 40} nets" for n in range(4)],
            importance=0.3,
        )
        plans = memory.remember_many([f"hm {n}" for n in range(4)], category="plan", importance=0.3)
        pass_days(clock, 20)
        memory.reflect("forget")
        assert len(list(memory.records(include=[]))) == 8, "a plan has a floor of 45 days"
        pass_days(clock, 30)
        memory.reflect("forget")
        assert {each.id for each in memory.records(include=[])} == {each.id for each in said}
        assert all(is_dormant(memory, each.id) for each in plans)


def test_the_capacity_of_v9_is_met_though_what_is_young_stays() -> None:
    sleep = spector.SleepConfig(capacity_active=4, capacity_trim=4, order="v9", blast_radius=1.0)
    with asleep(config=Config(sleep=sleep)) as (memory, clock):
        memory.remember_many([f"The harbour has {n} blue boats" for n in range(4)], importance=0.9)
        plans = memory.remember_many([f"hm {n}" for n in range(4)], category="plan", importance=0.3)
        pass_days(clock, 20)
        memory.reflect("forget")
        assert {each.id for each in memory.records(include=[])} == {each.id for each in plans}


def test_a_source_that_is_purged_while_a_theme_is_made_leaves_no_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mechanism: the words of a theme are made before the night writes them."""
    with asleep() as (memory, clock):
        ids = []
        for value in ("72 kg", "71 kg", "70 kg", "69 kg"):
            ids.append(tell(memory, "Selin", "weighs", value, user_id="u").id)
            pass_days(clock, 1)
        prepared = gathering.Prepared

        def purges(text: str, fields: dict[str, Any]) -> Any:
            if ids:
                memory.forget([ids[1]], purge=True)
                ids.clear()
            return prepared(text, fields)

        monkeypatch.setattr(gathering, "Prepared", purges)
        memory.reflect(["consolidate"])
        assert not ids
        assert not any("71 kg" in each.text for each in themes_in(memory))
