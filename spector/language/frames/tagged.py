"""Statements that the trained head finds in what a user says, with the vetoes of the frames."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.language.entities import Seen, parts_of
from spector.language.frames import english
from spector.language.frames.extraction import persons_of, turns_in
from spector.language.frames.head import StatementHead, Triple
from spector.language.frames.predicates import KIN, canonical_name
from spector.language.frames.remarks import is_stated
from spector.language.frames.sentences import (
    AGENT,
    HEDGED_CONFIDENCE,
    RULE_CONFIDENCE,
    Place,
    Sentence,
    Statement,
    sentences,
)
from spector.language.frames.values import normal_value
from spector.language.statements import own_words
from spector.language.tables import word_lists
from spector.language.words import plain

#: the frame of what the head finds: it files facts, and orders or hides nothing
BY_HEAD: Final = "head"
#: probability from which the head is believed: .8 of what it files of unseen hands is what they say
LEAST: Final = 0.65
_WORDS: Final = word_lists("frames")
_NEGATIONS: Final = _WORDS["negations"]
_VERBS: Final = {
    **dict.fromkeys(("am", "'m", "’m", "im", "is", "are", "'s", "’s", "'re", "’re"), "is"),
    **dict.fromkeys(("have", "'ve", "’ve"), "has"),
    "were": "was",
}
_LONGEST: Final = 10
#: goes on with a word that is written together, by a sign within it
_GOES_ON: Final = re.compile(r"(?:[.,:/%+-]*\w+)*%?(?<![.,:/+-])")


class Tagged(NamedTuple):
    """A statement, and the mean of the vectors of its words in their text."""

    statement: Statement
    vector: NDArray[np.float32]


def tagged_statements(
    text: str,
    seen: Seen,
    head: StatementHead,
    *,
    speaker: str | None = None,
    role: str = "user",
    reference_time: int | None = None,
    least: float = LEAST,
) -> list[Tagged]:
    """What a user's or a named speaker's English text states, by the head.

    Questions, conditions, reports and quotations state nothing; nor does what the text takes back
    or denies, what it says in someone else's name, and what has a subject that no word of the text
    names.

    Args:
        seen: the words of the text. The others are as in `extract`.
    """
    first = speaker or persons_of(role)[0]
    if not first or first == AGENT or (not speaker and turns_in(text)):
        return []
    out = []
    said = own_words(text)
    parts = [Sentence((), 0, 0, False), *sentences(said)]
    for part in parts_of(seen):
        for each in head.triples([word.text for word in part.words], part.vectors, least):
            place = _place(part, each.value)
            if said[slice(*place)] != text[slice(*place)]:
                continue
            own = next((one for one in parts if one.start <= place[0] < one.end), parts[0])
            made = _statement(text, part, each, own, first, reference_time)
            if made is not None and is_stated(said, made, first):
                chosen = [*each.relation, *range(*each.value), *range(*(each.subject or (0, 0)))]
                mean = part.vectors[chosen].mean(axis=0)
                out.append(
                    Tagged(made, mean / max(math.sqrt(float(np.einsum("i,i->", mean, mean))), 1e-9))
                )
    return out


def as_written(text: str, place: Place) -> Place:
    """A place up to where its last word ends that is written together: all of "3,200"."""
    found = _GOES_ON.match(text, place[1])
    return place[0], found.end() if found else place[1]


def _place(seen: Seen, span: tuple[int, int]) -> Place:
    return seen.words[span[0]].start, seen.words[span[1] - 1].end


def _statement(
    text: str, seen: Seen, found: Triple, own: Sentence, first: str, reference_time: int | None
) -> Statement | None:
    if not own.words or english.sentence_modality(own) != "asserted":
        return None
    low = [plain(word.text) for word in seen.words]
    start, end = found.value
    while start < end - 1 and low[start] in english.ARTICLES:
        start += 1
    place = as_written(text, _place(seen, (start, end)))
    value = " ".join(text[slice(*place)].split())
    subject = _subject(text, seen, found.subject, first, low)
    predicate, polarity = _predicate(found, low)
    if subject is None or not predicate or end - start > _LONGEST or low[start] in english.PRONOUNS:
        return None
    name, kin, subject_place = subject
    if plain(name) == plain(value):
        return None
    hedged = english.doubts(own.words)
    return Statement(
        subject=name,
        predicate=canonical_name(predicate),
        object=value,
        polarity=polarity,
        modality="hedged" if hedged else "asserted",
        confidence=round(
            found.probability * (HEDGED_CONFIDENCE / RULE_CONFIDENCE if hedged else 1.0), 3
        ),
        span=(min(subject_place[0], place[0]), max(subject_place[1], place[1])),
        subject_span=subject_place,
        object_span=place,
        value=normal_value(value, reference_time=reference_time),
        frame=BY_HEAD,
        kin=kin,
    )


def _subject(
    text: str, seen: Seen, span: tuple[int, int] | None, first: str, low: Sequence[str]
) -> tuple[str, str, Place] | None:
    """(name, role in which it is named, place) of a subject; None where the text names no one."""
    if span is None:
        return first, "", (len(text), 0)
    place, (start, end) = _place(seen, span), span
    owner = english.POSSESSIVES.get(low[start], 0)
    start += owner > 0 or low[start] in english.ARTICLES
    if owner > 1 or start == end:
        return None
    if all(word in english.PRONOUNS for word in low[start:end]):
        return (first, "", place) if low[start] in ("i", "we", "me", "us") else None
    said = " ".join(text[slice(*_place(seen, (start, end)))].split())
    if not owner:
        return said, "", place
    whose = f"{first}'s {said}"
    if low[start] in KIN and start + 1 < end and seen.words[start + 1].text[:1].isupper():
        named = text[slice(*_place(seen, (start + 1, end)))]
        return " ".join(named.split()), f"{first}'s {low[start]}", place
    return whose, "", place


def _predicate(found: Triple, low: Sequence[str]) -> tuple[str, bool]:
    """The words of a predicate in snake case, and whether they affirm; "" where it is not sure."""
    start = found.value[0]
    small = [at for at in found.relation if low[at] in english.PREPOSITIONS]
    last = max((at for at in small if at < start), default=-1)  # "fly (to Oslo) on Friday"
    said = [low[at] for at in found.relation if at not in small or at == last]
    begin = max(
        0, start - 4, found.subject[1] if found.subject and found.subject[1] <= start else 0
    )
    unsaid = {low[at] for at in range(begin, start)} - set(said)
    if unsaid & (_NEGATIONS | _WORDS["wishes"] | english.MODALS.keys()):
        return "", True
    polarity = not _NEGATIONS.intersection(said)
    if not polarity:
        said = [word for word in said if word not in _NEGATIONS | _WORDS["helpers"]]
    if not said:
        return ("is" if found.subject is not None and polarity else ""), polarity
    said[0] = _VERBS.get(said[0], said[0])
    name = "_".join("".join(c for c in word if c.isalnum()) for word in said)
    return "_".join(filter(None, name.split("_"))), polarity
