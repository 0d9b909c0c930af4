"""How much a text says, and how it says it: what sleep keeps, and how two texts are compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from spector.language.dates import time_range_in
from spector.language.frames import extract, normal_value
from spector.language.statements import (
    FIRST_PERSON,
    ends_with_question,
    is_of_time,
    is_question,
    names_of,
)
from spector.language.words import analyse, compose, is_stop, plain, tokens, words

# What a text says in words: its content, numbers, dates and denials, as two texts are compared.

#: signs that say of what a value is
_SIGN: Final = r"(?:[$€£₺¥%#★☆+]|(?<![^\s(])[-\u2212](?=[\d.$€£₺¥]))"
_WORD: Final = re.compile(rf"[^\W_]+(?:['’][^\W_]+)?|{_SIGN}")
_NUMBER: Final = re.compile(r"((?:(?<![^\s(])[-\u2212])?)(\d[\d.,:/-]*)")
NUMBER_WORDS: Final = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen"
    r"|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty"
    r"|ninety|hundred|thousand|million|iki|uc|dort|bes|alti|yedi|sekiz|dokuz|yirmi|otuz|kirk|elli"
    r"|altmis|yetmis|seksen|doksan)\b"
)
_NOT: Final = re.compile(
    r"\b(?:not|never|no(?:(?= [a-z])|body|ne|thing|where)|hardly|barely|scarcely|seldom"
    r"|any ?more|neither|nor|cannot|without|stopped|quit"
    r"|degil|degilim|yok|asla|hic|\w{2,}m[iu]yor\w*|\w{2,}m[ae]z\w{0,3}|\w{2,}m[ae]d[iu]\w{0,3}"
    r"|\w{2,}m[ae]y[ae]ca[gk]\w*"
    r"|(?:do|does|did|is|are|was|were|has|have|had|wo|ca|could|should|would|must|need|ai)nt)\b"
    r"|n['’]t\b"
)
#: makes a wish, a guess, a plan or a condition of a statement
_MODAL: Final = re.compile(
    r"\b(?:might|may|maybe|perhaps|probably|possibly|could|would|should|will|shall|must|if|unless"
    r"|want|wants|wanted|hope|hopes|wish|plan|plans|planning|planned|going to|gonna|think|guess"
    r"|suppose|consider|considering|thinking|almost|nearly|used|tried|trying|try|need|needs|had"
    r"|was|were|belki|sanirim|galiba|eger|umarim|isterim|istiyor\w*|planliyor\w*|dusunuyor\w*"
    r"|lazim|gerek\w*|\w+[ae]ca[gk]\w*|\w+[ae]bilir\w*|\w+s[ae]m|eskiden|neredeyse)\b|'(?:ll|d)\b"
)
#: says where, whose, who or in what: two texts that differ in it say two things
_TURN: Final = re.compile(
    r"\b(?:on|off|in|into|out|onto|up|down|to|from|over|under|above|below|before|after|for|against"
    r"|with|without|he|she|him|her|hers|his|they|them|their|you|your|yours|we|us|our"
    r"|benim|senin|onun|bizim|sizin|onlarin|bana|sana|ona|bize|size|onlara|once|sonra)\b"
    rf"|{_SIGN}"
)


@dataclass(frozen=True)
class Wording:
    """A text, read once for every comparison.

    Attributes:
        said: without annotations. event_ms: of the message, which "tomorrow" is counted from.
    """

    said: str
    event_ms: int

    @cached_property
    def folded(self) -> str:
        return plain(self.said)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Every word, number and sign in order, without case, accents and punctuation."""
        return tuple(_WORD.findall(self.folded))

    @cached_property
    def _pairs(self) -> tuple[tuple[str, str], ...]:
        """(as it stands in lower case, term) of each word in order."""
        found = analyse(self.said)
        return tuple(zip(found.forms, found.words, strict=True))

    @cached_property
    def content(self) -> tuple[str, ...]:
        """The stems of its words in order, without those that only tie others together."""
        return tuple(term for _, term in self._pairs if not is_stop(term))

    @cached_property
    def forms(self) -> dict[str, str]:
        """Its content words as they stand, in lower case, with their stems."""
        return {form: term for form, term in self._pairs if not is_stop(term)}

    def between(self, start: int, end: int) -> set[str]:
        """The stems of its content words in a part of it."""
        forms = analyse(self.said[start:end]).forms
        return {self.forms[each] for each in forms if each in self.forms}

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Its numbers and amounts in digits."""
        found = _NUMBER.findall(self.folded) + [
            ("", each) for each in NUMBER_WORDS.findall(self.folded)
        ]
        return frozenset(sign + normal_value(each.rstrip(".,:/-")) for sign, each in found)

    @cached_property
    def dates(self) -> tuple[tuple[int, int], ...]:
        """The time that it names, in ms; resolved, so that another "tomorrow" is another date."""
        found = time_range_in(self.said, self.event_ms)
        return () if found is None else tuple((each[0], each[1]) for each in found.spans)

    @cached_property
    def names(self) -> frozenset[str]:
        """Its names, folded."""
        return frozenset(plain(each) for each in names_of(self.said))

    @cached_property
    def denials(self) -> int:
        """How many words of it deny something."""
        return len(_NOT.findall(self.folded))

    @cached_property
    def modals(self) -> frozenset[str]:
        """Words that make a wish, a plan or a condition of it."""
        return frozenset(_MODAL.findall(self.folded))

    @cached_property
    def turns(self) -> tuple[str, ...]:
        """Its prepositions, persons and signs, in order: "on", "her", "€"."""
        return tuple(_TURN.findall(self.folded))

    @property
    def asks(self) -> bool:
        """Whether it has a question."""
        return is_question(self.said)


def same_words(one: Wording, other: Wording) -> bool:
    """Whether two texts have the same words and signs in the same order and name the same dates."""
    return bool(one.words) and one.words == other.words and one.dates == other.dates


def same_particulars(one: Wording, other: Wording) -> bool:
    """Whether numbers, dates, names and denials agree wherever both texts have some.

    What only one of them has is no disagreement.
    """
    if (one.denials > 0) != (other.denials > 0):
        return False
    if one.dates and other.dates and one.dates != other.dates:
        return False
    if one.numbers and other.numbers and one.numbers != other.numbers:
        return False
    a, b = one.names, other.names
    return not (a and b) or a <= b or b <= a


# The density of a text: content words, names, numbers, and what asks or opens.

#: openers that say little, at the beginning of a text
_OPENER: Final = re.compile(
    r"(?:wow|oh|haha|lol|yeah|yes|yep|no|nope|ok|okay|hey|hi|hello|thanks|thank you|great|awesome"
    r"|cool|nice|sure|absolutely|exactly|right|that's|sounds|glad|congrats|evet|hayir|tamam|peki"
    r"|merhaba|selam|tesekkur\w*|harika|super|guzel)\b"
)
_NAME, _OF_NUMBER, _FIRST, _QUESTION, _OPENS = 1.5, 1.5, 0.7, 2.0, 1.0
_FIRST_TR: Final = re.compile(
    r"\b(?:ben|bana|beni|benim|bende|biz|bizim)\b|\w+(?:[iu]yorum|d[iu]m|ac[ae]g[iu]m|eceg[iu]m)\b"
)
#: characters that are read
_LONGEST: Final = 4000


#: density below which a sentence says little, and below which one that reacts does
_LITTLE: Final = 3.0
_LITTLE_REACTION: Final = 6.0


def says_little(sentence: str) -> bool:
    """Whether a sentence asks, greets or reacts, or has hardly a content word."""
    density = content_density(sentence)
    if density < _LITTLE or ends_with_question(sentence):
        return True
    reacts = _OPENER.match(plain(compose(sentence[:_LONGEST])).lstrip()) is not None
    return reacts and density < _LITTLE_REACTION


def content_density(text: str) -> float:
    """Content words, names, numbers and time words of a text, less what asks or opens.

    ``words + 1.5 names + 1.5 numbers and time words + 0.7 [first person] - 2 [question] - 1
    [opener]``, at least 0.
    """
    text = compose(text[:_LONGEST])
    folded = plain(text)
    content = {each for each in words(text) if not is_stop(each) and len(each) > 1}
    found = {each.text for each in tokens(text)}
    times = sum(any(c.isdigit() for c in each) or is_of_time(each) for each in found)
    names = len(set(names_of(text)))
    first = FIRST_PERSON.search(folded) or _FIRST_TR.search(folded)
    score = len(content) + _NAME * names + _OF_NUMBER * times
    score += _FIRST * (first is not None)
    score -= _QUESTION * ends_with_question(text)
    score -= _OPENS * (_OPENER.match(folded.lstrip()) is not None)
    return max(0.0, score)


# Whether a text tells of something that happened or will happen, rather than of how things are.

_MS_PER_DAY: Final = 86_400_000
_EVERY: Final = ("asserted", "hedged", "planned", "reported", "conditional", "asked")
#: happened once, and is so for good
_LASTING: Final = frozenset("born_in born_on founded_in built_in died_in founded_by".split())
_PAST: Final = re.compile(
    r"\b(?:\w{2,}ed|was|were|went|got|had|made|did|said|told|saw|met|came|took|bought|sold|paid"
    r"|ate|drank|ran|won|lost|left|found|gave|sent|spent|wrote|read|slept|swam|flew|drove|rode"
    r"|broke|fell|felt|began|caught|chose|cut|heard|hit|kept|knew|led|put|sat|spoke|stood|taught"
    r"|thought|threw|woke|wore|built|brought|became|hurt|let|held|grew|drew)\b"
)
_PAST_TR: Final = re.compile(
    r"\b\w{2,}(?:[dt][iu]|m[iu]s)(?:m|n|k|niz|nuz|l[ae]r)?(?=[.,;!?)]|\s*$)"
)
_FUTURE: Final = re.compile(
    r"\b(?:will|going to|gonna|tomorrow|tonight|next|plan(?:s|ning)? to|\w+[ae]ca[gk]\w*|yarin"
    r"|gelecek|haftaya|planliyor\w*)\b|'ll\b"
)
#: an entry of a ledger: an amount, and no verb that says what holds
_AMOUNT: Final = re.compile(
    r"[$€£₺]\s*\d|\b\d[\d.,]*\s*(?:[$€£₺]|eur|usd|gbp|tl|lira|euros?|dollars?|pounds?|avro|dolar)\b"
)


def is_event(text: Wording) -> bool:
    """Whether a text tells of an event: past, dated or planned, and not of a state."""
    found = extract(text.said, reference_time=text.event_ms, modalities=_EVERY)
    if found:
        moves = [
            each for each in found
            if (each.tense != "present" or each.window or each.modality == "planned")
            and each.predicate not in _LASTING and not each.changed
        ]  # fmt: skip
        if moves or all(each.tense == "present" for each in found):
            return bool(moves) or _FUTURE.search(text.folded) is not None
        return False
    return bool(
        text.dates
        or _PAST.search(text.folded)
        or _PAST_TR.search(text.folded)
        or _FUTURE.search(text.folded)
        or _AMOUNT.search(text.folded)
    )


def is_other_event(one: Wording, other: Wording) -> bool:
    """Whether two texts of different days, UTC, tell of two events, or may.

    Texts that name the same dates tell of the same, whenever they are said.
    """
    if one.event_ms // _MS_PER_DAY == other.event_ms // _MS_PER_DAY:
        return False
    if one.dates and one.dates == other.dates:
        return False
    return is_event(one) or is_event(other)


# A short extract of texts: the sentences that say most, in the order in which they stood.

#: ends of sentences; a full stop within a number, an ordinal, a name or an abbreviation is none
_END: Final = re.compile(
    r"(?:(?<!\b(?:mr|dr|ms|st|vs|av|sn|vb|vd|tl))(?<!\b(?:mrs|e\.g|i\.e|etc|örn|bkz))"
    r"(?<!\bprof)(?<!\bdoç)(?<!\b(?-i:[A-HJ-ZÇĞİÖŞÜ]))(?!(?<=\bno)\.\s?\d)"
    r"(?!(?<=\d)\.\s(?-i:[a-zçğıöşü]))\.(?=[\s\"'”’)\]]|$)|\.{2,}|[!?…])"
    r"[.!?…]*[\"'”’)\]]*|\n+",
    re.IGNORECASE,
)
_MOST_CHARS: Final = 400
#: after these a text goes on: no end of a sentence
_OPEN_ENDS: Final = " ,;:-–—"
_ENDED: Final = re.compile(r"[.!?…。！？][\"'”’)\]]*$|[^\w\s,;:\-–—\"'”’)\]%$€₺]$")


def joined(sentences: Sequence[str]) -> str:
    """Sentences one after another; where one has no end mark, a full stop tells it from the next."""
    return " ".join([*map(_ended, sentences[:-1]), *sentences[-1:]])


def _ended(sentence: str) -> str:
    if _ENDED.search(sentence):
        return sentence
    return f"{sentence.rstrip(_OPEN_ENDS)}."


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, as they stand in it, without what is empty."""
    found, start = [], 0
    for end in (*(each.end() for each in _END.finditer(text)), len(text)):
        found.append(text[start:end].strip())
        start = end
    return [each for each in found if any(c.isalnum() for c in each)]


def extract_of(
    texts: Sequence[str],
    most: int,
    cost: Callable[[str], int],
    *,
    worth: Callable[[str], float] = content_density,
) -> str:
    """Sentences of texts that say most, without repetition; "" if none fits.

    Questions, greetings and reactions are left out where there is something else.

    Args:
        most: what the extract may cost. cost: of a text, as its tokens.
        worth: of a sentence; of equal ones the earlier is taken.
    """
    sentences: list[str] = []
    seen: set[str] = set()
    for text in texts:
        for sentence in sentences_of(text):
            known = plain(sentence).strip(" .!?")
            if known not in seen:
                seen.add(known)
                sentences.append(sentence)
    sentences = sentences[:_MOST_CHARS]
    sentences = [each for each in sentences if not says_little(each)] or sentences
    order = sorted(range(len(sentences)), key=lambda n: (-worth(sentences[n]), n))
    chosen: list[int] = []
    for n in order:
        if cost(joined([sentences[at] for at in sorted([*chosen, n])])) <= most:
            chosen.append(n)
    return joined([sentences[n] for n in sorted(chosen)])


# What of a text only repeats other texts, clause by clause, in whatever words around it.

_CLAUSE: Final = re.compile(
    r"(?<=[.!?\u2026\u3002])\s+|\n+|(?<=[,;:])\s+|\s+(?=(?:and|but|that|you|your|ve|ama)\s)"
)


def without(text: str, is_known: Callable[[str], bool], split: re.Pattern[str]) -> str:
    """A text without its parts that are known, and without the headings of those.

    Args:
        split: what stands between two parts.
    """
    ends = [(each.start(), each.end()) for each in split.finditer(text)]
    parts: list[tuple[int, int]] = []
    at = 0
    for start, end in (*ends, (len(text), len(text))):
        parts.append((at, start))
        at = end
    known = [is_known(text[start:end]) for start, end in parts]
    if not any(known):
        return text
    for n in range(len(parts) - 2, -1, -1):  # "Relevant memories:" stands before what is known
        known[n] = known[n] or (
            known[n + 1] and text[parts[n][0] : parts[n][1]].rstrip().endswith(":")
        )
    kept = [
        text[start : parts[n + 1][0] if n + 1 < len(parts) else end]
        for n, (start, end) in enumerate(parts)
        if not known[n]
    ]
    return "".join(kept).strip()


def without_repeats(text: str, known: Sequence[Wording]) -> str:
    """A text without the clauses that say nothing but what one of some texts says.

    A clause repeats a text that has all its content words and numbers, and denies as it does.
    """

    def is_known(clause: str) -> bool:
        own = Wording(clause, 0)
        content = set(own.content)
        return bool(content) and any(
            content <= set(each.content)
            and own.numbers <= each.numbers
            and (own.denials > 0) == (each.denials > 0)
            for each in known
        )

    return without(text, is_known, _CLAUSE)
