"""Words of a Turkish sentence with their apostrophe suffixes, its clauses, and its subject."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from spector.language.frames.sentences import Sentence, Word
from spector.language.frames.turkish import tables
from spector.language.frames.turkish.suffixes import strip_case
from spector.language.words import analyse, plain


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
        and (part[end - 1].text not in tables.PLACE_PARTS and not _is_kin_of_another(part[end - 1]))
    ):
        named = end
        if end - at > 1 and part[end - 1].text.endswith(("li", "lu")):
            named -= 1  # "Felix İsviçreli fizikçi"
        span = (part[at].start, part[named - 1].stop)
        return Subject(0, text[span[0] : span[1]], span, end)
    return None


def _is_kin_of_another(noun: Noun) -> bool:
    """Whether a word is "his mother", "her aunt": a person without a name."""
    return noun.text in tables.KIN_OF_OTHERS


def _has_case(noun: Noun, *, surname: bool) -> bool:
    """Whether a capitalised word has a case ending, and so is not a subject: "Ankarada".

    Many surnames are verbs, "Mehmet Okur": behind a name they belong to it.
    """
    return (
        strip_case(noun.raw, "", "loc") is not None
        or strip_case(noun.raw, "", "abl") is not (None)
        or (not surname and plain(noun.raw) in tables.VERB_FORMS)
    )
