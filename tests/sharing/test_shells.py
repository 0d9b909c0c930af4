"""Several shells store memories by the command at once: each waits its turn, and nothing is lost.

Mechanism: an opening waits in turn for the writer before it. Damage without it: most of the
commands of hooks that run at the same moment fail. Guard: shells that call the command as a user's
hooks do, with the embedder that is used offline.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import spector


def _shells(tmp_path: Path, shells: int, count: int) -> None:
    mind = tmp_path / "mind"
    command = f"{shlex.quote(sys.executable)} -m spector remember {shlex.quote(str(mind))}"
    running = [
        subprocess.Popen(
            [
                "sh",
                "-c",
                f'for n in $(seq {count}); do {command} "shell {shell} says $n" --wait 600'
                " || exit 1; done",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path.cwd(),
        )
        for shell in range(shells)
    ]
    for each in running:
        _, said = each.communicate(timeout=1500)
        assert each.returncode == 0, said
    wanted = {f"shell {shell} says {n}" for shell in range(shells) for n in range(1, count + 1)}
    with spector.open(mind, mode="r") as memory:
        assert sorted(record.text for record in memory.records()) == sorted(wanted)
        assert memory.recall("what does shell 1 say?", k=1)
    assert spector.check(mind).ok


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_six_shells_that_write_twenty_memories_each_store_all_of_them(
    tmp_path: Path, proof: Any
) -> None:
    _shells(tmp_path, 6, 20)
    proof("sharing", commands=120, refused=0)
