"""Writes what the programs of a page print into the page.

python -m docs.make_shown

A block of text right behind a block of Python is what that block prints. Times in milliseconds
differ from run to run; `without_times` gives the page without them, for comparisons.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["PAGES", "rendered", "without_times"]

_REPO: Final = Path(__file__).resolve().parent.parent
#: pages with programs whose output they show
PAGES: Final = (_REPO / "README.md", _REPO / "docs" / "sleep.md")
_PROGRAM: Final = re.compile(
    r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
_MARK: Final = "=== the next block ==="


def rendered(page: Path) -> str:
    """The text of a page, its programs run and their output in place."""
    text = page.read_text(encoding="utf-8")
    blocks = [found[1] for found in _PROGRAM.finditer(text)]
    printed = iter(_outputs(blocks))

    def block(found: re.Match[str]) -> str:
        output = next(printed)
        if found[2] is None:
            return found[0]
        return f"```python\n{found[1]}```\n\n```text\n{output}```\n"

    return _PROGRAM.sub(block, text)


def without_times(text: str) -> str:
    """A text without what differs from run to run."""
    return re.sub(r"\b\d+ ms\b", "some ms", text)


def _outputs(blocks: list[str]) -> list[str]:
    """What each of some programs prints, run in order in one process."""
    script = f"\nprint({_MARK!r})\n".join(blocks)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(_REPO)},
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"a program of a page failed:\n{done.stderr}")
    return done.stdout.split(f"{_MARK}\n")


def main() -> None:
    for page in PAGES:
        page.write_text(rendered(page), encoding="utf-8")


if __name__ == "__main__":
    main()
