"""Claims of README and manual that no other test covers.

Mechanism: a sentence is written once and never tried again. Damage: a reader who tries it finds it
false, and stops believing the rest. Guard: each of these claims is read from the page and compared
with the product: the commands, the verbs with scopes, what a backup writes, the memory that a
process takes.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spector
from spector import Memory

_MEASURE = """
import re, sys, numpy, spector
def resident():
    rows = open("/proc/self/smaps_rollup").read()
    return int(re.search(r"^Rss:\\s+(\\d+)", rows, re.M)[1]) / 1024
vectors = numpy.random.default_rng(0).standard_normal((1000, 384))
with spector.open(sys.argv[1] + "/own", embedder=None, dim=384) as memory:
    memory.remember_many({"text": f"note {n}", "vector": v} for n, v in enumerate(vectors))
    memory.recall("note", vector=vectors[3])
    memory.context("note", vector=vectors[3])
    print(memory.stats()["kernel"]["name"], resident())
with spector.open(sys.argv[1] + "/model") as memory:
    memory.remember("The ferry leaves at seven.")
    memory.recall("When does the ferry leave?")
    print("model", resident())
"""
#: verbs about the files or the whole store, which belong to every user
OF_THE_STORE = {
    "backup",
    "check",
    "checkpoint",
    "close",
    "daemon",
    "import_",
    "judge",
    "reflect",
    "reflect_undo",
    "sessions",  # of this process
    "users",
}


@pytest.fixture(scope="module")
def readme(repo: Path) -> str:
    return (repo / "README.md").read_text(encoding="utf-8")


def test_the_manual_lists_every_command(repo: Path) -> None:
    page = (repo / "docs/manual/command-line.md").read_text(encoding="utf-8")
    table = page[: page.index("\n`spector COMMAND --help`")]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`([a-z]+)", cell)}
    done = subprocess.run(
        [sys.executable, "-m", "spector", "--help"], capture_output=True, text=True, check=True
    )
    part = done.stdout[done.stdout.index("\nmemories:") : done.stdout.index("\nexit codes:")]
    assert named == set(re.findall(r"^  ([a-z]+)(?: |$)", part, re.MULTILINE))


def test_the_verbs_take_scopes(readme: str) -> None:
    claim = "(`user_id`, `agent_id`, `session_id`) on every verb that reads, changes or counts"
    assert claim in " ".join(readme.split())
    for name, member in vars(Memory).items():
        if name.startswith("_") or not callable(member) or name in OF_THE_STORE:
            continue
        parameters = inspect.signature(member).parameters
        selects = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        assert selects or {"user_id", "agent_id", "session_id"} <= parameters.keys(), name


def test_a_backup_writes_what_the_readme_says(readme: str, tmp_path: Path) -> None:
    claim = "writes the catalog and the partitions that changed, and nothing when nothing did"
    assert claim in " ".join(readme.split())
    with spector.open(tmp_path / "mind", embedder=None, dim=8) as memory:
        for tier in ("episodic", "semantic"):
            memory.remember(tier, vector=np.eye(8)[0], tier=tier)
        whole = memory.backup(tmp_path / "copy")
        memory.remember("new", vector=np.eye(8)[1], tier="semantic")
        some = memory.backup(tmp_path / "copy")
        none = memory.backup(tmp_path / "copy")
    assert whole.bytes_copied == whole.bytes
    assert some.reused == 1
    catalog = (tmp_path / "copy" / "catalog.db").stat().st_size
    assert catalog < some.bytes_copied < some.bytes
    assert none.bytes_copied == 0


def test_living_has_the_ids_that_the_manual_promises(repo: Path, tmp_path: Path) -> None:
    page = repo / "docs/manual/forget.md"
    manual = " ".join(page.read_text(encoding="utf-8").split())
    assert "**`living`** has the ids of the memories" in manual
    with spector.open(tmp_path / "mind", embedder=None, dim=8) as memory:
        made = [
            memory.remember(f"Ottilie was here, day {n}.", vector=np.eye(8)[n % 8]).id
            for n in range(40)
        ]
        receipt = memory.compact(verify=["Ottilie"]).receipt
    assert sorted(receipt.verification.living) == made


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="Linux measures itself")
def test_a_process_takes_the_memory_that_the_readme_says(readme: str, tmp_path: Path) -> None:
    """Within a third, to allow for another Python, NumPy or allocator."""
    page = " ".join(readme.split())
    claim = re.search(r"resident memory of (\d+) MiB without a model, and of (\d+) MiB", page)
    assert claim
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(tmp_path)], capture_output=True, text=True, check=True
    )
    (kernel, without), (_, with_model) = (line.split() for line in done.stdout.splitlines())
    if kernel == "native":  # Numba's compiler takes more, as the page says
        assert 0.67 < float(without) / int(claim[1]) < 1.33
        assert 0.67 < float(with_model) / int(claim[2]) < 1.33
