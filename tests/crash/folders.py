"""Syncs of directories that fail, one by one, during a run.

The caller gets an error, and no directory is synced again, because a second sync may report lost
data as durable. SQLite ignores a failed sync of the catalog's directory, after the first sync of a
log or journal that it made and after it removed one; that directory is synced again later. These
cases are recognized by SQLite's last operation, and counted.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spector.store.files import syncing
from tests.crash.erring import failing, survive
from tests.crash.harness import in_fork, scratch
from tests.crash.lives import LIVES
from tests.crash.shim import SYNC, Shim, read_trace
from tests.crash.sweep import Stage, Told, staged
from tests.crash.workload import warm_up

__all__ = ["folders"]

_TRIFLES = {"open", "close", "read"}


@dataclass(frozen=True)
class _Sync:
    """A sync of a directory: which of all syncs, where, and whether SQLite asked for it."""

    at: int
    path: str
    by_sqlite: bool


def folders(
    names: list[str] | None = None, durability: str = "strict", mutant: bool = False
) -> dict[str, Any]:
    """Fail each sync of a directory, once, in each life; what came of it.

    ``mutant`` lets the product sync a directory once more when that fails.
    """
    warm_up()
    if mutant:
        syncing.sync_folder = _sync_folder_twice
    wrong: dict[str, list[str]] = {}
    outcomes: Counter[str] = Counter()
    swallowed = retried = retried_after_sqlite = 0
    for name in names or LIVES:
        with staged(name, durability) as stage:
            for sync in _syncs_of_folders(stage):
                report, found = survive(stage, failing(stage, errno.EIO, SYNC, sync.at, 1))
                outcomes[report.outcome] += 1
                if sync.by_sqlite and report.outcome == "no error":
                    swallowed += 1
                    retried_after_sqlite += report.retried_folders
                else:
                    retried += report.retried_folders
                    if report.outcome == "no error":
                        found.append("nobody is told")
                    if report.retried_folders:
                        found.append(f"synced again {report.retried_folders} times")
                if report.hits < sync.at:
                    found.append(f"only {report.hits} syncs")
                if found:
                    wrong[f"{name} {sync.at} {sync.path}"] = found
    return {
        "cases": sum(outcomes.values()),
        "outcomes": outcomes,
        "wrong": wrong,
        "retried": retried,
        "swallowed": swallowed,
        "retried_after_sqlite": retried_after_sqlite,
    }


def _syncs_of_folders(stage: Stage) -> list[_Sync]:
    """Those of an undisturbed life."""
    stage.reset()
    with scratch() as beside:
        trace, pipe = os.path.join(beside, "trace"), os.open(os.devnull, os.O_WRONLY)

        def ready() -> None:
            shim = Shim()
            shim.arm(stage.case, SYNC)
            shim.record(trace)

        def work() -> None:
            stage.life.run(Told(stage.case, stage.durability, pipe, ready))

        assert in_fork(work) == 0
        os.close(pipe)
        calls = [call for call in read_trace(trace) if call.name not in _TRIFLES]
    found = []
    for before, call in zip([None, *calls], calls, strict=False):
        if call.number and (Path(stage.case) / call.path).is_dir():
            of_sqlite = before is not None and "/catalog.db-" in before.path
            found.append(_Sync(call.number, call.path, of_sqlite))
    return found


_really_sync_folder = syncing.sync_folder


def _sync_folder_twice(path: str) -> None:
    try:
        _really_sync_folder(path)
    except OSError:
        _really_sync_folder(path)
