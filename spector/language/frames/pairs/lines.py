"""Sentences of two texts as rows of words, and the signs of time and mood in them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from spector.language.frames.english import sentence_modality
from spector.language.frames.predicates import KIN
from spector.language.frames.sentences import Word, sentences
from spector.language.frames.statement import Place
from spector.language.words import analyse, is_stop
from spector.process import keeps

__all__ = [
    "NOT", "SHIFTS", "TURNS", "Line", "clauses_of", "content_of", "is_of_same", "is_past",
    "lines_of",
]

#: sentences of a text that are compared, words of a sentence, and words of a value
_SENTENCES: Final = 6
_WORDS: Final = 32
_FILLERS: Final = frozenset(
    """now currently actually nowadays presently usually still just already finally again recently
    really these days from on so well correction update turns out after all anymore
    any more no longer sorry oh yes ok okay artik simdi su an aslinda duzeltme hala artık""".split()
)
#: say that what follows is new; each is a row of words
TURNS: Final = re.compile(
    r"\b(?:now|nowadays|these days|from now on|any ?more|no longer|instead|as of (?:now|today)"
    r"|artik|simdi|bundan (?:sonra|boyle)|su an)\b"
)
_HEDGES: Final = re.compile(
    r"(?<!\bin )(?<!\bby )(?<!\bof )(?<!\bnext )(?<!\blast )(?<!\bsince )(?<!\buntil )\bmay\b"
    r"(?! \d)|\b(?:maybe|perhaps|might|would|could|should|if|unless|hope|wish|want(?:s|ed)? to|plan"
    r"|planning|thinking|considering|almost|nearly|let'?s|used to|back then|belki|sanirim|galiba"
    r"|eger|keske|isti?yor\w*|planliyor\w*|dusunuyor\w*|eskiden)\b"
)
_PAST: Final = re.compile(
    r"\b(?:was|were|did|had|went|bought|ate|ran|met|saw|yesterday|last (?:week|month|year|night)"
    r"|ago|dun|gecen)\b|\b\w{3,}ed\b"
)
_PASSIVE: Final = re.compile(r"\b(?:is|are|am|be|'s|'re)(?: not| n't| never)* \w+ed\b")
NOT: Final = frozenset("not n't never no cannot dont doesnt isnt degil yok".split())
SHIFTS: Final = re.compile(
    r"\b(?:(?:chang|mov|switch|lower|rais|reduc|increas|decreas|postpon|resched|renam|push|bump|cut"
    r"|drop|bring|shift|delay|adjust|updat|upgrad|downgrad|extend|slipp?|upp|cap|set)\w{0,6}|brought"
    r"|went (?:up|down)|gone (?:up|down)|(?:down|up) to|put (?:off|back))\b"
    r"|\b(?:degis|ertele|alin|kay|tasi|yuksel|dus|cik|indir|arttir|artir|azalt|cek)\w{0,8}[dt][iu]\w{0,3}\b"
    r"|\bindi(?:k|ler)?\b|\bzam gel\w*|\bindirim yap\w*|(?:['’]y?|\w)[ae] aldi\w{0,3}\b"
)
_PROFESSIONS: Final = frozenset(
    "doctor dentist therapist boss manager coach teacher landlord".split()
)


#: where a clause of a sentence ends
_CLAUSE: Final = re.compile(r"[,;]\s+|\s[-–—]\s|\s(?:and|but|so|ve|ama)\s", re.IGNORECASE)


class Line(NamedTuple):
    """A sentence as rows of words."""

    words: tuple[Word, ...]
    #: folded words without signs and fillers
    row: tuple[str, ...]
    #: the same words as they are written
    raw: tuple[str, ...]
    stems: tuple[str, ...]
    #: stems of its content words
    content: frozenset[str]
    folded: str
    span: Place

    def __hash__(self) -> int:
        """Of few parts: what is read of a sentence is kept by it, and equal ones are equal here."""
        return hash((self.span, self.folded))


@keeps(256)
def lines_of(text: str) -> tuple[Line, ...]:
    out: list[Line] = []
    for sentence in sentences(text):
        if len(out) == _SENTENCES:
            break
        words = sentence.words
        if sentence.asks or len(words) > _WORDS or sentence_modality(sentence) != "asserted":
            continue
        folded = " ".join(word.text for word in words).replace(" 's", "'s").replace(" n't", "n't")
        if _HEDGES.search(folded):
            continue
        kept = [w for w in words if w.kind != "sign" and w.text not in _FILLERS]
        if not kept:
            continue
        found = analyse(text[sentence.start : sentence.end])
        by_form = dict(zip(found.forms, found.words, strict=True))
        stems = tuple(by_form.get(w.text, by_form.get(w.raw.lower(), w.text)) for w in kept)
        content = frozenset(each for each in stems if not is_stop(each))
        out.append(Line(words, tuple(w.text for w in kept), tuple(w.raw for w in kept), stems,
                         content, folded, (sentence.start, sentence.end)))
    return tuple(out)


@keeps(256)
def clauses_of(text: str) -> tuple[Line, ...]:
    """The clauses of a text that lie in sentences which state something."""
    whole = lines_of(text)
    out: list[Line] = []
    for line in whole:
        start, end = line.span
        at = start
        for found in (*_CLAUSE.finditer(text, start, end), None):
            stop = end if found is None else found.start()
            out += lines_of(text[at:stop].strip(" ,;"))
            at = end if found is None else found.end()
    return tuple(out)


@keeps(512)
def is_past(line: Line) -> bool:
    """Whether a sentence tells of the past; "is allowed" does not."""
    return _PAST.search(_PASSIVE.sub(" ", line.folded)) is not None


def is_of_same(before: Line, after: Line) -> bool:
    """Whether no other person or named thing is in one of two sentences only."""
    for one, other in ((before, after), (after, before)):
        kin = {word for word in one.row if word in KIN and word not in _PROFESSIONS}
        if {each.removesuffix("s") for each in kin} - {
            each.removesuffix("s") for each in other.row
        }:
            return False
    named, others = _owners(before), _owners(after)
    return (not named or bool(named & set(after.row))) and (
        not others or bool(others & set(before.row)))


def _owners(line: Line) -> set[str]:
    """Words with a capital that do not begin the sentence or follow a preposition."""
    return {
        word for at, (word, raw) in enumerate(zip(line.row, line.raw, strict=True))
        if at + 1 < len(line.row) and line.row[at + 1] == "'s" and raw[:1].isupper()
    }


def content_of(piece: str) -> frozenset[str]:
    return frozenset(each for each in analyse(piece).content() if each not in _FILLERS)
