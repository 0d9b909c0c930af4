"""Rows of the scoreboard about who and when is meant: 6 to 9."""

from __future__ import annotations

from collections.abc import Sequence

from bench.cognition import dates, pronouns
from bench.cognition.score import Score, scores

__all__ = ["english_dates", "persons_of_dialogue", "pronouns_of_prose", "turkish_dates"]

#: a name of the two is taken from this score on
_TAKEN = 0.1
#: the default of ``observe.reference_precision``
_NOTED = 0.75


def pronouns_of_prose() -> list[Score]:
    """Row 6: GAP, by folds; and what would be annotated, among all names of the text."""
    prose, dialogue = pronouns.gap(), pronouns.friends()
    scores = pronouns.fold_scores(prose, dialogue)[0]
    right = wrong = missed = spoke = hit = 0
    for one, found in zip(prose, scores, strict=True):
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
    dialogue = pronouns.friends()
    third = _third(dialogue, pronouns.fold_scores(pronouns.gap(), dialogue)[1])
    answered, accuracy = _share(third, 0.4)
    noted, precision = _noted(third)
    return scores(
        "dialogue", accuracy=accuracy, answered=answered, precision=precision, noted=noted
    )


def _third(
    dialogue: Sequence[pronouns.Pronoun], scores: Sequence[Sequence[float]]
) -> list[tuple[float, bool]]:
    found = []
    for one, row in zip(dialogue, scores, strict=True):
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


def english_dates() -> list[Score]:
    """Row 8: Recognizers-Text, development half."""
    return _dates("en")


def turkish_dates() -> list[Score]:
    """Row 9: the same sets in Turkish."""
    return _dates("tr")


def _dates(language: str) -> list[Score]:
    spans, text = dates.given(language), dates.free(language)
    one, many = spans["date"], spans["daterange"]
    return scores(
        f"dates {language}",
        one=one,
        many=many,
        text=text,
        days=one.accuracy,
        ranges=many.accuracy,
        precision=(one.right + many.right) / max(1, one.answered + many.answered),
        f1=text.f1,
        of_30=30 * text.false / max(1, text.empty),
    )
