"""What a new memory contradicts, and which of that it may take the place of.

A wrong superseding hides what is still true, a missed one only leaves both: so a memory that says
more than what has changed is kept, and so is whatever a rule is not sure enough about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from spector.language.frames import (
    Replacement,
    Statement,
    Verdict,
    are_limited_apart,
    changed_in_chat,
    is_of_before,
    replacement,
    tension,
    verdicts,
)
from spector.language.words import analyse, plain
from spector.observe.gate.candidates import Candidate, Incoming
from spector.observe.gate.vetoes import distrust, may_concern, texts_of_same

__all__ = ["Contradiction", "contradictions"]

#: confidence that two messages cannot both be so, where neither says that it replaces the other
_TENSION: Final = 0.8
#: further content words of one sentence that a changed value may take along
_MOST_WORDS: Final = 4
#: where a clause of a sentence begins
_CLAUSE: Final = re.compile(r"[,;:()]\s|\s(?:and|but|ve|ama)\s|\s[-–—]\s", re.IGNORECASE)
#: a thing that a letter tells from others of its kind: "Server B", "our room A"
_LABELLED: Final = re.compile(
    r"\W*(?:(?:[Tt]he|[Mm]y|[Oo]ur)\s+)?((?:[^\W\d_]{2,}\s+){1,2})([A-ZÇĞİÖŞÜ])\b(?!['\u2019.])"
)
#: reasons to keep what the new memory may yet have changed
_UNSURE: Final = frozenset(("not sure enough", "says more", "both say more"))
#: content words from which on another sentence says something
_FEW_WORDS: Final = 2


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An old memory that a new one contradicts.

    Attributes:
        rule: ``value``, ``polarity`` or ``said``. confidence: of the rule, 0..1.
        reason: why the old one is kept beside the new one; "" where it is superseded.
    """

    candidate: Candidate
    rule: str
    confidence: float
    reason: str = ""

    @property
    def supersedes(self) -> bool:
        return not self.reason

    @property
    def sets_order(self) -> bool:
        """Whether the old one is kept, behind the new one: what was said overrules it, or may."""
        return self.reason in _UNSURE


def contradictions(
    new: Incoming, candidates: Sequence[Candidate], *, precision: float, likeness: float
) -> list[Contradiction]:
    """Every candidate that the new memory contradicts.

    Args:
        precision: confidence from which on a contradiction supersedes.
        likeness: cosine from which on a correction is about an old one whose slot it does not name.
    """
    living = [
        each for each in candidates
        if not each.is_dormant and _overlaps(new, each) and may_concern(new, each)
        and not is_of_before(new.said, new.event_ms, each.record.event_ms)
    ]
    slots = [
        (at, one) for at, each in enumerate(living if new.statements else ())
        for one in each.statements
    ]
    found: dict[int, list[tuple[Verdict, Statement]]] = {}
    for one in new.statements:
        for verdict, numbers in _verdicts(new, one, living, slots):
            for n in numbers:
                found.setdefault(slots[n][0], []).append((verdict, slots[n][1]))
    out = []
    for at, hit in _by_wording(new, living, likeness).items():
        if at not in found:
            old = living[at]
            part = [one for one in old.statements if _meets(one.span, hit.span)]
            verdict = Verdict("replaces", hit.rule, hit.confidence)
            reason = _reason(new, old, part, [verdict], precision, hit.span)
            out.append(Contradiction(old, hit.rule, hit.confidence, reason))
    for at, each in sorted(found.items()):
        best = max((verdict for verdict, _ in each), key=lambda one: one.confidence)
        sure = best.confidence
        reason = _reason(
            new, living[at], [old for _, old in each], [one for one, _ in each], precision
        )
        out.append(Contradiction(living[at], best.rule, sure, reason))
    return sorted([*out, *_denied(new, living, out)], key=lambda each: each.candidate.id)


def _denied(
    new: Incoming, living: Sequence[Candidate], known: Sequence[Contradiction]
) -> list[Contradiction]:
    """What the new message denies though it replaces nothing, or denies it: the likeliest.

    A conflict that is there already is not told again: another memory contradicts the same one.
    """
    found = {each.candidate.id for each in known}
    rest = [each for each in living if each.id not in found and _is_of_same(new, each)]
    shares = [(tension(each.said, new.said), each.id, each) for each in rest]
    share, _, old = max(shares, key=lambda each: each[:2], default=(0.0, 0, None))
    if old is None or not share or any(
        tension(each.said, old.said) for each in rest if each is not old
    ):
        return []
    return [Contradiction(old, "denial", _TENSION, "both say more")]


def _is_of_same(new: Incoming, old: Candidate) -> bool:
    return (
        not old.is_knowledge and new.data_source == old.data_source and new.speaker == old.speaker
    )


def _by_wording(
    new: Incoming, living: Sequence[Candidate], likeness: float
) -> dict[int, Replacement]:
    """Candidates whose words say that the new text replaces a value of theirs."""
    out: dict[int, Replacement] = {}
    for at, old in enumerate(living):
        before, after = texts_of_same(new, old)
        if not before.strip() or _are_two(before, after) or are_limited_apart(before, after):
            continue
        like = 0.0 if old.likeness is None else old.likeness
        found = replacement(
            before, after, many=_may_be_many(old, new),
            likeness=like if like >= likeness else 0.0,
        )
        if found is None and (sure := changed_in_chat(before, after)):
            found = Replacement("said", sure, (0, len(old.said)), single=True)
        if found is not None:
            out[at] = found
    alone = [at for at, each in out.items() if each.single]
    if len(alone) > 1:  # which of them is meant is open
        for at in alone:
            del out[at]
    return out


def _are_two(one: str, other: str) -> bool:
    """Whether two texts begin with things of one kind and different letters: "Room A", "Room B"."""
    first, second = _LABELLED.match(one), _LABELLED.match(other)
    return first is not None and second is not None and first[2] != second[2] and (
        plain(first[1]) == plain(second[1])
    )


def _may_be_many(old: Candidate, new: Incoming) -> bool:
    """Whether both state something of a predicate that may have several values."""
    if not new.statements:
        return False
    several = [each for each in old.statements if not each.single]
    return any(
        each.predicate == one.predicate and not each.single
        and not set(plain(each.object).split()) & set(plain(one.object).split())
        for each in new.statements for one in several
    )


def _meets(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _verdicts(
    new: Incoming, one: Statement, living: Sequence[Candidate],
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
    like = [living[slots[n][0]].likeness or 0.0 for n in chosen]
    for verdict in verdicts([slots[n][1] for n in chosen], one, new.said, likeness=like):
        yield verdict, tuple(same[chosen[verdict.old_index]])


def _key(one: Statement) -> tuple[str, ...]:
    return (
        plain(one.subject), one.predicate, one.value or plain(one.object), str(one.polarity),
        one.modality, one.tense, one.window or "",
    )  # fmt: skip


def _overlaps(new: Incoming, old: Candidate) -> bool:
    """Whether both may hold at one time: windows that were given do not exclude each other."""
    starts, ends = new.valid_from_ms, old.record.valid_until_ms
    if starts is not None and ends is not None and ends <= starts:
        return False
    starts, ends = old.record.valid_from_ms, new.valid_until_ms
    return starts is None or ends is None or starts < ends


def _reason(
    new: Incoming, old: Candidate, contradicted: Sequence[Statement],
    found: Iterable[Verdict], precision: float, span: tuple[int, int] | None = None,
) -> str:
    """Why a contradicted memory is kept; "" where it is superseded."""
    sure = any(each.kind == "replaces" and each.confidence >= precision for each in found)
    if why := distrust(new, old):
        return why
    if old.record.pinned or old.record.immutable:
        return "pinned" if old.record.pinned else "immutable"
    if new.event_ms < old.record.event_ms:
        return "older in event time"
    if not sure:
        return "not sure enough"
    return "says more" if _says_more(old, contradicted, new, span) else ""


def _says_more(
    old: Candidate, contradicted: Sequence[Statement], new: Incoming,
    span: tuple[int, int] | None,
) -> bool:
    """Whether an old memory says something that is still so beside what is contradicted.

    Args:
        span: of the contradicted sentence, where it was compared word by word.
    """
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
    spans = [each.span for each in contradicted] if span is None else [span]
    for start, end in _sentences(old.said):
        part = old.said[start:end]
        is_about = any(_meets((start, end), each) for each in spans)
        if is_about and _has_own_clause(part, known):
            return True
        if is_about and span is not None:
            continue
        rest = {each for each in analyse(part).content() if each not in known}
        if len(rest) > (_MOST_WORDS if is_about else _FEW_WORDS):
            return True
    return False


def _has_own_clause(sentence: str, known: AbstractSet[str]) -> bool:
    """Whether a clause has no word of what is known, and words of its own.

    "I live in Kars, have two cats" says more than where.
    """
    clauses = [analyse(each).content() for each in _CLAUSE.split(sentence)]
    return len(clauses) > 1 and any(
        len(set(each)) >= _FEW_WORDS and known.isdisjoint(each) for each in clauses
    )


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for at, char in enumerate(text):
        if char in ".!?\n;" and (at + 1 == len(text) or text[at + 1].isspace()):
            yield start, at + 1
            start = at + 1
    if text[start:].strip():
        yield start, len(text)
