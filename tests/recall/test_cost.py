"""What a recall by vector costs, in counts that depend on no load.

Mechanism: of a small store the scan is a tenth of a recall; the rest is calls of Python and
statements of SQL. Damage: each feature adds a few, and within two days a recall was a quarter
slower, which no test of answers shows. Guard: the statements are counted exactly, the calls with
little room. What saves a statement is kept with the snapshot, so it must follow each commit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spector import ManualClock, Memory, MiniLMEmbedder
from spector.search import features
from tests.api.helpers import own_vectors, vector, vectors

#: BEGIN, the counters, the rows of the hits, COMMIT
STATEMENTS = 4
#: calls of Python of a recall of ten hits, and a little room
CALLS = 335


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """Forty memories on disk, recalled often enough that nothing is made for the first time."""
    with own_vectors(tmp_path / "mind") as opened:
        made = vectors(40, seed=5)
        opened.remember_many([{"text": f"note {n}", "vector": made[n]} for n in range(40)])
        opened.checkpoint()
        for _ in range(3):
            opened.recall(vector=vector(1), k=10)
        yield opened


def statements(memory: Memory, seed: int = 1) -> list[str]:
    """What a recall asks of SQLite, by the connections that lie ready for it."""
    out: list[str] = []
    pool = memory._parts.store.catalog._pool
    assert pool, "a recall leaves its connection behind"
    for connection in pool:
        connection.set_trace_callback(out.append)
    assert len(memory.recall(vector=vector(seed), k=10)) == 10
    for connection in pool:
        connection.set_trace_callback(None)
    return out


def test_a_recall_by_vector_asks_four_statements(memory: Memory) -> None:
    assert len(statements(memory)) == STATEMENTS, statements(memory)
    memory.remember("one more", vector=vector(7))
    statements(memory)  # what a commit may have changed is asked once
    assert len(statements(memory)) == STATEMENTS


def test_a_recall_after_a_write_mixes_few_vectors_anew(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: lengths of vectors that are mixed with those of the turns around are kept by
    row. Damage: without that, the first recall after each write read the vectors of a whole
    store: a quarter of the time of an agent's turn at 10,000 memories."""
    mixed: list[int] = []
    norms_at = features._norms_at

    def spied(snap: Any, table: Any, some: NDArray[np.int64], share: float) -> Any:
        mixed.append(len(some))
        return norms_at(snap, table, some, share)

    monkeypatch.setattr(features, "_norms_at", spied)
    memory.recall("a note", vector=vector(1))
    assert mixed == [40]
    memory.remember("one more", vector=vector(7))
    memory.recall("a note", vector=vector(1))
    assert mixed == [40, 1]


def test_a_recall_by_vector_makes_few_calls(memory: Memory) -> None:
    calls: dict[str, int] = {}

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            calls[frame.f_code.co_qualname] = calls.get(frame.f_code.co_qualname, 0) + 1

    sys.setprofile(seen)
    try:
        memory.recall(vector=vector(2), k=10)
    finally:
        sys.setprofile(None)
    most = sorted(calls.items(), key=lambda each: -each[1])[:12]
    assert sum(calls.values()) <= CALLS, (sum(calls.values()), most)


# -- What storing vectors as int8 costs: nothing that a user of real embeddings could notice -------


@lru_cache(maxsize=1)
def conversations(path: Path) -> tuple[list[str], list[str]]:
    """Turns and questions of LoCoMo, each text once, in the order of the file."""
    samples: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    turns, questions = {}, {}
    for sample in samples:
        conversation = sample["conversation"]
        for key, session in conversation.items():
            if key.startswith("session_") and isinstance(session, list):
                turns.update(dict.fromkeys(f"{t['speaker']}: {t['text']}" for t in session))
        questions.update(dict.fromkeys(str(entry["question"]) for entry in sample["qa"]))
    return list(turns), list(questions)


def recall_at_10(stored: NDArray[np.float32], cues: NDArray[np.float32]) -> float:
    """Share of the ten nearest by float32 cosine that a recall by similarity returns."""
    found = 0
    with own_vectors(clock=ManualClock(0), dim=stored.shape[1]) as memory:
        made = memory.remember_many([{"text": f"n {n}", "vector": v} for n, v in enumerate(stored)])
        order = {record.id: n for n, record in enumerate(made)}
        for cue, scores in zip(cues, cues @ stored.T, strict=True):
            truth = set(np.argsort(-scores, kind="stable")[:10].tolist())
            hits = memory.recall(vector=cue, k=10, profile="similarity", lexical=False)
            found += len(truth & {order[hit.id] for hit in hits})
    return found / (10 * len(cues))


def measured(data_dir: Path, turns: int, questions: int) -> float:
    path = data_dir / "locomo" / "locomo_dev.json"
    if not path.exists():
        pytest.skip(f"no {path}")
    texts, cues = conversations(path)
    # evenly over all conversations, so that neighbours of one topic are among them
    texts = texts[:: max(1, len(texts) // turns)][:turns]
    cues = cues[:: max(1, len(cues) // questions)][:questions]
    embedder = MiniLMEmbedder()
    return recall_at_10(embedder.embed(texts), embedder.embed(cues))


@pytest.mark.needs_data
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_int8_finds_the_same_turns_as_float32_on_all_of_them(data_dir: Path) -> None:
    assert measured(data_dir, 1_000_000, 500) >= 0.99


@pytest.mark.parametrize("dim", [8, 384, 1536])
def test_int8_finds_what_float32_finds_among_clustered_vectors(dim: int) -> None:
    centres = np.repeat(vectors(40, seed=1, dim=dim), 25, axis=0)
    stored = centres + 0.8 * vectors(1000, seed=2, dim=dim)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    cues = stored[::20] + 0.4 * vectors(50, seed=3, dim=dim)
    assert recall_at_10(stored, cues.astype(np.float32)) >= 0.97
