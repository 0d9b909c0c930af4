"""Kill the change of a store to a newer format at each of its steps."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

import spector
from tests.crash import faults
from tests.crash.harness import in_fork, scratch
from tests.crash.workload import texts_of, warm_up


def new_format(start: int = 1, step: int = 1) -> dict[str, Any]:
    """Kill the first opening of a store of format 1, whose writer was killed, at its steps."""
    import json
    import tarfile

    from tests.fixtures import make

    wanted = json.loads((make.HERE / "format-1" / "expected.json").read_text(encoding="utf-8"))

    def prepare(path: str) -> dict[int, str]:
        with tarfile.open(make.HERE / "format-1" / "killed.tar.xz") as archive:
            archive.extractall(os.path.dirname(path), filter="data")
        os.rename(os.path.join(os.path.dirname(path), "mind"), path)
        return {record["id"]: record["text"] for record in wanted["records"]}

    def ids_by(memory: spector.Memory) -> list[list[int]]:
        return [
            sorted(hit.id for hit in memory.recall(k=50, exact=True, **given))
            for given in ({"tags": ["t1"]}, {"user_id": "ada"}, {"session_id": "s2"})
        ]

    def of_records(**wish: str) -> list[int]:
        return sorted(
            r["id"] for r in wanted["records"]
            if all(v in r["tags"] if k == "tags" else r[k] == v for k, v in wish.items())
        )

    found_by = [of_records(tags="t1"), of_records(user_id="ada"), of_records(session_id="s2")]

    def finished(path: str, texts: dict[int, str]) -> list[str]:
        wrong = []
        for mode in ("r", "rw"):  # a reader finds the old format or the new one
            with make.open_small(path, mode=mode) as memory:
                if texts_of(memory) != texts:
                    wrong.append(f"{mode} found {texts_of(memory)}")
                if ids_by(memory) != found_by:
                    wrong.append(f"{mode}: filters find {ids_by(memory)}")
                wrong += [f"{mode}: {p}" for p in memory.check().problems if p.code != "I14"]
        wrong += [f"check: {p}" for p in spector.check(path).problems]
        return wrong

    return _each_step(
        prepare, lambda path: make.open_small(path), finished, start=start, step=step
    )


def _each_step(
    prepare: Callable[[str], dict[int, str]], action: Callable[[str], object],
    finished: Callable[[str, dict[int, str]], list[str]], *, start: int = 1, step: int = 1,
) -> dict[str, Any]:
    warm_up()
    wrong: dict[int, list[str]] = {}
    with scratch() as root:
        master, path = os.path.join(root, "master"), os.path.join(root, "mind")
        texts = prepare(master)
        n, tried, code = start - step, -1, -9
        while code:
            n, tried = n + step, tried + 1
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(master, path)

            def work(at: int = n) -> None:
                faults.install(faults.Fault(at=at, kind="kill", sql=True))
                action(path)

            code = in_fork(work)
            if code not in (0, -9):
                raise AssertionError(f"step {n} failed by itself: {code}")
            found = finished(path, texts)
            if found:
                wrong[n] = found
    return {"steps": n - 1, "tried": tried, "wrong": wrong}
