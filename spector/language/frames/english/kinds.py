"""What an object has to be for a frame to state something: places, roles, amounts, works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.english.phrases import Phrase
from spector.language.frames.predicates import KIN
from spector.language.frames.sentences import Word
from spector.language.frames.values import is_date

Check = Callable[[Sequence[Word], Phrase], bool]

MARITAL: Final = frozenset("single married engaged divorced widowed separated".split())
DIETS: Final = frozenset(
    """vegan vegetarian pescatarian keto paleo omnivore omnivorous gluten-free lactose-free halal
    kosher flexitarian dairy-free carnivore""".split()
)
_ROLES: Final = frozenset(
    """nurse chef pilot judge cook guide coach clerk guard maid nanny model architect artist athlete
    student intern apprentice librarian physician surgeon veterinarian vet lawyer attorney
    journalist dentist therapist pharmacist scientist chemist physicist economist analyst consultant
    assistant accountant musician politician technician electrician mathematician mechanic critic
    plumber carpenter barista soldier sailor cop detective spy priest nun monk imam pastor ceo cto
    cfo vp developer engineer teacher professor tutor lecturer writer author poet editor actor
    actress director producer singer dancer painter designer photographer programmer manager banker
    trader broker baker butcher barber hairdresser tailor driver farmer gardener fisher firefighter
    paramedic counselor counsellor researcher entrepreneur freelancer contractor translator
    interpreter waiter waitress bartender cashier receptionist secretary janitor cleaner builder
    welder miner trainer instructor biologist psychologist geologist sociologist historian
    statistician paralegal midwife hygienist radiologist cardiologist psychiatrist optician
    recruiter auditor surveyor planner principal headmaster superintendent inspector captain officer
    streamer youtuber blogger podcaster volunteer curator stylist florist undertaker realtor agent
    lifeguard beekeeper shepherd locksmith blacksmith goldsmith referee umpire diplomat ambassador
    mayor senator minister president chairman chairwoman""".split()
)
NO_ROLES: Final = frozenset(
    "lover fan person believer member winner beginner reader user survivor".split()
)
_PLACES: Final = frozenset(
    """city town village countryside suburb suburbs downtown apartment flat house state country
    county neighbourhood neighborhood""".split()
)
_PRAISE: Final = frozenset(
    """meaningful incredible lovely rough tough crazy wicked quiet funny great good quick nice
    wonderful amazing awesome fantastic big long hard similar such new first""".split()
)
_FIELD_STOPS: Final = frozenset(
    """hard fast full-time part-time overtime late remotely there""".split()
)
#: heads of what one "has" that say nothing about the one who has it
_EMPTY_HAD: Final = frozenset(
    """story stories boost shot hang day weekend week time turnout feeling rush kick blast hint
    sense kiss hug call text email message reply answer access anything respect trouble control
    effect influence luck right rights say tendency title year birthday look breakfast lunch dinner
    coffee drink meal night evening conversation conversations discussion argument talk relationship
    event events party interest hunch preference preferences concern concerns need desire wish urge
    update updates info information detail details example examples suggestion suggestions
    recommendation recommendations cold headache morning afternoon session picnic adventure
    adventures setback setbacks moment love place places future past lack number amount variety
    range role value mixed blessings response reply request set pic photo photos pictures
    picture""".split()
)


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
    if last in NO_ROLES:
        return False
    return last in _ROLES or (last.endswith("ologist") and len(last) > 8)


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
    return phrase.article in ("a", "the") and head.text in _PLACES and not phrase.owner


def _is_liked(words: Sequence[Word], phrase: Phrase) -> bool:
    """Something by its own name: "the colours" are those of a picture just shown."""
    shown = phrase.article in ("the", "all", "some", "any", "this")
    return _is_thing(words, phrase) and (not shown or words[phrase.end - 1].capital)


def _is_had(words: Sequence[Word], phrase: Phrase) -> bool:
    """A thing with an article, a number or "my": no "the time", no "fun"."""
    head = head_of(words, phrase).text
    shown = phrase.article in ("the", "any", "some", "this")
    if shown or words[phrase.first].text in _PRAISE:
        return False
    counted = bool(phrase.article or phrase.owner == 1) and _is_thing(words, phrase)
    return head in KIN or (counted and head not in _EMPTY_HAD | words_of.GENERAL)


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


def _is_field(words: Sequence[Word], phrase: Phrase) -> bool:
    head = head_of(words, phrase)
    return (
        not phrase.article
        and not phrase.owner
        and _is_thing(words, phrase)
        and (head.text not in _FIELD_STOPS)
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
    "field": _is_field,
    "liked": _is_liked,
    "bare": lambda words, phrase: (
        not phrase.owner and not phrase.article and _is_thing(words, phrase)
    ),
    "used": _is_used,
    "moment": lambda words, phrase: (
        words[phrase.first].kind == "number"
        and is_date(" ".join(word.raw for word in words[phrase.first : phrase.end]))
    ),
    "slot": lambda words, phrase: False,
    "thing": _is_thing,
    "had": _is_had,
    "language": lambda words, phrase: words[phrase.end - 1].capital and not phrase.article,
    "played": lambda words, phrase: (
        not phrase.owner and phrase.article != "a" and _is_thing(words, phrase)
    ),
    "name": is_named,
    "amount": is_amount,
}
