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
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import spector
from spector import (
    Config,
    InvalidInputError,
    InvalidScopeError,
    ManualClock,
    Memory,
    MemoryRecord,
    RecallOptions,
    SpectorError,
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


@case(CONFIG, "working_capacity")
def a_larger_ring_holds_more(path: Path) -> None:
    for capacity in (3, 7):
        with mind(working_capacity=capacity) as memory:
            memory.remember_many([f"n {n}" for n in range(10)], tier="working")
            assert len(memory) == capacity


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


@case(CONFIG, "working_users")
def more_users_have_memories_at_hand(path: Path) -> None:
    for users in (2, 5):
        with mind(working_users=users) as memory:
            for n in range(8):
                memory.remember(f"n {n}", tier="working", user_id=f"u{n}")
            assert len(memory) == users


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


def _noting(seen: list[tuple[int, int | None]]) -> Callable[[int, int | None], None]:
    return lambda *at: seen.append(at)


@case(CONFIG, "batch_records")
def smaller_batches_commit_more_often(path: Path) -> None:
    for size, commits in ((3, 4), (10, 1)):
        seen: list[tuple[int, int | None]] = []
        with mind(batch_records=size) as memory:
            memory.remember_many([str(n) for n in range(10)], progress=_noting(seen))
        assert len(seen) == commits


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


@case(CONFIG, "stability_by_importance")
def importance_scales_the_first_stability(path: Path) -> None:
    for scaled, days in ((True, 10.5), (False, 7.0)):
        with mind(stability_by_importance=scaled) as memory:
            assert memory.remember("x", importance=1.0).stability_days == pytest.approx(days)


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


@case(CONFIG, "flashbulb_arousal")
def a_lower_threshold_makes_a_flashbulb_sooner(path: Path) -> None:
    for threshold, bright in ((0.5, True), (0.7, False)):
        with mind(flashbulb_arousal=threshold) as memory:
            assert memory.remember("x", arousal=0.6).flashbulb is bright


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


@case(CONFIG, "max_cue_bytes")
def a_longer_cue_is_read_whole_with_a_higher_limit(path: Path) -> None:
    cue = "x" * 11
    for limit, notes in ((10, 1), (11, 0)):
        with own_vectors(config=Config(max_cue_bytes=limit), clock=ManualClock(NOW)) as memory:
            assert len(memory.recall(cue).notes) == notes


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


@case(CONFIG, "max_k")
def a_larger_k_needs_a_larger_limit(path: Path) -> None:
    with mind(max_k=3) as memory:
        memory.remember_many([f"n {n}" for n in range(5)])
        assert len(memory.recall("n", k=3)) == 3
        with pytest.raises(InvalidInputError):
            memory.recall("n", k=4)


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


@case(CONFIG, "tombstone_ratio")
def a_lower_ratio_compacts_sooner(path: Path) -> None:
    for ratio, compacted in ((0.0, 1), (0.25, 1), (0.5, 0)):
        with mind(tombstone_ratio=ratio) as memory:
            made = memory.remember_many([f"n {n}" for n in range(10)])
            memory.forget(ids(made[:3]))
            assert memory.reflect().compaction.partitions_compacted == compacted


def _clustered(**config: Any) -> tuple[int, int]:
    """Partitions that a cycle puts in order, and that it leaves, of two full ones of ten."""
    with mind(episodic_capacity=10, **config) as memory:
        memory.remember_many([f"n {n}" for n in range(20)])
        report = memory.reflect()
        return report.clustered, report.unclustered


@case(CONFIG, "cluster_records")
def a_larger_share_of_a_cycle_puts_more_in_order(path: Path) -> None:
    found = [_clustered(cluster_records=n, cluster_min_records=2) for n in (0, 1, 10, 11, 99)]
    assert found == [(0, 0), (1, 1), (1, 1), (2, 0), (2, 0)]


@case(CONFIG, "cluster_min_records")
def a_lower_minimum_puts_smaller_partitions_in_order(path: Path) -> None:
    assert [_clustered(cluster_min_records=n) for n in (11, 10)] == [(0, 0), (2, 0)]


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


@case(REMEMBER, "tier")
def the_tier_decides_who_finds_it_and_its_factor(path: Path) -> None:
    assert _score({"cue": "river", "tiers": "semantic"}, tier="semantic") > 0
    assert _score({"cue": "river", "tiers": "semantic"}, tier="episodic") == -math.inf
    ask = {"cue": "river", "profile": "spector"}
    assert _score(ask, tier="semantic") > _score(ask, tier="episodic")


@case(REMEMBER, "tags")
def a_tag_in_common_raises_the_score(path: Path) -> None:
    ask = {"cue": "river", "any_tags": ["a", "b"]}
    assert _score(ask, tags=["a", "b"]) > _score(ask, tags=["a"]) > _score(ask, tags=["c"])


@case(REMEMBER, "importance", "confidence")
def importance_and_confidence_raise_the_score(path: Path) -> None:
    ask = {"cue": "river"}
    assert _score(ask, importance=0.9) > _score(ask, importance=0.1)
    assert _score(ask, confidence=0.9) > _score(ask, confidence=0.1)


@case(REMEMBER, "valence")
def agreeing_valence_raises_the_score_in_a_mood(path: Path) -> None:
    ask = {"cue": "river", "mood": 0.5}
    assert _score(ask, valence=0.5) > _score(ask, valence=-0.5)
    assert _score(ask, valence=0.5) > _score({"cue": "river"}, valence=0.5)


@case(REMEMBER, "arousal")
def arousal_raises_the_score_where_it_is_weighed(path: Path) -> None:
    ask = {"cue": "river", "profile": "importance"}
    assert _score(ask, arousal=0.7) > _score(ask, arousal=0.1)


@case(REMEMBER, "event_time")
def a_recent_event_scores_higher(path: Path) -> None:
    ask = {"cue": "river", "profile": "recent"}
    assert _score(ask, event_time="2026-11-20") > _score(ask, event_time="2025-11-20")


@case(REMEMBER, "valid_from", "valid_until")
def outside_its_validity_it_is_not_found(path: Path) -> None:
    ask = {"cue": "river"}
    assert _score(ask, valid_from="2026-11-01", valid_until="2026-12-01") > 0
    assert _score(ask, valid_from="2026-12-01") == -math.inf
    assert _score(ask, valid_until="2026-11-01") == -math.inf


@case(REMEMBER, "scopes_from_message")
def a_message_says_whose_it_is_where_it_may(path: Path) -> None:
    message = {"role": "user", "content": "river", "user_id": "u"}
    with mind() as memory:
        with pytest.raises(InvalidScopeError):
            memory.remember(message)
        assert len(memory) == 0
        made = memory.remember(message, scopes_from_message=True)
        assert made.user_id == "u"
        assert ids(memory.recall("river", user_id="u")) == [made.id]


@case(REMEMBER, "metadata", "session_id", "agent_id", "user_id")
def filters_find_what_was_given(path: Path) -> None:
    assert _score({"where": {"a": 1}}, metadata={"a": 1}) > _score({"where": {"a": 1}})
    for scope in ("session_id", "agent_id", "user_id"):
        ask = {scope: "x"}
        assert _score(ask, **{scope: "x"}) > _score(ask, **{scope: "y"}) == _score(ask)


@case(REMEMBER, "pinned")
def a_pinned_memory_passes_the_floors(path: Path) -> None:
    ask = {"cue": "river", "min_importance": 0.9}
    assert _score(ask, pinned=True) > _score(ask, pinned=False) == -math.inf


@case(REMEMBER, "vector")
def a_nearer_vector_scores_higher(path: Path) -> None:
    ask = {"vector": vector(1), "profile": "similarity"}
    assert _score(ask, vector=vector(1)) > _score(ask, vector=vector(2))


@case(REMEMBER, "immutable")
def an_immutable_memory_refuses_a_change(path: Path) -> None:
    with mind() as memory:
        memory.update(memory.remember("x", immutable=False).id, text="y")
        with pytest.raises(SpectorError):
            memory.update(memory.remember("x", immutable=True).id, text="y")


@case(REMEMBER, "unresolved")
def an_open_matter_can_be_made_to_rank_higher(path: Path) -> None:
    ask = {"cue": "river", "profile": spector.ScoringProfile(unresolved_boost=2.0)}
    assert _score(ask, unresolved=True) == pytest.approx(2 * _score(ask, unresolved=False))


@case(REMEMBER, "category", "modality")
def kinds_are_found_and_weighed(path: Path) -> None:
    ask = {"cue": "river", "profile": "cognitive"}
    assert _score(ask, category="pattern") > _score(ask, category="fact")
    assert _score({"modalities": "code"}, modality="code") > _score({"modalities": "code"})


@case(REMEMBER, "if_revision")
def a_revision_that_is_not_expected_is_refused(path: Path) -> None:
    with mind() as memory:
        memory.remember("tea", key="drink", if_revision=0)
        with pytest.raises(spector.ConflictError):
            memory.remember("milk", key="drink", if_revision=0)
        assert memory.remember("coffee", key="drink", if_revision=1).revision == 2


@case(REMEMBER, "role", "source", "parents")
def provenance_is_kept(path: Path) -> None:
    with mind() as memory:
        record = memory.remember("x", role="tool", source="mail", parents=[7])
        assert (record.role, record.source, record.parents) == ("tool", "mail", (7,))


@case(REMEMBER, "supersedes")
def what_is_superseded_gives_way(path: Path) -> None:
    with mind() as memory:
        old = memory.remember("in Rome")
        new = memory.remember("in Paris", supersedes=old.id)
        assert ids(memory.recall("in")) == [new.id]


@case(REMEMBER, "key", "namespace")
def a_key_has_one_memory_in_each_namespace(path: Path) -> None:
    with mind() as memory:
        memory.remember("tea", key="drink")
        memory.remember("milk", key="drink", namespace="cat")
        memory.remember("coffee", key="drink")
        assert memory.get(key="drink").text == "coffee"
        assert memory.get(key="drink", namespace="cat").text == "milk"
        assert len(memory) == 2


@case(REMEMBER, "attachment")
def what_is_attached_comes_back_and_nothing_else_changes(path: Path) -> None:
    with mind() as memory:
        plain, other = memory.remember("tea"), memory.remember("tea", attachment={"hot": True})
        assert (plain.attachment(), other.attachment()) == (None, {"hot": True})
        assert {hit.text for hit in memory.recall("hot")} == {"tea"}


@case(REMEMBER, "expires_in", "expires_at", "refresh")
def a_memory_ends_at_its_moment_unless_it_is_asked_for(path: Path) -> None:
    clock = ManualClock(NOW)
    with mind(clock=clock) as memory:
        memory.remember("by seconds", expires_in=60)
        memory.remember("by the hour", expires_at=NOW + timedelta(seconds=120))
        memory.remember("moved on", expires_in=60, refresh=True)
        clock.advance(seconds=50)
        assert {hit.text for hit in memory.recall("moved on")} >= {"moved on"}
        clock.advance(seconds=30)
        assert {record.text for record in memory.records()} == {"by the hour", "moved on"}
        clock.advance(seconds=300)
        assert not list(memory.records())


@case(REMEMBER, "aliases")
def a_name_in_the_cue_finds_what_is_called_so(path: Path) -> None:
    with mind() as memory:
        memory.remember_many([f"how is the river, {n}" for n in range(5)])
        for aliases, first in ((None, False), (["Old Meadow Stream"], True)):
            named = memory.remember("brook", aliases=aliases)
            best = memory.recall("how is the Old Meadow Stream?", k=1)
            assert (ids(best) == [named.id]) is first


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


@case(RECALL, "offset")
def an_offset_goes_on_in_the_same_order(path: Path) -> None:
    with mind() as memory:
        memory.remember_many([f"river {n}" for n in range(9)])
        every = ids(memory.recall("river 4", k=9))
        assert ids(memory.recall("river 4", k=3, offset=4)) == every[4:7]


@case(RECALL, "min_score")
def a_least_score_keeps_what_has_it(path: Path) -> None:
    with mind() as memory:
        memory.remember_many(["river stone", "river", "violin music"])
        hits = memory.recall("river stone")
        least = hits[1].score
        assert ids(memory.recall("river stone", min_score=least)) == [
            hit.id for hit in hits if hit.score >= least
        ]
        assert not memory.recall("river stone", min_score=1000.0)


@case(RECALL, "namespace", "below")
def a_namespace_lets_its_own_pass(path: Path) -> None:
    with mind() as memory:
        memory.remember("river")
        memory.remember("river bank", key="k", namespace="a")
        memory.remember("river mouth", key="k", namespace=("a", "b"))
        assert texts(memory.recall("river", namespace="a")) == ["river bank"]
        assert len(memory.recall("river", namespace="a", below=True)) == 2


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


@case(RECALL, "lexical")
def words_lift_the_memory_that_has_them(path: Path) -> None:
    with own_vectors() as memory:
        memory.remember("zanzibar", vector=vector(1))
        memory.remember("nothing", vector=vector(2))
        on, off = (
            {h.text: h for h in memory.recall("zanzibar", vector=vector(2), lexical=flag)}
            for flag in (True, False)
        )
        assert on["zanzibar"].score > off["zanzibar"].score
        assert on["zanzibar"].explain().lexical > 0
        assert on["nothing"].explain().lexical == 0
        assert not any(hit.explain().evidence for hit in off.values())


@case(RECALL, "learn")
def learning_counts_an_access(path: Path) -> None:
    with mind() as memory:
        record = memory.remember("river")
        memory.recall("river", learn=False)
        assert memory.get(record.id).access_count == 0
        memory.recall("river", learn=True)
        assert memory.get(record.id).access_count == 1


@case(RECALL, "mood")
def a_mood_lifts_what_agrees_with_it(path: Path) -> None:
    with mind() as memory:
        sad = memory.remember("river a", valence=-0.8)
        glad = memory.remember("river b", valence=0.8)
        assert memory.recall("river", mood=0.9)[0].id == glad.id
        assert memory.recall("river", mood=-0.9)[0].id == sad.id


@case(RECALL, "include")
def including_what_sleeps_lengthens_the_answer(path: Path) -> None:
    (path / "x.jsonl").write_text('{"text": "river", "flags": ["dormant"]}\n', encoding="utf-8")
    with mind() as memory:
        memory.import_(path / "x.jsonl")
        assert len(memory.recall("river")) == 0
        assert len(memory.recall("river", include=["dormant"])) == 1


def _told(**config: Any) -> Any:
    """Many memories of which one answers, and says more than that."""
    answer = "Ann keeps her copper violin in the attic. " + "The rest is about something else. " * 6
    rows = [{"text": f"note {n} on the weather", "vector": vector(n + 9)} for n in range(150)]
    memory = own_vectors(config=Config(**config))
    return memory, [*rows, {"text": answer, "vector": vector(1)}]


@case(RECALL, "selective")
def a_selective_recall_returns_what_stands_out(path: Path) -> None:
    opened, rows = _told(abstain_below=0.0, context_abbreviated=0.9)
    with opened as memory:
        memory.remember_many(rows)
        cue = {"cue": "Where is the copper violin of Ann?", "vector": vector(1)}
        assert len(memory.recall(**cue)) == 10
        assert 1 <= len(memory.recall(**cue, selective=True)) < 10


@case(RECALL, "compound")
def each_part_of_a_cue_is_recalled(path: Path) -> None:
    with own_vectors() as memory:
        memory.remember_many(
            [{"text": f"note {n} on the weather", "vector": vector(n + 9)} for n in range(40)]
        )
        memory.remember("the violin is upstairs", vector=vector(1))
        memory.remember("the boat is red", vector=vector(2))
        cue = "Where is the violin? What colour is the boat?"
        found = {flag: memory.recall(cue, k=2, compound=flag) for flag in (True, False)}
        assert {hit.text for hit in found[True]} == {"the violin is upstairs", "the boat is red"}
        assert [h.score for h in found[True]] != [h.score for h in found[False]]


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


@case(RECALL, "timezone")
def a_day_further_east_begins_earlier(path: Path) -> None:
    zones = {
        "UTC": ("2026-11-10", "2026-11-11"),
        "+03:00": ("2026-11-11", "2026-11-12"),
        "-09:00": ("2026-11-10", "2026-11-11"),
    }
    with mind() as memory:
        late = memory.remember("the late train", event_time="2026-11-10T22:30:00Z")
        for zone, (day, after) in zones.items():
            hits = memory.recall("train", time_range=(day, None), timezone=zone)
            assert [hit.id for hit in hits] == [late.id]
            assert not memory.recall("train", time_range=(after, None), timezone=zone)


@case(RECALL, "as_of")
def as_of_a_moment_nothing_later_is_known(path: Path) -> None:
    with mind() as memory:
        old = memory.remember("river stone", event_time="2026-01-01")
        memory.remember("river bank", event_time="2026-03-01")
        assert len(memory.recall("river")) == 2
        assert ids(memory.recall("river", as_of="2026-02-01")) == [old.id]


@case(RECALL, "kind")
def a_fact_is_asked_by_its_words(path: Path) -> None:
    with own_vectors() as memory:
        memory.remember_many(
            [{"text": f"note {n} on things", "vector": vector(n + 9)} for n in range(9)]
        )
        memory.remember("the violin of old", vector=vector(1))
        found = {
            kind: next(
                hit.explain().lexical
                for hit in memory.recall("violin in the attic", vector=vector(3), kind=kind, k=20)
                if "violin" in hit.text
            )
            for kind in ("fact", "request")
        }
        assert found["fact"] > found["request"] > 0


@case(RECALL, "hyde")
def what_answers_would_be_like_is_looked_for_too(path: Path) -> None:
    with mind() as memory:
        memory.remember("We talked about glaciers")
        cue = "tell me about glaciers"
        plain, hyde = (
            memory.recall(cue, profile="similarity", hyde=on)[0].score for on in (False, True)
        )
        assert hyde > plain


@case(RECALL, "intent")
def what_is_no_longer_so_answers_when_it_was(path: Path) -> None:
    (path / "x.jsonl").write_text('{"text": "in Rome", "flags": ["superseded"]}\n', "utf-8")
    with mind() as memory:
        memory.import_(path / "x.jsonl")
        memory.remember("the desk is in Paris")
        assert len(memory.recall("where is the desk")) == 1
        assert len(memory.recall("where is the desk", intent="temporal")) == 2
        assert len(memory.recall("when was the desk in Rome", intent="auto")) == 2
        with pytest.raises(InvalidInputError, match="intent"):
            memory.recall("x", intent="vague")


@case(RECALL, "mmr")
def newness_brings_what_is_different(path: Path) -> None:
    with own_vectors() as memory:
        same, other = vectors(2, seed=5)
        memory.remember_many([{"text": f"same {n}", "vector": same} for n in range(3)])
        memory.remember("other", vector=0.8 * same + other)
        assert "other" not in texts(memory.recall(vector=same, k=2))
        assert "other" in texts(memory.recall(vector=same, k=2, mmr=0.5))


@case(RECALL, "coverage")
def a_cover_brings_what_is_different(path: Path) -> None:
    with own_vectors() as memory:
        cue, left, right = np.eye(3, memory.dim)
        same = 0.9 * cue + 0.44 * left
        memory.remember_many([{"text": f"same {n}", "vector": same} for n in range(3)])
        memory.remember("other", vector=0.85 * cue + 0.53 * right)
        assert "other" not in texts(memory.recall(vector=cue, k=2))
        assert "other" in texts(memory.recall(vector=cue, k=2, coverage=True))


@case(RECALL, "associate", "expand", "sorts", "mode", "seed")
def knowledge_counts_where_it_is_asked_for(path: Path) -> None:
    with mind() as memory:
        here = memory.remember("the river rose")
        memory.remember_many([f"brook {n} fell" for n in range(5)])
        tied = memory.remember("nobody came")
        memory.graph.link(here, tied, "causes", weight=0.8)
        assert tied.id not in ids(memory.recall("river", k=1))
        assert tied.id in ids(memory.recall("river", k=1, expand=True))
        assert ids(memory.recall("river", seed=here))[0] == tied.id
        assert ids(memory.recall("river", mode="graph", seed=here))[0] == tied.id
        assert memory.recall("river", sorts="fact") == []
        fact = memory.facts.add("river", "is", "high")
        assert ids(memory.recall("river", sorts="fact")) == [fact.id]
        for _ in range(3):
            memory.recall("river rose", k=3, learn=True, associate=True)
        assert "coactivation" not in memory.recall("river rose", k=3)[0].explain().evidence
        lifted = memory.recall("river rose", k=3, associate=True)[0].explain().evidence
        assert lifted["coactivation"] > 0


@case(RECALL, "near_session")
def memories_of_a_near_session_score_more(path: Path) -> None:
    with mind() as memory:
        memory.remember("the river rose", session_id="a")
        memory.remember("the river rose again", session_id="b")
        found = memory.recall("river", near_session="b", associate=True)
        near = next(hit for hit in found if hit.session_id == "b")
        assert near.explain().evidence["episode"] > 0


@case(RECALL, "dormant_hint")
def a_hint_names_what_rests(path: Path) -> None:
    with mind() as memory:
        rest = memory.retire(memory.remember("the river rose"))[0]
        assert memory.recall("river").stats.dormant == ()
        assert memory.recall("river", dormant_hint=True).stats.dormant == (rest.id,)


@case(RECALL, "per_session")
def a_session_fills_no_more_than_its_share(path: Path) -> None:
    with mind() as memory:
        memory.remember_many([f"river {n}" for n in range(5)], session_id="a")
        memory.remember("brook", session_id="b")
        assert [h.session_id for h in memory.recall("river", k=2)] == ["a", "a"]
        assert [h.session_id for h in memory.recall("river", k=2, per_session=1)] == ["a", "b"]


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


@case(RECALL, "options")
def options_count_as_keywords_do(path: Path) -> None:
    with mind() as memory:
        memory.remember_many([f"river {n}" for n in range(5)], session_id="a")
        memory.remember("brook", session_id="b")
        few = RecallOptions(per_session=1)
        assert [h.session_id for h in memory.recall("river", k=2, options=few)] == ["a", "b"]
        assert len(memory.recall("river", k=5, options=few, per_session=3)) == 4


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
    assert names == set(table)
