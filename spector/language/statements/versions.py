"""Decides whether a later statement replaces an earlier one that answers the same question.

Only two forms count:

- The same frame: both statements have the same words except for one part, which can have only one
  value: a number that is not an id, the words after "is", a place or a time that is asked for. "I
  speak Dutch" and "I speak Turkish" are a list, as are two cats.
- A word of change in the later statement: "now", "no longer", "moved to", or a negation.

Statements about others ("Ayla's husband works ...") and about the past ("I lived in Munich") do not
replace. In doubt, the answer is no. All rules are about form; the words listed are grammar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from spector.language.statements.grammar import ARTICLES, TURNS, Question, Statement, Word, is_now

#: the form by which a statement replaces another
ChangeKind = Literal["change", "move", "value"]

#: most words of a value
_VALUE_WORDS: Final = 6

_NO_MORE: Final = re.compile(r"\b(?:any ?more|no longer|artik)\b")
#: "I moved to", and nothing but a word of time in between
_MOVED: Final = re.compile(
    r"\W*(?:i|we)(?:'ve| have)?(?: (?:just|now|recently|finally))? moved to\b"
    r"|.*\btasin[dt]\w[mk]\W*\Z"
)
#: may have several values: things that one has or likes, things with an article or a name
_SEVERAL: Final = re.compile(
    r"\b(?:have|has|got|owns?|likes?|names?|called|ad[iu]\w*|every|each|her"
    r"|\w+(?:day|morning|evening|weekend)s)\b|\b(?:an?|bir) \w"
)
_ANY: Final = frozenset("a an bir".split())
_PLACES: Final = frozenset("at by from in into near on to under with".split())
_LOCATIVE: Final = re.compile(r"\w*[dt][ae]n?")


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
            or any(map(_SEVERAL.search, (frame, *(word.form for word in other))))
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
        return question.asks_where and any(map(_LOCATIVE.fullmatch, where))

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
            if (len(kept) == len(said) and not adds) or (kept and _NO_MORE.search(new.folded)):
                return True
        if question.is_open or question.is_of_many or not (self._shared or kept):
            return False
        return new.is_of_change

    def _is_move(self) -> bool:
        """True for "I moved to Berlin", which implies where the user lives."""
        moved = self._old.is_own and _MOVED.match(self._new.folded)
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
            and not TURNS.match(word.form)
            for word in before
        )
        own = re.search(rf"(?:{TURNS.pattern}) (?:my|our) ", self._new.folded)
        return strange and not (own and len(self._shared) < len(self._question.wanted))


def _shape(value: Sequence[Word], turkish: bool) -> tuple[bool, bool, bool, bool]:
    """The form of a value: (with an article, a place, a number, a name)."""
    first = value[0].form
    rest = [word for word in value if word.form not in ARTICLES and word.form not in _PLACES]
    return (
        first in ARTICLES,
        bool(_LOCATIVE.fullmatch(value[-1].form)) if turkish else first in _PLACES,
        bool(rest) and rest[0].form[0].isdecimal(), bool(rest) and rest[0].capital,
    )  # fmt: skip
