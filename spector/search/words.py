"""A cue in the words of every store, and its names: aliases, numbers, identifiers.

Where memories are similar (orders, patients, servers), a number is all that distinguishes them, and
no similarity makes up for it. A number that only counts or dates something ("3 children", "in
2023", "8 May") is not a name.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, repeat
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector._types import I64
from spector.kernel.contract import ScoringProfile
from spector.language.cues import ASKING, ASSISTANT, USER, Frame, Topic, is_name
from spector.language.statements import (
    MARK_VERSION,
    Speakers,
    is_of_time,
    mark_of,
    names_of,
    subject_of,
)
from spector.language.words import (
    ENGLISH,
    TURKISH,
    Analysis,
    Term,
    analyse,
    cue_terms,
    is_identifier,
    is_sign,
    is_stop,
    plain,
)
from spector.lexical import (
    Lookup,
    Span,
    WordView,
    fold_alias,
    is_typo,
    name_words,
    spans,
    typo_terms,
)
from spector.records import aliases_in
from spector.search.features import FeatureTable
from spector.search.plan import Plan, eligible_rows
from spector.search.snapshot import Moved, Snapshot
from spector.store.core import Store
from spector.store.words import Words

#: memories that may be asked for by name at once
FEW: Final = 10
#: digits of a number that is more than a count
_LONG: Final = 3
#: words of a name in which a typo is looked for
_MOST_WORDS: Final = 4
#: memories of each store that are compared with a name that has a typo
_MOST_COMPARED: Final = 32
_WORD: Final = re.compile(r"[^\W_]+")
#: letters of a word that is never taken for a typo
_SHORT: Final = 2
#: memories that have the word before a number, where that is the name of a kind ("room 12")
_KIND: Final = 3
#: a letter first and two digits at least ("srv042"), or letters and digits by turns ("4f9c2b")
_CODE: Final = re.compile(r"[^\W\d_][^\W_]*\d[^\W_]*\d[^\W_]*|(?:\d+[^\W\d_]+){2,}\d*")
#: "room no. 12", "12 numaralı oda"
_MARKS: Final = frozenset("no nr num number numara".split())
_MARKS_AFTER: Final = frozenset("no nolu numara numarali".split())
#: "order4711"; a number, with the word before it
_SPELLED: Final = re.compile(
    r"(?<![\w.,])(?:([^\W\d_]{3,20})([0-9]{3,9})|([^\W\d_]{3,20} )?([0-9]{1,3}(?:,[0-9]{3}){1,3}"
    r"|[0-9]{4,9}))(?![\w,.-]?\w)"
)
#: characters around a number, and times that it is looked at in one text
_NEAR, _LOOKED_AT = 48, 32


@dataclass(frozen=True, slots=True, eq=False)
class AliasMatch:
    """The aliases of memories that a cue has.

    Attributes:
        rows: per view, ascending: the memories that are named by a cue which is hardly more than
            their alias; nothing where more than a few have those names.
        words: of the cue, folded, that are a name.
        instead: word of the cue, folded -> those of the alias that are meant by it.
    """

    rows: tuple[I64, ...]
    words: frozenset[str] = frozenset()
    instead: Mapping[str, str] = field(default_factory=dict)

    def correct(self, text: str) -> str:
        """A text with the words of the aliases in place of the cue's typos."""
        if not self.instead:
            return text
        return _WORD.sub(
            lambda word: self.instead.get(" ".join(name_words(word.group())), word.group()), text
        )


def match_aliases(plan: Plan, cue: str) -> AliasMatch:
    """The aliases that a cue has, of memories that pass its filters; of nested names the longest.

    A typo is looked for only where one word of the name is in no memory: a word that memories have
    is not a typo.
    """
    nothing = AliasMatch(tuple([np.zeros(0, np.int64) for _ in plan.views]))
    words = name_words(cue) if any(view.has_aliases for view in plan.views) else []
    if not words:
        return nothing
    content = _content(words)
    every = [span for span in spans(words) if any(content[span.start : span.stop])]
    have = _Having(plan, [span.term for span in every])
    known = [span for span in every if have.any([span.term])]
    named = {span: rows for span in known if any(map(len, rows := have.few([span.term])))}
    instead = _typos(plan, words, every, named)
    longest = [
        span
        for span in named
        if not any(other is not span and other.covers(span) for other in named)
    ]
    said = frozenset(w for span in longest for w in words[span.start : span.stop])
    rest = (w for w, tells in zip(words, content, strict=True) if tells and w not in said)
    if not longest or not all(w in ASKING for w in rest):
        return replace(nothing, words=said, instead=instead)
    rows = tuple(map(_unite, zip(*(named[span] for span in longest), strict=True)))
    if sum(map(len, rows)) > FEW:
        rows = nothing.rows
    return AliasMatch(rows, said, instead)


def _unite(rows: Sequence[I64]) -> I64:
    return np.unique(np.concatenate(rows))


class _Having:
    """Which memories have some terms, looked up in all views at once."""

    def __init__(self, plan: Plan, terms: Sequence[str]) -> None:
        self._plan, self._views = plan, plan.views
        self._there = [
            {term for term, (_, count) in zip(terms, view.having(terms, 0), strict=True) if count}
            if terms
            else set()
            for view in plan.views
        ]

    def any(self, terms: Iterable[str]) -> bool:
        """Whether any view has any of them, whether it passes or not."""
        return any(not there.isdisjoint(terms) for there in self._there)

    def rows(self, n: int, terms: Iterable[str]) -> I64:
        """All rows of a view, whether they pass or not."""
        view, found = self._views[n], [term for term in terms if term in self._there[n]]
        if not found:
            return np.zeros(0, np.int64)
        return _unite([rows for rows, _ in view.having(found, len(view))])

    def few(self, terms: Sequence[str]) -> tuple[I64, ...]:
        """Per view those that pass, one more than a few at most."""
        return tuple(
            np.array(
                [
                    row
                    for row, _ in islice(
                        eligible_rows(self._plan, n, self.rows(n, terms), certain=True), FEW + 1
                    )
                ],
                np.int64,
            )
            for n in range(len(self._views))
        )


def _typos(
    plan: Plan,
    words: Sequence[str],
    every: Sequence[Span],
    named: dict[Span, tuple[I64, ...]],
) -> dict[str, str]:
    """Add the spans that are a name but for one typo; return the words that the typos stand for."""
    near = {
        span: typo_terms(span.text)
        for span in every
        if span.stop - span.start <= _MOST_WORDS and not any(other.covers(span) for other in named)
    }
    have = _Having(plan, [term for terms in near.values() for term in terms])
    instead: dict[str, str] = {}
    known: dict[str, bool] = {}
    for span, terms in near.items():
        if not have.any(terms) or any(other.covers(span) for other in named):
            continue
        rows: list[list[int]] = [[] for _ in plan.views]
        for n in range(len(plan.views)):
            some = eligible_rows(plan, n, have.rows(n, terms), certain=True)
            for row, memory in islice(some, _MOST_COMPARED):
                for name in map(fold_alias, aliases_in(memory.metadata)):
                    wrong = _typo_in(words[span.start : span.stop], span.text, name)
                    if wrong is None:
                        continue
                    if wrong not in known:
                        known[wrong] = is_known(plan, wrong)
                    if not known[wrong]:
                        rows[n].append(row)
                        meant = [w for w in name.split() if w not in words[span.start : span.stop]]
                        instead.setdefault(wrong, " ".join(meant))
        if any(rows):
            named[span] = tuple(np.unique(np.array(each, np.int64)) for each in rows)
    return instead


def _typo_in(words: Sequence[str], text: str, name: str) -> str | None:
    """The one word of a text that makes it a typo of a name."""
    if not is_typo(text, name):
        return None
    wrong = set(words).difference(name.split())
    word = wrong.pop() if len(wrong) == 1 else ""
    return None if len(word) <= _SHORT or word.isdigit() else word


def _content(words: Sequence[str]) -> list[bool]:
    """Which words of a cue are not stop words; "it" alone is not a name."""
    return [not is_stop(cue_terms(word)[0].text) for word in words]


def is_known(plan: Plan, text: str) -> bool:
    """Whether any memory that passes has all words of a text."""
    words = [term.forms for term in cue_terms(text)]
    have = _Having(plan, [form for forms in words for form in forms])
    for n in range(len(plan.views) if words else 0):
        rows = functools.reduce(np.intersect1d, (have.rows(n, forms) for forms in words))
        if any(True for _ in islice(eligible_rows(plan, n, rows), 1)):
            return True
    return False


class Name(NamedTuple):
    """A name in a cue: a memory with all of its terms is named.

    Attributes:
        terms: of the cue, by number.
        number: in digits, where it must stand in the text beside the word for its kind.
        kind: forms of the term of that word; nothing for a number by itself.
    """

    terms: tuple[int, ...]
    number: str = ""
    kind: tuple[str, ...] = ()

    def is_in(self, text: str) -> bool:
        """Whether a text has the terms side by side; "server 7 in rack 12" is not rack 7.

        Bounded, however often the number is in it.
        """
        if not self.number:
            return True
        head = len(self.number) % 3 or 3
        groups = [self.number[:head], *re.findall("...", self.number[head:])]
        digits = re.compile(rf"(?<!\d)(?<!\d[.,]){'[.,]?'.join(groups)}(?![.,]?\d)")
        return any(
            not self.kind or self._is_beside(text, found.start(), found.end())
            for found in islice(digits.finditer(text), _LOOKED_AT)
        )

    def _is_beside(self, text: str, start: int, end: int) -> bool:
        before = analyse(text[max(0, start - _NEAR) : start]).forms[-2:]
        behind = analyse(text[end : end + _NEAR]).forms[:2]
        if len(behind) == 2 and plain(behind[0]) in _MARKS_AFTER:  # "12 numaralı oda"
            near = behind[1:]
        elif before and before[-1].isdecimal():
            near = []
        else:
            near = before  # with "rack no. 12", "invoice INV-12"
        return any(ENGLISH[form] in self.kind or TURKISH[form] in self.kind for form in near)


def identify_names(words: Analysis, terms: Sequence[Term], df: I64) -> list[Name]:
    """The names in a cue.

    An identifier that is joined or a code; a number beside the word for its kind ("order 12") that
    some memories have; a longer number by itself that is not a year.

    Args:
        words: of the cue. terms: what it is looked up as; df: (t,) memories that have each.
    """
    place = {term.text: n for n, term in enumerate(terms)}
    names = [Name((n,)) for n, term in enumerate(terms) if is_identifier(term.text) and df[n]]
    forms = list(map(plain, words.forms))
    for at, form in enumerate(forms):
        number = place.get(words.words[at], -1)
        if number < 0 or not df[number]:
            continue
        if _CODE.fullmatch(form):
            names.append(Name((number,)))
        elif form.isdecimal() and not _is_of_time(forms, at):
            whole = _thousands(forms, at)
            parts = tuple(place.get(words.words[n], -1) for n in range(at, at + len(whole)))
            kind = _kind_of(words, forms, at, place, df)
            if min(parts, default=-1) < 0 or not df[list(parts)].all():
                continue
            if kind >= 0:
                names.append(Name((*parts, kind), "".join(whole), terms[kind].forms))
            elif len(whole) > 1:
                names.append(Name(parts, "".join(whole)))
            elif _is_marked(forms, at) or (len(form) >= _LONG and not _is_year(form)):
                names.append(Name(parts))
    return names


def respell_numbers(cue: str, is_known: Callable[[str], bool]) -> str:
    """A cue with its numbers as the memories write them: 4711 for "4,711", "order 4711" for
    "order4711", and the other way round.

    Args:
        is_known: whether memories have all terms of a text.
    """

    def other(found: re.Match[str]) -> str:
        glued, digits, kind, number = (each or "" for each in found.groups())
        if glued:
            others, is_settled = [f"{glued} {digits}"], is_known(found[0])
        else:
            bare = number.replace(",", "")
            glued = f"{kind.strip()}{bare}" if kind else ""
            others = [f"{kind}{bare}", glued, f"{kind}{int(bare):,}"]
            is_settled = _is_year(bare) or ("," not in number and is_known(number))
        if is_settled:
            return found[0]
        return next((each for each in others if each and is_known(each)), found[0])

    return _SPELLED.sub(other, cue) if any(map(str.isdecimal, cue)) else cue


def _thousands(forms: Sequence[str], at: int) -> list[str]:
    """The parts of the number that begins here, "3,600" has two; none within a number."""
    is_part = at and forms[at - 1].isdecimal()
    end = at + 1
    while end < len(forms) and forms[end].isdecimal():
        end += 1
    whole = list(forms[at:end])
    is_sound = len(whole) == 1 or (len(whole[0]) <= 3 and all(len(each) == 3 for each in whole[1:]))
    return [] if is_part or not is_sound else whole


def _kind_of(words: Analysis, forms: Sequence[str], at: int, place: dict[str, int], df: I64) -> int:
    """The term of the word for the kind of a number ("order" 12); -1 for none."""
    by = at - 1
    if by >= 0 and forms[by] in _MARKS:
        by -= 1
    if at + 2 < len(forms) and forms[at + 1] in _MARKS_AFTER:
        by = at + 2
    if by < 0 or is_stop(words.words[by]) or forms[by].isdecimal() or is_of_time(forms[by]):
        return -1
    kind = place.get(words.words[by], -1)
    return kind if kind >= 0 and df[kind] >= _KIND else -1


def _is_marked(forms: Sequence[str], at: int) -> bool:
    """Whether "no." stands before a number, or "numaralı" behind it."""
    before, after = forms[max(0, at - 1) : at], forms[at + 1 : at + 2]
    return not _MARKS.isdisjoint(before) or not _MARKS_AFTER.isdisjoint(after)


def _is_of_time(forms: Sequence[str], at: int) -> bool:
    return any(map(is_of_time, (*forms[max(0, at - 1) : at], *forms[at + 1 : at + 2])))


def _is_year(form: str) -> bool:
    return len(form) == 4 and form[:2] in ("19", "20")


# Finds the ranked memories that a cue names; they come first, whatever the vectors say.

#: words that a cue which only names something has at most; longer ones ask something about it
_NAME_WORDS: Final = 2
#: memories whose texts are read for a number beside the word for its kind
_READ: Final = 64
#: what the factors of a usual profile (mood, tier, category, ...) multiply out to at most
_HIGHEST_MODIFIER: Final = 1.25


def overriding_score(profile: ScoringProfile) -> float:
    """Evidence that exceeds any similarity and strength, on the scale of the score."""
    rest = sum(profile.weights().values()) - profile.w_similarity
    span = 2 * profile.w_similarity + rest  # from cosine -1 and no strength to 1 and all of it
    if profile.fusion == "multiplicative":
        span = profile.w_similarity * (1 + rest)
    return span * _HIGHEST_MODIFIER + profile.w_lexical


def named_rows(
    snap: Snapshot,
    tables: Sequence[FeatureTable],
    own: Sequence[NDArray[np.uint8]],
    cue: LexicalQuery,
    profile: ScoringProfile,
    gone: NDArray[np.bool_] | None,
) -> NDArray[np.bool_] | None:
    """(N,) mask of the memories that a cue names; None when there are none.

    Named are: memories with all words of a cue that is only a name, if few have them; memories with
    an identifier or number of the cue; memories whose alias is nearly all of the cue. Of a cue that
    is only emoji or characters its vector says nothing, so all memories with them are named. A
    question is not a name: a memory that says only the name does not answer it.

    Args:
        own: per store (t, n), how often each memory has each term in its own text.
        gone: (N,) what cannot be a hit, such as memories of other users; it is not counted.
    """
    if not profile.ranking.by_name:
        return None
    choices = list(cue.names)
    signs = bool(cue.terms) and cue.is_name and all(is_sign(t.text) for t in cue.terms)
    short = signs or 0 < len(cue.terms) <= _NAME_WORDS
    if cue.is_name and short and (cue.df() > 0).all():
        choices.append(Name(tuple(range(len(cue.terms)))))
    if not choices and not cue.aliases:
        return None
    named = np.zeros(sum(each.shape[1] for each in own), np.bool_)
    if cue.aliases:
        rows = cue.aliases.rows
        named |= np.concatenate(
            [np.isin(each.rows[: len(each)], rows[each.store]) for each in tables]
        )
    for choice in choices:
        having = np.concatenate([(each[list(choice.terms)] > 0).all(axis=0) for each in own])
        if gone is not None:
            having &= ~gone
        if choice.number:
            having = _having_said(snap, tables, having, choice)
        if signs or np.count_nonzero(having) <= FEW:
            named |= having
    return named if named.any() else None


def _having_said(
    snap: Snapshot, tables: Sequence[FeatureTable], having: NDArray[np.bool_], name: Name
) -> NDArray[np.bool_]:
    """(N,) those of ``having``, a mask, whose text has the name; none where too many must be read."""
    out = np.zeros(len(having), np.bool_)
    if np.count_nonzero(having) > _READ:
        return out
    start = 0
    for features in tables:
        at = np.flatnonzero(having[start : start + len(features)])
        ids = features.ids[at].tolist()
        rows = snap.stores[features.store].catalog.fetch_stored(ids) if ids else {}
        out[start + at] = [each in rows and name.is_in(rows[each].text) for each in ids]
        start += len(features)
    return out


# A cue as it is put to the words of the stores: terms, names, aliases, speakers.


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalQuery:
    """What the words of a cue ask for.

    Attributes:
        kind: "fact", "talk" or "request": how much words count.
        rows: memories of all stores.
        terms: what is looked up; ``words`` has their postings, by store.
        about: code of the one speaker that the cue is about, by store; -1 for none.
        said_by: code of the one speaker whose words are asked for ("what did I say about ..."), by
            store; -1 for none.
        is_name: the cue is a word or two and no question, see
            `spector.language.cues.intent.is_name`.
        names: what names memories, see `identify_names`.
        aliases: the aliases of memories that the cue has, see
            `spector.search.words.match_aliases`.
        proper_names: words with a capital, not at the start of a sentence; of questions of fact.
    """

    kind: str
    rows: int
    terms: tuple[Term, ...]
    words: tuple[Lookup, ...]
    about: tuple[int, ...] = ()
    said_by: tuple[int, ...] = ()
    is_name: bool = False
    names: tuple[Name, ...] = ()
    aliases: AliasMatch | None = None
    proper_names: tuple[str, ...] = ()
    _df: list[I64] = field(default_factory=list, repr=False, compare=False)

    def df(self) -> I64:
        """(t,) memories of all stores that have each term."""
        if not self._df:
            first, *others = (lookup.df for lookup in self.words)
            self._df.append(sum(others, first))
        return self._df[0]


# Looks a cue up in the words of every store, with its names and speakers.

#: words of a long cue that are looked up: the most telling ones
MAX_TERMS: Final = 48


@dataclass(frozen=True, slots=True)
class _Known:
    """The speakers of a view."""

    names: list[str]
    speakers: Speakers
    code_of: dict[str, int]


class LexicalChannel:
    """The words of all stores. Thread-safe."""

    def __init__(self, stores: Sequence[Store]) -> None:
        self._words = [Words(store, mark=mark_of, mark_version=MARK_VERSION) for store in stores]
        self._known: list[_Known | None] = [None] * len(self._words)

    def drop_caches(self) -> None:
        """Keep nothing of what is in the stores."""
        for words in self._words:
            words.drop_caches()
        self._known = [None] * len(self._words)

    def at(self, snap: Snapshot) -> tuple[WordView, ...]:
        """The words of each store at the moment of a snapshot, which this thread is in.

        Raises:
            Moved: a store in memory, which knows no moments, has been changed in between: a memory
            may have words only where the snapshot does not have it.
        """
        found = tuple([words.at(view) for words, view in zip(self._words, snap.views, strict=True)])
        for store, view in zip(snap.stores, snap.views, strict=True):
            if not store.files.durable and store.moves != view.moves:
                raise Moved("a memory moved between view and words")
        return found

    def query(self, plan: Plan) -> LexicalQuery:
        """The words, names and speakers of a plan's cue, looked up in every store."""
        request, views, kind = plan.request, plan.views, plan.request.reading.kind
        cue, topic, ranking = request.cue.text or "", request.reading.topic, request.profile.ranking
        named = match_aliases(plan, cue) if ranking.by_name else None
        text = cue if topic is None else topic.text
        if named is not None:
            text = respell_numbers(named.correct(text), partial(is_known, plan))
        words = analyse(text)
        terms = cue_terms(words) if plan.word_weight or ranking.by_name else []
        if len(terms) > MAX_TERMS:  # those that say most about which memory is meant
            largest = max(views, key=lambda view: view.n_rows)
            terms = largest.informative(terms, MAX_TERMS)
        looked_up = tuple([view.look_up(terms) for view in views])
        known = self._speakers(views) if ranking.about else []
        rows = sum([view.n_rows for view in views])
        speakers = [each.speakers for each in known]
        df = sum([lookup.df for lookup in looked_up[1:]], looked_up[0].df)
        said_by = _said_by(known, topic)
        asks_about = (
            known
            and not any(code >= 0 for code in said_by)
            and (
                topic is None or topic.kind is not Frame.SUMMARY  # a summary is of both sides
            )
        )
        names = identify_names(words, terms, df) if ranking.by_name else []
        subjects = set(map(subject_of, repeat(cue), speakers)) if asks_about else set()
        cue_is_name = ranking.by_name and topic is None and is_name(cue)
        proper_names = tuple(names_of(cue)) if kind == "fact" else ()
        return LexicalQuery(
            kind=kind,
            rows=rows,
            terms=tuple(terms),
            words=looked_up,
            names=tuple(names),
            aliases=named,
            about=_codes_of(known, subjects - {None}) if asks_about else (),
            said_by=said_by,
            is_name=cue_is_name,
            proper_names=proper_names,
        )

    def known_speakers(self) -> Speakers:
        """The speakers of all stores, as of the last recall that asked for them."""
        return Speakers.of(
            name for each in self._known if each is not None for name in each.code_of if name
        )

    def _speakers(self, views: Sequence[WordView]) -> list[_Known]:
        """Per store its speakers; read anew where they are others."""
        out: list[_Known] = []
        for n, names in enumerate([view.speakers() for view in views]):
            known = self._known[n]
            if known is None or known.names != names:
                code_of = {name: code for code, name in enumerate(names)}
                known = _Known(names, Speakers.of(filter(None, names)), code_of)
                self._known[n] = known
            out.append(known)
        return out


def _codes_of(known: Sequence[_Known], names: Collection[str | None]) -> tuple[int, ...]:
    """Per store the code of the one speaker, -1 for none, and where there are several names."""
    if len(names) != 1:
        return (-1,) * len(known)
    (name,) = names
    return tuple([-1 if name is None else each.code_of.get(name, -1) for each in known])


def _said_by(known: Sequence[_Known], topic: Topic | None) -> tuple[int, ...]:
    """Per store the code of the speaker whose words are asked for, -1 for none."""
    if topic is None or topic.speaker is None:
        return ()
    names = [_match_speaker(topic.speaker, each.speakers) for each in known]
    return tuple(
        [
            -1 if name is None else each.code_of.get(name, -1)
            for name, each in zip(names, known, strict=True)
        ]
    )


def _match_speaker(speaker: str, known: Speakers) -> str | None:
    """The one speaker of a store that a name fits; None for none, or several."""
    if speaker in (USER, ASSISTANT):
        return known.user if speaker == USER else known.assistant
    named = known.named_in(speaker)
    return named[0] if len(named) == 1 else None


def names_unknown(views: Sequence[WordView], query: LexicalQuery) -> bool:
    """Whether no memory has a proper name of a cue."""
    names = query.proper_names
    known = {term.text for term, df in zip(query.terms, query.df().tolist(), strict=True) if df}
    for name in names:
        if query.aliases and query.aliases.words.issuperset(name_words(name)):
            continue
        terms = [term for term in cue_terms(name) if not is_stop(term.text)]
        terms = [term for term in terms if term.text not in known]
        if terms and not any(view.df(terms).all() for view in views):
            return True
    return False
