"""Turkish noun phrases, and statements of verbs with an object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from spector.language.frames.predicates import SLOTS, predicate_of
from spector.language.frames.sentences import Draft, Place, Sentence, Word
from spector.language.frames.turkish import tables
from spector.language.frames.turkish.tables import Case, Form, VerbFrame, strip_case
from spector.language.words import analyse, plain

# Words of a Turkish sentence with their apostrophe suffixes, its clauses, and its subject.


class Noun(NamedTuple):
    """A word with what stands behind its apostrophe.

    Attributes:
        text: folded, without the suffix. raw: as written. suffix: folded, "" for none.
        start, end: of the word without its suffix. stop: of both.
    """

    text: str
    raw: str
    suffix: str
    start: int
    end: int
    stop: int
    kind: str

    @property
    def capital(self) -> bool:
        return self.raw[:1].isupper()

    @property
    def whole(self) -> str:
        return self.text + self.suffix


class Subject(NamedTuple):
    """Whose a clause is: person 1 or 0, a name, where it stands, and where what follows begins."""

    owner: int
    name: str
    span: tuple[int, int]
    after: int
    thing: bool = False


_ENGLISH: Final = frozenset(
    """the is are my i you was were and of to in it that for have has with at a an we he
    she they this 'm 's 're not your our his""".split()
)


def is_turkish_sentence(sentence: Sentence, text: str) -> bool:
    """Whether a sentence is Turkish by its own words."""
    words = [word.text for word in sentence.words if word.kind == "word"]
    if any(word in _ENGLISH for word in words):
        return False
    part = text[sentence.start : sentence.end]
    if analyse(part).turkish:
        return True
    if not words:
        return False
    return any(
        word in tables.VERB_FORMS
        or word in tables.NOUNS
        or word in tables.KIN
        or tables.ROLE_FORMS.get(word) == 1
        or word in ("var", "yok", "degil", "yasindayim")
        for word in words
    )


def is_english_sentence(sentence: Sentence) -> bool:
    """Whether a sentence has a word that only English has."""
    return any(word.text in _ENGLISH for word in sentence.words)


def nouns_of(words: Sequence[Word]) -> list[Noun]:
    out: list[Noun] = []
    for word in words:
        if word.kind == "suffix" and out and out[-1].stop == word.start:
            last = out.pop()
            out.append(last._replace(suffix=word.text[1:], stop=word.end))
        else:
            out.append(Noun(word.text, word.raw, "", word.start, word.end, word.end, word.kind))
    return out


#: endings of verbs in the third person
_FINITE: Final = re.compile(
    r"(?:yor|[aeiu]r|[dt][iu]|m[iu]s|[ae]cak|[ae]cek|m[ae]z)(?:lar|ler)?(?:[dt][iu]|m[iu]s)?$"
)


def clauses(nouns: Sequence[Noun]) -> Iterator[list[Noun]]:
    """The parts of a sentence between signs and conjunctions."""
    part: list[Noun] = []
    for noun in nouns:
        if (noun.kind == "sign" and noun.text not in "'%\"“”") or (
            noun.text in tables.CONJUNCTIONS and not noun.suffix
        ):
            yield part
            part = []
        elif noun.kind != "sign":
            part.append(noun)
    yield part


def subject_of(part: Sequence[Noun], text: str) -> Subject | None:
    """The subject that a clause of the third person begins with; None where none is sure."""
    at = 0
    while at < len(part) and part[at].text in tables.ADVERBS:
        at += 1
    if at >= len(part):
        return None
    for count in (2, 1):
        kin = " ".join(noun.text for noun in part[at : at + count])
        if kin in tables.KIN and len(part) > at + count:
            end = at + count
            while (
                end < len(part)
                and part[end].capital
                and not part[end].suffix
                and (
                    end + 1 < len(part)
                    and count == 1
                    and part[end].kind == "word"
                    and part[end].text not in tables.VERB_FORMS
                    and end - at < 3
                )
            ):
                end += 1
            names = {plain(noun.raw) for noun in part[at + count : end]}
            if names & tables.PLACE_PARTS or (
                end == len(part) - 1 and _FINITE.search(part[end].text)
            ):
                end = at + count  # "kızım Fransızca konuşuyor": what she speaks
            return Subject(1, tables.KIN[kin], (part[at].start, part[end - 1].stop), end)
    end = at
    while (
        end < len(part)
        and part[end].capital
        and not part[end].suffix
        and end - at < 3
        and (part[end].kind == "word")
        and not _has_case(part[end], surname=end > at)
    ):
        end += 1
    if (
        end > at
        and end < len(part)
        and part[at].text not in tables.PRONOUNS
        and (
            part[end - 1].text not in tables.PLACE_PARTS
            and part[end - 1].text not in tables.KIN_OF_OTHERS
        )
    ):
        named = end
        if end - at > 1 and part[end - 1].text.endswith(("li", "lu")):
            named -= 1  # "Felix İsviçreli fizikçi"
        span = (part[at].start, part[named - 1].stop)
        return Subject(0, text[span[0] : span[1]], span, end)
    return None


def _has_case(noun: Noun, *, surname: bool) -> bool:
    """Whether a capitalised word has a case ending, and so is not a subject: "Ankarada".

    Many surnames are verbs, "Mehmet Okur": behind a name they belong to it.
    """
    return (
        strip_case(noun.raw, "", "loc") is not None
        or strip_case(noun.raw, "", "abl") is not (None)
        or (not surname and plain(noun.raw) in tables.VERB_FORMS)
    )


#: words of an object at most
_MOST: Final = 3
_PLACE_NOUNS: Final = frozenset("sehrinde kentinde ilcesinde koyunde kasabasinda semtinde".split())
_LANGUAGES: Final = ("ca", "ce", "ça", "çe")
_ADVERBIAL: Final[tuple[Case, ...]] = ("loc", "abl")
_BIG: Final = frozenset("yuz bin milyon milyar".split())


class Item(NamedTuple):
    """A value without its case, where it stands, and the value that it replaces."""

    value: str
    span: Place
    replaced: str | None = None
    predicate: str = ""


def trimmed(part: Sequence[Noun], first: int, end: int, last: str, text: str) -> str:
    """The words from ``first`` to ``end``, the last one as ``last``."""
    if end - first > 1:
        return " ".join(text[part[first].start : part[end - 2].stop].split()) + " " + last
    return last


def object_before(
    part: Sequence[Noun],
    end: int,
    frame: VerbFrame,
    subject: Subject,
    text: str,
) -> list[Item]:
    """The object that ends before an index; none where it is no object of the frame."""
    floor = subject.after
    while end > floor and part[end - 1].text in tables.ADVERBS and part[end - 1].text != "bir":
        end -= 1
    if frame.preverb == "tercih" and end - 2 >= floor and _is(part[end - 1], "dat"):
        end -= 1
    if end <= floor:
        return []
    if frame.case == "olarak":
        if part[end - 1].text != "olarak" or end - 1 <= floor:
            return []
        item = _role(part, end - 1, floor, text)
        return [] if item is None else [item]
    noun = part[end - 1]
    place = frame.kind == "place" and noun.text in _PLACE_NOUNS and end - 2 >= floor
    if place:
        noun, end = part[end - 2], end - 1
        stem: str | None = noun.raw
        if noun.suffix:
            return []
    elif frame.case == "bare":
        stem = None if noun.suffix or _is_case_marked(noun) else noun.raw
        if stem is not None and noun.text.endswith(("yi", "yu")):
            stem = strip_case(noun.raw, "", "acc") or stem
    elif frame.case == "ins":
        stem, end, noun = _with(part, end)
    else:
        case: Case = frame.case  # type: ignore[assignment]
        stem = strip_case(noun.raw, noun.suffix, case)
    if stem is None or not _fits(noun, stem, frame):
        return []
    first = _first(part, end, floor, noun)
    if first < 0 or (
        not subject.owner and any(each.text not in tables.ADVERBS for each in part[floor:first])
    ):
        return []
    replaced = _source(part, first, floor) if frame.changes else None
    if replaced is not None:
        first = max(first, replaced[1])
    return [
        Item(
            trimmed(part, first, end, stem, text),
            (part[first].start, noun.end),
            replaced[0] if replaced else None,
        )
    ]


def _is(noun: Noun, case: Case) -> bool:
    return strip_case(noun.raw, noun.suffix, case) is not None and (
        case == "acc" or strip_case(noun.raw, noun.suffix, "acc") is None
    )


def _is_case_marked(noun: Noun) -> bool:
    """Whether a word without an apostrophe is not a bare object: "şeklinde", "kopyasını"."""
    return noun.text.endswith(("sini", "sunu", "larini", "lerini")) or (
        len(noun.raw) > 4
        and (
            strip_case(noun.raw, "", "loc") is not None
            or strip_case(noun.raw, "", "abl") is not None
        )
    )


def _with(part: Sequence[Noun], end: int) -> tuple[str | None, int, Noun]:
    if part[end - 1].text == "ile" and end >= 2:
        return part[end - 2].raw, end - 1, part[end - 2]
    noun = part[end - 1]
    return strip_case(noun.raw, noun.suffix, "ins"), end, noun


def _fits(noun: Noun, stem: str, frame: VerbFrame) -> bool:
    text = noun.text
    if text in tables.EMPTY or text in tables.PRONOUNS or text in tables.ADVERBS:
        return False
    if frame.kind in ("place", "name"):
        return noun.kind != "number" and (noun.capital or bool(noun.suffix))
    if frame.kind == "org":
        return text not in ("evde", "iste", "burada", "surada", "orada") and (
            noun.capital or len(stem) > 3
        )
    if frame.kind == "language":
        return stem.lower().endswith(_LANGUAGES) and len(stem) > 4
    if frame.kind == "diet":
        return text in {plain(diet) for diet in tables.DIETS}
    return len(stem) > 1


def _first(part: Sequence[Noun], end: int, floor: int, noun: Noun) -> int:
    """Where the phrase begins whose last word stands before ``end``; -1 where that is not sure."""
    first = end - 1
    if noun.suffix or (noun.capital and (first > 0 or noun.kind != "word")):
        while (
            first > floor
            and part[first - 1].capital
            and not part[first - 1].suffix
            and (part[first - 1].text not in tables.ADVERBS | tables.HEDGES)
        ):
            first -= 1
        return first
    begin = first
    while begin > floor and first - begin < _MOST and not _is_border(part[begin - 1]):
        begin -= 1
    if part[begin].text in _BIG and begin > floor and part[begin - 1].kind == "number":
        return -1  # "300 bin teklif": an amount, and what it is of
    if part[begin].text == "bir" and begin < first:
        begin += 1
    if first - begin > _MOST - 1:
        return -1
    refers = begin > floor and part[begin - 1].text in tables.PRONOUNS | tables.POSTPOSITIONS
    return -1 if refers else begin


def _is_border(noun: Noun) -> bool:
    """Whether a word before an object does not belong to it: an adverb, a noun in another case."""
    if noun.suffix or noun.text in tables.ADVERBS or noun.text in ("ben", "biz", "yerine"):
        return noun.text != "bir"
    if noun.text in tables.POSTPOSITIONS | tables.PRONOUNS or noun.text in tables.VERB_FORMS:
        return True
    return noun.kind != "word" or (
        len(noun.raw) > 4 and any(strip_case(noun.raw, "", case) is not None for case in _ADVERBIAL)
    )


def _role(part: Sequence[Noun], end: int, floor: int, text: str) -> Item | None:
    """ "yazılım mühendisi olarak": an occupation of one or two words."""
    noun = part[end - 1]
    if noun.suffix or noun.text in tables.PRONOUNS or noun.text in tables.ADVERBS:
        return None
    if noun.text not in tables.ROLE_FORMS and not noun.text.endswith(
        ("ci", "cu", "man", "er", "or", "ist", "log", "si", "i", "u")
    ):
        return None
    first = end - 1
    if first > floor and noun.text.endswith(("i", "u")) and not noun.text.endswith(("ci", "cu")):
        before = part[first - 1]
        if (
            before.kind == "word"
            and not before.suffix
            and before.text not in tables.ADVERBS
            and (strip_case(before.raw, "", "loc") is None)
        ):
            first -= 1
    return Item(trimmed(part, first, end, noun.raw, text), (part[first].start, noun.end))


def _source(part: Sequence[Noun], first: int, floor: int) -> tuple[str, int] | None:
    """(X, index behind it) of "X'den" before the new value."""
    for at in range(floor, first + 1):
        noun = part[at]
        stem = strip_case(noun.raw, noun.suffix, "abl")
        if stem is not None and (noun.capital or noun.suffix):
            return stem, at + 1
    return None


def owner_before(part: Sequence[Noun], at: int, text: str) -> tuple[int, str, Place, int] | None:
    """(owner, name, span, first index) of "S'nin" before an index, or None."""
    if at < 1:
        return None
    noun = part[at - 1]
    if noun.text in ("benim", "bizim"):
        return 1, "", (noun.start, noun.stop), at - 1
    if noun.suffix in ("in", "un", "nin", "nun"):
        stem: str | None = strip_case(noun.raw, noun.suffix, "gen")
    else:
        for count in (2, 1):
            if at >= count:
                kin = " ".join(each.text for each in part[at - count : at])
                for ending in ("in", "un"):
                    if kin.endswith(ending) and kin[:-2] in tables.KIN:
                        first = at - count
                        return 1, tables.KIN[kin[:-2]], (part[first].start, noun.stop), first
        stem = strip_case(noun.raw, "", "gen")
    if stem is None or noun.text in tables.PRONOUNS:
        return None
    first = at - 1
    while (
        first > 0
        and not part[first - 1].suffix
        and part[first - 1].kind == "word"
        and (
            part[first - 1].capital if noun.capital else part[first - 1].text not in tables.ADVERBS
        )
        and at - first < 3
    ):
        first -= 1
    return 0, trimmed(part, first, at, stem, text), (part[first].start, noun.end), first


def slot_before(part: Sequence[Noun], form: Form, text: str) -> Draft | None:
    """A slot whose value a verb gives: "8080 portunda çalışıyor", "veritabanını X ile değiştirdik"."""
    if form.modality != "asserted" or not form.polarity:
        return None
    if form.stem in ("sev", "beğen") and form.person == 1:
        return _best_of_all(part, text)
    end = len(part) - 1
    if form.stem in ("çalış", "kullan", "dinle") and end >= 2:
        noun = part[end - 1]
        cases: tuple[Case, ...] = ("loc", "acc")
        for case in cases:
            stem = strip_case(noun.raw, noun.suffix, case)
            slot = tables.NOUNS.get(plain(stem)) if stem else None
            value = part[end - 2]
            if slot is not None and slot[0] == 3 and value.text[:1].isdigit() and end >= 3:
                first = 0
                while first < end - 2 and part[first].text in tables.ADVERBS:
                    first += 1
                if first < end - 2 and end - 2 - first <= 3:
                    span = (part[first].start, part[end - 3].stop)
                    return Draft(
                        0,
                        text[span[0] : span[1]],
                        slot[1],
                        value.raw,
                        span,
                        (value.start, value.end),
                        (span[0], part[end].stop),
                        by_form=True,
                        frame="tr:slot-object",
                    )
    if form.stem == "kullan" and end >= 3 and part[end - 2].text == "olarak":
        return _used_as(part, end, text)
    return None


def _best_of_all(part: Sequence[Noun], text: str) -> Draft | None:
    """ "Renklerden en çok maviyi severim": the favourite of a kind."""
    words = [noun.text for noun in part]
    at = next((n for n in range(1, len(part) - 2) if words[n : n + 2] == ["en", "cok"]), 0)
    if not at or not words[at - 1].endswith(("lerden", "lardan")):
        return None
    value = part[at + 2 : -1]
    if not 1 <= len(value) <= 2 or any(noun.text in tables.PRONOUNS for noun in value):
        return None
    last = value[-1]
    stem = strip_case(last.raw, last.suffix, "acc") or last.raw
    kind = predicate_of(words[at - 1][:-6])[0]
    return Draft(
        1,
        "",
        f"favourite_{kind}",
        trimmed(value, 0, len(value), stem, text),
        (part[-1].start, part[-1].stop),
        (value[0].start, last.end),
        (part[at - 1].start, part[-1].stop),
        by_form=True,
        frame="tr:best",
    )


def _used_as(part: Sequence[Noun], end: int, text: str) -> Draft | None:
    """ "Projede veritabanı olarak X kullanıyoruz": X is the database of the project."""
    value, noun = part[end - 1], part[end - 3]
    if value.suffix or not (value.capital or value.text[:1].isdigit()):
        return None
    slot = tables.NOUNS.get(noun.text)
    predicate = slot[1] if slot else noun.text
    if predicate not in SLOTS and end < 4:
        return None
    owner, name, span = 1, "", (part[end].start, part[end].stop)
    if end >= 4:
        place = part[end - 4]
        stem = strip_case(place.raw, place.suffix, "loc")
        if stem is not None and place.text not in tables.ADVERBS:
            owner, name, span = 0, stem, (place.start, place.end)
    return Draft(
        owner,
        name,
        predicate,
        value.raw,
        span,
        (value.start, value.end),
        (min(span[0], noun.start), part[end].stop),
        by_form=True,
        frame="tr:as-slot",
    )
