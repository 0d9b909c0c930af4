"""Instructions that hold, beside the hits and never among them.

"Always use metric units when I ask about distances" says nothing that a question about distances
asks for, so it does not compete for its answer. It stands in a slot beside the hits when the cue is
like its condition ("distances"); one without a condition stands in every context. Which texts are
instructions is in their marks (`facts`); conditions are read from the catalog once and embedded
once, kept in memory by id and seal while the memory is there, and gone with `let_go`. A recall
costs one dot product each. What a newer one takes back stands no more and is a hit like any other.
"""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.errors import StoreClosedError
from spector.kernel.contract import Scanner, dots, get_profile, lengths, norm
from spector.language.cues import Kind
from spector.language.statements import INSTRUCTS, USERS, forbids, forms_of, instruction
from spector.language.words import cue_terms, is_stop, plain
from spector.layout import CERTAIN_BYTE, Flag, TierCode
from spector.lexical import WordView
from spector.records import Hit
from spector.search.evidence import kind_of
from spector.search.view import (
    NOWHERE,
    Candidate,
    Confirmer,
    Ranked,
    RecallRequest,
    Snapshot,
    conditions,
    header_column,
    partitions_of,
    places_of,
    query_of,
)
from spector.store.catalog import StoredRow
from spector.tiers import TierRouter

__all__ = ["MOST", "Embed", "Standing", "is_looked_for"]

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
Embed = Callable[[list[str]], F32]

#: instructions beside the hits of one recall
MOST: Final = 2
#: cosine of cue and condition from which a request, and any other cue, is about it
_LEAST_OF_REQUEST: Final = 0.25
_LEAST: Final = 0.35
#: cosine of cue and instruction from which a cue without a word of it may ask for it
_LEAST_ASKED: Final = 0.35
#: without vectors: share of the condition's words that the cue has
_WORDS_OF_REQUEST: Final = 0.25
_WORDS: Final = 0.5
#: of those that pass a recall's filters the newest are considered
_CONSIDERED: Final = 256
#: filters whose instructions are kept until the store changes
_FILTERS: Final = 64
#: tier of how something is done, which a cue asks for
_OF_METHODS: Final = int(TierCode.PROCEDURAL)
#: conditions that are kept
_KEPT: Final = 4096
#: what many instructions have in common, and none is about, folded
_COMMON: Final = frozenset(
    """again allow allowed always answer any anymore are can don fine free free give have is longer
    may must need no never now please should start stop use using you your
    artik asla bundan gerek hep her kullan kullanabilirsin kullanabilirsiniz kullanma lutfen sonra
    tekrar yeniden yine yok zaman zorunda""".split()
)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """All instructions of a snapshot, (n,) each: ids, seals, times, stores, places, whether the
    text is nothing but the instruction, and whether a role says whose; the newest first."""

    ids: I64
    seals: I64
    event_ms: I64
    store: I64
    part: NDArray[np.uint32]
    slot: NDArray[np.uint32]
    wholly: NDArray[np.bool_]
    vouched: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, rows: NDArray[Any] | slice) -> _Found:
        return _Found(*(getattr(self, name)[rows] for name in _COLUMNS))


_COLUMNS: Final = tuple(_Found.__slots__)


class _Told(NamedTuple):
    """What one says.

    Attributes:
        condition: None: it always holds. lifts: it gives leave again. forbids: it says what not to
            do. about: the forms of each word that says of what; forms: of all. who: the user, the
            agent, and whether the user said it.
    """

    condition: str | None = None
    lifts: bool = False
    forbids: bool = False
    about: tuple[frozenset[str], ...] = ()
    forms: frozenset[str] = frozenset()
    who: tuple[str | None, str | None, bool] = (None, None, True)


@dataclass(slots=True, eq=False)
class _Within:
    """Those that the filters of a recall let through, but for what a newer one takes back.

    Attributes:
        revoked: ids of those. always: rows without a condition. rows: those that have one;
            topics: theirs.
        matrix: (len(rows), dim) f32 unit vectors of the topics, words: theirs; made when they are
            needed.
    """

    found: _Found
    revoked: frozenset[int]
    always: list[int]
    rows: list[int]
    topics: list[str]
    matrix: F32 | None = None
    words: list[frozenset[str]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """What is known of a snapshot: all instructions, and those within filters that were asked."""

    snap: Snapshot
    views: tuple[WordView, ...]
    found: _Found
    within: dict[Any, _Within] = field(default_factory=dict)


def is_looked_for(request: RecallRequest) -> bool:
    """Whether a recall looks for instructions: one by a cue's words, or one without any cue."""
    return request.lexical and bool(request.profile.w_lexical)


class Standing:
    """Finds the instructions that a recall has beside its hits. Thread-safe."""

    def __init__(
        self, router: TierRouter, kernel: Scanner, confirmer: Confirmer, config: Config,
        embed: Embed | None,
    ) -> None:
        """``embed``: unit or other vectors (n, dim) f32 of n texts, by the model of the store."""
        self._router, self._kernel, self._confirmer = router, kernel, confirmer
        self._config, self._embed = config, embed
        self._lock = threading.Lock()
        self._seen: _Seen | None = None
        #: (id, seal) -> what it says, of those that are there
        self._conditions: dict[tuple[int, int], _Told] = {}
        #: condition -> its unit vector
        self._vectors: dict[str, F32] = {}

    def let_go(self) -> None:
        """Keep nothing of what instructions say."""
        with self._lock:
            self._seen = None
            self._conditions, self._vectors = {}, {}

    def expect(self, texts: Iterable[str]) -> None:
        """Embed the conditions of texts about to be written, so that no recall has to.

        Of texts that may instruct, in their order: of those the last ones are considered.
        """
        if self._embed is None:
            return
        told = (instruction(text) for text in texts)
        self._learn([each.condition for each in told if each and each.condition][-_CONSIDERED:])

    # -- at recall ------------------------------------------------------------------------------

    def fitting(
        self, snap: Snapshot, views: tuple[WordView, ...], request: RecallRequest
    ) -> list[Hit]:
        """The instructions whose condition the cue is about, likest first: two for a request, one
        for any other cue."""
        if request.cue is None:
            return []
        within = self._within(snap, views, request)
        if within is None or not within.rows:
            return []
        wanted = kind_of(request) is Kind.REQUEST
        scores = self._likeness(request, within, wanted=wanted)
        chosen = [(score, n) for score, n in zip(scores, within.rows, strict=True) if score > 0]
        # of equal ones the newest, which stand first
        chosen.sort(key=lambda each: (-each[0], each[1]))
        ordered = [_candidate(within.found, n, score) for score, n in chosen]
        return self._confirmed(snap, request, ordered, MOST if wanted else 1)

    def always(
        self, snap: Snapshot, views: tuple[WordView, ...], request: RecallRequest, most: int
    ) -> list[Hit]:
        """The newest instructions without a condition, newest first; before them those that say
        nothing else."""
        within = self._within(snap, views, request)
        if within is None:
            return []
        rows = sorted(within.always, key=lambda n: not within.found.wholly[n])
        ordered = [_candidate(within.found, n, 0.0) for n in rows]
        return self._confirmed(snap, request, ordered, most)

    def set_aside(
        self, snap: Snapshot, views: tuple[WordView, ...], ranked: Ranked, request: RecallRequest
    ) -> Sequence[Candidate]:
        """Take what is nothing but an instruction, and the memories beside, out of a ranking.

        Returns:
            The instructions of those that the cue may ask for by itself, best first.
        """
        found = self._all(snap, views).found
        ids = found.ids[found.wholly]
        within = self._within(snap, views, request) if len(ids) else None
        if within is not None and within.revoked:
            ids = ids[~np.isin(ids, np.array(list(within.revoked), np.int64))]
        if request.beside:
            ids = np.append(ids, np.array(request.beside, np.int64))
        if not len(ids):
            return []
        rows = ranked.set_aside(ids)
        by_words, by_likeness = (rows[rows < len(values)] for values in ranked.values())
        asked = np.union1d(
            by_words[ranked.words[by_words] > 0],
            by_likeness[ranked.likeness[by_likeness] >= _LEAST_ASKED],
        )
        return ranked.candidates(asked) if len(asked) else []

    # -- which there are ------------------------------------------------------------------------

    def _all(self, snap: Snapshot, views: tuple[WordView, ...]) -> _Seen:
        seen = self._seen
        if seen is None or seen.snap is not snap or seen.views != views:
            parts = [_of_store(snap, n, view) for n, view in enumerate(views)]
            found = _Found(*(
                np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS
            ))
            if len(found):
                found = found.only(np.lexsort((-found.ids, -found.event_ms)))
            self._keep_only(found, self._conditions_of(snap, found.only(slice(_CONSIDERED))))
            seen = self._seen = _Seen(snap, views, found)
        return seen

    def _within(
        self, snap: Snapshot, views: tuple[WordView, ...], request: RecallRequest
    ) -> _Within | None:
        """What the gates of a recall let through; the same for every cue, so it is kept."""
        seen = self._all(snap, views)
        if not len(seen.found):
            return None
        key = (request.gates, request.replaced, request.by_catalog)
        within = seen.within.get(key)
        if within is None:
            passing = self._passing(snap, seen.found, request)
            told = self._conditions_of(snap, passing)
            gone = _revoked(told, passing.vouched.tolist())
            held = [(n, told[n].condition) for n in range(len(told)) if n not in gone]
            with_one = [(n, each) for n, each in held if each is not None]
            within = _Within(
                passing, frozenset(passing.ids[list(gone)].tolist()),
                [n for n, each in held if each is None],
                [n for n, _ in with_one], [each for _, each in with_one],
            )  # fmt: skip
            if len(seen.within) >= _FILTERS:
                seen.within.clear()
            seen.within[key] = within
        return within

    def _passing(self, snap: Snapshot, found: _Found, request: RecallRequest) -> _Found:
        """The newest, no more than count."""
        query = query_of(_bare(request), self._config, snap.format_version)
        passing = self._kernel.score(snap.table, query, found.part, found.slot) > -np.inf
        select = partitions_of(self._router, snap, request)
        if select is not None:
            passing &= np.isin(found.part, np.array(select, np.uint32))
        return found.only(np.flatnonzero(passing)[:_CONSIDERED])

    def _confirmed(
        self, snap: Snapshot, request: RecallRequest, ordered: Sequence[Candidate], most: int
    ) -> list[Hit]:
        if not ordered:
            return []
        asked = _bare(request)
        query = query_of(asked, self._config, snap.format_version)
        return self._confirmer.first(snap, most, query, conditions(snap, asked), ordered)[0]

    # -- conditions -----------------------------------------------------------------------------

    def _keep_only(self, found: _Found, newest: Sequence[_Told]) -> None:
        """Keep nothing of instructions that are not there any more, whoever has erased them.

        ``newest``: what those say that may be new, whose conditions may be expected.
        """
        with self._lock:
            ids = np.array([each for each, _ in self._conditions], np.int64)
            mine = np.isin(found.ids, ids)
            there = set(zip(found.ids[mine].tolist(), found.seals[mine].tolist(), strict=True))
            kept = {key: each for key, each in self._conditions.items() if key in there}
            topics = {each.condition for each in (*kept.values(), *newest)}
            self._conditions = kept
            self._vectors = {k: v for k, v in self._vectors.items() if k in topics}

    def _conditions_of(self, snap: Snapshot, found: _Found) -> list[_Told]:
        """What each says, read from the catalog where it is not known."""
        keys = list(zip(found.ids.tolist(), found.seals.tolist(), strict=True))
        known = self._conditions
        out = {key: known[key] for key in keys if key in known}
        for n, store in enumerate(snap.stores):
            mine = [
                key for key, at in zip(keys, found.store.tolist(), strict=True)
                if at == n and key not in out
            ]
            rows = store.catalog.fetch_stored([key[0] for key in mine]) if mine else {}
            for key in mine:
                row = rows.get(key[0])
                out[key] = _told(row) if row is not None else _Told()
        fresh = {key: told for key, told in out.items() if key not in known and key[1] >= 0}
        if fresh:  # without a seal nobody can tell whether a text is still the same
            with self._lock:
                self._conditions = _bounded({**self._conditions, **fresh})
        return [out[key] for key in keys]

    def _likeness(
        self, request: RecallRequest, within: _Within, *, wanted: bool
    ) -> list[float]:
        """How like each condition the cue is; 0 where it is not about it.

        By vectors; by words where there are none, because nobody embeds or the embedder fails.
        """
        if request.vector is not None and self._embed is not None and within.matrix is None:
            within.matrix = self._learn(within.topics)
        if request.vector is not None and within.matrix is not None:
            least = _LEAST_OF_REQUEST if wanted else _LEAST
            cosines = (dots(within.matrix, request.vector) / norm(request.vector)).tolist()
            return [cosine if cosine >= least else 0.0 for cosine in cosines]
        cue = _words(request.cue or "")
        least = _WORDS_OF_REQUEST if wanted else _WORDS
        if within.words is None:
            within.words = [_words(each) for each in within.topics]
        shares = [_share(each, cue) for each in within.words]
        return [share if share >= least else 0.0 for share in shares]

    def _learn(self, told: Sequence[str]) -> F32 | None:
        """(n, dim) f32 unit vectors of conditions; None without any, and when embedding fails."""
        known = self._vectors
        fresh = [each for each in dict.fromkeys(told) if each not in known]
        if fresh:
            assert self._embed is not None, "asked by those who have it"
            try:
                vectors = self._embed(fresh)
            except StoreClosedError:
                raise
            except Exception:  # an embedder is anybody's code, and words do as well
                return None
            vectors = vectors / lengths(vectors)[:, None]
            learnt = dict(zip(fresh, vectors.astype(np.float32), strict=True))
            with self._lock:
                known = {**self._vectors, **known, **learnt}
                self._vectors = _bounded(known)
        return np.stack([known[each] for each in told]) if told else None


def _of_store(snap: Snapshot, n: int, view: WordView) -> _Found:
    """The instructions of one store.

    Words without a role must be certain to be the user's, and in the procedural tier they are
    how something is done ("always migrate before you deploy"), which a cue asks for.
    """
    rows = view.marked(INSTRUCTS)
    part, slot = places_of(snap, n, view, rows)
    there = slot != NOWHERE
    rows, part, slot = rows[there], part[there], slot[there]
    if len(rows):
        sure = forms_of(view.marks(rows)).vouched
        sure |= (header_column(snap, part, slot, "confidence") >= CERTAIN_BYTE) & (
            header_column(snap, part, slot, "tier") != _OF_METHODS
        )
        rows, part, slot = rows[sure], part[sure], slot[sure]
    return _Found(
        view.ids(rows), view.seals(rows), view.event_ms(rows), np.full(len(rows), n, np.int64),
        part, slot, forms_of(view.marks(rows)).wholly, forms_of(view.marks(rows)).vouched,
    )


def _told(row: StoredRow) -> _Told:
    told = instruction(row.text) if isinstance(row.text, str) else None
    if told is None:
        return _Told()
    about = tuple(
        frozenset(term.forms) for term in cue_terms(told.sentence)
        if not is_stop(term.text) and _COMMON.isdisjoint(term.forms)
    )
    forms = frozenset(itertools.chain.from_iterable(about))
    own = row.role is None or plain(str(row.role).strip()) in USERS
    who = (row.user_id, row.agent_id, own)
    return _Told(told.condition, told.lifts, forbids(told.sentence), about, forms, who)


def _revoked(told: Sequence[_Told], vouched: Sequence[bool]) -> set[int]:
    """Which of some instructions, newest first, hold no more; what gives leave tells nothing.

    One is taken back by a newer one of the same user and agent and the same kind of speaker that
    says the opposite of nothing else: all that it is about, the older one is about. Words that
    nobody vouches for take back no others.
    """
    gone = {n for n, each in enumerate(told) if each.lifts}
    having: dict[str, list[int]] = defaultdict(list)
    for n, each in enumerate(told):
        for form in each.forms:
            having[form].append(n)
    for newer, each in enumerate(told):
        rarest: Iterable[str] = min(
            each.about, key=lambda word: sum(len(having[form]) for form in word), default=()
        )
        for older in {n for form in rarest for n in having[form]} - gone:
            other = told[older]
            if (
                older > newer and other.forbids != each.forbids and other.who == each.who
                and (vouched[newer] or not vouched[older])
                and not any(map(other.forms.isdisjoint, each.about))
            ):  # fmt: skip
                gone.add(older)
    return gone


def _candidate(found: _Found, n: int, likeness: float) -> Candidate:
    """``likeness`` of cue and condition is all the score that it has."""
    evidence = {"condition": likeness} if likeness else {}
    return Candidate(
        int(found.ids[n]), int(found.store[n]), int(found.part[n]), int(found.slot[n]), 0.0, 0.0,
        evidence, likeness,
    )


def _bare(request: RecallRequest) -> RecallRequest:
    """The same gates, but for those of likeness and strength; what is superseded never stands."""
    drop = request.drop_flags if request.replaced else request.drop_flags | int(Flag.SUPERSEDED)
    return replace(request, vector=None, profile=get_profile("similarity"), drop_flags=drop)


def _words(text: str) -> frozenset[str]:
    """All forms of the words that say something."""
    return frozenset(
        form for term in cue_terms(text) if not is_stop(term.text) for form in term.forms
    )


def _share(some: frozenset[str], cue: frozenset[str]) -> float:
    return len(some & cue) / len(some) if some else 0.0


def _bounded(known: dict[Any, Any]) -> dict[Any, Any]:
    """Without the oldest of too many."""
    over = len(known) - _KEPT
    return dict(list(known.items())[over:]) if over > 0 else known
