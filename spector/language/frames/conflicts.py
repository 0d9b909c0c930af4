"""Whether a new statement contradicts an older one, by slots and values alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from spector.language.frames.predicates import (
    EACH,
    KIN,
    MANY_NOUNS,
    NAMED,
    SLOTS,
    is_single_valued,
    predicate_of,
)
from spector.language.frames.sentences import Statement
from spector.language.frames.values import UNIT_GROUPS, UNITS, forms_differ, normal_value
from spector.language.tables import patterns_of, territories, word_lists
from spector.language.words import plain

_RE: Final = patterns_of("conflicts")

Kind = Literal["none", "contradicts", "replaces"]
Rule = Literal["", "value", "polarity", "said"]

#: slots that persons fill
_PERSONS: Final = frozenset("is_named manager owner president".split())
#: with them "is a cook" tells how someone is
_PRAISE: Final = word_lists("conflicts")["praise"]
#: predicates that may have several values, but "now" means another one
_ONE_AT_A_TIME: Final = frozenset("prefers drives runs_on".split())
_CONFIDENCE: Final = {"said": 0.98, "value": 0.97, "polarity": 0.97, "form": 0.9}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a new statement does to the old ones.

    Attributes:
        kind: ``replaces`` where the text alone is sure enough to supersede, ``contradicts`` where
            both have to be kept, ``none``.
        rule: ``value``, another value of a one-valued predicate; ``polarity``, the same value
            denied or affirmed; ``said``, the text itself says that a value is replaced.
        confidence: of the verdict. old_index: of the old statement, -1 for none.
    """

    kind: Kind
    rule: Rule = ""
    confidence: float = 0.0
    old_index: int = -1


NO_CONFLICT: Final = Verdict("none")


def compare(old: Sequence[Statement], new: Statement, new_text: str = "") -> Verdict:
    """The strongest contradiction between a new statement and the living ones of its scope.

    Hedges, questions, plans and reports, values of another subject, additions ("also") and other
    times contradict nothing.

    Args:
        old: the living statements. new_text: the message that the new one is from.
    """
    found = verdicts(old, new, new_text)
    return max(found, key=lambda each: each.confidence, default=NO_CONFLICT)


def verdicts(old: Sequence[Statement], new: Statement, new_text: str = "") -> list[Verdict]:
    """Every contradiction, as `compare`; one old statement may have several."""
    if not _states(new) or new.added:
        return []
    found: list[Verdict] = []
    folded = plain(new_text)
    same = [at for at, each in enumerate(old) if _states(each) and _is_same_subject(each, new)]
    for at in same:
        each = old[at]
        if each.predicate != new.predicate or not _is_same_time(each, new):
            continue
        if each.polarity != new.polarity:
            if _value(each) == _value(new):
                sure = each.limit == new.limit or (new.changed and not new.limit)
                found.append(_verdict("polarity", sure, at))
        elif new.polarity and new.single and forms_differ(_value(each), _value(new)):
            known = new.predicate in SLOTS or is_single_valued(new.predicate)
            is_form = known or each.frame == new.frame
            corrects = _RE["corrects"].search(folded) is not None
            sure = new.changed or (is_form and (corrects or not _may_both_hold(each, new)))
            found.append(_verdict("value", sure and _are_alike(each, new), at))
    said = _said(old, same, new, folded)
    return found if said is None else [*found, said]


def _verdict(rule: Rule, sure: bool, at: int) -> Verdict:
    kind: Kind = "replaces" if sure else "contradicts"
    return Verdict(kind, rule, _CONFIDENCE[rule if sure else "form"], at)


def _may_both_hold(old: Statement, new: Statement) -> bool:
    """Whether two values are of two persons, or tell two things of one person, or are limited in
    two ways, a town and a country, or of units that do not mix."""
    if new.subject.split()[-1] in MANY_NOUNS or bool(new.kin) != bool(old.kin):
        return True
    if _are_traits(old, new) or _is_country(old.object) != _is_country(new.object):
        return True
    one, other = ({*_value(each).split()} & UNITS for each in (old, new))
    mixed = any(one <= group and other <= group for group in UNIT_GROUPS)
    return old.limit != new.limit or bool(one and other and one.isdisjoint(other) and not mixed)


def _are_traits(old: Statement, new: Statement) -> bool:
    """Whether values may tell how someone is: "my wife is Canadian", "is a wonderful cook"."""
    if new.predicate == "works_as":
        return any(_PRAISE & set(plain(each.object).split()) for each in (old, new))
    return _is_of_person(new) and not (_is_name(old) and _is_name(new))


def _is_of_person(one: Statement) -> bool:
    return one.predicate.rpartition("_")[2] in KIN or one.predicate in _PERSONS


def _is_country(value: str) -> bool:
    return plain(value).removeprefix("the ") in territories()


def _are_alike(old: Statement, new: Statement) -> bool:
    """Whether two values are written alike: two names, two amounts, or two common words.

    "fear" is no name beside "Porto". Slots that hold no names are
    written either way: "Green is the colour I like best".
    """
    if new.predicate in SLOTS.keys() - NAMED or new.predicate.startswith("favourite_"):
        return True
    if new.predicate in NAMED and (old.common or new.common):
        return False  # one works at a desk, and lives in a flat
    names = {_is_name(old), _is_name(new)}
    digits = {any(map(str.isdigit, each.object)) for each in (old, new)}
    return len(digits) == 1 and old.common == new.common and not names >= {True, False}


def _is_name(one: Statement) -> bool | None:
    """Whether a value has a capital, and does not say where someone is from; None where it only
    has the one that opens a text."""
    opens = one.span[1] > 0 and one.object_span[0] == one.span[0]  # a kept fact has no places
    words = one.object.split()[1 if opens else 0 :]
    if words and _is_of_person(one) and _RE["origin"].search(plain(words[-1])):
        return False
    return any(each[:1].isupper() for each in words) if words else None


def _states(statement: Statement) -> bool:
    return statement.modality == "asserted"


def _is_same_subject(one: Statement, other: Statement) -> bool:
    first, second = _folded(one.subject), _folded(other.subject)
    if first == second:
        return not (one.kin and other.kin) or _folded(one.kin) == _folded(other.kin)
    if "'s " in first or "'s " in second or not {"user", "agent"}.isdisjoint((first, second)):
        return False
    # "the report" and "the annual report" may be two; "server" and "Server's" are one
    return first.replace(" ", "") == second.replace(" ", "")


def _folded(name: str) -> str:
    return " ".join(plain(name).split())


def _is_same_time(old: Statement, new: Statement) -> bool:
    """Whether both are about now, or about the same time."""
    if old.window and new.window:
        return normal_value(old.window) == normal_value(new.window)
    if any(each and each.startswith(EACH) for each in (old.window, new.window)):
        return False  # what holds on Sundays leaves the other days alone
    past = new.tense == "past" and not new.changed
    if (old.window and not new.window) or (new.window and not old.window and past):
        return (old.window or new.window or "").startswith(("since", "Since"))
    if old.tense == "future" or new.tense == "future":
        return False
    # a birth is past and does not end; what was before may be what a change has ended
    lasts = new.changed or new.predicate in ("born_in", "born_on")
    return (old.tense == "past") == (new.tense == "past") or lasts


def _value(statement: Statement) -> str:
    return statement.value or normal_value(statement.object)


def _said(
    old: Sequence[Statement], same: Sequence[int], new: Statement, folded: str
) -> Verdict | None:
    """Rule (c): the new message says itself that a value is replaced."""
    if not new.polarity or _RE["past_words"].search(folded):
        return None
    value, before = _value(new), normal_value(new.replaced or "")
    named = [
        at
        for at in same
        if before
        and not forms_differ(_value(old[at]), before)
        and (old[at].predicate == new.predicate or (old[at].single and old[at].tense == "present"))
    ]
    for found in (named, _of_slot(old, same, new)):
        if len(found) == 1:
            each = old[found[0]]
            differ = each.polarity and forms_differ(_value(each), value)
            if differ and _is_same_time(each, new) and (found is named or _are_alike(each, new)):
                return Verdict("replaces", "said", _CONFIDENCE["said"], found[0])
    return None


def _of_slot(old: Sequence[Statement], same: Sequence[int], new: Statement) -> list[int]:
    """The statements whose slot a message of change is about."""
    if new.tense == "past" or not new.changed:
        return []
    of_slot = [at for at in same if old[at].predicate == new.predicate]
    if new.predicate == "is" and not of_slot:  # "the database is X now": the only database
        name = predicate_of(new.subject)[0]
        return [at for at, each in enumerate(old) if _states(each) and each.predicate == name]
    single = new.single or is_single_valued(new.predicate) or new.predicate in _ONE_AT_A_TIME
    return of_slot if single else []
