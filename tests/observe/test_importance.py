"""How much a message matters, by four channels or by its text.

Mechanism: a weighted sum of novelty, arousal, reward and attention times a boost; or origin,
keywords and length. Damage without it: chatter beside allergies in every answer. Guard: the figures
of the designs as they compute them, the limits of boost and threshold, scorers of callers.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import spector
from spector import Config, ManualClock, Memory, ObserveConfig
from spector.observe.importance import Channels, by_channels, by_text, priority_of
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

DEFAULT = ObserveConfig()


def opened(**how: Any) -> Memory:
    return spector.open(
        ":memory:",
        embedder=FakeEmbedder(dim=32),
        clock=ManualClock(datetime(2026, 11, 25, tzinfo=UTC)),
        **how,
    )


def test_the_figures_of_the_design() -> None:
    config = ObserveConfig(reward_prior=False)
    found = by_channels(Channels(alarm=0.5), config)
    assert (found.novelty, found.arousal, found.reward, found.attention) == (1.0, 0.5, 0.5, 0.5)
    assert found.boost == 1.0
    assert found.composite == pytest.approx(0.625)
    assert found.priority == "high"


def test_the_formula_of_the_text() -> None:
    assert by_text("one keyword, and it is urgent".ljust(100, "."), "user_message") == 0.42
    assert by_text("x", "system") == 0.45
    assert by_text("always remember: critical error, deadline urgent " * 20, "tool") == 0.54
    assert by_text("x" * 500, "document") == 0.35
    assert by_text("x" * 5000, "federation") == 0.4
    assert by_text("mustard and failures", "user_message") == pytest.approx(0.358, abs=1e-3)
    urgent, plain = (by_text(each, "user_message") for each in ("Bu çok ACİL iş", "Bu çok uzun"))
    assert urgent > plain


@cases("value", "name")
def test_priorities(value: float, name: str) -> None:
    assert priority_of(value) == name


@pytest.mark.parametrize(
    ("channels", "boost"),
    [
        (Channels(), 1.0),
        (Channels(kind="correction"), 1.1),
        (Channels(valence=-0.5, arousal=0.2), 1.15),
        (Channels(valence=-1.0, arousal=1.0, kind="preference"), 1.3),
        (Channels(data_source="assistant_message"), 0.8),
        (Channels(data_source="system", is_hedged=True), 0.7),
        (Channels(data_source="assistant_message", is_hedged=True, valence=-0.1), 0.73),
    ],
)
def test_the_boost_has_limits(channels: Channels, boost: float) -> None:
    assert by_channels(channels, DEFAULT).boost == pytest.approx(boost)


def test_channels() -> None:
    assert by_channels(Channels(likeness=0.25), DEFAULT).novelty == 0.75
    assert by_channels(Channels(likeness=-0.25), DEFAULT).novelty == 1.0
    assert by_channels(Channels(likeness=0.9, is_changed=True), DEFAULT).novelty == 1.0
    assert by_channels(Channels(arousal=0.3, alarm=0.8), DEFAULT).arousal == 0.8
    assert by_channels(Channels(attention=-0.4), DEFAULT).attention == 0.0
    for kind, prior in (("rule", 0.9), ("decision", 0.8), ("plan", 0.7), ("entity", 0.4)):
        assert by_channels(Channels(kind=kind), DEFAULT).reward == prior
    kin = [(0.9, 1.0), (0.5, 0.5), (0.49, 0.0)]
    assert by_channels(Channels(kin=kin), DEFAULT).reward == pytest.approx((0.4 + 0.75) / 2)
    of_kin = replace(DEFAULT, reward_prior=False)
    assert by_channels(Channels(kin=kin), of_kin).reward == pytest.approx(
        (0.9 + 0.25) / (0.9 + 0.5 + 0.49)
    )
    many = [(0.9, 1.0)] * 5 + [(0.8, 0.0)] * 9
    assert by_channels(Channels(kin=many), of_kin).reward == 1.0, "the five nearest"
    weights = replace(DEFAULT, weights=(1.0, 0.0, 0.0, 0.0))
    assert by_channels(Channels(likeness=0.25), weights).composite == 0.75


def test_what_is_doubtful_is_kept_with_little_importance_and_changes_nothing() -> None:
    with opened() as memory:
        memory.observe("I live in Paris.")
        result = memory.observe("Do you think a choir in BERLIN is far from here?!!")
        assert (result.stored, result.doubt) == (True, "question")
        record = result.records[0]
        assert record.importance == pytest.approx(0.1)
        assert not record.pinned
        assert result.units[0].superseded == result.units[0].facts == ()
        assert "doubtful" in str(result)


def test_a_scorer_of_the_callers_own_gives_the_importance() -> None:
    class Scorer:
        def score(self, text: str, *, role: Any = None, metadata: Any = None) -> float:
            return 0.2

    with opened(importance=Scorer()) as memory:
        result = memory.observe("Ada owns a boat.")
        assert result.records[0].importance == pytest.approx(0.2)
        assert result.units[0].importance.priority == "low"


def test_a_session_that_is_about_it_pays_attention() -> None:
    with opened() as memory:
        memory.observe("Ada owns a boat in Kars.", session_id="s")
        near = memory.observe("The boat of Ada in Kars is red.", session_id="s", dry_run=True)
        other = memory.observe("The boat of Ada in Kars is red.", session_id="t", dry_run=True)
        none = memory.observe("The boat of Ada in Kars is red.", dry_run=True)
        assert near.units[0].importance.attention > 0.5
        assert other.units[0].importance.attention == none.units[0].importance.attention == 0.5


def test_the_other_formula_is_chosen_by_name() -> None:
    text = "The deadline of the report in Kars is 12 May."
    with opened(importance="ucma") as memory:
        found = memory.observe(text).units[0].importance
        assert found.composite == by_text(text, "user_message")
        assert memory.remember("x y").importance == 0.5, "what is remembered is not scored"
    with opened(config=Config.preset("ucma")) as memory:
        assert memory.observe(text).units[0].importance.composite == by_text(text, "user_message")
    with opened(importance="channels", config=Config.preset("ucma")) as memory:
        assert memory.observe(text).units[0].importance.composite != by_text(text, "user_message")
    with pytest.raises(spector.InvalidInputError, match="importance"):
        opened(importance="astrology")


def test_what_a_user_asks_to_remember_counts_as_a_rule_does() -> None:
    plain = by_channels(Channels(), DEFAULT)
    asked = by_channels(Channels(is_asked=True), DEFAULT)
    assert (plain.reward, asked.reward) == (0.4, 0.9)
    with opened() as memory:
        first = memory.observe("Please remember my locker is number 9.", user_id="ada")
        other = memory.observe("Please answer in one line.", user_id="ada")
        tool = memory.observe(
            {"role": "tool", "content": "Please remember my locker is number 9."}, user_id="eve"
        )
        assert first.units[0].importance.reward == 0.9
        assert other.stored
        assert other.kind == "rule"
        assert all(unit.importance.reward < 0.9 for unit in tool.units)
        assert [hit.text for hit in memory.context("which number?", user_id="ada").standing]
