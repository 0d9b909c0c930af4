"""Ask every arm each question, over its own store and over one that cannot know the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tqdm import tqdm

from bench.recall.arms import Arm
from bench.recall.metrics import Outcome, estimated_tokens, judged
from bench.recall.shape import DataSet, Question
from bench.recall.vectors import Vectors

#: how many other stores a question is put to
_OTHERS: Final = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """Outcomes of one arm on one set.

    ``foreign`` are the answerable questions put to other stores, where nothing is gold; empty for
    sets of one store.
    """

    outcomes: list[Outcome]
    foreign: list[Outcome]
    unanswerable: list[Outcome]


def ask_all(name: str, arm: Arm, data: DataSet, vectors: Vectors, foreign: bool = True) -> Asked:
    """Every question of a set, store by store; ``foreign``: those of another store as well."""
    asked = Asked([], [], [])
    strangers = foreign_questions(data) if foreign else {}
    total = len(data.questions) + sum(len(each) for each in strangers.values())
    bar = tqdm(total=total, desc=f"{data.name}: {name}", unit="cue", disable=None)
    for store, questions in data.by_store():
        tokens = {item.id: estimated_tokens(item.text) for item in store.items}
        with arm.opened(store, vectors.items[store.name], vectors.embedder) as ask:
            for question in questions:
                answer = ask(question, vectors.cues[question.id])
                into = asked.outcomes if question.gold else asked.unanswerable
                into.append(judged(question, answer, tokens))
                bar.update()
            for question in strangers.get(store.name, []):
                answer = ask(question, vectors.cues[question.id.removesuffix(f" to {store.name}")])
                asked.foreign.append(judged(question, answer, tokens))
                bar.update()
    bar.close()
    return asked


def foreign_questions(data: DataSet) -> dict[str, list[Question]]:
    """Store -> the answerable questions of the stores before it, in a circle; at most of four.

    Only sets of several conversations have them: their people and events are not each other's. One
    other store would say more of the pairs that chance made than of the sets: how alike two
    conversations are differs from pair to pair.
    """
    names = [store.name for store in data.stores]
    out: dict[str, list[Question]] = {name: [] for name in names} if len(names) > 1 else {}
    at = {name: n for n, name in enumerate(names)}
    for step in range(1, min(len(names), _OTHERS + 1)):
        for question in data.answerable:
            store = names[(at[question.store] + step) % len(names)]
            out[store].append(_without_gold(question, store))
    return out


def _without_gold(question: Question, store: str) -> Question:
    return Question(
        f"{question.id} to {store}",
        question.store,
        question.cue,
        question.category,
        (),
        question.now,
        question.group,
    )
