"""The offline model of changes sets the order of memories, and nothing else.

Damage without it: news in free words comes behind what it made untrue; a damaged file stops
observing; a text of another language is ordered by chance.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.observe.gate import Ordering
from spector.providers import ChangeModel
from spector.providers.change_model import MOST_TOKENS

WORK = "I work at Zalando as a data analyst."
NEWS = "Handed in my badge on Friday, N26 already sent me a laptop."
SISTER = "My sister works at N26 as a data analyst."


def memory(**observe: Any) -> spector.Memory:
    config = spector.Config()
    return spector.open(
        ":memory:", config=replace(config, observe=replace(config.observe, **observe))
    )


# -- What it is for ------------------------------------------------------------------------------


def test_news_in_free_words_comes_before_what_it_made_untrue() -> None:
    with memory() as by_model, memory(order_by="cues") as by_cues:
        for each in (by_model, by_cues):
            each.observe(WORK)
            result = each.observe(NEWS)
            assert not result.units[0].superseded, "the model hides nothing"
        first = by_model.recall("Where do I work?")[0]
        assert first.text.startswith("Handed in my badge")
        assert by_cues.recall("Where do I work?")[0].text == WORK
        assert by_model.stats()["judge"] == "model"
        assert by_cues.stats()["judge"] == "rules"


def test_what_another_does_changes_nothing() -> None:
    with memory() as store:
        store.observe(WORK)
        store.observe(SISTER)
        assert store.recall("Where do I work?")[0].text == WORK


def test_messages_of_one_list_change_those_before_them() -> None:
    with memory() as store:
        made = store.observe_many([WORK, NEWS])
        assert made[1].units[0].verdict == "may change"
        assert made[1].units[0].nearest == made[0].units[0].record.id
        assert not store.observe_many([WORK.replace("I ", "Ada ")], user_id="b")[0].units[0].edges


def test_judge_shows_what_the_model_says() -> None:
    with memory() as store:
        assert store.judge(WORK, NEWS).verdict == "may change"
        assert store.judge(WORK, SISTER).verdict == "apart"


@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_what_no_user_says_is_not_read(role: str) -> None:
    with memory() as store:
        old, new = (spector.Statement(text=each, role=role) for each in (WORK, NEWS))
        assert store.judge(old, new).verdict == "apart"


def test_a_memory_of_a_later_day_takes_no_place() -> None:
    with memory() as store:
        old = store.observe(WORK, event_time="2026-01-01T00:00:00Z").records[0]
        store.observe("My badge opens every door at Zalando.", event_time="2026-06-01T00:00:00Z")
        new = store.observe(NEWS, event_time="2026-03-01T00:00:00Z")
        assert [each.target for each in new.units[0].edges if each.kind == "may_change"] == [old.id]


def test_without_a_gate_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChangeModel, "odds", lambda self, pairs: pytest.fail("asked"))
    with memory(gate=False) as store:
        store.observe_many([WORK, NEWS])


def test_another_user_is_not_read() -> None:
    with memory() as store:
        store.observe(WORK, user_id="a")
        assert store.observe(NEWS, user_id="b").units[0].verdict == "apart"


# -- What it cannot read -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Kahvemi sade içerim, şeker koymam.", "Doktor şekeri bıraktırdı, kahvemi sütlü içiyorum."),
        ("Ich arbeite bei Siemens in München.", "Ich habe bei Bosch in Stuttgart angefangen."),
        ("東京に住んでいます。", "大阪に引っ越しました。"),
        ("🙂🙂🙂", "🙃"),
        (",,,,,,,,", ","),
        ("I like it there and the people are nice. " * 50, "Zalando'daki işimden ayrıldım."),
    ],
)
def test_other_languages_and_what_has_no_words_are_left_to_the_rules(old: str, new: str) -> None:
    assert not Ordering.reads(old, new)


def test_a_text_of_any_size_is_read_in_bounded_time_and_cut() -> None:
    model = ChangeModel()
    begin = "the cat sat on the mat and " * MOST_TOKENS
    odds = model.odds([(begin, NEWS), (begin + "x" * 2**20, NEWS), (WORK, "," * 10**5), ("", "🙂")])
    assert odds[0] == odds[1]
    assert np.isfinite(odds).all()


def test_a_pair_has_the_same_bits_alone_and_with_others() -> None:
    pairs = [(WORK, NEWS), (WORK, SISTER), (SISTER, NEWS)]
    together = ChangeModel().odds(pairs)
    assert [ChangeModel().odds([each])[0] for each in pairs] == together.tolist()


# -- A file that is damaged or missing ------------------------------------------------------------


@pytest.mark.parametrize("content", [None, b"", b"no network"])
def test_without_its_weights_the_cues_decide_after_one_warning(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "changes.onnx"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr("spector.providers.change_model._PATH", path)
    with memory() as store:
        store.observe(WORK)
        with pytest.warns(
            UserWarning, match=r"cues alone decide what may have changed: .*changes\.onnx"
        ):
            store.observe(NEWS)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = store.observe("I no longer work at Zalando.")
        assert result.stored
        assert store.count() == 3
        assert store.stats()["judge"] == "rules"
