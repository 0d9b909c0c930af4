"""The gate's verdict on a new memory beside an old one: repeated, changed, extended, or new."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import spector
from spector.config import Config
from spector.language.worth import Wording, same_particulars
from spector.layout import Flag
from spector.observe.gate import (
    Candidate,
    Incoming,
    calibrated,
    candidate_of,
    decide,
    merged_text,
    statements_in,
)
from spector.records import Decision, MemoryRecord
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

DAY_MS = 86_400_000
START_MS = 1_790_000_000_000


def old(
    text: str,
    *,
    id: int = 1,
    days: float = 0,
    role: str | None = "user",
    likeness: float | None = 0.7,
    dormant: bool = False,
    **fields: Any,
) -> Candidate:
    record = MemoryRecord(
        id=id,
        text=text,
        tier="episodic",
        event_ms=START_MS + round(days * DAY_MS),
        role=role,
        **fields,
    )
    return candidate_of(record, likeness=likeness, is_dormant=dormant)


def verdict(
    candidates: Candidate | str | list[Candidate],
    text: str,
    *,
    days: float = 0,
    role: str | None = "user",
    **fields: Any,
) -> Decision:
    found = old(candidates) if isinstance(candidates, str) else candidates
    several = found if isinstance(found, list) else [found]
    event_ms = START_MS + round(days * DAY_MS)
    stated = statements_in(text, role=role, speaker=fields.pop("name", None), event_ms=event_ms)
    source = {"assistant": "assistant_message", "tool": "tool"}.get(role or "", "user_message")
    return decide(
        Incoming(
            text=text,
            said=text,
            statements=stated,
            event_ms=event_ms,
            data_source=source,
            **fields,
        ),
        several,
    )


@cases("before", "now")
def test_what_stays_true_is_never_superseded(before: str, now: str) -> None:
    found = verdict(before, now, days=3)
    assert found.action == "create", found
    assert found.superseded == ()
    assert found.reinforced is None


@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_an_agent_or_tool_never_confirms_what_a_user_said(role: str) -> None:
    user = old("The staging server uses port 8080.")
    found = verdict(user, "The staging server uses port 8080.", role=role)
    assert (found.action, found.reinforced) == ("create", None)


def test_an_assistant_may_correct_itself() -> None:
    said = old("The staging server uses port 8080.", role="assistant")
    found = verdict(said, "The staging server uses port 8443.", days=1, role="assistant")
    assert found.superseded == (1,)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"flags": Flag.PINNED}, "pinned"),
        ({"flags": Flag.IMMUTABLE}, "immutable"),
        ({"valid_until_ms": None, "days": 9}, "older in event time"),
    ],
)
def test_what_may_not_be_superseded_is_kept_beside(fields: dict[str, Any], reason: str) -> None:
    found = verdict(old("I live in Paris.", **fields), "I live in Berlin.", days=5)
    assert (found.action, found.relation) == ("create", "contradicts")
    assert found.contradicted == (1,)
    assert found.reason == reason


def test_a_memory_that_says_more_is_kept_beside() -> None:
    both = old("I live in Paris and I am allergic to walnuts.")
    found = verdict(both, "I live in Berlin.", days=5)
    assert (found.action, found.contradicted, found.reason) == ("create", (1,), "says more")
    long = old("I live in Paris. The heating in the basement breaks down every single winter.")
    assert verdict(long, "I live in Berlin.", days=5).reason == "says more"


def test_an_uncertain_message_supersedes_nothing() -> None:
    found = verdict("I live in Paris.", "I live in Berlin.", days=5, confidence=0.3)
    assert (found.action, found.reason) == ("create", "uncertain")


def test_every_memory_of_the_old_value_goes() -> None:
    several = [old("I live in Paris.", id=1), old("My home is in Paris.", id=2, days=1)]
    assert verdict(several, "I moved to Berlin.", days=5).superseded == (1, 2)


def test_windows_that_exclude_each_other_contradict_nothing() -> None:
    summer = old("I live in Paris.", valid_until_ms=START_MS + 10 * DAY_MS)
    found = verdict(summer, "I live in Berlin.", days=5, valid_from_ms=START_MS + 10 * DAY_MS)
    assert (found.action, found.relation) == ("create", None)


# -- the same again -------------------------------------------------------------------------------


@cases("before", "now")
def test_what_says_nothing_new_strengthens(before: str, now: str) -> None:
    found = verdict(before, now, days=3)
    assert (found.action, found.reinforced) == ("reinforce", 1), found


@cases("before", "now")
def test_the_same_words_meant_otherwise_are_news(before: str, now: str) -> None:
    assert verdict(before, now).action in ("create", "supersede")


@cases("text")
def test_an_event_of_another_day_is_another_event(text: str) -> None:
    assert verdict(text, text).action == "reinforce"
    found = verdict(text, text, days=30)
    assert (found.action, found.relation) == ("create", None) or found.relation == "elaborates"
    assert found.reinforced is None


@pytest.mark.parametrize("text", ["I live in Kars.", "I was born in Kars.", "Çay severim."])
def test_a_state_told_again_is_the_same_memory(text: str) -> None:
    assert verdict(text, text, days=30).reinforced == 1


def test_the_same_words_wake_a_dormant_memory_and_nothing_else_does() -> None:
    asleep = old("I live in Kars.", dormant=True)
    assert verdict(asleep, "I live in Kars.").reinforced == 1
    assert verdict(asleep, "My home is in Kars.").action == "create"
    assert verdict(asleep, "I live in Rize.").rule == "new"


def test_another_speaker_repeats_nothing() -> None:
    found = verdict(old("I love tea."), "I love tea.", speaker="ann", name="Ann")
    assert found.action == "create"


# -- details --------------------------------------------------------------------------------------


@cases("before", "now")
def test_a_further_detail_is_tied_to_what_it_extends(before: str, now: str) -> None:
    found = verdict(before, now, days=1)
    assert (found.action, found.relation, found.nearest) == ("create", "elaborates", 1), found


@pytest.mark.parametrize("text", ["", " ", "\x00\x07", "?", "…", "x" * 20_000, "💥💥"])
def test_any_text_has_a_verdict(text: str) -> None:
    assert verdict("I live in Paris.", text).action in ("create", "reinforce")
    assert verdict(old(text), "I live in Paris.").action == "create"


def test_the_order_of_candidates_does_not_matter() -> None:
    several = [
        old("I live in Paris.", id=1, likeness=0.5),
        old("I love dogs.", id=2, likeness=0.5),
        old("I live in Rome with Ada.", id=3, likeness=0.5),
        old("I live.", id=4, likeness=None),
    ]
    found = {
        str(verdict(list(some), "I live in Berlin now.", days=2))
        for some in itertools.permutations(several)
    }
    assert len(found) == 1


def test_a_decision_says_what_it_did() -> None:
    found = verdict("I live in Paris.", "I live in Berlin.", days=5)
    said = "supersede (changes) of 1 by rule 'value' with confidence 0.97 at likeness 0.70"
    assert str(found) == said
    assert found.to_dict()["superseded"] == [1]


@cases("now", "past")
def test_a_change_of_long_ago_hides_nothing_of_now(now: str, past: str) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        first = memory.observe(now, event_time="2026-03-01").records[0]
        result = memory.observe(past, event_time="2026-03-02")
        assert result.units[0].superseded == ()
        assert not memory.get(first.id).superseded


# -- The gate by bands of likeness: presets v9, ucma and maxim -------------------------------------
#
# Mechanism: likeness to the nearest memory of the same origin, once nothing contradicts. Damage
# without a guard: two entries of an expense book become one. Guard: numbers, dates, names,
# denials.


NOW_MS = 1_790_000_000_000
V9 = Config.preset("v9").observe


def known(text: str, likeness: float, **fields: Any) -> Candidate:
    about = {"is_knowledge": fields.pop("is_knowledge", False)}
    record = MemoryRecord(id=1, text=text, tier="episodic", event_ms=NOW_MS, role="user", **fields)
    return candidate_of(record, likeness=likeness, **about)


def band_verdict(
    old: Candidate,
    text: str,
    importance: float = 0.65,
    sample: tuple[float, ...] = (),
    config: Any = V9,
) -> Decision:
    stated = statements_in(text, role="user", speaker=None, event_ms=NOW_MS)
    new = Incoming(text=text, said=text, statements=stated, event_ms=NOW_MS, importance=importance)
    return decide(new, [old], config, sample=sample)


@pytest.mark.parametrize("name", ["v9", "ucma", "maxim"])
def test_these_presets_decide_by_bands(name: str) -> None:
    config = Config.preset(name).observe
    assert config.gate_by == "bands"
    found = band_verdict(
        known("The fern by the stairs droops.", 0.95),
        "That fern near the stairs is drooping.",
        config=config,
    )
    assert (found.action, found.rule, found.reinforced) == ("reinforce", "band", 1)


def test_between_the_bands_both_texts_become_one() -> None:
    found = band_verdict(
        known("The fern droops. It needs light.", 0.80),
        "The fern by the stairs droops badly. It needs light.",
    )
    assert (found.action, found.nearest) == ("update", 1)
    assert found.merged == (
        "The fern droops. It needs light. | The fern by the stairs droops badly."
    )


@pytest.mark.parametrize(
    ("importance", "action"), [(0.65, "create"), (0.6, "create"), (0.55, "skip")]
)
def test_the_gap_is_decided_by_importance(importance: float, action: str) -> None:
    found = band_verdict(known("The fern droops.", 0.72), "Our palm lost a leaf.", importance)
    assert found.action == action
    assert bool(found.reason) == (action == "skip")


@cases("likeness", "action")
def test_the_bands_have_no_hole(likeness: float, action: str) -> None:
    assert band_verdict(known("The fern droops.", likeness), "Our palm droops.").action == action


@cases("old", "new")
@pytest.mark.parametrize("likeness", [0.80, 0.95])
def test_other_particulars_are_another_memory(old: str, new: str, likeness: float) -> None:
    found = band_verdict(known(old, likeness), new)
    assert found.action in ("create", "supersede")
    assert found.reinforced is None
    assert found.merged is None


def test_what_only_one_text_names_is_no_disagreement() -> None:
    one, other = Wording("Lunch with Ada", NOW_MS), Wording("Lunch with Ada for 12 euros", NOW_MS)
    assert same_particulars(one, other)
    assert same_particulars(other, one)


@pytest.mark.parametrize(
    "old",
    [
        known("The fern droops.", 0.80, flags=Flag.IMMUTABLE),
        known("The fern droops.", 0.80, is_knowledge=True),
        known("The fern droops. " * 118, 0.80),
    ],
)
def test_what_cannot_be_merged_is_kept_beside(old: Candidate) -> None:
    found = band_verdict(old, "The fern by the stairs droops badly today.")
    assert (found.action, found.relation, found.nearest) == ("create", "elaborates", 1)


def test_without_merging_an_update_is_a_memory_beside() -> None:
    config = Config.preset("v9", observe={"on_update": "create"}).observe
    found = band_verdict(known("The fern droops.", 0.80), "The fern droops badly.", config=config)
    assert (found.action, found.relation) == ("create", "elaborates")


def test_contradiction_comes_before_every_band() -> None:
    found = band_verdict(known("User lives in Paris.", 0.66), "User lives in Berlin.")
    assert found.superseded == (1,)
    assert band_verdict(known("I love dogs.", 0.97), "I do not love dogs.").superseded == (1,)


def test_a_merged_text_has_every_sentence_once() -> None:
    merged = merged_text("A b. C d! | E f.", "C d! G h? e f", most=2_000)
    assert merged == "A b. C d! | E f. | G h?"
    assert merged_text("A b.", "a b", most=2_000) == "A b."
    assert merged_text("A b.", "C d.", most=10) is None
    assert merged_text("Çay sever.", "Kahve de sever.", most=99) == "Çay sever. | Kahve de sever."


def test_a_calibrated_scale_cuts_off_the_same_shares() -> None:
    close = tuple(0.90 + 0.001 * n for n in range(100))  # a model that finds everything alike
    assert calibrated(0.95, close) < 0.75
    assert calibrated(close[-1], close) > calibrated(close[50], close) > calibrated(close[0], close)
    assert calibrated(1.0, close) == pytest.approx(1.0)
    assert calibrated(0.8, close[:10]) == 0.8
    config = Config.preset("v9", observe={"gate_scale": "calibrated"}).observe
    found = band_verdict(
        known("The fern droops.", 0.93), "Our palm droops.", sample=close, config=config
    )
    assert found.action == "create"
