"""Statements of public sets: triples by CaRB's lenient match (row 10), and facts that change.

Each set is cut in two: rules were fitted on one half, the other only reports. Nothing here is known
to the product: the match and the pairs of FactConsolidation are worked out in this file.
"""

from __future__ import annotations

import collections
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from bench.cognition.score import Score
from bench.machine import REPO
from spector.language.frames import Statement, extract
from spector.language.tables import in_languages

#: words behind which the value of a fact stands
_LINKS: Final = frozenset("is of by in with from to as for".split())
_BE: Final = frozenset("be is am are was were been being".split())


def data() -> Path:
    """The folder of the sets."""
    return Path(os.environ.get("SPECTOR_DATA", REPO.parent / "shared" / "data"))


def turns() -> Iterator[tuple[int, str, str]]:
    """(conversation, speaker, text) of each turn."""
    sets = json.loads((data() / "locomo" / "locomo_dev.json").read_text(encoding="utf-8"))
    for number, each in enumerate(sets):
        for key, session in each["conversation"].items():
            if key.startswith("session_") and not key.endswith("date_time"):
                for turn in session:
                    yield number, turn["speaker"], turn["text"]


#: relation, subject, object
Tuple3 = tuple[list[str], list[str], list[str]]


def match(gold: Tuple3, found: Tuple3) -> tuple[float, float]:
    """(precision, recall) of the words of a tuple against one of the gold; 0, 0 for no match."""
    hits, given = _shared(gold[0], found[0]), len(found[0])
    if "be" in found[0] and not {"be"} & set(gold[0]) and _BE & set(gold[0]):
        hits += 1
    if not hits:
        return 0.0, 0.0
    wanted = len(gold[0])
    for mine, theirs in zip(gold[1:], found[1:], strict=True):
        hits += _shared(mine, theirs)
        wanted += len(mine)
        given += len(theirs)
    return hits / given, hits / wanted


def _shared(gold: Sequence[str], found: Sequence[str]) -> int:
    left = collections.Counter(found)
    return sum((left & collections.Counter(gold)).values())


def score(gold: Sequence[Tuple3], found: Sequence[Tuple3]) -> tuple[float, float]:
    """(sum of precisions under a one-to-one match, sum of recalls) of a sentence."""
    scores = [[match(mine, theirs) for theirs in found] for mine in gold]
    recall = sum(max((each[1] for each in row), default=0.0) for row in scores)
    free_rows, free_columns, precision = set(range(len(gold))), set(range(len(found))), 0.0
    for _ in range(min(len(gold), len(found))):
        row, column = max(
            ((r, c) for r in free_rows for c in free_columns),
            key=lambda at: scores[at[0]][at[1]][0],
        )
        precision += scores[row][column][0]
        free_rows.remove(row)
        free_columns.remove(column)
    return precision, recall


def triple_of(text: str, each: Statement) -> Tuple3:
    """A statement in the words of its sentence: what stands between subject and object relates."""
    subject, value = each.subject_span, each.object_span
    between = text[min(subject[1], value[1]) : max(subject[0], value[0])]
    return between.split(), text[slice(*subject)].split(), text[slice(*value)].split()


def triples() -> list[Score]:
    """Row 10: both halves of CaRB's development part."""
    gold: dict[str, list[Tuple3]] = {}
    for line in (data() / "cognition/carb/gold_dev.tsv").read_text(encoding="utf-8").splitlines():
        sentence, relation, *arguments = (cell.strip() for cell in line.split("\t"))
        rest = " ".join(arguments[1:]).split()
        gold.setdefault(sentence, []).append((relation.split(), arguments[0].split(), rest))
    rows = []
    for half, name in enumerate(("fitted", "reported")):
        precision = recall = 0.0
        given = wanted = 0
        for sentence, tuples in gold.items():
            if zlib.crc32(sentence.encode()) % 2 != half:
                continue
            stated = in_languages(("en",), partial(extract, sentence))
            found = [each for each in (triple_of(sentence, one) for one in stated) if each[0]]
            got = score(tuples, found)
            precision, recall = precision + got[0], recall + got[1]
            given, wanted = given + len(found), wanted + len(tuples)
        p, r = 100 * precision / max(given, 1), 100 * recall / max(wanted, 1)
        f1 = 2 * p * r / (p + r) if p + r else 0.0
        rows.append(
            Score(
                10,
                f"triples, CaRB dev, {name} half, P / R / F1",
                f"{p:.1f} / {r:.1f} / {f1:.1f}",
                "51.8 / 30.6 / 38.5",
                "P 70 at R 25; then F1 42",
                p >= 70 and r >= 25 and f1 >= 42,
            )
        )
    return rows


def changed_pairs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Facts of one wording up to a last value: the newer one has the greater number."""
    seen: dict[str, list[str]] = {}
    for line in lines:
        found = re.match(r"\d+\. (.+?)\.?\s*$", line)
        if found is None:
            continue
        words = found[1].split()
        for at in range(len(words) - 1, max(len(words) - 6, 3), -1):
            if words[at - 1] in _LINKS:
                prefix = " ".join(words[:at])
                for other in seen.get(prefix, ()):
                    if other != found[1]:
                        yield other, found[1]
                seen.setdefault(prefix, []).append(found[1])
                break
