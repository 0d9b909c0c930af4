"""Sentences with "to be": slots and their values, identity, roles, states of a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.english.objects import draft_of, joined_phrases
from spector.language.frames.english.phrases import (
    Group,
    Phrase,
    phrase_at,
    quote_at,
    text_of,
)
from spector.language.frames.english.slots import (
    DIETS,
    KINDS,
    MARITAL,
    MONTHS,
    Slot,
    Value,
    head_of,
    is_age,
    is_amount,
    is_named,
    is_person,
    is_role,
    number_at,
    slot_at,
    subject_name,
    value_at,
)
from spector.language.frames.english.vocabulary import WORDS
from spector.language.frames.predicates import KIN
from spector.language.frames.sentences import Draft, Word
from spector.language.frames.values import is_date

#: makes a draft of a predicate, the words of its object, and the name of a frame
Maker = Callable[[str, int, int, str], Draft]

_STATES: Final = {
    (word, preposition.strip("-")): (predicate, kind)
    for predicate, words, preposition, kind in words_of.rows_of("states")
    for word in words.split()
}
#: endings of nationalities; the names that share them are left alone as well
_NATIONS: Final = ("ish", "ese", "ian", "ean", "ican", "utch", "rench", "erman", "reek", "raqi")


def copula(words: Sequence[Word], subject: Phrase, group: Group, text: str) -> Iterator[Draft]:
    """The statements of a clause whose verb is a form of be; the verb group ends at its value."""
    person = subject.article in ("i", "we", "you")
    slot = None if person else slot_at(words, subject, text)
    if slot is not None and not is_person(words, subject):
        at = [word.text for word in words[group.end : group.end + 1]]
        if slot.predicate == "works_as" and at in (["at"], ["with"]):
            slot = slot._replace(predicate="works_at")
        value = value_at(words, group.end, slot, text)
        if value is not None and (
            slot.predicate != "is" or slot.known or _is_measure(words, value)
        ):
            yield draft_of(words, value, slot, text, "en:slot", group=group)
            return
    turned = reversed_slot(words, subject, group, text)
    if turned is not None:
        yield turned
        return
    if (
        person
        or is_person(words, subject)
        or (is_named(words, subject) and words[subject.end - 1].capital)
    ):
        yield from _person(words, subject, group, text, person)
    if subject.article == "the" or (slot is not None and not is_person(words, subject)):
        yield from _thing(words, subject, group, text)


def _is_measure(words: Sequence[Word], value: Value) -> bool:
    """A number with one word for its unit."""
    first, last = words[value.first], words[value.end - 1]
    return (
        first.kind == "number"
        and first.text[-1:].isdigit()
        and (value.end - value.first <= 2 and not (last.capital and last is not first))
    )


def reversed_slot(words: Sequence[Word], subject: Phrase, group: Group, text: str) -> Draft | None:
    """ "X is my N", "X is the N of S", "X is where I live": the value stands before the slot."""
    at = group.end
    if subject.article in ("i", "we", "you") or subject.owner:
        return None

    def made(slot: Slot, after: int) -> Draft:
        value = Value(subject.first, subject.end, after)
        return draft_of(words, value, slot, text, "en:reversed", group=group)

    rest = [word.text for word in words[at : at + 3]]
    if rest[:1] == ["where"] and rest[1:] in (["i", "live"], ["we", "live"]):
        slot = Slot(1, "", "lives_in", True, (words[at + 1].start, words[at + 1].end))
        return made(slot, at + 3)
    several = rest == ["one", "of", "my"]
    phrase = phrase_at(words, at + 2 * several)
    if (
        phrase is None
        or phrase.article not in ("the", "")
        or not (
            phrase.owner
            or phrase.article == "the"
            or "'s" in [word.text for word in words[phrase.first : phrase.end]]
        )
    ):
        return None
    end = phrase.end
    tail = [word.text for word in words[end : end + 4]]
    if (
        phrase.article == "the"
        and tail[:2] in (["i", "like"], ["i", "love"])
        and any(word in ("best", "most") for word in tail)
    ):
        noun = words[end - 1].text.replace("color", "colour")
        slot = Slot(1, "", f"favourite_{noun}", True, (words[end].start, words[end].end))
        return made(slot, end + 3)
    found = slot_at(words, phrase, text)
    if (
        found is None
        or found.predicate == "is"
        or not (found.known or is_named(words, subject) or words[phrase.end - 1].text in KIN)
    ):
        return None
    if found.predicate in ("works_as", "lives_in") or (
        not is_named(words, subject) and not subject.article and not found.known
    ):
        return None
    if subject.article == "the" or (
        found.known
        and found.predicate == "deadline"
        and not is_date(text_of(words, subject.first, subject.end, text))
    ):
        return None
    return made(found, end)


def _person(
    words: Sequence[Word], subject: Phrase, group: Group, text: str, person: bool
) -> Iterator[Draft]:
    at = group.end
    name = "" if person else subject_name(words, subject, text)
    before = (words[subject.start].start, words[subject.end - 1].end)

    def made(predicate: str, first: int, end: int, frame: str) -> Draft:
        who = Slot(subject.owner, name, predicate, True, before)
        return draft_of(words, Value(first, end), who, text, frame, group=group, by_form=False)

    if at >= len(words):
        return
    word, after = words[at], words[at + 1].text if at + 1 < len(words) else ""
    closed = _closes(words, at + 1)
    if word.text in MARITAL and closed:
        if words[at - 1].text != "getting":  # "is getting married" is about what comes
            yield made("marital_status", at, at + 1, "en:marital")
    elif word.text in DIETS and closed:
        yield made("diet", at, at + 1, "en:diet")
    elif (
        subject.article != "we"
        and group.tense == "present"
        and is_age(words, at)
        and (closed or after in ("years", "year"))
    ):
        yield made("age", at, at + 1, "en:age")
    elif word.kind == "number" and "tall" in [each.text for each in words[at + 1 : at + 4]]:
        end = next(n for n in range(at + 1, at + 4) if words[n].text == "tall")
        yield made("height", at, end, "en:height")
    elif (word.text, after) in _STATES or (word.text, "") in _STATES:
        long = (word.text, after) in _STATES
        predicate, kind = _STATES[word.text, after if long else ""]
        if predicate == "located_in":
            predicate = "lives_in"
        phrase = quote_at(words, at + 1 + long) or phrase_at(words, at + 1 + long)
        if (word.text == "born" and phrase is None) or predicate == "born_on":
            phrase = number_at(words, at + 1 + long)
        if word.text == "born" and phrase is not None and is_amount(words, phrase):
            yield made("born_on", phrase.first, phrase.end, "en:born")
        elif phrase is not None and phrase.owner != 2 and KINDS[kind](words, phrase):
            for each in joined_phrases(words, phrase, kind):
                yield made(predicate, each.first, each.end, f"en:{word.text}")
    elif word.text in ("called", "named") and at + 1 < len(words):
        phrase = quote_at(words, at + 1) or phrase_at(words, at + 1)
        if phrase is not None and is_named(words, phrase):
            yield made("is_named", phrase.first, phrase.end, "en:named")
    else:
        yield from _identity(words, at, subject, person, made, text)


def _identity(
    words: Sequence[Word], at: int, subject: Phrase, person: bool, made: Maker, text: str
) -> Iterator[Draft]:
    phrase = phrase_at(words, at)
    if phrase is None or phrase.owner or not _closes(words, phrase.end, loose=True):
        return
    head = head_of(words, phrase)
    if phrase.article in ("a", "an"):
        if head.text in DIETS and phrase.end - phrase.first == 1:
            yield made("diet", phrase.first, phrase.end, "en:diet")
        elif is_role(words, phrase):
            yield made("works_as", phrase.first, phrase.end, "en:role")
    elif is_person(words, subject) and is_named(words, phrase) and not phrase.article:
        slot = slot_at(words, subject, text)
        if words[phrase.first].capital and slot is not None:
            draft = made(slot.predicate, phrase.first, phrase.end, "en:kin")
            draft.owner, draft.subject, draft.by_form = slot.owner, slot.subject, True
            yield draft
    elif (
        person
        and words[phrase.end - 1].text.endswith(_NATIONS)
        and (phrase.end - phrase.first == 1 and words[phrase.first].capital)
    ):
        yield made("nationality", phrase.first, phrase.end, "en:nationality")
    elif (
        person
        and words[phrase.first].capital
        and phrase.end - phrase.first <= 3
        and (
            all(word.raw.istitle() for word in words[phrase.first : phrase.end])
            and not words[phrase.end - 1].text.endswith(("ing", "ed"))
            and words[subject.first].text == "i"
            and phrase.end >= len(words) - 1
        )
    ):
        yield made("is_named", phrase.first, phrase.end, "en:named")


def _thing(words: Sequence[Word], subject: Phrase, group: Group, text: str) -> Iterator[Draft]:
    """A thing: when it is due, which version it is at, where it is."""
    at = group.end
    rest = [word.text for word in words[at : at + 3]]
    if len(rest) < 2:
        return
    slot = Slot(
        subject.owner,
        text_of(words, subject.first, subject.end, text),
        "",
        True,
        (words[subject.start].start, words[subject.end - 1].end),
    )
    if rest[0] == "due":
        slot, at = slot._replace(predicate="deadline"), at + 1
    elif rest[:2] in (["at", "version"], ["on", "version"], ["at", "release"]):
        slot, at = slot._replace(predicate="version"), at + 2
    elif rest[:2] == ["on", "port"]:
        slot, at = slot._replace(predicate="port"), at + 2
    elif rest[0] in ("on", "at") and group.verb == "be":
        slot = slot._replace(predicate="deadline")
        value = value_at(words, at, slot, text)
        if value is not None:
            slot = slot._replace(predicate="scheduled_for")
            yield draft_of(words, value, slot, text, "en:scheduled", group=group)
        return
    elif rest[0] in ("in", "located", "based"):
        slot = slot._replace(predicate="located_in")
        at += rest[0] != "in"
        phrase = phrase_at(words, at + 1)
        inside = () if phrase is None else words[phrase.first : phrase.end]
        if not inside or not all(word.capital for word in inside) or inside[0].text in MONTHS:
            return
        head = words[subject.end - 1].text  # "my degree is in Physics" is no place
        if subject.owner and not (is_person(words, subject) or head in WORDS["buildings"]):
            return
    else:
        return
    value = value_at(words, at, slot, text)
    if value is not None:
        yield draft_of(words, value, slot, text, "en:thing", group=group)


def _closes(words: Sequence[Word], at: int, *, loose: bool = False) -> bool:
    """Whether a complement can end before a word."""
    if at >= len(words) or words[at].kind == "sign":
        return True
    text = words[at].text
    if loose and text in words_of.PREPOSITIONS:
        return text not in ("than", "as", "to")
    return (
        text in words_of.TIMES
        or text in words_of.CONJUNCTIONS
        or text
        in ("because", "since", "by", "at", "in", "with", "but", "who", "that", "which", "not")
    )
