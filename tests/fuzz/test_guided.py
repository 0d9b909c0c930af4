"""Mechanism: mutation that follows coverage finds inputs behind checks that chance does not pass.

Damage without it: a reader of files or arguments that fails in some other way than with a typed
error, hangs, or shows what is not so. Guard: Atheris on imports, stores, forged stores, repairs and
arguments; an input that takes a hundred seconds counts as a hang.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.proof import seed
from tests.store.damage import ram
from tests.test_layers import REPO

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="no atheris for this Python or system"
)

#: target -> runs. In a second one core opens 250 forged stores, or asks
#: 60 everything, or 25 damaged ones, or repairs 40
RUNS = {
    "import": 200_000,
    "export": 20_000,
    "arguments": 50_000,
    "store": 6000,
    "sealed": 6000,
    "repair": 14_000,
    "opened": 50_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("target", RUNS)
def test_many_guided_inputs_are_read_or_refused(target: str, tmp_path: Path, proof: Any) -> None:
    runs = RUNS[target]
    first = seed(8) + list(RUNS).index(target)  # or each would have the same luck
    with tempfile.TemporaryDirectory(dir=ram()) as root:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.fuzz.guided",
                target,
                f"-runs={runs}",
                f"-seed={first}",
                "-timeout=100",
                "-rss_limit_mb=4096",
                f"-artifact_prefix={tmp_path}/",
            ],
            cwd=REPO,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=os.environ | {"PYTHONPATH": str(REPO), "SPECTOR_FUZZ_ROOT": root},
        )
    said = done.stderr + done.stdout
    told = re.search(r"Done (\d+) runs", said)
    found = [path.read_bytes().hex() for path in tmp_path.iterdir() if path.is_file()]
    covered = max(map(int, re.findall(r"cov: (\d+)", said)), default=0)
    proof(
        "T11",
        **{f"guided_{target}": int(told[1]) if told else 0},
        crashes=len(found),
        **{f"branches_{target}": str(covered)},
        seeds=str(first),
    )
    assert done.returncode == 0, f"SPECTOR_SEED={seed(8)}: {found}\n{said[-4000:]}"
    assert told
    assert int(told[1]) >= runs
    assert covered > 20, "nothing of the product was instrumented"
