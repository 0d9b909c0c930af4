"""Known mutants that no quick test detects: the table in tests/proofs/T30.md.

A row has a module, a kind, a line of source (by its text, because numbers change), which of the
changes of that kind to lines with that text, and why it is not detected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutation.mutator import Mutant, mutants_of

__all__ = ["VERDICTS", "Known", "equivalents", "sorted_out", "triage"]

#: the words that a reason begins with; the last one is not an explanation
VERDICTS: Final = ("equivalent", "speed only", "slow proof", "test missing")
_PAGE: Final = Path(__file__).resolve().parents[1] / "proofs" / "T30.md"
_ROW: Final = re.compile(
    r"^\| `(?P<path>[^`]+)` \| (?P<kind>[^|`]+?)(?: \((?P<nth>\d+)\))? \|"
    r" `(?P<text>(?:[^`\\]|\\.)+)` \| (?P<why>.+) \|$"
)


@dataclass(frozen=True)
class Known:
    """One line of the table."""

    path: str
    kind: str
    nth: int
    text: str
    why: str

    @property
    def verdict(self) -> str:
        return self.why.partition(":")[0]

    def is_of(self, mutant: Mutant) -> bool:
        mine = (self.path, self.kind, self.nth, self.text)
        return mine == (mutant.path, mutant.kind, mutant.nth, mutant.text)


def triage(page: Path = _PAGE) -> list[Known]:
    """The lines of the table."""
    out = []
    for line in page.read_text().splitlines():
        if found := _ROW.match(line):
            text = found["text"].replace("\\|", "|")
            known = (f"spector/{found['path']}", found["kind"], int(found["nth"] or 1), text)
            out.append(Known(*known, found["why"]))
    return out


def equivalents(root: Path, paths: Iterable[str], known: Iterable[Known]) -> set[Mutant]:
    """The mutants of some modules that the table lists as equivalent, which no test can detect.

    Mutants that only change speed, or that a slow proof detects, are not included.
    """
    lines = [each for each in known if each.verdict == VERDICTS[0]]
    return {
        mutant for path in {each.path for each in lines}.intersection(paths)
        for mutant in mutants_of(root, path) if any(each.is_of(mutant) for each in lines)
    }


def sorted_out(survivors: Iterable[Mutant], known: Iterable[Known]) -> tuple[list[str], list[str]]:
    """Survivors in the table, with their verdicts, and survivors that are not in it or whose test
    is missing."""
    explained, open_ = [], []
    lines = list(known)
    for mutant in survivors:
        found = next((each for each in lines if each.is_of(mutant)), None)
        if found is None or found.verdict == VERDICTS[-1]:
            open_.append(str(mutant))
        else:
            explained.append(f"{mutant} [{found.verdict}]")
    return explained, open_
