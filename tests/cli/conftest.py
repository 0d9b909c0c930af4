"""The command line, run in this process with a fast embedder in place of the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.cli import options
from spector.cli.main import main
from spector.clock import ManualClock
from tests.fakes import FakeEmbedder


@dataclass(frozen=True)
class Result:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def fake_model(monkeypatch: pytest.MonkeyPatch, clock: ManualClock) -> None:
    """``spector.open`` with a fake in place of the default model, and time standing still."""
    real_open, real_reembed = spector.open, spector.reembed
    models = {"default": FakeEmbedder(dim=32), "other": FakeEmbedder(dim=48, seed=1)}

    def fake_open(path: str, *, embedder: Any = "default", **options: Any) -> Any:
        options = {"clock": clock, **options}
        return real_open(path, embedder=models.get(embedder, embedder), **options)

    def fake_reembed(path: str, embedder: Any = "default", **options: Any) -> int:
        return real_reembed(path, models.get(embedder, embedder), **options)

    monkeypatch.setattr(spector, "open", fake_open)
    monkeypatch.setattr(spector, "reembed", fake_reembed)


@pytest.fixture(autouse=True)
def _no_long_wait(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command waits for another writer only in the test that says so."""
    if not request.node.get_closest_marker("waits"):
        monkeypatch.setattr(options, "_WAIT_S", 0.05)


@pytest.fixture
def run(
    fake_model: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run a command line and collect its exit code and output."""
    monkeypatch.delenv("COLUMNS", raising=False)  # may be set where the tests run

    def command(*argv: object) -> Result:
        capsys.readouterr()
        code = main([str(part) for part in argv])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return command


LINES = [
    {
        "text": "Deploys happen on Tuesday mornings",
        "tags": ["deploy"],
        "importance": 0.9,
        "event_time": "2026-09-07T08:00:00Z",
        "metadata": {"team": "core"},
    },
    {
        "text": "The cat is called Quokka",
        "tags": ["family"],
        "user_id": "maya",
        "event_time": "2026-09-08T08:00:00Z",
    },
    {
        "text": "Rollback with the command revert",
        "tags": ["deploy", "ops"],
        "tier": "procedural",
        "event_time": "2026-09-09T08:00:00Z",
        "pinned": True,
    },
]


@pytest.fixture
def filled(run: Run, tmp_path: Path) -> Path:
    """A store with three memories, made by the command itself."""
    source = tmp_path / "lines.jsonl"
    source.write_text("\n".join(map(json.dumps, LINES)) + "\n")
    path = tmp_path / "store"
    result = run("import", path, source, "--scopes-from-message")
    assert result.code == 0, result.err
    return path
