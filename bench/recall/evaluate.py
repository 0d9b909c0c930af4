"""Asking every question of every arm, and of a store that cannot know the answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bench.recall.arms import Arm
from bench.recall.metrics import Outcome, estimated_tokens, judged
from bench.recall.shape import DataSet, Question, Store
from bench.recall.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Asked:
    """Outcomes of one arm on one set.

    ``foreign`` are the answerable questions put to the next store, where nothing is gold; empty
    for sets of one store.
    """

    outcomes: list[Outcome]
    foreign: list[Outcome]
    unanswerable: list[Outcome]


def ask_all(name: str, arm: Arm, data: DataSet, vectors: Vectors) -> Asked:
    """Every question of a set, store by store."""
    asked = Asked([], [], [])
    strangers = foreign_questions(data)
    total = len(data.questions) + sum(len(each) for each in strangers.values())
    bar = tqdm(total=total, desc=f"{data.name}: {name}", unit="cue", disable=None)
    for store, questions in data.by_store():
        tokens = {item.id: estimated_tokens(item.text) for item in store.items}
        with arm.opened(store, vectors.items[store.name]) as ask:
            for question in questions:
                answer = ask(question, vectors.cues[question.id])
                into = asked.outcomes if question.gold else asked.unanswerable
                into.append(judged(question, answer, tokens))
                bar.update()
            for question in strangers.get(store.name, []):
                answer = ask(question, vectors.cues[question.id])
                asked.foreign.append(judged(_without_gold(question), answer, tokens))
                bar.update()
    bar.close()
    return asked


def foreign_questions(data: DataSet) -> dict[str, list[Question]]:
    """Store -> the answerable questions of the store before it, in a circle.

    Only sets of several conversations have them: their people and events are not each other's.
    """
    if len(data.stores) < 2:
        return {}
    names = [store.name for store in data.stores]
    after = dict(zip(names, [*names[1:], names[0]], strict=True))
    out: dict[str, list[Question]] = {name: [] for name in names}
    for question in data.answerable:
        out[after[question.store]].append(question)
    return out


def _without_gold(question: Question) -> Question:
    return Question(
        question.id, question.store, question.cue, question.category, (), question.now,
        question.group,
    )  # fmt: skip


def lines(set_name: str, arm: str, asked: Asked) -> Iterator[str]:
    """One JSON line a question: ids, ranks and scores, never a text of the set."""
    for kind, outcomes in (
        ("own", asked.outcomes), ("unanswerable", asked.unanswerable), ("foreign", asked.foreign)
    ):  # fmt: skip
        for each in outcomes:
            yield json.dumps({"set": set_name, "arm": arm, "asked": kind, **_as_row(each)})


def write_lines(path: Path, rows: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(row + "\n" for row in rows)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(row) for row in path.read_text(encoding="utf-8").splitlines() if row]


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
        "ms": round(each.elapsed_ms, 3),
    }


def digest(stores: Sequence[Store], questions: Sequence[Question]) -> str:
    """Twelve digits that change when a set or its reading does."""
    sha = hashlib.sha256()
    for store in stores:
        for item in store.items:
            sha.update(repr((store.name, item)).encode("utf-8"))
    for question in questions:
        sha.update(repr(question).encode("utf-8"))
    return sha.hexdigest()[:12]
