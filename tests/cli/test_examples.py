"""Every program under examples/ runs; each ends in assertions of its own."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def test_there_are_examples_and_the_readme_names_each() -> None:
    readme = (Path(__file__).parents[2] / "examples" / "README.md").read_text()
    assert len(EXAMPLES) >= 4
    for example in EXAMPLES:
        assert f"`{example.name}`" in readme


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out
