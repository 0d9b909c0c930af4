"""The command, cut off by real signals at random moments."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import spector
from tests.crash.harness import REPO, scratch

__all__ = ["commands"]

#: how a command ends that a signal has ended; another one was faster
_INTERRUPTED = frozenset({-signal.SIGINT, -signal.SIGTERM, 130, 143})

_TEXTS = ["the heron eats at noon", "the ferry leaves at nine", "the well is dry in August"]


def commands(*, hits: int, seed: int) -> dict[str, Any]:
    """Start commands on a store and interrupt them; JSON-ready counts and faults."""
    rng, counts, faults = random.Random(seed), Counter[str](), list[str]()
    with scratch() as folder:
        model = Path(folder) / "model"
        with spector.open(model, embedder=None, dim=8) as memory:
            kept = {
                record.id: record.text
                for record in memory.remember_many(
                    {"text": text, "vector": [n + 1.0, *[0.5] * 7]} for n, text in enumerate(_TEXTS)
                )
            }
            memory.forget(memory.remember("soon gone", vector=[1.0] * 8).id)
        lines = Path(folder) / "lines.jsonl"
        with spector.open(model, embedder=None, mode="r") as memory:
            memory.export(lines)
        n = 0
        while counts["hits"] < hits:
            n += 1
            root = Path(folder) / "mind"
            shutil.copytree(model, root)
            out = Path(folder) / f"out{n}"
            given = rng.choice(
                [
                    ["import", str(root), str(lines)],
                    ["compact", str(root)],
                    ["reflect", str(root)],
                    ["backup", str(root), str(out)],
                    ["export", str(root), str(out)],
                    ["forget", str(root), str(next(iter(kept)))],
                    ["check", str(root)],
                    ["stats", str(root)],
                ]
            )
            number = rng.choice([signal.SIGINT, signal.SIGTERM])
            code, said = _cut_off(given, rng.random(), number)
            counts[f"exit {code}"] += 1
            counts["hits"] += code in _INTERRUPTED
            if "Traceback" in said:
                faults.append(f"{given[0]} answered {number!r} with a traceback: {said[-400:]}")
            gone = set(kept) if given[0] == "forget" else set()
            faults += [f"{given[0]}: {each}" for each in _faults_of(root, kept, gone)]
            shutil.rmtree(root)
            shutil.rmtree(out, ignore_errors=True)
            with suppress(OSError):
                out.unlink()
    return {
        "hits": counts.pop("hits"),
        "faulty": len(faults),
        "faults": faults[:20],
        "exits": json.dumps(dict(sorted(counts.items()))),
    }


def _cut_off(given: list[str], share: float, number: int) -> tuple[int, str]:
    """The exit code of a command that got a signal once it had begun, and what it said."""
    process = subprocess.Popen(
        [sys.executable, "-m", "spector", *given, *(["--yes"] if given[0] == "forget" else [])],
        cwd=REPO,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    _await_store(process, given[1])
    time.sleep(share * 0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


def _await_store(process: subprocess.Popen[str], root: str) -> None:
    """Return when the process has the store open, or has ended."""
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError):
            for entry in os.scandir(f"/proc/{process.pid}/fd"):
                if os.readlink(entry.path).startswith(root + "/"):
                    return
        time.sleep(0.001)


def _faults_of(root: Path, kept: dict[int, str], gone: set[int]) -> list[str]:
    try:
        with spector.open(root, embedder=None) as memory:
            lost = [
                n
                for n, text in kept.items()
                if n not in gone and (n not in memory or memory.get(n).text != text)
            ]
            report = memory.check()
            memory.remember("afterwards", vector=[1.0] * 8)
    except BaseException as error:
        return [f"opening again: {type(error).__name__}: {error}"]
    return [f"lost {lost}"] * bool(lost) + [str(problem) for problem in report.problems]
