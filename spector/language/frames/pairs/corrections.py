"""What a message of everyday chat corrects: "no wait, it's Tuesday", "yok, salıymış".

Such messages have no frame: they name the old value, what was changed, or nothing but the new value
behind a word that takes back. All rules ask for the same kind of value on both sides (an hour, a
day, an amount, a code, a name), for one of it in the old text, and for the words they are about.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from spector.language.frames.pairs.akin import STEM, met
from spector.language.frames.pairs.kinds import TITLES, Values, values_in
from spector.language.frames.pairs.leaving import LEAVES, leaves_for
from spector.language.frames.pairs.lines import SHIFTS, TURNS, Line, is_of_same, is_past
from spector.language.frames.pairs.values import UNIT_STEMS, is_count, is_day, is_value
from spector.language.words import is_stop, plain
from spector.process import keeps

__all__ = ["beginnings", "correction", "may_correct"]

#: takes back what was said, at the beginning of a message
_TAKES_BACK: Final = re.compile(
    r"^\W*(?:(?:oh|ah|hm+|ups|oops|hey|ya|ha)\W+)?(?:no\W+(?:wait|sorry|actually|it)|wait\W+(?:no|it)"
    r"|nope\b|oops\b|ups\b|sorry\b|scratch that|my bad|my mistake|correction\b|i meant?\b"
    r"|actually\b|turns out"
    r"|yok\W+(?:yok|pardon|ya|dur)|pardon\b|dur\W+(?:yok|yanlis)|hayir\W+|aslinda\b|duzeltiyorum"
    r"|duzeltme\b|yanlis (?:soyledim|yazdim)|meger\w*)"
)
#: confidence where the message says what its value is of, and where it does not
_SURE: Final = 0.975
_OPEN: Final = 0.8
#: what was changed, before or behind its noun
_CHANGED: Final = re.compile(
    r"\b(?:changed|switched|updated|replaced|reset|swapped) (?:the |my |our |his |her |their )?"
    r"(?P<changed>[\w' ]{2,40}?)(?= to\b|,|;| -|$| and\b|\.| it)"
    r"|\bnew (?P<fresh>\w+(?: \w+)?)"
    r"|(?P<turned>(?:\w+ ){0,2}\w+) (?:degis(?:ti|tirdi\w*|mis|tirildi)|guncelle\w+|yenile\w+)\b"
    r"|\byeni (?P<other>\w+)"
)
#: the value behind "not" is the old one; in Turkish it stands before "değil"
_NOT: Final = re.compile(r"\bnot (?P<after>[^,.;!]{1,40})|(?P<before>(?:\S+ ){0,3}\S+) degil\b")
#: what one leaves, and what one goes over from
_LEFT: Final = re.compile(
    r"\b(?:moved|migrated|switched|upgraded|went|came)(?: away| \w+| \w+ \w+)? "
    r"(?:off|from)(?: of)? (?P<one>[^,.;!]{1,40}?)"
    r"(?= to\b|,|;|\.|!|$)"
    r"|\b(?:dropped|ditched|got rid of|stopped using|no longer using) (?P<two>[^,.;!]{1,40}?)"
    r"(?= for\b| and\b|,|;|\.|!|$)"
    r"|(?P<three>[\w.]+)['’]?(?:d[ae]n|t[ae]n) [\w.]+['’]?y?[ae] "
    r"(?:tasi|gec|cevir|degistir|don|kay|cek|al[iu]n|ertele)\w*[dt][iu]\w*"
)
#: one has it no longer
_SOLD: Final = re.compile(
    r"\b(?:sold|returned|gave away|gave up|cancelled|canceled|quit)\b"
    r"|\b(?:sat|birak|iade et|iptal et|ver)[dt][iu](?:m|k)\b"
)
_NOW: Final = re.compile(
    r"\b(?:now|nowadays|these days|already|from (?:this|next) (?:week|month|year)"
    r"|from (?:mon|tues|wednes|thurs|fri|satur|sun)day(?: on)?|itibaren"
    r"|(?:as of|starting|from) (?:today|tomorrow|now)|artik|simdi|su an|oldu(?:m|k|lar)?)\b"
)
_GIVEN_UP: Final = re.compile(r"\b(?:i|we)(?:'ve| have)? (?:gave|given) up (?:on )?(.+)")
_KIN: Final = re.compile(
    r"\b(anne|baba|kardes|abi|abla|ogl|kizim|esim|esin|koca|karim|dede|teyze|amca|dayi|hala|kuzen"
    r"|arkadas)\w*"
)
#: says what is not so any more
_NO_MORE: Final = re.compile(r"\b(?:any ?more|no longer|artik)\b")
_OWN: Final = re.compile(r"\b(?:i|i'm|im|my|we|we're|our)\b|\w+(?:[iu]yor(?:um|uz)|m|[iu]z)\b")
_NOT_SO: Final = re.compile(r"\bnot\b|n't\b|\bno longer\b|\b\w+m[iu]yor|\bdegil|\byok(?:mus|tu)?\b")
#: kinds of values of which one is enough to know what is meant
_TELLING: Final = frozenset(("hour", "phone", "code", "mail"))
#: kinds of values of which a person has one or two: part of what they are of is enough
_OF_ONE: Final = frozenset(("phone", "mail"))
_YOK: Final = re.compile(r"\byok(?:mus|tu)?\b")
_VAR: Final = re.compile(r"\bvar(?:mis|di)?\b")
_VERB: Final = re.compile(r"(?P<stem>\w{2,}?)(?P<no>m)?[iu]yor(?P<who>\w*)")
_BEGUN: Final = re.compile(
    r"\bstarted (?P<verb>\w{2,}?)(?:ing)\b|\b(?P<stem>\w{2,}?)y?(?:meye|maya) basla[dt]i(?P<who>\w)"
)
#: each message that a rule here is about has one of these
_SIGNS: Final = (
    _TAKES_BACK, _NOT, _CHANGED, _LEFT, _GIVEN_UP, _NO_MORE, _YOK, _SOLD, _NOW, _BEGUN,
    re.compile(r"\b\w+m[iu]yor"), SHIFTS, TURNS, *LEAVES,
)


def may_correct(folded: str) -> bool:
    """Whether a message may correct another, by its own folded words."""
    return any(each.search(folded) for each in _SIGNS)


def correction(before: Line, clauses: tuple[Line, ...], new: str) -> float:
    """How surely a message takes back, or changes, the value that a sentence of an old text states.

    A message that does not say what its value is of, "it's 9:30, not 9:15", takes the place of
    nothing: alone, it would say less than what it corrects.

    Args:
        clauses: of the new message. new: its folded words.
    """
    if not clauses or is_past(before):
        return 0.0
    told, kin = _said(before), _kin(before)
    if not all(
        is_of_same(before, each) and _kin(each) == kin
        for each in clauses if met(_said(each), told)
    ):
        return 0.0
    known = values_in(before)
    sure = (
        any(_is_denied_now(before, each) for each in clauses)
        or _is_left(before, clauses, new) or _is_sold(before, clauses)
        or _is_given_up(before, clauses) or leaves_for(before, clauses, _said, _words)
        or _is_begun_again(before, clauses)
        or (bool(known) and (
            _takes_back(before, known, clauses, new) or _is_not(before, known, clauses, new)
            or _is_changed(before, known, clauses, new)
        ))
    )
    if sure:
        return _SURE
    return _OPEN if known and _is_not(before, known, clauses, new, alone=True) else 0.0


@keeps(512)
def beginnings(text: str) -> frozenset[str]:
    """The first letters of the words of a text, and its figures: texts that share none of them
    have no word in common, whatever its endings."""
    return frozenset(
        word if word[:1].isdigit() else word[:STEM] for word in _WORD.findall(plain(text))
        if not is_stop(word)
    )


def _takes_back(before: Line, known: Values, clauses: tuple[Line, ...], new: str) -> bool:
    """"No wait, the dentist is on Tuesday": one value of a kind, and else only known words."""
    given = _values(clauses)
    kind = _kind_changed(known, given)
    if not _TAKES_BACK.search(new) or kind is None or len(given) > 1:
        return False
    about = _about(clauses, given)
    shared = met(about, _said(before))
    return bool(shared) and len(about - shared) <= 1


def _is_not(
    before: Line, known: Values, clauses: tuple[Line, ...], new: str, *, alone: bool = False
) -> bool:
    """"The dentist is on Thursday, not Friday", "cuma değil perşembe".

    Args:
        alone: it names nothing but the two values.
    """
    found = _NOT.search(new)
    if found is None:
        return False
    piece = found["after"] or found["before"]
    given = _values(clauses)
    for kind, values in given.items():
        gone = {each for each in values if each in known.get(kind, ())}
        if len(gone) != 1 or len(values) != len(gone) + 1 or len(known[kind]) != 1 or (
            _are_others(kind, known, given)
        ):
            continue
        if not all(each.lstrip("0") in piece for each in _WORD.findall(next(iter(gone)))[:1]):
            continue
        about = _about(clauses, given)
        if kind == "figure":
            about = frozenset(word for word in about if word not in _MEASURES)
        if (not about and kind in _TELLING) if alone else met(about, _said(before)):
            return True
    return False


def _is_changed(before: Line, known: Values, clauses: tuple[Line, ...], new: str) -> bool:
    """"We changed the wifi password, it's X now", "the meeting was put off to 10:15"."""
    given = _values(clauses)
    kind = _kind_changed(known, given)
    if kind is None or _are_others(kind, known, given):
        return False
    about = _about(clauses, {kind: given[kind]})
    owner = _owner(before, known[kind])
    found = met(owner, about)
    if kind in owner and not (owner - found and about - met(about, owner)):
        found = met(owner, frozenset((kind,)) & about) and owner  # "so that's three cats"
    if not found or (found != owner and kind not in _OF_ONE):
        return False
    nouns = [next(each for each in one.groups() if each) for one in _CHANGED.finditer(new)]
    return any(met(_words(each), owner) for each in nouns) or any(
        SHIFTS.search(each.folded) or _NOW.search(each.folded) or TURNS.search(each.folded)
        for each in clauses
    )


def _are_others(kind: str, known: Values, given: Values) -> bool:
    """Whether both have names, and none in common: the value of one is not that of the other."""
    ones, others = known.get("name", set()), given.get("name", set())
    return kind != "name" and bool(ones) and bool(others) and not ones & others


def _owner(before: Line, values: Collection[str]) -> frozenset[str]:
    """The words that say what a value is of."""
    said = {word for value in values for word in _parts(value)}
    return frozenset(
        word for word in _said(before)
        if word not in said and word not in TITLES and word not in _NAMING and not is_value(word)
        and word not in _MEASURES
    )


def _parts(value: str) -> tuple[str, ...]:
    """A value and its words; what is counted, "2 cats", is what it is of, unless it measures."""
    words = _WORD.findall(value)
    if any(map(str.isdigit, value)):
        words = [word for word in words if word in _MEASURES or is_value(word) or is_day(word)]
    return (value, *words)


def _is_left(before: Line, clauses: tuple[Line, ...], new: str) -> bool:
    """"The billing service moved off Postgres": both it and what it left are in the old text."""
    said = _said(before)
    for found in _LEFT.finditer(new):
        gone = _words(next(each for each in found.groups() if each))
        rest = _about(clauses, {}) - gone
        if gone and met(gone, said) == gone and (
            any(map(str.isdigit, "".join(gone))) or met(rest, said - met(said, gone))
        ):
            return True
    return False


def _is_sold(before: Line, clauses: tuple[Line, ...]) -> bool:
    """"Sold the Civic, I drive a Mazda now": the old thing went, and the verb has another."""
    said = _said(before)
    for each in clauses:
        gone = met(said, _said(each)) if _SOLD.search(each.folded) else frozenset()
        if gone and any(
            other is not each and _NOW.search(other.folded) and met(said - gone, _said(other))
            for other in clauses
        ):
            return True
    return False


def _is_denied_now(before: Line, after: Line) -> bool:
    """"I'm not running the half marathon any more", "penisiline alerjim yokmuş"."""
    ones, others = _said(before), _said(after)
    shared = met(others, ones)
    if (_YOK.search(after.folded) and _VAR.search(before.folded)) or (
        _VAR.search(after.folded) and _YOK.search(before.folded)
    ):
        return bool(ones) and shared == others and met(ones, others) == ones
    one, other = _verbs(before), _verbs(after)
    if any((stem, who, not no) in other for stem, who, no in one):
        return bool(shared) and shared == others
    if not (_NO_MORE.search(after.folded) and _NOT_SO.search(after.folded)):
        return False
    if _NOT_SO.search(before.folded):
        return False
    if others == shared and len(shared) > _SHARED:
        return True  # "spin class isn't on Tuesdays any more"
    if not (_OWN.search(before.folded) and _OWN.search(after.folded)):
        return False
    return len(shared) >= _SHARED and len(others - shared) <= 1


def _is_begun_again(before: Line, clauses: tuple[Line, ...]) -> bool:
    """"I started eating meat again" of one who does not eat it; "et yemeye başladım"."""
    if not _NOT_SO.search(before.folded):
        return False
    said, verbs = _said(before), {(stem, who[-1:]) for stem, who, no in _verbs(before) if no}
    for each in clauses:
        found = _BEGUN.search(each.folded)
        if found is None:
            continue
        verb = found["verb"] or found["stem"]
        rest = frozenset(word for word in _said(each) if not word.startswith((
            verb, "started", "again", "yeniden", "tekrar", "basla")))
        if found["verb"]:
            denied = verb in before.row or f"{verb}e" in before.row
        else:
            denied = (verb, found["who"].replace("k", "z")) in verbs
        if denied and rest and met(rest, said) == rest:
            return True
    return False


@keeps(512)
def _kin(line: Line) -> frozenset[str]:
    """Whose kin a sentence is about, in Turkish, where endings tell it."""
    return frozenset(found[1] for found in _KIN.finditer(line.folded))


def _is_given_up(before: Line, clauses: tuple[Line, ...]) -> bool:
    """"I gave up on Japanese" of one who learns it."""
    said = _said(before)
    for each in clauses:
        found = _GIVEN_UP.search(each.folded)
        gone = _words(found[1]) if found is not None and _OWN.search(before.folded) else None
        if gone and met(gone, said) == gone:
            return True
    return False


#: content words that a denial in another verb shares with what it denies
_SHARED: Final = 2


def _verbs(line: Line) -> set[tuple[str, str, bool]]:
    """(stem, person, whether it is denied) of the Turkish verbs of the present."""
    return {
        (found["stem"], found["who"], found["no"] is not None)
        for word in line.row if (found := _VERB.fullmatch(word))
    }


@keeps(512)
def _said(line: Line) -> frozenset[str]:
    """The content words of a sentence as they are written, without signs and endings apart."""
    return frozenset(
        word for word, stem in zip(line.row, line.stems, strict=True)
        if stem in line.content and word[:1].isalnum() and word not in _IDLE and (
            word not in ("is", "n't", "are", "isn", "started") and not is_count(word))
        and not (_YOK.match(word) or _VAR.match(word) or _VERB.fullmatch(word))
    )


def _words(piece: str) -> frozenset[str]:
    return frozenset(
        word for word in _WORD.findall(piece) if not is_stop(word) and word not in _IDLE
    )


#: an old value and a new one may be named, and no third
_TWO: Final = 3
_WORD: Final = re.compile(r"[^\W_]+(?:[.:]\d+)*")


def _kind_changed(known: Values, given: Values) -> str | None:
    """The one kind of which both have one value, another one each."""
    kinds = [
        kind for kind, values in given.items()
        if len(known.get(kind, ())) == 1 and len(values - known[kind]) == 1 and len(values) < _TWO
    ]
    if len(kinds) > 1 and "figure" in kinds:
        kinds.remove("figure")  # a number beside a value of a kind
    return kinds[0] if len(kinds) == 1 else None


@keeps(64)
def _values(clauses: tuple[Line, ...]) -> Values:
    out: dict[str, set[str]] = {}
    for each in clauses:
        for kind, values in values_in(each).items():
            out.setdefault(kind, set()).update(values)
    return out


def _about(clauses: tuple[Line, ...], given: Values) -> frozenset[str]:
    """Content words of a message beside its values and what takes back."""
    said = {word for values in given.values() for value in values for word in _parts(value)}
    return frozenset(
        word for each in clauses for word in _said(each)
        if word not in said and word not in TITLES and not is_value(word)
    )


#: words that say nothing of whose a value is
_NAMING: Final = frozenset(
    """is called named name number code uses use take takes have has leave leaves start starts
    begin begins on adi ismi olan gunde""".split()
)
#: measure a value and say nothing of what it is of
_MEASURES: Final = UNIT_STEMS | frozenset("bin milyon milyar thousand million grand".split())
_IDLE: Final = frozenset(
    """wait sorry no scratch that bad mistake correction meant actually turns out heads up oops btw
    pardon yok dur hayir aslinda duzeltiyorum duzeltme yanlis soyledim yazdim meger haberin olsun
    bu arada not degil""".split()
)
