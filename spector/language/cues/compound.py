"""Splits compound cues into parts, each of which is recalled by itself.

A cue is split only at a clear boundary: several questions, two questions joined by "and", or one
question about several people of the store. Other cues stay whole, because half a question finds
less than a whole one. A pronoun that refers to the one person named before is replaced by the name.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable
from typing import Final

from spector.language.cues.intent import kind_of
from spector.language.cues.kinds import Kind
from spector.language.statements import Speakers
from spector.language.words import compose, plain

#: most parts of a cue
MOST_PARTS: Final = 4
#: longer cues are documents
_MOST_CHARS: Final = 2_000

#: a cue without a match is not compound
_MAY_HAVE_SEAM: Final = re.compile(
    r"[?\uff1f\u061f].|[,;&]|\b(?:and|or|plus|also|as well|ve|veya|ile|ayr[iı]ca)\b",
    re.IGNORECASE | re.DOTALL,
)
_END: Final = re.compile(r"[?\uff1f\u061f]+[\"'”’)]*\s*")
_WORD: Final = re.compile(r"[^\W_]+")
#: conjunction before a second question in a sentence
_SEAM: Final = re.compile(
    r"(?:[,;]\s*|\s+)(?:(?:and|plus|ve)(?:\s+(?:also|then|ayrica))?|also|ayrica|as well as)\s+"
    r"(?=(?:what|when|where|who|whom|whose|which|why|how|ne zaman|nerede|nereye|kim|kimin|hangi"
    r"|nasil|neden|nicin|niye|kac)\b"
    r"|(?:did|does|do|is|are|was|were|has|have|had|can|could|will|would) "
    r"(?:i|you|he|she|it|we|they|there)\b)",
    re.IGNORECASE,
)
#: separators of the names in a list
_BETWEEN: Final = re.compile(r"\s*(?:,|&|,?\s*(?:and|or|ve|ile|veya))\s*", re.IGNORECASE)
_BOTH: Final = re.compile(r"\bboth (?:of )?$", re.IGNORECASE)
_PRONOUN: Final = re.compile(r"\b(he|she|him|his|her|hers)\b(?=(\s+[^\W\d_])?)", re.IGNORECASE)

#: words without content; a part needs another word
_EMPTY: Final = frozenset(
    """a about am an and any are as at be been but by can could did do does for from had has have he
    her him his how i if in is isn it its just me my no not of on or our out right she so than that
    the their them then there they this to too up us was we were what when where which who whom
    whose why will with would yes you your also t s ne kim nerede hangi nasil neden ve de da mi mu
    bir bu o zaman kac""".split()
)


def split_cue(cue: str, speakers: Speakers | Iterable[str] = ()) -> list[str]:
    """Split a cue into its parts; a cue that is not compound is returned alone.

    Args:
        cue: any text; takes linear time.
        speakers: the speakers known in the store.

    Returns:
        1 to `MOST_PARTS` distinct texts. Talk is never split, because its sentences describe one
        situation. A statement next to a question stays with it.
    """
    if len(cue) > _MOST_CHARS or not _MAY_HAVE_SEAM.search(cue):
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
    cuts = [(match.start(), match.end()) for match in _SEAM.finditer(searched)]
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
    return any(match.group() not in _EMPTY for match in _WORD.finditer(plain(text)))


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
