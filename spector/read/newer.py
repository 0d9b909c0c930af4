"""Of two statements that answer one question, the newer one first.

Nothing in a store says that "I now work at Contoso" took the place of "I work at Northwind", unless
somebody said ``supersedes``. But both are the same person's, alike, answer the cue about equally
well and have its words in common, and the later one does not speak of somebody else. Asked for what
holds now, it belongs first. The older one keeps its score and stands behind it.

All by form: no model, no list of topics. Of word lists there are those of grammar: tenses, words
of now and of before, and of change ("anymore", "moved"), English and Turkish.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.kept import keeps
from spector.kernel.products import cosine_table
from spector.lexical.analysis import analyse, is_stop
from spector.read.names import names_of
from spector.read.pick import units_of
from spector.read.plain import is_turkish, plain
from spector.read.rescore import scored_above
from spector.records import Hit

__all__ = ["LOOKED_AT", "asks_for_now", "newer_first", "outdated"]

#: best hits among which a newer statement is looked for
LOOKED_AT: Final = 10
#: cosine of two statements, and score of the newer one by that of the older: where nothing but
#: the frame says that they are about one thing, and where a word of change does
_ALIKE, _SCORE = 0.55, 0.85
_ALIKE_CHANGED, _SCORE_CHANGED = 0.35, 0.75
#: cosine from which a change may be told with another subject ("The doctor lowered my dose")
_ALIKE_TOLD: Final = 0.6
#: cosine from which two statements have one frame although they share no word of the cue
_SAME_FRAME: Final = 0.75
#: other versions of a statement, at most: more of one frame are a list, not a history
_VERSIONS: Final = 3
#: letters that the forms of one word begin with
_STEM: Final = 5
_LONGEST: Final = 2_000
_PHRASE_WORDS: Final = 6

# -- the cue ---------------------------------------------------------------------------------------

_NOW: Final = re.compile(
    r"\b(?:now|nowadays|currently|current|presently|today|these days|at the moment|at present|still"
    r"|latest|newest|any ?more|up to date)\b"
)
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

_NOW_TR: Final = re.compile(
    r"\b(?:simdi|simdiki|su an|su anda|su anki|suan|artik|hala|halen|guncel|bugun|bugunlerde)\b"
)
_BEFORE_TR: Final = re.compile(
    r"\b(?:eskiden|eski|once|onceden|onceki|ilk|gecen|dun|vaktiyle|eskisi|(?:19|20)\d\d)\b"
)
_ASKS_TR: Final = re.compile(
    r"\b(?:ne|neler|neyi|kim|kimi|kimin|kimle|nerede|neresi|nereye|nereden|hangi|hangisi|nasil|kac"
    r"|kaci|kacta|mi|mu|midir|miyim|muyum)\b"
)
#: the verb of a Turkish sentence is its last word, but for the particle of a question
_PAST_TR: Final = re.compile(
    r"(?:[dt][iu]|m[iu]s(?:t[iu])?)(?:m|n|k|niz|nuz|ler|lar)?(?: m[iu]\w{0,4})?[ ?!.]*$"
)


@keeps(256)
def asks_for_now(cue: str) -> bool:
    """Whether a cue asks how things are: a question in the present tense, or with "now"."""
    if len(cue) > _LONGEST or "\n" in cue.strip():
        return False
    folded = plain(cue).strip()
    if is_turkish(cue, folded) or _ASKS_TR.search(folded):
        if _BEFORE_TR.search(folded) or _PAST_TR.search(folded):
            return False
        if _NOW_TR.search(folded) or _ASKS_TR.search(folded):
            return True
    if _BEFORE.search(folded):
        return False
    if folded.endswith("?") or _ASKS.match(folded):
        return bool(_PRESENT.search(folded) or _NOW.search(folded))
    is_phrase = _PHRASE.match(folded) or _NOW.search(folded)
    return bool(is_phrase) and len(folded.split()) <= _PHRASE_WORDS


# -- two statements --------------------------------------------------------------------------------

#: that something is otherwise now
_CHANGED: Final = re.compile(
    r"\b(?:now|nowadays|currently|any ?more|no longer|instead|from now on|new|newly"
    r"|not)\b|n't\b"
    r"|\b(?:chang|mov|switch|replac|updat|renam|lower|rais|increas|decreas|reduc|cancel|resched"
    r"|postpon|quit|stopp|becam|becom)\w{0,6}\b|\b(?:started|sold)\b"
)
_CHANGED_TR: Final = re.compile(
    r"\b(?:artik|simdi|yeni|bundan (?:sonra|boyle)|degil|oldu|yerine|su an)\b"
    r"|\b(?:degis|tasin|guncelle|azalt|artir|arttir|dusur|yukselt|iptal|ertele|birak|basla|gec)\w{2,12}"
    r"|\w{2,}m[iu]yor\w{0,5}\b|\w{2,}m[ae]z\b"
)
_WAS: Final = re.compile(r"\b(?:was|were|did|had|used to|went|saw|yesterday)\b")
_WAS_TR: Final = re.compile(r"(?:[dt][iu]|m[iu]st[iu])(?:m|n|k|niz|nuz|ler|lar)?[ !.]*$")
_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|we're|us|our)\b")
_OWNER: Final = re.compile(r"\b([^\W\d_]+)'s (?=\w)")
_NO_OWNERS: Final = frozenset("it that what who where there here he she let how this".split())
_MINE: Final = re.compile(r"\W*(?:my|our) ([^\W\d_]+)")


@dataclass(frozen=True, slots=True)
class _Words:
    """What a statement says, folded: its words, which of them tell something, and its language."""

    folded: str
    words: tuple[str, ...]
    content: tuple[bool, ...]
    turkish: bool

    @classmethod
    def of(cls, text: str) -> _Words:
        text = text[:_LONGEST]
        found, folded = analyse(text), plain(text)
        words = tuple(map(plain, found.forms))
        content = tuple(not is_stop(term) for term in found.words)
        return cls(folded, words, content, is_turkish(text, folded))

    def telling(self) -> list[str]:
        return [word for word, tells in zip(self.words, self.content, strict=True) if tells]

    def place(self, word: str) -> int:
        """Where a word, in any of its forms, stands first; -1 for nowhere."""
        return next((n for n, each in enumerate(self.words) if _is_form(each, word)), -1)

    def has(self, word: str) -> bool:
        return self.place(word) >= 0

    def is_changed(self) -> bool:
        return bool(_CHANGED.search(self.folded)) or (
            self.turkish and bool(_CHANGED_TR.search(self.folded))
        )

    def is_past(self) -> bool:
        return bool(_WAS.search(self.folded)) or (
            self.turkish and bool(_WAS_TR.search(self.folded))
        )


def _is_form(one: str, other: str) -> bool:
    if one == other:
        return True
    shorter = min(len(one), len(other))
    if shorter < _STEM:  # "live", "lives"
        return shorter > 2 and one[:shorter] == other[:shorter] and abs(len(one) - len(other)) <= 1
    return one[:_STEM] == other[:_STEM]


class _Pair:
    """Two statements and the words of a cue."""

    def __init__(self, cue: _Words, names: Sequence[str], old: _Words, new: _Words) -> None:
        self._cue, self._names, self._old, self._new = cue, names, old, new

    def answers_anew(self, alike: float, share: float, speaker: str) -> bool:
        """Whether the later statement answers what the earlier one does.

        Args:
            alike: cosine of both. share: score of the later one by that of the earlier one.
            speaker: of both, folded; "" for nobody.
        """
        old, new = self._old, self._new
        wanted = [w for w in self._cue.telling() if not _NOW.search(w) and not _NOW_TR.search(w)]
        missing = [word for word in wanted if old.has(word) and not new.has(word)]
        if any(
            word.isdecimal() or (word in self._names and word not in speaker) for word in missing
        ):
            return False
        if self._is_of_somebody_else() or self._has_another_number():
            return False
        shared = [word for word in wanted if old.has(word) and new.has(word)]
        foreign = self._has_another_subject(shared)
        if new.is_changed():
            if len(missing) > 1:
                return False
            return alike >= _ALIKE_TOLD or not (foreign or (missing and not shared and wanted[1:]))
        if alike < _ALIKE or share < _SCORE or missing or foreign or new.is_past():
            return False
        return bool(shared) or alike >= _SAME_FRAME

    def _is_known(self, word: str) -> bool:
        return self._old.has(word) or self._cue.has(word)

    def _is_of_somebody_else(self) -> bool:
        """ "My sister's cat", "My brother lives", "Selin works" where that is not asked."""
        new = self._new
        owners = {owner for owner in _OWNER.findall(new.folded) if owner not in _NO_OWNERS}
        if not all(map(self._is_known, owners)):
            return True
        mine = _MINE.match(new.folded)
        if mine and not _CHANGED.match(mine[1]) and not self._is_known(mine[1]):
            return not re.search(r"\bi\b|\bi'", new.folded)
        own = any(_FIRST_PERSON.search(each.folded) for each in (self._cue, self._old))
        if own and not new.turkish and not _FIRST_PERSON.search(new.folded):
            return bool(new.words) and new.content[0] and not self._is_known(new.words[0])
        return False

    def _has_another_number(self) -> bool:
        """Whether both say something of what a number tells apart: "Order 4711 is packed", "Order
        4712 is shipped". A number that ends a statement, or stands behind its verb, is what it
        says."""
        old, new = _numbered(self._old), _numbered(self._new)
        return any(
            _is_form(kind, other) and number not in {n for k, n in old if _is_form(k, kind)}
            for kind, number in new for other, _ in old
        )

    def _has_another_subject(self, shared: Sequence[str]) -> bool:
        """Whether something stands before the words of the cue that neither it nor the earlier
        statement knows. In Turkish the verb comes last, and so would everything else."""
        new = self._new
        if not shared or new.turkish:
            return False
        first = min(map(new.place, shared))
        return any(
            tells and not self._is_known(word) and not _CHANGED.fullmatch(word)
            for word, tells in zip(new.words[:first], new.content[:first], strict=True)
        )


def _numbered(text: _Words) -> list[tuple[str, str]]:
    """(word, number) where a number stands right behind a word and something is said after it."""
    words, content = text.words, text.content
    return [
        (words[n - 1], words[n]) for n in range(1, len(words) - 1)
        if words[n].isdecimal() and content[n - 1] and not words[n - 1].isdecimal()
        and any(
            tells and not word.isdecimal()
            for word, tells in zip(words[n + 1 :], content[n + 1 :], strict=True)
        )
    ]


# -- hits ------------------------------------------------------------------------------------------


def newer_first(hits: Sequence[Hit], cue: str) -> list[Hit]:
    """The hits with each newer statement right before the older one that it answers anew.

    It gets that one's score and the least more; the term "newer" of its explanation says by how
    much it was raised.
    """
    newer = outdated(hits, cue)
    if not newer:
        return list(hits)
    out = list(hits)
    places = {hit.id: n for n, hit in enumerate(out)}
    at = 0
    while at < len(out):
        later = [each for each in newer.get(out[at].id, ()) if places[each] > at]
        if later:
            newest = max(later, key=lambda each: (out[places[each]].record.event_ms, each))
            hit = out.pop(places[newest])
            out.insert(at, scored_above(hit, out[at].score, "newer"))
            places = {hit.id: n for n, hit in enumerate(out)}
        at += 1
    return out


def outdated(hits: Sequence[Hit], cue: str) -> dict[int, tuple[int, ...]]:
    """Id of a hit -> ids of those, of the best, that answer the cue anew.

    Both are told by one speaker to one user, and the newer one is no less certain and from no
    farther: a document does not overrule what the user said.
    """
    best = [hit for hit in hits[:LOOKED_AT] if hit._found is not None]
    if len(best) < 2 or best[0].score <= 0:
        return {}
    alike = _cosines(best)
    words: dict[int, _Words] = {}
    asked, names = _Words.of(cue), [plain(name) for name in names_of(cue)]

    def words_of(hit: Hit) -> _Words:
        if hit.id not in words:
            words[hit.id] = _Words.of(hit.text)
        return words[hit.id]

    out: dict[int, tuple[int, ...]] = {}
    for n, one in enumerate(best):
        for m, other in enumerate(best[:n]):
            if alike[n, m] < _ALIKE_CHANGED or not _may_replace(one, other):
                continue
            old, new = (one, other) if one.record.event_ms < other.record.event_ms else (other, one)
            if old.score <= 0 or not _may_overrule(old, new):
                continue
            share = new.score / old.score
            if share < _SCORE_CHANGED:
                continue
            pair = _Pair(asked, names, words_of(old), words_of(new))
            if pair.answers_anew(float(alike[n, m]), share, _speaker(new)):
                out[old.id] = (*out.get(old.id, ()), new.id)
    many = {hit.id for hit in best if _count(out, hit.id) > _VERSIONS}
    return {
        each: left for each, several in out.items() if each not in many
        and (left := tuple(newer for newer in several if newer not in many))
    }


def _count(newer: Mapping[int, tuple[int, ...]], hit: int) -> int:
    """How many others a hit answers anew, or is answered anew by."""
    return len(newer.get(hit, ())) + sum(hit in several for several in newer.values())


def _cosines(hits: Sequence[Hit]) -> NDArray[np.float32]:
    vectors = units_of(hits)
    return np.asarray(cosine_table(vectors, vectors), np.float32)


def _may_replace(one: Hit, other: Hit) -> bool:
    return (
        one.record.event_ms != other.record.event_ms and one.user_id == other.user_id
        and one.agent_id == other.agent_id and _speaker(one) == _speaker(other)
        and one.text != other.text
    )


def _may_overrule(old: Hit, new: Hit) -> bool:
    return new.confidence >= old.confidence and (new.source is None or old.source is not None)


def _speaker(hit: Hit) -> str:
    return plain(hit.speaker or "")
