"""What the ways in cost: awaiting, MCP, and a namespace as a gate, each beside the bare call."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import math
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

import spector
from bench.conftest import FULL
from bench.data import Corpus
from bench.machine import REPO
from bench.measure import Row, at_least, at_most, seconds_of
from bench.stores import NAMESPACE, Stores, open_store

SIZE: Final = 100_000 if FULL else 10_000
#: recalls at once, and recalls together
_AT_ONCE, _RECALLS = 60, 600
_CALLS: Final = 200
_PAIRS: Final = 2000
#: memories of the store that a server serves
_SPOKEN: Final = 1_000


@pytest.fixture(scope="module")
def path(stores: Stores) -> Path:
    return stores.get(SIZE, named=True).path


@pytest.fixture(scope="module")
def spoken(scratch: Path, corpus: Corpus) -> Path:
    """A store with the vectors of the offline model, as a server opens it."""
    where = scratch / "spoken"
    with spector.open(where) as memory:
        memory.remember_many(list(corpus.texts[:_SPOKEN]))
    return where


def _info(corpus: Corpus, name: str, title: str, **more: Any) -> dict[str, Any]:
    about = {"records": SIZE, "dim": corpus.dim, "threads": 1}
    return {"id": f"reach/reach.{name}", "title": title, "params": about, **more}


def test_await(row: Row, corpus: Corpus, path: Path) -> None:
    late: list[float] = []
    cues = [corpus.cues[n % len(corpus.cues)] for n in range(_RECALLS)]
    plain: dict[str, Any] = {"embedder": None, "mode": "r"}

    async def run() -> float:
        async with spector.open_async(path, workers=2, **plain) as memory:
            room = asyncio.Semaphore(_AT_ONCE)

            async def one(cue: Any) -> None:
                async with room:
                    await memory.recall(vector=cue)

            async def tick() -> None:
                while True:
                    begun = time.perf_counter()
                    await asyncio.sleep(0.005)
                    late.append(1000 * (time.perf_counter() - begun - 0.005))

            ticking = asyncio.create_task(tick())
            begun = time.perf_counter()
            await asyncio.gather(*map(one, cues))
            ticking.cancel()
            return len(cues) / (time.perf_counter() - begun)

    def pool() -> float:
        with spector.open(path, **plain) as memory, ThreadPoolExecutor(2) as threads:
            begun = time.perf_counter()
            list(threads.map(lambda cue: memory.recall(vector=cue), cues))
            return len(cues) / (time.perf_counter() - begun)

    rates = [(asyncio.run(run()), pool()) for _ in range(3)]
    row.values(
        late,
        **_info(corpus, "await", "a loop is late, with 60 recalls at once"),
        target=at_least(0.95, "of_threads"),
        extra={"of_threads": statistics.median(a / b for a, b in rates)},
    )


class Client:
    """A client of a server on its pipes."""

    def __init__(self, path: Path, *options: str, stdout: int = subprocess.PIPE) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "spector.mcp", str(path), "--read-only", *options],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            cwd=REPO,
        )
        self.connect()
        about = {"clientInfo": {"name": "bench", "version": "1"}, "capabilities": {}}
        self.ask("initialize", {"protocolVersion": "2025-11-25", **about})

    def connect(self) -> None:
        """Nothing to do on pipes."""

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        pipes = self._server.stdin, self._server.stdout
        assert pipes[0] is not None
        assert pipes[1] is not None
        line = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        pipes[0].write(json.dumps(line).encode() + b"\n")
        pipes[0].flush()
        while True:
            answer: dict[str, Any] = json.loads(pipes[1].readline())
            if answer.get("id") == 1:
                return answer

    def recall(self, cue: str) -> None:
        arguments = {"query": cue, "limit": 10}
        answer = self.ask("tools/call", {"name": "recall", "arguments": arguments})
        assert not answer["result"].get("isError"), answer

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(60)


class HttpClient(Client):
    """A client of a server over HTTP, on one connection."""

    def __init__(self, path: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port: int = free.getsockname()[1]
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        super().__init__(path, "--http", str(port), stdout=subprocess.DEVNULL)

    def connect(self) -> None:
        for _ in range(600):
            with contextlib.suppress(OSError):
                self._connection.connect()
                break
            time.sleep(0.1)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._connection.request("POST", "/mcp", json.dumps(message), self._headers)
        found = self._connection.getresponse()
        if session := found.getheader("mcp-session-id"):
            self._headers["Mcp-Session-Id"] = session
        lines = found.read().decode().splitlines()
        return next(
            answer
            for line in lines
            if line.removeprefix("data:").lstrip().startswith("{")
            for answer in [json.loads(line.removeprefix("data:"))]
            if answer.get("id") == 1
        )

    def close(self) -> None:
        self._connection.close()
        self._server.terminate()
        self._server.wait(60)


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_mcp(row: Row, corpus: Corpus, spoken: Path, way: str) -> None:
    pytest.importorskip("mcp", reason='pip install "spector-memory[mcp]"')
    client = (HttpClient if way == "http" else Client)(spoken)
    cues = corpus.cue_texts
    try:
        client.recall(cues[0])
        with spector.open(spoken, mode="r") as memory:
            memory.recall(cues[0])
            pairs = [(_ms(client.recall, cue), _ms(memory.recall, cue)) for cue in cues[:_CALLS]]
    finally:
        client.close()
    row.values(
        [one for one, _ in pairs],
        **_info(
            corpus,
            "mcp" if way == "stdio" else "mcp_http",
            f"recall by MCP over {'HTTP' if way == 'http' else way}, {_SPOKEN:,} memories",
        ),
        extra={"library_ms": statistics.median(other for _, other in pairs)},
    )


def _ms(call: Callable[[Any], object], cue: Any) -> float:
    return 1000 * seconds_of(lambda: call(cue))


@pytest.fixture(scope="module")
def memory(path: Path, corpus: Corpus) -> Iterator[Any]:
    with open_store(path, corpus.dim) as found:
        yield found


def test_namespace(row: Row, corpus: Corpus, memory: Any, pinned: int) -> None:
    """Every memory is in it, so that the scans are equal."""
    vectors = [corpus.cues[n % len(corpus.cues)] for n in range(_CALLS)]

    def gated(vector: Any) -> object:
        return memory.recall(vector=vector, namespace=NAMESPACE[:1], below=True)

    def bare(vector: Any) -> object:
        return memory.recall(vector=vector)

    pairs = [(_ms(gated, each), _ms(bare, each)) for each in vectors]
    row.values(
        [one for one, _ in pairs],
        **_info(corpus, "namespace", "recall by vector below a namespace of all"),
        target=at_most(1.03, "times_bare"),
        extra={"times_bare": statistics.median(a / b for a, b in pairs)},
    )


def test_telemetry(row: Row, corpus: Corpus, path: Path, pinned: int) -> None:
    """A label, and no provider that takes what is counted."""
    pytest.importorskip("opentelemetry", reason='pip install "spector-memory[otel]"')
    plain: dict[str, Any] = {"mode": "r", "durability": "strict"}
    with (
        open_store(path, corpus.dim, **plain) as bare,
        open_store(path, corpus.dim, telemetry="bench", **plain) as traced,
    ):
        cues = [corpus.cues[n % len(corpus.cues)] for n in range(_PAIRS + 20)]
        pairs = [_pair(traced, bare, cue, n % 2 == 0) for n, cue in enumerate(cues)][20:]
    ratios = sorted(a / b for a, b in pairs)
    # of the median, by ranks: its distance from the middle is binomial
    reach = round(1.96 * math.sqrt(len(ratios)) / 2)
    middle = len(ratios) // 2
    row.values(
        [one for one, _ in pairs],
        **_info(corpus, "telemetry", "recall by vector with telemetry, and without a provider"),
        target=at_most(1.02, "low_95"),
        extra={
            "times_bare": ratios[middle],
            "low_95": ratios[middle - reach],
            "high_95": ratios[middle + reach],
        },
    )


def _pair(first: Any, second: Any, cue: Any, in_order: bool) -> tuple[float, float]:
    """Milliseconds of a recall in two memories, which begin in turn."""
    calls = [lambda _, memory=each: memory.recall(vector=cue) for each in (first, second)]
    if in_order:
        return _ms(calls[0], ""), _ms(calls[1], "")
    other = _ms(calls[1], "")
    return _ms(calls[0], ""), other


def test_namespaces(row: Row, corpus: Corpus, memory: Any, pinned: int) -> None:
    row.calls(
        memory.namespaces,
        [()],
        at_most=50,
        budget_s=2,
        **_info(corpus, "namespaces", "list the namespaces"),
        target=at_most(20),
    )
