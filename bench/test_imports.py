"""Imports of files: what a message costs, in small files and in large ones.

Embedding is left out, as its time is the model's: vectors are drawn from the digest of a text.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.measure import Row

_DIM = 64
_START_S = 1_700_000_000


class Digests:
    """An embedder without a model: texts have vectors, and equal texts the same."""

    dim = _DIM
    model_id = "digests"
    fingerprint = "digests of texts, 64"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        drawn = [hashlib.blake2b(each.encode(), digest_size=_DIM).digest() for each in texts]
        out = np.frombuffer(b"".join(drawn), np.uint8).reshape(-1, _DIM).astype(np.float32) - 127.5
        norms: NDArray[np.float32] = np.sqrt(np.square(out).sum(axis=1, keepdims=True))
        return np.asarray(out / norms, np.float32)


def _lines(count: int) -> Iterator[str]:
    for n in range(count):
        yield f"Pump {n} in hall {n % 17} reads {n % 9} bar; Ira checks it before {n % 12} o'clock."


def chat(folder: Path, count: int) -> Path:
    """An export of ChatGPT: conversations of 50 messages."""
    path, talks = folder / "conversations.json", []
    texts = list(_lines(count))
    for start in range(0, count, 50):
        nodes, parent = {}, None
        for n, text in enumerate(texts[start : start + 50], start):
            nodes[str(n)] = {
                "id": str(n),
                "parent": parent,
                "children": [],
                "message": {
                    "id": f"m{n}",
                    "author": {"role": "assistant" if n % 2 else "user"},
                    "create_time": _START_S + n,
                    "content": {"content_type": "text", "parts": [text]},
                },
            }
            parent = str(n)
        talks.append(
            {
                "title": f"Talk {start}",
                "conversation_id": f"c{start}",
                "mapping": nodes,
                "current_node": parent,
                "create_time": _START_S + start,
            }
        )
    path.write_text(json.dumps(talks), encoding="utf-8")
    return path


def notes(folder: Path, count: int) -> Path:
    """A vault: each note has ten sections, and each of these is a memory."""
    texts = list(_lines(count))
    for start in range(0, count, 10):
        parts = [f"## Part {n}\n\n{text}\n" for n, text in enumerate(texts[start : start + 10])]
        at = folder / "vault" / f"{start // 1000:03}"
        at.mkdir(parents=True, exist_ok=True)
        matter = "---\ntags: [pump]\ndate: 2024-05-03\n---\n"
        (at / f"Note {start}.md").write_text(matter + "\n".join(parts), encoding="utf-8")
    return folder / "vault"


def table(folder: Path, count: int) -> Path:
    """A table with a speaker and a time in each row."""
    path = folder / "table.csv"
    rows = (f'{n},Ira,{_START_S + n},"{text}"\n' for n, text in enumerate(_lines(count)))
    path.write_text("id,speaker,timestamp,text\n" + "".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("size", [1_000, 10_000, 100_000])
@pytest.mark.parametrize("write", [chat, notes, table])
def test_import_of_files(
    row: Row, full: bool, scratch: Path, pinned: int, write: Callable[[Path, int], Path], size: int
) -> None:
    """Read, checked and stored; the two passes over the file are both in it."""
    if size > 10_000 and not full:
        pytest.skip("a full run only")
    import spector
    from spector.importers import import_files

    folder = scratch / f"import-{write.__name__}-{size}"
    folder.mkdir()
    path = write(folder, size)
    made: list[Any] = []

    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        memory = spector.open(
            folder / f"store{len(made)}", embedder=Digests(), durability="relaxed"
        )
        made.append(memory)
        return (memory,), {}

    row.rounds(
        lambda memory: import_files(memory, path),
        setup=fresh,
        rounds=3 if size <= 1_000 or (full and size <= 10_000) else 1,
        id=f"import/import.{write.__name__}.{size}",
        title={
            "chat": "an export of ChatGPT",
            "notes": "a vault of Markdown",
            "table": "a table (CSV)",
        }[write.__name__],
        unit="messages/s",
        work=size,
        params={"records": size, "dim": _DIM, "threads": 1},
    )
    stored = [len(memory) for memory in made]
    for memory in made:
        memory.close()
    shutil.rmtree(folder)
    assert set(stored) == {size}
