"""Vectors kept on disk by embedder and text, because embedding a set takes minutes."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spector.providers import MiniLMEmbedder

Matrix = NDArray[np.float32]
Row = NDArray[np.float32]


class Memoised:
    """An embedder that makes no vector of a text twice on this machine, in whatever process.

    One SQLite file in `default_folder`, which any number of runs read and write. It holds hashes of
    texts, never a text. Vectors of words in their context are not kept.
    """

    def __init__(self, embedder: MiniLMEmbedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Row] = {}
        self.model_id, self.dim = embedder.model_id, embedder.dim
        self.fingerprint, self.word_vectors = embedder.fingerprint, embedder.word_vectors
        default_folder().mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(default_folder() / "vectors.sqlite", timeout=60.0)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS vectors (model TEXT, hash BLOB, row BLOB,"
            " PRIMARY KEY (model, hash)) WITHOUT ROWID"
        )

    def embed(self, texts: Sequence[str]) -> Matrix:
        missing = [each for each in dict.fromkeys(texts) if not self._has(each)]
        if missing:
            rows = self._embedder.embed(missing)
            self._known.update(zip(missing, rows, strict=True))
            told = [
                (self.fingerprint, _hash(text), row.astype(np.float32).tobytes())
                for text, row in zip(missing, rows, strict=True)
            ]
            with self._db:
                self._db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", told)
        found: Matrix = np.stack([self._known[text] for text in texts])
        return found

    def _has(self, text: str) -> bool:
        if text not in self._known:
            found = self._db.execute(
                "SELECT row FROM vectors WHERE model = ? AND hash = ?",
                (self.fingerprint, _hash(text)),
            ).fetchone()
            if found is None:
                return False
            self._known[text] = np.frombuffer(found[0], np.float32)
        return True


def default_folder() -> Path:
    """Where vectors are kept: ``SPECTOR_BENCH_CACHE``, else the user's cache."""
    named = os.environ.get("SPECTOR_BENCH_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "spector-bench"


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8")).digest()[:16]
