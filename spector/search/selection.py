"""Chooses among hits: different texts, few of each session, none far behind the best."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I64
from spector.kernel.contract import cosine_table, squared
from spector.language.statements import (
    INSTRUCTS,
    USERS,
    aspects_of,
    ends_with_question,
    find_instruction,
    forms_of,
    is_prohibition,
    may_instruct,
)
from spector.language.words import cue_terms, is_stop, plain
from spector.layout import CERTAIN_BYTE, Flag, TierCode
from spector.lexical import WordView
from spector.records import Explanation, Hit
from spector.search.features import NOWHERE, choose_by_mmr, header_column, places_of
from spector.search.ordering import Ranked
from spector.search.origins import origin_of
from spector.search.snapshot import (
    Candidate,
    Snapshot,
    candidate_of,
    found_of,
    units_of,
    vectors_of,
    wording_in,
)
from spector.store.catalog import StoredRow

#: the tier of beliefs: those that bear on a cue score close together, and the rest is noise
SEMANTIC: Final = "semantic"
#: share of the best score that a hit of that tier must have
SEMANTIC_CUT: Final = 0.5
#: the same of any memory where little is wanted: in a context, in a selective recall
CUT: Final = 0.6


def without_repeats(hits: Sequence[Hit]) -> list[Hit]:
    """Hits in their order, one for all that have equal words of one user, agent and origin.

    The newest stands in the place, and with the score, of the best; ``also`` names the others.
    Only case, white space and a full stop may differ: one more sign or question mark can matter.
    Linear in the length of the texts.
    """
    alike: dict[str, list[Hit]] = {}
    for hit in hits:
        alike.setdefault(wording_in(hit), []).append(hit)
    if len(alike) == len(hits):
        return list(hits)
    groups: dict[object, list[Hit]] = {}
    for words, some in alike.items():
        for hit in some:
            alone = len(some) == 1
            scope = None if alone else (_scope_of(hit), origin_of(hit))
            groups.setdefault((words, scope), []).append(hit)
    standing = {id(some[0]): _newest(some) for some in groups.values()}
    return [standing[id(hit)] for hit in hits if id(hit) in standing]


def _newest(some: list[Hit]) -> Hit:
    """The newest of hits with equal words, in the place of the first."""
    if len(some) == 1:
        return some[0]
    best, newest = some[0], max(some, key=lambda hit: (_time_of(hit), hit.id))
    also = sorted({each for hit in some for each in (hit.id, *hit.also)} - {newest.id})
    return with_score(newest, best.score, best.explainer, tuple(also))


def _scope_of(hit: Hit) -> tuple[str | None, str | None]:
    """User and agent, without a record being made for them."""
    if hit._found is None:
        return hit.user_id, hit.agent_id
    return found_of(hit).scope


def _time_of(hit: Hit) -> int:
    return hit.record.event_ms if hit._found is None else found_of(hit).event_ms


def own_scores(hits: Sequence[Hit]) -> list[float]:
    """(n,) scores without the evidence of a name or an id, which exceeds all other."""
    out = []
    for hit in hits:
        candidate = candidate_of(hit)
        named = candidate.evidence.get("name", 0.0) if candidate is not None else 0.0
        out.append(hit.score - named)
    return out


def near_the_best(
    hits: Sequence[Hit], share: float, tier: str | None = SEMANTIC, *, best: float
) -> list[Hit]:
    """Hits in their order without those of a tier that are far behind the best of all.

    Args:
        share: of the best score that a hit must have, names and ids apart; what is named stays.
            Nothing is left out where no score is above 0: there is nothing to be a share of.
        tier: name of the tier whose hits may be left out; None for all.
        best: of the `own_scores` of a recall, also of hits that are not shown.
    """
    scores = own_scores(hits)
    least = share * best
    if least <= 0:
        return list(hits)
    return [
        hit
        for hit, score in zip(hits, scores, strict=True)
        if score >= least or score < hit.score or (tier is not None and hit.tier != tier)
    ]


def limit_per_session(hits: Sequence[Hit], most: int) -> list[Hit]:
    """Hits in their order without those beyond ``most`` of a session.

    Memories without a session are each their own.
    """
    seen: Counter[str] = Counter()
    out: list[Hit] = []
    for hit in hits:
        session = hit.session_id
        if session is not None:
            seen[session] += 1
            if seen[session] > most:
                continue
        out.append(hit)
    return out


def choose_diverse(hits: Sequence[Hit], count: int, weight: float) -> list[Hit]:
    """``count`` hits by maximal marginal relevance over their stored vectors, best first."""
    if not hits:
        return []
    scores = np.array([hit.score for hit in hits], np.float32)
    return [hits[n] for n in choose_by_mmr(scores, vectors_of(hits), count, weight)]


# Floods: many memories of one doubtful origin do not push out what others say.
#
# A document that gets imported could fill the hits of a question with fifty paraphrases of it. So of
# one origin of little certainty, a share of the hits keeps its places and the rest ranks behind what
# others say about the cue, if they do. Where the origin repeats one statement, or the question, none
# of it ranks before them. The same holds for one statement of many such origins, which may be one
# origin under many names.

#: of the hits, for each such origin
_SHARE: Final = 4
#: others count from this share of the best score: a document that alone is about the cue keeps its
#: places
_ABOUT: Final = 0.5
#: candidates among which others are looked for, and how many of them the catalog confirms
_LOOKED_AT: Final = 8192
_CONFIRMED: Final = 256
#: candidates of a large store, which a flood may fill
DEEP: Final = 512
#: best hits that show whether an origin has too many
WINDOW: Final = 10
#: confidence, 0..255, of a writer that does not know what to believe
_HALF: Final = 128
#: mean cosine from which hits are one statement
_ONE_STATEMENT: Final = 0.75


def is_doubted(hits: Sequence[Hit]) -> bool:
    """Whether any hit is of little certainty."""
    return any(map(_is_doubted, hits))


def _is_doubted(hit: Hit) -> bool:
    """Less than fairly certain; or just so, and not the user's words."""
    confidence = found_of(hit).certainty
    return confidence < CERTAIN_BYTE or (
        confidence <= _HALF and not may_instruct(hit.role, None, hit.source)
    )


def trusted_candidates(snap: Snapshot, ranked: Ranked) -> list[Candidate]:
    """The best candidates that are certain enough from any origin, in their order."""
    rows = ranked.first_rows(min(len(ranked), _LOOKED_AT))
    certain = header_column(snap, ranked.part[rows], ranked.slot[rows], "confidence") > _HALF
    return [ranked[at] for at in np.flatnonzero(certain)[:_CONFIRMED].tolist()]


def demote_floods(hits: Sequence[Hit], others: Callable[[], Sequence[Hit]]) -> list[Hit]:
    """Hits with floods among the best of them behind what others say.

    Args:
        hits: best first, more than `WINDOW` of them where there are.
        others: gives the best hits that are believed; asked only when an origin has too much.
    """
    most = WINDOW // _SHARE
    if not _too_much(hits[:WINDOW], most) or hits[0].score <= 0:
        return list(hits)
    about = [hit for hit in others() if hit.score >= _ABOUT * hits[0].score][:WINDOW]
    if not about:
        return list(hits)
    flood, last = _too_much(hits, most), about[-1].score
    known = {hit.id for hit in hits}
    every = [*hits, *(hit for hit in about if hit.id not in known)]
    moved = [lower_below(hit, last, "origin") if hit.id in flood else hit for hit in every]
    return sorted(moved, key=lambda hit: -hit.score)


def _too_much(hits: Sequence[Hit], most: int) -> set[int]:
    """Ids of the hits that a doubted origin has beyond its share: all, where it is one statement.

    Also one statement that is made more often than that, by one origin or by several, as it is or
    each time a little otherwise.
    """
    doubted = [hit for hit in hits if _is_doubted(hit)]
    by_origin: dict[tuple[object, ...], list[Hit]] = {}
    for hit in doubted:
        by_origin.setdefault((hit.source, hit.role, hit.user_id, hit.agent_id), []).append(hit)
    out: set[int] = set()
    for mine in by_origin.values():
        if len(mine) > most:
            telling = (
                []
                if _is_one_statement(mine)
                else [hit for hit in mine if not ends_with_question(hit.text)]
            )
            out |= {hit.id for hit in mine} - {hit.id for hit in telling[:most]}
    if len(doubted) > most:
        units = units_of(doubted)
        alike = cosine_table(units, units) >= _ONE_STATEMENT
        if _is_one_statement(doubted):
            alike[:] = True
        flood = alike[alike.sum(axis=0) > most].any(axis=0)
        out |= {doubted[n].id for n in np.flatnonzero(flood).tolist()}
    return out


def _is_one_statement(hits: Sequence[Hit]) -> bool:
    return squared(units_of(hits).mean(axis=0)) >= _ONE_STATEMENT


# Moves a hit to just above or below another one, with a term that explains the difference.


def with_score(
    hit: Hit,
    score: float,
    explainer: Callable[[], Explanation],
    also: tuple[int, ...] | None = None,
) -> Hit:
    """The same memory with another score; its record is not made for that."""
    also = hit.also if also is None else also
    if hit._found is not None:
        return hit.hand_on(Hit.of(hit._found, score, explainer, also))
    return replace(hit, score=score, explainer=explainer, also=also)


def with_term(hit: Hit, more: float, term: str) -> Hit:
    """The hit with a term more, or more of it; its score is the sum of its terms to the last bit."""
    found = candidate_of(hit)
    if found is not None and found.score == hit.score:  # it was not moved before
        fused, known = found.fused, found.evidence
    else:
        why = hit.explain()
        fused, known = why.fused, why.evidence
    evidence = {**known, term: known.get(term, 0.0) + more}
    score = functools.reduce(operator.add, evidence.values(), fused)
    return with_score(hit, score, partial(_explain, hit, evidence))


def raise_above(hit: Hit, least: float, term: str) -> Hit:
    """The hit with a score just above ``least``; itself where it has one."""
    return hit if hit.score > least else _move(hit, least, term, math.inf)


def put_below(hit: Hit, most: float, term: str) -> Hit:
    """The hit with a score just below ``most``, whatever it has."""
    return _move(hit, most, term, -math.inf)


def lower_below(hit: Hit, most: float, term: str) -> Hit:
    """The hit with a score just below ``most``; itself where it has one."""
    return hit if hit.score < most else _move(hit, most, term, -math.inf)


def _move(hit: Hit, bound: float, term: str, towards: float) -> Hit:
    """The hit with a term that takes its score to the first reachable number beyond a bound."""
    more, step = bound - hit.score, math.ulp(max(abs(bound), abs(hit.score)))
    while True:
        more += math.copysign(step, towards)
        moved = with_term(hit, more, term)
        if (moved.score - bound) * math.copysign(1.0, towards) > 0:
            return moved
        step *= 2


def _explain(hit: Hit, evidence: dict[str, float]) -> Explanation:
    return replace(hit.explain(), evidence=dict(evidence))


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


@dataclass(frozen=True, slots=True, eq=False)
class InstructionTable:
    """Columns of all instructions of a snapshot, (n,) each, newest first.

    Attributes:
        wholly: the text is nothing but the instruction. vouched: a role says that it is the user's.
    """

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

    def only(self, rows: NDArray[Any] | slice) -> InstructionTable:
        return InstructionTable(*(getattr(self, name)[rows] for name in COLUMNS))


COLUMNS: Final = tuple(InstructionTable.__slots__)
_NUMBERS, _PLACES, _FLAGS = np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.bool_)
NO_INSTRUCTIONS: Final = InstructionTable(
    _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, _PLACES, _PLACES, _FLAGS, _FLAGS
)


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


def instructions_in(snap: Snapshot, n: int, view: WordView) -> InstructionTable:
    """The instructions of one store.

    What is in doubt never instructs. Words without a role must be certain to be the user's, and in
    the procedural tier they are how something is done ("always migrate before you deploy"), which a
    cue asks for. What is derived quotes instructions and is none: the user's own sentence counts.
    """
    rows = view.marked(INSTRUCTS)
    if not len(rows):
        return NO_INSTRUCTIONS
    part, slot = places_of(snap, n, view, rows)
    there = slot != NOWHERE
    rows, part, slot = rows[there], part[there], slot[there]
    confidence = header_column(snap, part, slot, "confidence")
    sure = forms_of(view.marks(rows)).vouched & (confidence >= _BELIEVED)
    sure |= (confidence >= CERTAIN_BYTE) & (header_column(snap, part, slot, "tier") != _OF_METHODS)
    sure &= (header_column(snap, part, slot, "flags") & _DERIVED) == 0
    rows, part, slot = rows[sure], part[sure], slot[sure]
    forms = forms_of(view.marks(rows))
    return InstructionTable(
        view.ids(rows),
        view.seals(rows),
        view.event_ms(rows),
        np.full(len(rows), n, np.int64),
        part,
        slot,
        forms.wholly,
        forms.vouched,
    )


def instruction_in(row: StoredRow) -> Instruction:
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
_SHARED, _OF_VALUE = 0.6, 0.5


def revoked(
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
    shared = _share(new, old)
    if new.forbids != old.forbids and shared >= _SHARED:
        return True
    if new.condition is not None and not _same_condition(new, old):
        return False
    if new.forbids != old.forbids:
        return shared > 0 and alike >= _ALIKE_CONTRARY
    if new.forbids or new.lifts or not _same_condition(new, old):
        return False  # of two things that are forbidden both may be
    return (
        bool(new.aspects & old.aspects) or shared >= _OF_VALUE or (shared > 0 and alike >= _ALIKE)
    )


def _same_condition(new: Instruction, old: Instruction) -> bool:
    if new.condition is None or old.condition is None:
        return new.condition is old.condition
    one, other = {*new.condition.split()}, {*old.condition.split()}
    return one <= other or other <= one


def _share(new: Instruction, old: Instruction) -> float:
    """Share of the newer one's words that the older one has as well."""
    common = sum(not old.forms.isdisjoint(word) for word in new.about)
    return common / len(new.about) if new.about else 0.0
