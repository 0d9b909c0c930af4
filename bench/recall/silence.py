"""When to say nothing: constants of `spector.recall.abstention.log_odds`, fitted and held out.

    python -m bench.recall.silence [set ...]      LoCoMo, paraphrases and BEAM unless said otherwise

Every question is put to its own store, and to others as it is and, between people who talk, with
the names of that store. A logistic of coverage, likeness and unknown names is fitted by weighted
Newton steps; each conversation is judged by constants of the others. Prints, for several
thresholds, both figures of silence beside what answerable questions lose, by set, for held-out
constants and for those of the product.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.recall.evaluate import foreign_questions
from bench.recall.product import Mind, Product
from bench.recall.protocol.names import Names, swapped
from bench.recall.sets import load
from bench.recall.shape import DataSet, Question, Store
from bench.recall.vectors import Memoised, Row, default_folder, vectors_of
from spector.providers import resolve
from spector.recall.abstention import log_odds
from spector.records import Signals

F64 = NDArray[np.float64]

SETS: Final = ("locomo", "paraphrases", "beam")
#: the constants are fitted on these, each set and side with the same weight
FITTED: Final = ("locomo", "paraphrases")
THRESHOLDS: Final = (0.12, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
#: foreign questions of a store, drawn once
_FOREIGN: Final = 250
_RIDGE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Case:
    """One question put to one store. ``side``: own, other, or swapped (others, by own names)."""

    set: str
    store: str
    side: str
    signals: Signals
    found: bool

    @property
    def features(self) -> tuple[float, float, float, float]:
        """What a logistic sees: coverage, likeness, unknown name, 1."""
        like = 0.0 if self.signals.likeness is None else self.signals.likeness
        return (
            min(self.signals.coverage, 1.0),
            min(max(like, -1.0), 8.0),
            float(self.signals.unknown_name),
            1.0,
        )


def cases_of(data: DataSet, embedder: Memoised) -> Iterator[Case]:
    """Every question of a set, and what a recall noticed about it."""
    vectors = vectors_of(data, embedder, default_folder() / "silence", "plain")
    known = {store.name: Names(store) for store in data.stores}
    foreign, rng = foreign_questions(data), np.random.default_rng(7)
    for store, questions in data.by_store():
        with Product().told(store, vectors.items[store.name], embedder) as mind:
            for question in questions:
                if question.gold:
                    vector = vectors.cues[question.id]
                    yield _case(data, store, mind, "own", question, question.cue, vector)
            others = foreign.get(store.name, [])
            for n in np.sort(rng.permutation(len(others))[:_FOREIGN]).tolist():
                question = others[n]
                vector = vectors.cues[question.id.removesuffix(f" to {store.name}")]
                yield _case(data, store, mind, "other", question, question.cue, vector)
                cue = swapped(question.cue, known[question.store], known[store.name])
                if cue != question.cue:
                    (vector,) = embedder.embed([cue])
                    yield _case(data, store, mind, "swapped", question, cue, vector)


def _case(
    data: DataSet, store: Store, mind: Mind, side: str, question: Question, cue: str, vector: Row
) -> Case:
    signals, ids = mind.noticed(question, cue, vector)
    assert signals is not None
    return Case(data.name, store.name, side, signals, bool(ids & set(question.gold)))


def fitted(cases: Sequence[Case]) -> F64:
    """(4,) weights by Newton's method; sides of a set weigh the same."""
    x = np.array([case.features for case in cases])
    y = np.array([float(case.side == "own") for case in cases])
    sides = Counter((case.set, case.side == "own") for case in cases)
    weight = np.array([1 / sides[case.set, case.side == "own"] for case in cases])
    weight *= len(cases) / weight.sum()
    w = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ w))
        slope = x.T @ (weight * (y - p)) - _RIDGE * w
        curve = (x * (weight * p * (1 - p))[:, None]).T @ x + _RIDGE * np.eye(len(w))
        w += np.linalg.solve(curve, slope)
    return w


def held_out(cases: Sequence[Case]) -> F64:
    """(n,) log odds of each case by constants of the other stores."""
    out = np.zeros(len(cases))
    for name in {(case.set, case.store) for case in cases}:
        others = [c for c in cases if (c.set, c.store) != name and c.set in FITTED]
        mine = [n for n, case in enumerate(cases) if (case.set, case.store) == name]
        out[mine] = np.array([cases[n].features for n in mine]) @ fitted(others)
    return out


def table(cases: Sequence[Case], odds: F64) -> Iterator[str]:
    """Shares that are met with silence by threshold; of own questions any@10 that is lost."""
    probability = 1 / (1 + np.exp(-odds))
    groups = sorted({(case.set, case.side) for case in cases})
    yield "| below | " + " | ".join(f"{name}: {side}" for name, side in groups) + " |"
    yield "|--:|" + "--:|" * len(groups)
    for below in THRESHOLDS:
        cells = []
        for group in groups:
            mine = [n for n, case in enumerate(cases) if (case.set, case.side) == group]
            lost = [probability[n] < below and (cases[n].found or group[1] != "own") for n in mine]
            cells.append(f"{100 * np.mean(lost):.1f}")
        yield f"| {below:g} | " + " | ".join(cells) + " |"


def main(names: Sequence[str]) -> None:
    embedder = Memoised(resolve("default"))
    cases = [case for name in names or SETS for case in cases_of(load(name), embedder)]
    print("all:", fitted([case for case in cases if case.set in FITTED]).round(2).tolist())
    print("\nheld out", *table(cases, held_out(cases)), sep="\n")
    print("\nthe product", *table(cases, np.array([log_odds(c.signals) for c in cases])), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
