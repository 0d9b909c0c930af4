"""The machine, the versions and the commit, without which a figure is worth nothing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.measure import seconds_of
from bench.stream import fastest_stream

REPO: Final = Path(__file__).resolve().parent.parent
_PACKAGES: Final = ("numpy", "numba", "onnxruntime", "mmh3", "pytest-benchmark")
_CPU_FLAGS: Final = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_vpopcntdq", "asimd")


def describe_machine() -> dict[str, Any]:
    """CPU, memory, disk and system, with the two limits that bound a store: bandwidth and sync."""
    cpu, release = _cpu_facts(), ".".join(platform.release().split(".")[:2])
    with one_core():
        name, gb_per_s = memory_bandwidth()
    return {
        "cpu": cpu["model"],
        "cpu_flags": cpu["flags"],
        "cores": os.cpu_count() or 1,
        "cores_allowed": len(os.sched_getaffinity(0)),
        "l3_cache": _read("/sys/devices/system/cpu/cpu0/cache/index3/size") or "unknown",
        "ram_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {release} {platform.machine()}",
        "huge_pages": _read("/sys/kernel/mm/transparent_hugepage/enabled") or "unknown",
        "stream_gb_per_s": round(gb_per_s, 2),
        "stream_reader": name,
        "fdatasync_p50_ms": round(sync_latency_ms(), 3),
        "python_yardstick_ms": [round(lap, 1) for lap in yardstick_ms()],
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


def describe_versions() -> dict[str, str]:
    from spector._version import __version__

    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "compiler_of_python": platform.python_compiler(),
        **versions_of(_PACKAGES),
        "spector": __version__,
    }


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """Package -> its version, "absent" for one that is not installed."""
    found = dict.fromkeys(packages, "absent")
    for package in found:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def kernel_name() -> str:
    from spector.kernel.dispatch import kernel_info

    info = kernel_info()
    return f"{info['name']} ({info['isa']})"


def describe_commit() -> dict[str, Any]:
    """The commit measured, and whether the code differed from it."""
    changed = _git("status", "--porcelain", "--", "spector", "native", "setup.py", "bench/*.py")
    return {"commit": _git("rev-parse", "HEAD") or "unknown", "dirty": bool(changed)}


def memory_bandwidth(size_bytes: int = 512 * 2**20, rounds: int = 7) -> tuple[str, float]:
    """The fastest plain reader and its best rate in GB/s over one large array."""
    words = np.ones(size_bytes // 8, np.uint64)
    name, read = fastest_stream(words)
    best = min(seconds_of(lambda: read(words)) for _ in range(rounds))
    return name, words.nbytes / best / 1e9


def sync_latency_ms(rounds: int = 30) -> float:
    """Median time of a 4 KiB append with fdatasync, which bounds strict single writes."""
    times = []
    with tempfile.TemporaryFile(dir=scratch_root()) as file:
        for _ in range(rounds):
            os.write(file.fileno(), b"\0" * 4096)
            times.append(seconds_of(lambda: os.fdatasync(file.fileno())))
    return statistics.median(times) * 1e3


def yardstick_ms(rounds: int = 9) -> tuple[float, float]:
    """Best and median time of a fixed piece of pure Python: how fast, and how shared, a core is."""
    with one_core():
        times = [
            1e3 * seconds_of(lambda: sum(n & 7 for n in range(500_000))) for _ in range(rounds)
        ]
    return min(times), statistics.median(times)


def scratch_root() -> str:
    """Where benchmark stores are built: ``SPECTOR_BENCH_DIR`` or the system's temporary place."""
    return os.environ.get("SPECTOR_BENCH_DIR") or tempfile.gettempdir()


@contextmanager
def one_core() -> Iterator[int]:
    """Pin this thread, and threads and processes it starts, to the core that is least busy now."""
    before = os.sched_getaffinity(0)
    core = idlest_core(before)
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, before)


def idlest_core(cores: Set[int], seconds: float = 0.2) -> int:
    """Of ``cores`` the one that idled most while this waited; the last one when all are alike."""
    before = _idle_ticks()
    if len(cores) == 1 or not before:
        return max(cores)
    time.sleep(seconds)
    after = _idle_ticks()
    return max(cores, key=lambda core: (after.get(core, 0) - before.get(core, 0), core))


def _idle_ticks() -> dict[int, int]:
    ticks = {}
    for line in _read("/proc/stat").splitlines():
        name, *values = line.split()
        if name.startswith("cpu") and name != "cpu":
            ticks[int(name.removeprefix("cpu"))] = int(values[3])
    return ticks


def one_thread_environment() -> dict[str, str]:
    """Variables that keep numeric libraries from starting threads; set before they load."""
    return {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
    }


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def _cpu_facts() -> dict[str, Any]:
    model, flags = platform.processor() or platform.machine(), ""
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in {"model name", "Model"}:
            model = value.strip()
        if name.strip() in {"flags", "Features"}:
            flags = value
    present = set(flags.split())
    return {"model": model, "flags": [flag for flag in _CPU_FLAGS if flag in present]}


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=REPO, capture_output=True, text=True, timeout=20, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
