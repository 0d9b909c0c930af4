"""Vectors of a set's items and cues, kept on disk because embedding a set takes minutes.

A folder of the model holds, for each set and part, ``<set>.<part>.npy`` (n, dim) float32 and
``<set>.<part>.json``: the embedder's fingerprint, the ids in the order of the rows, and a hash of
each text, never a text. A vector whose text and embedder are unchanged is never made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from bench.recall.shape import DataSet, Item
from spector.providers import Embedder

Matrix = NDArray[np.float32]
Row = NDArray[np.float32]
#: texts embedded between two steps of the bar
_SLAB: Final = 32
#: slabs between two savings of what is done
_SAVE_EVERY: Final = 8
_PARTIAL: Final = ".partial"
#: how a text is put before the embedder; the name is part of the file's name
TEMPLATES: Final[dict[str, Callable[[Item], str]]] = {
    "items": lambda item: f"{item.speaker}: {item.text}" if _is_name(item) else item.text,
    "plain": lambda item: item.text,
    "dated": lambda item: " ".join(
        [
            *([f"[{item.time:%d %B %Y}]"] if item.time else []),
            *([f"{item.speaker}:"] if _is_name(item) else []),
            item.text,
        ]
    ),
}


@dataclass(frozen=True, slots=True)
class Vectors:
    """Unit rows for the texts of each store and for each cue, and what made them."""

    items: dict[str, Matrix]
    cues: dict[str, Row]
    embedder: Embedder | None = None


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


def vectors_of(
    data: DataSet,
    embedder: Embedder,
    folder: Path,
    template: str = "items",
    by_parts: bool = False,
) -> Vectors:
    """The vectors of a set, from disk as far as they are there; ``by_parts``: of the parts of its
    items."""
    form = TEMPLATES[template]
    told = {store.name: store.texts(by_parts) for store in data.stores}
    listed = [(f"{name}/{item.id}", form(item)) for name, items in told.items() for item in items]
    divided = by_parts and any(item.parts for store in data.stores for item in store.items)
    part = f"{template}-parts" if divided else template
    rows = _cached(folder, f"{data.name}.{part}", listed, embedder)
    cues = _cached(
        folder, f"{data.name}.cues", [(each.id, each.cue) for each in data.questions], embedder
    )
    items, at = {}, 0
    for name, texts in told.items():
        items[name] = rows[at : at + len(texts)]
        at += len(texts)
    asked = {each.id: row for each, row in zip(data.questions, cues, strict=True)}
    return Vectors(items, asked, embedder)


def no_vectors(data: DataSet) -> Vectors:
    """In the place of vectors for arms that read none: rows of one zero."""
    return Vectors(
        {store.name: np.zeros((len(store.items), 1), np.float32) for store in data.stores},
        {question.id: np.zeros(1, np.float32) for question in data.questions},
    )


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8")).digest()[:16]


def _is_name(item: Item) -> bool:
    """A role says nothing about who spoke."""
    return item.speaker not in ("", "user", "assistant")


def _cached(
    folder: Path, name: str, listed: Sequence[tuple[str, str]], embedder: Embedder
) -> Matrix:
    if not listed:
        return np.zeros((0, embedder.dim), dtype=np.float32)
    place = folder / embedder.model_id
    hashes = [hashlib.sha256(text.encode("utf-8")).hexdigest()[:32] for _, text in listed]
    about = {
        "fingerprint": embedder.fingerprint,
        "ids": [each for each, _ in listed],
        "hashes": hashes,
    }
    table, index = _files(place, name)
    if index.is_file() and json.loads(index.read_text(encoding="utf-8")) == about:
        whole: Matrix = np.load(table, allow_pickle=False)
        if len(whole) == len(hashes):
            return whole
    known = _known(place, embedder.fingerprint)
    texts = {h: text for h, (_, text) in zip(hashes, listed, strict=True) if h not in known}
    _embed(texts, known, place, name, embedder)
    rows: Matrix = np.stack([known[each] for each in hashes])
    _save(place, name, rows, about)
    for path in _files(place, f"{name}{_PARTIAL}"):
        path.unlink(missing_ok=True)
    return rows


def _embed(
    texts: dict[str, str], known: dict[str, Row], place: Path, name: str, embedder: Embedder
) -> None:
    """Embed what is missing, shortest first; what is done is kept when the run is cut short."""
    missing = sorted(texts, key=lambda each: len(texts[each]))
    bar = tqdm(total=len(missing), desc=f"embedding {name}", unit="text", disable=None)
    for start in range(0, len(missing), _SLAB):
        part = missing[start : start + _SLAB]
        known.update(zip(part, embedder.embed([texts[each] for each in part]), strict=True))
        bar.update(len(part))
        done = missing[: start + len(part)]
        if start // _SLAB % _SAVE_EVERY == _SAVE_EVERY - 1 and len(done) < len(missing):
            about = {"fingerprint": embedder.fingerprint, "ids": [], "hashes": done}
            _save(place, f"{name}{_PARTIAL}", np.stack([known[each] for each in done]), about)
    bar.close()


def _known(place: Path, fingerprint: str) -> dict[str, Row]:
    """Every vector of the folder by the hash of its text: sets and templates share texts."""
    found: dict[str, Row] = {}
    for index in place.glob("*.json"):
        about = json.loads(index.read_text(encoding="utf-8"))
        rows = np.load(index.with_suffix(".npy"), allow_pickle=False)
        # the two files are replaced one after the other, and a run may have ended in between
        if about["fingerprint"] == fingerprint and len(rows) == len(about["hashes"]):
            found.update(zip(about["hashes"], rows, strict=True))
    return found


def _files(place: Path, name: str) -> tuple[Path, Path]:
    return place / f"{name}.npy", place / f"{name}.json"


def _save(place: Path, name: str, rows: Matrix, about: Mapping[str, object]) -> None:
    """Each file is written beside its place and then moved: another run may be reading."""
    place.mkdir(parents=True, exist_ok=True)
    table, index = _files(place, name)
    unfinished = table.with_suffix(f".{os.getpid()}.unfinished")
    with unfinished.open("wb") as file:
        np.save(file, rows, allow_pickle=False)
    unfinished.replace(table)
    unfinished.write_text(json.dumps(about), encoding="utf-8")
    unfinished.replace(index)
