"""Statements as triples, and the sentences that they are read from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

from spector.language.tables import grammar_table, word_lists
from spector.language.words import plain
from spector.process import keeps

# What one sentence states: subject, predicate, object, and how it is meant.

#: how a statement is meant; of two the one further behind counts
Modality = Literal["asserted", "hedged", "planned", "conditional", "reported", "asked"]
Tense = Literal["present", "past", "future"]
#: positions in a text, the end exclusive
Place = tuple[int, int]

_ORDER: Final[tuple[Modality, ...]] = get_args(Modality)


def stricter(one: Modality, other: Modality) -> Modality:
    return max(one, other, key=_ORDER.index)


USER: Final = "user"
AGENT: Final = "agent"
#: of what a frame found, and of the same under "maybe"
RULE_CONFIDENCE: Final = 0.6
HEDGED_CONFIDENCE: Final = 0.42


@dataclass(frozen=True, slots=True)
class Statement:
    """One triple that a text states.

    Attributes:
        subject: ``user``, ``agent``, a speaker's name, or the name or noun phrase in the text
            without its article; "my sister" of a user is "user's sister", "my sister Ann" is "Ann".
        predicate: a lemma in snake case: ``lives_in``, ``port``, ``likes``.
        object: the text's words for the value, without article and case ending.
        value: its normal form at the time of the message, which is what is compared.
        polarity: False when the text denies it.
        modality: how it is meant; only what is asserted or hedged states something.
        confidence: 0.6 by rule, 0.42 under a hedge.
        span: the part of the text that states it. subject_span, object_span: the words that name
            subject and object.
        single: the predicate has one value at a time, by the table or by the form.
        tense: of the verb.
        replaced: the value that the text itself calls the old one, or None.
        changed: the text says that something has changed: "now", "no longer", "moved to".
        added: the text names the value beside others: "also", "another".
        window: the time that the text is about, in its words ("in 2019"), or None.
        frame: the name of the frame that matched.
        kin: of a subject with a name, the role in which it is named: "user's sister".
        limit: what it is limited to, folded: "with bills", "after 4 pm"; "" for what holds always.
        common: the value is a kind of thing ("a bank"), and no name.
    """

    subject: str
    predicate: str
    object: str
    polarity: bool = True
    modality: Modality = "asserted"
    confidence: float = RULE_CONFIDENCE
    span: Place = (0, 0)
    subject_span: Place = (0, 0)
    object_span: Place = (0, 0)
    single: bool = False
    tense: Tense = "present"
    replaced: str | None = None
    changed: bool = False
    added: bool = False
    window: str | None = None
    frame: str = ""
    value: str = ""
    kin: str = ""
    limit: str = ""
    common: bool = False


@dataclass(slots=True)
class Draft:
    """A statement as a language finds it, before names and one-valued predicates are resolved.

    Attributes:
        owner: the person that the subject is or belongs to: 1 for who speaks, 2 for who is spoken
            to, 0 for neither.
        subject: the noun phrase; with an owner, what is his, or "" for himself.
        by_form: the sentence has the form of a role with one holder.
        listed: the sentence names further values of the same predicate, so it has several.
    """

    owner: int
    subject: str
    predicate: str
    object: str
    subject_span: Place
    object_span: Place
    span: Place
    polarity: bool = True
    modality: Modality = "asserted"
    tense: Tense = "present"
    replaced: str | None = None
    changed: bool = False
    added: bool = False
    window: str | None = None
    by_form: bool = False
    listed: bool = False
    frame: str = ""


#: longer sentences and those of more words state nothing: they are tables, code or lists
_MOST_CHARS: Final = 600
_MOST_WORDS: Final = 100
#: the sentences of longer texts are not kept
_KEPT_CHARS: Final = 6_000
_ENDS: Final = re.compile("[.!?\u2026\u3002\uff01\uff1f;\n]+")
_FENCE: Final = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
#: what a line of a list or a heading begins with
_BULLET: Final = re.compile(r"[\s>]*(?:[-*\u2022\u2013#]+\s+|\d{1,2}[.)]\s+|\[[ xX]\]\s+)*")
_ABBREVIATED: Final = word_lists("frames")["abbreviated"]
_MAIL: Final = r"(?P<mail>[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6})|"
_LINK: Final = r"(?P<link>(?:https?://|www\.)[^\s<>\"')]{1,300})|"
_PLAIN: Final = (
    r"(?P<number>[$€£₺¥+]?\d+(?:[.,:/-]\d+)*%?(?![^\W_]))"
    r"|(?P<word>[^\W_](?:[\w\u0300-\u036f]|[-&/+.@:](?=\w)(?<!\d[:]))*(?:\+\+?(?!\w)|#(?!\w))?)"
    r"|(?P<suffix>['\u2019\u02bc](?=[^\W\d_])[\w\u0300-\u036f]+)"
    r"|(?P<sign>\S)"
)
_WORD: Final = re.compile(_MAIL + _LINK + _PLAIN)
#: the same of texts without an address, of which each word is tried as one
_PLAIN_WORD: Final = re.compile(_PLAIN)
#: what is written together -> its two words: "dont", "im"
_APART: Final = {
    form: tuple(words.split()) for form, words in grammar_table("any", "frames")["apart"].items()
}


class Word(NamedTuple):
    """One word, number or sign.

    Attributes:
        text: folded, apostrophes straight. raw: as it is written.
        start, end: where it stands in the whole text.
        kind: ``word``, ``number``, ``mail``, ``link``, ``suffix`` (behind an apostrophe), ``sign``.
        suffix, stop: in Turkish, what stands behind its apostrophe, folded, and where both end.
    """

    text: str
    raw: str
    start: int
    end: int
    kind: str
    suffix: str = ""
    stop: int = 0

    @property
    def capital(self) -> bool:
        return self.raw[:1].isupper()

    @property
    def is_name(self) -> bool:
        """Whether a bare word has a capital."""
        return self.capital and not self.suffix


class Sentence(NamedTuple):
    """Words of one sentence; ``asks`` when it ends with a question mark."""

    words: tuple[Word, ...]
    start: int
    end: int
    asks: bool


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a text, without code between fences, quoted lines and endless ones."""
    return iter(_kept(text)) if len(text) <= _KEPT_CHARS else _sentences(text)


@keeps(64)
def _kept(text: str) -> tuple[Sentence, ...]:
    """A text is read by frames and then word by word; longer ones are only read as far as asked."""
    return tuple(_sentences(text))


def _sentences(text: str) -> Iterator[Sentence]:
    at = 0
    hidden = _hidden(text)
    for start, end in _pieces(text):
        while hidden and hidden[0][1] <= start:
            hidden.pop(0)
        if hidden and hidden[0][0] < end:
            continue
        at = _BULLET.match(text, start, end).end()  # type: ignore[union-attr]
        if ">" in text[start:at] or end - at > _MOST_CHARS:
            continue
        words = _words(text, at, end)
        if 0 < len(words) <= _MOST_WORDS:
            asks = any(word.text in "?\uff1f" for word in words[-3:] if word.kind == "sign")
            yield Sentence(words, at, end, asks)


def _hidden(text: str) -> list[tuple[int, int]]:
    """Code between fences; a fence that nothing closes hides the rest."""
    fences = (
        [found.start() for found in _FENCE.finditer(text)]
        if "```" in text or ("~~~" in text)
        else []
    )
    if len(fences) % 2:
        fences.append(len(text))
    return [(fences[n], fences[n + 1] + 3) for n in range(0, len(fences), 2)]


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, its closing sign included."""
    start = 0
    for found in _ENDS.finditer(text):
        if found.group() == "." and _goes_on(text, start, found.start()):
            continue
        if found.group() == "\n" and _wraps(text, found.start(), found.end()):
            continue
        yield start, found.end()
        start = found.end()
    if start < len(text):
        yield start, len(text)


def _goes_on(text: str, start: int, dot: int) -> bool:
    """Whether a full stop belongs to a number, an initial or an abbreviation."""
    after = text[dot + 1 : dot + 2]
    if after and not after.isspace() and after not in "\"')]\u201d\u2019":
        return True
    begin = dot
    while begin > start and dot - begin < 12 and text[begin - 1].isalnum():
        begin -= 1
    word = text[begin:dot]
    if len(word) == 1 and word.isupper() and word != "I" and text[dot + 2 : dot + 3].isalpha():
        return True
    return word.lower() in _ABBREVIATED


def _wraps(text: str, at: int, after: int) -> bool:
    """Whether a line break stands within a sentence: a small letter follows a letter or comma."""
    before = text[at - 1 : at]
    return text[after : after + 1].islower() and (before.isalnum() or before == ",")


def _belongs(last: Word, raw: str, more: bool) -> bool:
    """Whether a sign goes on with a word: "O'Neill", "Inc." and "E." within a sentence."""
    if raw == ".":
        short = last.text in _ABBREVIATED or (len(last.raw) == 1 and last.raw.isupper())
        return more and short and last.raw != "I"
    return raw[:1] in "'\u2019" and raw[1:].istitle() and last.raw[:1].isupper()


def _words(text: str, start: int, end: int) -> tuple[Word, ...]:
    found: list[Word] = []
    addressed = any(text.find(each, start, end) >= 0 for each in ("@", "http", "www."))
    for match in (_WORD if addressed else _PLAIN_WORD).finditer(text, start, end):
        raw, kind = match.group(), str(match.lastgroup)
        if kind == "word" and raw[-1] in ".:/@&-":
            raw = raw.rstrip(".:/@&-")
        at, stop = match.start(), match.start() + len(raw)
        folded = plain(raw)
        last = found[-1] if found else None
        if (
            last is not None
            and last.end == at
            and last.kind == "word"
            and (_belongs(last, raw, stop < end))
        ):
            found[-1] = last._replace(
                text=last.text + folded.strip("."), raw=last.raw + raw, end=stop
            )
            continue
        if kind == "suffix" and folded == "'t" and found and found[-1].text.endswith("n"):
            verb = found.pop()
            if len(verb.raw) > 1:
                found.append(
                    verb._replace(text=verb.text[:-1], raw=verb.raw[:-1], end=verb.end - 1)
                )
            found.append(Word("n't", text[verb.end - 1 : stop], verb.end - 1, stop, "word"))
        elif folded in _APART and len(folded) == len(raw):
            first, second = _APART[folded]
            cut = at + len(first)
            found.append(Word(first, text[at:cut], at, cut, kind))
            more = "suffix" if second.startswith("'") else kind
            found.append(Word(second, text[cut:stop], cut, stop, more))
        else:
            found.append(Word(folded, raw, at, stop, kind))
    return tuple(found)
