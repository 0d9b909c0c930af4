"""Every knob does something, in the direction that its documentation says.

Mechanism: one case a parameter of ``remember`` and ``recall`` and a field of ``Config``; each turns
its knob and nothing else. Damage without it: an argument that is accepted and ignored. Guard: a
parameter or field without a case fails the last tests of this file.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import spector
from spector import (
    Config,
    InvalidInputError,
    ManualClock,
    Memory,
    MemoryRecord,
    RecallOptions,
)
from spector.kernel.dispatch import get_kernel
from tests.api.helpers import ids, own_vectors, texts, vector, vectors
from tests.conftest import NOW
from tests.fakes import FakeEmbedder

Case = Callable[[Path], None]
CONFIG: dict[str, Case] = {}
REMEMBER: dict[str, Case] = {}
RECALL: dict[str, Case] = {}


def case(table: dict[str, Case], *names: str) -> Callable[[Case], Case]:
    def note(function: Case) -> Case:
        table.update(dict.fromkeys(names, function))
        return function

    return note


@contextmanager
def mind(path: str | Path = ":memory:", **config: Any) -> Iterator[Memory]:
    embedder = config.pop("embedder", None) or FakeEmbedder()
    clock = config.pop("clock", None) or ManualClock(NOW)
    with spector.open(path, embedder=embedder, clock=clock, config=Config(**config)) as memory:
        yield memory


# -- Config ---------------------------------------------------------------------------------------


@case(CONFIG, "episodic_capacity", "semantic_capacity", "procedural_capacity")
def fewer_records_to_a_file_make_more_files(path: Path) -> None:
    for tier in ("episodic", "semantic", "procedural"):
        for capacity, files in ((3, 4), (5, 2), (10, 1)):
            with mind(**{f"{tier}_capacity": capacity}) as memory:
                memory.remember_many([f"n {n}" for n in range(10)], tier=tier)
                assert memory.stats()["tiers"][tier]["partitions"] == files


@case(CONFIG, "erase_after_s")
def what_was_forgotten_stays_until_it_is_due(path: Path) -> None:
    for seconds, left in ((60, 0), (600, 1)):
        clock = ManualClock(NOW)
        with mind(path / str(seconds), clock=clock, erase_after_s=seconds) as memory:
            memory.forget(memory.remember("gone").id)
            clock.advance(seconds=120)
            memory.reflect()
            assert memory.stats()["erasure"]["pending"] == left


@case(CONFIG, "min_extent_bytes", "max_extent_bytes")
def files_grow_within_the_given_steps(path: Path) -> None:
    sizes = {}
    steps = (("small", 1024, 4096), ("low", 65_536, 1 << 20), ("high", 1024, 32_768))
    for name, low, high in steps:
        config = Config(min_extent_bytes=low, max_extent_bytes=high)
        with own_vectors(path / name, config=config, dim=1024, durability="relaxed") as memory:
            given = vectors(120, dim=1024)
            memory.remember("x", vector=given[0])
            first = memory.stats()["bytes"]["partitions"]
            for n in range(1, 120):
                memory.remember(f"n {n}", vector=given[n])
            sizes[name] = (first, memory.stats()["bytes"]["partitions"])
    need = 64 + 120 * (64 + 1024)
    assert sizes["small"][0] < sizes["low"][0] <= 65_536 + 1088
    assert need <= sizes["small"][1] <= need + 4096 + 1088
    assert sizes["small"][1] < sizes["high"][1] <= need + 32_768 + 1088


LIMITS: dict[str, tuple[int, dict[str, Any], dict[str, Any]]] = {
    "max_text_bytes": (10, {"text": "x" * 10}, {"text": "x" * 11}),
    "max_tags": (2, {"tags": ["a", "b"]}, {"tags": ["a", "b", "c"]}),
    "max_tag_bytes": (3, {"tags": ["abc"]}, {"tags": ["abcd"]}),
    "max_metadata_bytes": (10, {"metadata": {"a": 12}}, {"metadata": {"abc": 12345}}),
    "max_scope_bytes": (3, {"user_id": "abc"}, {"user_id": "abcd"}),
    "max_attachment_bytes": (3, {"attachment": b"abc"}, {"attachment": b"abcd"}),
    "max_parents": (2, {"parents": [1, 2]}, {"parents": [1, 2, 3]}),
}


@case(CONFIG, "guard_reads")
def a_guarded_store_asks_for_every_page_before_it_looks(path: Path) -> None:
    with mind(path / "mind") as memory:
        memory.remember("x", tier="semantic")
    asked: list[int] = []
    place = "spector.store.partitions.segment.populate"
    with mock.patch(place, lambda view: asked.append(view.nbytes) or 1):
        for guarded in (False, True):
            with mind(path / "mind", guard_reads=guarded) as memory:
                assert texts(memory.recall("x")) == ["x"]
            assert bool(asked) == guarded


@case(CONFIG, *LIMITS)
def a_limit_lets_its_value_pass_and_nothing_above(path: Path) -> None:
    for name, (limit, fine, over) in LIMITS.items():
        with mind(**{name: limit}) as memory:
            memory.remember(**{"text_or_message": fine.pop("text", "x"), **fine})
            with pytest.raises(InvalidInputError):
                memory.remember(**{"text_or_message": over.get("text", "x"), **_no_text(over)})
            assert len(memory) == 1
        with mind(**{name: limit + 20}) as memory:
            memory.remember(**{"text_or_message": over.get("text", "x"), **_no_text(over)})


def _no_text(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "text"}


@case(CONFIG, "checkpoint_bytes")
def a_small_journal_is_emptied_sooner(path: Path) -> None:
    left = {}
    for size in (1024, 1 << 20):
        with mind(path / str(size), checkpoint_bytes=size) as memory:
            for n in range(30):
                memory.remember(f"n {n}")
            sql = "SELECT count(*) FROM journal"
            left[size] = memory._parts.store.catalog.main.execute(sql).fetchone()[0]
    assert left[1024] < 10
    assert left[1 << 20] >= 30


@case(CONFIG, "default_importance", "default_confidence")
def defaults_are_what_was_configured(path: Path) -> None:
    with mind(default_importance=0.25, default_confidence=0.6) as memory:
        record = memory.remember("x")
        assert record.importance == pytest.approx(0.25)
        assert record.confidence == pytest.approx(0.6)
        assert memory.remember("x", importance=0.7, confidence=1.0).importance == pytest.approx(0.7)


@case(CONFIG, "initial_stability_days")
def a_longer_initial_stability_forgets_more_slowly(path: Path) -> None:
    kept = []
    for days in (2.0, 20.0):
        clock = ManualClock(NOW)
        with mind(initial_stability_days=days, clock=clock) as memory:
            assert memory.remember("x").stability_days == pytest.approx(days)
            clock.advance(days=10)
            kept.append(memory.recall("x")[0].explain().values["retention"])
    assert kept[0] < kept[1]


@case(CONFIG, "profile")
def a_profile_of_the_configuration_ranks(path: Path) -> None:
    best = []
    for profile in ("recent", "importance"):
        clock = ManualClock(NOW)
        with mind(profile=profile, clock=clock) as memory:
            memory.remember("river old", importance=1.0)
            clock.advance(days=300)
            memory.remember("river new", importance=0.0)
            best.append(memory.recall("river", k=1)[0].text)
    assert best == ["river new", "river old"]


@case(
    CONFIG, "stability_boost_days", "stability_failure_factor", "utility_rate", "max_stability_days"
)
def reinforcement_follows_its_constants(path: Path) -> None:
    def after(success: bool, **config: Any) -> MemoryRecord:
        with mind(**config) as memory:
            return memory.reinforce(memory.remember("x").id, success=success)

    assert after(True, stability_boost_days=2.0).stability_days == pytest.approx(9.0)
    assert after(False, stability_failure_factor=0.5).stability_days == pytest.approx(3.5)
    assert after(True, utility_rate=0.4).utility == pytest.approx(0.7)
    assert after(True, max_stability_days=7.25).stability_days == pytest.approx(7.25)


@case(CONFIG, "rank_all_records")
def a_store_within_the_limit_is_ranked_whole(path: Path) -> None:
    """What only its form speaks for is no candidate by likeness or by words."""
    given = vectors(400, seed=6)
    cue = given[0]
    middling = sorted(range(400), key=lambda n: float(given[n] @ cue))[150]
    found = []
    for limit in (100, 1000):
        with own_vectors(config=Config(rank_all_records=limit)) as memory:
            memory.remember_many(
                [
                    {"text": "I prefer hot food" if n == middling else f"n {n}", "vector": given[n]}
                    for n in range(400)
                ]
            )
            liked = dataclasses.replace(
                spector.PROFILES["balanced"], ranking=spector.Ranking(preference=3.0)
            )
            hits = memory.recall("Can you suggest a recipe?", vector=cue, k=10, profile=liked)
            found.append("I prefer hot food" in texts(hits))
    assert found == [False, True]


@case(CONFIG, "cache_entries")
def a_larger_cache_embeds_a_cue_less_often(path: Path) -> None:
    for entries, calls in ((0, 6), (1, 6), (8, 3)):
        embedder = FakeEmbedder()
        with mind(cache_entries=entries, embedder=embedder) as memory:
            for cue in ("a", "b", "c") * 2:
                memory.recall(cue)
        assert len(embedder.calls) == calls


@case(CONFIG, "cache_ttl_s")
def a_cached_vector_expires(path: Path) -> None:
    for ttl, calls in ((1e-6, 2), (100.0, 1)):
        embedder = FakeEmbedder()
        with mind(cache_ttl_s=ttl, embedder=embedder) as memory:
            memory.recall("a")
            time.sleep(0.001)
            memory.recall("a")
        assert len(embedder.calls) == calls


def _many(memory: Memory, **fields: Any) -> list[MemoryRecord]:
    return memory.remember_many([f"n {n}" for n in range(10)], **fields)


def _commits(memory: Memory) -> int:
    seen: list[int] = []
    _many(memory, progress=lambda done, _: seen.append(done))
    return len(seen)


def _compacted(memory: Memory) -> int:
    memory.forget(_many(memory)[:3])
    return memory.reflect().compaction.partitions_compacted


def _clustered(memory: Memory) -> tuple[int, int]:
    """Partitions that a cycle puts in order, and that it leaves, of two full ones of ten."""
    memory.remember_many([f"n {n}" for n in range(20)])
    report = memory.reflect()
    return report.clustered, report.unclustered


def _held(memory: Memory) -> int:
    _many(memory, tier="working")
    return len(memory)


def _users(memory: Memory) -> int:
    for n in range(8):
        memory.remember(f"n {n}", tier="working", user_id=f"u{n}")
    return len(memory)


def _answered(memory: Memory) -> int:
    _many(memory)
    try:
        return len(memory.recall("n", k=4))
    except InvalidInputError:
        return 0


#: field -> other fields of the configuration, what is looked at, and value -> what is found
_FIGURES: dict[str, tuple[dict[str, Any], Callable[[Memory], Any], dict[Any, Any]]] = {
    "working_capacity": ({}, _held, {3: 3, 7: 7}),
    "working_users": ({}, _users, {2: 2, 5: 5}),
    "batch_records": ({}, _commits, {3: 4, 10: 1}),
    "stability_by_importance": (
        {},
        lambda memory: memory.remember("x", importance=1.0).stability_days,
        {True: pytest.approx(10.5), False: pytest.approx(7.0)},
    ),
    "flashbulb_arousal": (
        {},
        lambda memory: memory.remember("x", arousal=0.6).flashbulb,
        {0.5: True, 0.7: False},
    ),
    "max_cue_bytes": ({}, lambda memory: len(memory.recall("x" * 11).notes), {10: 1, 11: 0}),
    "max_k": ({}, _answered, {3: 0, 4: 4}),
    "tombstone_ratio": ({}, _compacted, {0.0: 1, 0.25: 1, 0.5: 0}),
    "cluster_records": (
        {"episodic_capacity": 10, "cluster_min_records": 2},
        _clustered,
        {0: (0, 0), 1: (1, 1), 10: (1, 1), 11: (2, 0), 99: (2, 0)},
    ),
    "cluster_min_records": ({"episodic_capacity": 10}, _clustered, {11: (0, 0), 10: (2, 0)}),
}


@case(CONFIG, *_FIGURES)
def each_value_of_a_field_has_its_figure(path: Path) -> None:
    for name, (others, look, figures) in _FIGURES.items():
        found = {}
        for value in figures:
            with mind(**others, **{name: value}) as memory:
                found[value] = look(memory)
        assert found == figures, name


def _cycles(seconds: float, writes: int, **config: Any) -> int:
    with mind(**config) as memory:
        memory.daemon.start()
        for n in range(writes):
            memory.remember(f"n {n}")
        end = time.monotonic() + seconds
        while not memory.daemon.cycles and time.monotonic() < end:
            time.sleep(0.002)
        return memory.daemon.cycles


@case(CONFIG, "reflect_interval_s")
def a_shorter_interval_sleeps_sooner(path: Path) -> None:
    assert _cycles(100, 0, reflect_interval_s=0.01) >= 1
    assert _cycles(0.1, 0, reflect_interval_s=3600) == 0


@case(CONFIG, "reflect_after_writes")
def fewer_writes_wake_the_daemon(path: Path) -> None:
    assert _cycles(100, 3, reflect_interval_s=3600, reflect_after_writes=3) >= 1
    assert _cycles(0.1, 3, reflect_interval_s=3600, reflect_after_writes=4) == 0


def _index_files(path: Path) -> int:
    if not get_kernel().indexes:
        pytest.skip("this kernel scans without indexes")
    return len(list(path.glob("*/*.idx")))


@case(CONFIG, "index_min_rows")
def larger_partitions_get_an_index(path: Path) -> None:
    for least, files in ((1, 1), (10, 1), (11, 0)):
        with mind(path / str(least), index_min_rows=least) as memory:
            memory.remember_many([f"n {n}" for n in range(10)])
        assert _index_files(path / str(least)) == files


@case(CONFIG, "index_rows_per_recall")
def a_recall_builds_what_it_may(path: Path) -> None:
    with mind(path, index_min_rows=1 << 20) as memory:
        memory.remember_many([f"n {n}" for n in range(10)])
    for rows, files in ((0, 0), (10, 1)):
        with mind(path, index_min_rows=1, index_rows_per_recall=rows) as memory:
            memory.recall("n 3")
        assert _index_files(path) == files


def _scored(ask: dict[str, Any], **config: Any) -> tuple[int, list[tuple[int, float]]]:
    """How many memories of 3,000 a recall looked at closely, and its answer."""
    vectors = np.random.default_rng(5).standard_normal((3000, 64)).astype(np.float32)
    with mind(embedder=FakeEmbedder(dim=64), **config) as memory:
        memory.remember_many({"text": str(n), "vector": vector} for n, vector in enumerate(vectors))
        hits = memory.recall(vector=vectors[7] + 0.2 * vectors[8], profile="similarity", **ask)
        return hits.stats.scored, [(hit.id, hit.score) for hit in hits]


@case(CONFIG, "recall_confidence")
def more_confidence_looks_at_more_and_none_at_everything(path: Path) -> None:
    found = [_scored({}, recall_confidence=z) for z in (0.5, 2.0, 100.0, 0.0)]
    scored = [number for number, _ in found]
    assert scored[0] < scored[1] < scored[2] <= scored[3] == 3000
    assert found[2][1] == found[3][1]


# -- remember -------------------------------------------------------------------------------------


def _score(query: dict[str, Any], **given: Any) -> float:
    """The score of one memory; minus infinity when it is not found."""
    with mind() as memory:
        memory.remember("river stone", **given)
        hits = memory.recall(**query)
        return hits[0].score if hits else -math.inf


@case(REMEMBER, "text_or_message")
def words_in_common_raise_the_score(path: Path) -> None:
    with mind() as memory:
        memory.remember_many(["river stone", "violin music"])
        assert texts(memory.recall("river stone")) == ["river stone", "violin music"]


@case(REMEMBER, "text")
def a_text_is_stored_as_the_first_argument_is(path: Path) -> None:
    with mind() as memory:
        memory.remember(text="river stone")
        assert texts(memory.recall("river")) == ["river stone"]
        with pytest.raises(InvalidInputError, match="twice"):
            memory.remember("river stone", text="river stone")
        with pytest.raises(InvalidInputError, match="text is 5"):
            memory.remember(text=5)  # type: ignore[arg-type]
        assert len(memory) == 1


_ASK: dict[str, Any] = {"cue": "river"}
_PAST, _LATER = "2026-11-01", "2026-12-01"
#: parameter -> a question, and what is given for a higher and for a lower score
_SCORES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "tier": (_ASK | {"profile": "spector"}, {"tier": "semantic"}, {"tier": "episodic"}),
    "tags": (_ASK | {"any_tags": ["a", "b"]}, {"tags": ["a", "b"]}, {"tags": ["a"]}),
    "importance": (_ASK, {"importance": 0.9}, {"importance": 0.1}),
    "confidence": (_ASK, {"confidence": 0.9}, {"confidence": 0.1}),
    "valence": (_ASK | {"mood": 0.5}, {"valence": 0.5}, {"valence": -0.5}),
    "arousal": (_ASK | {"profile": "importance"}, {"arousal": 0.7}, {"arousal": 0.1}),
    "event_time": (
        _ASK | {"profile": "recent"},
        {"event_time": "2026-11-20"},
        {"event_time": "2025-11-20"},
    ),
    "category": (
        _ASK | {"profile": "cognitive"},
        {"category": "pattern"},
        {"category": "fact"},
    ),
    "vector": (
        {"vector": vector(1), "profile": "similarity"},
        {"vector": vector(1)},
        {"vector": vector(2)},
    ),
}
#: parameter -> a question, what is given to be found, and what keeps it from being found
_FOUND: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "tier": (_ASK | {"tiers": "semantic"}, {"tier": "semantic"}, {"tier": "episodic"}),
    "valid_from": (_ASK, {"valid_from": _PAST}, {"valid_from": _LATER}),
    "valid_until": (_ASK, {"valid_until": _LATER}, {"valid_until": _PAST}),
    "metadata": ({"where": {"a": 1}}, {"metadata": {"a": 1}}, {}),
    **{
        scope: ({scope: "x"}, {scope: "x"}, {scope: "y"})
        for scope in ("session_id", "agent_id", "user_id")
    },
    "pinned": (_ASK | {"min_importance": 0.9}, {"pinned": True}, {"pinned": False}),
    "modality": ({"modalities": "code"}, {"modality": "code"}, {}),
}


@case(REMEMBER, *_SCORES, *_FOUND)
def what_is_given_raises_the_score_or_is_found(path: Path) -> None:
    for name, (ask, more, less) in [*_SCORES.items(), *_FOUND.items()]:
        assert _score(ask, **more) > _score(ask, **less), name
    for name, (ask, _, less) in _FOUND.items():
        assert _score(ask, **less) == -math.inf, name
    assert _score(_ASK | {"mood": 0.5}, valence=0.5) > _score(_ASK, valence=0.5)


@case(REMEMBER, "unresolved")
def an_open_matter_can_be_made_to_rank_higher(path: Path) -> None:
    ask = {"cue": "river", "profile": spector.ScoringProfile(unresolved_boost=2.0)}
    assert _score(ask, unresolved=True) == pytest.approx(2 * _score(ask, unresolved=False))


# -- recall ---------------------------------------------------------------------------------------


@case(RECALL, "cue", "vector")
def the_cue_decides_what_comes_first(path: Path) -> None:
    with own_vectors() as memory:
        memory.remember("river", vector=vector(1))
        memory.remember("violin", vector=vector(2))
        for cue in ("river", "violin"):
            assert texts(memory.recall(cue, k=1)) == [cue]
        for seed, text in ((1, "river"), (2, "violin")):
            assert texts(memory.recall(vector=vector(seed), k=1)) == [text]


@case(RECALL, "k")
def k_lengthens_the_answer_and_never_reorders_it(path: Path) -> None:
    with mind() as memory:
        memory.remember_many([f"river {n}" for n in range(9)])
        answers = [ids(memory.recall("river 4", k=k)) for k in (1, 3, 9)]
        assert [len(answer) for answer in answers] == [1, 3, 9]
        assert answers[0] == answers[2][:1]
        assert answers[1] == answers[2][:3]


@case(
    RECALL,
    "tiers",
    "tags",
    "any_tags",
    "valence",
    "time_range",
    "min_importance",
    "user_id",
    "agent_id",
    "session_id",
    "where",
    "categories",
    "modalities",
)
def every_gate_narrows_the_answer(path: Path) -> None:
    ask: dict[str, Any] = {
        "tiers": "semantic",
        "tags": ["a"],
        "any_tags": ["a", "z"],
        "valence": (0.1, 1),
        "time_range": (None, "2026-01-01"),
        "min_importance": 0.8,
        "user_id": "u",
        "agent_id": "u",
        "session_id": "u",
        "where": {"a": 1},
        "categories": "plan",
        "modalities": "code",
    }
    with mind() as memory:
        inside = memory.remember(
            "river",
            tier="semantic",
            tags=["a"],
            valence=0.5,
            event_time="2025-05-05",
            importance=0.9,
            user_id="u",
            agent_id="u",
            session_id="u",
            metadata={"a": 1},
            category="plan",
            modality="code",
        )
        memory.remember("river")
        assert len(memory.recall("river")) == 2
        for name, value in ask.items():
            assert ids(memory.recall("river", **{name: value})) == [inside.id], name


@case(RECALL, "profile")
def a_profile_changes_the_order(path: Path) -> None:
    with mind() as memory:
        memory.remember("river stone", importance=0.1)
        memory.remember("violin", importance=1.0)
        similar = texts(memory.recall("river stone", profile="similarity"))
        important = spector.ScoringProfile(w_similarity=0.0, w_importance=1.0)
        assert similar == texts(memory.recall("river stone", profile=important))[::-1]


@case(RECALL, "exact")
def exact_looks_at_every_vector(path: Path) -> None:
    estimated, exact = (_scored({"exact": flag}) for flag in (False, True))
    assert estimated[0] < exact[0] == 3000
    assert estimated[1] == exact[1]


@case(RECALL, "mood")
def a_mood_lifts_what_agrees_with_it(path: Path) -> None:
    with mind() as memory:
        sad = memory.remember("river a", valence=-0.8)
        glad = memory.remember("river b", valence=0.8)
        assert memory.recall("river", mood=0.9)[0].id == glad.id
        assert memory.recall("river", mood=-0.9)[0].id == sad.id


def _told(**config: Any) -> Any:
    """Many memories of which one answers, and says more than that."""
    answer = "Ann keeps her copper violin in the attic. " + "The rest is about something else. " * 6
    rows = [{"text": f"note {n} on the weather", "vector": vector(n + 9)} for n in range(150)]
    memory = own_vectors(config=Config(**config))
    return memory, [*rows, {"text": answer, "vector": vector(1)}]


@case(CONFIG, "abstain_below")
def a_lower_threshold_answers_more_cues(path: Path) -> None:
    kept = []
    for below in (0.0, 0.999):
        opened, rows = _told(abstain_below=below)
        with opened as memory:
            memory.remember_many(rows)
            hits = memory.recall(
                "Where does Zoe keep the xylophone?", vector=vector(3), selective=True
            )
            kept.append(len(hits))
            assert hits.abstained == (not hits)
    assert kept[0] > kept[1] == 0


@case(CONFIG, "context_full", "context_abbreviated")
def hits_that_stand_out_less_are_shortened_or_left_out(path: Path) -> None:
    sizes = {}
    for full, abbreviated in ((0.0, 0.0), (1.0, 0.0), (1.0, 0.99)):
        opened, rows = _told(context_full=full, context_abbreviated=abbreviated, abstain_below=0.0)
        with opened as memory:
            memory.remember_many([{**row, "text": f"{row['text']}. " * 8} for row in rows])
            found = memory.context(
                "Where is the violin of Ann?", vector=vector(1), max_tokens=9999, cut=0
            )
            sizes[full, abbreviated] = (len(found.hits), found.tokens)
    (all_full, whole), (all_short, shorter), (few, _) = sizes.values()
    assert all_full == all_short > few >= 1
    assert whole > shorter


@case(CONFIG, "context_sure")
def in_doubt_a_context_quotes_two_memories_at_most(path: Path) -> None:
    quoted = []
    for sure in (0.0, 1.0):
        opened, rows = _told(
            context_sure=sure, context_abbreviated=0.0, context_full=0.0, abstain_below=0.0
        )
        with opened as memory:
            memory.remember_many(rows)
            found = memory.context(
                "Where is the violin of Ann?", vector=vector(1), max_tokens=9999, cut=0
            )
            quoted.append(len(found.hits))
            assert any("an answer is doubtful" in each.reason for each in found.skipped) == sure
    assert quoted[0] > quoted[1] == 2


@case(RECALL, "cut")
def a_higher_cut_leaves_fewer_beliefs(path: Path) -> None:
    with mind() as memory:
        for n in range(6):
            vector = np.eye(memory.dim)[n] * n + 3 * np.eye(memory.dim)[9]
            memory.remember(f"belief {n}", vector=vector, tier="semantic", importance=0.0)
        asked = {"cue": "Which one is it?", "vector": np.eye(memory.dim)[9], "k": 6}
        counts = [len(memory.recall(**asked, cut=cut)) for cut in (0.0, 0.5, 0.9)]
        assert counts[0] == 6
        assert counts == sorted(counts, reverse=True)
        assert counts[2] < counts[0]


# -- what tests of other files turn -----------------------------------------------------------------

#: verb -> parameter -> the test that turns it
ELSEWHERE: dict[str, dict[str, str]] = {
    "remember": {
        "scopes_from_message": "a_message_fills_what_the_call_leaves_open_only_where_it_may",
        "immutable": "an_immutable_memory_cannot_be_changed_or_forgotten",
        "if_revision": "each_verb_compares",
        **dict.fromkeys(("role", "source", "parents"), "every_field_that_is_remembered_comes_back"),
        "supersedes": "forgetting_the_newer_one_does_not_bring_the_older_back",
        "key": "keys_of_other_users_agents_and_namespaces_are_others",
        "namespace": "keys_of_other_users_agents_and_namespaces_are_others",
        "attachment": "a_value_comes_back_equal",
        "expires_in": "at_its_end_nothing_returns_it",
        "expires_at": "a_day_as_the_end_is_that_whole_day_in_the_zone_of_the_store",
        "refresh": "a_recall_moves_the_end_of_what_it_returns",
        "aliases": "a_cue_that_is_an_alias_finds_its_memory",
    },
    "recall": {
        "selective": "a_selective_recall_returns_what_stands_out",
        "compound": "a_cue_without_a_seam_is_answered_as_ever",
        "kind": "what_was_asked_for_before_is_less_near_than_what_is_known",
        "offset": "pages_are_the_unpaged_answer",
        "min_score": "pages_are_the_unpaged_answer",
        "namespace": "every_verb_stays_in_a_namespace",
        "below": "every_verb_stays_in_a_namespace",
        "learn": "learning_strengthens_the_hits_and_only_them",
        "include": "a_retired_memory_is_recalled_on_request_only",
        "timezone": "recall_and_context_take_a_zone_above_that_of_the_store",
        "as_of": "every_moment_shows_what_brute_force_says",
        "hyde": "a_recall_looks_for_what_an_answer_would_be_like",
        "intent": "limits_are_those_of_the_intent_unless_k_is_given",
        "mmr": "coverage_brings_what_is_different",
        "coverage": "coverage_brings_what_is_different",
        "associate": "what_was_used_together_three_times_lifts_its_partner",
        "expand": "expansion_adds_neighbours_of_the_best_three",
        "sorts": "a_recall_of_some_sorts",
        "mode": "a_recall_of_the_graph_begins_at_a_seed",
        "seed": "a_recall_of_the_graph_begins_at_a_seed",
        "near_session": "a_session_may_be_named_for_one_recall",
        "dormant_hint": "dormant_memories_that_the_cue_would_have_hit_are_named",
        "per_session": "few_of_each_session_and_as_many_as_asked_for",
        "options": "an_option_answers_as_its_keyword_does",
        "lexical": "a_vector_for_a_cue_wins_over_its_text_and_keeps_its_words",
    },
}


# -- running and completeness ---------------------------------------------------------------------

_EVERY = sorted(
    {f for table in (CONFIG, REMEMBER, RECALL) for f in table.values()}, key=lambda f: f.__name__
)  # type: ignore[attr-defined]


@pytest.mark.parametrize("check", _EVERY, ids=lambda f: f.__name__)
def test_metamorphic(check: Case, tmp_path: Path) -> None:
    check(tmp_path)


def test_every_field_of_the_config_has_a_case() -> None:
    """But for the sections, whose fields tests/config lists, and the time zone, tried there."""
    names = {
        field.name
        for field in dataclasses.fields(Config)
        if not dataclasses.is_dataclass(field.default)
    }
    assert names - {"timezone"} == set(CONFIG)


@pytest.mark.parametrize(("verb", "table"), [("remember", REMEMBER), ("recall", RECALL)])
def test_every_parameter_has_a_case(verb: str, table: dict[str, Case]) -> None:
    names = set(inspect.signature(getattr(Memory, verb)).parameters) - {"self"}
    if "options" in names:
        names = names - {"rare"} | {field.name for field in dataclasses.fields(RecallOptions)}
    assert names == table.keys() | ELSEWHERE[verb].keys()


def test_every_test_of_another_file_is_there(repo: Path) -> None:
    files = [path.read_text(encoding="utf-8") for path in (repo / "tests").rglob("test_*.py")]
    for named in ELSEWHERE.values():
        for parameter, test in named.items():
            assert any(f"def test_{test}(" in each and parameter in each for each in files), test
