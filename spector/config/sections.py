"""What a section of the configuration is, and how each of its values is checked.

The annotation of a field says what may be in it: a class, a ``Literal`` of words, or one of the
names below, which carry a range. A value that equals its default is not looked at.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

from spector.errors import InvalidInputError
from spector.messages import shown

__all__ = [
    "Amount",
    "Count",
    "Factor",
    "Growth",
    "Names",
    "Numbers",
    "Positive",
    "Range",
    "Section",
    "Share",
    "Shares",
    "Whole",
]

#: no count, no number of days and no amount is above this
_MOST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Range:
    """From which number to which, both included unless ``above`` says that the first is not."""

    least: float
    most: float = _MOST
    above: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number is in this range."""
        return (value > self.least if self.above else value >= self.least) and value <= self.most

    def __str__(self) -> str:
        if self.most == _MOST:
            return f"above {self.least:g}" if self.above else f"of {self.least:g} or more"
        begin = f"above {self.least:g}, up to" if self.above else f"in {self.least:g}.."
        return f"{begin} {self.most:g}" if self.above else f"{begin}{self.most:g}"


@dataclass(frozen=True, slots=True)
class Words:
    """Several of these words, each once; ``least`` of them."""

    known: tuple[str, ...]
    least: int = 0


#: a part of a whole
Share: TypeAlias = Annotated[float, Range(0.0, 1.0)]
#: how much is added or subtracted, or from where on something is so
Amount: TypeAlias = Annotated[float, Range(0.0)]
#: what something is divided by, or lasts
Positive: TypeAlias = Annotated[float, Range(0.0, above=True)]
#: by what a strength is multiplied
Factor: TypeAlias = Annotated[float, Range(0.0, 100.0)]
#: by what a strength grows: it never shrinks
Growth: TypeAlias = Annotated[float, Range(1.0, 100.0)]
#: how many: at least one
Count: TypeAlias = Annotated[int, Range(1)]
#: how many: none is fine
Whole: TypeAlias = Annotated[int, Range(0)]
#: several parts of a whole
Shares: TypeAlias = tuple[Share, ...]
#: several words
Names: TypeAlias = tuple[str, ...]


class Numbers(Mapping[str, float]):
    """A number for each of some names. It cannot be changed, and is equal to a dict like it."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Mapping[str, float] | Iterable[tuple[str, float]]) -> None:
        self._pairs = tuple(dict(pairs).items())

    def __getitem__(self, name: str) -> float:
        for each, number in self._pairs:
            if each == name:
                return number
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __hash__(self) -> int:
        return hash(frozenset(self._pairs))

    def __repr__(self) -> str:
        return repr(dict(self._pairs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A frozen part of the configuration. Its fields are checked when it is made."""

    #: how it is called in a Config
    NAME: ClassVar[str]

    def __post_init__(self) -> None:
        kind: type = type(self)
        for field in fields(self):
            value = getattr(self, field.name)
            if value is field.default:
                continue
            rules = _rules_of(kind)
            name = f"Config.{self.NAME}.{field.name}"
            checked = _checked(value, rules[field.name], field.default, name)
            object.__setattr__(self, field.name, checked)
        self._check()

    def _check(self) -> None:
        """Compare fields with each other."""

    def _ordered(self, low: str, high: str) -> None:
        if getattr(self, low) > getattr(self, high):
            raise InvalidInputError(
                f"Config.{self.NAME}.{low} is {shown(getattr(self, low))}, above"
                f" {high}={shown(getattr(self, high))}",
                hint=f"pass {low} up to {high}",
            )


@functools.cache
def _rules_of(section: type) -> Mapping[str, Any]:
    return get_type_hints(section, include_extras=True)


def _checked(value: Any, rule: Any, default: Any, name: str) -> Any:
    """The value as it is kept.

    Raises:
        InvalidInputError: It is not what the annotation of its field says.
    """
    origin, parts = get_origin(rule), get_args(rule)
    if rule is bool:
        return _one(value, (True, False), name)
    if origin is UnionType:  # bool | None
        return _one(value, (None, True, False), name)
    if origin is Literal:
        return _one(value, parts, name)
    if origin is Annotated and isinstance(parts[1], Words):
        return _words(value, parts[1], name)
    if origin is Annotated and parts[0] is Numbers:
        return _numbers(value, default, parts[1], name)
    if origin is Annotated:
        return _number(value, parts[0], parts[1], name)
    return _shares(value, len(default), get_args(parts[0])[1], name)


def _one(value: Any, known: tuple[Any, ...], name: str) -> Any:
    if any(value is each or (isinstance(value, str) and value == each) for each in known):
        return value
    raise InvalidInputError(
        f"{name} is {shown(value)}", hint="pass " + " or ".join(map(repr, known))
    )


def _number(value: Any, kind: type, within: Range, name: str) -> Any:
    whole = kind is int
    if (
        isinstance(value, bool)
        or not isinstance(value, int if whole else (int, float))
        or math.isnan(value)
        or not within.holds(value)
    ):
        raise InvalidInputError(
            f"{name} is {shown(value)}",
            hint=f"pass {'an integer' if whole else 'a number'} {within}",
        )
    return value


def _shares(value: Any, count: int, within: Range, name: str) -> tuple[float, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        values: list[Any] = []
    else:
        values = list(value)
    if len(values) != count:
        raise InvalidInputError(f"{name} is {shown(value)}", hint=f"pass {count} numbers {within}")
    return tuple([_number(each, float, within, name) for each in values])


def _words(value: Any, words: Words, name: str) -> tuple[str, ...]:
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        given: list[Any] = [value]
    else:
        given = [value] if isinstance(value, str) else list(value)
    wrong = [each for each in given if not isinstance(each, str) or each not in words.known]
    if wrong or len(given) < words.least:
        raise InvalidInputError(
            f"{name} is {shown(value)}", hint=f"pass some of {', '.join(words.known)}"
        )
    return tuple([each for each in words.known if each in given])


def _numbers(value: Any, default: Numbers, within: Range, name: str) -> Numbers:
    """The default with other numbers for the names that are given."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(
            f"{name} is {shown(value)}", hint=f"pass a number for some of {', '.join(default)}"
        )
    for each, number in value.items():
        if each not in default:
            raise InvalidInputError(
                f"{name} has no {shown(each)}", hint=f"it has {', '.join(default)}"
            )
        _number(number, float, within, f"{name}[{each!r}]")
    return Numbers({**default, **value})
