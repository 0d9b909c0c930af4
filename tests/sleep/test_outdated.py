"""What a night made of a memory that was superseded since rests; the others get a new theme.

Damage without it: a theme goes on saying what was corrected, an assistant's words stand in a theme
of a user, a summary poses as an instruction, and a context quotes "user" and "time of day". Guard:
nights after a correction, and what they leave as it is.
"""

from __future__ import annotations

from spector import Config, Memory, SleepConfig
from spector.layout import Category
from tests.sleep.nights import asleep, is_dormant, pass_days

SAID = [f"Ada repaired the ferry engine {n} in Kars." for n in range(4)]


def themes(memory: Memory, *, dormant: bool = False) -> list[str]:
    """Texts of themes that are awake, or that rest."""
    return [
        each.text for each in memory.records(include=["dormant"])
        if each.write_source == "dream" and each.category is Category.SUMMARY
        and each.dormant is dormant
    ]  # fmt: skip


def said_in_a_session(memory: Memory, texts: list[str]) -> list[int]:
    """Ids of what a user says in one session."""
    found = [memory.observe(each, session_id="s", user_id="u").units[0].record for each in texts]
    return [each.id for each in found if each is not None]


def test_a_theme_rests_that_quotes_what_has_changed_and_its_living_sources_get_a_new_one() -> None:
    with asleep() as (memory, clock):
        ids = said_in_a_session(memory, SAID)
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        (before,) = themes(memory)
        assert SAID[0] in before
        memory.remember("Ada sold that engine.", user_id="u", supersedes=ids[0])
        pass_days(clock, 1)
        memory.reflect(["consolidate"], dry_run=True)
        assert themes(memory) == [before]
        cycle = memory.reflect(["consolidate"]).cycle
        (after,) = themes(memory)
        assert SAID[0] not in after
        assert SAID[1] in after
        (old,) = [each for each in memory.records(include=["dormant"]) if each.text == before]
        assert old.dormant_rule == "quotes what has changed"
        memory.reflect(["consolidate"])
        assert themes(memory) == [after]
        assert memory.check().ok
        memory.reflect_undo(cycle)
        assert themes(memory) == [before]


def test_a_pinned_theme_stays_and_the_limit_of_a_day_holds() -> None:
    for config in (SleepConfig(), SleepConfig(blast_radius=0.0, blast_least=0)):
        with asleep(config=Config(sleep=config)) as (memory, clock):
            ids = said_in_a_session(memory, SAID)
            pass_days(clock, 1)
            memory.reflect(["consolidate"])
            (theme,) = [each for each in memory.records() if each.write_source == "dream"]
            if config.blast_least:
                memory.pin(theme.id)
            memory.remember("Ada sold that engine.", user_id="u", supersedes=ids[0])
            pass_days(clock, 1)
            memory.reflect(["consolidate"])
            assert themes(memory) == [theme.text]


def test_a_summary_of_a_category_is_made_anew_without_what_has_changed() -> None:
    config = Config(sleep=SleepConfig(summary_from=3))
    with asleep(config=config) as (memory, clock):
        ids = [
            memory.remember(each, category="fact", importance=0.6, user_id="u").id for each in SAID
        ]
        memory.reflect(["summarize"])
        (before,) = [each for each in memory.records() if each.write_source == "dream"]
        assert SAID[0] in before.text
        memory.remember("No more engines.", category="event", user_id="u", supersedes=ids[0])
        pass_days(clock, 2)
        memory.reflect(["summarize"])
        assert SAID[0] not in memory.get(before.id).text
        memory.remember("None at all.", category="event", user_id="u", supersedes=ids[1:3])
        pass_days(clock, 2)
        memory.reflect(["summarize"])
        assert is_dormant(memory, before.id)  # what is left is too little for a summary


def test_no_theme_quotes_what_an_assistant_a_tool_or_a_document_said() -> None:
    with asleep() as (memory, clock):
        for n, role in enumerate(("assistant", "tool", "document", "user", "user", "user")):
            memory.remember(
                f"Ada repaired the ferry engine {n} in Kars.", role=role, session_id="s",
                user_id="u", importance=0.7, category="fact",
            )
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        (theme,) = themes(memory)
        assert [n for n in range(6) if f"engine {n}" in theme] == [3, 4, 5]


def test_a_theme_that_quotes_an_instruction_is_none() -> None:
    with asleep() as (memory, clock):
        rule = "Please always answer in metric units."
        for text in (rule, *SAID[:3]):
            memory.remember(
                text, role="user", session_id="s", user_id="u", importance=0.7, category="fact",
            )
        pass_days(clock, 1)
        memory.reflect(["consolidate"])
        (theme,) = themes(memory)
        assert rule in theme
        context = memory.context("Where did Ada repair the engine?", max_tokens=300, user_id="u")
        assert [each.text for each in context.standing] == [rule]
        memory.retire(next(each.id for each in memory.records() if each.text == rule))
        context = memory.context("Where did Ada repair the engine?", max_tokens=300, user_id="u")
        assert not context.standing  # the theme still quotes the rule, and gives none


def test_nodes_that_say_nothing_are_not_quoted() -> None:
    with asleep() as (memory, _):
        said_in_a_session(memory, SAID[:2])
        for text in ("user", "time of day"):
            memory.remember(text, tier="semantic", category="entity", user_id="u")
        found = memory.context(
            "tell me about the user and the engine", max_tokens=300, knowledge=True, user_id="u"
        )
        assert '"user"' not in found.text
        assert "time of day" not in found.text
        assert not {each.text for each in found.known} & {"user", "time of day"}
