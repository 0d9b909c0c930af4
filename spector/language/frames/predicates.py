"""Predicates: their names, kinds and kin, and what recurs."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from spector.language.frames.sentences import Statement
from spector.language.tables import aliases_of_relations
from spector.language.words import plain

#: one value at a time, whatever the sentence looks like
ONE_VALUED: Final = frozenset(
    """lives_in works_as works_at is_named age version port email phone deadline status
    married_to marital_status diet born_in born_on died_in located_in founded_in
    built_in price birthday weighs closes_at""".split()
)
_FAVOURITE: Final = "favourite_"

#: predicates whose value has a name: what has none is a part of it, or says where in it
NAMED: Final = frozenset(("lives_in", "works_at"))
#: predicate -> the nouns that name it, English | Turkish; the last word of a longer name counts
SLOTS: Final[dict[str, str]] = {
    "is_named": "name | ad isim",
    "age": "age | yas",
    "works_as": "job occupation profession | meslek is",
    "works_at": "employer workplace | isyeri isveren",
    "lives_in": "home house apartment flat | ev ikametgah",
    "address": "address | adres",
    "email": "email e-mail mail | eposta e-posta mail",
    "phone": "phone phone_number telephone telephone_number mobile_number cell_number number_phone"
    " | telefon telefon_numara cep_telefon numara_telefon",
    "version": "version release | surum versiyon",
    "port": "port | port",
    "deadline": "deadline due_date | teslim_tarih son_tarih son_teslim_tarih son_gun",
    "status": "status state | durum",
    "marital_status": "marital_status relationship_status | medeni_hal medeni_durum",
    "price": "price cost | fiyat ucret",
    "budget": "budget | butce",
    "diet": "diet | diyet beslenme",
    "birthday": "birthday birth_date date_of_birth | dogum_gun dogum_tarih",
    "born_in": "birthplace place_of_birth | dogum_yer",
    "located_in": "location headquarters | konum merkez",
    "password": "password passphrase | sifre parola",
    "username": "username login | kullanici_ad",
    "database": "database db | veritaban veritabani",
    "language": "language | dil",
    "colour": "colour color | renk reng",
    "size": "size | beden boyut",
    "height": "height | boy",
    "weight": "weight | kilo agirlik",
    "capacity": "capacity | kapasite",
    "limit": "limit quota | limit sinir kota",
    "timeout": "timeout | zamanasimi",
    "owner": "owner | sahip sahib",
    "url": "url website homepage | url site",
    "host": "host hostname | host sunucu",
    "branch": "branch | dal",
    "capital": "capital | baskent",
    "president": "president | baskan",
    "manager": "manager boss | mudur yonetici patron",
    "nationality": "nationality citizenship | uyruk vatandaslik",
    "start_time": "start_time | baslangic_saat",
    "salary": "salary | maas",
    "blood_type": "blood_type | kan_grub kan_grup",
    "shoe_size": "shoe_size | ayakkabi_numara",
}
#: nouns of which one person or thing has several at once, English and Turkish
MANY_NOUNS: Final = frozenset(
    """sister brother sibling friend colleague coworker co-worker classmate neighbour
    neighbor cousin uncle aunt nephew niece grandparent grandson granddaughter
    grandchild child kid son daughter twin pet dog cat hobby interest allergy skill
    sport habit book song movie film game food dish recipe goal dream plan idea problem
    issue question point reason advice tip concern thing part member player employee
    student teacher client customer partner roommate flatmate language device feature
    example advantage benefit quality strength weakness trait memory passion fear ally
    competitor neighbor's daughter-in-law memory inspiration motivation role kardes abi
    abla arkadas kuzen komsu dayi amca teyze hala yegen torun cocuk ogul kiz hobi alerji
    beceri spor kitap sarki film oyun yemek hedef hayal plan fikir sorun soru neden
    calisan ogrenci ogretmen musteri ortak evcil kedi kopek dil ilgi tutku korku
    aliskanlik""".split()
)
#: nouns of persons and animals that belong to a person
KIN: Final = frozenset(
    """mother mom mum mama father dad daddy papa parents sister brother siblings son
    daughter kids kid child children baby wife husband spouse partner girlfriend
    boyfriend fiance fiancee grandmother grandma granny grandfather grandpa grandparents
    aunt uncle cousin cousins nephew niece friend friends bestie roommate flatmate
    neighbour neighbor neighbours neighbors boss colleague colleagues coworker coworkers
    team teammate manager landlord doctor dentist therapist teacher coach dog dogs cat
    cats puppy puppies kitten kittens pup pet pets horse parrot rabbit hamster family
    mother-in-law father-in-law sister-in-law brother-in-law stepfather stepmother
    godmother godfather twin twins fam""".split()
)
PETS: Final = frozenset(
    """dog dogs cat cats puppy puppies pup pups kitten kittens horse parrot rabbit
    hamster""".split()
)
#: nouns of talk: "my point is", "the problem is"; what follows is not a value
DISCOURSE_NOUNS: Final = frozenset(
    """point question problem issue idea thought opinion guess hope wish fear worry
    concern goal aim plan dream advice suggestion reason answer thing fact truth bet bad
    mistake fault take view impression feeling sense intention purpose excuse rule
    result conclusion key trick way type kind sort part rest best worst most bit lot
    matter case story news thanks pleasure turn motto go-to fave favs fav favorite
    favourite heart mind life day time world journey experience work passion focus
    priority secret inspiration motivation excitement ultimate challenge biggest
    struggle bottom line weekend kisi sey soru sorun mesele fikir amac umut neden sonuc
    gercek istek""".split()
)

#: open a text as a name does, and name what follows instead of who speaks
_LABELS: Final = frozenset(
    """correction corrections update updated edit edited note notes reminder ps fyi tldr important
    info fact todo question answer title subject re summary duzeltme guncelleme not hatirlatma
    onemli bilgi ozet soru cevap konu again tekrar""".split()
)

_NAMED: Final[dict[str, str]] = {
    noun: predicate
    for predicate, nouns in SLOTS.items()
    for noun in nouns.replace("|", " ").split()
}
#: of two spellings one
_SPELLINGS: Final = {
    "color": "colour",
    "center": "centre",
    "theater": "theatre",
    "favorite": "favourite",
}


def predicate_of(nouns: str) -> tuple[str, str]:
    """(predicate, the words before it) of a noun phrase that names a slot: "staging port".

    The longest name at the end that the table knows counts; without one the whole phrase is the
    predicate, in snake case.
    """
    words = [_SPELLINGS.get(word, word) for word in plain(nouns).replace("-", " ").split()]
    for count in (3, 2, 1):
        name = "_".join(words[-count:])
        if len(words) >= count and name in _NAMED:
            return _NAMED[name], " ".join(words[:-count])
    return "_".join(words), ""


def is_label(name: str) -> bool:
    """Whether a name that a text opens with, before a colon, tells what follows, not who speaks."""
    return plain(name) in _LABELS or predicate_of(name)[0] in SLOTS


def names_of_predicate(predicate: str) -> tuple[str, ...]:
    """The words that name a predicate, folded: its own and, of a slot, its nouns."""
    nouns = SLOTS.get(predicate, "").replace("|", " ").split()
    return tuple(dict.fromkeys("_".join((predicate, *nouns)).split("_")))


def is_single_valued(predicate: str, extra: Collection[str] = (), *, by_form: bool = False) -> bool:
    """Whether a predicate has one value at a time: by the table, by the caller, or by its form.

    Args:
        predicate: in snake case. extra: further one-valued predicates.
        by_form: the sentence names a role with one holder ("my N is X"); nouns that have many at
            once stay many-valued.
    """
    if predicate in ONE_VALUED or predicate in extra or predicate.startswith(_FAVOURITE):
        return True
    head = predicate.rpartition("_")[2]
    return by_form and head not in MANY_NOUNS and not is_plural(predicate)


def is_plural(noun: str) -> bool:
    """Whether a noun looks like a plural, English or Turkish."""
    if noun.endswith(("lar", "ler", "lari", "leri")):
        return True
    return noun.endswith("s") and not noun.endswith(("ss", "us", "is", "os", "as"))


# One relation, one predicate: a boss, a manager and the one who gets reports.

_IS_NAMED: Final = "is_named"
_OWNERS: Final = ("'s ", "\u2019s ")


def predicates_like(predicate: str) -> frozenset[str]:
    """All names of the relation of a predicate in snake case; itself where it has no others."""
    known, one = aliases_of_relations(), canonical_name(predicate)
    return frozenset((predicate, *(name for name in known if known[name] == one)))


def canonical_name(predicate: str) -> str:
    """The canonical predicate of the relation that a name in snake case has."""
    return aliases_of_relations().get(predicate, predicate)


def canonical(said: Statement) -> Statement:
    """The statement with the canonical predicate of its relation.

    "My boss is called Ines" says who the manager is, as "my boss is Ines" does, and a
    pet is known by its kind. Of sisters there may be several, each with a name of her own.
    """
    subject, _, role = next(
        (parts for mark in _OWNERS if (parts := said.subject.rpartition(mark))[1]), ("", "", "")
    )
    role = "_".join(role.lower().split())
    known = role in aliases_of_relations() or role in PETS or role in KIN - MANY_NOUNS
    if said.predicate == _IS_NAMED and subject and known:
        single = said.single and role not in MANY_NOUNS
        said = replace(said, subject=subject, predicate=role, single=single)
    one = canonical_name(said.predicate)
    return said if one == said.predicate else replace(said, predicate=one)


# Times that come back and places: what holds on Mondays or at work does not end elsewhere.

#: what such a window begins with
EACH: Final = "each "
_DAYS: Final = "monday tuesday wednesday thursday friday saturday sunday weekday weekend workday"
_GUNLER: Final = "pazartesi sali carsamba persembe cuma cumartesi"
#: form -> what it is called, both languages
_ENGLISH: Final = re.compile(
    rf"\b(?:on|every|each|at|during|over)\s+(?:the\s+|most\s+|other\s+)?(?:"
    rf"({_DAYS.replace(' ', '|')})s|(?<=every )({_DAYS.replace(' ', '|')})"
    rf"|(?<=each )({_DAYS.replace(' ', '|')}))\b"
    r"|(?<!\d )(?<!\d)\b(?:at|by|during\s+the)\s+(night|day)\b"
    r"|\b(?:in|during|over)\s+(?:the\s+)?(summer|winter|spring|autumn|fall)s?\b(?!\s+(?:of\s+)?\d)"
    r"|\b(?:in|during)\s+the\s+(morning|evening|afternoon)s\b"
)
_TURKISH: Final = re.compile(
    rf"\b(?:her\s+)?({_GUNLER.replace(' ', '|')}|pazar)\s+(?:gunleri|sabahlari|aksamlari)\b"
    rf"|\b({_GUNLER.replace(' ', '|')})(?:leri|lari)\b"
    rf"|\bher\s+({_GUNLER.replace(' ', '|')}|pazar)\b"
    r"|\b(hafta\s+(?:ici|sonu))(?:lari|leri)?\b"
    r"|\b(yaz|kis)(?:in|lari)\b|\b(ilkbahar|sonbahar)(?:da|lari)\b"
    r"|\b(gece|gunduz|sabah|aksam)(?:leri|lari)\b"
)
_PLACES: Final = re.compile(
    r"\b(?:at|in|on)\s+(?:the\s+)?(home|work|school|office|gym|restaurants?|bars?|cafes?|public|private"
    r"|production|prod|staging|development|dev|test|testing|qa|weekdays?|parties|trips)\b"
    r"|\b(evde|ofiste|okulda|restoranda|disarida|canlida|testte|uretimde|isyerinde|partilerde)\b"
)


def recurring_in(text: str) -> str | None:
    """The times that come back and the places in a sentence, by name; None where it has none."""
    folded = plain(text)
    names = sorted({
        " ".join(name.split()) for pattern in (_ENGLISH, _TURKISH, _PLACES)
        for found in pattern.finditer(folded) for name in found.groups() if name
    })  # fmt: skip
    return EACH + " ".join(names) if names else None
