"""What a short message has to do with the turns before it: it answers, or it corrects."""

from __future__ import annotations

import re
from typing import Final

from spector.language.cues import need_gate
from spector.language.frames import are_of_kind, values_and_rest
from spector.language.observing.sentences import parts_of
from spector.language.words import analyse, is_stop, plain

#: characters of a question that are kept with its answer: the last ones
_QUESTION_CHARS: Final = 300
#: words of a message that corrects another one
_MOST_WORDS: Final = 16
#: says that what was said is to be read otherwise
_INSTEAD: Final = re.compile(
    r"^\W*\*|\b(?:i meant?|(?:scratch|strike|scrap) (?:that|it)|make (?:it|that)|correction|typo"
    r"|(?:my|a) (?:bad|mistake)|mis(?:typed|spoke|read|heard|wrote)|or rather|duzelt\w+|diyecektim"
    r"|demek istemistim|yanlis (?:yaz|soyle)\w+)\b"
)
#: hesitates, begins anew or takes back, in the first words or the last
_AGAIN: Final = re.compile(
    r"^(?:\W*\b(?:oh|ah|er+m?|uh+m?|um+|hm+|no|nope|nah|sorry|wait|oops|ups|actually|turns out|yok"
    r"|hayir|pardon|dur|aslinda|meger)\b)+|\b(?:sorry|pardon|actually|after all)\W*$"
)
#: adds to what was said
_ADDS: Final = re.compile(r"\b(?:also|too|as well|another|ayrica|bir de|baska)\b")
_FILLERS: Final = frozenset(analyse("now rather instead artık olacak oldu").content())
_YES_NO: Final = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|no|nope|nah|never|evet|hayir|yok|var|ja|nein|oui|non|si)\b"
)
#: a question about the one who is asked, and one that offers to do something
_ABOUT_YOU: Final = re.compile(r"\b(?:you|your|u|ur)\b|\w(?:s[iu]n|n var)\b")
_OFFERS: Final = re.compile(r"\b(?:i|me|we|us|let's|shall|want|ready)\b|\w[ae]y[iu]m m[iu]\b")
_TELL: Final = re.compile(
    r"\b(?:tell|give|remind) me\b|\blet me know (?!if\b)|\b(?:soyle|anlat|yaz)\b"
)
_CAPITAL: Final = re.compile(r"(?<=[^\w'’])[A-ZÇĞİÖŞÜ][^\W\d_]+")


def question_in(text: str) -> str:
    """What a message asks or wants to be told; "" for nothing."""
    asked = " ".join(
        part.text
        for part in parts_of(text)
        if part.kind == "asks" or (part.kind == "orders" and _TELL.search(part.folded))
    )
    return asked[-_QUESTION_CHARS:].strip()


def is_answer(text: str, question: str, *, by_user: bool) -> bool:
    """Whether a message gives what a question asks for, be it one word.

    Args:
        by_user: a user says it. An assistant answers by a value; all else is talk.
    """
    has_value = bool(values_and_rest(plain(text))[0] or _names(text))
    if not by_user or has_value:
        return has_value and not text.rstrip().endswith("?")
    if need_gate(text).needed:
        return any(each.said for each in parts_of(text))
    asked = plain(question)
    return _YES_NO.match(plain(text)) is not None and (
        _ABOUT_YOU.search(asked) is not None and _OFFERS.search(asked) is None
    )


def is_correction(text: str, before: str, question: str = "") -> bool:
    """Whether a short message says how the last words of its speaker are to be read.

    Args:
        question: of someone else in between; of anything else it is what the message answers.
    """
    if "?" in text or len(text.split()) > _MOST_WORDS:
        return False
    if _INSTEAD.search(plain(text)):
        return True
    if not _AGAIN.search(plain(text)):
        return False
    return _are_alike(before, text) and _about(plain(question)) <= _about(plain(before))


def corrected(before: str, text: str) -> str:
    """The words before with the one value that a correction has in place of theirs; "" where
    either has more than one value, or says something else besides."""
    folded, now = plain(before), plain(text)
    if len(parts_of(before)) != 1 or _ADDS.search(now):
        return ""
    known, named = values_and_rest(folded)[0], _names(before)
    forms = {each.form for each in known}
    values = [each for each in values_and_rest(now)[0] if each.form not in forms]
    names = [each for each in _names(text) if each not in before]
    more = _about(_INSTEAD.sub(" ", now)) - _about(folded) - set(map(plain, names))
    if len(values) + len(names) != 1 or more:
        return ""
    if names and len(named) == 1 and not known:
        return before.replace(named[0], names[0])
    if (
        values
        and len(known) == 1
        and are_of_kind(known[0], values[0])
        and (len(folded) == len(before) and len(now) == len(text))
    ):
        value = text[values[0].start : values[0].end]
        return f"{before[: known[0].start]}{value}{before[known[0].end :]}"
    return ""


def _are_alike(one: str, other: str) -> bool:
    """Whether two texts have values of one kind, or both have names, or they share a word."""
    old, new = (values_and_rest(plain(each))[0] for each in (one, other))
    if any(are_of_kind(a, b) for a in old for b in new) or (_names(one) and _names(other)):
        return True
    return not _about(plain(one)).isdisjoint(_about(plain(other)))


def _about(folded: str) -> frozenset[str]:
    """The words of a folded text that say what its values are of."""
    rest = values_and_rest(_AGAIN.sub(" ", folded))[1]
    return frozenset(analyse(rest).content()) - _FILLERS


def _names(text: str) -> list[str]:
    """Words with a capital that begin no text and are no days."""
    rest = values_and_rest(plain(text))[1]
    return [
        each
        for each in dict.fromkeys(_CAPITAL.findall(text))
        if not is_stop(each) and plain(each) in rest
    ]
