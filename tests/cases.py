"""Tables of cases beside the tests: ``cases = Cases(__file__)`` has those of a module.

``cases.txt`` of its folder has them in sections headed ``[module.table]``. A row is a line of JSON
values with commas between them; a line that begins with ``#`` is a remark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_HEAD = re.compile(r"\[(\w+)\.(\w+)\]")


def slow(*values: Any, timeout_s: int = 0) -> Any:
    """A case that only a full run has."""
    marks = [pytest.mark.slow, *([pytest.mark.timeout(timeout_s)] if timeout_s else [])]
    return pytest.param(*values, marks=marks)


class Cases:
    """The tables of one module."""

    def __init__(self, module: str) -> None:
        path = Path(module)
        self._tables = tables(path.with_name("cases.txt"))[path.stem]

    def rows(self, table: str) -> list[Any]:
        """A tuple for each row, or its value where it has only one."""
        return list(self._tables[table])

    def __call__(self, *names: str, **more: Any) -> Callable[[Any], Any]:
        """Give a test a case for each row of the table that is called like it."""

        def with_cases(test: Any) -> Any:
            rows = self.rows(test.__name__.removeprefix("test_"))
            return pytest.mark.parametrize(",".join(names), rows, **more)(test)

        return with_cases


@cache
def tables(path: Path) -> dict[str, dict[str, list[Any]]]:
    """Module -> table -> rows of a file."""
    found: dict[str, dict[str, list[Any]]] = {}
    rows: list[Any] = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        if head := _HEAD.fullmatch(line):
            rows = found.setdefault(head[1], {}).setdefault(head[2], [])
        elif line and not line.startswith("#"):
            values = json.loads(f"[{line}]")
            rows.append(tuple(values) if len(values) > 1 else values[0])
    return found
