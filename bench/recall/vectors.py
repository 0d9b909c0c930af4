"""Vectors kept on disk by embedder and text, because embedding a set takes minutes."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from spector.providers import Embedder

Matrix = NDArray[np.float32]
Row = NDArray[np.float32]
#: texts embedded between two steps of the bar
_SLAB: Final = 32


class Shelf:
    """Vectors on disk by embedder and text, for texts that only the product knows it will embed.

    One SQLite file in the folder, which any number of runs read and write. It holds hashes of
    texts, never a text.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(folder / "vectors.sqlite", timeout=60.0)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS vectors (model TEXT, hash BLOB, row BLOB,"
            " PRIMARY KEY (model, hash)) WITHOUT ROWID"
        )

    def find(self, fingerprint: str, text: str) -> Row | None:
        """The vector of a text, if it was ever made."""
        found = self._db.execute(
            "SELECT row FROM vectors WHERE model = ? AND hash = ?", (fingerprint, _hash(text))
        ).fetchone()
        return None if found is None else np.frombuffer(found[0], np.float32)

    def put(self, fingerprint: str, texts: Sequence[str], rows: Matrix) -> None:
        told = [
            (fingerprint, _hash(text), row.astype(np.float32).tobytes())
            for text, row in zip(texts, rows, strict=True)
        ]
        with self._db:
            self._db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", told)


class Memoised:
    """An embedder that makes no vector twice: every store of every arm asks for the same few.

    With a shelf none is made twice on this machine, in whatever process.
    """

    def __init__(self, embedder: Embedder, shelf: Shelf | None = None) -> None:
        self._embedder, self._shelf = embedder, shelf
        self._known: dict[str, Row] = {}
        self.model_id, self.dim = embedder.model_id, embedder.dim
        self.fingerprint = embedder.fingerprint

    def embed(self, texts: Sequence[str]) -> Matrix:
        missing = self._missing(texts)
        if missing:
            self._make(missing)
        rows: Matrix = np.stack([self._known[text] for text in texts])
        return rows

    def keep(self, texts: Iterable[str]) -> None:
        """Make what is missing, shortest first, with a bar; what is done is kept."""
        missing = sorted(self._missing(texts), key=len)
        bar = tqdm(total=len(missing), desc="embedding", unit="text", disable=None)
        for start in range(0, len(missing), _SLAB):
            part = missing[start : start + _SLAB]
            self._make(part)
            bar.update(len(part))
        bar.close()

    def _missing(self, texts: Iterable[str]) -> list[str]:
        """The texts that are neither known nor on the shelf, each once."""
        out = []
        for text in dict.fromkeys(texts):
            if text in self._known:
                continue
            found = None if self._shelf is None else self._shelf.find(self.fingerprint, text)
            if found is None:
                out.append(text)
            else:
                self._known[text] = found
        return out

    def _make(self, texts: Sequence[str]) -> None:
        rows = self._embedder.embed(texts)
        self._known.update(zip(texts, rows, strict=True))
        if self._shelf is not None:
            self._shelf.put(self.fingerprint, texts, rows)


def default_folder() -> Path:
    """Where vectors are kept: ``SPECTOR_BENCH_CACHE``, else the user's cache."""
    named = os.environ.get("SPECTOR_BENCH_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "spector-bench"


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8")).digest()[:16]
