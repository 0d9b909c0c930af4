"""The words of a real store follow its commits: written, changed, forgotten, compacted."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import spector
from spector import Memory
from spector.clock import ManualClock
from spector.language.words.analysis import cue_terms
from spector.store.words import Words, speaker_of
from tests.cases import Cases
from tests.conftest import NOW
from tests.proof import seed
from tests.store.spoil import sql

cases = Cases(__file__)

Find = Callable[[str], list[int]]


def _finder(memory: Memory) -> Find:
    """Ids of the memories that the words of a cue find, in all stores."""
    stores = list(memory._parts.router.stores())
    words = [Words(store) for store in stores]

    def find(cue: str) -> list[int]:
        out: list[int] = []
        for store, each in zip(stores, words, strict=True):
            with store.snapshot() as view:
                found = each.at(view)
                fresh = Words(store).at(view)
                rows, scores = found.best(cue_terms(cue))
                again, same = fresh.best(cue_terms(cue))
                assert found.ids(rows).tolist() == fresh.ids(again).tolist()
                assert scores.tolist() == same.tolist(), "following equals reading anew"
                assert (found.n_rows, len(fresh)) == (fresh.n_rows, fresh.n_rows)
                out += found.ids(rows).tolist()
        return sorted(out)

    return find


@pytest.fixture(params=["disk", "memory"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    path = ":memory:" if request.param == "memory" else tmp_path / "mind"
    with spector.open(path, embedder=None, dim=8, clock=ManualClock(NOW)) as opened:
        yield opened


def _vector(n: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal(8).astype(np.float32)


def test_every_commit_is_followed(memory: Memory) -> None:
    find = _finder(memory)
    assert find("guitar") == []
    first = memory.remember("Ann bought a guitar", vector=_vector(1)).id
    assert find("guitars") == [first]
    second = memory.remember("a guitar for Bob", vector=_vector(2)).id
    other = memory.remember("a tent for Bob", vector=_vector(3)).id
    assert find("guitar") == [first, second]
    memory.update(first, text="Ann sold a piano", vector=_vector(4))
    assert (find("guitar"), find("piano")) == ([second], [first])
    memory.forget(second)
    assert (find("guitar"), find("Bob")) == ([], [other])
    memory.compact()
    assert (find("piano"), find("tent")) == ([first], [other])


def test_a_text_that_changes_under_the_same_vector_is_followed(memory: Memory) -> None:
    """An update in place would leave the index with the words that the slot had before."""
    find = _finder(memory)
    record = memory.remember("the old words", vector=_vector(1))
    assert find("old") == [record.id]
    memory.update(record.id, text="the new words", vector=_vector(1))
    assert (find("old"), find("new")) == ([], [record.id])


def test_a_speaker_that_changes_is_followed(memory: Memory) -> None:
    find = _finder(memory)
    record = memory.remember("hello there friend", vector=_vector(1), metadata={"speaker": "Ann"})
    assert find("Ann") == [record.id]
    memory.update(record.id, metadata={"speaker": "Bob"})
    assert (find("Ann"), find("Bob")) == ([], [record.id])


def test_a_reader_in_another_connection_follows_the_writer(tmp_path: Path) -> None:
    with ExitStack() as stack:
        path = tmp_path / "mind"
        writer = stack.enter_context(
            spector.open(path, embedder=None, dim=8, clock=ManualClock(NOW))
        )
        first = writer.remember("Ann bought a guitar", vector=_vector(1)).id
        reader = stack.enter_context(
            spector.open(path, mode="r", embedder=None, clock=ManualClock(NOW))
        )
        find = _finder(reader)
        assert find("guitar") == [first]
        second = writer.remember("another guitar", vector=_vector(2)).id
        assert find("guitar") == [first, second]
        writer.forget(first)
        assert find("guitar") == [second]


@cases("role", "metadata", "speaker")
def test_the_speaker_is_who_the_metadata_names_else_the_role(
    role: object, metadata: object, speaker: str | None
) -> None:
    assert speaker_of(role, metadata) == speaker


@pytest.mark.parametrize(
    "start", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 30))]
)
def test_any_sequence_of_verbs_is_followed(start: int, tmp_path: Path) -> None:
    """Remembered, updated, forgotten, purged, reflected, compacted, reopened in any order."""
    first = seed(start)
    rng, clock = random.Random(first), ManualClock(NOW)
    config = spector.Config(episodic_capacity=16, erase_after_s=0.0, cluster_min_records=4)
    stack = ExitStack()

    def opened() -> tuple[Memory, Find]:
        memory = stack.enter_context(
            spector.open(
                tmp_path / "mind",
                embedder=None,
                dim=8,
                clock=clock,
                config=config,
                durability="relaxed",
            )
        )
        return memory, _finder(memory)

    memory, find = opened()
    texts: dict[int, str] = {}
    for n in range(60):
        verb = rng.choice(
            "remember remember many update update forget purge reflect compact reopen".split()
        )
        if verb in ("remember", "many") or not texts:
            rows = [
                {
                    "text": f"word{rng.randrange(9)} word{rng.randrange(9)}",
                    "vector": _vector(n),
                    "event_time": NOW - timedelta(days=rng.randrange(4)),
                    "session_id": rng.choice(["a", "b"]),
                    "role": "user",
                }
                for _ in range(30 if verb == "many" else 1)
            ]
            for record, row in zip(memory.remember_many(rows), rows, strict=True):
                texts[record.id] = str(row["text"])
        elif verb == "update":
            record_id = rng.choice(list(texts))
            texts[record_id] = f"word{rng.randrange(9)} changed"
            vector = _vector(rng.choice([1, n]))
            memory.update(record_id, text=texts[record_id], vector=vector)
        elif verb in ("forget", "purge"):
            for record_id in rng.sample(list(texts), min(len(texts), rng.choice([1, 12]))):
                del texts[record_id]
                memory.forget(record_id, purge=verb == "purge")
        elif verb == "reflect":
            clock.advance(days=1)
            memory.reflect("upkeep")
        elif verb == "compact":
            memory.compact()
        else:
            stack.close()
            memory, find = opened()
        cue = f"word{rng.randrange(9)}"
        assert find(cue) == sorted(k for k, t in texts.items() if cue in t.split()), (first, n)
    stack.close()


@pytest.mark.sampled
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE content SET text = CAST(x'ff6869' AS TEXT) WHERE id = ?",
        "UPDATE content SET text = x'ff' WHERE id = ?",
        "UPDATE content SET metadata = CAST(x'ff' AS TEXT) WHERE id = ?",
        "UPDATE content SET metadata = '" + '{"speaker":' * 2000 + "' WHERE id = ?",
        "UPDATE record SET session_id = CAST(x'ff' AS TEXT) WHERE id = ?",
        "UPDATE record SET event_ms = 9223372036854775807 WHERE id = ?",
        "UPDATE record SET event_ms = -9223372036854775808 WHERE id = ?",
        "UPDATE record SET slot = 99999999999 WHERE id = ?",
        "UPDATE content SET seal = 1.5 WHERE id = ?",
    ],
)
def test_one_damaged_row_does_not_keep_the_others_from_being_found(
    damage: str, tmp_path: Path
) -> None:
    """Every text is read for the index, so one that cannot be read would end every recall."""
    with spector.open(tmp_path / "mind", embedder=None, dim=8, clock=ManualClock(NOW)) as memory:
        rows = [
            {"text": f"guitar number{n}", "vector": _vector(n), "session_id": "s", "role": "user"}
            for n in range(300)
        ]
        ids = [record.id for record in memory.remember_many(rows)]
    shutil.rmtree(tmp_path / "mind" / "lexical", ignore_errors=True)
    sql(tmp_path / "mind", damage, given=(ids[150],))
    with spector.open(tmp_path / "mind", embedder=None, clock=ManualClock(NOW)) as memory:
        assert memory.recall("number5", vector=_vector(5), k=1)[0].id == ids[5]
        store = memory._parts.store
        with store.snapshot() as view:
            found = Words(store).at(view)
            rows, _ = found.best(cue_terms("guitar"), k=500)
            assert set(found.ids(rows).tolist()) >= {*ids} - {ids[150]}


def test_a_damaged_page_costs_the_memories_on_it_their_words_and_no_more(tmp_path: Path) -> None:
    def turned(n: int) -> np.ndarray:
        return np.array([np.cos(n / 200), np.sin(n / 200), 0, 0, 0, 0, 0, 0], np.float32)

    with spector.open(tmp_path / "mind", embedder=None, dim=8, clock=ManualClock(NOW)) as memory:
        rows = [{"text": f"guitar number{n}.", "vector": turned(n)} for n in range(600)]
        ids = [record.id for record in memory.remember_many(rows)]
    shutil.rmtree(tmp_path / "mind" / "lexical", ignore_errors=True)
    catalog = tmp_path / "mind" / "catalog.db"
    raw = bytearray(catalog.read_bytes())
    page = raw.index(b"guitar number300.") // 4096 * 4096
    lost = [n for n in range(600) if f"guitar number{n}.".encode() in raw[page : page + 4096]]
    raw[page] = 0xFF  # no kind of page
    catalog.write_bytes(raw)
    with spector.open(tmp_path / "mind", embedder=None, clock=ManualClock(NOW)) as memory:
        store = memory._parts.store
        with store.snapshot() as view:
            found = Words(store).at(view)
            rows_found, _ = found.best(cue_terms("guitar"), k=1000)
            assert sorted(found.ids(rows_found).tolist()) == sorted({*ids} - {ids[n] for n in lost})
        for cue in (lost[0] - 4, lost[-1] + 4):  # among the 40 best are some of the page
            assert memory.recall(f"number{cue}", vector=turned(cue), k=1)[0].id == ids[cue]
        with pytest.raises(spector.CatalogCorruptError):
            memory.recall(f"number{lost[0]}", vector=turned(lost[0]), k=1)
