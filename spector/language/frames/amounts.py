"""Amounts in texts, and the value that a cue asks for."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from spector.language.cues import asks_for_value
from spector.language.tables import grammar_table, pattern_rows, patterns_of
from spector.language.words import analyse, plain
from spector.process import keeps

_RE: Final = patterns_of("amounts")

_TABLE: Final = grammar_table("any", "amounts")
_FIGURES: Final = {
    word: figure for figure, words in _TABLE["figures"].items() for word in words.split()
}
_MANY: Final[dict[str, int]] = _TABLE["multipliers"]
_FIGURE: Final = re.compile(rf"\b(?:{'|'.join(sorted(_FIGURES, key=len, reverse=True))})(?= [a-z])")
#: digits of a code, at least
_CODE_DIGITS: Final = 4
#: hours of a day
_DAY_HOURS: Final = 24


class Amount(NamedTuple):
    """A value: its kind, its normal form, the unit of a number, and where it stands."""

    kind: str
    form: str
    unit: str
    start: int
    end: int


def values_and_rest(folded: str) -> tuple[tuple[Amount, ...], str]:
    """The values of a text in folded letters, and the text with blanks in their places."""
    text = _FIGURE.sub(lambda found: _FIGURES[found.group()], folded)
    out: list[Amount] = []
    for kind, pattern in pattern_rows("amounts", "kinds"):
        for found in list(pattern.finditer(text)):
            start, end = found.span()
            if kind == "phone" and sum(map(str.isdigit, found.group())) < _DIGITS:
                continue
            if not text[start:end].strip():
                continue
            out.append(_amount(kind, found))
            text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return tuple(sorted(out, key=lambda each: each.start)), text


#: digits of a number to call, at least
_DIGITS: Final = 7


def _amount(kind: str, found: re.Match[str]) -> Amount:
    start, end = found.span()
    word = found.group().strip()
    if kind == "number":
        figure = found["of"] or found["n"]
        number = figure.replace(",", "") if "," not in figure[-3:] else figure.replace(",", ".")
        if re.fullmatch(r"\d{1,3}(?:\.\d{3})+", number):
            number = number.replace(".", "")
        form = number.rstrip(".")
        if found["many"] and form.replace(".", "", 1).isdigit():
            form = f"{float(form) * _TABLE['multipliers'][found['many']]:g}"
        return Amount(kind, form, _unit_of(found["sign"] or found["unit"] or ""), start, end)
    if kind in ("phone", "place"):
        word = "".join(filter(str.isdigit, word))
    elif kind == "day":
        word = next(each for each in _STEMS if word.startswith(each))
    elif kind == "hour":
        word = _hour(word)
    elif kind in ("date", "month"):
        word = _date(word)
    return Amount(kind, word, "", start, end)


_STEMS: Final = tuple(_TABLE["words"]["days"].split())
_UNITS: Final[dict[str, str]] = _TABLE["units"]
_MONEY: Final = frozenset(("$", "€", "£", "tl", "lb"))


def _unit_of(word: str) -> str:
    return next(
        (unit for start, unit in _UNITS.items() if word.startswith(start)), word.rstrip("s")
    )


def _hour(word: str) -> str:
    figures = re.findall(r"\d+", word)
    if not figures:
        return "12" if word == "noon" else "0"
    minutes = "30" if "bucu" in word else figures[1] if len(figures) > 1 else "00"
    hour = str(figures[0]).lstrip("0")
    return hour if minutes == "00" else f"{hour}:{minutes}"


def _date(word: str) -> str:
    day = "".join(re.findall(r"\d+", word))
    name = next((each.group() for each in _RE["months"].finditer(word)), "")
    return f"{name[:3]} {day}".strip()


def are_of_kind(old: Amount, new: Amount) -> bool:
    """Whether one value may take the place of another."""
    if old.kind == new.kind:
        return (
            old.kind != "number"
            or not new.unit
            or old.unit == new.unit
            or (not old.unit and new.unit in _MONEY)
        )
    kinds = {old.kind, new.kind}
    if kinds == {"hour", "number"}:
        number = old if old.kind == "number" else new
        return not number.unit and number.form.isdigit() and int(number.form) <= _DAY_HOURS
    if kinds == {"place", "number"} and new.kind == "number":
        return not new.unit and new.form.isdigit() and int(new.form) <= 31
    if kinds == {"code", "number"}:
        number = old if old.kind == "number" else new
        return not number.unit and len(number.form) >= _CODE_DIGITS
    return kinds in ({"date", "month"}, {"date", "place"})


# A question that asks for a value, and the sentence of a long message that gives one.
#
# "How many beehives do I have?" is answered in the midst of a message that says much else: "...
# after splitting the strong colonies there are now 9 beehives along the hedge, ...". Only the
# sentence with the value is looked at; no frame is needed, and nothing is said about what it
# replaces.

_CHARS: Final = 4_000
_SENTENCES: Final = 40
#: words of a question that a sentence must have
_LEAST: Final = 2
_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE: Final = re.compile(r"(?<!\d)[.!?;\n]+\s+|\n+")
_OWNER: Final = re.compile(r"\b([a-z]+)['’]s\b|\b((?:anne|baba|kardes|abi|abla|es)\w*[iu]n)\b")
_PLACES: Final = frozenset("first second third fourth fifth next final".split())
_NO_OWNERS: Final = frozenset("it that what there he she who let here how where today".split())
_NOTHING: Final = frozenset(analyse("how many much often total current time kac kadar").content())


class Given(NamedTuple):
    """A sentence that gives a value of the kind that is asked for.

    Attributes:
        values: kind and normal form of each. shared: words of the question that it has, by number.
        is_new: it says that something has changed.
    """

    values: frozenset[tuple[str, str]]
    shared: frozenset[int]
    is_new: bool


class ValueAsked(NamedTuple):
    """A question for a value as it is now.

    Attributes:
        words: that tell what it is of, each as it may begin.
        counted: how the words of what "how many" counts begin.
        places: in a row, which a sentence has to name as well: the first sprint.
    """

    words: tuple[frozenset[str], ...]
    counted: frozenset[str]
    places: frozenset[str]

    def given_in(self, text: str) -> Given | None:
        """The sentence of a text that answers best; None where none has a value and two words."""
        best: Given | None = None
        for folded, words, values in _sentences(text[:_CHARS]):
            shared = frozenset(n for n, keys in enumerate(self.words) if keys & words)
            if len(shared) < _LEAST or self._is_of_another(folded) or not self.places <= words:
                continue
            if best is not None and len(shared) <= len(best.shared):
                continue
            found = frozenset(
                (each.kind + each.unit, each.form)
                for each in values
                if not self.counted or self._is_count(each, folded)
            )
            if found:
                best = Given(found, shared, _RE["new"].search(folded) is not None)
        return best

    def _is_of_another(self, folded: str) -> bool:
        """Whether a sentence names an owner that the question does not name."""
        return any(
            not any((found[1] or found[2])[:_KEY] in keys for keys in self.words)
            for found in _OWNER.finditer(folded)
            if found[1] not in _NO_OWNERS
        )

    def _is_count(self, value: Amount, folded: str) -> bool:
        """Whether a number counts what is asked for, or says no noun."""
        if value.kind != "number":
            return False
        behind = re.findall(r"[a-z]+", folded[value.end : value.end + _NEAR])[:3]
        if any(word.startswith(tuple(self.counted)) for word in behind):
            return True
        return not re.match(r"\s*[a-z]{3,}", folded[value.end :]) and value.unit == ""


#: letters by which words with other endings are known
_STEM, _KEY = 4, 5
#: characters behind a number in which its noun stands
_NEAR: Final = 40


@keeps(64)
def value_asked(cue: str) -> ValueAsked | None:
    """The question that a cue asks for a value; None where it asks for none, or for an old one."""
    if not asks_for_value(cue):
        return None
    folded = plain(cue[:400])
    known = analyse(cue)
    words = tuple(
        frozenset((form[:_KEY], stem[:_KEY]))
        for form, stem in dict(zip(known.forms, known.words, strict=True)).items()
        if stem in known.content() and stem not in _NOTHING
    )
    found = _RE["counts"].search(folded)
    noun = next(filter(None, found.groups())) if found else ""
    counted = frozenset(each[:_STEM] for each in analyse(noun).content())
    places = _PLACES & set(known.forms)
    return ValueAsked(words, counted, places) if len(words) >= _LEAST else None


@keeps(256)
def _sentences(text: str) -> tuple[tuple[str, frozenset[str], tuple[Amount, ...]], ...]:
    out = []
    for part in _SENTENCE.split(_CODE.sub(" . ", text))[:_SENTENCES]:
        if not any(map(str.isdigit, part)):
            continue
        folded = plain(part)
        values, _ = values_and_rest(folded)
        if values:
            found = analyse(part)
            keys = frozenset(each[:_KEY] for each in (*found.forms, *found.content()))
            out.append((folded, keys, values))
    return tuple(out)
