"""Whether a new statement contradicts an older one, by slots and values alone."""

from __future__ import annotations

import re
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
from spector.language.tables import territories
from spector.language.words import plain

Kind = Literal["none", "contradicts", "replaces"]
Rule = Literal["", "value", "polarity", "said"]

#: a message that corrects what was said before
_CORRECTS: Final = re.compile(
    r"\b(?:actually|correction|i meant|my mistake|scratch that|not anymore|was wrong|should be"
    r"|to correct|aslinda|duzeltme|yanlis (?:soyledim|yazdim)|demek istedim|yanlisti)\b"
)
#: names another time than now: the value may have changed since and come back
_PAST_WORDS: Final = re.compile(
    r"\b(?:used to|back then|back when|at the time|in those days|as a (?:kid|child)|growing up"
    r"|when i was|previously|formerly|once lived|eskiden|o zamanlar|cocukken|bir zamanlar"
    r"|onceden)\b"
)
#: predicates that may have several values, but "now" means another one
_ONE_AT_A_TIME: Final = frozenset("prefers drives runs_on".split())
#: how likely rule (c) takes a noun of a correction for that of the old statement
_LIKE: Final = 0.45
_CONFIDENCE: Final = {
    "said": 0.98,
    "ended": 0.975,
    "value": 0.97,
    "polarity": 0.97,
    "form": 0.9,
}
#: verbs for the end of what one had, did or was so far
_ENDINGS: Final = frozenset("sold quit stopped left cancelled".split())
#: what one may leave for a while
_NOT_ENDED: Final = {"left": ("lives_in", "located_in", "likes", "owns", "has")}


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


def compare(
    old: Sequence[Statement],
    new: Statement,
    new_text: str = "",
    *,
    likeness: Sequence[float] | None = None,
) -> Verdict:
    """The strongest contradiction between a new statement and the living ones of its scope.

    Hedges, questions, plans and reports, values of another subject, additions ("also") and other
    times contradict nothing.

    Args:
        old: the living statements. new_text: the message that the new one is from.
        likeness: of the new message to that of each old statement, 0 to 1; lets a correction
            ("Actually, 8443") meet the old value of a predicate that may have several.
    """
    found = verdicts(old, new, new_text, likeness=likeness)
    return max(found, key=lambda each: each.confidence, default=NO_CONFLICT)


def verdicts(
    old: Sequence[Statement],
    new: Statement,
    new_text: str = "",
    *,
    likeness: Sequence[float] | None = None,
) -> list[Verdict]:
    """Every contradiction, as `compare`; one old statement may have several."""
    if not _states(new) or new.added:
        return []
    found: list[Verdict] = []
    corrects = _CORRECTS.search(plain(new_text)) is not None
    same = [at for at, each in enumerate(old) if _states(each) and _is_same_subject(each, new)]
    same += _of_only_name(old, new)
    same = [at for at in same if not _is_unnamed(old[at], new)]
    for at in same:
        each = old[at]
        if not _is_same_time(each, new):
            if new.predicate in _ENDINGS and _ends(each, new):
                found.append(Verdict("replaces", "said", _CONFIDENCE["ended"], at))
            continue
        differ = forms_differ(_value(each), _value(new))
        if each.predicate == new.predicate and each.polarity != new.polarity:
            if _value(each) == _value(new):
                sure = each.limit == new.limit or (new.changed and not new.limit)
                found.append(_verdict("polarity", sure, at))
            elif _ends(each, new):
                found.append(Verdict("replaces", "said", _CONFIDENCE["ended"], at))
        elif each.predicate == new.predicate and new.polarity and differ and new.single:
            known = new.predicate in SLOTS or is_single_valued(new.predicate)
            sure = not _are_of_two_kinds(each, new) and (
                new.changed
                or (
                    (known or each.frame == new.frame)
                    and not _may_be_traits(each, new)
                    and (corrects or not _may_both_hold(each, new))
                )
            )
            found.append(_verdict("value", sure, at))
        elif _ends(each, new):
            found.append(Verdict("replaces", "said", _CONFIDENCE["ended"], at))
    said = _said(old, same, new, new_text, likeness)
    return found if said is None else [*found, said]


def _verdict(rule: Rule, sure: bool, at: int) -> Verdict:
    kind: Kind = "replaces" if sure else "contradicts"
    return Verdict(kind, rule, _CONFIDENCE[rule if sure else "form"], at)


def _may_both_hold(old: Statement, new: Statement) -> bool:
    """Whether two values are of two persons or units, limited in two ways, or one a kind."""
    is_one_name = _folded(new.subject) == _folded(old.subject)
    if is_one_name and bool(new.kin) != bool(old.kin):  # "my aunt Sarah" need not be Sarah
        return True
    if new.subject.split()[-1] in MANY_NOUNS:  # of two sons
        return True
    if _is_country(old.object) != _is_country(new.object):  # a town may lie in it
        return True
    if old.limit != new.limit or _are_incomparable(_value(old), _value(new)):
        return True
    return (old.common and _has_name(new)) or (new.common and _has_name(old))


def _is_country(value: str) -> bool:
    return plain(value).removeprefix("the ") in territories()


def _is_unnamed(old: Statement, new: Statement) -> bool:
    """Whether an employer or a town is none: one works at a desk, and lives in a flat, in one."""
    is_value = old.predicate == new.predicate and old.polarity == new.polarity
    return is_value and new.predicate in NAMED and (old.common or new.common)


def _are_of_two_kinds(old: Statement, new: Statement) -> bool:
    """Whether only one of two values is written as a name where both are names: "fear", "Porto"."""
    if new.predicate == "is_named":
        return not (_is_name(old.object) and _is_name(new.object))
    return new.predicate in NAMED and old.object.islower() != new.object.islower()


def _has_name(one: Statement) -> bool:
    """Whether a value is surely written as a name: not one that only opens its sentence."""
    opens = one.span[1] > 0 and one.object_span[0] == one.span[0]  # a kept fact has no places
    return not one.common and not opens and any(word[:1].isupper() for word in one.object.split())


def _are_incomparable(first: str, second: str) -> bool:
    """Whether two amounts are of units that cannot be counted in each other: kg and pounds."""
    one, other = ({*each.split()} & UNITS for each in (first, second))
    return (
        bool(one and other)
        and one.isdisjoint(other)
        and not any(one <= group and other <= group for group in UNIT_GROUPS)
    )


def _may_be_traits(old: Statement, new: Statement) -> bool:
    """Whether two values of a person may both be told of him: "my wife is Ann", "is Canadian"."""
    if new.predicate == "works_as":
        return any(_PRAISE & set(plain(each.object).split()) for each in (old, new))
    role = new.predicate.rpartition("_")[2]
    if role not in KIN and role not in _ROLES:
        return False
    return not (_is_name(old.object) and _is_name(new.object))


def _is_name(value: str) -> bool:
    """Whether a value is written like a name, and not like where someone is from."""
    words = value.split()
    return value[:1].isupper() and not _ORIGIN.search(plain(words[-1]))


#: with them "is a cook" tells how someone is
_PRAISE: Final = frozenset(
    """wonderful great good amazing excellent terrible talented avid passionate huge big bad
    fantastic awful brilliant decent poor fast slow born natural harika iyi kotu muthis""".split()
)
_ROLES: Final = frozenset("manager owner president director chair captain".split())
_ORIGIN: Final = re.compile(r"(?:[aeio]an|ish|ese|[dn]ch|ss|eek|ani|aqi|man|ian|can|thai|lu|li)$")


def _ends(old: Statement, new: Statement) -> bool:
    """Whether a new statement says that an old state is over: "I sold the Civic", "I no longer
    like coffee" of one who liked it in the morning."""
    if old.tense != "present" or not old.polarity:
        return False
    over, before = _value(new).split(), _value(old).split()
    within = {*over} <= {*before} and over[-1:] == before[-1:]  # of one head: not "my mother's cat"
    if new.predicate == old.predicate:
        return within and not new.polarity and new.changed
    return (
        within
        and new.polarity
        and new.predicate in _ENDINGS
        and (old.predicate not in _NOT_ENDED.get(new.predicate, ()))
    )


def _states(statement: Statement) -> bool:
    return statement.modality == "asserted"


def _is_same_subject(one: Statement, other: Statement) -> bool:
    first, second = _folded(one.subject), _folded(other.subject)
    if first == second:
        return not (one.kin and other.kin) or _is_same_kin(one.kin, other.kin)
    if "'s " in first or "'s " in second or not _is_thing(one, other):
        return False
    # "the report" and "the annual report" may be two; "server" and "Server's" are one
    return first.replace(" ", "") == second.replace(" ", "")


def _of_only_name(old: Sequence[Statement], new: Statement) -> list[int]:
    """The statements about "my sister Ann" that "my sister" is about, if only Ann is known."""
    if new.kin or "'s " not in new.subject:
        return []
    found = [
        at
        for at, each in enumerate(old)
        if each.kin and _states(each) and _is_same_kin(each.kin, new.subject)
    ]
    return found if len({_folded(old[at].subject) for at in found}) == 1 else []


def _is_same_kin(one: str, other: str) -> bool:
    """Whether two names for what someone is are of one person: "older sister" and "sister"."""
    first, second = _folded(one).split("'s "), _folded(other).split("'s ")
    return first[:-1] == second[:-1] and first[-1].split()[-1] == second[-1].split()[-1]


def _is_thing(one: Statement, other: Statement) -> bool:
    return one.subject not in ("user", "agent") and other.subject not in ("user", "agent")


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
    return (old.tense == "past") == (new.tense == "past") or _lasts(old, new)


def _lasts(old: Statement, new: Statement) -> bool:
    """A birth is past and does not end; what was before may be what a change has ended."""
    return new.predicate in ("born_in", "born_on") or new.changed


def _value(statement: Statement) -> str:
    return statement.value or normal_value(statement.object)


def _said(
    old: Sequence[Statement],
    same: Sequence[int],
    new: Statement,
    new_text: str,
    likeness: Sequence[float] | None,
) -> Verdict | None:
    """Rule (c): the new message says itself that a value is replaced."""
    if not new.polarity:
        return None
    value = _value(new)
    if new.replaced and not _PAST_WORDS.search(plain(new_text)):
        before = normal_value(new.replaced)
        named = [
            at
            for at in same
            if old[at].polarity
            and not forms_differ(_value(old[at]), before)
            and forms_differ(_value(old[at]), value)
            and _may_be_replaced(old[at], new)
            and _is_same_time(old[at], new)
        ]
        if len(named) == 1:
            return Verdict("replaces", "said", _CONFIDENCE["said"], named[0])
    of_slot = _of_slot(old, same, new, new_text, likeness)
    if len(of_slot) != 1:
        return None
    each = old[of_slot[0]]
    if not each.polarity or not forms_differ(_value(each), value) or not _is_same_time(each, new):
        return None
    if _are_of_two_kinds(each, new):
        return None
    return Verdict("replaces", "said", _CONFIDENCE["said"], of_slot[0])


def _may_be_replaced(old: Statement, new: Statement) -> bool:
    """Whether a value that a message calls the old one is that of a slot, and not just mentioned:
    "I moved from Ankara" changes neither where one was born nor what one likes."""
    return old.predicate == new.predicate or (old.single and old.tense == "present")


def _of_slot(
    old: Sequence[Statement],
    same: Sequence[int],
    new: Statement,
    new_text: str,
    likeness: Sequence[float] | None,
) -> list[int]:
    """The statements whose slot a message of change or correction is about."""
    folded = plain(new_text)
    if new.tense == "past" or _PAST_WORDS.search(folded):
        return []
    of_slot = [at for at in same if old[at].predicate == new.predicate]
    if new.changed:
        if new.predicate == "is" and not of_slot:  # "the database is X now": the only database
            name = predicate_of(new.subject)[0]
            return [at for at, each in enumerate(old) if _states(each) and each.predicate == name]
        single = new.single or is_single_valued(new.predicate) or new.predicate in _ONE_AT_A_TIME
        return of_slot if single else []
    if likeness is None or not _CORRECTS.search(folded):
        return []
    return [at for at in of_slot if likeness[at] >= _LIKE]
