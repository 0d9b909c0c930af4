"""Measurements that need their own process; each prints one JSON object.

``python -m bench.child import`` and ``python -m bench.child open PATH DIM CUE.npy``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def measure_import() -> dict[str, Any]:
    before = set(sys.modules)
    start = time.perf_counter()
    import spector

    imported = time.perf_counter()
    spector.Memory  # noqa: B018  # names are looked up lazily; this one loads the engine
    loaded = time.perf_counter()
    return {
        "import_s": imported - start,
        "load_s": loaded - start,
        "modules": len(set(sys.modules) - before),
    }


def measure_open(path: str, dim: str, cue_path: str) -> dict[str, Any]:
    """Open, first recall and a few more, with the resident memory after each step."""
    import numpy as np

    import spector
    from bench.stores import open_store

    spector.Memory  # noqa: B018  # importing and loading the engine have rows of their own

    cue = np.load(cue_path, allow_pickle=False)
    at_start = resident_bytes()
    start = time.perf_counter()
    memory = open_store(Path(path), int(dim))
    opened = time.perf_counter()
    after_open = resident_bytes()
    hits = memory.recall(vector=cue, k=10)
    recalled = time.perf_counter()
    after_recall = resident_bytes()
    records = len(memory)
    memory.close()
    return {
        "open_s": opened - start,
        "first_recall_s": recalled - opened,
        "records": records,
        "hits": len(hits),
        "rss_start": at_start,
        "rss_open": after_open,
        "rss_recall": after_recall,
    }


def resident_bytes() -> dict[str, int]:
    """Resident memory of this process: its own ("anon") and mapped file pages ("file")."""
    found = {}
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name in {"RssAnon", "RssFile"}:
            found[name.removeprefix("Rss").lower()] = int(value.split()[0]) * 1024
    return found


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    result = measure_import() if verb == "import" else measure_open(*arguments)
    print(json.dumps(result))
