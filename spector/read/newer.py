"""Of two statements that answer one question, the newer one first.

Nothing in a store says that "I now work at Contoso" took the place of "I work at Northwind", unless
somebody said ``supersedes``. Asked for what holds now, the later one belongs first, where both are
one person's and `Pair` takes them for versions of one statement. The older one keeps its score and
stands behind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.kept import keeps
from spector.kernel.products import cosine_table
from spector.read.hits import found_of
from spector.read.pick import units_of
from spector.read.plain import is_turkish, plain
from spector.read.rescore import scored_above
from spector.read.statements import (
    ASKS_TR,
    NOW,
    NOW_TR,
    Question,
    Statement,
    may_be_of_change,
)
from spector.read.versions import Pair
from spector.records import Hit
from spector.store.hydrate import header_of

__all__ = ["LOOKED_AT", "MOST_VERSIONS", "asks_for_now", "newer_first", "outdated"]

#: best hits among which a newer statement is looked for; where half of them are versions of one
#: another, so many
LOOKED_AT: Final = 10
MOST_VERSIONS: Final = 32
#: cosine of two statements, and score of the newer one by that of the older
_ALIKE, _SHARE = 0.35, 0.75
#: the same where the newer one shares no word with the question
_ALIKE_MOVED, _SHARE_MOVED = 0.5, 0.6
#: others of one frame and day that make it a list
_LIST: Final = 2
_DAY_MS: Final = 86_400_000
_LONGEST_CUE: Final = 2_000
#: characters of a statement; what is longer tells of more than one thing
_LONGEST: Final = 600
_PHRASE_WORDS: Final = 6

# -- the cue ---------------------------------------------------------------------------------------

_BEFORE: Final = re.compile(
    r"\b(?:did|was|were|had|been|used to|before|previous|previously|former|formerly|origin\w{2,6}"
    r"|earlier|earliest|once|ago|yesterday|last|old|older|oldest|past|back then|history|ever"
    r"|initial\w{0,2}|first|(?:19|20)\d\d)\b|\b(?:have|has) (?:i|we|you|he|she|they|it)\b"
)
_PRESENT: Final = re.compile(r"(?:\b|')(?:is|am|are|do|does|s|re|may|can|must)\b|n't\b")
_ASKS: Final = re.compile(
    r"(?:what|who|whom|whose|where|which|when|how|why|is|are|am|do|does|may|can|must)\b"
)
_PHRASE: Final = re.compile(r"(?:my|our)\b")

_BEFORE_TR: Final = re.compile(
    r"\b(?:eskiden|eski|once|onceden|onceki|ilk|gecen|dun|vaktiyle|eskisi|(?:19|20)\d\d)\b"
)
#: the verb of a Turkish sentence is its last word, but for the particle of a question
_PAST_TR: Final = re.compile(
    r"(?:[dt][iu]|m[iu]s(?:t[iu])?)(?:m|n|k|niz|nuz|ler|lar)?(?: m[iu]\w{0,4})?[ ?!.]*$"
)


@keeps(256)
def asks_for_now(cue: str) -> bool:
    """Whether a cue asks how things are: a question in the present tense, or with "now"."""
    if len(cue) > _LONGEST_CUE or "\n" in cue.strip():
        return False
    folded = plain(cue).strip()
    if is_turkish(cue, folded) or ASKS_TR.search(folded):
        if _BEFORE_TR.search(folded) or _PAST_TR.search(folded):
            return False
        if NOW_TR.search(folded) or ASKS_TR.search(folded):
            return True
    if _BEFORE.search(folded):
        return False
    if folded.endswith("?") or _ASKS.match(folded):
        return bool(_PRESENT.search(folded) or NOW.search(folded))
    is_phrase = _PHRASE.match(folded) or NOW.search(folded)
    return bool(is_phrase) and len(folded.split()) <= _PHRASE_WORDS


# -- hits ------------------------------------------------------------------------------------------


def newer_first(hits: Sequence[Hit], newer: Mapping[int, Sequence[int]]) -> list[Hit]:
    """The hits with each newer statement right before the older one that it answers anew.

    It gets that one's score and the least more; the term "newer" of its explanation says by how
    much it was raised.

    Args:
        newer: see `outdated`.
    """
    out = list(hits)
    places = {hit.id: n for n, hit in enumerate(out)}
    at = 0 if newer else len(out)
    while at < len(out):
        later = [each for each in newer.get(out[at].id, ()) if places.get(each, -1) > at]
        if later:
            newest = max(later, key=lambda each: (found_of(out[places[each]]).event_ms, each))
            hit = out.pop(places[newest])
            out.insert(at, scored_above(hit, out[at].score, "newer"))
            places = {hit.id: n for n, hit in enumerate(out)}
        at += 1
    return out


def outdated(hits: Sequence[Hit], cue: str) -> dict[int, tuple[int, ...]]:
    """Id of a hit -> ids of those that answer the cue anew.

    Both are told by one speaker to one user, and the newer one is no less certain and from no
    farther: a document does not overrule what the user said.
    """
    best = [hit for hit in hits if hit._found is not None and len(hit.text) <= _LONGEST]
    if len(best) < 2 or hits[0].score <= 0:
        return {}
    question = Question.of(cue)
    pairs = _of_one_teller(best, question)
    if not pairs:
        return {}
    alike = _cosines(best)
    texts: dict[int, Statement] = {}
    changed: list[tuple[Hit, Hit]] = []
    framed: list[tuple[Hit, Hit]] = []
    for old, new in pairs:
        if alike[old, new] < _ALIKE:
            continue
        for n in (new, old):
            if n not in texts:
                texts[n] = Statement.of(best[n].text, turkish=question.text.turkish)
        if not texts[new].is_of_now:
            continue
        form = Pair(question, texts[old], texts[new]).form()
        if form == "move":
            form = "change" if alike[old, new] >= _ALIKE_MOVED else None
        elif best[new].score < _SHARE * best[old].score:
            form = None
        if form is not None:
            (changed if form == "change" else framed).append((best[old], best[new]))
    out: dict[int, tuple[int, ...]] = {}
    for one, other in (*changed, *_without_lists(framed)):
        out[one.id] = (*out.get(one.id, ()), other.id)
    return out


def _of_one_teller(hits: Sequence[Hit], question: Question) -> list[tuple[int, int]]:
    """Pairs of hits, by number and the older first, that one speaker told in one scope, of which
    the later may be believed instead, and whose words may answer the question at all."""
    found = [found_of(hit) for hit in hits]
    certain = [int(header_of(each.image)["confidence"]) for each in found]
    tellers = [each.teller() for each in found]
    folded = [plain(hit.text) for hit in hits]
    answers = [question.may_be_answered_by(each) for each in folded]
    changes = [may_be_of_change(each) for each in folded]
    out = []
    for n, new in enumerate(hits):
        for o, old in enumerate(hits):
            if (
                (changes[n] or (answers[n] and answers[o])) and tellers[o] == tellers[n]
                and found[o].event_ms < found[n].event_ms
                and 0 < _SHARE_MOVED * old.score <= new.score and certain[n] >= certain[o]
                and (found[n].source is None or found[o].source is not None)
                and old.text != new.text
            ):
                out.append((o, n))
    return out


def _without_lists(framed: Sequence[tuple[Hit, Hit]]) -> list[tuple[Hit, Hit]]:
    """Pairs of one frame, but for those of three and more that were told in one go."""
    together = Counter(
        hit.id for pair in framed if _day(pair[0]) == _day(pair[1]) for hit in pair
    )
    return [pair for pair in framed if all(together[hit.id] < _LIST for hit in pair)]


def _day(hit: Hit) -> int:
    return found_of(hit).event_ms // _DAY_MS


def _cosines(hits: Sequence[Hit]) -> NDArray[np.float32]:
    vectors = units_of(hits)
    return np.asarray(cosine_table(vectors, vectors), np.float32)
