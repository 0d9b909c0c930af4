"""Newer versions of a statement, by grammar."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, NamedTuple

from spector.language.tables import patterns_of
from spector.language.words import analyse, is_stop, is_turkish, plain
from spector.process import keeps

_RE: Final = patterns_of("versions")

# Statements and questions as words: their person, their tense, and what is asked for.
#
# The patterns list grammar only: words of the present, of change, of the past and of possibility, in
# English and Turkish, all for folded text.

#: letters that forms of one word share at their start
_STEM: Final = 5
#: letters that are searched before a text is split into words
_BEGINNING: Final = 3

NOW: Final = _RE["now"]
NOW_TR: Final = _RE["now_tr"]
ASKS_TR: Final = _RE["asks_tr"]
_GENITIVE, _HELD = re.compile(r"\w{3,}[iu]n"), re.compile(r"\w{2,}[iu]")
ARTICLES: Final = frozenset("a an the".split())
_BE: Final = frozenset("am are be get is m re s not".split())
_AUXILIARY: Final = frozenset("is are was were has have had can will does did".split())

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
    return bool(_RE["changed"].search(folded) or _RE["turns"].search(folded))


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
        if self.turkish and self.words and _RE["first_person_tr"].fullmatch(self.words[-1].form):
            return True
        return bool(_RE["first_person"].search(self.folded))

    @cached_property
    def is_negated(self) -> bool:
        return bool(_RE["not"].search(self.folded))

    @cached_property
    def is_of_change(self) -> bool:
        """True if it states a change."""
        return bool(_RE["changed"].search(self.folded)) or any(
            self.turkish or _RE["to"].match(self.folded, turn.end())
            for turn in _RE["turns"].finditer(self.folded)
        )

    @cached_property
    def is_of_now(self) -> bool:
        """True if it states a present fact: not past, possible or additional."""
        rest = _RE["turns"].sub(" ", self.folded)
        if _RE["also"].search(rest) or _RE["might"].search(rest) or _RE["was"].search(rest):
            return False
        return not (self.turkish and _RE["was_tr"].search(rest)) and not any(
            word.form.endswith("ed")
            and len(word.form) >= _STEM
            and not word.capital
            and not word.form.endswith("eed")
            and not _RE["turns"].fullmatch(word.form)
            and before.form not in _BE
            for before, word in itertools.pairwise(self.words)
        )

    @cached_property
    def owners(self) -> list[tuple[str, str]]:
        """(owner, owned): "Ayla's husband", but not "it's"."""
        return [
            (owner, owned)
            for owner, owned in _RE["owner"].findall(self.folded)
            if not is_stop(analyse(owner).words[0])
        ]

    @cached_property
    def possessed(self) -> list[str]:
        """Words after "my" or "his" at the start of a clause."""
        return list(_RE["possessed"].findall(self.folded))

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
                says = _RE["unit"].fullmatch(behind.form) or behind.form.isdecimal()
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
        verb = (_RE["verb_tr"] if text.turkish else _RE["verb"]).search(folded)
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
            bool(_RE["open"].match(folded)),
            bool(_RE["many"].search(folded)),
            bool(_RE["where"].match(folded)),
        )


#: the form by which a statement replaces another
ChangeKind = Literal["change", "move", "value"]

#: most words of a value
_VALUE_WORDS: Final = 6

_ANY: Final = frozenset("a an bir".split())
_PLACES: Final = frozenset("at by from in into near on to under with".split())


class _Stretches(NamedTuple):
    """Words before the part in which two statements differ, that part of each, words after it."""

    before: list[Word]
    old: list[Word]
    new: list[Word]
    behind: list[Word]


class StatementPair:
    """Two statements, the later one last, and a question that both may answer."""

    def __init__(self, question: Question, old: Statement, new: Statement) -> None:
        self._question, self._old, self._new = question, old, new
        self._shared = [word for word in question.wanted if old.has(word) and new.has(word)]

    def form(self) -> ChangeKind | None:
        """The form by which the later statement replaces the earlier one; None if it does not."""
        old, new = self._old, self._new
        if not new.is_of_now or not (self._shared or new.is_of_change):
            return None
        found = self._stretches()
        if not (found or new.is_of_change or old.is_negated != new.is_negated):
            return None
        if (old.ids and new.ids and old.ids != new.ids) or self._is_of_others():
            return None
        for word in self._question.wanted:
            if (
                old.has(word)
                and not new.has(word)
                and (word.form != self._question.verb or word.form.isdecimal())
            ):
                return None
        if self._is_changed(found):
            return "change"
        if self._is_move():
            return "move"
        return "value" if found and self._is_another_value(found) else None

    def _is_known(self, form: str) -> bool:
        return self._old.knows(form) or self._question.text.knows(form)

    def _is_of_others(self) -> bool:
        """True for "Ayla's husband", "My brother lives", "annemin kedisi" unless asked for."""
        new, known = self._new, self._is_known
        for owner, owned in new.owners:
            is_said = is_now(owned) or owned.endswith("ing") or owned in ARTICLES
            if not known(owner) or not (is_said or known(owned)):
                return True
        if not all(map(known, new.possessed)):
            return True
        if any(not (known(one) and known(other)) for one, other in new.genitives):
            return True
        return self._old.is_own and not new.is_own

    # -- one frame --------------------------------------------------------------------------------

    def _stretches(self) -> _Stretches | None:
        """The parts of two statements with the same words except for one part; else None."""
        was, now = self._old.lasting_forms, self._new.lasting_forms
        n = min(len(was), len(now))
        first = next((at for at in range(n) if was[at] != now[at]), n)
        last = next((at for at in range(n - first) if was[-1 - at] != now[-1 - at]), n - first)
        if not 0 < len(was) - first - last <= _VALUE_WORDS or (
            not 0 < len(now) - first - last <= _VALUE_WORDS
        ):
            return None
        old, new = list(self._old.lasting), list(self._new.lasting)
        one, other = old[first : len(old) - last], new[first : len(new) - last]
        before, behind = new[:first], new[len(new) - last :]
        if {word.form for word in one if word.tells} & {word.form for word in other}:
            return None
        return _Stretches(before, one, other, behind)

    def _is_another_value(self, found: _Stretches) -> bool:
        """True if the part that differs can have only one value."""
        question, new = self._question, self._new
        if question.is_of_many or not self._covers():
            return False
        before, one, other, behind = found
        if not (new.is_own or any(word.tells for word in before)):
            return False  # another subject
        is_any = not _ANY.isdisjoint(word.form for word in (*before[-1:], other[0]))
        while len(before) > 1 and (before[-1].form in ARTICLES or before[-1].capital):  # "Dr."
            before.pop()
        forms = [word.form for word in before]
        frame = " ".join(forms) + " "
        is_placed = bool(forms) and forms[-1] in _PLACES
        if not is_placed and all(word.form[0].isdecimal() for word in (*one, *other)):
            return _ANY.isdisjoint(forms)
        if (
            question.is_open
            or _shape(one, new.turkish) != _shape(other, new.turkish)
            or any(map(_RE["several"].search, (frame, *(word.form for word in other))))
        ):
            return False
        while forms and forms[-1] in _PLACES:
            forms.pop()
        if forms and forms[-1] == "is":
            return not behind
        if is_placed or not new.turkish:
            at_times = question.text.words[0].form == "when" and not {"i", "we"}.isdisjoint(forms)
            return is_placed and question.asks_where and not (is_any or at_times)
        if not behind and not new.is_own:
            return True
        where = (other[-1].form, *(word.form for word in behind[:1]))
        return question.asks_where and any(map(_RE["locative"].fullmatch, where))

    def _covers(self) -> bool:
        """True if both have all words of the question, except for its verb and for words before
        another one of them ("monthly rent")."""
        words = self._question.text.words
        return bool(self._shared) and all(
            word in self._shared or word.form == self._question.verb or behind in self._shared
            for word, behind in zip(words, (*words[1:], None), strict=True)
            if word in self._question.wanted
        )

    # -- a word of change -------------------------------------------------------------------------

    def _is_changed(self, found: _Stretches | None) -> bool:
        """True if the later statement says that the earlier one is no longer true."""
        old, new, question = self._old, self._new, self._question
        if not new.is_of_change and old.is_negated == new.is_negated:
            return False
        if self._is_foreign():
            return False
        if (
            found
            and found.before
            and (_shape(found.old, new.turkish) != _shape(found.new, new.turkish))
        ):
            return False  # "our landlord is Bob" and "our landlord is now on holiday"
        said = [
            word
            for word in old.words
            if word.tells and not is_now(word.form) and word not in question.wanted
        ]
        kept = [word for word in said if new.has(word)]
        if old.is_negated != new.is_negated and self._shared:
            # "I eat meat loaf" does not contradict "I don't eat meat"
            adds = old.is_negated and not all(
                self._is_known(word.form) for word in new.words if word.tells
            )
            if (len(kept) == len(said) and not adds) or (
                kept and _RE["no_more"].search(new.folded)
            ):
                return True
        if question.is_open or question.is_of_many or not (self._shared or kept):
            return False
        return new.is_of_change

    def _is_move(self) -> bool:
        """True for "I moved to Berlin", which implies where the user lives."""
        moved = self._old.is_own and _RE["moved"].match(self._new.folded)
        return bool(moved) and self._question.asks_where and not self._shared

    def _is_foreign(self) -> bool:
        """True if words before those of the question are in neither the question nor the earlier
        statement, and are not explained by a change of one's own ("The doctor lowered my dose").
        Not for Turkish, where the verb comes last."""
        if not self._shared or self._new.turkish:
            return False
        before = self._new.words[: min(map(self._new.place, self._shared))]
        if [word.form for word in before[-2:]] in (["is", "my"], ["is", "our"]):
            return False  # "Bob is my manager now"
        if (
            before
            and self._shared[0].form == self._question.verb
            and (before[-1].form in _PLACES or before[-1].form in ARTICLES)
        ):
            return True  # "at work", where "I work" is asked
        strange = any(
            word.tells
            and not self._is_known(word.form)
            and not is_now(word.form)
            and not _RE["turns"].match(word.form)
            for word in before
        )
        own = _RE["own_turn"].search(self._new.folded)
        return strange and not (own and len(self._shared) < len(self._question.wanted))


def _shape(value: Sequence[Word], turkish: bool) -> tuple[bool, bool, bool, bool]:
    """The form of a value: (with an article, a place, a number, a name)."""
    first = value[0].form
    rest = [word for word in value if word.form not in ARTICLES and word.form not in _PLACES]
    return (
        first in ARTICLES,
        bool(_RE["locative"].fullmatch(value[-1].form)) if turkish else first in _PLACES,
        bool(rest) and rest[0].form[0].isdecimal(), bool(rest) and rest[0].capital,
    )  # fmt: skip
