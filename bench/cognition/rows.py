"""Rows of the scoreboard of cognition: each is a function that returns its scores."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import spector
from bench.cognition import (
    consolidation,
    feelings,
    forgetting,
    formation,
    procedures,
    train_entities,
    voices,
)
from bench.cognition.gate import gate_rows, near_duplicates
from bench.cognition.keeping import keeping_rows
from bench.cognition.score import Score
from bench.cognition.speed import speed_rows
from bench.cognition.statements import data, triples
from bench.cognition.updates import update_rows
from bench.data import NOW
from spector.clock import ManualClock
from spector.language.entities import LEAST, rule_mentions
from spector.providers import MiniLMEmbedder

__all__ = ["ROWS", "Score", "spans_of", "untyped_f1"]

#: from which serial numbers on a fact of FactConsolidation is read
_FACT: Final = re.compile(r"(\d+)\. (.+)")


def english_entities() -> list[Score]:
    """Row 4: heads of the other hands, on each hand that they did not see."""
    texts = train_entities.read()
    vectors = MiniLMEmbedder().word_vectors_of([each.words for each in texts])
    found = train_entities.unseen(texts, vectors)
    out = []
    for name, is_typed in (("untyped", False), ("typed", True)):
        precision, recall = train_entities.scores(texts, found, LEAST, typed=is_typed)
        out.append(
            Score(
                4,
                f"names in English, {len(texts)} messages of hands left out, exact spans, {name}: "
                "precision · recall",
                f"{precision:.3f} · {recall:.3f}",
                "-",
                "0.95 · 0.80",
                precision >= 0.95 and recall >= 0.80,
            )
        )
    return out


def spans_of(labels: Iterable[str]) -> Iterator[tuple[int, int]]:
    """(start, end) of each name in a row of labels B-, I- and O."""
    start: int | None = None
    end = 0
    for at, label in enumerate(labels):
        if start is not None and not label.startswith("I-"):
            yield start, at
            start = None
        if label.startswith("B-") or (label.startswith("I-") and start is None):
            start = at
        end = at + 1
    if start is not None:
        yield start, end


def untyped_f1(sentences: Iterable[tuple[list[str], list[str]]]) -> float:
    """F1 of the spans that the rules find, types left aside."""
    given = wanted = right = 0
    for words, labels in sentences:
        text = " ".join(words)
        starts, at = {}, 0
        for n, word in enumerate(words):
            starts[at] = n
            at += len(word) + 1
        found = set()
        for each in rule_mentions(text):
            count = len(each.name.split())
            if each.start in starts:
                found.add((starts[each.start], starts[each.start] + count))
        gold = set(spans_of(labels))
        given, wanted, right = given + len(found), wanted + len(gold), right + len(gold & found)
    precision, recall = right / max(1, given), right / max(1, wanted)
    return 2 * precision * recall / max(1e-9, precision + recall)


def turkish_entities() -> list[Score]:
    """Row 5: rules alone; dates and numbers, which the set counts as names, are not looked for."""
    sentences: list[tuple[list[str], list[str]]] = [([], [])]
    path = data() / "cognition/turkish_wiki_ner/dev.conll"
    for line in path.read_text(encoding="utf-8").splitlines():
        word, _, label = line.strip().rpartition("\t")
        if word:
            sentences[-1][0].append(word)
            sentences[-1][1].append(label)
        elif sentences[-1][0]:
            sentences.append(([], []))
    f1 = 100 * untyped_f1(sentences)
    return [
        Score(
            5,
            "entities in Turkish, Wiki NER dev, all types, F1 of spans, untyped",
            f"{f1:.1f}",
            "50.8",
            "58",
            f1 >= 58,
        )
    ]


def changed_facts() -> list[Score]:
    """Rows 11 and 12: questions about facts of which newer ones change older ones."""
    sets = json.loads(
        (data() / "cognition/factconsolidation/facts.json").read_text(encoding="utf-8")
    )
    out = []
    for size in ("6k", "32k"):
        lines = sets[f"sh_{size}"]["context"].splitlines()
        with tempfile.TemporaryDirectory() as folder:
            one = _shares(Path(folder), lines, sets[f"sh_{size}"], sets[f"mh_{size}"])
        floor = {"6k": "84", "32k": "82"}[size]
        out.append(
            Score(
                11,
                f"changed fact, one hop, {size}: the first hit has the newest value",
                f"{one[0]:.0f}",
                floor,
                "92",
                one[0] >= 92,
            )
        )
        floor = {"6k": "27", "32k": "9"}[size]
        out.append(
            Score(
                12,
                f"changed fact, several hops, {size}: the answer is in 10 hits",
                f"{one[1]:.0f}",
                floor,
                "35 (of 64k)",
                one[1] >= 35,
            )
        )
    return out


def _shares(
    folder: Path, lines: Iterable[str], single: dict[str, list[str]], several: dict[str, list[str]]
) -> tuple[float, float]:
    """Percent of questions: the first hit has the answer; one of ten has, over several hops."""
    clock = ManualClock(NOW)
    with spector.open(folder / "mind", clock=clock, durability="relaxed") as memory:
        facts = [found for line in lines if (found := _FACT.match(line))]
        memory.remember_many(
            [
                {"text": found[2], "event_time": NOW - timedelta(minutes=len(facts) - n)}
                for n, found in enumerate(facts)
            ],
            supersedes="auto",
        )
        first = sum(
            any(answer in memory.recall(question, k=1)[0].text for answer in answers)
            for question, answers in zip(single["questions"], single["answers"], strict=True)
        )
        among = sum(
            any(a in hit.text for hit in memory.recall(question, k=10) for a in answers)
            for question, answers in zip(several["questions"], several["answers"], strict=True)
        )
    return 100 * first / len(single["questions"]), 100 * among / len(several["questions"])


ROWS: Final[dict[int, Callable[[], list[Score]]]] = {
    1: feelings.english_feelings,
    4: english_entities,
    5: turkish_entities,
    6: formation.pronouns_of_prose,
    7: formation.persons_of_dialogue,
    8: formation.english_dates,
    9: formation.turkish_dates,
    10: triples,
    11: changed_facts,
    13: gate_rows,
    14: near_duplicates,
    15: update_rows,
    19: forgetting.forgetting_rows,
    20: consolidation.rows,
    22: procedures.rows,
    23: speed_rows,
    24: keeping_rows,
    25: voices.chats,
    26: voices.pairs,
    27: voices.messages,
}
