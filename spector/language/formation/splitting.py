"""Splits a message into statements, by the forms of its verbs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from spector.language.dates import DateExpression
from spector.language.entities import rule_mentions
from spector.language.formation.verbs import is_english_verb
from spector.language.words import plain, within

# Turkish verbs by their endings, as far as splitting needs it.

#: past, present, future, reported and aorist of any person, folded
_TURKISH: Final = re.compile(
    r"[a-z]{1,}(?:"
    r"[dt][iu](?P<past>m|n|k|niz|nuz|lar|ler|)"
    r"|(?:[iu]|)yor(?P<now>um|sun|uz|sunuz|lar|)(?:d[iu](?:m|n|k|lar)?)?"
    r"|(?:[ae]ca|ece)(?:k|g)(?P<later>im|sin|iz|siniz|lar|ler|)(?:ti(?:m|n|k|ler)?)?"
    r"|m[iu]s(?P<told>im|um|sin|sun|iz|uz|siniz|lar|ler|)(?:t[iu](?:m|n|k)?)?"
    r"|[aeiu]r(?P<always>im|um|sin|sun|iz|uz|lar|ler|)"
    r"|m[ae]z(?P<never>sin|siniz|lar|ler|)|m[ae]m"
    r")"
)
_TURKISH_NAMES: Final = frozenset(
    """simdi haydi hadi kedi yedi kendi pazartesi cumartesi sali var yok vardi hatirli doktor
    bilgisayar mudur memur kadar her kar bir diger biraz omer ender caner kenar duvar zarar karar
    haber eger peynir sehir demir nehir huzur yagmur tur cadir kultur onur ugur""".split()
)


def is_turkish_verb(word: str) -> bool:
    """Whether a folded word is a finite verb by its ending."""
    if word in ("var", "yok", "vardi", "yoktu", "degil", "degildi"):
        return True
    return len(word) > 3 and word not in _TURKISH_NAMES and bool(_TURKISH.fullmatch(word))


def turkish_person(word: str) -> int:
    """The person that the ending of a Turkish verb names: 1, 2 or 3."""
    found = _TURKISH.fullmatch(word)
    if found is None:
        return 3
    ending = next((each for each in found.groups() if each), "")
    if word.endswith(("mam", "mem")) or ending in ("m", "k", "um", "uz", "im", "iz"):
        return 1
    return 2 if ending[:1] in "sn" and ending else 3


_JOINT: Final = re.compile(r",?\s+(?:and|ve)\s+", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"[.!?;\n]+(?=\s|$)")
#: of a longer sentence each stretch is looked at by itself
_LONGEST: Final = 400
_WORD: Final = re.compile(r"[^\W_]+|['\u2019][^\W_]+")
_FENCE: Final = re.compile(r"```.*?(?:```|$)|`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d"
                           r"|\([^()\n]*\)|\[[^\[\]\n]*\]", re.DOTALL)  # fmt: skip
_PRONOUNS: Final = frozenset("i you he she it we they this that there".split())
_POSSESSIVES: Final = frozenset("my your his her its our their the a an".split())
_ADVERBS: Final = frozenset(
    """also then now later today yesterday tomorrow just still really finally recently already even
    so both always often usually never soon currently tonight probably maybe""".split()
)
_FIRST: Final = frozenset("i me my we our us".split())
#: a clause that hangs on another one says nothing alone
_DEPENDENT: Final = frozenset(
    """if when while because although though that which who whose unless until since whether how
    why where what eger""".split()
)
#: "sounds like you and Max": what is joined here are no clauses
_LAST: Final = frozenset("i you he she it we they me him her us them and or".split())
#: signs of another clause in the first half, whose subject may be another
_CLAUSES: Final = re.compile(
    r"[;:(\u2013\u2014-]\s|\s[\u2013\u2014-]|,\s+(?:i|you|he|she|it|we|they)\b"
    r"|\b(?:because|but|that|who|which|when|while|if|so)\b",
    re.IGNORECASE,
)
_TURKISH_OPENINGS: Final = frozenset(
    "dun bugun yarin simdi sonra once artik gecen hafta gece sabah aksam ay yil".split()
)
_TURKISH_KIN: Final = frozenset(
    """annem babam kardesim ablam abim esim arkadasim kizim oglum teyzem amcam dayim halam
    patronum""".split()
)
_TURKISH_PRONOUNS: Final = frozenset("ben sen o biz siz onlar bu".split())


class Unit(NamedTuple):
    """A span of the message that tells one thing.

    ``subject`` is repeated from the statement before, "" where the span has its own.
    """

    start: int
    end: int
    subject: str = ""


class _Piece(NamedTuple):
    text: str
    folded: tuple[str, ...]
    names: frozenset[str]


def units_of(text: str, dates: Sequence[DateExpression], *, turkish: bool) -> tuple[Unit, ...]:
    """The units of a message in order; they cover it but for the words that joined them."""
    start, end = _trimmed(text, 0, len(text))
    hidden = [(found.start(), found.end()) for found in _FENCE.finditer(text)]
    bounds: list[Unit] = []
    begin, subject = start, ""
    ends = (mark.end() for mark in _SENTENCE_END.finditer(text))
    for sentence_start, sentence_end in within(_LONGEST, text, ends):
        if text[sentence_start:sentence_end].rstrip().endswith(("?", "\uff1f")):
            continue
        left_start = max(begin, sentence_start)
        for joint in _JOINT.finditer(text, sentence_start, sentence_end):
            if joint.start() < left_start or any(
                a < joint.end() and joint.start() < b for a, b in hidden
            ):
                continue
            if any(each.start < joint.start() and joint.end() < each.end for each in dates):
                continue
            stop = _next_joint(text, joint.end(), sentence_end)
            split = _split(text, left_start, joint.start(), joint.end(), stop, turkish=turkish)
            if split is None:
                continue
            bounds.append(Unit(*_trimmed(text, begin, joint.start()), subject))
            begin, subject = joint.end(), split
            left_start = joint.end()
    bounds.append(Unit(*_trimmed(text, begin, end), subject))
    return tuple(bounds)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _next_joint(text: str, start: int, end: int) -> int:
    found = _JOINT.search(text, start, end)
    return found.start() if found is not None else end


def _piece(text: str, start: int, end: int) -> _Piece:
    part = text[start:end]
    folded = tuple(plain(found.group()) for found in _WORD.finditer(part))
    names = frozenset(plain(each.name) for each in rule_mentions(part))
    capitals = {
        plain(found.group())
        for found in re.finditer(r"(?<=[^.!?:;\n] )[^\W\d_a-z][^\W\d_]+", part)
        if found.group()[0].isupper() and found.group().lower() != "i"
    }
    opening = re.match(r"[^\W\d_a-z][^\W\d_]+", part)
    if start and opening is not None and opening.group()[0].isupper():
        capitals.add(plain(opening.group()))
    persons = {"user"} if _FIRST & set(folded[:3]) else set()
    return _Piece(part, folded, names | capitals | persons)


def _split(text: str, start: int, joint: int, after: int, end: int, *, turkish: bool) -> str | None:
    """The subject to repeat when the text is split here ("" for none); None keeps it whole."""
    left, right = _piece(text, start, joint), _piece(text, after, end)
    if not left.folded or not right.folded or not left.names or not right.names:
        return None
    if left.names == right.names or _DEPENDENT & {left.folded[0], right.folded[0]}:
        return None
    if left.folded[-1] in _LAST or (
        {"user"} in (left.names, right.names) and ({"user"} == left.names | right.names)
    ):
        return None
    if right.folded[0] in ("i", "we", "ben", "biz") and left.text.rstrip().split()[-1][0].isupper():
        return None  # "Samantha and I have decided"
    return _turkish(left, right) if turkish else _english(left, right)


# -- English ---------------------------------------------------------------------------------------


def _english(left: _Piece, right: _Piece) -> str | None:
    subject = _subject_end(left)
    if subject is None:
        return None
    own = _own_subject(right)
    if own:
        return ""
    if own is None or not _is_verb_first(right) or _CLAUSES.search(left.text):
        return None
    return " ".join(left.text[subject[0] : subject[1]].split())


def _words(piece: _Piece) -> list[tuple[str, int, int]]:
    return [
        (plain(found.group()), found.start(), found.end()) for found in _WORD.finditer(piece.text)
    ]


def _subject_end(piece: _Piece) -> tuple[int, int] | None:
    """Where the subject of the clause stands: the words before its first finite verb."""
    words = _words(piece)
    begin = _after_opening(piece)
    for at in range(begin, min(begin + 6, len(words))):
        if at > begin and is_english_verb(words[at][0], subject=True):
            end = at
            while end > begin + 1 and words[end - 1][0] in _ADVERBS:
                end -= 1
            return words[begin][1], words[end - 1][2]
    return None


def _after_opening(piece: _Piece) -> int:
    """The word behind an expression of time or an adverb that opens a clause."""
    words = _words(piece)
    at = 0
    while at < len(words) - 1 and (
        words[at][0] in _ADVERBS
        or (
            words[at][0] in ("last", "next", "this", "on", "in")
            and at + 2 < len(words)
            and not piece.text[words[at + 1][1]].isupper()
        )
        or words[at][0] in ("night", "week", "month", "year", "morning", "weekend", "evening")
        or (words[at][0].endswith("day") and words[at][0] != "day")
    ):
        at += 1
    return at


def _own_subject(piece: _Piece) -> bool | None:
    """True if a clause has a subject, False if it begins with its verb, None if neither."""
    words = _words(piece)
    at = _after_opening(piece)
    first = words[at][0]
    second = words[at + 1][0] if at + 1 < len(words) else ""
    if first in _PRONOUNS:
        return True if is_english_verb(second, subject=True) or second in _ADVERBS else None
    if first in _POSSESSIVES or piece.text[words[at][1]].isupper():
        limit = 5 if first in _POSSESSIVES else 4
        for n in range(at + 1, min(at + limit, len(words))):
            word = words[n][0]
            if is_english_verb(word, subject=True):
                return True
            if word in _ADVERBS:
                continue
            if first not in _POSSESSIVES and not piece.text[words[n][1]].isupper():
                return None
        return None
    return False


def _is_verb_first(piece: _Piece) -> bool:
    words = _words(piece)
    at = 0
    while at < len(words) - 1 and words[at][0] in _ADVERBS:
        at += 1
    word = words[at][0]
    return len(words) > at + 1 and (
        is_english_verb(word, subject=False)
        or (
            is_english_verb(word, subject=True)
            and (words[at + 1][0] in ("in", "at", "to", "for", "with", "as", "on", "from"))
        )
    )


# -- Turkish ---------------------------------------------------------------------------------------


def _turkish(left: _Piece, right: _Piece) -> str | None:
    if not (is_turkish_verb(_last(left)) and is_turkish_verb(_last(right))):
        return None
    has_own = _turkish_subject(right) or turkish_person(_last(right)) != 3
    return "" if has_own else _turkish_subject(left)


def _last(piece: _Piece) -> str:
    return piece.folded[-1] if piece.folded else ""


def _turkish_subject(piece: _Piece) -> str:
    """A name without a case, or a pronoun, that a clause begins with; "" where none does."""
    words = [(plain(found.group()), found) for found in _WORD.finditer(piece.text)]
    at = 0
    while at < len(words) - 1 and words[at][0] in _TURKISH_OPENINGS:
        at += 1
    word, found = words[at]
    following = words[at + 1][1] if at + 1 < len(words) else None
    if word in _TURKISH_PRONOUNS:
        return found.group() if word not in ("o", "bu") or at + 1 < len(words) else ""
    if following is not None and following.group()[0] in "'\u2019":
        return ""
    if word in _TURKISH_KIN:
        return found.group()
    if found.group()[0].isupper() and (at > 0 or any(word in name.split() for name in piece.names)):
        return found.group()
    return ""
