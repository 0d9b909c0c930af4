"""Turkish sentences without a verb: slots and values, var and yok, roles, states, ages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from spector.language.frames.statement import Draft
from spector.language.frames.turkish import tables
from spector.language.frames.turkish.objects import trimmed
from spector.language.frames.turkish.phrases import Noun, Subject, subject_of
from spector.language.frames.turkish.slots import slot_of
from spector.language.frames.turkish.suffixes import (
    person_forms,
    strip_case,
    strip_copula,
)
from spector.language.words import plain

#: the second part of an occupation in two words: "yazılım mühendisi"
_COMPOUNDS: Final = frozenset(
    """muhendisi uzmani danismani analisti gelistiricisi tasarimcisi ogretmeni memuru
    operatoru teknisyeni doktoru muduru hekimi gorevlisi""".split()
)
_AGED: Final = frozenset(("yasinda", "yasindayim", "yasindayiz", "yasindadir"))
_MARITAL_FORMS: Final = {
    **{plain(word): (3, kept) for word, kept in tables.MARITAL.items()},
    **{form: (1, kept) for word, kept in tables.MARITAL.items() for form in person_forms(word)},
    "bosandim": (1, "boşanmış"),
    "evlendim": (1, "evli"),
    "nisanlandim": (1, "nişanlı"),
}
_DIET_FORMS: Final = {
    **{plain(word): (3, word) for word in tables.DIETS},
    **{form: (1, word) for word in tables.DIETS for form in person_forms(word)},
}
_BECAME: Final = frozenset(("oldum", "oldu", "olduk"))


def nominal(part: list[Noun], text: str) -> Iterator[Draft]:
    """The statements of a clause that ends in no verb with a frame."""
    body = list(part)
    changed = body[-1].text in _BECAME
    person = 0
    if changed:
        person = 1 if body.pop().text.endswith(("m", "k")) else 3
    negated = bool(body) and body[-1].text in ("degil", "degilim", "degildir")
    if negated:
        person = 1 if body[-1].text == "degilim" else 3
        body.pop()
    while body and body[-1].text in tables.ADVERBS and body[-1].kind == "word":
        changed |= body[-1].text in ("artik", "simdi")
        body.pop()
    if not body:
        return
    last = body[-1]
    made: Draft | None
    if last.text in ("var", "yok", "vardi", "vardir", "yoktur"):
        made = _has(body, text)
    elif last.whole in _AGED:
        made = _age(body, text)
    else:
        made = slot_of(body, text) or _state(body, text, person)
    if made is not None:
        made.changed |= changed
        made.polarity = made.polarity != negated
        yield made


def _who(part: Sequence[Noun], end: int, person: int, text: str) -> Subject | None:
    """The subject before an index: who speaks, or what the clause begins with."""
    at = 0
    while at < end and (part[at].text in tables.ADVERBS or part[at].text in ("ben", "biz")):
        at += 1
    if person == 1:
        noun = part[0] if part[0].text in ("ben", "biz") else part[end]
        return Subject(1, "", (noun.start, noun.stop), at) if at >= end else None
    found = subject_of(part[: end + 1], text)
    if found is None:
        return None
    at = found.after
    while at < end and (part[at].text in tables.ADVERBS or part[at].text == "bir"):
        at += 1
    return found if at >= end else None


def _state(part: list[Noun], text: str, person: int) -> Draft | None:
    """ "evliyim", "veganım", "öğretmenim", "İzmirliyim", "X'e alerjiğim"."""
    at = len(part) - 1
    noun = part[at]
    word = (
        noun.whole
        if noun.suffix in ("im", "um", "yim", "yum")
        else strip_copula(noun.text, noun.suffix)
    )
    if noun.suffix and word == noun.raw:
        word = noun.text
    found: tuple[int, str, str] | None = None
    if word in _MARITAL_FORMS:
        found = (_MARITAL_FORMS[word][0], "marital_status", _MARITAL_FORMS[word][1])
    elif word in _DIET_FORMS:
        found = (_DIET_FORMS[word][0], "diet", _DIET_FORMS[word][1])
    elif word in tables.ROLE_FORMS:
        return _role(part, at, person or tables.ROLE_FORMS[word], text)
    elif word in ("alerjigim", "alerjik", "alerjim") and at:
        stem = strip_case(part[at - 1].raw, part[at - 1].suffix, "dat")
        who = _who(part, at - 1, 3 if word == "alerjik" and not person else 1, text)
        if stem is not None and who is not None:
            return _made(part, at - 1, who, "allergic_to", stem, "tr:allergic")
    if found is None:
        return None
    who = _who(part, at, person or found[0], text)
    return _made(part, at, who, found[1], found[2], f"tr:{found[1]}")


def _role(part: list[Noun], at: int, person: int, text: str) -> Draft | None:
    noun = part[at]
    first = at
    stem = noun.raw
    if person == 1:
        base = next(
            (role for role in tables.ROLES if noun.whole in person_forms(role.replace("-", " "))),
            None,
        )
        stem = noun.raw if base is None else base
    else:
        stem = strip_copula(noun.raw, noun.suffix)
    compound = first > 0 and plain(stem) in _COMPOUNDS
    if compound and strip_case(part[first - 1].raw, part[first - 1].suffix, "gen") is not None:
        return None
    if compound and part[first - 1].kind == "word" and part[first - 1].text not in tables.ADVERBS:
        first -= 1
    who = _who(part, first, person, text)
    if who is None:
        return None
    value = trimmed(part, first, at + 1, stem, text)
    draft = _made(part, at, who, "works_as", value, "tr:role")
    if draft is not None:
        draft.object_span = (part[first].start, noun.end)
    return draft


def _made(
    part: Sequence[Noun], at: int, who: Subject | None, predicate: str, value: str, frame: str
) -> Draft | None:
    if who is None:
        return None
    noun = part[at]
    return Draft(
        who.owner,
        who.name,
        predicate,
        value,
        who.span,
        (noun.start, noun.end),
        (min(who.span[0], noun.start), part[-1].stop),
        frame=frame,
    )


def _age(part: list[Noun], text: str) -> Draft | None:
    at = len(part) - 2
    if at < 0 or not (part[at].text.isdigit() or part[at].text in tables.NUMBERS):
        return None
    first = at
    while first > 0 and part[first - 1].text in tables.NUMBERS:
        first -= 1
    person = 1 if part[-1].whole.endswith(("dayim", "dayiz")) else 3
    who = _who(part, first, person, text)
    value = text[part[first].start : part[at].end]
    draft = _made(part, at, who, "age", value, "tr:age")
    if draft is not None:
        draft.object_span = (part[first].start, part[at].end)
    return draft


def _has(part: list[Noun], text: str) -> Draft | None:
    """ "fıstığa alerjim var", "Selin'in süte alerjisi yok"."""
    at = len(part) - 2
    if at < 1 or part[at].text not in ("alerjim", "alerjisi"):
        return None
    stem = strip_case(part[at - 1].raw, part[at - 1].suffix, "dat")
    who = _who(part, at - 1, 1 if part[at].text == "alerjim" else 3, text)
    if stem is None:
        return None
    draft = _made(part, at - 1, who, "allergic_to", stem, "tr:allergic")
    if draft is not None:
        draft.polarity = part[-1].text.startswith("var")
    return draft
