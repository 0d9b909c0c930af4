"""Dates of public sets, as the product reads them: Recognizers-Text (rows 8 and 9)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from bench.cognition.score import Score, scores
from bench.data import data_root, json_lines
from spector.language.dates import DateExpression, dates_in

__all__ = ["english_dates", "turkish_dates"]

#: words that may stand beside a date in the span of the set
_BESIDE: Final = frozenset(
    "on in at the for of during around about by a sometime s günü gunu da de".split()
)
_KINDS: Final = ("date", "daterange")
_TIMED: Final = ("datetime", "datetimerange")


class Given(NamedTuple):
    """Spans that were given: all, answered, right; by kind."""

    total: int
    answered: int
    right: int

    @property
    def accuracy(self) -> float:
        return self.right / max(1, self.total)


class Free(NamedTuple):
    """Dates found in whole sentences.

    ``timed`` are those of expressions with a time of day of which the day is right: neither right
    nor wrong in ``f1``, wrong in ``strict``.
    """

    right: int
    wrong: int
    timed: int
    total: int
    false: int
    empty: int

    @property
    def f1(self) -> float:
        return 2 * self.right / max(1, self.right + self.wrong + self.total)

    @property
    def strict(self) -> float:
        return 2 * self.right / max(1, self.right + self.wrong + self.timed + self.total)


def _rows(language: str) -> list[dict[str, Any]]:
    return json_lines(data_root() / f"cognition/dates/recognizers_{language}.jsonl")


def _values(entity: dict[str, Any]) -> list[tuple[str | None, ...]]:
    """The resolved values of an entity, empty if the set resolves none."""
    found: list[tuple[str | None, ...]] = []
    for value in entity["values"]:
        if value.get("value") == "not resolved":
            continue
        single = entity["type"] == "date"
        found.append((value["value"],) if single else (value.get("start"), value.get("end")))
    return found


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


def _is_right(found: DateExpression, entity: dict[str, Any]) -> bool:
    """The reading that the product takes is one of the values; ranges end as the set ends them."""
    values, period = _values(entity), found.period
    if entity["type"] == "date":
        return (
            period.first is not None
            and period.first == period.last
            and ((_iso(period.first),) in values)
        )
    ends = {_iso(period.until), _iso(period.end)} if period.until else {_iso(period.end)}
    return any((_iso(period.first), end) in values for end in ends)


def given(language: str) -> dict[str, Given]:
    """The spans of the set, read alone: ``date`` and ``daterange``."""
    counts = {kind: [0, 0, 0] for kind in _KINDS}
    for row in _rows(language):
        today = date.fromisoformat(row["reference"][:10])
        for entity in row["results"]:
            if entity["type"] not in _KINDS or not _values(entity):
                continue
            text = row["input"][entity["start"] : entity["end"] + 1]
            count = counts[entity["type"]]
            count[0] += 1
            found = _whole(text, dates_in(text, today, turkish=language == "tr"))
            if found is not None:
                count[1] += 1
                count[2] += _is_right(found, entity)
    return {kind: Given(*count) for kind, count in counts.items()}


def _whole(text: str, found: Sequence[DateExpression]) -> DateExpression | None:
    """The expression that is the whole span; a part of it is no answer."""
    longest = max(found, key=lambda each: each.end - each.start, default=None)
    if longest is None:
        return None
    rest = f"{text[: longest.start]} {text[longest.end :]}".lower()
    return longest if set(re.findall(r"\w+", rest)) <= _BESIDE else None


def free(language: str) -> Free:
    """Dates found in the sentences of the set, without their spans."""
    right = wrong = timed = total = false = empty = 0
    for row in _rows(language):
        today = date.fromisoformat(row["reference"][:10])
        found = dates_in(row["input"], today, turkish=language == "tr")
        empty += not row["results"]
        false += not row["results"] and bool(found)
        wanted = [each for each in row["results"] if each["type"] in _KINDS and _values(each)]
        total += len(wanted)
        for each in found:
            hit = next(
                (entity for entity in wanted if _touch(each, entity) and _is_right(each, entity)),
                None,
            )
            if hit is not None:
                wanted.remove(hit)
                right += 1
            elif any(
                _touch(each, entity) and _is_day(each, entity)
                for entity in row["results"]
                if entity["type"] in _TIMED
            ):
                timed += 1
            else:
                wrong += 1
    return Free(right, wrong, timed, total, false, empty)


def _touch(found: DateExpression, entity: dict[str, Any]) -> bool:
    return bool(found.start <= entity["end"] and entity["start"] < found.end)


def _is_day(found: DateExpression, entity: dict[str, Any]) -> bool:
    days = {
        str(value.get(key, ""))[:10]
        for value in entity["values"]
        for key in ("value", "start", "end")
    }
    return any(_iso(each.first) in days for each in found.periods)


def english_dates() -> list[Score]:
    """Row 8: Recognizers-Text, development half."""
    return _dates("en")


def turkish_dates() -> list[Score]:
    """Row 9: the same sets in Turkish."""
    return _dates("tr")


def _dates(language: str) -> list[Score]:
    spans, text = given(language), free(language)
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
