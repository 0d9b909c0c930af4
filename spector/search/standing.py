"""Standing instructions: beside the hits of a recall, never among them.

"Always use metric units when I ask about distances" says nothing that a question about distances
asks for, so it does not compete for its answer. It stands in a slot beside the hits when the cue is
similar to its condition ("distances"); one without a condition stands in every context. Marks in
the index of words say which texts are instructions. A condition is read from the catalog once and
embedded once. It is kept in memory by id and seal while the memory exists, and gone with
`drop_caches`. A recall costs one dot product for each. An instruction that a newer one revokes is a
hit like any other.
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

from spector._types import F32
from spector.errors import StoreClosedError
from spector.kernel.contract import cosine_table, dots, get_profile, lengths, norm
from spector.language.cues import Kind
from spector.language.statements import (
    INSTRUCTS,
    USERS,
    aspects_of,
    find_instruction,
    forms_of,
    is_prohibition,
)
from spector.language.words import cue_terms, is_stop, plain
from spector.layout import CERTAIN_BYTE, Flag, TierCode
from spector.lexical import WordView
from spector.records import Hit
from spector.search.features import find_places, header_column, unit_vectors
from spector.search.ordering import Ranked, confirm
from spector.search.plan import Plan
from spector.search.request import Cue
from spector.search.snapshot import Candidate, Snapshot
from spector.store.catalog import StoredRow

Embed = Callable[[list[str]], F32]

#: instructions beside the hits of one recall
MOST: Final = 2
#: cosine of cue and condition from which any cue, and a request, is about it
_LEAST: Final = (0.35, 0.25)
#: cosine of cue and instruction from which a cue without a word of it may ask for it
_LEAST_ASKED: Final = 0.35
#: the same without vectors: share of the condition's words that the cue has
_WORDS: Final = (0.5, 0.25)
#: of those that pass a recall's filters the newest are considered
_CONSIDERED: Final = 256
#: filters whose instructions are kept until the store changes
_FILTERS: Final = 64
#: conditions that are kept
_KEPT: Final = 4096


@dataclass(slots=True, eq=False)
class _Within:
    """The instructions that pass the filters of a recall, but for revoked ones.

    Attributes:
        revoked: their ids. unconditional: rows without a condition. rows: rows with a condition;
            topics: their conditions.
        matrix: (len(rows), dim) f32 unit vectors of the topics, words: theirs; made when they are
            needed.
    """

    found: InstructionTable
    revoked: frozenset[int]
    unconditional: list[int]
    rows: list[int]
    topics: list[str]
    matrix: F32 | None = None
    words: list[frozenset[str]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """What is known of a snapshot: all instructions, and those that pass filters, by filter."""

    snap: Snapshot
    views: tuple[WordView, ...]
    found: InstructionTable
    within: dict[Any, _Within] = field(default_factory=dict)


class Standing:
    """Finds the instructions that a recall has beside its hits. Thread-safe."""

    def __init__(self, embed: Embed | None) -> None:
        """``embed``: unit or other vectors (n, dim) f32 of n texts, by the model of the store."""
        self._embed = embed
        self._lock = threading.Lock()
        self._seen: _Seen | None = None
        #: (id, seal) -> the instruction, of those that are there
        self._conditions: dict[tuple[int, int], Instruction] = {}
        #: condition -> its unit vector
        self._vectors: dict[str, F32] = {}

    def drop_caches(self) -> None:
        """Keep nothing of the instructions."""
        with self._lock:
            self._seen = None
            self._conditions, self._vectors = {}, {}

    def expect(self, texts: Iterable[str]) -> None:
        """Embed the conditions of texts about to be written, so that no recall has to.

        Args:
            texts: those that may instruct, in their order; the last ones are considered.
        """
        if self._embed is None:
            return
        found = (find_instruction(text) for text in texts)
        self._learn([each.condition for each in found if each and each.condition][-_CONSIDERED:])

    # -- at recall ------------------------------------------------------------------------------

    def matching(self, plan: Plan) -> list[Hit]:
        """The instructions whose condition the cue is about, most similar first: two for a request,
        one for any other cue."""
        within = self._within(plan)
        if within is None or not within.rows:
            return []
        is_request = plan.request.reading.kind is Kind.REQUEST
        scores = self._similarities(plan, within, is_request=is_request)
        chosen = [(score, n) for score, n in zip(scores, within.rows, strict=True) if score > 0]
        # of equal ones the newest, which stand first
        chosen.sort(key=lambda each: (-each[0], each[1]))
        ordered = [_candidate(within.found, n, score) for score, n in chosen]
        return confirm(_bare(plan), ordered, MOST if is_request else 1)[0]

    def unconditional(self, plan: Plan, most: int) -> list[Hit]:
        """The newest instructions without a condition, newest first; before them those that say
        nothing else."""
        within = self._within(plan)
        if within is None:
            return []
        rows = sorted(within.unconditional, key=lambda n: not within.found["wholly"][n])
        ordered = [_candidate(within.found, n, 0.0) for n in rows]
        return confirm(_bare(plan), ordered, most)[0]

    def set_aside(self, plan: Plan, ranked: Ranked) -> Sequence[Candidate]:
        """Take what is nothing but an instruction, and the memories beside, out of a ranking.

        Returns:
            The instructions of those that the cue may ask for by itself, best first.
        """
        found = self._all(plan.snap, plan.every).found
        ids = found["id"][found["wholly"]]
        within = self._within(plan) if len(ids) else None
        if within is not None and within.revoked:
            ids = ids[~np.isin(ids, np.array(list(within.revoked), np.int64))]
        if plan.beside:
            ids = np.append(ids, np.array(plan.beside, np.int64))
        if not len(ids):
            return []
        rows = ranked.set_aside(ids)
        by_words, by_cosine = (rows[rows < len(values)] for values in ranked.values())
        asked = np.union1d(
            by_words[ranked.words[by_words] > 0],
            by_cosine[ranked.mixed[by_cosine] >= _LEAST_ASKED],
        )
        return ranked.candidates(asked) if len(asked) else []

    # -- which there are ------------------------------------------------------------------------

    def _all(self, snap: Snapshot, views: tuple[WordView, ...]) -> _Seen:
        seen = self._seen
        if seen is None or seen.snap is not snap or seen.views != views:
            parts = [_instructions_in(snap, n, view) for n, view in enumerate(views)]
            found = np.concatenate(parts)
            found = found[np.lexsort((-found["id"], -found["event_ms"]))]
            self._keep_only(found, self._conditions_of(snap, found[:_CONSIDERED]))
            seen = self._seen = _Seen(snap, views, found)
        return seen

    def _within(self, plan: Plan) -> _Within | None:
        """What passes the filters of a recall; the same for every cue, so it is kept."""
        seen = self._all(plan.snap, plan.every)
        if not len(seen.found):
            return None
        key = (plan.request.filter_key, plan.request.replaced, plan.by_catalog)
        within = seen.within.get(key)
        if within is None:
            passing = self._passing(plan, seen.found)
            instructions = self._conditions_of(plan.snap, passing)
            vectors = unit_vectors(plan.snap, passing["part"], passing["slot"])
            gone = _revoked(instructions, passing["vouched"].tolist(), vectors)
            valid = [(n, each.condition) for n, each in enumerate(instructions) if n not in gone]
            with_one = [(n, each) for n, each in valid if each is not None]
            within = _Within(
                passing,
                frozenset(passing["id"][list(gone)].tolist()),
                [n for n, each in valid if each is None],
                [n for n, _ in with_one],
                [each for _, each in with_one],
            )
            if len(seen.within) >= _FILTERS:
                seen.within.clear()
            seen.within[key] = within
        return within

    def _passing(self, plan: Plan, found: InstructionTable) -> InstructionTable:
        """The newest of those that pass, no more than are considered."""
        bare = _bare(plan)
        passing = bare.passes(found["part"], found["slot"])
        kept: InstructionTable = found[np.flatnonzero(passing)[:_CONSIDERED]]
        return kept

    # -- conditions -----------------------------------------------------------------------------

    def _keep_only(self, found: InstructionTable, newest: Sequence[Instruction]) -> None:
        """Keep nothing of instructions that are not there any more.

        Args:
            newest: instructions that may be new, whose conditions may be expected.
        """
        with self._lock:
            ids = np.array([each for each, _ in self._conditions], np.int64)
            mine = np.isin(found["id"], ids)
            there = set(zip(found["id"][mine].tolist(), found["seal"][mine].tolist(), strict=True))
            kept = {key: each for key, each in self._conditions.items() if key in there}
            topics = {each.condition for each in (*kept.values(), *newest)}
            self._conditions = kept
            self._vectors = {k: v for k, v in self._vectors.items() if k in topics}

    def _conditions_of(self, snap: Snapshot, found: InstructionTable) -> list[Instruction]:
        """Each as an instruction, read from the catalog where it is not known."""
        keys = list(zip(found["id"].tolist(), found["seal"].tolist(), strict=True))
        known = self._conditions
        out = {key: known[key] for key in keys if key in known}
        for n, store in enumerate(snap.stores):
            mine = [
                key
                for key, at in zip(keys, found["store"].tolist(), strict=True)
                if at == n and key not in out
            ]
            rows = store.catalog.fetch_stored([key[0] for key in mine]) if mine else {}
            for key in mine:
                row = rows.get(key[0])
                out[key] = _instruction_in(row) if row is not None else Instruction()
        fresh = {key: each for key, each in out.items() if key not in known and key[1] >= 0}
        if fresh:  # a damaged row has no seal, and its text may change
            with self._lock:
                self._conditions = _bounded({**self._conditions, **fresh})
        return [out[key] for key in keys]

    def _similarities(self, plan: Plan, within: _Within, *, is_request: bool) -> list[float]:
        """How similar the cue is to each condition; 0 where it is not about it.

        By vectors; by words without an embedder, and where the embedder fails.
        """
        vector = plan.request.cue.vector
        if vector is not None and self._embed is not None and within.matrix is None:
            within.matrix = self._learn(within.topics)
        if vector is not None and within.matrix is not None:
            values = (dots(within.matrix, vector) / norm(vector)).tolist()
            least = _LEAST[is_request]
        else:
            cue = _words(plan.request.cue.text or "")
            if within.words is None:
                within.words = [_words(each) for each in within.topics]
            values, least = [_share(each, cue) for each in within.words], _WORDS[is_request]
        return [value if value >= least else 0.0 for value in values]

    def _learn(self, conditions: Sequence[str]) -> F32 | None:
        """(n, dim) f32 unit vectors of conditions; None without any, and when embedding fails."""
        known = self._vectors
        fresh = [each for each in dict.fromkeys(conditions) if each not in known]
        if fresh:
            assert self._embed is not None, "the caller has an embedder"
            try:
                vectors = self._embed(fresh)
            except StoreClosedError:
                raise
            except Exception:  # an embedder is foreign code, and words do as well
                return None
            vectors = vectors / lengths(vectors)[:, None]
            learned = dict(zip(fresh, vectors.astype(np.float32), strict=True))
            with self._lock:
                known = {**self._vectors, **known, **learned}
                self._vectors = _bounded(known)
        return np.stack([known[each] for each in conditions]) if conditions else None


def _bare(plan: Plan) -> Plan:
    """The same filters without those of similarity and strength, and nothing superseded."""
    request = plan.request
    return plan.of(
        replace(
            request,
            cue=Cue(request.cue.text, None),
            profile=get_profile("similarity"),
            drop_flags=request.drop_flags | (0 if request.replaced else int(Flag.SUPERSEDED)),
            reading=replace(request.reading, ends_ms=None),
        )
    )


def _candidate(found: InstructionTable, n: int, similarity: float) -> Candidate:
    """A candidate whose score is the similarity of cue and condition."""
    evidence = {"condition": similarity} if similarity else {}
    return Candidate(
        int(found["id"][n]),
        int(found["store"][n]),
        int(found["part"][n]),
        int(found["slot"][n]),
        0.0,
        0.0,
        evidence,
        similarity,
    )


def _words(text: str) -> frozenset[str]:
    """All forms of the content words."""
    return frozenset(
        form for term in cue_terms(text) if not is_stop(term.text) for form in term.forms
    )


def _share(some: frozenset[str], cue: frozenset[str]) -> float:
    return len(some & cue) / len(some) if some else 0.0


def _bounded(known: dict[Any, Any]) -> dict[Any, Any]:
    """Without the oldest of too many."""
    over = len(known) - _KEPT
    return dict(list(known.items())[over:]) if over > 0 else known


# The instructions among the memories of a store.

#: tier of how something is done, which a cue asks for
_OF_METHODS: Final = int(TierCode.PROCEDURAL)
#: confidence, 0..255, from which on the user's words instruct
_BELIEVED: Final = 127
#: what repeats other memories
_DERIVED: Final = np.uint16(Flag.AUXILIARY)
#: what many instructions have in common, and none is about, folded
_COMMON: Final = frozenset(
    """add again allow allowed always answer any anymore are can don fine free give have include is
    longer may must need no never now please should start stop use using you your
    artik asla bundan gerek hep her kullan kullanabilirsin kullanabilirsiniz kullanma lutfen sonra
    tekrar yeniden yine yok zaman zorunda""".split()
)


#: an instruction. ``wholly``: the text is nothing else; ``vouched``: a role says that it is the
#: user's
_ROW: Final = np.dtype(
    [
        ("id", np.int64),
        ("seal", np.int64),
        ("event_ms", np.int64),
        ("store", np.int64),
        ("part", np.uint32),
        ("slot", np.uint32),
        ("wholly", np.bool_),
        ("vouched", np.bool_),
    ]
)
#: of `_ROW`, newest first
InstructionTable = NDArray[Any]


class Instruction(NamedTuple):
    """One instruction as it was read.

    Attributes:
        condition: None: it always applies. lifts: it only ends others. forbids: it says what not
            to do. about: the forms of each word for its subject; forms: of all of them. aspects:
            of answers that it sets. scope: the user, the agent, and whether the user said it.
    """

    condition: str | None = None
    lifts: bool = False
    forbids: bool = False
    about: tuple[frozenset[str], ...] = ()
    aspects: frozenset[str] = frozenset()
    forms: frozenset[str] = frozenset()
    scope: tuple[str | None, str | None, bool] = (None, None, True)


def _instructions_in(snap: Snapshot, n: int, view: WordView) -> InstructionTable:
    """The instructions of one store.

    What is in doubt never instructs. Words without a role must be certain to be the user's, and in
    the procedural tier they are how something is done ("always migrate before you deploy"), which a
    cue asks for. What is derived quotes instructions and is none: the user's own sentence counts.
    """
    rows = view.marked(INSTRUCTS)
    if not len(rows):
        return np.zeros(0, _ROW)
    rows, part, slot = find_places(snap, n, view, rows)
    confidence = header_column(snap, part, slot, "confidence")
    sure = forms_of(view.column("marks", rows)).vouched & (confidence >= _BELIEVED)
    sure |= (confidence >= CERTAIN_BYTE) & (header_column(snap, part, slot, "tier") != _OF_METHODS)
    sure &= (header_column(snap, part, slot, "flags") & _DERIVED) == 0
    rows, part, slot = rows[sure], part[sure], slot[sure]
    forms = forms_of(view.column("marks", rows))
    out = np.empty(len(rows), _ROW)
    out["id"] = view.ids(rows)
    out["seal"], out["event_ms"] = view.column("seal", rows), view.column("event_ms", rows)
    out["store"], out["part"], out["slot"] = n, part, slot
    out["wholly"], out["vouched"] = forms.wholly, forms.vouched
    return out


def _instruction_in(row: StoredRow) -> Instruction:
    """The instruction of a row; an empty one where its text is none."""
    found = find_instruction(row.text) if isinstance(row.text, str) else None
    if found is None:
        return Instruction()
    about = tuple(
        frozenset(term.forms)
        for term in cue_terms(found.sentence)
        if not is_stop(term.text) and _COMMON.isdisjoint(term.forms)
    )
    forms = frozenset(itertools.chain.from_iterable(about))
    own = row.role is None or plain(str(row.role).strip()) in USERS
    scope = (row.user_id, row.agent_id, own)
    forbids = is_prohibition(found.sentence)
    return Instruction(
        found.condition, found.lifts, forbids, about, aspects_of(found.sentence), forms, scope
    )


# Which instructions a newer one of the same matter takes the place of, or ends.
#
# The newer one stands where that is unsure: of two contrary ones an answer can follow only one.

#: cosine from which on two orders are of one matter: one forbids what the other asks for; both ask
_ALIKE_CONTRARY, _ALIKE = 0.55, 0.45
#: share of the newer one's words that the older one has: what it forbids; another value of it
_SHARE_FORBIDDEN, _SHARE_OF_VALUE = 0.6, 0.5


def _revoked(
    instructions: Sequence[Instruction], vouched: Sequence[bool], vectors: F32 | None = None
) -> set[int]:
    """Numbers of the instructions (newest first) that no longer apply, those that only end others
    among them.

    A newer one revokes an older one of the same user, agent and kind of speaker. Words without a
    role revoke no words that have one.

    Args:
        vectors: (n, dim) f32 unit vectors of their texts; None where there are none.
    """
    gone = {n for n, each in enumerate(instructions) if each.lifts}
    likeness = None if vectors is None else cosine_table(vectors, vectors)
    having: dict[str, list[int]] = defaultdict(list)
    for n, each in enumerate(instructions):
        for word in (*each.forms, *each.aspects):
            having[word].append(n)
    for newer, each in enumerate(instructions):
        near = {n for word in (*each.forms, *each.aspects) for n in having[word] if n > newer}
        for older in near - gone:
            other = instructions[older]
            if (
                other.scope == each.scope
                and (vouched[newer] or not vouched[older])
                and _is_contrary(
                    each, other, 0.0 if likeness is None else float(likeness[newer, older])
                )
            ):
                gone.add(older)
    return gone


def _is_contrary(new: Instruction, old: Instruction, alike: float) -> bool:
    """Whether an answer cannot follow both; what is narrower takes nothing back."""
    shared = _shared(new, old)
    if new.forbids != old.forbids and shared >= _SHARE_FORBIDDEN:
        return True
    if new.condition is not None and not _same_condition(new, old):
        return False
    if new.forbids != old.forbids:
        return shared > 0 and alike >= _ALIKE_CONTRARY
    if new.forbids or new.lifts or not _same_condition(new, old):
        return False  # of two things that are forbidden both may be
    return (
        bool(new.aspects & old.aspects)
        or shared >= _SHARE_OF_VALUE
        or (shared > 0 and alike >= _ALIKE)
    )


def _same_condition(new: Instruction, old: Instruction) -> bool:
    if new.condition is None or old.condition is None:
        return new.condition is old.condition
    one, other = {*new.condition.split()}, {*old.condition.split()}
    return one <= other or other <= one


def _shared(new: Instruction, old: Instruction) -> float:
    """Share of the newer one's words that the older one has as well."""
    common = sum(not old.forms.isdisjoint(word) for word in new.about)
    return common / len(new.about) if new.about else 0.0
