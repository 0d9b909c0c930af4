"""Runs a scenario in a fresh interpreter, which has no threads and may therefore fork freely.

A scenario is a function of JSON-ready keywords that returns a JSON-ready result. It is named
``module:function`` so that the child can import it.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]


def in_fresh_process(target: str, *, timeout_s: float = 110.0, **kwargs: Any) -> Any:
    """The result of ``module:function`` called with ``kwargs`` in a new interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.harness", target, json.dumps(kwargs)],
        cwd=REPO, capture_output=True, text=True, timeout=timeout_s, check=False,
    )
    if done.returncode:
        raise AssertionError(
            f"{target} ended with {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
        )
    return json.loads(done.stdout.splitlines()[-1])


def in_fork(work: Callable[[], object]) -> int:
    """Run ``work`` in a forked child; its exit code, negative for the signal that ended it.

    The child never returns into the caller's frames: 0 when ``work`` returned, 3 when it raised.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        run_and_exit(work)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run_and_exit(work: Callable[[], object]) -> None:
    """Call ``work`` and leave the process without any clean-up, as a crash would."""
    code = 3
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(code)


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A directory in memory where there is one: a killed process loses no page cache, so syncing
    to a real disk would cost time and prove nothing."""
    shm = "/dev/shm"
    return tempfile.TemporaryDirectory(dir=shm if os.access(shm, os.W_OK) else None)


def die() -> None:
    """End this process as ``kill -9`` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    module, _, name = sys.argv[1].partition(":")
    result = getattr(importlib.import_module(module), name)(**json.loads(sys.argv[2]))
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
