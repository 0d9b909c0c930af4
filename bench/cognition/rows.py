"""Rows of the scoreboard of cognition: each is a function that returns its scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from bench.cognition import (
    dates,
    facts,
    feelings,
    nights,
    procedures,
    pronouns,
    train_entities,
    voices,
)
from bench.cognition.gate import gate_rows, near_duplicates
from bench.cognition.keeping import keeping_rows
from bench.cognition.score import Score, scores
from bench.cognition.speed import speed_rows
from bench.cognition.updates import update_rows
from bench.data import data_root
from spector.language.entities import LEAST, rule_mentions
from spector.providers import MiniLMEmbedder

__all__ = ["ROWS", "Score", "spans_of", "untyped_f1"]


def english_entities() -> list[Score]:
    """Row 4: heads of the other hands, on each hand that they did not see."""
    texts = train_entities.read()
    vectors = MiniLMEmbedder().word_vectors_of([each.words for each in texts])
    found = train_entities.unseen(texts, vectors)
    out = []
    for name, is_typed in (("untyped", False), ("typed", True)):
        precision, recall = train_entities.scores(texts, found, LEAST, typed=is_typed)
        out += scores("names", texts=len(texts), way=name, precision=precision, recall=recall)
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
    path = data_root() / "cognition/turkish_wiki_ner/dev.conll"
    for line in path.read_text(encoding="utf-8").splitlines():
        word, _, label = line.strip().rpartition("\t")
        if word:
            sentences[-1][0].append(word)
            sentences[-1][1].append(label)
        elif sentences[-1][0]:
            sentences.append(([], []))
    return scores("turkish names", f1=100 * untyped_f1(sentences))


ROWS: Final[dict[int, Callable[[], list[Score]]]] = {
    1: feelings.english_feelings,
    4: english_entities,
    5: turkish_entities,
    6: pronouns.pronouns_of_prose,
    7: pronouns.persons_of_dialogue,
    8: dates.english_dates,
    9: dates.turkish_dates,
    11: facts.changed_facts,
    13: gate_rows,
    14: near_duplicates,
    15: update_rows,
    19: nights.rows,
    20: nights.weeks_rows,
    22: procedures.rows,
    23: speed_rows,
    24: keeping_rows,
    25: voices.chats,
    26: voices.pairs,
    27: voices.messages,
}
