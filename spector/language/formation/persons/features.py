"""What speaks for and against a person as the one that a pronoun means."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from spector.language.formation.persons.people import Person, people_in
from spector.language.formation.verbs import is_english_verb
from spector.language.words import plain

#: the features, in the order of the weights
FEATURES: Final = (
    "here", "same_sentence", "sentence_before", "sentences", "words", "latest", "first", "mentions",
    "share", "subject", "subject_here", "opens", "owner", "after_preposition", "bound", "parallel",
    "possessive_subject", "later", "full_name", "known", "gender", "rivals", "turns", "turn_before",
    "speaks", "addressed", "latest_turn", "vocative", "alone", "alone_here", "gender_here",
    "gender_turns", "rivals_here",
)  # fmt: skip

_SENTENCE: Final = re.compile(r"[.!?]+[\"'\u201d)]*\s+(?=[\"'\u201c(]*[^\Wa-z_])|\n+")
_WORD: Final = re.compile(r"[^\W_]+")
_CLAUSE: Final = re.compile(
    r"[,;:()]|\b(?:and|but|that|who|which|when|while|because|as|if|where|after|before|since|so|or"
    r"|until|although|though)\b",
    re.IGNORECASE,
)
_PREPOSITIONS: Final = frozenset(
    """of to with by from for in on at about against between under after before like than as into
    over near behind beside toward towards without through""".split()
)
_POSSESSIVES: Final = frozenset(("his", "hers", "their"))


class Turn(NamedTuple):
    """One message of a conversation, who spoke it, and the people that it names."""

    text: str
    speaker: str | None
    people: tuple[Person, ...] = ()


class Cluster(NamedTuple):
    """A person with all places that name her: (turns back, person)."""

    name: str
    gender: str
    known: bool
    places: tuple[tuple[int, Person], ...]
    speaks: int = 0


def clusters(turns: Sequence[Turn], people: Sequence[Person]) -> list[Cluster]:
    """The people of a conversation and of its new message, each with all places."""
    found: list[Cluster] = []
    for back, turn in zip(range(len(turns), 0, -1), turns, strict=True):
        if turn.speaker:
            person = Person(turn.speaker, 0, 0, "", True)
            _add(found, back, person, speaks=back)
        for person in turn.people:
            _add(found, back, person)
    for person in people:
        _add(found, 0, person)
    return found


def mentioned(text: str) -> list[Person]:
    """The people that a text speaks of; those that it only calls by name are spoken to."""
    people = people_in(text)
    spoken = [each for each in people if not is_called(text, each)]
    names = [name_parts(each.name) for each in spoken]
    return [
        each
        for each in people
        if each in spoken or any(same_name(name_parts(each.name), name) for name in names)
    ]


def _add(found: list[Cluster], back: int, person: Person, *, speaks: int = 0) -> None:
    parts = name_parts(person.name)
    place = () if speaks else ((back, person),)
    for at in range(len(found) - 1, -1, -1):
        other = found[at]
        if same_name(parts, name_parts(other.name)):
            found[at] = Cluster(
                max(other.name, person.name, key=lambda name: (name.count(" "), len(name))),
                other.gender or person.gender, other.known or person.known,
                (*other.places, *place), speaks or other.speaks,
            )  # fmt: skip
            return
    found.append(Cluster(person.name, person.gender, person.known, place, speaks))


def name_parts(name: str) -> list[str]:
    return [each for each in plain(name).replace(".", " ").split() if each not in _TITLES]


_TITLES: Final = frozenset("mr mrs ms miss dr prof sir lady lord the".split())


def same_name(one: list[str], two: list[str]) -> bool:
    """Whether two names may name one person: the shorter is the beginning or end of the longer."""
    if not one or not two:
        return False
    short, long = sorted((one, two), key=len)
    if len(short) == len(long):
        return short == long or (
            len(short) == 1
            and len(short[0]) > 2
            and len(long[0]) > 2
            and (long[0].startswith(short[0]) or short[0].startswith(long[0]))
            and abs(len(short[0]) - len(long[0])) < 5
        )
    return (
        long[: len(short)] == short
        or long[-len(short) :] == short
        or (len(short) == 1 and len(short[0]) > 2 and long[0].startswith(short[0]))
    )


def features(
    cluster: Cluster,
    rivals: Sequence[Cluster],
    turns: Sequence[Turn],
    text: str,
    at: int,
    word: str,
) -> tuple[float, ...]:
    """The features of a person, in the order of :data:`FEATURES`.

    Args:
        rivals: everybody else who may be meant.
        at, word: where the pronoun stands in the text, and which one it is, folded.
    """
    known: dict[str, float] = {
        "full_name": " " in cluster.name, "known": cluster.known, "gender": bool(cluster.gender),
        "rivals": math.log1p(len(rivals)),
    }  # fmt: skip
    here = [person for back, person in cluster.places if back == 0]
    before = [person for person in here if person.end <= at]
    if before:
        _of_text(known, before, here, rivals, text, at, word)
    elif here:
        known["later"] = 1.0
        known["words"] = math.log1p(len(_WORD.findall(text[at : here[0].start])))
    _of_turns(known, cluster, rivals, turns)
    named = [each for each in rivals if each.places and each.gender]
    near = [
        each
        for each in named
        if any(back == 0 and person.end <= at for back, person in each.places)
    ]
    known["alone"] = not named and bool(cluster.places)
    known["alone_here"] = bool(before) and not near
    known["rivals_here"] = math.log1p(len(near))
    known["gender_here"] = bool(before) and bool(cluster.gender)
    known["gender_turns"] = bool(known.get("turns")) and bool(cluster.gender)
    return tuple(float(known.get(name, 0.0)) for name in FEATURES)


def _of_text(
    known: dict[str, float],
    before: Sequence[Person],
    here: Sequence[Person],
    rivals: Sequence[Cluster],
    text: str,
    at: int,
    word: str,
) -> None:
    last = before[-1]
    starts = [0, *(found.end() for found in _SENTENCE.finditer(text))]
    sentence = max(start for start in starts if start <= at)
    apart = sum(last.start < start <= at for start in starts)
    others = [
        person for each in rivals for back, person in each.places if back == 0 and person.end <= at
    ]
    total = len(others) + len(before)
    known |= {
        "here": 1.0, "same_sentence": apart == 0, "sentence_before": apart == 1,
        "sentences": min(apart, 5) / 5,
        "words": math.log1p(len(_WORD.findall(text[last.end : at]))),
        "latest": all(person.start < last.start for person in others),
        "first": all(person.start > before[0].start for person in others),
        "mentions": math.log1p(len(here)), "share": len(before) / max(1, total),
    }  # fmt: skip
    behind = text[last.end : last.end + 60]
    following = _WORD.search(behind)
    follows = plain(following.group()) if following else ""
    direct = following is not None and not behind[: following.start()].strip(" ,")
    known["subject"] = direct and is_english_verb(follows, subject=True)
    known["owner"] = behind.startswith(("'s", "\u2019s", "' ", "\u2019 "))
    previous = plain(text[max(0, last.start - 14) : last.start]).split()
    known["after_preposition"] = bool(previous) and previous[-1] in _PREPOSITIONS
    known["vocative"] = is_called(text, last)
    opens = any(0 <= last.start - start < 3 for start in starts)
    known["opens"] = opens
    possessive = word in _POSSESSIVES or (word == "her" and is_possessive(text, at))
    subject = word in ("he", "she")
    known["subject_here"] = apart == 0 and bool(known["subject"] or opens)
    known["possessive_subject"] = possessive and bool(known["subject_here"])
    clause = text[last.end : at]
    known["bound"] = (
        apart == 0
        and not possessive
        and not subject
        and word not in ("himself", "herself")
        and not _CLAUSE.search(clause)
    )
    pronoun_opens = at - sentence < 4 or text[sentence:at].rstrip().endswith(",")
    known["parallel"] = subject and pronoun_opens and apart == 1 and bool(known["subject"] or opens)


def is_called(text: str, person: Person) -> bool:
    """Whether a name calls its person: it stands between signs or at the edge of a sentence."""
    before = text[max(0, person.start - 20) : person.start].rstrip()
    behind = text[person.end : person.end + 5].lstrip()
    opened = not before or before[-1] in ",.!?;\n-"
    called = bool(before) and plain(before.rsplit(None, 1)[-1]) in _CALLS
    return (opened or called) and (not behind or behind[0] in ",.!?;")


_CALLS: Final = frozenset("hey hi oh ok okay dear hello thanks".split())


def is_possessive(text: str, at: int) -> bool:
    """Whether "her" stands before what is hers."""
    following = re.match(r"her\s+([^\W\d_]+)", text[at:], re.IGNORECASE)
    return following is not None and plain(following.group(1)) not in _AFTER_OBJECT


_AFTER_OBJECT: Final = _PREPOSITIONS | frozenset(
    """and or but that when while because if so then again back up down out off away too now there
    here a the an some what how who is was to not""".split()
)


def _of_turns(
    known: dict[str, float], cluster: Cluster, rivals: Sequence[Cluster], turns: Sequence[Turn]
) -> None:
    if not turns:
        return
    named = [back for back, _ in cluster.places if back > 0]
    if named:
        known["turns"] = math.log1p(min(named))
        known["turn_before"] = min(named) == 1
        nearest = min((back for each in rivals for back, _ in each.places), default=99)
        known["latest_turn"] = min(named) < nearest
    known["speaks"] = cluster.speaks > 0
    known["addressed"] = bool(turns[-1].speaker) and cluster.speaks == 1
