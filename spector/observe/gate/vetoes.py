"""What a new memory may never change, whatever its words: another's, another person's or thing's.

Every rule here only lowers a verdict. `contradictions` asks before it compares two texts.
"""

from __future__ import annotations

import re
from typing import Final

from spector.language.frames import Statement, are_of_same, is_of_before
from spector.language.observing import is_hedged
from spector.language.statements import USERS, own_words
from spector.language.words import analyse, plain
from spector.observe.gate.candidates import MOST_STATEMENTS, Candidate, Incoming
from spector.observe.gate.trust import may_supersede

__all__ = ["distrust", "fills_slot", "may_concern", "veto", "vetoes_of"]


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
