"""The lexical channel: looks a cue up in the words of every store, with its names and speakers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Final

import numpy as np

from spector.language.cues import ASSISTANT, USER, Frame, Topic, is_name
from spector.language.statements import MARK_VERSION, Speakers, mark_of, names_of, subject_of
from spector.language.words import Term, analyse, cue_terms, is_stop
from spector.lexical import Lookup, WordView, name_words
from spector.search.named import (
    LexicalQuery,
    identify_names,
    is_known,
    match_aliases,
    respell_numbers,
)
from spector.search.plan import Plan
from spector.search.snapshot import Moved, Snapshot
from spector.store.core import Store
from spector.store.words import Words

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
        looked_up = tuple([_look_up(view, tuple(terms)) for view in views])
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


def _look_up(view: WordView, terms: tuple[Term, ...]) -> Lookup:
    if view.n_rows and terms:
        return view.look_up(terms)
    return Lookup(
        terms,
        np.zeros(len(terms), np.int64),
        np.zeros(0, np.uint64),
        np.zeros((0, 0), np.int32),
        (),
    )
