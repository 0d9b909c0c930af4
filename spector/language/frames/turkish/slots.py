"""Turkish slots and their values: "S'nin N-i X", "en sevdiğim renk X"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spector.language.frames.predicates import predicate_of
from spector.language.frames.sentences import Draft, Place
from spector.language.frames.turkish import tables
from spector.language.frames.turkish.objects import Noun, Subject, owner_before, trimmed
from spector.language.frames.turkish.tables import possessed, strip_case, strip_copula
from spector.language.frames.values import is_date
from spector.language.words import plain

_FAVOURITE: Final = frozenset(("sevdigim", "sevdigi", "begendigim", "begendigi"))
_AMOUNTS: Final = frozenset(
    """age price budget salary port phone version height weight shoe_size""".split()
)
_COPULAS: Final = frozenset(("", "dir", "dur", "tir", "tur", "im", "yim", "de", "da", "te", "ta"))
#: slots of things that stand behind the thing without any ending: "API sürümü"
_OF_THINGS: Final = frozenset(
    """version port password price capacity limit status host budget deadline
    scheduled_for url start_time owner timeout""".split()
)
_NO_VALUES: Final = tables.POSTPOSITIONS | tables.PRONOUNS | {"olarak"}
_FINITE: Final = (
    "mis",
    "mus",
    "yor",
    "yorum",
    "yoruz",
    "yorlar",
    "acak",
    "ecek",
    "acagim",
    "ecegim",
    "mali",
    "meli",
    "misim",
    "musum",
    "lim",
    "sin",
    "sun",
    "mak",
    "mek",
)
_PLACE_NOUNS: Final = frozenset("sehrinde kentinde ilcesinde koyunde kasabasinda semtinde".split())
#: participle and noun -> predicate
_RELATIVES: Final = {
    (participle, noun): predicate
    for predicate, participles, nouns in (
        ("lives_in", "oturdugum yasadigim", "sehir yer ilce semt ulke mahalle"),
        ("works_at", "calistigim", "sirket yer kurum firma isyeri"),
    )
    for participle in participles.split()
    for noun in nouns.split()
}
#: nouns that end in a close vowel themselves: "kedim" is of kedi
_VOWEL_FINAL: Final = (
    "kedi",
    "hobi",
    "gemi",
    "kuzu",
    "taksi",
    "fobi",
    "ci",
    "cu",
    "halı",
    "hali",
    "kapi",
    "arkadasi",
    "sevgili",
    "nisanli",
    "lisansi",
    "pasta",
    "buro",
)


def unpossessed(noun: Noun) -> tuple[int, str | None]:
    """(person, noun without its possessive)."""
    if noun.suffix or noun.kind != "word":
        return 0, None
    if noun.text in tables.KIN:
        return 1, tables.KIN[noun.text]
    endings = [("im", 1), ("um", 1), ("m", 1), ("si", 3), ("su", 3), ("i", 3), ("u", 3)]
    if noun.text[:-1].endswith(_VOWEL_FINAL):
        endings = [("m", 1)]
    for ending, person in endings:
        if not noun.text.endswith(ending) or len(noun.text) - len(ending) < 2:
            continue
        stem = noun.raw[: -len(ending)]
        hard = stem[:-1] + "k" if stem.endswith("ğ") and len(stem) > 3 else stem
        if any(form == noun.text and who == person for who, form in possessed(hard)):
            return person, hard
        if any(form == noun.text and who == person for who, form in possessed(stem)):
            return person, stem
    return 0, None


def slot_of(part: list[Noun], text: str) -> Draft | None:
    """ "[S'nin] N-i X": a noun with a possessive, then its value."""
    favourite = _favourite(part, text) or _relative(part, text)
    if favourite is not None:
        return favourite
    for at in range(min(len(part) - 1, 6)):
        for count in (2, 1):
            if at + count >= len(part):
                continue
            nouns = part[at : at + count]
            if any(noun.suffix for noun in nouns):
                continue
            found = tables.NOUNS.get(" ".join(noun.text for noun in nouns))
            if found is not None:
                return _valued(part, at, at + count, found, text)
    return None


def _relative(part: list[Noun], text: str) -> Draft | None:
    """ "oturduğum şehir X": a slot that a relative clause names."""
    for at in range(len(part) - 2):
        predicate = _RELATIVES.get((part[at].text, part[at + 1].text))
        if predicate is not None and all(each.text in tables.ADVERBS for each in part[:at]):
            who = Subject(1, "", (part[at].start, part[at].stop), at + 2)
            return _with_value(part, at + 2, who, predicate, "works_at", text)
    return None


def _valued(
    part: list[Noun], at: int, begin: int, found: tuple[int, str, str], text: str
) -> Draft | None:
    person, predicate, noun = found
    first = at
    modifier = ""
    kinds = ("telefon", "cep", "is", "ev") if person != 3 else ("telefon", "cep")
    if at and part[at - 1].text in kinds and (predicate in ("phone", "email", "address")):
        modifier, first = part[at - 1].text, at - 1
    owner = owner_before(part, first, text)
    prefix = part[:first] if owner is None else part[: owner[3]]
    thing = [noun for noun in prefix if noun.text not in tables.ADVERBS]
    if owner is None and person == 3 and predicate in _OF_THINGS and _is_bare(thing, prefix):
        owner = (0, text[thing[0].start : thing[-1].end], (thing[0].start, thing[-1].end), 0)
        thing = []
    if thing or person == 2:
        return None
    name_span: Place = (part[at].start, part[begin - 1].stop)
    if person == 1:
        who = Subject(1, "", name_span, begin)
    elif owner is None:
        who = Subject(0, text[name_span[0] : name_span[1]], name_span, begin)
        if begin - at == 1 and noun != "veritaban":
            return None  # "its port": of a thing that is not named
        predicate = "is"
    elif (owner[0] == 1 and not owner[1]) or (
        predicate == "phone" and noun == "numara" and not (owner[0] or modifier)
    ):
        return None
    else:
        who = Subject(owner[0], owner[1], owner[2], begin)
    if modifier in ("is", "ev") and predicate in ("phone", "email"):
        predicate = f"{'work' if modifier == 'is' else 'home'}_{predicate}"
    known = "database" if predicate == "is" and noun == "veritaban" else predicate
    return _with_value(part, begin, who, predicate, known, text)


def _is_bare(thing: Sequence[Noun], prefix: Sequence[Noun]) -> bool:
    """Whether a noun in one or two words stands before its slot: "API sürümü", "wifi şifresi"."""
    return (
        1 <= len(thing) <= 2
        and list(prefix[-len(thing) :]) == list(thing)
        and not any(
            noun.suffix
            or noun.kind != "word"
            or noun.text in tables.PRONOUNS
            or noun.text.endswith(("erek", "arak", "ken", "ip", "up"))
            or noun.text in tables.KIN
            for noun in thing
        )
    )


def _with_value(
    part: list[Noun], begin: int, who: Subject, predicate: str, checked: str, text: str
) -> Draft | None:
    changed = False
    last = part[-1]
    if checked == "works_as" and last.capital and strip_case(last.raw, last.suffix, "loc"):
        checked, predicate = "works_at", "works_at"
    while begin < len(part) and part[begin].text in tables.ADVERBS:
        changed |= part[begin].text in ("artik", "simdi")
        begin += 1
    end = len(part)
    if begin >= end or end - begin > 5:
        return None
    last = part[-1]
    value_end = last.end
    if (checked in ("lives_in", "works_at") and strip_case(last.raw, last.suffix, "loc")) or (
        checked == "lives_in"
    ):
        if last.text in _PLACE_NOUNS and end - begin == 2:
            end, last = end - 1, part[-2]
            stem: str | None = last.raw
        else:
            stem = strip_case(last.raw, last.suffix, "loc") or (
                last.raw if part[begin - 1].text.startswith("sehr") else None
            )
        value_end = last.end
        if stem is None or not last.capital:
            return None
    else:
        stem = strip_copula(last.raw, last.suffix)
        value_end = last.start + len(stem)
    value = trimmed(part, begin, end, stem, text)
    if not _suits(part[begin:end], value, checked):
        return None
    return Draft(
        who.owner,
        who.name,
        predicate,
        value,
        who.span,
        (part[begin].start, value_end),
        (min(who.span[0], part[begin].start), part[-1].stop),
        changed=changed,
        by_form=True,
        frame="tr:slot",
    )


def _suits(value: Sequence[Noun], text: str, predicate: str) -> bool:
    last = value[-1]
    if (
        any(noun.suffix for noun in value[:-1])
        or last.suffix not in _COPULAS
        or any(noun.text in _NO_VALUES for noun in value)
    ):
        return False
    if (
        (last.text.endswith(_FINITE) and not last.capital)
        or last.text in tables.VERB_FORMS
        or (last.text in ("var", "yok") or last.text in tables.PRONOUNS)
    ):
        return False
    digits = any(noun.kind == "number" or any(map(str.isdigit, noun.text)) for noun in value)
    if predicate == "works_as":
        word = strip_copula(last.text, last.suffix)
        return tables.ROLE_FORMS.get(word) == 3 or word.endswith(("ci", "cu", "men", "man"))
    if predicate == "is_named":
        return all(noun.capital for noun in value)
    if predicate in _AMOUNTS:
        return digits or value[0].text in tables.NUMBERS
    if predicate in ("deadline", "birthday", "start_time"):
        return is_date(text) or digits
    if predicate == "email":
        return value[0].kind == "mail"
    if predicate in ("colour", "language", "status", "diet", "marital_status") or (
        predicate.startswith("favourite_")
    ):
        return len(value) <= 3
    if predicate == "database":
        return last.capital or digits
    return last.capital or digits


def _favourite(part: list[Noun], text: str) -> Draft | None:
    """ "en sevdiğim renk X", "X en sevdiğim renk(tir)", "Renklerden en çok X severim"."""
    at = next(
        (
            n
            for n in range(len(part))
            if (part[n].text in _FAVOURITE and n and part[n - 1].text == "en")
            or part[n].text == "favori"
        ),
        -1,
    )
    if at < 0 or at + 1 >= len(part):
        return None
    noun = part[at + 1]
    word = strip_copula(noun.text, noun.suffix)
    own = part[at].text.endswith("m")
    begin = at - 1 if part[at].text != "favori" else at
    if part[at].text == "favori":
        person, stem = unpossessed(noun)
        if stem is None:
            return None
        own, word = person == 1, plain(stem)
    elif noun.text.endswith(("lar", "ler", "dan", "den", "tan", "ten")):
        return None
    who = Subject(1, "", (part[begin].start, part[at].stop), at + 2)
    first = begin
    if not own:
        owner = owner_before(part, begin, text)
        if owner is None or not owner[1]:
            return None
        who = Subject(owner[0], owner[1], owner[2], at + 2)
        first = owner[3]
    predicate = "favourite_" + predicate_of(word)[0]
    if at + 2 < len(part):
        if any(each.text not in tables.ADVERBS for each in part[:first]):
            return None
        return _with_value(part, at + 2, who, predicate, predicate, text)
    value = [each for each in part[:first] if each.text not in tables.ADVERBS]
    if (
        not own
        or not 1 <= len(value) <= 3
        or any(each.text in tables.PRONOUNS or each.suffix for each in value)
    ):
        return None
    span = (value[0].start, value[-1].end)
    return Draft(
        1,
        "",
        predicate,
        text[span[0] : span[1]],
        who.span,
        span,
        (span[0], part[-1].stop),
        by_form=True,
        frame="tr:favourite",
    )
