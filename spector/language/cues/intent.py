"""The kind of a cue, and its parts."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from spector.language.cues.kinds import Intent, Kind, Mode
from spector.language.cues.topic import Frame, topic_of
from spector.language.statements import FIRST_PERSON, Speakers
from spector.language.tables import pattern_rows, patterns_of, word_lists
from spector.language.words import compose, is_turkish, plain

_WORDS: Final = word_lists("intent")
_RE: Final = patterns_of("intent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Search parameters of an intent.

    Attributes:
        vector_weight, lexical_weight: weights of similarity and words in a weighted sum of ranks or
            normalized scores (the rank-fusion option; the default formula weighs by `Kind`).
        limit: number of hits unless the caller gives one.
        sort: "relevance", "utility" or "newest", for a caller that lists instead of ranking.
        utility_boost: weight of a memory's utility in the score.
        include_superseded: also search superseded memories ("where did I live before?").
        hops: number of relations to follow from the best hits.
        categories: categories of memories to favour; empty for all.
    """

    vector_weight: float
    lexical_weight: float
    limit: int
    sort: str = "relevance"
    utility_boost: float = 0.0
    include_superseded: bool = False
    hops: int = 0
    categories: tuple[str, ...] = ()


#: parameters of each intent; procedural has the balanced weights of general
PARAMS: Final[Mapping[Intent, Params]] = MappingProxyType({
    Intent.FACTUAL: Params(vector_weight=0.6, lexical_weight=0.4, limit=10, utility_boost=0.2),
    Intent.TEMPORAL: Params(
        vector_weight=0.4, lexical_weight=0.6, limit=15, sort="newest", include_superseded=True
    ),
    Intent.CAUSAL: Params(vector_weight=0.3, lexical_weight=0.3, limit=20, hops=2),
    Intent.ENTITY_PROFILE: Params(
        vector_weight=0.5, lexical_weight=0.5, limit=15, sort="utility", utility_boost=0.3
    ),
    Intent.PREFERENCE: Params(
        vector_weight=0.5, lexical_weight=0.5, limit=10, sort="utility",
        categories=("preference", "correction"),
    ),
    Intent.PROCEDURAL: Params(
        vector_weight=0.5, lexical_weight=0.5, limit=10, categories=("procedure",)
    ),
    Intent.GENERAL: Params(vector_weight=0.5, lexical_weight=0.5, limit=10, utility_boost=0.2),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Route:
    """How a cue is to be searched, and the reasons."""

    intent: Intent
    mode: Mode
    kind: Kind
    params: Params
    reasons: tuple[str, ...]


# -- kind ------------------------------------------------------------------------------------------

_PERSONS: Final = re.compile(r"\b(?:i|i'm|i'd|i've|me|my|we|our|you|your)\b")

#: one or two words without punctuation
_LOOKUP: Final = re.compile(r"[^\s.!?,;:]+(?: [^\s.!?,;:]+)?")
_MOST_OF_A_LOOKUP: Final = 80
#: question words that are also names, in English or Turkish
_CALLED: Final = frozenset({"can", "do", "kim", "will"})
_PRONOUNS: Final = frozenset({"he", "i", "it", "she", "they", "we", "you"})


_ABOUT_TALK: Final[Mapping[Frame, str]] = MappingProxyType(
    {
        Frame.ORDER: "asks for an order of events",
        Frame.SUMMARY: "asks for a summary",
        Frame.SAID: "asks what was said or is known",
        Frame.PROFILE: "asks what is known about the user",
    }
)


def kind_of(cue: str) -> Kind:
    """Classify a cue as fact, talk or request; the first rule that matches decides.

    1. Several lines: talk.
    2. About the conversation (`spector.language.cues.topic`): fact.
    3. Asks to repeat something ("remind me when", "can you tell me my ..."): fact.
    4. Asks for help, without the past tense and not about a third person ("What advice does Ann
       give?"): request.
    5. Any other question, also of users about themselves ("what car do I drive?"): fact.
    6. "tell me ..." and one or two words ("deployment steps"): fact. Anything else: talk.
    """
    return _kind(cue)[0]


def _kind(cue: str) -> tuple[Kind, str]:
    stripped = cue.strip()
    if "\n" in stripped:
        return Kind.TALK, "several lines"
    topic = topic_of(cue)
    if topic.kind:
        return Kind.FACT, _ABOUT_TALK[topic.kind]
    folded = plain(stripped)
    turkish = is_turkish(cue, folded)
    if _RE["told_again"].search(folded) or (turkish and _RE["told_again_tr"].search(folded)):
        return Kind.FACT, "asks to repeat something"
    if not _is_of_others_or_past(cue, folded, turkish):
        words = _RE["request"].search(folded) or (turkish and _RE["request_tr"].search(folded))
        if words:
            return Kind.REQUEST, f'asks for help ("{words.group()[:30].strip()}")'
    if folded.endswith("?") or _RE["question"].match(folded):
        return Kind.FACT, "a question"
    if turkish and _RE["question_tr"].search(folded):
        return Kind.FACT, "a question"
    if _RE["ordered"].search(folded):
        return Kind.FACT, "asks by name"
    if _is_lookup(cue, folded):
        return Kind.FACT, "words to look up"
    return Kind.TALK, "no question and no request"


def may_be_request(cue: str) -> bool:
    """False if a cue is words to look up, or asks about a third person or the past.

    Nothing is suggested for those, so no limit of what may be suggested matters to them.
    """
    folded = plain(cue.strip())
    return not (
        _is_lookup(cue, folded) or _is_of_others_or_past(cue, folded, is_turkish(cue, folded))
    )


def _is_of_others_or_past(cue: str, folded: str, turkish: bool) -> bool:
    if _RE["others"].search(cue) and not _PERSONS.search(folded):
        return True
    return bool(_RE["past"].search(folded) or (turkish and _RE["past_tr"].search(folded)))


def _is_lookup(cue: str, folded: str) -> bool:
    # "US" in "Which US cities" is not the pronoun
    first = bool(FIRST_PERSON.search(folded.replace("us", "") if "US" in cue else folded))
    return len(folded) <= _MOST_OF_A_LOOKUP and not first and bool(_LOOKUP.fullmatch(folded))


def is_name(cue: str) -> bool:
    """True if a cue is just a name of one or two words, not a question.

    "Where is Ann?" also has one content word, but it asks about her: a memory that only mentions
    her does not answer it.
    """
    folded = plain(cue).strip().rstrip(".,;:")
    if len(folded) > _MOST_OF_A_LOOKUP or not _RE["name"].fullmatch(folded):
        return False
    asking = (
        (_RE["question"], _RE["question_tr"]) if is_turkish(cue, folded) else (_RE["question"],)
    )
    if not any(words.search(folded) for words in asking):
        return True
    first, _, second = folded.partition(" ")
    if first not in _CALLED or not second:
        return first in _CALLED
    written = cue.split()  # "Will Smith", but "will rain" and "Can Nerede"
    return (
        all(word[0].isupper() for word in written)
        and second not in _PRONOUNS
        and not any(words.fullmatch(second) for words in asking)
    )


# -- intent and mode -------------------------------------------------------------------------------


_MODES: Final[Mapping[Intent, Mode]] = MappingProxyType(
    {
        Intent.CAUSAL: Mode.GRAPH_SEED,
        Intent.PROCEDURAL: Mode.STRUCTURED,
        Intent.TEMPORAL: Mode.TEMPORAL,
        Intent.ENTITY_PROFILE: Mode.STRUCTURED,
    }
)


def route_cue(cue: str) -> Route:
    """Intent, mode, kind and parameters of a cue.

    The first intent whose words are in the cue counts: a question for a reason or a procedure is
    more specific than a time in it. Talk of several lines uses similarity, whatever its words.
    If no rule matches, a question is factual and anything else general.
    """
    how, because = _kind(cue)
    reasons = [f"kind {how}: {because}"]
    folded = plain(cue)
    intent, word = _intent(cue, folded, how)
    reasons.append(f"intent {intent}: {word}")
    if how is Kind.FACT or intent in _MODES:
        mode = _MODES.get(intent, Mode.HYBRID)
        reasons.append(f"mode {mode}: by intent")
    else:
        mode = Mode.HYBRID if how is Kind.REQUEST else Mode.SEMANTIC
        reasons.append(f"mode {mode}: by kind")
    return Route(intent, mode, how, PARAMS[intent], tuple(reasons))


def _intent(cue: str, folded: str, how: Kind) -> tuple[Intent, str]:
    if how is Kind.TALK:
        return Intent.GENERAL, "talk"  # its words are not a question
    turkish = is_turkish(cue, folded)
    rows = pattern_rows("intent", "intents")
    for (name, english), (_, also) in zip(rows[::2], rows[1::2], strict=True):
        found = english.search(folded) or (also.search(folded) if turkish else None)
        if found:
            return Intent(name), f'"{found.group()[:40].strip()}"'
    if how is Kind.REQUEST:
        return Intent.PREFERENCE, "a request: preferences count"
    if _RE["factual"].match(folded) or folded.rstrip().endswith("?"):
        return Intent.FACTUAL, "a question"
    return Intent.GENERAL, "no rule matches"


# Splits compound cues into parts, each of which is recalled by itself.
#
# A cue is split only at a clear boundary: several questions, two questions joined by "and", or one
# question about several people of the store. Other cues stay whole, because half a question finds
# less than a whole one. A pronoun that refers to the one person named before is replaced by the name.

#: most parts of a cue
MOST_PARTS: Final = 4
#: longer cues are documents
_MOST_CHARS: Final = 2_000

_END: Final = re.compile(r"[?\uff1f\u061f]+[\"'”’)]*\s*")
_WORD: Final = re.compile(r"[^\W_]+")
#: separators of the names in a list
_BETWEEN: Final = re.compile(r"\s*(?:,|&|,?\s*(?:and|or|ve|ile|veya))\s*", re.IGNORECASE)
_BOTH: Final = re.compile(r"\bboth (?:of )?$", re.IGNORECASE)
_PRONOUN: Final = re.compile(r"\b(he|she|him|his|her|hers)\b(?=(\s+[^\W\d_])?)", re.IGNORECASE)


def split_cue(cue: str, speakers: Speakers | Iterable[str] = ()) -> list[str]:
    """Split a cue into its parts; a cue that is not compound is returned alone.

    Args:
        cue: any text; takes linear time.
        speakers: the speakers known in the store.

    Returns:
        1 to `MOST_PARTS` distinct texts. Talk is never split, because its sentences describe one
        situation. A statement next to a question stays with it.
    """
    if len(cue) > _MOST_CHARS or not _RE["may_have_seam"].search(cue):
        return [cue]
    if kind_of(cue) is Kind.TALK:
        return [cue]
    whole = " ".join(compose(cue).split())
    known = speakers if isinstance(speakers, Speakers) else Speakers.of(speakers)
    parts = [part for question in _questions(whole) for part in _joined(question)]
    if len(parts) == 1:
        parts = _by_person(whole, known)
    elif known.by_name:
        parts = _with_names(parts, known)
    parts = list(dict.fromkeys(parts))
    if len(parts) > MOST_PARTS:
        parts[MOST_PARTS - 1 :] = [" ".join(parts[MOST_PARTS - 1 :])]
    return parts if len(parts) > 1 else [cue]


def _questions(text: str) -> list[str]:
    """Split after each question; parts without content stay with their neighbour."""
    pieces: list[str] = []
    at = 0
    for match in _END.finditer(text):
        pieces.append(text[at : match.end()].strip())
        at = match.end()
    if pieces and at < len(text):
        pieces[-1] = f"{pieces[-1]} {text[at:]}"  # "... Mention only three."
    return _merged(pieces or [text])


def _joined(question: str) -> list[str]:
    """Split a question where "and" begins another one."""
    folded = plain(question)
    # positions must correspond: if folding changes the length, only English boundaries are found
    searched = folded if len(folded) == len(question) else question
    cuts = [(match.start(), match.end()) for match in _RE["seam"].finditer(searched)]
    pieces, at = [], 0
    for start, end in cuts:
        pieces.append(question[at:start].strip())
        at = end
    pieces.append(question[at:].strip())
    return _merged(pieces, joint=" and ")


def _merged(pieces: list[str], joint: str = " ") -> list[str]:
    """Join pieces without a content word to the piece before (or after) them."""
    kept: list[str] = []
    for piece in pieces:
        if kept and not (_says_something(piece) and _says_something(kept[-1])):
            kept[-1] = f"{kept[-1]}{joint}{piece}"
        else:
            kept.append(piece)
    return kept


def _says_something(text: str) -> bool:
    """True if a text has a content word."""
    return any(match.group() not in _WORDS["empty"] for match in _WORD.finditer(plain(text)))


def _by_person(text: str, known: Speakers) -> list[str]:
    """Split "What do Ann and Bob like?" into one question per person."""
    places = list(known.places(text))
    run = places[:1]
    for last, place in itertools.pairwise(places):
        if not _BETWEEN.fullmatch(text[last[2] : place[1]]):
            if len(run) > 1:
                break
            run = []
        run.append(place)
    people = list(dict.fromkeys(place[0] for place in run))
    before, after = text[: run[0][1]] if run else "", text[run[-1][2] :] if run else ""
    others = {place[0] for place in places} - set(people)
    if len(people) < 2 or others or before.lower().endswith("between "):
        return [text]
    before = _BOTH.sub("", before)
    return [f"{before}{text[start:end]}{after}" for _, start, end in run]


def _with_names(parts: list[str], known: Speakers) -> list[str]:
    """Replace "she" and "his" by the one person named before."""
    named: str | None = None
    done = []
    for part in parts:
        here = [part[start:end] for _, start, end in known.places(part)]
        if here:
            named = here[0] if len(set(here)) == 1 else None
        elif named is not None:
            part = _PRONOUN.sub(functools.partial(_name_for, named), part)
        done.append(part)
    return done


def _name_for(name: str, match: re.Match[str]) -> str:
    """ "Ann" for "she" and "him", "Ann's" for "his", and for "her" before a word."""
    word = match.group(1).lower()
    possessive = word in ("his", "hers") or (word == "her" and match.group(2) is not None)
    return f"{name}'s" if possessive else name
