"""Who is meant in public sets of pronouns: GAP (prose) and Friends (dialogue).

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

from bench.cognition.score import data
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

__all__ = ["THIRD", "Mention", "Model", "fit", "fold_scores", "friends", "friends_mentions", "gap"]

MEN: Final = frozenset("he him his himself".split())
THIRD: Final = frozenset("he she him her his hers himself herself".split())
FOLDS: Final = 8
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


@dataclass(frozen=True)
class Mention:
    """A word of a dialogue that means one person."""

    word: str
    text: str
    at: int
    speaker: str | None
    turns: tuple[Turn, ...]
    episode: int
    gold: str


def _fits(cluster: Cluster, word: str) -> bool:
    return not cluster.gender or cluster.gender == ("m" if word in MEN else "f")


def gap() -> list[Pronoun]:
    """The pronouns of GAP's development part; two names of each are given."""
    path = data() / "cognition/gap/gap-development.tsv"
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


def friends_mentions() -> Iterator[Mention]:
    """The singular mentions of the dialogues."""
    path = data() / "cognition/friends_coref/dev.json"
    for n, episode in enumerate(json.loads(path.read_text(encoding="utf-8"))["episodes"]):
        for scene in episode["scenes"]:
            yield from _of_scene(n, scene["utterances"])


def _of_scene(episode: int, utterances: Sequence[dict[str, Any]]) -> Iterator[Mention]:
    turns: list[Turn] = []
    speakers = [(each["speakers"] or [None])[0] for each in utterances]
    for n, utterance in enumerate(utterances):
        text, starts = _spelled(utterance["tokens"])
        own = speakers[n]
        for at, mentions in enumerate(utterance["character_entities"]):
            for begin, end, *who in mentions:
                if len(who) == 1:
                    word = " ".join(utterance["tokens"][at][begin:end])
                    yield Mention(
                        word, text, starts[at][begin], own, tuple(turns[-TURNS:]), episode, who[0]
                    )
        turns.append(Turn(text, own, mentioned(text)))


def friends() -> list[Pronoun]:
    """The pronouns of the third person of the dialogues."""
    found = []
    for each in friends_mentions():
        word = each.word.lower()
        if word not in THIRD:
            continue
        own = name_parts(each.speaker or "")
        fitting = [
            one
            for one in clusters(each.turns, mentioned(each.text))
            if _fits(one, word)
            and not same_name(own, name_parts(one.name))
            and (one.speaks or any(back or person.end <= each.at for back, person in one.places))
        ]
        gold = name_parts(each.gold)
        candidates = tuple(
            Candidate(
                one.name,
                features(one, [o for o in fitting if o is not one], each.text, each.at, word),
                same_name(gold, name_parts(one.name)) and not each.gold.startswith("#"),
            )
            for one in fitting
        )
        found.append(Pronoun(each.episode, candidates))
    return found


class Model(NamedTuple):
    """Weights of a logistic regression, the last one the bias."""

    weights: NDArray[np.float64]

    def score(self, row: Sequence[float]) -> float:
        total = float(np.sum(self.weights[:-1] * np.asarray(row)) + self.weights[-1])
        return 1 / (1 + float(np.exp(-total)))


def fit(pronouns: Sequence[Pronoun]) -> Model:
    """Logistic regression with a small ridge, by Newton's method: the same on every machine."""
    rows = [each.row for one in pronouns for each in one.candidates if each.right is not None]
    right = [each.right for one in pronouns for each in one.candidates if each.right is not None]
    x = np.hstack([np.array(rows, float), np.ones((len(rows), 1))])
    y = np.array(right, float)
    ridge = np.diag([1.0] * len(FEATURES) + [1e-6])
    weights = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-(x @ weights)))
        slope = x.T @ (p - y) + ridge @ weights
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + ridge, slope)
        weights = weights - step
        if np.abs(step).max() < 1e-9:
            break
    return Model(weights)


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
