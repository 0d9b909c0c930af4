"""Statements and questions as words: their person, their tense, and what is asked for.

The patterns list grammar only: words of the present, of change, of the past and of possibility, in
English and Turkish, all for folded text.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from spector.language.words import analyse, is_stop, is_turkish, plain
from spector.process import keeps

#: letters that forms of one word share at their start
_STEM: Final = 5
#: letters that are searched before a text is split into words
_BEGINNING: Final = 3

NOW: Final = re.compile(
    r"\b(?:now|nowadays|currently|current|presently|today|these days|at the moment|at present|still"
    r"|latest|newest|any ?more|up to date)\b"
)
NOW_TR: Final = re.compile(
    r"\b(?:simdi|simdiki|su an|su anda|su anki|suan|artik|hala|halen|guncel|bugun|bugunlerde)\b"
)
ASKS_TR: Final = re.compile(
    r"\b(?:ne|neler|neyi|kim|kimi|kimin|kimle|nerede|neresi|nereye|nereden|hangi|hangisi|nasil|kac"
    r"|kaci|kacta|mi|mu|midir|miyim|muyum)\b"
)
_CHANGED: Final = re.compile(
    r"\b(?:now|nowadays|currently|any ?more|no longer|instead|from now on|artik|simdi|su an\w*"
    r"|bundan (?:sonra|boyle)|yerine)\b"
)
#: a verb of change; in English its result follows
TURNS: Final = re.compile(
    r"\b(?:(?:chang|mov|switch|replac|lower|rais|reduc|increas|postpon|resched)\w{1,6}"
    r"|(?:went|gone) (?:up|down)|became)\b"
    r"|\b(?:degis|tasin|yuksel|dus|cik|gec|ertele)\w{0,6}?[dt][iu]\w{0,3}\b|\boldu\b"
)
_TO: Final = re.compile(r"(?: (?:my|our) \w+(?: \w+)?)?(?: (?:to|from|by|into)\b|:)")
_NOT: Final = re.compile(
    r"\b(?:not|never|no longer|degil|yok|\w{2,}m[iu]yor\w*|\w{2,}m[ae]z)\b|n't\b"
)
_WAS: Final = re.compile(r"\b(?:was|were|did|had|been|used to|went|got|grew|ago|yesterday)\b")
_WAS_TR: Final = re.compile(
    r"\b\w{2,}(?:[dt][iu]|m[iu]s(?:t[iu])?)(?:m|n|k|niz|nuz|l[ae]r)?(?=[.,;!?]|$)"
)
#: possibility and future
_MIGHT: Final = re.compile(
    r"\b(?:if|would|will|might|wants?|almost|maybe|perhaps|belki|eger|isti?yor\w*"
    r"|\w+[ae]ca[gk]\w*)\b|'ll\b|\?\s*\Z"
)
#: in addition to something, or occasionally
_ALSO: Final = re.compile(
    r"\b(?:also|too|as well|another|second|both|besides|sometimes|often|ayrica|bazen|baska|bir de"
    r"|ikinci)\b|(?<!['’]) (?:da|de)\b"
)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|we're|us|our)\b")
_FIRST_PERSON_TR: Final = re.compile(r"\w{2,}(?:[aeiou]r[iu][mz]|y[iu][mz]|d[iu][mk]|m[ae]m)")
_OWNER: Final = re.compile(r"\b([^\W\d_]+)'(?:s|n?[iu]n) (?:new |yeni )?([^\W\d_]+)")
_POSSESSED: Final = re.compile(
    r"(?:(?:^|[.,;:!?] |\b(?:and|but|that|while|because) )(?:my|our)|\b(?:his|her|their))"
    r" (?:new |current )*([^\W\d_]+)"
)
_GENITIVE, _HELD = re.compile(r"\w{3,}[iu]n"), re.compile(r"\w{2,}[iu]")
ARTICLES: Final = frozenset("a an the".split())
_BE: Final = frozenset("am are be get is m re s not".split())
_AUXILIARY: Final = frozenset("is are was were has have had can will does did".split())
_UNIT: Final = re.compile(
    r"(?:[kcmd]?[gml]|[kmg]b|gr|lt|km|lbs?|ft|tl|eur|usd|gbp|chf|euro|dollar|pound|lira|kilo"
    r"|percent|degree|derece|minute|hour|day|year|month|times|dakika|saat|gun|ay|yas|per)\w{0,6}"
    r"|[dt][ae]n?"
)

_VERB: Final = re.compile(r"\b(?:do|does|am|are) (?:i|we|you|he|she|they|it) (\w+)")
_VERB_TR: Final = re.compile(r"\b(\w+(?:yor\w{0,4}|[aeiu]r[iu][mz]))[ ?!.]*$")
_OPEN: Final = re.compile(
    r"what(?: else)? (?:do|does|can|am|may|should)\b|.*\b(?:neyi|neleri?|kimleri?)\b"
    r"|.*\bne (?!zaman\b|kadar\b)\w+(?:yor\w{0,4}|[aeiu]r[iu][mz])[ ?!.]*$"
)
_MANY: Final = re.compile(
    r"\bare (?:my|our|the|all)\b|\b(?:which|what) \w+(?<!s)s (?:do|does|am|are)\b|\b(?:all|every)\b"
    r"|\b\w{2,}l[ae]r(?:[iu]\w{0,6})?\b"
)
_WHERE: Final = re.compile(r"(?:where|when|what time)\b|.*\b(?:ner[ei]\w*|ne zaman|saat kac\w*)\b")
#: "ne zaman", "saat kaçta"
_TIME: Final = frozenset("zaman saat".split())


class Word(NamedTuple):
    """One word: folded form, term, True if it has content, True if it has a capital."""

    form: str
    term: str
    tells: bool
    capital: bool


def may_be_of_change(folded: str) -> bool:
    """Whether a folded text has a word of change; quicker than to read it word by word."""
    return bool(_CHANGED.search(folded) or TURNS.search(folded))


@keeps(4096)
def is_now(form: str) -> bool:
    return bool(NOW.fullmatch(form) or NOW_TR.fullmatch(form)) or form in ("new", "yeni", "longer")


def is_form(one: str, other: str) -> bool:
    if one == other:
        return True
    shorter = min(len(one), len(other))
    if shorter < _STEM:  # "live", "lives"
        return shorter > 2 and one[:shorter] == other[:shorter] and abs(len(one) - len(other)) <= 1
    return one[:_STEM] == other[:_STEM]


@dataclass(frozen=True)
class Statement:
    """A text, folded, and word by word."""

    folded: str
    words: tuple[Word, ...]
    turkish: bool
    _places: dict[Word, int] = field(default_factory=dict, repr=False, compare=False)
    _known: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, text: str, *, turkish: bool = False) -> Statement:
        """Of a text; ``turkish`` is what it is where its own words do not say so."""
        found, raw, folded = analyse(text), re.findall(r"[^\W_]+", text), plain(text)
        if len(raw) != len(found.forms):  # of scripts without capitals
            raw = found.forms
        words = tuple(
            Word(plain(form), term, not is_stop(term), each[0].isupper())
            for form, term, each in zip(found.forms, found.words, raw, strict=True)
        )
        return cls(folded, words, turkish or found.turkish or is_turkish(text, folded))

    def knows(self, form: str) -> bool:
        """Whether it has any form of a word."""
        known = self._known.get(form)
        if known is None:
            known = self._known[form] = any(is_form(word.form, form) for word in self.words)
        return known

    @cached_property
    def lasting(self) -> tuple[Word, ...]:
        """The words without those of the present."""
        return tuple(word for word in self.words if not is_now(word.form))

    @cached_property
    def lasting_forms(self) -> tuple[str, ...]:
        return tuple(word.form for word in self.lasting)

    def place(self, word: Word) -> int:
        """Position of a word in any of its forms; -1 if it is missing."""
        at = self._places.get(word)
        if at is None:
            at = self._places[word] = next(
                (n for n, each in enumerate(self.words)
                 if each.term == word.term or is_form(each.form, word.form)), -1,
            )  # fmt: skip
        return at

    def has(self, word: Word) -> bool:
        return self.place(word) >= 0

    @cached_property
    def is_own(self) -> bool:
        """True for the first person; in Turkish the last word may show it."""
        if self.turkish and self.words and _FIRST_PERSON_TR.fullmatch(self.words[-1].form):
            return True
        return bool(_FIRST_PERSON.search(self.folded))

    @cached_property
    def is_negated(self) -> bool:
        return bool(_NOT.search(self.folded))

    @cached_property
    def is_of_change(self) -> bool:
        """True if it states a change."""
        return bool(_CHANGED.search(self.folded)) or any(
            self.turkish or _TO.match(self.folded, turn.end())
            for turn in TURNS.finditer(self.folded)
        )

    @cached_property
    def is_of_now(self) -> bool:
        """True if it states a present fact: not past, possible or additional."""
        rest = TURNS.sub(" ", self.folded)
        if _ALSO.search(rest) or _MIGHT.search(rest) or _WAS.search(rest):
            return False
        return not (self.turkish and _WAS_TR.search(rest)) and not any(
            word.form.endswith("ed")
            and len(word.form) >= _STEM
            and not word.capital
            and not word.form.endswith("eed")
            and not TURNS.fullmatch(word.form)
            and before.form not in _BE
            for before, word in itertools.pairwise(self.words)
        )

    @cached_property
    def owners(self) -> list[tuple[str, str]]:
        """(owner, owned): "Ayla's husband", but not "it's"."""
        return [
            (owner, owned)
            for owner, owned in _OWNER.findall(self.folded)
            if not is_stop(analyse(owner).words[0])
        ]

    @cached_property
    def possessed(self) -> list[str]:
        """Words after "my" or "his" at the start of a clause."""
        return list(_POSSESSED.findall(self.folded))

    @cached_property
    def genitives(self) -> list[tuple[str, str]]:
        """ "annemin kedisi"."""
        return [
            (one.form, other.form)
            for one, other in itertools.pairwise(self.words)
            if self.turkish
            and one.tells
            and _GENITIVE.fullmatch(one.form)
            and _HELD.fullmatch(other.form)
        ]

    @cached_property
    def ids(self) -> list[tuple[str, str]]:
        """(kind, number) of numbers that identify something: "Order 4711 is packed".

        A number with a unit or at the end of its clause is a value.
        """
        out = []
        for n in range(1, len(self.words) - 1):
            kind, number, behind = self.words[n - 1 : n + 2]
            if number.form.isdecimal() and kind.tells and not kind.form.isdecimal():
                at_start = n == 1 or (n == 2 and self.words[0].form in ARTICLES)
                says = _UNIT.fullmatch(behind.form) or behind.form.isdecimal()
                if behind.form in _AUXILIARY or (at_start and not says):
                    out.append((kind.form, number.form))
        return out


@dataclass(frozen=True, slots=True)
class Question:
    """A cue as a question: its content words, its verb, and whether it has a single answer.

    Attributes:
        verb: may be replaced in an answer: "How much rent do I pay?", "My rent is ...".
        is_open: has many answers ("What do I like?").
        is_of_many: asks for a plural.
        asks_where: asks for a place or a time.
    """

    text: Statement
    wanted: tuple[Word, ...]
    verb: str
    is_open: bool
    is_of_many: bool
    asks_where: bool

    def may_be_answered_by(self, folded: str) -> bool:
        """True if a folded text has the beginning of a wanted word."""
        return any(word.form[:_BEGINNING] in folded for word in self.wanted)

    @classmethod
    def of(cls, cue: str) -> Question:
        """Parse a cue as a question."""
        text = Statement.of(cue, turkish=bool(ASKS_TR.search(plain(cue))))
        folded, words = text.folded, text.words
        verb = (_VERB_TR if text.turkish else _VERB).search(folded)
        wanted = tuple(
            word
            for n, word in enumerate(words)
            if word.tells
            and not is_now(word.form)
            and not ASKS_TR.fullmatch(word.form)
            and word.form not in _TIME
            and not (n and words[n - 1].form == "how")
        )
        return cls(
            text,
            wanted,
            verb[1] if verb else "",
            bool(_OPEN.match(folded)),
            bool(_MANY.search(folded)),
            bool(_WHERE.match(folded)),
        )
