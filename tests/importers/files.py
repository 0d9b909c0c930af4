"""Files that tests of imports write, and what is read of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import spector
from spector.importers import ImportReport, import_files, iter_messages
from spector.importers.detect import READERS
from spector.importers.entries import LeftOut, Options
from spector.importers.sources import SourceFile
from tests.fakes import FakeEmbedder


def written(path: Path, value: Any) -> Path:
    """A text as it is, anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    return path


def lines(path: Path, *entries: Any) -> Path:
    """A line each: a text as it is, anything else as JSON."""
    return written(
        path,
        "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in entries),
    )


def read(path: Path, format: str = "auto", **options: Any) -> list[dict[str, Any]]:
    return list(iter_messages(path, format, **options))


def reasons(path: Path, kind: str) -> list[str]:
    """Why entries of a file are left out, in their order."""
    entries = READERS[kind].read(SourceFile(path), Options())
    return [each.reason for each in entries if isinstance(each, LeftOut)]


def told(messages: list[dict[str, Any]]) -> list[tuple[Any, str]]:
    return [(each["metadata"].get("speaker"), each["text"]) for each in messages]


def opened(path: Path | str = ":memory:", **options: Any) -> spector.Memory:
    return spector.open(path, embedder=FakeEmbedder(dim=16), **options)


def imported(path: Path, **options: Any) -> tuple[ImportReport, list[spector.MemoryRecord]]:
    with opened() as memory:
        return import_files(memory, path, **options), list(memory.records())
