"""What an object has to be for a frame to state something: places, roles, amounts, works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.english.phrases import Phrase, is_bare
from spector.language.frames.predicates import EVERYONES, KIN, PETS, PRESUPPOSED
from spector.language.frames.sentences import Word
from spector.language.frames.values import is_date

__all__ = ["DIETS", "KINDS", "MARITAL", "is_amount", "is_empty", "is_named", "is_role"]

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
_NO_ROLES: Final = frozenset(
    "lover fan person believer member winner beginner reader user survivor".split()
)
_PLACES: Final = frozenset(
    """city town village countryside suburb suburbs downtown apartment flat house state country
    county neighbourhood neighborhood""".split()
)
_VEHICLES: Final = frozenset("car truck van suv bike bicycle motorcycle bus taxi cab jeep".split())
_RIDES: Final = _VEHICLES | frozenset("train tram metro subway ferry boat plane foot".split())
_EVENTS: Final = frozenset(
    """conference concert festival wedding party workshop class course seminar meetup meeting game
    match show parade exhibition exhibit exhibitions fair convention camp retreat event gala
    fundraiser race marathon tournament competition contest lecture talk funeral graduation ceremony
    church school college university group club program programme lesson lessons classes event
    events auction rally reunion run walk drive ride hike triathlon audition expo summit webinar
    bootcamp museum gallery theater theatre opera play""".split()
)
_SITES: Final = frozenset(
    """museum park beach lake mountain mountains zoo aquarium castle gallery temple shrine island
    islands canyon falls waterfall forest garden gardens market shelter hospital shop store cafe
    restaurant bar library ranch farm cathedral church palace village city town ruins theater
    theatre studio stadium arena national monument coast desert volcano glacier winery vineyard
    brewery bakery spa resort cabin campsite trail zoo orphanage sanctuary reserve center centre
    planetarium observatory mosque monastery abbey fort fortress cemetery memorial bazaar mall
    supermarket plaza boardwalk hotel hostel lodge pub gym arcade valley bay cliffs river hill hills
    peak cave caves lighthouse harbor harbour pier bridge tower square campus archive library
    winery""".split()
)
_COURSES: Final = frozenset(
    """class course classes courses lessons workshop exam test interview interviews
    audition""".split()
)
_CLUBS: Final = frozenset(
    """club team band group choir league society orchestra crew military army navy
    marines""".split()
)
#: "I love the beach": no thing that was just shown
_KNOWN_TO_ALL: Final = frozenset(
    """beach ocean sea outdoors mountains city countryside rain snow woods forest nature""".split()
)
_TRIPS: Final = frozenset(
    """trip trips vacation cruise tour hike roadtrip road-trip getaway honeymoon safari""".split()
)
_WORK_WORDS: Final = frozenset(
    """book novel movie film show series documentary poem article trilogy memoir biography musical
    comedy thriller anime play""".split()
)
_BEGUN: Final = frozenset(
    """business company blog podcast channel club course class job shop store studio restaurant cafe
    garden project band book novel degree school college university diet collection website channel
    charity foundation program league team company internship startup gym""".split()
)
_OWNED: Final = (
    _VEHICLES
    | KIN
    | _BEGUN
    | frozenset(
        """book dress shoes tattoo medal award certificate trophy ticket tickets camera console degree
    scholarship offer promotion raise haircut autograph job leg arm ankle wrist knee foot finger hip
    rib nose shoulder house home apartment phone wallet keys bag laptop glasses passport game match
    race bet teeth tooth""".split()
    )
)
_EMPTY_LIKED: Final = frozenset(
    """pic photo picture photos pics idea energy attitude enthusiasm positivity spirit color colors
    colour colours design theme quote outfit smile dedication combo detail details setup""".split()
)
_SPORTS: Final = frozenset(
    """yoga pilates karate judo ballet gymnastics crossfit aerobics taekwondo pottery ceramics
    calligraphy photography zumba aikido archery athletics""".split()
)
_PRAISE: Final = frozenset(
    """meaningful incredible lovely rough tough crazy wicked quiet funny great good quick nice
    wonderful amazing awesome fantastic big long hard similar such new first""".split()
)
_NOT_PLAYED: Final = frozenset(
    """role roles games game music songs gig show shows set hand catch online outside outdoors night
    day along fair genres""".split()
)
_MEALS: Final = frozenset("breakfast lunch dinner food meals brunch supper healthy".split())
_LIVED: Final = (
    (_EVENTS - frozenset(("talk", "meeting", "play")))
    | KIN
    | frozenset(
        """picnic accident surgery operation wedding baby interview barbecue bbq sleepover garage-sale
    bonfire potluck car bike house garden""".split()
    )
)
_SPEECHES: Final = frozenset("speech talk presentation lecture concert performance toast".split())
#: heads of what one makes, meets or receives that name nothing
_EMPTY_MADE: Final = frozenset(
    """amount place spot area side boost push lift strength courage reminder team call friends
    friend mistake promise money joke jokes fuss list start research exercise exercises stuff lead
    job deal favor favour dent plans effort efforts chat homework work workout workouts people folks
    others kinds break rest improvement improvements wish wishes memory memories connection
    connections contribution contributions purchase bunch comment comments post posts smile smiles
    quick catch response hug hugs thanks point case progress big huge difference impression noise
    sense use shot guess""".split()
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


#: verbs that say nothing without their object
_LIGHT: Final = frozenset(
    "make have get go hold start begin finish do take give read find meet see".split()
)
#: praise of a kind that tells a thing from others
_TELLS: Final = frozenset("new old small first second third own few couple recent".split())


def is_empty(words: Sequence[Word], phrase: Phrase, verb: str, kind: str) -> bool:
    """Whether an object without complement tells nothing: "a project", "made a thing"."""
    head = words[phrase.end - 1].text
    if verb == "have" and phrase.end < len(words) and words[phrase.end].text == "over":
        return True  # "had friends over"
    if words[phrase.end - 2].text == "of" and head in EVERYONES | words_of.GENERAL:
        return True  # "a group of friends"
    alone = verb == "make" and phrase.start == phrase.first and phrase.end - phrase.first == 1
    named = head.endswith("ing") and not (phrase.article and verb == "have")
    if alone or named or not is_bare(words, phrase):  # alone: "made pizza"
        return False
    if head in words_of.GENERAL:
        return True
    if phrase.owner == 1 or head in KIN | PETS | PRESUPPOSED:
        return False
    before = {word.text for word in words[phrase.first : phrase.end - 1]}
    praised = bool(before & words_of.PRAISE)
    bare = verb in _LIGHT and kind not in ("activity", "visited", "gone-to", "lived")
    return (
        kind != "liked"
        and not before & _TELLS
        and (praised or (bare and (bool(phrase.article) or verb in ("make", "have", "get"))))
    )


def is_amount(words: Sequence[Word], phrase: Phrase) -> bool:
    inside = words[phrase.first : phrase.end]
    return any(word.kind == "number" or word.text in words_of.NUMBERS for word in inside)


def is_role(words: Sequence[Word], phrase: Phrase) -> bool:
    """Whether a phrase names an occupation."""
    head = head_of(words, phrase).text
    last = head.rpartition("-")[2]
    if last in _NO_ROLES:
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


def _is_counted(words: Sequence[Word], phrase: Phrase) -> bool:
    """A thing with an article, a number, a possessive or a name: no "made friends"."""
    if not _is_thing(words, phrase):
        return False
    if (
        head_of(words, phrase).text in _EMPTY_MADE
        or words[phrase.first].text in ("few", "couple", "lot", "bit", "number")
        or any(word.text in ("time", "blast", "fun") for word in words[phrase.first : phrase.end])
    ):
        return False
    return bool(
        phrase.article
        or phrase.owner
        or words[phrase.end - 1].capital
        or words[phrase.first].capital
    )


def _one_of(names: frozenset[str], named: bool = True) -> Check:
    def check(words: Sequence[Word], phrase: Phrase) -> bool:
        if named and words[phrase.end - 1].capital and _is_thing(words, phrase):
            return True
        head = head_of(words, phrase).text
        return head in names or (head.endswith("s") and head[:-1] in names)

    return check


def _is_liked(words: Sequence[Word], phrase: Phrase) -> bool:
    """Something by its own name: "the colours" are those of a picture just shown."""
    shown = phrase.article in ("the", "all", "some", "any", "this")
    if shown and not words[phrase.end - 1].capital:
        if phrase.article == "the" and words[phrase.end - 1].text in _KNOWN_TO_ALL:
            return True
        if phrase.article == "the" and phrase.end - phrase.first > 1:
            return _is_thing(words, phrase) and words[phrase.end - 1].text not in _EMPTY_LIKED
        return any(word.text == "of" for word in words[phrase.first : phrase.end]) and (
            _is_thing(words, phrase)
        )
    last = words[phrase.end - 1].text
    return _is_thing(words, phrase) and last not in _EMPTY_LIKED and phrase.owner != 2


_NO_ACTIVITIES: Final = frozenset("going nothing something anything everything being doing".split())


def _is_activity(words: Sequence[Word], phrase: Phrase) -> bool:
    text = words[phrase.end - 1].text
    if (
        text.endswith("ing")
        and phrase.end - phrase.first <= 2
        and text not in ("thing", "meeting", "feeling")
        and not phrase.article
        and not phrase.owner
    ):
        return text not in _NO_ACTIVITIES
    text = words[phrase.first].text
    if text.endswith("ing") and phrase.first == phrase.start and not phrase.article:
        return text not in _NO_ACTIVITIES
    return head_of(words, phrase).text in _SPORTS and not phrase.article


def _is_had(words: Sequence[Word], phrase: Phrase) -> bool:
    head = head_of(words, phrase).text
    if head in _EMPTY_HAD or (not _is_counted(words, phrase) and head not in KIN):
        return False
    if phrase.article in ("the", "any", "some", "this") or words[phrase.first].text in _PRAISE:
        return False
    return bool(phrase.article or phrase.owner == 1) or head in KIN


def _is_used(words: Sequence[Word], phrase: Phrase) -> bool:
    return _is_thing(words, phrase) and not phrase.owner and phrase.article not in ("some", "this")


def _is_done(words: Sequence[Word], phrase: Phrase) -> bool:
    """Something that one does: "painting", "to play chess"."""
    if phrase.article or phrase.owner:
        return False
    return words[phrase.first].text == "to" or (
        words[phrase.first].text.endswith("ing")
        and (words[phrase.first].text not in _NO_ACTIVITIES - {"going"})
    )


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


def _is_played(words: Sequence[Word], phrase: Phrase) -> bool:
    head = head_of(words, phrase).text
    instrument = head in ("violin", "guitar", "piano", "flute", "drum", "keyboard", "saxophone")
    return (
        _is_thing(words, phrase)
        and (phrase.article != "a" or instrument)
        and (head not in _NOT_PLAYED and (not phrase.owner or instrument))
    )


def _is_work(words: Sequence[Word], phrase: Phrase) -> bool:
    if phrase.article == '"' or words[phrase.end - 1].capital:
        return True
    return head_of(words, phrase).text in _WORK_WORDS and bool(phrase.article)


def _is_address(words: Sequence[Word], phrase: Phrase) -> bool:
    inside = words[phrase.first : phrase.end]
    return is_amount(words, phrase) and any(word.capital for word in inside)


def _is_several(words: Sequence[Word], phrase: Phrase) -> bool:
    """The same, or several of a kind: "roasted marshmallows"."""
    last = words[phrase.end - 1].text
    plural = last.endswith("s") and not last.endswith("ss")
    return _is_counted(words, phrase._replace(article="some") if plural else phrase)


def _is_gone_to(words: Sequence[Word], phrase: Phrase) -> bool:
    head = head_of(words, phrase).text
    return (
        _is_counted(words, phrase)
        and phrase.article != "this"
        and head not in ("top", "bed", "point", "next", "same", "trouble")
    )


_is_begun: Final = _one_of(_BEGUN, named=False)

#: kind of an object -> whether a phrase is of it
KINDS: Final[dict[str, Check]] = {
    "place": _is_place,
    "address": _is_address,
    "role": is_role,
    "org": _is_org,
    "field": _is_field,
    "group": _is_org,
    "liked": _is_liked,
    "interest": _is_liked,
    "activity": _is_activity,
    "lived": _one_of(_LIVED, named=False),
    "seen": _one_of(_EVENTS | _WORK_WORDS, named=False),
    "food": lambda words, phrase: (
        not phrase.owner
        and not phrase.article
        and (_is_thing(words, phrase) and head_of(words, phrase).text not in _MEALS)
    ),
    "made": lambda words, phrase: _is_counted(
        words, phrase._replace(article=phrase.article or "a")
    ),
    "used": _is_used,
    "club": _one_of(_CLUBS, named=False),
    "gotten": lambda words, phrase: (
        _is_had(words, phrase)
        and not any(word.text == "of" for word in words[phrase.first : phrase.end])
    ),
    "skill": lambda words, phrase: _is_done(words, phrase) or _is_field(words, phrase),
    "trial": lambda words, phrase: _is_done(words, phrase) or _is_counted(words, phrase),
    "begun": lambda words, phrase: _is_done(words, phrase) or _is_begun(words, phrase),
    "several": _is_several,
    "considered": lambda words, phrase: _is_done(words, phrase) or _is_several(words, phrase),
    "doing": _is_done,
    "taken": lambda words, phrase: (
        head_of(words, phrase).text in KIN
        and (phrase.owner == 1 or phrase.article == "the")
        and phrase.end < len(words)
    ),
    "moment": lambda words, phrase: (
        words[phrase.first].kind == "number"
        and is_date(" ".join(word.raw for word in words[phrase.first : phrase.end]))
    ),
    "slot": lambda words, phrase: False,
    "speech": _one_of(_SPEECHES, named=False),
    "gone-to": _is_gone_to,
    "thing": _is_thing,
    "had": _is_had,
    "counted": _is_counted,
    "vehicle": _one_of(_VEHICLES),
    "language": lambda words, phrase: words[phrase.end - 1].capital and not phrase.article,
    "played": _is_played,
    "name": lambda words, at: is_named(words, at) and words[at.end - 1].text not in _RIDES,
    "amount": is_amount,
    "visited": _one_of(_SITES),
    "event": _one_of(_EVENTS),
    "work": _is_work,
    "owned": _one_of(_OWNED, named=False),
    "habit": lambda words, phrase: (
        phrase.article not in ("the", "some", "any")
        and (_is_thing(words, phrase) and head_of(words, phrase).text not in _EMPTY_MADE)
    ),
    "company": _one_of(_BEGUN - frozenset(("book", "novel", "collection")), named=False),
    "pet": _one_of(PETS, named=False),
    "course": _one_of(_COURSES, named=False),
    "trip": _one_of(_TRIPS, named=False),
}
