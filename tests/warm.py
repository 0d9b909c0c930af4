"""Make what every test process would otherwise make for itself: run beside the linters.

    python -m tests.warm

The Numba kernel is compiled by a small life of a store, and the modules of the tests by collecting
them. Both are kept on disk. Nothing is asserted here, and nothing depends on it: a test process
that finds nothing makes it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["main"]


def _compile() -> None:
    """Have the scan and the checksums compiled."""
    os.environ["SPECTOR_KERNEL"] = "numba"
    import spector
    from tests.fakes import FakeEmbedder

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "mind"
        for _ in range(2):  # the second life appends to a kept index of words
            with spector.open(str(place), embedder=FakeEmbedder(dim=32)) as memory:
                memory.remember_many([f"The lamp of room {n} is green." for n in range(300)])
                memory.recall("Which lamp is green in room 17?")
                memory.remember("The lamp of room 400 is red.", tags=["lamp"])
                memory.recall("the red lamp", tags=["lamp"])
                memory.reflect("upkeep")
                memory.recall("What stands beside the lamp of room 400?", learn=True)
        spector.check(place)


def main() -> int:
    """Compile, then collect in a process of its own, so that it is one like those of the tests."""
    _compile()
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider"]
    subprocess.run(collect, stdout=subprocess.DEVNULL, check=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
