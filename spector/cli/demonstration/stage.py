"""What every step of the demonstration does: print, measure, and note each claim."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spector.cli.output import Console, clean
from spector.clock import ManualClock, to_ms

if TYPE_CHECKING:
    from spector.memory import Memory

__all__ = ["NOW", "Stage", "Step"]

#: the morning after the last session; fixed, so that every run has the same ages and scores
NOW = "2026-10-19T08:00:00Z"


@dataclass(slots=True)
class Step:
    """One heading of the demonstration with its claims."""

    title: str
    elapsed_ms: float = 0.0
    claims: list[tuple[str, bool]] = field(default_factory=list)


class Stage:
    """One store, the steps that were run on it, and what they claimed."""

    def __init__(self, path: Path, embedder: str, console: Console) -> None:
        self._path = path
        self._embedder = embedder
        self._console = console
        self._steps: list[Step] = []
        self._started = time.perf_counter()
        self._clock = ManualClock(to_ms(NOW))
        self._memory: Memory | None = None

    def finish(self, kept: Path | None) -> int:
        """Print the verdict and return the exit code: 0 if no claim failed."""
        claims = [(step.title, text, ok) for step in self._steps for text, ok in step.claims]
        failed = [(title, text) for title, text, ok in claims if not ok]
        elapsed_s = time.perf_counter() - self._started
        self._console.document(
            {
                "ok": not failed,
                "elapsed_s": round(elapsed_s, 3),
                "store": None if kept is None else str(kept),
                "steps": [
                    {
                        "title": step.title,
                        "elapsed_ms": round(step.elapsed_ms, 3),
                        "claims": [{"claim": text, "ok": ok} for text, ok in step.claims],
                    }
                    for step in self._steps
                ],
            }
        )
        say, style = self._console.say, self._console.style
        say()
        if failed:
            say(style(f"{len(failed)} of {len(claims)} claims FAILED:", "bold", "red"))
            for title, text in failed:
                say(f"  {title}: {text}")
        else:
            say(style(f"all {len(claims)} claims passed, {elapsed_s:.1f} s in total", "bold"))
        if kept is not None:
            say(f'the store is at {kept}; try: spector recall {kept} "Who works on Fridays?"')
        return 1 if failed else 0

    def _open(self) -> Memory:
        import spector

        return spector.open(str(self._path), embedder=self._embedder, clock=self._clock)

    @property
    def _open_memory(self) -> Memory:
        assert self._memory is not None, "opened by run()"
        return self._memory

    @contextmanager
    def _step(self, title: str, *cues: str) -> Iterator[Callable[[], Any]]:
        """Print the heading, collect claims, print the time spent in ``timed()`` blocks."""
        step = Step(title)
        self._steps.append(step)
        self._console.say()
        self._console.say(self._console.style(f"{len(self._steps)}. {title}", "bold"))
        for cue in cues:
            self._show(self._console.style(f"> {cue}", "cyan"))
        spent: list[float] = []

        @contextmanager
        def timed() -> Iterator[None]:
            start = time.perf_counter()
            try:
                yield
            finally:
                spent.append((time.perf_counter() - start) * 1000)

        yield timed
        step.elapsed_ms = sum(spent)
        parts = " + ".join(f"{ms:.1f}" for ms in spent)
        remark = ", most of it embedding" if len(self._steps) == 1 else ""
        self._show(self._console.style(f"{parts} ms{remark}", "dim"))

    def _show(self, text: str) -> None:
        self._console.say(f"   {text}")

    def _claim(self, text: str, ok: bool) -> None:
        self._steps[-1].claims.append((text, ok))
        mark, color = ("[ok]", "green") if ok else ("[FAILED]", "red")
        self._show(f"{self._console.style(mark, color)} {text}")

    def _hits(self, hits: Any) -> None:
        room = self._console.width - 19
        for hit in hits:
            text = clean(hit.text)
            short = text if len(text) <= room else text[: room - 3].rstrip() + "..."
            self._show(f"{hit.score:6.3f}  {hit.event_time:%b %d}  {short}")

    def _vector_bytes(self, record_id: int) -> bytes:
        """The stored vector of a record, read from its file."""
        from spector.layout import HEADER_BYTES
        from spector.store.repair import RawStore

        with RawStore(self._path) as raw:
            place = raw.find(record_id)
        assert place is not None, "it was recalled a moment ago"
        with open(self._path / place["file"], "rb") as stream:
            stream.seek(place["offset"] + HEADER_BYTES)
            return stream.read(64)

    def _found_in(self, needle: bytes) -> int:
        """Number of files of the store that contain these bytes."""
        every = [path for path in self._path.rglob("*") if path.is_file()]
        return sum(1 for path in every if needle in path.read_bytes())
