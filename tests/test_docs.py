"""The programs in the documentation run.

Mechanism: documentation drifts from the code. Damage: a newcomer's first ten minutes fail.
Guard: every Python block of the README and the manual is executed, in order.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spector import Memory, RecallOptions

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)")


@pytest.mark.parametrize("page", ["README.md", "docs/manual.md"])
def test_the_programs_of_a_page_run_in_order(page: str, repo: Path, tmp_path: Path) -> None:
    blocks = _BLOCK.findall((repo / page).read_text(encoding="utf-8"))
    assert blocks, f"{page} has no Python block"
    script = tmp_path / "page.py"
    script.write_text("\n\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=280,
        env={**os.environ, "PYTHONPATH": str(repo)}, check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/manual.md", "native/FORMAT.md"])
def test_local_links_lead_somewhere(page: str, repo: Path) -> None:
    path = repo / page
    for target, anchor in _LINK.findall(path.read_text(encoding="utf-8")):
        found = (path.parent / target) if target else path
        assert found.exists(), f"{page} links to {target}, which does not exist"
        if anchor and found.suffix == ".md":
            headings = re.findall(r"^#+ (.+)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}
            assert anchor[1:] in slugs, f"{page} links to {target}{anchor}"


def test_the_manual_lists_every_argument_of_recall(repo: Path) -> None:
    page = (repo / "docs/manual.md").read_text(encoding="utf-8")
    table = page[page.index("| argument | default | what it does |") :].split("\n\n")[0]
    first = [line.split("|")[1] for line in table.splitlines()[2:]]
    listed = [name for cell in first for name in re.findall(r"`(\w+)`", cell)]
    names = [name for name in inspect.signature(Memory.recall).parameters if name != "self"]
    rare = [field.name for field in dataclasses.fields(RecallOptions)]
    assert sorted(listed) == sorted([*(name for name in names if name != "rare"), *rare])
