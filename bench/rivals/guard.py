"""A step in its own process, with limits of time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from bench.machine import REPO, one_core, one_thread_environment, python

_POLL_S: Final = 0.1
#: pools that engines would start beside ours; the affinity of the process bounds them anyway
_POOLS: Final = ("RAYON_NUM_THREADS", "LANCE_CPU_THREADS", "TOKIO_WORKER_THREADS")


def run_step(
    arguments: list[str], *, seconds: float, memory_bytes: int, cores: int, log: Path
) -> dict[str, Any]:
    """The step's report, or ``{"reason": ...}`` when it failed or went over a limit.

    Memory is what the process owns; mapped files, which the system takes back, do not count.
    """
    environment = {**os.environ, **one_thread_environment()}
    if cores > 1:
        for name in one_thread_environment():
            environment[name] = str(cores)
    for name in _POOLS:
        environment[name] = str(cores)
    begin = time.monotonic()
    with log.open("w", encoding="utf-8") as errors, one_core() if cores == 1 else nullcontext():
        process = subprocess.Popen(
            python("-m", "bench.rivals.child", *arguments),
            cwd=REPO,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        peak, stopped = _watch(process, begin + seconds, memory_bytes)
        # reports are one short line, so the pipe never fills while nobody reads it
        output = process.stdout.read() if process.stdout else ""
        process.wait()
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if stopped:
        limit = f"{seconds:g} s" if stopped == "time" else f"{memory_bytes / 2**30:.1f} GiB"
        report = {"reason": f"stopped: not done within {limit}"}
    elif lines:
        report = json.loads(lines[-1])
    else:
        said = log.read_text(encoding="utf-8").split("\n")
        report = {"reason": f"failed: {said[-2][:300] if said[1:] else process.returncode}"}
    return {
        **report,
        "peak_bytes": peak,
        "elapsed_s": round(time.monotonic() - begin, 1),
        "load_average": round(os.getloadavg()[0], 2),
    }


def _watch(process: subprocess.Popen[str], ends: float, memory_bytes: int) -> tuple[int, str]:
    """Peak of the memory that the process owns, and what it was stopped for, if it was."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, owned_bytes(process.pid))
        if peak > memory_bytes or time.monotonic() > ends:
            process.kill()
            return peak, "memory" if peak > memory_bytes else "time"
        time.sleep(_POLL_S)
    return peak, ""


def owned_bytes(pid: int) -> int:
    """Resident anonymous and shared memory; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    wanted = [line for line in lines if line.startswith(("RssAnon:", "RssShmem:"))]
    return sum(int(line.split()[1]) * 1024 for line in wanted)
