"""Recall by words, in the scripts and languages that people write in, as soon as they are written.

All vectors are the same, so only words can tell the memories apart.
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import spector
from spector import Memory, PartitionCorruptError, RecallOptions
from spector.clock import ManualClock
from spector.layout import PARTITION_HEADER_BYTES, stride_of
from spector.search.selection import near_the_best, own_scores, without_repeats
from tests.cases import Cases
from tests.conftest import NOW

cases = Cases(__file__)

_SAME = np.ones(8, np.float32)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=None, dim=8, clock=ManualClock(NOW)) as opened:
        yield opened


def _first(memory: Memory, cue: str) -> str:
    return memory.recall(cue, vector=_SAME, k=5)[0].text


@cases("cue", "meant", "others")
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


def test_a_damaged_id_that_no_row_has_spoils_no_recall(tmp_path: Path) -> None:
    """Mechanism: a record that the catalog has no row of ranks by its vector alone, and its id is
    as it lies there. Damage: one beyond 2^63 ended every recall in an OverflowError."""
    with spector.open(tmp_path / "mind", embedder=None, dim=8, clock=ManualClock(NOW)) as memory:
        rows = [{"text": f"guitar number{n}", "vector": _SAME} for n in range(20)]
        ids = [record.id for record in memory.remember_many(rows)]
    (partition,) = (tmp_path / "mind" / "episodic").glob("*.mem")
    raw = bytearray(partition.read_bytes())
    raw[raw.index(ids[5].to_bytes(8, "little")) + 7] |= 0x80
    partition.write_bytes(raw)
    catalog = sqlite3.connect(tmp_path / "mind" / "catalog.db")
    with contextlib.closing(catalog), catalog:
        catalog.execute("DELETE FROM record WHERE id = ?", (ids[5],))
    with spector.open(tmp_path / "mind", embedder=None, clock=ManualClock(NOW)) as memory:
        found = memory.recall("guitar", vector=_SAME, k=20)
        assert sorted(hit.id for hit in found) == sorted({*ids} - {ids[5]})


def _shown(memory: Memory, cue: str, vector: object) -> int:
    """Id of the best hit, or of the memory that is said to be damaged."""
    try:
        return memory.recall(cue, vector=vector, k=1)[0].id
    except PartitionCorruptError as error:
        return next(int(word) for word in str(error).split() if word.isdecimal() and len(word) > 9)


# -- What is left of the hits of a recall: one for equal words, and in the semantic tier no chaff --
#
# Mechanism: copies of one statement are one hit that names the others; beliefs that score below
# half of the best are left out. Damage without it: ten copies fill the ten places, and ten
# memories come back where one bears on the cue; with too much of it, a memory that is asked for by
# name hides all others, or messages are cut as if they were beliefs. Guard: own stores, the rule
# on and off.


DIM = 16
CUE = np.eye(DIM)[0]


def like(cosine: float, n: int) -> np.ndarray:
    """A unit vector with this cosine to ``CUE``."""
    return np.asarray(cosine * CUE + np.sqrt(1 - cosine**2) * np.eye(DIM)[1 + n % (DIM - 1)])


@pytest.fixture
def flood_memory() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=None, dim=DIM, clock=ManualClock(NOW)) as it:
        yield it


def flood(flood_memory: Memory, text: str, count: int, **more: object) -> list[int]:
    return [
        each.id
        for each in flood_memory.remember_many(
            [
                {
                    "text": text,
                    "vector": CUE,
                    "event_time": f"2026-01-{1 + n % 28:02}T{n % 24:02}:00Z",
                    "session_id": f"s{n}",
                    **more,
                }
                for n in range(count)
            ]
        )
    ]


# -- equal words --------------------------------------------------------------------------------


@pytest.mark.parametrize("records", [8192, 4])
def test_copies_are_one_hit_and_the_others_are_found(flood_memory: Memory, records: int) -> None:
    with spector.open(
        ":memory:",
        embedder=None,
        dim=DIM,
        clock=ManualClock(NOW),
        config=spector.Config(rank_all_records=records),
    ) as flood_memory:
        copies = flood(flood_memory, "The barn is painted red.", 60)
        others = [
            flood_memory.remember(f"The barn has {n} doors", vector=like(0.5, n)).id
            for n in range(5)
        ]
        hits = flood_memory.recall("What colour is the barn?", vector=CUE, k=4)
        assert [hit.id in copies for hit in hits] == [True, False, False, False]
        assert {hit.id for hit in hits[1:]} < set(others)
        assert sorted([hits[0].id, *hits[0].also]) == sorted(copies)
        assert all(hit.also == () for hit in hits[1:])


def test_the_newest_stands_where_the_best_does(flood_memory: Memory) -> None:
    best = flood_memory.remember("We moved to Izmir", vector=CUE, event_time="2024-02-01").id
    newest = flood_memory.remember(
        "we moved  to IZMIR.", vector=like(0.6, 1), event_time="2025-02-01"
    ).id
    other = flood_memory.remember("We moved away", vector=like(0.8, 2)).id
    plain = {hit.id: hit.score for hit in flood_memory.recall(vector=CUE)}
    hits = flood_memory.recall("Where did we move to?", vector=CUE)
    assert [hit.id for hit in hits] == [newest, other]
    assert hits[0].also == (best,)
    assert hits[0].to_dict()["also"] == [best]
    assert hits[0].text == "we moved  to IZMIR."
    assert hits[0].score == hits[0].explain().score > hits[1].score
    assert len(plain) == 3, "by a vector alone every memory is a hit"


@cases("more")
def test_other_words_and_other_people_are_hits_of_their_own(
    flood_memory: Memory, more: dict[str, object]
) -> None:
    said = {"text": "The key is here.", "vector": CUE, "user_id": "a", "role": "user"}
    flood_memory.remember_many([said, {**said, **more}])
    hits = flood_memory.recall("Where is the key?", vector=CUE)
    assert len(hits) == 2
    assert [hit.also for hit in hits] == [(), ()]


def test_a_context_quotes_equal_words_once(flood_memory: Memory) -> None:
    copies = flood(flood_memory, "The barn is painted red.", 12)
    context = flood_memory.context("What colour is the barn?", vector=CUE)
    (hit,) = context.hits
    assert sorted([hit.id, *hit.also]) == copies
    assert context.text.count("painted red") == 1


def test_choosing_twice_changes_nothing(flood_memory: Memory) -> None:
    flood(flood_memory, "The barn is painted red.", 3)
    flood(flood_memory, "The barn is painted blue.", 3, role="user")
    hits = flood_memory.recall("What colour is the barn?", vector=CUE)
    assert without_repeats(hits) == hits
    assert without_repeats([]) == []


# -- far behind the best ------------------------------------------------------------------------

COSINES = (0.9, 0.7, 0.2, 0.0, -0.3)


def beliefs(flood_memory: Memory, tier: str = "semantic") -> list[int]:
    return [
        flood_memory.remember(
            f"belief {'abcde'[n]}", vector=like(cosine, n), tier=tier, importance=0.1
        ).id
        for n, cosine in enumerate(COSINES)
    ]


def test_beliefs_far_behind_the_best_are_left_out(flood_memory: Memory) -> None:
    ids = beliefs(flood_memory)
    everything = flood_memory.recall("Which one is meant?", vector=CUE, cut=0.0)
    assert [hit.id for hit in everything] == ids
    hits = flood_memory.recall("Which one is meant?", vector=CUE)
    assert [hit.id for hit in hits] == ids[:2]
    best = everything[0].score
    for share in (0.3, 0.5, 0.75, 1.0):
        found = flood_memory.recall(
            "Which one is meant?", vector=CUE, options=RecallOptions(cut=share)
        )
        assert [hit.score for hit in found] == [
            hit.score for hit in everything if hit.score >= share * best
        ]
    context = flood_memory.context("Which one is meant?", vector=CUE, always=True)
    assert [hit.id for hit in context.hits] == ids[:2]


def test_messages_are_not_cut(flood_memory: Memory) -> None:
    ids = beliefs(flood_memory, "episodic")
    assert [hit.id for hit in flood_memory.recall("Which one is meant?", vector=CUE)] == ids


def test_beliefs_are_compared_with_messages(flood_memory: Memory) -> None:
    message = flood_memory.remember("which one is meant is this one", vector=CUE).id
    away = flood_memory.remember("belief", vector=like(0.1, 3), tier="semantic").id
    hits = [hit.id for hit in flood_memory.recall("Which one is meant?", vector=CUE)]
    assert hits == [message]
    assert away in [hit.id for hit in flood_memory.recall("Which one is meant?", vector=CUE, cut=0)]


@pytest.mark.parametrize("cue", ["INC-2219", "Who closed INC-2219 for good?", "id"])
def test_a_name_does_not_make_all_others_look_far(flood_memory: Memory, cue: str) -> None:
    ids = beliefs(flood_memory)
    named = flood_memory.remember("INC-2219 is closed", vector=like(0.1, 7), tier="semantic").id
    hits = flood_memory.recall(str(named) if cue == "id" else cue, vector=CUE)
    assert [hit.id for hit in hits[:3]] == [named, *ids[:2]]
    assert len(hits) < len(ids)


@pytest.mark.parametrize(
    "how",
    [
        {"cue": None},
        {"lexical": False},
        {"profile": "similarity"},
        {"vector": None},
        {"profile": spector.ScoringProfile(name="strength", w_similarity=0.0, w_importance=1.0)},
    ],
)
def test_where_scores_do_not_say_what_fits_nothing_is_cut(
    flood_memory: Memory, how: dict[str, object]
) -> None:
    ids = beliefs(flood_memory)
    asked = {"cue": "Which one is meant?", "vector": CUE, **how}
    assert {hit.id for hit in flood_memory.recall(**asked)} == set(ids)  # type: ignore[arg-type]


def test_below_zero_there_is_nothing_to_be_a_share_of(flood_memory: Memory) -> None:
    weights = spector.ScoringProfile(name="bare", w_similarity=1.0, w_lexical=0.5)
    for n in range(3):
        flood_memory.remember(f"belief {n}", vector=like(-0.2 - n / 10, n), tier="semantic")
    hits = flood_memory.recall("What else?", vector=CUE, profile=weights)
    assert len(hits) == 3
    assert max(own_scores(hits)) < 0
    assert near_the_best(hits, 1.0, best=max(own_scores(hits))) == hits
    assert near_the_best([], 0.5, best=0.0) == []


@pytest.mark.parametrize("tier", ["semantic", "episodic"])
def test_selective_keeps_what_is_near_the_best(flood_memory: Memory, tier: str) -> None:
    ids = beliefs(flood_memory, tier)
    hits = flood_memory.recall("Which one is meant?", vector=CUE, selective=True)
    assert {hit.id for hit in hits} <= set(ids[:2])
    assert hits


def test_selective_leaves_out_beliefs_unlike_the_cue(flood_memory: Memory) -> None:
    """All far away and all alike: the best of them is no better than the rest."""
    for tier in ("semantic", "episodic"):
        for n in range(6):
            flood_memory.remember(
                f"remark {'uvwxyz'[n]}", vector=like(0.2, n), tier=tier, importance=0.1
            )
    hits = flood_memory.recall("Which one is meant?", vector=CUE, selective=True, kind="talk")
    assert {hit.tier for hit in hits} <= {"episodic"}
