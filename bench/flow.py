"""How often one call changes rooms: ``python -m bench.flow [TREE]``.

A package is the first folder under ``spector/``; rooms of the store count as the store.
``records``, ``errors`` and ``arguments`` are data that everybody has, and are not counted. A change
is two calls in a row, in the order in which they begin, that are of different packages.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

UNCOUNTED = frozenset(("records", "errors", "arguments"))


def flow(call: Callable[[], object], root: str) -> list[str]:
    """The packages of the calls that ``call`` makes, in their order."""
    out: list[str] = []
    known: dict[str, str | None] = {}

    def seen(frame: FrameType, event: str, arg: Any) -> None:
        if event != "call":
            return
        file = frame.f_code.co_filename
        if file not in known:
            first = None
            if file.startswith(root):
                first = file[len(root) :].lstrip("/").split("/")[0].removesuffix(".py")
            known[file] = None if first in UNCOUNTED else first
        package = known[file]
        if package is not None:
            out.append(package)

    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
    return out


def changes(packages: list[str]) -> int:
    return sum(one != other for one, other in itertools.pairwise(packages))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.path.insert(0, sys.argv[1])
    import spector

    root = str(Path(spector.__file__).parent)
    with tempfile.TemporaryDirectory() as folder, spector.open(f"{folder}/mind") as memory:
        # every kind of call has been made once before it is counted
        for n in range(30):
            memory.remember(f"I have been to the market number {n} and bought apples.")
        memory.recall("Which apples did I buy?")
        for name, call in {
            "remember(text)": lambda: memory.remember("The dentist is on Friday at nine."),
            "recall(text)": lambda: memory.recall("When is the dentist?"),
            "recall(text) again": lambda: memory.recall("When do I see the dentist?"),
        }.items():
            told = flow(call, root)
            print(f"{name:22} {len(told):6} calls {changes(told):5} changes of package")
