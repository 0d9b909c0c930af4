"""Answers of earlier runs: one JSON line per question, with ids, ranks and scores, never a text.

An arm is not asked again when its set, its settings, the embedder and the sources that answer are
the same as those of lines that are there, so a run that was cut short goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.machine import REPO
from bench.recall.arms import Arm
from bench.recall.evaluate import Asked, foreign_questions
from bench.recall.metrics import Outcome
from bench.recall.product import Product
from bench.recall.shape import DataSet, Question, Store

_KINDS = ("own", "unanswerable", "foreign")


class Ledger:
    """The lines of a folder; new ones go to a file of their own."""

    def __init__(self, folder: Path, run: str, fingerprint: str) -> None:
        self._path = folder / f"{run}.jsonl"
        self._fingerprint = fingerprint
        #: lines by key, parsed when they are asked for: most are of other sources
        self._lines: dict[str, list[str]] = {}
        for path in sorted(folder.glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                found = _KEY.search(line)
                if found:
                    self._lines.setdefault(found[1], []).append(line)
        self._own: set[str] = set()
        self._others: set[str] = set()

    def find(self, data: DataSet, arm: Arm, foreign: bool = True) -> Asked | None:
        """All outcomes of an arm, when every question of the set was asked just like this."""
        rows = _parsed(self._lines.get(self.key(data, arm), []))
        wanted = len(data.questions)
        wanted += sum(map(len, foreign_questions(data).values())) if foreign else 0
        by_place = {
            (row["asked"], row["question"]): row
            for row in rows
            if foreign or row["asked"] != "foreign"
        }
        if len(by_place) != wanted:
            return None
        if self.key(data, arm) not in self._own:
            self._others.add(self.key(data, arm))
        parts: dict[str, list[Outcome]] = {kind: [] for kind in _KINDS}
        for (kind, _), row in by_place.items():
            parts[kind].append(_outcome(row))
        return Asked(parts["own"], parts["foreign"], parts["unanswerable"])

    @property
    def reused(self) -> int:
        """How many arms were answered by lines of other runs."""
        return len(self._others)

    def add(self, data: DataSet, name: str, arm: Arm, asked: Asked) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            key = self.key(data, arm)
            told = list(lines(data.name, name, key, asked))
            file.writelines(row + "\n" for row in told)
        # another list of this run may have the same arm
        self._lines.setdefault(key, []).extend(told)
        self._own.add(key)

    def key(self, data: DataSet, arm: Arm) -> str:
        """What decides an arm's answers."""
        parts = [
            digest(data.stores, data.questions),
            repr(arm),
            self._fingerprint,
            sources(REPO / "bench" / "recall", isinstance(arm, Product)),
            product_sources() if isinstance(arm, Product) else "",
        ]
        return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:16]


def lines(set_name: str, arm: str, key: str, asked: Asked) -> Iterator[str]:
    """One JSON line a question."""
    groups = zip(_KINDS, (asked.outcomes, asked.unanswerable, asked.foreign), strict=True)
    for kind, outcomes in groups:
        for each in outcomes:
            head = {"set": set_name, "arm": arm, "key": key, "asked": kind}
            yield json.dumps({**head, **_as_row(each)})


_KEY = re.compile(r'"key": "([^"]*)"')


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; one that a killed run left unfinished is not there."""
    return _parsed(path.read_text(encoding="utf-8").splitlines())


def _parsed(lines: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def digest(stores: Sequence[Store], questions: Sequence[Question]) -> str:
    """Twelve digits that change when a set or its reading does."""
    sha = hashlib.sha256()
    for store in stores:
        for item in store.items:
            sha.update(repr((store.name, item)).encode("utf-8"))
    for question in questions:
        sha.update(repr(question).encode("utf-8"))
    return sha.hexdigest()[:12]


#: sources of the harness that come after the answers
_AFTER = {
    "report.py",
    "tables.py",
    "figures.py",
    "timing.py",
    "paired.py",
    "abstention.py",
    "ledger.py",
    "__main__.py",
}


@lru_cache(maxsize=4)
def sources(folder: Path, with_product: bool = True) -> str:
    """A digest of the Python files that decide answers; ``with_product``: of spector, too."""
    paths = [
        path
        for path in sorted(folder.rglob("*.py"))
        if (path.name not in _AFTER or folder.name != "recall")
        and (path.name != "product.py" or with_product)
    ]
    return _digest_of_files(paths)


@lru_cache(maxsize=1)
def product_sources() -> str:
    """A digest of the product: its Python files and the kernel's C."""
    return _digest_of_files(_product_files())


def digest_of_code() -> str:
    """A digest of all that decides the figures of a run, as it is on disk now: the harness whole,
    the product, the kernel's C."""
    return _digest_of_files([*sorted((REPO / "bench" / "recall").rglob("*.py")), *_product_files()])


def _product_files() -> list[Path]:
    native = [path for path in sorted((REPO / "native").rglob("*")) if path.suffix in (".c", ".h")]
    return [*sorted((REPO / "spector").rglob("*.py")), *native]


def _digest_of_files(paths: Sequence[Path]) -> str:
    sha = hashlib.sha256()
    for path in paths:
        sha.update(path.read_bytes())
    return sha.hexdigest()[:16]


def _as_row(each: Outcome) -> dict[str, Any]:
    return {
        "question": each.question,
        "category": each.category,
        "group": each.group,
        "ranks": each.ranks,
        "ids": each.ids,
        "returned": each.returned,
        "tokens": round(each.tokens, 1),
        "score": None if each.top_score is None else round(each.top_score, 5),
        "ms": round(each.cpu_ms, 3),
    }


def _outcome(row: dict[str, Any]) -> Outcome:
    return Outcome(
        question=row["question"],
        category=row["category"],
        group=row["group"],
        ranks=tuple(row["ranks"]),
        returned=row["returned"],
        tokens=row["tokens"],
        top_score=row["score"],
        cpu_ms=row["ms"],
        ids=tuple(row["ids"]),
    )
