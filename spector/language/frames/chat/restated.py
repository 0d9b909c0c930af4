"""Whether a short message gives another value to what an older short one states.

"rent is 950 a month", then "they raised my rent to 1020". All rules ask for one value of a kind on
both sides and for nothing in the new message that the old one does not name: another flat, another
person, another day would be another thing.
"""

from __future__ import annotations

import itertools
import re
from typing import Final

from spector.language.frames.chat.amounts import Amount, are_of_kind
from spector.language.frames.chat.spoken import Clause, Spoken, spoken
from spector.language.frames.pairs import met
from spector.language.frames.predicates import KIN

__all__ = ["restated"]

#: names of the kinds of values of which a person has one
_KINDS: Final = {
    "phone": frozenset("phone number mobile cell numara numaram telefon telefonum cep".split()),
    "mail": frozenset("mail email address mailim adres adresim eposta".split()),
}
#: a value stands right behind what gives it
_GIVES: Final = re.compile(
    r"(?:\b(?:to|is|be|its|until|till|for)|'s|:)(?: (?:now|actually|about"
                           r"|like|only|the|at|on|in))*\s*$"
)
#: the form of a sentence leaves room for one value
_STATES: Final = re.compile(
    r"\b(?:is|are|'s|costs?|weighs?|opens?|closes?|starts?|begins?|ends?|leaves?|arrives?"
    r"|expires?)\b"
)
_SHIFTED: Final = re.compile(r"\b(?:mov|push|shift|slip|switch|chang|rais|lower|went|bump)\w*\b")
_INDEFINITE: Final = re.compile(r"\b(?:an?|some|bir)\b")
#: whose kin it is, in Turkish
_KIN: Final = re.compile(
    r"\b(anne|baba|kardes|abi|abla|ogl|kizim|esim|koca|karim|dede|teyze|amca|dayi|hala|kuzen"
    r"|arkadas|komsu)\w*"
)
#: one of several: "the flight back", "on sundays"
_ONE_OF: Final = re.compile(
    r"\b(?:back|return|outbound|second|guest|weekend|weekdays?|holidays?|donus|gidis|misafir|ikinci"
    r"|hafta (?:ici|sonu)|(?:mon|tues|wednes|thurs|fri|satur|sun)days"
    r"|(?:pazartesi|cumartesi|carsamba|persembe|cuma|pazar|sali)l[ae]r[iu])\b"
)
#: names the old value as well: "7 not 6", "7de 6da degil"
_NOT: Final = re.compile(r"\bnot (?:at |on |the )?\d|\d\S* degil\b")
#: what gives a value in Turkish stands behind it
_SHIFTED_TO: Final = re.compile(
    r"^\W*(?:\w+ )?(?:degis|ertele|alin|kay|tasi|yuksel|dus|cik|indir|arttir|artir|azalt|cek"
    r"|aldi|kaldi|gecti"
    r"|yapti|girdi|basti)\w*"
)
#: what narrows down a noun from behind: "the password at the cabin"
_OF: Final = re.compile(
    r"\b(?:for|of|at|in|with|on|from|by)(?: (?:the|my|our|a|an))? (?:\w+ )?(\w+)"
    r"(?=(?:'s| is| are| costs?| opens?| closes?| starts?| ends?| leaves?)\b)"
)
#: begins with what is the speaker's: "ayakkabi numaram 42"
_MINE: Final = re.compile(r"(?:\w+ )?\w{3,}(?:[aeiu]m|m[iu]z)\b")


def restated(old: str, new: str) -> float:
    """How surely a new short message gives another value to what an old one states, 0..1."""
    before, after = spoken(old), spoken(new)
    if before is None or after is None or _is_silent(before) or _is_silent(after):
        return 0.0
    if before.takes_back and not before.topic:
        return 0.0
    pair = _changed_value(before, after)
    if pair is None:
        return 0.0
    return 0.975 if _is_of_same(before, after, *pair) else 0.0


def _is_silent(message: Spoken) -> bool:
    return message.open or message.adds


def _changed_value(before: Spoken, after: Spoken) -> tuple[Amount, Amount, Clause] | None:
    """The one value that differs, and the clause that has it; all others must be the same."""
    if len(before.clauses) > 2:
        return None
    known = list(before.values)
    changed: list[tuple[Amount, Amount, Clause]] = []
    for clause in after.clauses:
        for value in clause.values:
            same = next((each for each in known if are_of_kind(each, value)
                         and each.form == value.form), None)
            if same is not None:
                continue
            akin = [each for each in known if are_of_kind(each, value)]
            exact = [each for each in akin if each.kind == value.kind] or akin
            if len(exact) != 1:
                return None
            changed.append((exact[0], value, clause))
    return changed[0] if len(changed) == 1 else None


def _is_of_same(
    before: Spoken, after: Spoken, old: Amount, new: Amount, clause: Clause
) -> bool:
    """Whether the new value is of the thing that the old one is of."""
    known = before.topic | _KINDS.get(old.kind, frozenset())
    about = frozenset(clause.topic)
    apart = not about  # "we moved the thing, its on friday now": said in another clause
    if apart:
        about = after.topic
    shared = met(about, known)
    extra = about - shared
    counted = frozenset(re.findall(r"[a-z]+", clause.folded[new.end :])[:1])
    if shared <= counted and len(before.topic) > 1:
        return False  # "no, 140 people": of what they are is open
    if not met(before.topic, about) and not (shared and old.kind in _KINDS):
        return False
    if (extra and not (apart and len(extra) <= 1 and after.changed)) or _narrows(after, extra):
        return False
    if _has_other_owner(before, after, after.topic) or before.past:
        return False
    if after.past and not _is_shift(clause, new):
        return False
    if old.kind != "day" and set(_ONE_OF.findall(before.folded)) - set(
        _ONE_OF.findall(after.folded)
    ):
        return False
    if after.takes_back or (len(after.values) > 1 and _NOT.search(after.folded)):
        return True
    missing = before.topic - met(before.topic, about | met(after.topic, known))
    if len(before.values) > len(after.values):
        return False
    if after.changed or after.learnt:
        missing -= _KINDS.get(old.kind, frozenset())
        return _is_moved(clause, new) and not (
            _narrows(before, missing) or missing & frozenset(_OF.findall(before.folded)))
    return not missing and _has_room_for_one(before, after)


def _is_moved(clause: Clause, new: Amount) -> bool:
    """Whether what the message says is new is its value: "moved to 10", not "moved on friday"."""
    return not _SHIFTED.search(clause.folded) or _is_shift(clause, new) or bool(
        re.search(r"\bnow\b", clause.folded))


def _is_shift(clause: Clause, new: Amount) -> bool:
    """Whether a verb of change gives the value."""
    return (
        _SHIFTED.search(clause.folded) is not None
        and _GIVES.search(clause.folded[: new.start]) is not None
    ) or _SHIFTED_TO.search(clause.folded[new.end :]) is not None or (
        re.search(r"\bturned $", clause.folded[: new.start]) is not None)


def _narrows(message: Spoken, words: frozenset[str]) -> bool:
    """Whether one of some words narrows down another one: "the guest wifi password"."""
    for clause in message.clauses:
        for word, behind in itertools.pairwise(clause.topic):
            if word in words and behind not in words and re.search(
                rf"\b{word} {behind}\b", clause.folded
            ):
                return True
    return False


def _has_other_owner(before: Spoken, after: Spoken, about: frozenset[str]) -> bool:
    if set(_KIN.findall(before.folded)) - set(_KIN.findall(after.folded)):
        return True
    kin = {word.removesuffix("s") for word in before.topic if word.removesuffix("s") in KIN}
    if after.other and not before.other:
        return True
    return bool(kin - {word.removesuffix("s") for word in about})


def _has_room_for_one(before: Spoken, after: Spoken) -> bool:
    """Whether the form of both says that they cannot both be so."""
    if any(_INDEFINITE.search(each.folded) or len(each.clauses) > 1 for each in (before,)):
        return False
    if all(_STATES.search(each.folded) for each in (before, after)):
        return True
    return before.topic == after.topic and all(
        _MINE.match(each.folded) is not None for each in (before, after))
