"""Rows 6 and 7: who is meant in public sets of pronouns, GAP (prose) and Friends (dialogue).

python -m bench.cognition.pronouns --write     fit the weights on both, write them to the package

Fitted with folds: over random eighths of GAP, over the eight episodes of Friends.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.cognition.score import Score, scores
from bench.data import data_root
from bench.judge.hands import fitted
from bench.machine import REPO
from spector.language.formation.persons import (
    FEATURES,
    Cluster,
    Person,
    Turn,
    clusters,
    features,
    gender_of,
    mentioned,
    name_parts,
    people_in,
    same_name,
    settled,
)
from spector.language.words import plain

__all__ = ["persons_of_dialogue", "pronouns_of_prose"]

MEN: Final = frozenset("he him his himself".split())
THIRD: Final = frozenset("he she him her his hers himself herself".split())
FOLDS: Final = 8
#: a name of the two is taken from this score on
_TAKEN: Final = 0.1
#: the default of ``observe.reference_precision``
_NOTED: Final = 0.75
#: turns that are remembered
TURNS: Final = 8
_NO_SPACE: Final = re.compile(r"[.,!?;:')\]]|n't$|'")
_WEIGHTS: Final = REPO / "spector/language/tables/data/any/pronouns.toml"


class Candidate(NamedTuple):
    """A person who may be meant; ``right`` is None where the set does not say."""

    name: str
    row: tuple[float, ...]
    right: bool | None
    given: tuple[int, ...] = ()


@dataclass(frozen=True)
class Pronoun:
    """A pronoun, its candidates, and its fold."""

    fold: int
    candidates: tuple[Candidate, ...]
    gold: tuple[bool, ...] = ()


def _fits(cluster: Cluster, word: str) -> bool:
    return not cluster.gender or cluster.gender == ("m" if word in MEN else "f")


def gap() -> list[Pronoun]:
    """The pronouns of GAP's development part; two names of each are given."""
    path = data_root() / "cognition/gap/gap-development.tsv"
    found = []
    folds = np.random.RandomState(0).randint(0, FOLDS, 2000)
    with path.open(encoding="utf-8", newline="") as file:
        for n, row in enumerate(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)):
            text, at = row["Text"], int(row["Pronoun-offset"])
            given = [(row[k], int(row[f"{k}-offset"])) for k in "AB"]
            gold = tuple(row[f"{k}-coref"] == "TRUE" for k in "AB")
            people = _with_given(people_in(text), given)
            word = plain(row["Pronoun"])
            found.append(Pronoun(int(folds[n]), _of_gap(text, at, word, people, given, gold), gold))
    return found


def _with_given(people: list[Person], given: Sequence[tuple[str, int]]) -> list[Person]:
    for name, start in given:
        end = start + len(name)
        over = [each for each in people if each.start < end and start < each.end]
        gender = next((each.gender for each in over if each.gender), gender_of(name))
        known = bool(gender) or any(each.known for each in over)
        people = [each for each in people if each not in over]
        people.append(Person(name, start, end, gender, known))
    return sorted(people, key=lambda each: each.start)


def _of_gap(
    text: str,
    at: int,
    word: str,
    people: Sequence[Person],
    given: Sequence[tuple[str, int]],
    gold: Sequence[bool],
) -> tuple[Candidate, ...]:
    everybody = clusters((), people)
    fitting = [each for each in everybody if _fits(each, word)]
    found = []
    for each in fitting:
        places = tuple(
            n
            for n, (_, start) in enumerate(given)
            if any(person.start == start for _, person in each.places)
        )
        right = any(gold[n] for n in places) if places or any(gold) else None
        row = features(each, [other for other in fitting if other is not each], text, at, word)
        found.append(Candidate(each.name, row, right, places))
    return tuple(found)


def _spelled(tokens: Sequence[Sequence[str]]) -> tuple[str, list[list[int]]]:
    """A text from its tokens, and where each begins."""
    text, starts = "", []
    for sentence in tokens:
        row = []
        for token in sentence:
            text += " " if text and not _NO_SPACE.match(token) else ""
            row.append(len(text))
            text += token
        starts.append(row)
    return text, starts


def friends() -> list[Pronoun]:
    """The pronouns of the third person of the dialogues."""
    path = data_root() / "cognition/friends_coref/dev.json"
    return [
        found
        for n, episode in enumerate(json.loads(path.read_text(encoding="utf-8"))["episodes"])
        for scene in episode["scenes"]
        for found in _of_scene(n, scene["utterances"])
    ]


def _of_scene(episode: int, utterances: Sequence[dict[str, Any]]) -> Iterator[Pronoun]:
    turns: list[Turn] = []
    for utterance in utterances:
        text, starts = _spelled(utterance["tokens"])
        own: str | None = (utterance["speakers"] or [None])[0]
        for at, mentions in enumerate(utterance["character_entities"]):
            for begin, end, *who in mentions:
                word = " ".join(utterance["tokens"][at][begin:end]).lower()
                if len(who) == 1 and word in THIRD:
                    candidates = _of_friends(
                        text, starts[at][begin], word, own, turns[-TURNS:], who[0]
                    )
                    yield Pronoun(episode, candidates)
        turns.append(Turn(text, own, mentioned(text)))


def _of_friends(
    text: str, at: int, word: str, speaker: str | None, turns: Sequence[Turn], gold: str
) -> tuple[Candidate, ...]:
    own, right = name_parts(speaker or ""), name_parts(gold)
    fitting = [
        one
        for one in clusters(turns, mentioned(text))
        if _fits(one, word)
        and not same_name(own, name_parts(one.name))
        and (one.speaks or any(back or person.end <= at for back, person in one.places))
    ]
    return tuple(
        Candidate(
            one.name,
            features(one, [o for o in fitting if o is not one], text, at, word),
            same_name(right, name_parts(one.name)) and not gold.startswith("#"),
        )
        for one in fitting
    )


class Model(NamedTuple):
    """Weights of a logistic regression, the last one the bias."""

    weights: NDArray[np.float64]

    def score(self, row: Sequence[float]) -> float:
        total = float(np.sum(self.weights[:-1] * np.asarray(row)) + self.weights[-1])
        return 1 / (1 + float(np.exp(-total)))


def fit(pronouns: Sequence[Pronoun]) -> Model:
    """Logistic regression with a small ridge, which leaves the bias alone."""
    known = [each for one in pronouns for each in one.candidates if each.right is not None]
    x = np.array([[*each.row, 1.0] for each in known])
    right = np.array([bool(each.right) for each in known])
    return Model(fitted(x, right, np.array([1.0] * len(FEATURES) + [1e-6]), rounds=30))


def fold_scores(
    prose: Sequence[Pronoun], dialogue: Sequence[Pronoun]
) -> tuple[list[list[float]], list[list[float]]]:
    """Scores of all candidates by models that have not seen their fold."""
    out: tuple[list[list[float]], list[list[float]]] = ([[]] * len(prose), [[]] * len(dialogue))
    for fold in range(FOLDS):
        model = fit([each for each in (*prose, *dialogue) if each.fold != fold])
        for found, pronouns in zip(out, (prose, dialogue), strict=True):
            for n, each in enumerate(pronouns):
                if each.fold == fold:
                    rows = [one.row for one in each.candidates]
                    found[n] = settled(rows, [model.score(row) for row in rows])
    return out


def pronouns_of_prose() -> list[Score]:
    """Row 6: GAP, by folds; and what would be annotated, among all names of the text."""
    prose, dialogue = gap(), friends()
    odds = fold_scores(prose, dialogue)[0]
    right = wrong = missed = spoke = hit = 0
    for one, found in zip(prose, odds, strict=True):
        given = [0.0, 0.0]
        for each, score in zip(one.candidates, found, strict=True):
            for n in each.given:
                given[n] = score
        for n in (0, 1):
            said = given[n] >= _TAKEN and given[n] >= given[1 - n]
            right += said and one.gold[n]
            wrong += said and not one.gold[n]
            missed += not said and one.gold[n]
        best = max(range(len(found)), key=found.__getitem__, default=None)
        if best is not None and found[best] >= _NOTED and one.candidates[best].right is not None:
            spoke += 1
            hit += bool(one.candidates[best].right)
    f1, precision = 2 * right / (2 * right + wrong + missed), hit / max(1, spoke)
    share = 100 * spoke / len(prose)
    return scores("prose", f1=f1, precision=precision, share=share)


def persons_of_dialogue() -> list[Score]:
    """Row 7: Friends, third person, each turn after the ones before it only."""
    dialogue = friends()
    third = _third(dialogue, fold_scores(gap(), dialogue)[1])
    answered, accuracy = _share(third, 0.4)
    noted, precision = _noted(third)
    return scores(
        "dialogue", accuracy=accuracy, answered=answered, precision=precision, noted=noted
    )


def _third(
    dialogue: Sequence[Pronoun], odds: Sequence[Sequence[float]]
) -> list[tuple[float, bool]]:
    found = []
    for one, row in zip(dialogue, odds, strict=True):
        best = max(range(len(row)), key=row.__getitem__, default=None)
        found.append(
            (0.0, False) if best is None else (row[best], bool(one.candidates[best].right))
        )
    return sorted(found, reverse=True)


def _share(third: Sequence[tuple[float, bool]], part: float) -> tuple[float, float]:
    count = int(len(third) * part)
    return 100 * count / len(third), sum(right for _, right in third[:count]) / max(1, count)


def _noted(third: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    found = [right for score, right in third if score >= _NOTED]
    return 100 * len(found) / len(third), sum(found) / max(1, len(found))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cognition.pronouns")
    parser.add_argument("--write", action="store_true", help="write the weights to the package")
    options = parser.parse_args()
    model = fit([*gap(), *friends()])
    names = (*FEATURES, "bias")
    page = (
        "# What speaks for and against a person as the one that a pronoun means, written by"
        " bench/cognition/pronouns.py:\n# fitted on GAP (Apache-2.0, Google) and Friends"
        " (Apache-2.0, Emory NLP), development.\n\n[weights]\n"
    ) + "".join(f"{name} = {w:.4f}\n" for name, w in zip(names, model.weights, strict=True))
    if options.write:
        _WEIGHTS.write_text(page, encoding="utf-8")
    print(page)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
