"""What a text says in words: its content, numbers, dates and denials, as two texts are compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from spector.language.dates import time_range_in
from spector.language.frames import normal_value
from spector.language.statements import is_question, names_of
from spector.language.words import analyse, is_stop, plain

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
