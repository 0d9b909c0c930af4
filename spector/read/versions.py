"""Whether a later statement takes the place of an earlier one that answers the same question.

Two forms say so, and nothing else does:

- one frame: both have the same words but for one stretch, and its place has room for one value: a
  number that is no id, what stands behind "is", the place or time that is asked for. "I speak
  Dutch", "I speak Turkish" is a list, and so are two cats.
- a word of change in the later one: "now", "no longer", "moved to", or a "not".

Somebody else's ("Ayla's husband works ...") and what was ("I lived in Munich") are no answer. Where
the form does not tell, the answer is no. All by form: the words listed are those of grammar.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, NamedTuple

from spector.lexical.analysis import analyse, is_stop
from spector.read.plain import is_turkish, plain

__all__ = ["ASKS_TR", "NOW", "NOW_TR", "Form", "Pair", "Question", "Statement"]

#: what tells that a statement takes another's place
Form = Literal["change", "move", "value"]

#: words of a value
_VALUE_WORDS: Final = 6
#: letters that the forms of one word begin with
_STEM: Final = 5

# -- the words of grammar --------------------------------------------------------------------------

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
#: a verb of change; in English what it leads to follows
_TURNS: Final = re.compile(
    r"\b(?:(?:chang|mov|switch|replac|lower|rais|reduc|increas|postpon|resched)\w{1,6}"
    r"|(?:went|gone) (?:up|down)|became)\b"
    r"|\b(?:degis|tasin|yuksel|dus|cik|gec|ertele)\w{0,6}?[dt][iu]\w{0,3}\b|\boldu\b"
)
_TO: Final = re.compile(r"(?: (?:my|our) \w+(?: \w+)?)?(?: (?:to|from|by|into)\b|:)")
_NO_MORE: Final = re.compile(r"\b(?:any ?more|no longer|artik)\b")
_NOT: Final = re.compile(
    r"\b(?:not|never|no longer|degil|yok|\w{2,}m[iu]yor\w*|\w{2,}m[ae]z)\b|n't\b"
)
_WAS: Final = re.compile(r"\b(?:was|were|did|had|been|used to|went|got|grew|ago|yesterday)\b")
_WAS_TR: Final = re.compile(
    r"\b\w{2,}(?:[dt][iu]|m[iu]s(?:t[iu])?)(?:m|n|k|niz|nuz|l[ae]r)?(?=[.,;!?]|$)"
)
#: what is not so, or not yet
_MIGHT: Final = re.compile(
    r"\b(?:if|would|will|might|wants?|almost|maybe|perhaps|belki|eger|isti?yor\w*"
    r"|\w+[ae]ca[gk]\w*)\b|'ll\b|\?\s*\Z"
)
#: "I moved to", and nothing but a word of time in between
_MOVED: Final = re.compile(
    r"\W*(?:i|we)(?:'ve| have)?(?: (?:just|now|recently|finally))? moved to\b"
    r"|.*\btasin[dt]\w[mk]\W*\Z"
)
#: beside something else and not in its place, or now and then
_ALSO: Final = re.compile(
    r"\b(?:also|too|as well|another|second|both|besides|sometimes|often|ayrica|bazen|baska|bir de"
    r"|ikinci)\b|(?<!['’]) (?:da|de)\b"
)
#: what there may be several of: what one has or likes, what has an article or a name of its own
_SEVERAL: Final = re.compile(
    r"\b(?:have|has|got|owns?|likes?|loves?|wants?|names?|called|ad[iu]\w*|every|each|her"
    r"|\w+(?:day|morning|evening|weekend)s)\b|\b(?:an?|bir) \w"
)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|we're|us|our)\b")
_FIRST_PERSON_TR: Final = re.compile(r"\w{2,}(?:[aeiou]r[iu][mz]|y[iu][mz]|d[iu][mk]|m[ae]m)")
_OWNER: Final = re.compile(r"\b([^\W\d_]+)'(?:s|n?[iu]n) (?:new |yeni )?([^\W\d_]+)")
_POSSESSED: Final = re.compile(
    r"(?:(?:^|[.,;:!?] |\b(?:and|but|that|while|because) )(?:my|our)|\b(?:his|her|their))"
    r" (?:new |current )*([^\W\d_]+)"
)
_GENITIVE, _HELD = re.compile(r"\w{3,}[iu]n"), re.compile(r"\w{2,}[iu]")
_ARTICLES, _ANY = frozenset("a an the".split()), frozenset("a an bir".split())
_PLACES: Final = frozenset("at by from in into near on to under with".split())
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
_LOCATIVE: Final = re.compile(r"\w*[dt][ae]n?")


class _Word(NamedTuple):
    """One word: folded, its term, whether it tells something, and whether it has a capital."""

    form: str
    term: str
    tells: bool
    capital: bool


def _is_now(form: str) -> bool:
    return bool(NOW.fullmatch(form) or NOW_TR.fullmatch(form)) or form in ("new", "yeni", "longer")


def _is_form(one: str, other: str) -> bool:
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
    words: tuple[_Word, ...]
    turkish: bool
    _places: dict[_Word, int] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, text: str, *, turkish: bool = False) -> Statement:
        """Of a text; ``turkish`` is what it is where its own words do not say so."""
        found, raw, folded = analyse(text), re.findall(r"[^\W_]+", text), plain(text)
        if len(raw) != len(found.forms):  # of scripts without capitals
            raw = found.forms
        words = tuple(
            _Word(plain(form), term, not is_stop(term), each[0].isupper())
            for form, term, each in zip(found.forms, found.words, raw, strict=True)
        )
        return cls(folded, words, turkish or found.turkish or is_turkish(text, folded))

    def place(self, word: _Word) -> int:
        """Where a word, in any of its forms, stands first; -1 for nowhere."""
        at = self._places.get(word)
        if at is None:
            at = self._places[word] = next(
                (n for n, each in enumerate(self.words)
                 if each.term == word.term or _is_form(each.form, word.form)), -1,
            )  # fmt: skip
        return at

    def has(self, word: _Word) -> bool:
        return self.place(word) >= 0

    @cached_property
    def is_own(self) -> bool:
        """Whether the user speaks of himself; in Turkish the last word may say so."""
        if self.turkish and self.words and _FIRST_PERSON_TR.fullmatch(self.words[-1].form):
            return True
        return bool(_FIRST_PERSON.search(self.folded))

    @cached_property
    def is_negated(self) -> bool:
        return bool(_NOT.search(self.folded))

    @cached_property
    def is_of_change(self) -> bool:
        """Whether it says that something is otherwise now."""
        return bool(_CHANGED.search(self.folded)) or any(
            self.turkish or _TO.match(self.folded, turn.end())
            for turn in _TURNS.finditer(self.folded)
        )

    @cached_property
    def is_of_now(self) -> bool:
        """Whether it says what holds: not what was, may be, or is so beside something else."""
        rest = _TURNS.sub(" ", self.folded)
        if _ALSO.search(rest) or _MIGHT.search(rest) or _WAS.search(rest):
            return False
        return not (self.turkish and _WAS_TR.search(rest)) and not any(
            word.form.endswith("ed") and len(word.form) >= _STEM and not word.capital
            and not word.form.endswith("eed") and not _TURNS.fullmatch(word.form)
            and before.form not in _BE
            for before, word in itertools.pairwise(self.words)
        )

    @cached_property
    def ids(self) -> list[tuple[str, str]]:
        """(kind, number) of what a number tells apart: "Order 4711 is packed". A number that has a
        unit or ends its clause is what a statement says."""
        out = []
        for n in range(1, len(self.words) - 1):
            kind, number, behind = self.words[n - 1 : n + 2]
            if number.form.isdecimal() and kind.tells and not kind.form.isdecimal():
                at_start = n == 1 or (n == 2 and self.words[0].form in _ARTICLES)
                says = _UNIT.fullmatch(behind.form) or behind.form.isdecimal()
                if behind.form in _AUXILIARY or (at_start and not says):
                    out.append((kind.form, number.form))
        return out


@dataclass(frozen=True, slots=True)
class Question:
    """A cue: the words that it asks about, its verb, and whether it has room for one answer.

    Attributes:
        verb: which another word may stand for: "How much rent do I pay?", "My rent is ...".
        is_open: "What do I like?", answered by everything that is liked.
        is_of_many: a plural is asked for. asks_where: a place or a time is.
    """

    text: Statement
    wanted: tuple[_Word, ...]
    verb: str
    is_open: bool
    is_of_many: bool
    asks_where: bool

    @classmethod
    def of(cls, cue: str) -> Question:
        """The question that a cue is."""
        text = Statement.of(cue, turkish=bool(ASKS_TR.search(plain(cue))))
        folded, words = text.folded, text.words
        verb = (_VERB_TR if text.turkish else _VERB).search(folded)
        wanted = tuple(
            word for n, word in enumerate(words)
            if word.tells and not _is_now(word.form) and not ASKS_TR.fullmatch(word.form)
            and word.form not in _TIME and not (n and words[n - 1].form == "how")
        )
        return cls(
            text, wanted, verb[1] if verb else "", bool(_OPEN.match(folded)),
            bool(_MANY.search(folded)), bool(_WHERE.match(folded)),
        )


class _Stretches(NamedTuple):
    """What stands before the one stretch in which two statements differ, that of each, and what
    stands behind."""

    before: list[_Word]
    old: list[_Word]
    new: list[_Word]
    behind: list[_Word]


class Pair:
    """Two statements, the later one last, and a question that both may answer."""

    def __init__(self, question: Question, old: Statement, new: Statement) -> None:
        self._question, self._old, self._new = question, old, new
        self._shared = [word for word in question.wanted if old.has(word) and new.has(word)]

    def form(self) -> Form | None:
        """By what the later statement takes the place of the earlier one; None where it does not,
        or is of something else."""
        old, new = self._old, self._new
        if not new.is_of_now or not (self._shared or new.is_of_change):
            return None
        found = self._stretches()
        if not (found or new.is_of_change or old.is_negated != new.is_negated):
            return None
        if (old.ids and new.ids and old.ids != new.ids) or self._is_of_others():
            return None
        for word in self._question.wanted:
            if old.has(word) and not new.has(word) and (
                word.form != self._question.verb or word.form.isdecimal()
            ):
                return None
        if self._is_changed(found):
            return "change"
        if self._is_move():
            return "move"
        return "value" if found and self._is_another_value(found) else None

    def _is_known(self, form: str) -> bool:
        every = (*self._old.words, *self._question.text.words)
        return any(_is_form(word.form, form) for word in every)

    def _is_of_others(self) -> bool:
        """ "Ayla's husband", "My brother lives", "annemin kedisi" where that is not asked."""
        new, known = self._new, self._is_known
        for owner, owned in _OWNER.findall(new.folded):
            if is_stop(analyse(owner).words[0]):  # "it's", "that's"
                continue
            is_said = _is_now(owned) or owned.endswith("ing") or owned in _ARTICLES
            if not known(owner) or not (is_said or known(owned)):
                return True
        if not all(map(known, _POSSESSED.findall(new.folded))):
            return True
        if new.turkish and any(
            one.tells and _GENITIVE.fullmatch(one.form) and _HELD.fullmatch(other.form)
            and not (known(one.form) and known(other.form))
            for one, other in itertools.pairwise(new.words)
        ):
            return True
        return self._old.is_own and not new.is_own

    # -- one frame --------------------------------------------------------------------------------

    def _stretches(self) -> _Stretches | None:
        """Where both are one frame: the same words, but for one stretch."""
        old, new = (
            [word for word in text.words if not _is_now(word.form)]
            for text in (self._old, self._new)
        )
        n = min(len(old), len(new))
        first = next((at for at in range(n) if old[at].form != new[at].form), n)
        last = next(
            (at for at in range(n - first) if old[-1 - at].form != new[-1 - at].form), n - first
        )
        one, other = old[first : len(old) - last], new[first : len(new) - last]
        before, behind = new[:first], new[len(new) - last :]
        if not one or not other or max(len(one), len(other)) > _VALUE_WORDS:
            return None
        if {word.form for word in one if word.tells} & {word.form for word in other}:
            return None
        return _Stretches(before, one, other, behind)

    def _is_another_value(self, found: _Stretches) -> bool:
        """Whether the place in which one frame differs has room for one value."""
        question, new = self._question, self._new
        if question.is_of_many or not self._covers():
            return False
        before, one, other, behind = found
        if not (new.is_own or any(word.tells for word in before)):
            return False  # another subject
        is_any = not _ANY.isdisjoint(word.form for word in (*before[-1:], other[0]))
        while len(before) > 1 and (before[-1].form in _ARTICLES or before[-1].capital):  # "Dr."
            before.pop()
        forms = [word.form for word in before]
        frame = " ".join(forms) + " "
        is_placed = bool(forms) and forms[-1] in _PLACES
        if not is_placed and all(word.form[0].isdecimal() for word in (*one, *other)):
            return _ANY.isdisjoint(forms)
        if question.is_open or _shape(one, new.turkish) != _shape(other, new.turkish) or any(
            map(_SEVERAL.search, (frame, *(word.form for word in other)))
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
        """Whether both have what is asked: all its words but the verb, and but for what stands
        before another one of them ("monthly rent")."""
        words = self._question.text.words
        return bool(self._shared) and all(
            word in self._shared or word.form == self._question.verb or behind in self._shared
            for word, behind in zip(words, (*words[1:], None), strict=True)
            if word in self._question.wanted
        )

    # -- a word of change -------------------------------------------------------------------------

    def _is_changed(self, found: _Stretches | None) -> bool:
        """Whether the later statement says that what the earlier one says is otherwise now."""
        old, new, question = self._old, self._new, self._question
        if self._is_foreign():
            return False
        if found and found.before and (
            _shape(found.old, new.turkish) != _shape(found.new, new.turkish)
        ):
            return False  # who "our landlord" is, and that he "is now on holiday"
        said = [
            word for word in old.words
            if word.tells and not _is_now(word.form) and word not in question.wanted
        ]
        kept = [word for word in said if new.has(word)]
        if old.is_negated != new.is_negated and self._shared:
            # "I eat meat loaf" is not against "I don't eat meat"
            adds = old.is_negated and not all(
                self._is_known(word.form) for word in new.words if word.tells
            )
            if (len(kept) == len(said) and not adds) or (kept and _NO_MORE.search(new.folded)):
                return True
        if question.is_open or question.is_of_many or not (self._shared or kept):
            return False
        return new.is_of_change

    def _is_move(self) -> bool:
        """ "I moved to Berlin", which says where one lives without a word of that."""
        moved = self._old.is_own and _MOVED.match(self._new.folded)
        return bool(moved) and self._question.asks_where and not self._shared

    def _is_foreign(self) -> bool:
        """Whether something stands before the words of the question that neither it nor the earlier
        statement knows, and no change of one's own ("The doctor lowered my dose") explains. In
        Turkish the verb comes last, and so would everything else."""
        if not self._shared or self._new.turkish:
            return False
        before = self._new.words[: min(map(self._new.place, self._shared))]
        if [word.form for word in before[-2:]] in (["is", "my"], ["is", "our"]):
            return False  # "Bob is my manager now"
        if before and self._shared[0].form == self._question.verb and (
            before[-1].form in _PLACES or before[-1].form in _ARTICLES
        ):
            return True  # "at work", where "I work" is asked
        strange = any(
            word.tells and not self._is_known(word.form) and not _is_now(word.form)
            and not _TURNS.match(word.form)
            for word in before
        )
        own = re.search(rf"(?:{_TURNS.pattern}) (?:my|our) ", self._new.folded)
        return strange and not (own and len(self._shared) < len(self._question.wanted))


def _shape(value: Sequence[_Word], turkish: bool) -> tuple[bool, bool, bool, bool]:
    """Of what form a value is: with an article, of a place, of a number, of a name."""
    first = value[0].form
    rest = [word for word in value if word.form not in _ARTICLES and word.form not in _PLACES]
    return (
        first in _ARTICLES,
        bool(_LOCATIVE.fullmatch(value[-1].form)) if turkish else first in _PLACES,
        bool(rest) and rest[0].form[0].isdecimal(), bool(rest) and rest[0].capital,
    )  # fmt: skip
