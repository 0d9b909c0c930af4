"""Input that behaves like memories: real sentence embeddings, tiled with noise to any size.

Pure Gaussian vectors are all equally far from one another, which flatters anything that prunes and
punishes anything that ranks. So the base is real turns of conversation, embedded by the default
embedder; record i is turn ``i mod n`` plus Gaussian noise, renormalised. Everything is seeded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.machine import REPO

SEED: Final = 20_261_121
#: length of the noise added to a unit vector: a copy keeps a cosine of about 0.93 to its original
NOISE: Final = 0.4
#: copies carry one of these, so a tag selects 1 % of any store
TOPICS: Final = 100
#: the instant at which all benchmark stores live
NOW: Final = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
#: an agent that remembers this much a day spreads a million memories over 400 daily partitions
RECORDS_PER_DAY: Final = 2500
_CHUNK: Final = 10_000
_SAMPLE: Final = REPO / "spector" / "cli" / "data" / "sample_conversation.jsonl"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Real turns and cues with their embeddings, and any number of noisy copies of the turns."""

    source: str
    texts: tuple[str, ...]
    speakers: tuple[str, ...]
    base: NDArray[np.float32]
    cue_texts: tuple[str, ...]
    cues: NDArray[np.float32]

    @property
    def dim(self) -> int:
        return int(self.base.shape[1])

    def vectors(self, start: int, stop: int) -> NDArray[np.float32]:
        """Unit vectors (stop - start, dim) float32 of records start..stop; a pure function."""
        parts = []
        for chunk in range(start // _CHUNK, -(-stop // _CHUNK)):
            first = chunk * _CHUNK
            rng = np.random.default_rng([SEED, chunk])
            noise = rng.standard_normal((_CHUNK, self.dim), dtype=np.float32)
            rows = self.base[np.arange(first, first + _CHUNK) % len(self.base)]
            rows = rows + noise * np.float32(NOISE / np.sqrt(self.dim))
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            parts.append(rows[max(start - first, 0) : stop - first])
        return np.concatenate(parts) if parts else np.zeros((0, self.dim), np.float32)

    def records(self, start: int, stop: int, total: int) -> list[dict[str, Any]]:
        """Keywords of ``remember`` for records start..stop of ``total``, oldest first."""
        vectors = self.vectors(start, stop)
        return [
            self._record(i, vector, total)
            for i, vector in zip(range(start, stop), vectors, strict=True)
        ]

    def _record(self, i: int, vector: NDArray[np.float32], total: int) -> dict[str, Any]:
        turn = i % len(self.texts)
        age = timedelta(days=(total - i) / RECORDS_PER_DAY)
        return {
            "text": f"{self.texts[turn]} [{reference(i)}]",
            "vector": vector,
            "tags": [topic(i), "chat"],
            "event_time": NOW - age,
            "importance": ((i * 7919) % 1000) / 1000,
            "metadata": {"speaker": self.speakers[turn], "turn": i},
        }

    def cue(self, i: int) -> tuple[str, NDArray[np.float32]]:
        at = i % len(self.cue_texts)
        return self.cue_texts[at], self.cues[at]


def topic(i: int) -> str:
    """The tag of record i; multiplied so that neighbours in time differ."""
    return f"topic-{(i * 37) % TOPICS:02d}"


def reference(i: int) -> str:
    """A token that occurs in one record only, as ticket numbers do."""
    return f"ref{i:07d}"


def data_root() -> Path:
    """The folder of the public sets: ``SPECTOR_DATA``, else beside the repository."""
    return Path(os.environ.get("SPECTOR_DATA") or REPO.parent / "shared" / "data")


def json_lines(path: Path) -> list[Any]:
    """What a file says that has one value a line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def batches(total: int, size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, total, size):
        yield start, min(start + size, total)


def load_corpus() -> Corpus:
    """The LoCoMo turns and questions when present, else the bundled sample conversation."""
    from bench.vectors import Memoised
    from spector.providers import MiniLMEmbedder

    source, turns, cues = _locomo() or _sample()
    texts = [text for text, _ in turns]
    embedded = Memoised(MiniLMEmbedder()).embed(texts + cues)
    return Corpus(
        source=source,
        texts=tuple(texts),
        speakers=tuple(speaker for _, speaker in turns),
        base=embedded[: len(texts)],
        cue_texts=tuple(cues),
        cues=embedded[len(texts) :],
    )


def _locomo() -> tuple[str, list[tuple[str, str]], list[str]] | None:
    path = data_root() / "locomo" / "locomo_dev.json"
    if not path.is_file():
        return None
    turns: list[tuple[str, str]] = []
    cues: list[str] = []
    for dialogue in json.loads(path.read_text(encoding="utf-8")):
        for name, session in dialogue["conversation"].items():
            if isinstance(session, list) and name.startswith("session_"):
                turns += [(turn["text"], turn["speaker"]) for turn in session if turn["text"]]
        cues += [str(question["question"]) for question in dialogue["qa"]]
    return f"LoCoMo, {len(turns)} turns and {len(cues)} questions", turns, cues


def _sample() -> tuple[str, list[tuple[str, str]], list[str]]:
    """Every fifth turn of the bundled conversation serves as a cue and is not stored."""
    pairs = [(line["content"], line.get("role", "user")) for line in json_lines(_SAMPLE)]
    turns = [pair for place, pair in enumerate(pairs) if place % 5]
    cues = [text for text, _ in pairs[::5]]
    return f"bundled sample, {len(turns)} turns and {len(cues)} cues", turns, cues
