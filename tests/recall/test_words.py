"""Recall by words, in the scripts and languages that people write in, as soon as they are written.

All vectors are the same, so only words can tell the memories apart.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import spector
from spector import Memory, PartitionCorruptError
from spector.clock import ManualClock
from spector.layout import PARTITION_HEADER_BYTES, stride_of
from tests.conftest import NOW

_SAME = np.ones(8, np.float32)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=None, dim=8, clock=ManualClock(NOW)) as opened:
        yield opened


def _first(memory: Memory, cue: str) -> str:
    return memory.recall(cue, vector=_SAME, k=5)[0].text


@pytest.mark.parametrize(
    ("cue", "meant", "others"),
    [
        # looked up as its consonants, which the other text has as well
        ("हिन्दी भाषा", "मुझे हिन्दी भाषा पसंद है", ["हाँ न दे भी षट्", "चाय और कॉफ़ी"]),
        # texts without spaces were one word each
        ("设计数据库", "昨天我们讨论了数据库的设计", ["昨天我们讨论了旅行的计划", "她喜欢吃苹果"]),
        ("データベース", "新しいデータベースの話", ["新しい映画の話", "猫が好き"]),
        ("한국어", "저는 한국어를 공부합니다", ["저는 음악을 공부합니다", "날씨가 좋다"]),
        ("ภาษาไทย", "ฉันเรียนภาษาไทยทุกวัน", ["ฉันเล่นกีตาร์ทุกวัน", "อากาศดี"]),
        # was looked up as "stanbul"
        ("İstanbul", "istanbul'da buluştuk", ["Ankara'da buluştuk", "stanbul"]),
        ("ISTANBUL", "İstanbul'da buluştuk", ["İzmir'de buluştuk", "evde kaldık"]),
        # inflected: "our houses" and "house"
        ("evlerimiz nasıl?", "yeni ev çok güzel değil mi", ["yeni araba çok güzel", "hava iyi"]),
        ("toplantılar ne zaman", "Yarın toplantı var", ["Yarın sınav var", "Bugün hava iyi"]),
        ("what did the cafés cost", "The café was cheap", ["The train was cheap", "It rained"]),
        ("Strasse", "die Straße ist lang", ["der Weg ist lang", "das Haus"]),
        ("where is inc-2219", "INC-2219 is closed", ["INC-2218, 2219 apples", "INC-221 is open"]),
    ],
)
def test_words_of_many_scripts_and_languages_are_found(
    memory: Memory, cue: str, meant: str, others: list[str]
) -> None:
    for text in (*others, meant):
        memory.remember(text, vector=_SAME)
    assert _first(memory, cue) == meant


def test_a_cue_of_nothing_but_common_words_has_evidence_from_them(memory: Memory) -> None:
    """The commonest words used to be left out until few enough memories matched: often all."""
    rows = [{"text": f"is it you, number {n}?", "vector": _SAME} for n in range(200)]
    memory.remember_many([*rows, {"text": "who is who", "vector": _SAME}])
    assert _first(memory, "who is it") == "who is who"


def test_the_words_that_matter_count_wherever_they_stand_in_a_long_cue(memory: Memory) -> None:
    """Only the first 32 words of a cue used to be looked up."""
    common = " ".join(f"word{n}" for n in range(60))
    for n in range(20):
        memory.remember(f"{common} and a text about topic{n}", vector=_SAME)
    memory.remember(f"{common} and a text about a zeppelin", vector=_SAME)
    assert _first(memory, f"{common} zeppelin").endswith("zeppelin")


def test_the_next_recall_knows_what_was_written_changed_and_forgotten(memory: Memory) -> None:
    first = memory.remember("Ann bought a guitar", vector=_SAME)
    memory.remember("Bob bought a tent", vector=_SAME)
    assert _first(memory, "guitars") == "Ann bought a guitar"
    memory.update(first.id, text="Ann sold a piano", vector=_SAME)  # under the same vector
    assert _first(memory, "piano") == "Ann sold a piano"
    second = memory.remember("Cem played a guitar", vector=_SAME)
    assert _first(memory, "guitars") == "Cem played a guitar"
    memory.forget(second.id)
    assert "Cem played a guitar" not in [hit.text for hit in memory.recall("guitars", vector=_SAME)]


def test_who_said_it_and_when_are_words_of_a_memory(memory: Memory) -> None:
    for speaker in ("Ann", "Bob", "Cem"):
        memory.remember(
            "I would rather not say", vector=_SAME, metadata={"speaker": speaker}, session_id="s"
        )
    found = memory.recall("what would Bob say?", vector=_SAME, k=3)
    assert found[0].metadata["speaker"] == "Bob"


def test_turns_without_a_speaker_are_neighbours(memory: Memory) -> None:
    """A store in which nobody is named lost eleven points of recall: only speakers were chained."""
    other = _SAME[::-1].copy()
    for session, place in (("s", "Lisbon"), ("t", "Oslo")):
        memory.remember(f"we talked about {place} again", vector=other, session_id=session)
        memory.remember(
            f"the flat has a door of that colour, {session}", vector=_SAME, session_id=session
        )
    for place, session in (("Lisbon", "s"), ("Oslo", "t")):
        hits = memory.recall(f"which door has the flat in {place}?", vector=_SAME, k=4)
        doors = [hit.session_id for hit in hits if "door" in hit.text]
        assert doors[0] == session


def test_the_name_before_the_words_is_counted_once(memory: Memory) -> None:
    """In the text it would count beside the field, and once more in each pair."""
    given = memory.remember("hello there", vector=_SAME, role="Ann")
    read = memory.remember("Ann: hello there", vector=_SAME)
    assert read.speaker == "Ann"
    hits = {
        hit.id: hit.explain().evidence
        for hit in memory.recall("what did Ann say?", k=2, vector=_SAME)
    }
    assert hits[given.id]["words"] == pytest.approx(hits[read.id]["words"])


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), 3e38, -1.0])
def test_a_damaged_vector_does_not_reach_those_beside_it(scale: float, tmp_path: Path) -> None:
    """Likeness is shared along a session and measured in deviations of the store."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "text": f"guitar number{n}",
            "vector": rng.standard_normal(8).astype(np.float32),
            "session_id": "s",
            "role": "user",
        }
        for n in range(40)
    ]
    with spector.open(tmp_path / "mind", embedder=None, dim=8, clock=ManualClock(NOW)) as memory:
        ids = [record.id for record in memory.remember_many(rows)]
    (partition,) = (tmp_path / "mind" / "episodic").glob("*.mem")
    raw = bytearray(partition.read_bytes())
    at = PARTITION_HEADER_BYTES + 20 * stride_of(8) + 4  # the scale of the twenty-first record
    raw[at : at + 4] = struct.pack("<f", scale)
    partition.write_bytes(raw)
    for index in (tmp_path / "mind").rglob("*.idx"):
        index.unlink()
    with spector.open(tmp_path / "mind", embedder=None, clock=ManualClock(NOW)) as memory:
        for n in (19, 21, 33):
            # or the damage is named, because it was about to be shown
            assert _shown(memory, f"number{n}", rows[n]["vector"]) in (ids[n], ids[20])


def _shown(memory: Memory, cue: str, vector: object) -> int:
    """Id of the best hit, or of the memory that is said to be damaged."""
    try:
        return memory.recall(cue, vector=vector, k=1)[0].id
    except PartitionCorruptError as error:
        return next(int(word) for word in str(error).split() if word.isdecimal() and len(word) > 9)
