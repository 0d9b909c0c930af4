"""People that texts name, and who of them a pronoun means."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from spector.language.entities import rule_mentions
from spector.language.tables import grammar_table, patterns_of, word_lists
from spector.language.verbs import is_english_verb
from spector.language.words import plain
from spector.process import keeps

_WORDS: Final = word_lists("names")
_RE: Final = patterns_of("names")

# People that a text names, and what their names say: a woman's, a man's, or either.

_ENDS: Final = frozenset('.!?:;\n"\u201c(*-\u2022')


class Person(NamedTuple):
    """A person that a text names."""

    name: str
    start: int
    end: int
    #: f, m, or "" where the name does not tell
    gender: str
    #: from a list or after a title; else it is only written like a name
    known: bool


@lru_cache(maxsize=1)
def _names() -> tuple[frozenset[str], frozenset[str]]:
    women, men = (frozenset(map(plain, _WORDS[each])) for each in ("women", "men"))
    both = women & men
    return women - both, men - both


def gender_of(name: str) -> str:
    """f or m as a first name or a title says, "" where it says neither."""
    women, men = _names()
    for word in plain(name).replace(".", " ").split():
        if word in women or word in _WORDS["female"]:
            return "f"
        if word in men or word in _WORDS["male"]:
            return "m"
    return ""


def people_in(text: str) -> list[Person]:
    """The people that a text names, in its order, with every mention of them."""
    typed = {each.start: each for each in rule_mentions(text)}
    others = [(each.start, each.end) for each in typed.values() if each.type != "person"]
    women, men = _names()
    found: list[Person] = []
    for match in _RE["name"].finditer(text):
        start, end = match.start(), match.end()
        name = match.group().rstrip(".")
        if start and text[start - 1].isalnum():
            continue
        while name and _is_no_name(name.split()[0], opens=_opens(text, start)):
            head = name.split()[0]
            rest = name[len(head) :].lstrip()
            start = match.start() + match.group().rfind(rest) if rest else end
            name = rest
        words = plain(name).split()
        if (
            not words
            or (len(words[0]) < 2 and len(words) == 1)
            or words[0] in _WORDS["place_heads"]
        ):
            continue
        if text[start + len(name) : start + len(name) + 2] in ("'t", "\u2019t"):
            continue  # "Don't"
        title = _title(text, start)
        first = words[0].rstrip(".")
        known = (
            bool(title)
            or first in women
            or first in men
            or any(
                each.type == "person" and start <= each.start < start + len(name)
                for each in typed.values()
            )
        )
        if not known and (
            _WORDS["not_people"] & set(words)
            or name.isupper()
            or any(a < start + len(name) and start < b for a, b in others)
            or (_opens(text, start) and len(words) == 1 and not _is_repeated(text, name, start))
        ):
            continue
        gender = gender_of(name) or title
        found.append(Person(name, start, start + len(name), gender, known))
    return _unified(found)


def _is_no_name(word: str, *, opens: bool) -> bool:
    """Whether a word is no part of a name; "Can" and "Will" are names within a sentence."""
    low = plain(word).rstrip(".")
    if not word[0].isupper():
        return True
    return low in _WORDS["common"] and (opens or not any(low in names for names in _names()))


def _title(text: str, start: int) -> str:
    """The gender that a title before a name tells; "?" is a title of either."""
    before = plain(text[max(0, start - 12) : start]).replace(".", " ").split()
    word = before[-1] if before else ""
    if word in ("mrs", "ms", "miss", "madam", "lady"):
        return "f"
    return "m" if word in ("mr", "sir", "lord") else ""


def _is_repeated(text: str, name: str, start: int) -> bool:
    """Whether a word is written like a name within another sentence as well."""
    before = text.find(f" {name}")
    return (0 <= before != start - 1) or text.find(f" {name}", start + 1) >= 0


def _opens(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \t\"'\u201c(*")
    return not before or before[-1] in _ENDS


def _unified(found: list[Person]) -> list[Person]:
    """A later "Smith" takes the gender of the "Mary Smith" named before."""
    out: list[Person] = []
    for each in found:
        if not each.gender:
            parts = set(plain(each.name).split())
            for other in reversed(out):
                if other.gender and parts & set(plain(other.name).split()):
                    each = each._replace(gender=other.gender, known=other.known)
                    break
        out.append(each)
    return out


# What speaks for and against a person as the one that a pronoun means.

#: the features with their weights, and a bias
WEIGHTS: Final[dict[str, float]] = grammar_table("any", "pronouns")["weights"]
FEATURES: Final = tuple(name for name in WEIGHTS if name != "bias")

_SENTENCE: Final = re.compile(r"[.!?]+[\"'\u201d)]*\s+(?=[\"'\u201c(]*[^\Wa-z_])|\n+")
_WORD: Final = re.compile(r"[^\W_]+")
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


@keeps(64)
def mentioned(text: str) -> tuple[Person, ...]:
    """The people that a text speaks of; those that it only calls by name are spoken to."""
    people = people_in(text)
    spoken = [each for each in people if not is_called(text, each)]
    names = [name_parts(each.name) for each in spoken]
    return tuple(
        each
        for each in people
        if each in spoken or any(same_name(name_parts(each.name), name) for name in names)
    )


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
    return [
        each
        for each in plain(name).replace(".", " ").split()
        if each not in _WORDS["titles_before"]
    ]


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
        "full_name": " " in cluster.name,
        "known": cluster.known,
        "gender": bool(cluster.gender),
    }
    here = [person for back, person in cluster.places if back == 0]
    before = [person for person in here if person.end <= at]
    if before:
        _of_text(known, before, here, rivals, text, at, word)
    _of_turns(known, cluster, rivals)
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
        "latest": all(person.start < last.start for person in others),
        "first": all(person.start > before[0].start for person in others),
        "mentions": math.log1p(len(here)), "share": len(before) / max(1, total),
    }  # fmt: skip
    behind = text[last.end : last.end + 60]
    following = _WORD.search(behind)
    follows = plain(following.group()) if following else ""
    direct = following is not None and not behind[: following.start()].strip(" ,")
    known["subject"] = direct and is_english_verb(follows, subject=True)
    previous = plain(text[max(0, last.start - 14) : last.start]).split()
    known["after_preposition"] = bool(previous) and previous[-1] in _WORDS["prepositions"]
    known["vocative"] = is_called(text, last)
    opens = any(0 <= last.start - start < 3 for start in starts)
    known["opens"] = opens
    possessive = word in _POSSESSIVES or (word == "her" and is_possessive(text, at))
    subject = word in ("he", "she")
    known["subject_here"] = apart == 0 and bool(known["subject"] or opens)
    clause = text[last.end : at]
    known["bound"] = (
        apart == 0
        and not possessive
        and not subject
        and word not in ("himself", "herself")
        and not _RE["clause"].search(clause)
    )
    pronoun_opens = at - sentence < 4 or text[sentence:at].rstrip().endswith(",")
    known["parallel"] = subject and pronoun_opens and apart == 1 and bool(known["subject"] or opens)


def is_called(text: str, person: Person) -> bool:
    """Whether a name calls its person: it stands between signs or at the edge of a sentence."""
    before = text[max(0, person.start - 20) : person.start].rstrip()
    behind = text[person.end : person.end + 5].lstrip()
    opened = not before or before[-1] in ",.!?;\n-"
    called = bool(before) and plain(before.rsplit(None, 1)[-1]) in _WORDS["calls"]
    return (opened or called) and (not behind or behind[0] in ",.!?;")


def is_possessive(text: str, at: int) -> bool:
    """Whether "her" stands before what is hers."""
    following = re.match(r"her\s+([^\W\d_]+)", text[at:], re.IGNORECASE)
    return following is not None and plain(following.group(1)) not in _AFTER_OBJECT


_AFTER_OBJECT: Final = _WORDS["prepositions"] | _WORDS["after_object"]


def _of_turns(known: dict[str, float], cluster: Cluster, rivals: Sequence[Cluster]) -> None:
    named = [back for back, _ in cluster.places if back > 0]
    if named:
        known["turns"] = math.log1p(min(named))
        known["turn_before"] = min(named) == 1
        nearest = min((back for each in rivals for back, _ in each.places), default=99)
        known["latest_turn"] = min(named) < nearest


# How likely a person is the one that a pronoun means: weights of features, fitted and tested.

#: the only person of a known gender that a text names before a pronoun of this gender, in the same
#: sentence or the one before: right in 35 of 45 cases of both development sets
_ALONE: Final = 0.78
_AT: Final = {name: n for n, name in enumerate(FEATURES)}


def likelihoods(
    fitting: Sequence[Cluster], text: str, at: int, word: str
) -> list[tuple[str, float]]:
    """(name, score) of all who may be meant, the best first; scores are at most 1 together."""
    rows = [
        features(each, [other for other in fitting if other is not each], text, at, word)
        for each in fitting
    ]
    scores = settled(rows, [_score(row) for row in rows])
    pairs = [(each.name, round(score, 3)) for each, score in zip(fitting, scores, strict=True)]
    return sorted(pairs, key=lambda pair: -pair[1])


def settled(rows: Sequence[Sequence[float]], scores: Sequence[float]) -> list[float]:
    """Scores of one word beside one another: at most 1 together, sure where no other is named."""
    total = max(1.0, sum(scores))
    scores = [score / total for score in scores]
    here = [n for n, row in enumerate(rows) if row[_AT["here"]]]
    if len(here) == 1 and _is_plain(rows[here[0]]):
        alone = here[0]
        scores[alone] = max(scores[alone], _ALONE)
        left = 1 - scores[alone]
        rest = sum(score for n, score in enumerate(scores) if n != alone)
        if rest > left:
            scores = [
                score if n == alone else score * left / rest for n, score in enumerate(scores)
            ]
    return scores


def _score(row: Sequence[float]) -> float:
    total = WEIGHTS["bias"] + math.fsum(
        WEIGHTS[name] * x for name, x in zip(FEATURES, row, strict=True)
    )
    return 1 / (1 + math.exp(-total))


def _is_plain(row: Sequence[float]) -> bool:
    """Whether the only person of a text is named close by, called by no one, and may be meant."""
    near = row[_AT["same_sentence"]] or row[_AT["sentence_before"]]
    return bool(near and row[_AT["gender"]] and not row[_AT["vocative"]] and not row[_AT["bound"]])
