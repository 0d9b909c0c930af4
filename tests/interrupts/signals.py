"""Real signals from another process, at a random moment of a verb.

``python -m tests.interrupts.signals kicker`` is that process: it reads a delay and a signal, waits,
sends it, and says so.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Final

import spector
from tests.crash.harness import REPO, scratch
from tests.fakes import FakeEmbedder
from tests.interrupts.verbs import ENTRIES, READING, WRITING, Scene, copied, faults_of, prepared

__all__ = ["lives"]

#: a verb that is never hit, because it is too short for the other process, is given up for a while
_TRIES = 4


class _Sender:
    """The other process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.interrupts.signals", "kicker", str(os.getpid())],
            cwd=REPO,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def aim(self, delay_s: float, number: int) -> None:
        self._process.stdin.write(f"{delay_s!r} {number}\n")

    def await_sent(self) -> None:
        self._process.stdout.readline()

    def close(self) -> None:
        with suppress(OSError):
            self._process.stdin.close()
        self._process.wait(10)


class _Handler:
    """Raises what Python would raise, while a verb runs."""

    def __init__(self) -> None:
        self.armed = False
        self.raised = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self.armed:
            return
        self.armed, self.raised = False, True
        if number == signal.SIGTERM:
            raise SystemExit(143)
        raise KeyboardInterrupt


#: what a message of the observing verbs is kept with, or not at all
_WHOLE: Final = (
    ("My name is Ada and I live in Kars.", "user is named Ada.", "user lives in Kars."),
    ("Ben works at Acme.", "Ben moved to Izmir.", "Ben lives in Izmir."),
)


def lives(*, hits: int, seed: int, names: Sequence[str] = ()) -> dict[str, Any]:
    """Cut verbs off until so many were hit inside; JSON-ready counts and faults.

    Args:
        names: of the verbs; all by default.
    """
    rng, jobs = random.Random(seed), {**WRITING, **READING, **ENTRIES}
    jobs = {name: jobs[name] for name in names} if names else jobs
    sender, handler = _Sender(), _Handler()
    before = {n: signal.signal(n, handler) for n in (signal.SIGINT, signal.SIGTERM)}
    sys.unraisablehook = _Unraisable()
    counts: Counter[str] = Counter()
    faults: list[str] = []
    try:
        with scratch() as folder:
            model = prepared(Path(folder) / "model")
            lasts = {name: _seconds(model, name, job) for name, job in jobs.items()}
            while counts["hits"] < hits:
                name = rng.choice(list(jobs))
                for _ in range(_TRIES):
                    number = rng.choice([signal.SIGINT, signal.SIGTERM])
                    delay_s = rng.random() * 1.1 * lasts[name]
                    scene = copied(model, Path(folder) / "scene")
                    hit = _one(scene, name, jobs[name], sender, handler, delay_s, number, counts)
                    found = [*faults_of(scene), *_halves(scene)]
                    faults += [f"{name}, {number!r} after {delay_s:.6f} s: {f}" for f in found]
                    shutil.rmtree(scene.folder)
                    if hit:
                        break
    finally:
        for number, old in before.items():
            signal.signal(number, old)
        sender.close()
        lost = sys.unraisablehook.lost  # type: ignore[attr-defined]
        sys.unraisablehook = sys.__unraisablehook__
    return {**counts, "unraisable": lost, "faults": faults[:20], "faulty": len(faults)}


def _halves(scene: Scene) -> Iterator[str]:
    """Messages that were kept without what they state, or the other way round."""
    try:
        memory = scene.opened(mode="r")
    except spector.ModelMismatchError:  # a change of model was made, and not taken back
        memory = spector.open(scene.root, embedder=FakeEmbedder(seed=1), mode="r")
    with memory:
        texts = Counter(each.text for each in memory.records(sorts=("memory", "fact")))
    for message, *rest in _WHOLE:
        counts = [texts[message] > 0, *(texts[each] > 0 for each in rest)]
        if any(counts) and not all(counts):
            yield f"half of {message!r}: {dict(texts)}"


def _one(
    scene: Scene,
    name: str,
    job: Callable[[Scene], object],
    sender: _Sender,
    handler: _Handler,
    delay_s: float,
    number: int,
    counts: Counter[str],
) -> bool:
    """Do a verb once; True when the signal came inside of it."""
    if name not in ENTRIES:
        scene.memory = scene.opened()
    handler.raised = False
    sender.aim(delay_s, number)
    cut = False
    try:
        handler.armed = True
        try:
            job(scene)
        finally:
            handler.armed = False
    except (KeyboardInterrupt, SystemExit):
        cut = True
    sender.await_sent()
    counts["tries"] += 1
    counts["hits"] += cut
    counts["swallowed"] += handler.raised and not cut
    counts[signal.Signals(number).name] += cut
    return cut


def _seconds(model: Scene, name: str, job: Callable[[Scene], object]) -> float:
    """How long a verb takes."""
    scene = copied(model, model.folder.parent / "timed")
    if name not in ENTRIES:
        scene.memory = scene.opened()
    started = time.perf_counter()
    job(scene)
    lasted = time.perf_counter() - started
    for each in [*scene.made, *([scene.memory] if scene.memory is not None else [])]:
        each.close()
    shutil.rmtree(scene.folder)
    return lasted


class _Unraisable:
    """Counts interrupts that came where Python can raise nothing."""

    def __init__(self) -> None:
        self.lost = 0

    def __call__(self, unraisable: Any) -> None:
        self.lost += 1
        if not isinstance(unraisable.exc_value, (KeyboardInterrupt, SystemExit)):
            sys.__unraisablehook__(unraisable)


def _kick(pid: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        delay, number = line.split()
        until = time.perf_counter() + float(delay)
        while (left := until - time.perf_counter()) > 0:
            if left > 0.002:
                time.sleep(left - 0.001)
        os.kill(pid, int(number))
        print("sent", flush=True)


if __name__ == "__main__":
    _kick(int(sys.argv[2]))
