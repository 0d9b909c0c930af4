"""Slots of a subject that English sentences fill, and kinds of nouns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.english.phrases import Phrase, phrase_at, quote_at, text_of
from spector.language.frames.english.vocabulary import WORDS
from spector.language.frames.predicates import DISCOURSE_NOUNS, KIN, SLOTS, is_plural, predicate_of
from spector.language.frames.sentences import Place, Word
from spector.language.frames.values import is_date

# What an object has to be for a frame to state something: places, roles, amounts, works.

Check = Callable[[Sequence[Word], Phrase], bool]

MARITAL: Final = frozenset("single married engaged divorced widowed separated".split())
DIETS: Final = WORDS["diets"]


def head_of(words: Sequence[Word], phrase: Phrase) -> Word:
    """The last word before an "of", else the last one."""
    for at in range(phrase.first + 1, phrase.end):
        if words[at].text == "of":
            return words[at - 1]
    return words[phrase.end - 1]


def is_named(words: Sequence[Word], phrase: Phrase) -> bool:
    """Whether a phrase is written as a name is, or its whole sentence without any capital."""
    if phrase.article == '"':
        return True
    last = words[phrase.end - 1]
    if last.capital and last.kind == "word":
        return True
    return (
        last.kind == "word"
        and phrase.article == ""
        and not phrase.owner
        and not any(word.capital for word in words if word.text != "i")
    )


def is_amount(words: Sequence[Word], phrase: Phrase) -> bool:
    inside = words[phrase.first : phrase.end]
    return any(word.kind == "number" or word.text in words_of.NUMBERS for word in inside)


def is_role(words: Sequence[Word], phrase: Phrase) -> bool:
    """Whether a phrase names an occupation."""
    head = head_of(words, phrase).text
    last = head.rpartition("-")[2]
    if last in WORDS["no_roles"]:
        return False
    return last in WORDS["roles"] or (last.endswith("ologist") and len(last) > 8)


def _is_thing(words: Sequence[Word], phrase: Phrase) -> bool:
    head = head_of(words, phrase)
    if words[phrase.first].text in ("few", "couple", "bit"):
        return False
    if head.text in words_of.VAGUE or (len(head.text) < 2 and not head.text.isdigit()):
        return False
    return not (
        phrase.end - phrase.first == 1
        and (head.text.endswith("ed") or head.text in words_of.ADVERBS)
    )


def _is_place(words: Sequence[Word], phrase: Phrase) -> bool:
    head = head_of(words, phrase)
    if is_named(words, phrase) and head.text not in words_of.VAGUE:
        return head.text not in words_of.WEEKDAYS and not is_amount(words, phrase)
    return phrase.article in ("a", "the") and head.text in WORDS["places"] and not phrase.owner


def _is_liked(words: Sequence[Word], phrase: Phrase) -> bool:
    """Something by its own name: "the colours" are those of a picture just shown."""
    shown = phrase.article in ("the", "all", "some", "any", "this")
    return _is_thing(words, phrase) and (not shown or words[phrase.end - 1].capital)


def _is_had(words: Sequence[Word], phrase: Phrase) -> bool:
    """A thing with an article, a number or "my": no "the time", no "fun"."""
    head = head_of(words, phrase).text
    shown = phrase.article in ("the", "any", "some", "this")
    if shown or words[phrase.first].text in WORDS["praise"]:
        return False
    counted = bool(phrase.article or phrase.owner == 1) and _is_thing(words, phrase)
    return head in KIN or (counted and head not in WORDS["nothing_to_have"])


def _is_used(words: Sequence[Word], phrase: Phrase) -> bool:
    return _is_thing(words, phrase) and not phrase.owner and phrase.article not in ("some", "this")


def _is_org(words: Sequence[Word], phrase: Phrase) -> bool:
    if words[phrase.end - 1].capital or is_named(words, phrase):
        return head_of(words, phrase).text not in words_of.WEEKDAYS
    return (
        bool(phrase.article or phrase.owner)
        and _is_thing(words, phrase)
        and (not is_amount(words, phrase))
    )


def _is_address(words: Sequence[Word], phrase: Phrase) -> bool:
    inside = words[phrase.first : phrase.end]
    return is_amount(words, phrase) and any(word.capital for word in inside)


#: kind of an object -> whether a phrase is of it
KINDS: Final[dict[str, Check]] = {
    "place": _is_place,
    "address": _is_address,
    "role": is_role,
    "org": _is_org,
    "liked": _is_liked,
    "bare": lambda words, phrase: (
        not phrase.owner and not phrase.article and _is_thing(words, phrase)
    ),
    "used": _is_used,
    "moment": lambda words, phrase: (
        words[phrase.first].kind == "number"
        and is_date(" ".join(word.raw for word in words[phrase.first : phrase.end]))
    ),
    "had": _is_had,
    "slot": lambda words, phrase: False,
    "thing": _is_thing,
    "language": lambda words, phrase: words[phrase.end - 1].capital and not phrase.article,
    "name": is_named,
    "amount": is_amount,
}


#: say nothing about which slot is meant
_PLAIN_MODIFIERS: Final = frozenset("new current own present latest actual full first".split())
_PAST_MODIFIERS: Final = frozenset("old previous former ex last next original future".split())
_CHECKS: Final[dict[str, Check]] = {
    **dict.fromkeys(("lives_in", "born_in", "located_in"), _is_place),
    **dict.fromkeys(WORDS["slots_of_amounts"], is_amount),
    "works_as": is_role,
    "is_named": is_named,
    "works_at": _is_org,
    "email": lambda words, phrase: words[phrase.first].kind == "mail",
    "url": lambda words, phrase: "." in words[phrase.first].raw,
    "marital_status": lambda words, phrase: words[phrase.first].text in MARITAL,
    "diet": lambda words, phrase: words[phrase.first].text in DIETS,
}
_BEFORE_VALUE: Final = {
    "lives_in": ("in",), "located_in": ("in", "at"), "born_in": ("in",),
    "deadline": ("on", "by", "at", "in"), "version": ("at",), "works_at": ("at", "with"),
    "birthday": ("on", "in"), "port": ("port",),
}  # fmt: skip
_EXTENDING: Final = frozenset("in for from to by about on with at".split())
MONTHS: Final = WORDS["months"]
_DAYS: Final = frozenset("tomorrow today tonight midnight noon".split())


class Slot(NamedTuple):
    """A slot: whose it is, its predicate, and whether the table knows its name."""

    owner: int
    subject: str
    predicate: str
    known: bool
    span: Place


class Value(NamedTuple):
    """A value: words ``first`` to ``end``; what follows it begins at ``after``, 0 for its end."""

    first: int
    end: int
    after: int = 0
    changed: bool = False
    added: bool = False


def is_person(words: Sequence[Word], phrase: Phrase) -> bool:
    """Whether a phrase is "my sister", "Anna's boss": a person of another one."""
    if any(word.text == "of" for word in words[phrase.first : phrase.end]):
        return False
    last = phrase.end - 1
    while last > phrase.first and words[last].capital:
        last -= 1
    return words[last].text in KIN and bool(phrase.owner or _possessive(words, phrase) >= 0)


def subject_name(words: Sequence[Word], phrase: Phrase, text: str) -> str:
    """A subject without its article; a name behind "my sister" is left out."""
    end = phrase.end
    if is_person(words, phrase):
        while end - 1 > phrase.first and words[end - 1].capital:
            end -= 1
    return text_of(words, phrase.first, end, text)


def _possessive(words: Sequence[Word], phrase: Phrase) -> int:
    """Index of the last "'s" in a phrase, or -1."""
    for at in range(phrase.end - 2, phrase.first, -1):
        if words[at].text == "'s":
            return at
    return -1


def slot_at(words: Sequence[Word], phrase: Phrase, text: str) -> Slot | None:
    """The slot that a phrase names, or None."""
    at = _possessive(words, phrase)
    inside = [word.text for word in words[phrase.first : phrase.end]]
    span = (words[phrase.start].start, words[phrase.end - 1].end)
    if at > 0:
        subject = text_of(words, phrase.first, at, text)
        return _slot(phrase.owner, subject, words, at + 1, phrase.end, span)
    if "of" in inside or "for" in inside:
        middle = phrase.first + inside.index("of" if "of" in inside else "for")
        if phrase.article != "the" and not phrase.owner:
            return None
        begin = middle + 1
        while begin < phrase.end and (
            words[begin].text in words_of.ARTICLES
            or (words[begin].text in words_of.POSSESSIVES and not words[begin].capital)
        ):
            begin += 1
        if begin == phrase.end:
            return None
        subject = text_of(words, begin, phrase.end, text)
        span = (words[begin].start, words[phrase.end - 1].end)
        return _slot(0, subject, words, phrase.first, middle, span)
    if phrase.owner:
        return _slot(phrase.owner, "", words, phrase.first, phrase.end, span)
    if phrase.article == "the":
        return _slot(0, "", words, phrase.first, phrase.end, span)
    return None


def _slot(
    owner: int, subject: str, words: Sequence[Word], first: int, end: int, span: Place
) -> Slot | None:
    nouns = [word.text for word in words[first:end]]
    while len(nouns) > 1 and nouns[0] in _PLAIN_MODIFIERS:
        nouns.pop(0)
    raws = [word.raw for word in words[end - len(nouns) : end]]
    if (
        not nouns
        or nouns[0] in _PAST_MODIFIERS
        or not all(any(map(str.isalpha, noun)) for noun in nouns)
    ):
        return None
    if nouns[-1] in DISCOURSE_NOUNS or (
        is_plural(nouns[-1]) and nouns[-1] not in KIN and (nouns[-1] != "headquarters")
    ):
        return None
    for at, noun in enumerate(nouns[:-1]):
        if noun in ("favourite", "favorite"):
            return Slot(owner, subject, "favourite_" + _snake(nouns[at + 1 :]), True, span)
    if nouns[-1] in ("favourite", "favorite", "fav"):
        return None
    predicate, modifiers = predicate_of(" ".join(nouns))
    known = predicate in SLOTS
    if not (owner or subject):  # "the database": the thing and its slot have one name
        named, predicate = (
            (modifiers, predicate) if known and modifiers else (" ".join(nouns), "is")
        )
        return Slot(0, " ".join(raws[: len(named.split())]), predicate, known, span)
    if owner and not subject and nouns == ["number"]:
        return Slot(owner, "", "phone", True, span)
    if modifiers and (subject or modifiers not in ("email", "home", "personal")):
        predicate = _snake([*modifiers.split(), predicate])
    return Slot(owner, subject, predicate, known or nouns[-1] in WORDS["slots_of_things"], span)


def _snake(nouns: Sequence[str]) -> str:
    return "_".join(nouns).replace("-", "_").replace("color", "colour")


def value_at(words: Sequence[Word], at: int, slot: Slot, text: str) -> Value | None:
    """The value that follows the copula of a slot, if it is one the slot can have."""
    changed = added = False
    while at < len(words) and (words[at].text in words_of.ADVERBS or words[at].text == "now"):
        changed |= words[at].text in ("now", "currently", "nowadays")
        added |= words[at].text == "also"
        at += 1
    if at < len(words) and words[at].text in ("called", "named"):
        at += 1
    base = slot.predicate
    prepositions = _BEFORE_VALUE.get(base, ())
    stands = at < len(words) and words[at].text in prepositions
    if base == "lives_in" and not stands:
        return None
    at += stands
    phrase = quote_at(words, at) or number_at(words, at) or phrase_at(words, at)
    if phrase is None or phrase.owner:
        return None
    if (
        base == "deadline"
        and at
        and words[at - 1].text == "at"
        and phrase.end == at + 1
        and (
            words[at].text in words_of.NUMBERS
            or (words[at].text.isdigit() and len(words[at].text) < 3)
        )
    ):
        return Value(at, at + 1, at + 1, changed, added)
    rate = (
        words[phrase.first].kind == "number"
        and phrase.end < len(words)
        and (words[phrase.end].text in ("a", "per", "each"))
    )
    if not rate and not _ends(words, phrase.end):
        phrase = _extended(words, phrase, slot)
        if phrase is None:
            return None
    if not _fits(words, phrase, slot, text):
        return None
    after = phrase.end + (phrase.article == '"')
    while after < len(words) and words[after].text in ("now", "today", "currently", "nowadays"):
        changed, after = True, after + 1
    added |= any(word.text in ("too", "also") for word in words[after : after + 2])
    return Value(phrase.first, phrase.end, after, changed, added)


def number_at(words: Sequence[Word], at: int) -> Phrase | None:
    """A number with its unit, a phone number in groups, a date: whatever runs on."""
    if at >= len(words):
        return None
    first = words[at]
    if not (
        first.kind in ("number", "mail", "link")
        or first.text in words_of.WEEKDAYS
        or first.text in _DAYS | words_of.NUMBERS
        or (first.text in MONTHS and first.capital)
    ):
        return None
    end = at + 1
    while (
        end < len(words)
        and end - at < 7
        and (
            words[end].kind == "number"
            or words[end].text in MONTHS
            or (words[end].text == "," and end + 1 < len(words) and words[end + 1].kind == "number")
            or (
                words[end].kind == "word"
                and words[end].text not in words_of.STOPS
                and not words[end].text.endswith("ly")
            )
        )
    ):
        end += 1
    return Phrase(at, at, end, 0, first.text)


def _ends(words: Sequence[Word], at: int) -> bool:
    if at >= len(words) or words[at].kind == "sign":
        return at >= len(words) or words[at].text not in "-/=:*("
    if words[at].text in ("and", "or"):  # a clause may follow, another value may not
        after = [word.text for word in words[at + 1 : at + 4]]
        subject = after and (after[0] in words_of.POSSESSIVES or after[0] in words_of.PRONOUNS)
        return bool(subject) or any(
            each in words_of.BE or each in words_of.MODALS or each in words_of.HAVE
            for each in after
        )
    return words[at].text in WORDS["after_value"]


def _extended(words: Sequence[Word], phrase: Phrase, slot: Slot) -> Phrase | None:
    """The phrase with one more behind a preposition, for slots without a known kind of value."""
    if slot.predicate in _CHECKS or words[phrase.end].text not in _EXTENDING:
        return None
    more = phrase_at(words, phrase.end + 1)
    if more is None or more.owner or more.end - phrase.first > 7 or not _ends(words, more.end):
        return None
    return phrase._replace(end=more.end)


def _fits(words: Sequence[Word], phrase: Phrase, slot: Slot, text: str) -> bool:
    if slot.predicate in _CHECKS:
        return _CHECKS[slot.predicate](words, phrase)
    value = text_of(words, phrase.first, phrase.end, text)
    if slot.predicate in ("deadline", "birthday", "start_time"):
        return is_date(value) or words[phrase.first].text in MONTHS | words_of.WEEKDAYS | _DAYS
    head = head_of(words, phrase).text
    if head in words_of.VAGUE or phrase.end == phrase.first:
        return False
    if slot.known:
        return not (slot.predicate == "is" and phrase.article == "" and not _solid(words, phrase))
    return (
        bool(slot.subject or slot.owner)
        and phrase.article in ("a", "an", "the")
        and not slot.subject
    ) or _solid(words, phrase)


def may_have(words: Sequence[Word], phrase: Phrase, predicate: str, text: str) -> bool:
    """Whether a phrase is a value of a slot that "as" names: no place, which stands behind "in"."""
    slot = Slot(1, "", predicate, predicate in SLOTS, (0, 0))
    checked = predicate in _CHECKS or predicate in ("deadline", "birthday", "start_time")
    return predicate != "lives_in" and (not checked or _fits(words, phrase, slot, text))


def _solid(words: Sequence[Word], phrase: Phrase) -> bool:
    """A name, a number or a title: what cannot be an adjective."""
    last = words[phrase.end - 1]
    if words[phrase.first].kind == "number":
        return True
    return (
        phrase.article == '"'
        or last.kind in ("number", "mail", "link")
        or (last.capital or any(map(str.isdigit, last.text)))
    )


def is_age(words: Sequence[Word], at: int) -> bool:
    after = words[at + 1] if at + 1 < len(words) else None
    if after is not None and (
        after.kind == "suffix" or (after.kind == "sign" and (after.text not in ".,;!)"))
    ):
        return False
    if words[at].text in words_of.NUMBERS:
        return at + 1 < len(words) and words[at + 1].text in ("years", "year")
    return (
        words[at].kind == "number"
        and words[at].text.isdecimal()
        and (0 < int(words[at].text[:4]) < 120)
    )
