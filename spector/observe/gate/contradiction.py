"""What a new memory contradicts, and which of that it may take the place of.

A wrong superseding hides what is still true, a missed one only leaves both: so a memory that says
more than what has changed is kept, and so is whatever a rule is not sure enough about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from spector.language.frames import (
    CLAUSE,
    Statement,
    Verdict,
    are_of_same,
    is_of_before,
    is_read,
    meets,
    sentence_spans,
    unread_clauses,
    verdicts,
)
from spector.language.observing import is_hedged
from spector.language.statements import USERS, own_words
from spector.language.words import analyse, plain
from spector.observe.gate.candidates import MOST_STATEMENTS, Candidate, Incoming, may_supersede
from spector.records import PairVerdict

#: confidence of a correction of the turn before, with one value in place of its only one
_CORRECTED: Final = 0.99
#: further content words of one sentence that a changed value may take along
_MOST_WORDS: Final = 4
#: reasons to keep what the new memory may yet have changed
_UNSURE: Final = frozenset(("not sure enough", "not all understood", "says more"))
#: content words from which on another sentence says something
_FEW_WORDS: Final = 2


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An old memory that a new one contradicts.

    Attributes:
        rule: ``value``, ``polarity`` or ``said``. confidence: of the rule, 0..1.
        reason: why the old one is kept beside the new one; "" where it is superseded.
        is_end: a judge says that it is over.
    """

    candidate: Candidate
    rule: str
    confidence: float
    reason: str = ""
    is_end: bool = False

    @property
    def supersedes(self) -> bool:
        return not self.reason

    @property
    def ends(self) -> bool:
        """Whether what the old one says is over, and nothing has come in its place."""
        return self.rule == "polarity" or self.is_end

    @property
    def sets_order(self) -> bool:
        """Whether the old one is kept, behind the new one: what was said overrules it, or may."""
        return self.reason in _UNSURE


def contradictions(
    new: Incoming,
    candidates: Sequence[Candidate],
    *,
    precision: float,
    verdicts: Mapping[int, PairVerdict],
) -> list[Contradiction]:
    """Every candidate that the new memory contradicts.

    Args:
        precision: confidence from which on a contradiction supersedes.
        verdicts: memory -> what a judge says of it; the rules have no say in these but their vetoes.
    """
    judged = [
        (each, verdicts[each.id])
        for each in candidates
        if each.id in verdicts and not each.is_dormant
    ]
    if not (new.statements or new.corrects):  # what states nothing contradicts nothing
        candidates = ()
    candidates = [each for each in candidates if each.id not in verdicts]
    living = [
        each
        for each in candidates
        if not each.is_dormant
        and _overlaps(new, each)
        and may_concern(new, each)
        and not is_of_before(new.said, new.event_ms, each.record.event_ms)
    ]
    slots = [
        (at, one)
        for at, each in enumerate(living if new.statements else ())
        for one in each.statements[:MOST_STATEMENTS]
    ]
    found: dict[int, list[tuple[Verdict, Statement]]] = {}
    for one in new.statements[:MOST_STATEMENTS]:
        for verdict, numbers in _verdicts(new, one, slots):
            for n in numbers:
                found.setdefault(slots[n][0], []).append((verdict, slots[n][1]))
    out = [
        Contradiction(
            each,
            found_by.rule or found_by.relation,
            found_by.replaced,
            is_end=found_by.relation == "ends",
        )
        for each, found_by in judged
        if found_by.replaced >= precision and not vetoes_of(new, each)
    ]
    reads = found and not new.corrects
    unread = (
        unread_clauses(new.said, new.statements[:MOST_STATEMENTS], new.event_ms) if reads else ()
    )
    for at, old in enumerate(living):
        is_corrected = bool(new.corrects) and not old.is_knowledge and old.said == new.corrects
        if at not in found and is_corrected:
            reason = _reason(new, old, old.statements, True, unread)
            out.append(Contradiction(old, "said", _CORRECTED, reason))
    for at, each in sorted(found.items()):
        best = max((verdict for verdict, _ in each), key=lambda one: one.confidence)
        is_sure = any(one.kind == "replaces" and one.confidence >= precision for one, _ in each)
        reason = _reason(new, living[at], [old for _, old in each], is_sure, unread)
        out.append(Contradiction(living[at], best.rule, best.confidence, reason))
    return sorted(out, key=lambda each: each.candidate.id)


def _verdicts(
    new: Incoming,
    one: Statement,
    slots: Sequence[tuple[int, Statement]],
) -> Iterator[tuple[Verdict, tuple[int, ...]]]:
    """Verdicts of a statement with the numbers of the old ones that each is about.

    What a message calls replaced must be one value, however many memories state it.
    """
    first: dict[tuple[str, ...], int] = {}
    same: dict[int, list[int]] = {}
    for n, (_, old) in enumerate(slots):
        key = _key(old)
        same.setdefault(first.setdefault(key, n), []).append(n)
    chosen = list(same)
    for verdict in verdicts([slots[n][1] for n in chosen], one, new.said):
        yield verdict, tuple(same[chosen[verdict.old_index]])


def _key(one: Statement) -> tuple[str, ...]:
    return (
        plain(one.subject),
        one.predicate,
        one.value or plain(one.object),
        str(one.polarity),
        one.modality,
        one.tense,
        one.window or "",
    )


def _overlaps(new: Incoming, old: Candidate) -> bool:
    """Whether both may hold at one time: windows that were given do not exclude each other."""
    starts, ends = new.valid_from_ms, old.record.valid_until_ms
    if starts is not None and ends is not None and ends <= starts:
        return False
    starts, ends = old.record.valid_from_ms, new.valid_until_ms
    return starts is None or ends is None or starts < ends


def _reason(
    new: Incoming,
    old: Candidate,
    contradicted: Sequence[Statement],
    is_sure: bool,
    unread: Sequence[AbstractSet[str]],
) -> str:
    """Why a contradicted memory is kept; "" where it is superseded."""
    if why := distrust(new, old):
        return why
    if old.record.pinned or old.record.immutable:
        return "pinned" if old.record.pinned else "immutable"
    if new.event_ms < old.record.event_ms:
        return "older in event time"
    if not is_sure:
        return "not sure enough"
    if not is_read(unread, old.said, [each.object for each in contradicted]):
        return "not all understood"
    return "says more" if _says_more(old, contradicted, new) else ""


def _says_more(old: Candidate, contradicted: Sequence[Statement], new: Incoming) -> bool:
    """Whether an old memory says something that is still so beside what is contradicted."""
    gone = {id(each) for each in contradicted}
    told = {(plain(each.subject), each.predicate) for each in (*new.statements, *contradicted)}
    for each in old.statements:
        if id(each) not in gone and (plain(each.subject), each.predicate) not in told:
            return True
    if old.is_knowledge:
        return False
    known = set(analyse(new.said).content())
    for each in contradicted:
        known.update(analyse(f"{each.subject} {each.predicate} {each.object}").content())
    for start, end in sentence_spans(old.said):
        part = old.said[start:end]
        is_about = any(meets((start, end), each.span) for each in contradicted)
        if is_about and _has_own_clause(part, known):
            return True
        rest = {each for each in analyse(part).content() if each not in known}
        if len(rest) > (_MOST_WORDS if is_about else _FEW_WORDS):
            return True
    return False


def _has_own_clause(sentence: str, known: AbstractSet[str]) -> bool:
    """Whether a clause has no word of what is known, and words of its own.

    "I live in Kars, have two cats" says more than where.
    """
    clauses = [analyse(each).content() for each in CLAUSE.split(sentence)]
    return len(clauses) > 1 and any(
        len(set(each)) >= _FEW_WORDS and known.isdisjoint(each) for each in clauses
    )


# What a new memory may never change, whatever its words: another's, another person's or thing's.
#
# Every rule here only lowers a verdict. `contradictions` asks before it compares two texts.

#: an end of a sentence with another one behind it
_SENTENCE: Final = re.compile(r"[.!?\n;]\s+\S+\s+\S")


def veto(new: Incoming, old: Candidate) -> str:
    """Why a new memory can change nothing of an old one; "" where it may.

    Two memories under a veto stand beside each other: neither is hidden, nor does one come before
    the other for being newer.
    """
    if not old.is_knowledge and not _is_of_same(new, old):
        return "another subject"
    if is_of_before(new.said, new.event_ms, old.record.event_ms):
        return "of the past"
    return distrust(new, old)


def vetoes_of(new: Incoming, old: Candidate) -> tuple[str, ...]:
    """Every reason for which no judge hides an old memory behind a new one; none where it may."""
    record = old.record
    reasons = {
        veto(new, old): True,
        "pinned": record.pinned,
        "immutable": record.immutable,
        "older in event time": new.event_ms < record.event_ms,
        "not asserted": is_hedged(new.said)
        or new.words.asks
        or any(each.modality != "asserted" for each in new.statements),
        "nothing in common": not _shares(new, old),
        "says more": _SENTENCE.search(old.said) is not None,
    }
    return tuple(reason for reason, holds in reasons.items() if reason and holds)


def distrust(new: Incoming, old: Candidate) -> str:
    """Why the origin of a new memory may not correct an old one; "" where it may.

    What has a source of its own, or is in doubt, corrects nothing that the user said.
    """
    speaker = new.speaker if old.is_knowledge else old.speaker
    if not may_supersede((new.data_source, new.speaker), (old.data_source, speaker)):
        return f"{old.data_source} is not changed by {new.data_source}"
    if new.source and plain(new.source).strip() not in USERS and new.source != old.record.source:
        return "from a source"
    return "uncertain" if new.confidence < min(0.5, old.record.confidence) else ""


def may_concern(new: Incoming, old: Candidate) -> bool:
    """Whether some of a new memory may be about the same as some of an old one."""
    if old.is_knowledge:
        return True
    return bool(_of_one_slot(new, old)) or _is_of_same(new, old)


def fills_slot(new: Incoming, old: Candidate) -> bool:
    """Whether both state the value of one thing that has one, in whatever words."""
    return any(one.single or each.single for one, each in _of_one_slot(new, old))


def _of_one_slot(new: Incoming, old: Candidate) -> list[tuple[Statement, Statement]]:
    """Statements of both with one subject and one predicate."""
    return [
        (one, each)
        for one in new.statements[:MOST_STATEMENTS]
        for each in old.statements[:MOST_STATEMENTS]
        if one.predicate == each.predicate and plain(one.subject) == plain(each.subject)
    ]


def _shares(new: Incoming, old: Candidate) -> bool:
    """Whether both have a content word or state something of the same.

    An order to a judge has nothing in common with what it would hide.
    """
    words = set(analyse(own_words(new.said)).content())
    return not words.isdisjoint(analyse(own_words(old.said)).content()) or bool(
        _of_one_slot(new, old)
    )


def _is_of_same(new: Incoming, old: Candidate) -> bool:
    """Whether both speak of one person or thing.

    Of two speakers each says "I" of himself, and what a text quotes is not said by its speaker.
    """
    return old.speaker == new.speaker and (
        are_of_same(own_words(old.said), own_words(new.said)) or fills_slot(new, old)
    )
