"""Runs tests in forked children of an interpreter that has imported everything but the product.

Reads one job a line, {"tests": [...], "seconds": s, "out": path}, and answers each with one line:
{"code": exit code, negative for a signal, "seconds": of processor time}. Run from the root of a
copy of the tree, whose modules the caller changes between the jobs.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading

import cffi  # noqa: F401
import hypothesis.stateful  # noqa: F401
import mmh3  # noqa: F401
import numba  # noqa: F401
import numpy  # noqa: F401
import pytest

#: for mutants that hang; one may wait for a lock that is never released
WALL_FACTOR = 20
_OPTIONS = [
    "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:benchmark",
    "--assert=plain", "--override-ini=timeout=0",
]  # fmt: skip


def run(tests: list[str], seconds: int, out: str) -> dict[str, float]:
    """Exit code and processor time of these tests; they are killed when they take too much."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        quiet = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os._exit(int(pytest.main([*_OPTIONS, *tests])))
    late = threading.Timer(seconds * WALL_FACTOR, os.killpg, (pid, signal.SIGALRM))
    late.start()
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        late.cancel()
        late.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"code": code, "seconds": round(used, 2)}


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(run(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
