"""A batch decides as its messages would one by one, over mixed talk in English and Turkish.

Stages that read many messages at once (names, vectors, caches of sentences) must not let one of
them change what another becomes.
"""

from __future__ import annotations

import cProfile
import pstats
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector import Memory
from spector.clock import ManualClock
from spector.language.entities import Whole, entities_of, load_head, seen_in
from spector.language.entities.extraction import WordVectors
from spector.observe.gate.candidates import Candidate, Made
from spector.providers.minilm import MiniLMEmbedder, _LoadedModel
from spector.records import MemoryRecord
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

DAY = 1_780_000_000_000
_NAMES = "Ada Bob Carla Deniz Emre Fatma Grace Hakan Irene Jamal".split()
_TOWNS = "Kars Van Oslo Lima Izmir Bergen Porto Quito".split()
_THINGS = "tea coffee jazz chess hiking pottery sushi olives".split()
_FORMS = tuple(cases.rows("_FORMS"))


def _messages(count: int, seed: int) -> list[dict[str, str]]:
    rng = random.Random(seed)
    return [
        {
            "role": rng.choice(("user", "user", "user", "assistant")),
            "content": rng.choice(_FORMS).format(
                name=rng.choice(_NAMES),
                town=rng.choice(_TOWNS),
                other=rng.choice(_TOWNS),
                thing=rng.choice(_THINGS),
                n=rng.randrange(2, 10),
            ),
        }
        for _ in range(count)
    ]


def _outcome(
    messages: list[dict[str, str]], embedder: Any, *, many: bool, session: str | None
) -> list[dict[str, Any]]:
    with spector.open(":memory:", embedder=embedder, clock=ManualClock(DAY)) as memory:
        if many:
            results = memory.observe_many(messages, session_id=session, user_id="u")
        else:
            results = [memory.observe(each, session_id=session, user_id="u") for each in messages]
        assert memory.check().ok
        return [each.to_dict() for each in results]


def _assert_equal(messages: list[dict[str, str]], embedder: Any, session: str | None) -> None:
    """The same reading of each message and, but for one in a hundred, the same decision.

    What a batch has made so far is found beside the best of the store, so that of many that are
    much alike it meets a few more than a single call.
    """
    one = _outcome(messages, embedder, many=False, session=session)
    other = _outcome(messages, embedder, many=True, session=session)
    for message, single, batched in zip(messages, one, other, strict=True):
        assert _read(single) == _read(batched), message
    differ = sum(_decided(a) != _decided(b) for a, b in zip(one, other, strict=True))
    assert differ <= len(messages) // 50


def _read(result: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on other memories, or on the last bits of vectors: a batch embeds texts
    together, and what heads read from them (feelings, kinds of entities) may differ by those."""
    names = ("kind", "filter", "category", "doubt", "class_confidence")
    parts = ("text", "said", "notes", "references", "valid_until")
    return {name: result.get(name) for name in names} | {
        "entities": _names(result.get("entities") or ()),
        "units": [
            {name: each[name] for name in parts} | {"entities": _names(each["entities"])}
            for each in result["units"]
        ],
    }


def _names(entities: Iterable[str]) -> list[str]:
    return [each.rpartition("/")[2] for each in entities]


def _decided(result: dict[str, Any]) -> list[str]:
    return [each["action"] for each in result["units"]]


def test_a_small_batch_equals_single_calls() -> None:
    _assert_equal(_messages(24, seed=5), FakeEmbedder(dim=64), "s")


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "session"), [(1, None), (2, "s")])
def test_hundreds_of_messages_equal_single_calls(seed: int, session: str | None) -> None:
    """With the model, in batches of 256, of which the last is cut short."""
    _assert_equal(_messages(300, seed), "default", session)


def test_a_batch_meets_its_own_by_their_words() -> None:
    """Vectors that tell nothing: what shares a rare word is among the candidates all the same."""
    texts = [f"{name} plays {thing}." for name in _NAMES for thing in _THINGS]
    texts[40] = "The zeppelin hangar has room for 30 people."
    vectors = np.random.default_rng(7).standard_normal((len(texts) + 1, 64)).astype(np.float32)
    made = Made()
    for n, text in enumerate(texts):
        record = MemoryRecord(id=n, text=text, tier="episodic", event_ms=DAY)
        made.add(Candidate(record=record, said=text), vectors[n])
    near = made.near("The zeppelin hangar has room for 45.", vectors[-1], ())
    assert 40 in {each.id for each in near}
    assert len(near) <= 10


# -- Reading a message costs time that grows with its length, and no faster ------------------------
#
# Mechanism: rules look around in stretches of a sentence, never in all of it. Damage without it:
# one message without a full stop, below every limit, keeps a core busy for ten seconds. Guard:
# calls are counted, for five times the letters at most five times as many.


SHAPES = dict(cases.rows("SHAPES"))


def calls(memory: Memory, text: str) -> int:
    profile = cProfile.Profile()
    profile.runcall(memory.observe, text, force=True, dry_run=True)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("shape", SHAPES)
def test_five_times_the_letters_cost_five_times_the_calls(shape: str) -> None:
    piece = SHAPES[shape]
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        calls(memory, (piece * 400)[:700])  # loads what is loaded once
        short, long = (calls(memory, (piece * 5_000)[:letters]) for letters in (1_000, 4_990))
    assert long <= 5.5 * short, (short, long)  # a short text is kept and not read twice


# -- The model sees each text of a message once: names and the vector are of the same run ----------
#
# A head that read a message without its questions and notes had it run a second time, which took a
# quarter of what the model takes.


QUESTION = "Yesterday we met Ada Lovelace in Kars. Do you know that town? It was cold."


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tokens of each window that the model sees."""
    seen: list[int] = []
    hidden = _LoadedModel._hidden

    def noted(self: _LoadedModel, batch: list[Any]) -> NDArray[np.float32]:
        seen.extend(len(ids) for _, ids in batch)
        return hidden(self, batch)

    monkeypatch.setattr(_LoadedModel, "_hidden", noted)
    return seen


def test_a_message_with_a_question_and_a_note_is_run_once(tmp_path: Path, runs: list[int]) -> None:
    with spector.open(tmp_path / "store") as memory:
        result = memory.observe(QUESTION, force=True)
        assert [each.text for each in result.units] != [each.said for each in result.units]
        assert any("lovelace" in each for each in result.entities)
        assert any(each.facts for each in result.units)
        assert len(runs) == len(result.units)  # facts of the head have vectors of their words


class Recorded:
    """Notes which words it is asked about."""

    def __init__(self, inner: WordVectors) -> None:
        self._inner = inner
        self.asked: list[Sequence[str]] = []

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(list(words))
        return self._inner.word_vectors(words)


def test_names_are_looked_for_in_the_text_alone() -> None:
    """The embedder reads the whole text; what the text does not have names no one."""
    whole = "Tomorrow [2026-11-27] wendover plays. Is Grimsby any good?"
    text = "Tomorrow wendover plays.                       "
    vectors = Recorded(MiniLMEmbedder())
    head = load_head()
    seen = seen_in([text], vectors, head.fingerprint, [Whole(whole, ((8, 21),))])
    [found] = entities_of([(text, [])], head=head, seen=seen)
    assert "Grimsby" in vectors.asked[0]
    assert all(text[each.start : each.end] == each.name for each in found)
    assert not any("Grimsby" in each.name for each in found)
