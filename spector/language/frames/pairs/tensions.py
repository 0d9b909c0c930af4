"""Whether two messages cannot both be so though neither says that it replaces the other.

"I have never used Zotero" beside "I downloaded Zotero in March". Such messages say much else, so
both are kept and shown as a conflict, the newer first; nothing is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from spector.language.words import analyse, plain
from spector.process import keeps

__all__ = ["denial_in", "tension"]

#: clauses of a message that are looked at, and characters of a message
_CLAUSES: Final = 40
_CHARS: Final = 4_000
#: content words that two clauses share if they are about one thing: at least half of what is
#: denied, or so many for sure and a third of it
_LEAST, _HALF = 3, 0.5
_SURE, _THIRD = 4, 0.34
#: fewer are enough where the other tells the very verb that is denied, or every word of it
_FEW, _ALL = 2, 1.0
#: so much where the other does not tell the verb that is denied
_MOST: Final = 0.7
#: says how one feels about a thing, not that one did it
_FEELS: Final = re.compile(
    r"\b(?:excited|anxious|stressed|nervous|worried|happy|enjoying|waiting|struggling|interested"
    r"|unsure|not sure|having (?:\w+ )?(?:trouble|issues|problems))\b"
)
#: asks about a denial, and denies nothing itself
_DOUBTS: Final = re.compile(r"\b(?:clarify|contradiction|explain|says?|said|why)\b")
_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE: Final = re.compile(r"[.!?;\n]+(?:\s|$)")
_SPLIT: Final = re.compile(
    r"[.!?;:\n]+\s|,\s|\s[-–—]\s|\b(?:but|because|considering|which|since|although|though"
    r"|ama|fakat|cunku)\b|\band (?=i\b|i'|my\b|can\b|how\b|we\b)"
)
_NEVER: Final = re.compile(
    r"\b(?:i|we)(?:'ve| have)?(?: actually)? never\b|\b(?:i|we) have(?: not|n't) ever\b"
    r"|\bhic(?: bir zaman)?\b(?=.*\w{2,}m[ae]d[iu][mk]\b)|\basla\b(?=.*\w{2,}m[ae]d[iu][mk]\b)"
)
#: wishes, questions and aims tell of nothing that was
_OPEN: Final = re.compile(
    r"\b(?:want|would|wish|hope|plan(?:s|ned|ning)?|going to|will|should|could|can you"
    r"|how (?:do|can|should)|might|maybe|if|considering|thinking|set a goal|goal|aim\w*|need"
    r"|gonna|to submit|trying to|always|prefer|start|schedul\w+|upcoming|guidance|deadline|help me"
    r"|worried|looking|isterim|belki|istiyorum|planliyorum)\b|\?"
)
_ASKS: Final = re.compile(
    r"\b(?:(?:can|could|would) you|how (?:do|can|should|could)|what (?:are|should|can|else|if)"
    r"|should i|is (?:it|that|there)|do you)\b"
)
#: tells of oneself, of what is or was
_TOLD: Final = re.compile(
    r"\b(?:i've|i have|we've|we have|i had|i'm|i am|i was|i \w+ed|i (?:got|met|took|made|did|wrote"
    r"|sent|felt|just|recently|already)|my [\w ]{2,40} (?:is|has|was))\b|\b\w{2,}[dt][iu][mk]\b"
    r"|\b\w{2,}yorum\b"
)
#: words of any work: they tell no topic
_COMMON: Final = frozenset(
    analyse(
        """project application app help time thing way work make sure use start first good best new
        need try example problem issue code team day week month year today currently recently"""
    ).content()
)

#: a clause in folded letters, and its content words
_Clause = tuple[str, frozenset[str]]


def tension(old: str, new: str) -> float:
    """How surely one of two messages denies what the other tells, 0..1; 0 for not at all.

    It is the share of the denied words that the other message has.
    """
    if not any(_NEVER.search(_plain(each)) for each in (old, new)):
        return 0.0
    return max(
        *(_denied(each, _parts(old)) for each in _clauses(new)),
        *(_denied(each, _parts(new)) for each in _clauses(old)), 0.0, 0.0,
    )  # fmt: skip


def denial_in(text: str) -> str:
    """What a message says never was, in folded letters; "" for nothing."""
    for folded, _ in _clauses(text):
        found = _NEVER.search(folded)
        if found is not None:
            return folded[found.end() :].strip()
    return ""


def _parts(text: str) -> tuple[_Clause, ...]:
    return (*_clauses(text), *_sentences(text))


@keeps(256)
def _clauses(text: str) -> tuple[_Clause, ...]:
    return tuple(_made(_SPLIT.split(_plain(text))))


@keeps(256)
def _sentences(text: str) -> tuple[_Clause, ...]:
    """Sentences up to what they ask for."""
    return tuple(_made([_ASKS.split(part)[0] for part in _SENTENCE.split(_plain(text))]))


@keeps(256)
def _plain(text: str) -> str:
    return plain(_CODE.sub(". ", text[:_CHARS])).replace("’", "'")


def _made(parts: list[str]) -> Iterator[_Clause]:
    for part in parts[:_CLAUSES]:
        words = frozenset(analyse(part).content()) - _COMMON
        if words:
            yield part, words


def _denied(clause: _Clause, others: tuple[_Clause, ...]) -> float:
    """The share of what a clause says never was that another clause tells of."""
    found = _NEVER.search(clause[0])
    if found is None:
        return 0.0
    denied = analyse(clause[0][found.end() :]).content()
    about = frozenset(denied) - _COMMON
    if _DOUBTS.search(clause[0][: found.start()]):
        return 0.0
    best = 0.0
    for folded, content in others:
        shared = len(about & content)
        share = shared / max(1, len(about))
        is_same = (
            (shared >= _LEAST and share >= _HALF) or (shared >= _SURE and share >= _THIRD)
            or (shared >= _FEW and (share >= _ALL or (share >= _HALF and denied[0] in content)))
        ) and (denied[0] in content or (share >= _MOST and not _FEELS.search(folded)))
        if is_same and _TOLD.search(folded) and not (_NEVER.search(folded) or _OPEN.search(folded)):
            best = max(best, share)
    return best
