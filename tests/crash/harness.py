"""Runs a scenario in a fresh interpreter, which has no threads and may therefore fork freely.

A scenario is a function of JSON-ready keywords that returns a JSON-ready result. It is named
``module:function`` so that the child can import it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from spector.kernel.contract.query import make_query

REPO = Path(__file__).resolve().parents[2]
#: a scenario of half a minute may take ten times as long on a busy machine
TIMEOUT_S = 290.0
#: room that every scenario has enough of
_ROOM_BYTES = 40_000_000
_RAISED = 3


def in_fresh_process(
    target: str,
    *,
    timeout_s: float = TIMEOUT_S,
    env: Mapping[str, str] | None = None,
    **kwargs: Any,
) -> Any:
    """The result of ``module:function`` called with ``kwargs`` in a new interpreter.

    ``env`` adds to the environment. Whatever the scenario and its children wrote to stderr is shown
    with a test that fails. Of one that does not end, every process says where it is. None of its
    processes outlives this call.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash.harness", target, json.dumps(kwargs)],
        cwd=REPO,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **(env or {})},
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGABRT)  # which faulthandler answers with a traceback
            _, err = process.communicate(timeout=30)
            raise AssertionError(f"{target} took over {timeout_s:.0f} s\n{err[-8000:]}") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise AssertionError(
            f"{target} ended with {process.returncode}\n{out[-4000:]}\n{err[-8000:]}"
        )
    sys.stderr.write(err)
    return json.loads(out.splitlines()[-1])


def in_fork(work: Callable[[], object]) -> int:
    """Run ``work`` in a forked child; 0 when it returned, negative for the signal that ended it.

    The child never returns into the caller's frames.

    Raises:
        AssertionError: ``work`` raised; the message is the child's traceback.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)  # a grandchild may hold the other end for ever
    try:
        pid = os.fork()
        if pid == 0:
            run_and_exit(work, report_to=writing)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code != _RAISED:
            return code
        raise AssertionError("in the child:\n" + os.read(reading, 1 << 16).decode())
    finally:
        os.close(reading)
        os.close(writing)


def run_and_exit(work: Callable[[], object], report_to: int = 2) -> None:
    """Call ``work`` and leave the process without any clean-up, as a crash would.

    The exit code is 0, or 3 when ``work`` raised; then the traceback goes to ``report_to``.
    """
    code = _RAISED
    try:
        work()
        code = 0
    except BaseException:
        sys.stderr.flush()
        os.write(report_to, traceback.format_exc()[-16_000:].encode("utf-8", "replace"))
    os._exit(code)


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A directory in memory where there is room: a killed process loses no page cache, so syncing
    to a real disk would cost time and prove nothing."""
    shm, use = "/dev/shm", False
    with contextlib.suppress(OSError):
        free = os.statvfs(shm)
        use = os.access(shm, os.W_OK) and free.f_bavail * free.f_frsize >= _ROOM_BYTES
    return tempfile.TemporaryDirectory(dir=shm if use else None)


def die() -> None:
    """End this process as ``kill -9`` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    # the scans of these tiny stores use indexes, too
    make_query.__kwdefaults__["index_from_rows"] = 0
    faulthandler.enable()  # children inherit it
    module, _, name = sys.argv[1].partition(":")
    result = getattr(importlib.import_module(module), name)(**json.loads(sys.argv[2]))
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
