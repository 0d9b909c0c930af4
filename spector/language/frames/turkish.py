"""Statements of Turkish sentences: slots and their values, and where one lives or works."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

from spector.language.frames.predicates import SLOTS, predicate_of
from spector.language.frames.sentences import (
    Draft,
    Modality,
    Place,
    Sentence,
    Tense,
    Word,
    stricter,
)
from spector.language.frames.values import is_date
from spector.language.tables import grammar_table
from spector.language.words import analyse, plain

# Suffixes: vowel harmony, cases, possessives, forms of verbs.
#
# Forms are made from stems in their proper spelling and compared folded, so that "yasiyorum" typed
# without its letters is found as well.

Case = Literal["acc", "dat", "loc", "abl", "gen"]

_TABLE: Final = grammar_table("tr", "frames")
_WORDS: Final = {name: frozenset(text.split()) for name, text in _TABLE["words"].items()}
_VOWELS: Final = "aeıioöuü"
_UNVOICED: Final = "fstkçşhp"
_COPULAS: Final = ("dir", "dur", "tir", "tur")
_N_FINAL, _PALATAL = tuple(_WORDS["n_final"]), tuple(_WORDS["palatal"])


class Form(NamedTuple):
    """What a form of a verb says: 1, 2 or 3 for its person, and how it is meant."""

    stem: str
    person: int
    tense: Tense
    polarity: bool
    modality: Modality = "asserted"


def _last_vowel(stem: str) -> str:
    return next((char for char in reversed(stem) if char in _VOWELS), "a")


def _close(stem: str) -> str:
    """ı, i, u or ü: the vowel of a suffix such as -im, by four-way harmony."""
    return dict(zip("aıeiouöü", "ııiiuuüü", strict=True))[_last_vowel(stem)]


def _broad(stem: str) -> str:
    """a or e: the vowel of a suffix such as -de, by two-way harmony."""
    return "a" if _last_vowel(stem) in "aıou" else "e"


def has_harmony(stem: str, suffix: str) -> bool:
    """Whether a suffix can follow a stem, as far as the letters that are there can tell.

    A stem typed without the letters of Turkish does not tell ı from i or ö from o, so it clashes
    with less; one without any vowel (numbers, initials) with nothing.
    """
    stem = stem.replace("İ", "i").lower()
    before = next((char for char in reversed(stem) if char in _VOWELS), "")
    after = next((char for char in plain(suffix) if char in _VOWELS), "")
    if not before or not after or stem[-1:].isdigit() or plain(stem).endswith(_PALATAL):
        return True
    if after in "ae":
        return (before in "iou" and stem.isascii()) or after == ("a" if before in "aıou" else "e")
    return (after == "u") == (before in "oöuü")


def strip_case(raw: str, suffix: str, case: Case) -> str | None:
    """A noun without the ending of a case; None where it has none.

    Args:
        suffix: what stands behind an apostrophe, folded; "" where there is no apostrophe.
    """
    if suffix:  # names of other languages are written one way and spoken another
        return raw if suffix in _WORDS[case] else None
    folded = plain(raw)
    if len(folded) != len(raw) or (case == "acc" and folded in _WORDS["bare"]):
        return None
    for length in (4, 3, 2, 1):
        stem, ending = folded[:-length], folded[-length:]
        if ending not in _WORDS[case] or len(stem) < 2:
            continue
        if not any(char in _VOWELS for char in stem) or not has_harmony(raw[:-length], ending):
            continue
        vowel = stem[-1] in _VOWELS
        if (ending[0] in "yn" and not vowel) or (ending[0] in "aeiou" and vowel):
            continue
        if ending[0] == "n" and f"{stem}n".endswith(_N_FINAL):
            continue
        if ending[0] == "y" and len(stem) < 3 and stem != "su":
            continue
        if case in ("loc", "abl") and ending[0] == "n" and not vowel:
            continue
        kept = raw[:-length]  # a last consonant is softened before a vowel: "çocuğ" is "çocuk"
        soft = ending[0] in "aeiou" and kept.endswith("ğ") and len(kept) > 3
        return kept[:-1] + "k" if soft else kept
    return None


def strip_copula(raw: str, suffix: str) -> str:
    """A word without -dir; the word itself where it has none."""
    folded = plain(raw)
    is_long = not suffix and len(folded) == len(raw) > 5 and folded.endswith(_COPULAS)
    return raw[:-3] if is_long and has_harmony(folded[:-3], folded[-3:]) else raw


def possessed(noun: str) -> Iterator[tuple[int, str]]:
    """(person, form) of a noun with the possessives of all persons, folded: my N, your N, his N.

    A second stem behind a slash is the one before vowels: "isim/ism".
    """
    base, _, before_vowel = noun.partition("/")
    stem, vowel = before_vowel or base, _close(base)
    if not before_vowel and base[-1] in "kçp" and sum(char in _VOWELS for char in base) > 1:
        stem = base[:-1] + {"k": "ğ", "ç": "c", "p": "b"}[base[-1]]
    if not before_vowel and base.endswith("nk"):
        stem = base[:-1] + "g"
    joint, third = ("", f"s{vowel}") if base[-1] in _VOWELS else (vowel, vowel)
    stem = stem if joint else base
    for person, ending in ((1, "m"), (1, f"m{vowel}z"), (2, "n"), (2, f"n{vowel}z")):
        yield person, plain(f"{stem}{joint}{ending}")
    yield 3, plain(stem + third)


def verb_forms(stem: str, aorist: str) -> Iterator[tuple[str, Form]]:
    """(form, what it says) of a verb, folded; an aorist is given as its third person."""
    soft = {"git": "gid", "et": "ed"}.get(stem, stem)
    vowel = stem[-1] in _VOWELS
    narrow = stem[:-1] if vowel else soft
    present = f"{narrow}{_close(narrow if any(c in _VOWELS for c in narrow) else stem)}yor"
    present = {"ye": "yiyor", "de": "diyor"}.get(stem, present)
    joint = {"ye": "yiy"}.get(stem, f"{soft}y" if vowel else soft)
    negative, denied = stem + "m" + _broad(stem), f"{stem}m{_close(stem)}yor"
    hard = "t" if stem[-1] in _UNVOICED else "d"
    for base, polarity in ((present, True), (denied, False), (aorist, True)):
        yield from _persons(Form(stem, 3, "present", polarity), base)
    for ending, person in (("m", 1), ("z", 3), (f"y{_close(negative)}z", 1)):
        yield plain(negative + ending), Form(stem, person, "present", False)
    for base, polarity in (
        (f"{stem}{hard}{_close(stem)}", True),
        (f"{negative}d{_close(negative)}", False),
        (f"{present}du", True),
        (f"{denied}du", False),
    ):
        yield from _persons(Form(stem, 3, "past", polarity), base)
    for base, polarity in ((joint, True), (negative + "y", False)):
        a, said = _broad(base), Form(stem, 3, "future", polarity, "planned")
        yield from _persons(said, f"{base}{a}c{a}k")
        for ending in ("m", "z"):
            yield plain(f"{base}{a}c{a}ğ{_close(base + a)}{ending}"), said._replace(person=1)
    for base, polarity in ((stem, True), (negative, False)):
        told = f"{base}m{_close(base)}ş"
        yield plain(told), Form(stem, 3, "past", polarity, "reported")


def _persons(said: Form, base: str) -> Iterator[tuple[str, Form]]:
    vowel, many = _close(base), f"l{_broad(base)}r"
    if said.tense == "past":
        own, other = ("m", "k"), ("n", f"n{vowel}z")
    else:
        own, other = (f"{vowel}m", f"{vowel}z"), (f"s{vowel}n", f"s{vowel}n{vowel}z")
    for person, endings in ((1, own), (2, other), (3, ("", many))):
        for ending in endings:
            yield plain(base + ending), said._replace(person=person)


def _made_verbs() -> dict[str, Form]:
    out: dict[str, Form] = {}
    for pair in _TABLE["verbs"]["aorists"].split(","):
        stem, aorist = pair.split()
        for form, says in verb_forms(stem, aorist):
            out.setdefault(form, says)
    for form in ("yer", "cok", "al", "git", "gec", "oku", "yaz", "gez", "yazar", "yasar"):
        out.pop(form, None)  # nouns and names, or orders
    return out


def _spaced(noun: str) -> str:
    return noun if "-post" in noun else noun.replace("-", " ")


#: form of a verb -> what it says
_VERBS: Final = _made_verbs()
#: form of a noun with a possessive -> (person, predicate, noun); longer names with spaces
_NOUNS: Final = {
    form: (person, predicate, _spaced(noun.partition("/")[0]))
    for predicate, nouns in reversed(_TABLE["nouns"].items())
    for noun in reversed(nouns.split())
    for person, form in reversed([*possessed(_spaced(noun))])
}
KIN: Final = {
    form: _spaced(noun.partition("/")[0])
    for noun in _TABLE["words"]["kin"].split()
    for person, form in possessed(_spaced(noun))
    if person == 1
}
_KIN_OF_OTHERS: Final = frozenset(
    form for noun in _WORDS["kin"] for person, form in possessed(_spaced(noun)) if person == 3
)
_ROLES: Final = frozenset(map(plain, _WORDS["roles"]))
#: participle and noun -> predicate
_RELATIVES: Final = {
    (participle, noun): predicate
    for predicate, (participles, nouns) in _TABLE["relatives"].items()
    for participle in participles.split()
    for noun in nouns.split()
}
_ADVERBS, _PRONOUNS = _WORDS["adverbs"], _WORDS["pronouns"]


# Words of a sentence with their apostrophe suffixes, its clauses, and its subject.


class Subject(NamedTuple):
    """Whose a clause is: person 1 or 0, a name, where it stands, and where what follows begins."""

    owner: int
    name: str
    span: Place
    after: int


def is_turkish_sentence(sentence: Sentence, text: str) -> bool:
    """Whether a sentence is Turkish by its own words."""
    words = [word.text for word in sentence.words if word.kind == "word"]
    if not _WORDS["english"].isdisjoint(words):
        return False
    if analyse(text[sentence.start : sentence.end]).turkish:
        return True
    return any(
        word in _VERBS or word in _NOUNS or word in KIN or word in ("var", "yok", "degil")
        for word in words
    )


def is_english_sentence(sentence: Sentence) -> bool:
    """Whether a sentence has a word that only English has."""
    return any(word.text in _WORDS["english"] for word in sentence.words)


def _nouns_of(words: Sequence[Word]) -> list[Word]:
    out: list[Word] = []
    for word in words:
        if word.kind == "suffix" and out and out[-1].stop == word.start:
            out[-1] = out[-1]._replace(suffix=word.text[1:], stop=word.end)
        else:
            out.append(word._replace(stop=word.end))
    return out


def _clauses(nouns: Sequence[Word]) -> Iterator[list[Word]]:
    """The parts of a sentence between signs and conjunctions."""
    part: list[Word] = []
    for noun in nouns:
        if (noun.kind == "sign" and noun.text not in "'%\"“”") or (
            noun.text in _WORDS["conjunctions"] and not noun.suffix
        ):
            yield part
            part = []
        elif noun.kind != "sign":
            part.append(noun)
    yield part


def _behind_adverbs(part: Sequence[Word], at: int = 0) -> int:
    while at < len(part) and part[at].text in _ADVERBS:
        at += 1
    return at


def _subject_of(part: Sequence[Word], text: str) -> Subject | None:
    """The subject that a clause of the third person begins with; None where none is sure."""
    at = _behind_adverbs(part)
    for count in (2, 1):
        kin = " ".join(noun.text for noun in part[at : at + count])
        if kin in KIN and len(part) > at + count:
            end = at + count
            while end + 1 < len(part) and end - at < 3 and part[end].is_name and count == 1:
                end += 1
            return Subject(1, KIN[kin], (part[at].start, part[end - 1].stop), end)
    end = at
    while end < len(part) and end - at < 3 and part[end].is_name and not _has_case(part[end]):
        end += 1
    if at < end < len(part) and part[at].text not in _PRONOUNS:
        last = part[end - 1].text
        if last not in _WORDS["place_parts"] and last not in _KIN_OF_OTHERS:
            span = (part[at].start, part[end - 1].stop)
            return Subject(0, text[span[0] : span[1]], span, end)
    return None


def _has_case(noun: Word) -> bool:
    """Whether a word is in or from a place, and so no subject: "Ankarada"."""
    return any(strip_case(noun.raw, "", case) is not None for case in _ADVERBIAL)


_ADVERBIAL: Final[tuple[Case, ...]] = ("loc", "abl")


def _trimmed(part: Sequence[Word], first: int, end: int, last: str, text: str) -> str:
    """The words from ``first`` to ``end``, the last one as ``last``."""
    if end - first > 1:
        return " ".join(text[part[first].start : part[end - 2].stop].split()) + " " + last
    return last


def _owner_before(part: Sequence[Word], at: int, text: str) -> Subject | None:
    """The owner of "S'nin" before an index, its ``after`` being where it begins; None for none."""
    if at < 1:
        return None
    noun = part[at - 1]
    if noun.text in ("benim", "bizim"):
        return Subject(1, "", (noun.start, noun.stop), at - 1)
    for count in range(0 if noun.suffix else min(2, at), 0, -1):
        kin = " ".join(each.text for each in part[at - count : at])
        if kin.endswith(("in", "un")) and kin[:-2] in KIN:
            return Subject(1, KIN[kin[:-2]], (part[at - count].start, noun.stop), at - count)
    stem = strip_case(noun.raw, noun.suffix, "gen")
    if stem is None or noun.text in _PRONOUNS:
        return None
    first = at - 1
    while first > 0 and at - first < 3 and not part[first - 1].suffix:
        before = part[first - 1]
        if before.kind != "word" or not (
            before.capital if noun.capital else before.text not in _ADVERBS
        ):
            break
        first -= 1
    name = _trimmed(part, first, at, stem, text)
    return Subject(0, name, (part[first].start, noun.end), first)


def _draft(who: Subject, predicate: str, said: str, place: Place, stop: int, frame: str) -> Draft:
    """The statement that a value at a place is of a subject, in a clause that ends at ``stop``."""
    whole = (min(who.span[0], place[0]), max(stop, place[1]))
    return Draft(
        who.owner, who.name, predicate, said, who.span, place, whole, by_form=True, frame=frame
    )


# Slots and their values: "S'nin N-i X", "en sevdiğim renk X".

_FAVOURITE: Final = frozenset("sevdigim sevdigi begendigim begendigi".split())
_BEHIND_VALUE: Final = frozenset(("", "im", "yim", "de", "da", "te", "ta", *_COPULAS))
_FINITE: Final = tuple(_WORDS["finite"])
_FREE: Final = frozenset("colour language status diet marital_status".split())


def _slot_of(part: list[Word], text: str) -> Draft | None:
    """ "[S'nin] N-i X": a noun with a possessive, then its value."""
    if (named := _favourite(part, text) or _relative(part, text)) is not None:
        return named
    for at in range(min(len(part) - 1, 6)):
        for count in (2, 1):
            nouns = part[at : at + count]
            if at + count < len(part) and not any(noun.suffix for noun in nouns):
                found = _NOUNS.get(" ".join(noun.text for noun in nouns))
                if found is not None:
                    return _valued(part, at, at + count, found, text)
    return None


def _relative(part: list[Word], text: str) -> Draft | None:
    """ "oturduğum şehir X": a slot that a relative clause names."""
    at = _behind_adverbs(part)
    pair = tuple(each.text for each in part[at : at + 2])
    if len(part) <= at + 2 or pair not in _RELATIVES:
        return None
    who = Subject(1, "", (part[at].start, part[at].stop), at + 2)
    return _with_value(part, at + 2, who, _RELATIVES[pair], "works_at", text)


def _valued(
    part: list[Word], at: int, begin: int, found: tuple[int, str, str], text: str
) -> Draft | None:
    person, predicate, noun = found
    first, modifier = at, ""
    kinds = ("telefon", "cep", "is", "ev") if person != 3 else ("telefon", "cep")
    if at and part[at - 1].text in kinds and predicate in ("phone", "email", "address"):
        modifier, first = part[at - 1].text, at - 1
    owner = _owner_before(part, first, text)
    prefix = part[:first] if owner is None else part[: owner.after]
    thing = [noun for noun in prefix if noun.text not in _ADVERBS]
    if owner is None and person == 3 and predicate in _WORDS["of_things"] and _is_bare(thing):
        span = (thing[0].start, thing[-1].end)
        owner, thing = Subject(0, text[slice(*span)], span, 0), []
    if thing or person == 2:
        return None
    name_span: Place = (part[at].start, part[begin - 1].stop)
    if person == 1:
        who = Subject(1, "", name_span, begin)
    elif owner is None:
        if begin - at == 1 and noun != "veritaban":
            return None  # "its port": of a thing that is not named
        who, predicate = Subject(0, text[name_span[0] : name_span[1]], name_span, begin), "is"
    elif (owner.owner == 1 and not owner.name) or (
        predicate == "phone" and noun == "numara" and not (owner.owner or modifier)
    ):
        return None
    else:
        who = owner
    if modifier in ("is", "ev") and predicate in ("phone", "email"):
        predicate = f"{'work' if modifier == 'is' else 'home'}_{predicate}"
    known = "database" if predicate == "is" and noun == "veritaban" else predicate
    return _with_value(part, begin, who, predicate, known, text)


def _is_bare(thing: Sequence[Word]) -> bool:
    """Whether one or two words name a thing before its slot: "API sürümü", "wifi şifresi"."""
    return 1 <= len(thing) <= 2 and not any(
        noun.suffix
        or noun.kind != "word"
        or noun.text in _PRONOUNS
        or noun.text in KIN
        or noun.text.endswith(("erek", "arak", "ken", "ip", "up"))
        for noun in thing
    )


def _with_value(
    part: list[Word], begin: int, who: Subject, predicate: str, checked: str, text: str
) -> Draft | None:
    last, end = part[-1], len(part)
    if checked == "works_as" and last.capital and strip_case(last.raw, last.suffix, "loc"):
        checked = predicate = "works_at"
    value = _behind_adverbs(part, begin)
    changed = any(noun.text in ("artik", "simdi") for noun in part[begin:value])
    if not 0 < end - value <= 5:
        return None
    stem: str | None
    if checked == "lives_in" or (
        checked == "works_at" and strip_case(last.raw, last.suffix, "loc")
    ):
        if last.text in _WORDS["place_nouns"] and end - value == 2:
            end, last = end - 1, part[-2]
            stem = last.raw
        else:
            is_named = part[value - 1].text.startswith("sehr")
            stem = strip_case(last.raw, last.suffix, "loc") or (last.raw if is_named else None)
        value_end = last.end
        if stem is None or not last.capital:
            return None
    else:
        stem = strip_copula(last.raw, last.suffix)
        value_end = last.start + len(stem)
    said = _trimmed(part, value, end, stem, text)
    if not _suits(part[value:end], said, checked):
        return None
    place = (part[value].start, value_end)
    made = _draft(who, predicate, said, place, part[-1].stop, "tr:slot")
    made.changed = changed
    return made


def _suits(value: Sequence[Word], text: str, predicate: str) -> bool:
    """Whether words may be the value of a slot."""
    last = value[-1]
    if any(noun.suffix for noun in value[:-1]) or last.suffix not in _BEHIND_VALUE:
        return False
    if any(noun.text in _WORDS["postpositions"] | _PRONOUNS for noun in value):
        return False
    if (last.text.endswith(_FINITE) and not last.capital) or last.text in ("var", "yok"):
        return False
    if last.text in _VERBS:
        return False
    digits = any(noun.kind == "number" or any(map(str.isdigit, noun.text)) for noun in value)
    if predicate == "works_as":
        word = strip_copula(last.text, last.suffix)
        return word in _ROLES or word.endswith(("ci", "cu", "men", "man"))
    if predicate == "is_named":
        return all(noun.capital for noun in value)
    if predicate in _WORDS["amounts"]:
        return digits or value[0].text in _WORDS["numbers"]
    if predicate in ("deadline", "birthday", "start_time"):
        return is_date(text) or digits
    if predicate == "email":
        return value[0].kind == "mail"
    if predicate in _FREE or predicate.startswith("favourite_"):
        return len(value) <= 3
    return last.capital or digits


def _favourite(part: list[Word], text: str) -> Draft | None:
    """ "en sevdiğim renk X", "X en sevdiğim renk(tir)", "favori rengim X"."""
    at = next(
        (
            n
            for n, noun in enumerate(part[:-1])
            if (noun.text in _FAVOURITE and n and part[n - 1].text == "en") or noun.text == "favori"
        ),
        -1,
    )
    if at < 0:
        return None
    noun, is_short = part[at + 1], part[at].text == "favori"
    own, word, begin = part[at].text.endswith("m"), strip_copula(noun.text, noun.suffix), at - 1
    if is_short:
        person, _, word = _NOUNS.get(noun.text, (0, "", ""))
        own, begin = person == 1, at
    if not word or noun.text.endswith(("lar", "ler", "dan", "den", "tan", "ten")):
        return None
    who, first = Subject(1, "", (part[begin].start, part[at].stop), at + 2), begin
    if not own:
        owner = _owner_before(part, begin, text)
        if owner is None or not owner.name:
            return None
        who, first = owner, owner.after
    predicate = "favourite_" + predicate_of(word)[0]
    value = [each for each in part[:first] if each.text not in _ADVERBS]
    if at + 2 < len(part):
        return None if value else _with_value(part, at + 2, who, predicate, predicate, text)
    if not own or not 1 <= len(value) <= 3 or any(each.text in _PRONOUNS for each in value):
        return None
    return _of_all(value, value[-1].raw, who, predicate, part[-1].stop, text)


def _best_of_all(part: Sequence[Word], text: str) -> Draft | None:
    """ "Renklerden en çok maviyi severim": the favourite of a kind."""
    words = [noun.text for noun in part]
    at = next((n for n in range(1, len(part) - 2) if words[n : n + 2] == ["en", "cok"]), 0)
    value = part[at + 2 : -1]
    if not at or not words[at - 1].endswith(("lerden", "lardan")) or not 1 <= len(value) <= 2:
        return None
    stem = strip_case(value[-1].raw, value[-1].suffix, "acc") or value[-1].raw
    predicate = "favourite_" + predicate_of(words[at - 1][:-6])[0]
    who = Subject(1, "", (part[-1].start, part[-1].stop), 0)
    return _of_all(value, stem, who, predicate, part[-1].stop, text)


def _of_all(
    value: Sequence[Word], last: str, who: Subject, predicate: str, stop: int, text: str
) -> Draft:
    said = _trimmed(value, 0, len(value), last, text)
    return _draft(who, predicate, said, (value[0].start, value[-1].end), stop, "tr:favourite")


def _slot_before(part: Sequence[Word], form: Form, text: str) -> Draft | None:
    """A slot whose value a verb gives: "8080 portunda çalışıyor", "veritabanı olarak X kullan"."""
    if form.modality != "asserted" or not form.polarity:
        return None
    if form.stem in ("sev", "beğen") and form.person == 1:
        return _best_of_all(part, text)
    end = len(part) - 1
    if form.stem in ("çalış", "kullan") and end >= 3:
        noun, value = part[end - 1], part[end - 2]
        cases: tuple[Case, ...] = ("loc", "acc")
        stems = filter(None, (strip_case(noun.raw, noun.suffix, case) for case in cases))
        slot = next(filter(None, (_NOUNS.get(plain(stem)) for stem in stems)), None)
        first = _behind_adverbs(part)
        if slot and slot[0] == 3 and value.text[:1].isdigit() and 0 < end - 2 - first <= 3:
            span = (part[first].start, part[end - 3].stop)
            who = Subject(0, text[slice(*span)], span, 0)
            return _of_thing(who, slot[1], value, part[end].stop)
    if form.stem == "kullan" and end >= 3 and part[end - 2].text == "olarak":
        return _used_as(part, end)
    return None


def _used_as(part: Sequence[Word], end: int) -> Draft | None:
    """ "Projede veritabanı olarak X kullanıyoruz": X is the database of the project."""
    value, noun = part[end - 1], part[end - 3]
    if value.suffix or not (value.capital or value.text[:1].isdigit()):
        return None
    slot = _NOUNS.get(noun.text)
    predicate = slot[1] if slot else noun.text
    if predicate not in SLOTS and end < 4:
        return None
    who = Subject(1, "", (part[end].start, part[end].stop), 0)
    if end >= 4:
        place = part[end - 4]
        stem = strip_case(place.raw, place.suffix, "loc")
        if stem is not None and place.text not in _ADVERBS:
            who = Subject(0, stem, (place.start, place.end), 0)
    return _of_thing(who, predicate, value, part[end].stop)


def _of_thing(who: Subject, predicate: str, value: Word, stop: int) -> Draft:
    return _draft(who, predicate, value.raw, (value.start, value.end), stop, "tr:slot-object")


# Sentences: how they are meant, their clauses, and the verbs of home, work and diet.

#: -sa/-se behind a tense: "yaşarsam", "taşınırsak", "olsaydı"
_CONDITIONAL: Final = re.compile(r"\w{3,}(?:rs[ae][mnk]?|s[ae]yd[iu]m?|yors[ae]m?)")
#: with them a clause without a subject goes on with that of the one before: "..., artık ..."
_GOES_ON: Final = frozenset("artik simdi".split())


def turkish_drafts(sentence: Sentence, text: str) -> Iterator[Draft]:
    """The statements of one sentence, in order, with the modality of each."""
    nouns = _nouns_of(sentence.words)
    whole = _modality(sentence, nouns)
    opens = True
    before: Subject | None = None
    for part in _clauses(nouns):
        if not part:
            continue
        if part[0].text == "su" and len(part) > 1 and part[1].text.startswith("an"):
            part = part[2:] or part
        goes_on = part[0].text in _GOES_ON
        draft = _clause(part, text, before if goes_on else None)
        if draft is not None and not (opens or goes_on or draft.owner or draft.frame == "tr:slot"):
            draft = None
        opens = draft is not None
        before = _subject_of(part, text) or (before if goes_on else None)
        if draft is not None:
            words = {noun.text for noun in part if noun.kind == "word"}
            yield replace(
                draft,
                modality=stricter(whole, draft.modality),
                changed=draft.changed or not words.isdisjoint(_WORDS["changes"]),
                added=not words.isdisjoint(("ayrica", "de", "da")),
            )


def _modality(sentence: Sentence, nouns: Sequence[Word]) -> Modality:
    words = {noun.text for noun in nouns}
    if sentence.asks or not words.isdisjoint(_WORDS["questions"]):
        return "asked"
    if not words.isdisjoint(_WORDS["conditions"]) or any(map(_CONDITIONAL.fullmatch, words)):
        return "conditional"
    if not words.isdisjoint(_WORDS["reports"]):
        return "reported"
    return "asserted" if words.isdisjoint(_WORDS["hedges"]) else "hedged"


def _clause(part: list[Word], text: str, before: Subject | None) -> Draft | None:
    """The statement of one clause.

    Args:
        before: the subject of the clause before it, where this one goes on with it.
    """
    while len(part) > 1 and part[-1].text in _ADVERBS and part[-2].text in _VERBS:
        part = part[:-1]
    last = part[-1]
    form = _VERBS.get(last.text) if not last.suffix else None
    if form is None or (last.capital and len(part) > 1):
        return _nominal(part, text)
    if form.person == 2:
        return None
    if (renewed := _slot_before(part, form, text)) is not None:
        return renewed
    subject = _subject_of(part, text) or (before and before._replace(after=0))
    if form.person == 1:
        has_i = part[0].text in ("ben", "biz")
        noun = part[0] if has_i else last
        subject = Subject(1, "", (noun.start, noun.stop), int(has_i))
    return None if subject is None else _of_verb(part, form, subject, text)


def _nominal(part: Sequence[Word], text: str) -> Draft | None:
    """The statement of a clause that ends in no verb with a frame."""
    body, changed = list(part), False
    negated = body[-1].text in ("degil", "degilim", "degildir")
    if negated:
        body.pop()
    while body and body[-1].text in _ADVERBS and body[-1].kind == "word":
        changed |= body.pop().text in ("artik", "simdi")
    made = _slot_of(body, text) if body else None
    if made is not None:
        made.changed |= changed
        made.polarity = not negated
    return made


def _of_verb(part: list[Word], form: Form, subject: Subject, text: str) -> Draft | None:
    """Where someone lives or works, and as what: "Kars'ta yaşıyorum", "aşçı olarak çalışıyorum"."""
    if form.stem not in _WORDS["slot_verbs"]:
        return None
    moves = form.stem in ("taşın", "yerleş")
    if moves and (form.tense != "past" or not form.polarity):
        return None
    end, floor = len(part) - 1, subject.after
    while end > floor and part[end - 1].text in _ADVERBS and part[end - 1].text != "bir":
        end -= 1
    found = _object(part, floor, end, form, text)
    if found is None:
        return None
    predicate, value, first, noun = found
    if not subject.owner and any(each.text not in _ADVERBS for each in part[floor:first]):
        return None
    made = _draft(
        subject, predicate, value, (part[first].start, noun.end), part[-1].stop, f"tr:{form.stem}"
    )
    return replace(
        made,
        polarity=form.polarity,
        modality=form.modality,
        tense="present" if moves else form.tense,
        changed=moves or any(noun.text == "artik" for noun in part),
        by_form=False,
    )


def _object(
    part: list[Word], floor: int, end: int, form: Form, text: str
) -> tuple[str, str, int, Word] | None:
    """(predicate, value, first word, last word) of what stands before a verb; None for none."""
    if end <= floor:
        return None
    noun, case, predicate = part[end - 1], "loc", "lives_in"
    if form.stem == "beslen":
        is_diet = noun.text in map(plain, _WORDS["diets"])
        return ("diet", noun.raw, end - 1, noun) if is_diet else None
    if form.stem == "çalış":
        predicate = "works_at"
        if noun.text == "olarak" and end - 1 > floor:
            return _role(part, end - 1, floor, text)
    if form.stem in ("taşın", "yerleş"):
        case = "dat"
    if predicate == "lives_in" and noun.text in _WORDS["place_nouns"] and end - 2 >= floor:
        noun, end = part[end - 2], end - 1
        stem: Any = None if noun.suffix else noun.raw
    else:
        stem = strip_case(noun.raw, noun.suffix, case)  # type: ignore[arg-type]  # one of two
    if stem is None or noun.kind == "number" or noun.text in _PRONOUNS | _ADVERBS | _AT_HOME:
        return None
    named = noun.capital or bool(noun.suffix)
    if not named and (predicate == "lives_in" or len(stem) <= 3):
        return None
    first = end - 1
    while named and first > floor and part[first - 1].is_name:
        if part[first - 1].text in _ADVERBS | _WORDS["hedges"]:
            break
        first -= 1
    return predicate, _trimmed(part, first, end, stem, text), first, noun


#: say where one works, and not for whom
_AT_HOME: Final = frozenset("evde iste burada surada orada".split())


def _role(
    part: Sequence[Word], end: int, floor: int, text: str
) -> tuple[str, str, int, Word] | None:
    """ "yazılım mühendisi olarak": an occupation of one or two words."""
    noun, first = part[end - 1], end - 1
    if noun.suffix or noun.text not in _ROLES:
        return None
    if noun.text.endswith("i") and not noun.text.endswith(("ci", "mci")) and first > floor:
        before = part[first - 1]
        if before.kind == "word" and not before.suffix and before.text not in _ADVERBS:
            first -= 1
    return "works_as", _trimmed(part, first, end, noun.raw, text), first, noun
