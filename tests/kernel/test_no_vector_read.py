"""Mechanism: where few records survive phases 1 to 4, these look at headers only.

Damage: reading the vectors of dropped records would cost the bandwidth that the gates save.
Guard: a record whose vector lies in an unreadable page is dropped without a crash; and the same
record, not dropped, does crash, so the page really is unreadable.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.kernel.blocks import kernel_or_skip

SCRIPT = """
import ctypes, mmap, sys
import numpy as np
from spector.kernel.contract.scanner import Part
from spector.kernel.dispatch import load_kernel
from spector.kernel.contract.query import make_query
from spector.layout import RECORD_DTYPE

page = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * page)
rows = np.frombuffer(memory, np.uint8)[page - 64 :].reshape(1, page + 64)
rows[:, :64].view(RECORD_DTYPE)["flags"] = int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
address = ctypes.c_void_p(rows.ctypes.data + 64)
assert libc.mprotect(address, ctypes.c_size_t(page), 0) == 0
query = make_query(now_ms=0, vector=np.ones(page))
result = load_kernel(sys.argv[1]).scan([Part(rows, 1)], query, 1)
print(result.drops.tolist())
"""


def run(kernel: str, flags: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, kernel, str(flags)],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs mprotect")
@pytest.mark.parametrize("name", ["native", "numba", "reference"])
def test_the_vector_of_a_dropped_record_is_not_read(name: str) -> None:
    kernel_or_skip(name)
    dropped = run(name, 1)
    assert dropped.stdout.strip() == "[1, 0, 0, 0, 0, 0, 0]", dropped.stderr
    assert run(name, 0).returncode in (-signal.SIGSEGV, -signal.SIGBUS)
