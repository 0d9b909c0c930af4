"""Exports as they are compared: ids by the order in which they are met, without recorded_at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import spector
from spector import Memory
from tests.fakes import FakeEmbedder

#: keys whose integers are ids of memories
_IDS = frozenset(
    {"id", "ids", "target", "concept_id", "nearest_id", "parents", "supersedes", "superseded_by"}
)

#: of these, lines may name memories that were forgotten since
_VERSIONS = frozenset({"parents", "supersedes", "superseded_by"})


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def exported(memory: Memory, path: Path, **selection: Any) -> list[dict[str, Any]]:
    memory.export(path, overwrite=True, **selection)
    return lines_of(path)


def normal(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines with ids as their ordinals, and without the time at which they were recorded."""
    order = {line["id"]: n for n, line in enumerate(each for each in lines if "id" in each)}
    out = [_renamed(line, order, "") for line in lines]
    for line in out:
        line.pop("recorded_at", None)
    return out


def _renamed(value: Any, order: dict[int, int], key: str) -> Any:
    """A value with ordinals for ids; a version that was forgotten has none, and arrives nowhere."""
    if key in _VERSIONS and isinstance(value, list):
        return [order[each] for each in value if each in order]
    if isinstance(value, dict):
        return {name: _renamed(each, order, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each, order, key) for each in value]
    return order[value] if key in _IDS and type(value) is int else value


def travelled(lines: list[dict[str, Any]], path: Path, **opened: Any) -> Memory:
    """A new store with what lines say."""
    path.mkdir()
    file = path / "in.jsonl"
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    file.write_text(text, encoding="utf-8")
    memory = spector.open(path / "mind", embedder=FakeEmbedder(), **opened)
    memory.import_(file)
    return memory
