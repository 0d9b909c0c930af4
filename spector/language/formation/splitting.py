"""Splits a message at "and", where both sides have a verb and name others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from spector.language.dates import DateExpression
from spector.language.entities import rule_mentions
from spector.language.tables import patterns_of, word_lists
from spector.language.verbs import is_english_verb
from spector.language.words import plain, within

_WORDS: Final = word_lists("splitting")
_RE: Final = patterns_of("splitting")

_JOINT: Final = re.compile(r",?\s+(?:and|ve)\s+", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"[.!?;\n]+(?=\s|$)")
#: of a longer sentence each stretch is looked at by itself
_LONGEST: Final = 400
_WORD: Final = re.compile(r"[^\W_]+|['\u2019][^\W_]+")
_FENCE: Final = re.compile(r"```.*?(?:```|$)|`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d"
                           r"|\([^()\n]*\)|\[[^\[\]\n]*\]", re.DOTALL)  # fmt: skip
#: at the beginning of a text a capital is no sign of a name
_CAPITAL: Final = re.compile(r"(?:(?<=[^.!?:;\n] )|\A)[^\W\d_a-z][^\W\d_]+")
#: words in which the verb of a clause is looked for, and behind a name
_REACH, _NEAR = 6, 4


class Unit(NamedTuple):
    """A span of the message that tells one thing.

    ``subject`` is repeated from the statement before, "" where the span has its own.
    """

    start: int
    end: int
    subject: str = ""


class _Piece(NamedTuple):
    """One side of an "and": its words with their places in it, and whom it names."""

    text: str
    words: tuple[tuple[str, int, int], ...]
    names: frozenset[str]

    def has_capital(self, at: int) -> bool:
        return self.text[self.words[at][1]].isupper()


def units_of(text: str, dates: Sequence[DateExpression], *, turkish: bool) -> tuple[Unit, ...]:
    """The units of a message in order; they cover it but for the words that joined them."""
    start, end = _trimmed(text, 0, len(text))
    whole = [each.span() for each in _FENCE.finditer(text)]
    whole += [(each.start, each.end) for each in dates]
    bounds: list[Unit] = []
    begin, subject = start, ""
    ends = (mark.end() for mark in _SENTENCE_END.finditer(text))
    for first, last in within(_LONGEST, text, ends):
        if text[first:last].rstrip().endswith(("?", "\uff1f")):
            continue
        left = max(begin, first)
        joints = list(_JOINT.finditer(text, first, last))
        for joint, behind in zip_longest(joints, joints[1:]):
            if any(a < joint.end() and joint.start() < b for a, b in whole):
                continue
            stop = behind.start() if behind else last
            pieces = _piece(text, left, joint.start()), _piece(text, joint.end(), stop)
            split = _split(*pieces, turkish=turkish)
            if split is not None:
                bounds.append(Unit(*_trimmed(text, begin, joint.start()), subject))
                begin = left = joint.end()
                subject = split
    bounds.append(Unit(*_trimmed(text, begin, end), subject))
    return tuple(bounds)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _piece(text: str, start: int, end: int) -> _Piece:
    part = text[start:end]
    words = tuple((plain(each.group()), *each.span()) for each in _WORD.finditer(part))
    names = {plain(each.name) for each in rule_mentions(part)}
    for each in _CAPITAL.finditer(part):
        if start + each.start() and each.group()[0].isupper():
            names.add(plain(each.group()))
    if not _WORDS["first"].isdisjoint(word for word, _, _ in words[:3]):
        names.add("user")
    return _Piece(part, words, frozenset(names))


def _split(left: _Piece, right: _Piece, *, turkish: bool) -> str | None:
    """The subject to repeat where two sides are split ("" for none); None keeps them together."""
    if not (left.words and right.words and left.names and right.names):
        return None
    opens, last = right.words[0][0], len(left.words) - 1
    if left.names == right.names or not _WORDS["dependent"].isdisjoint((left.words[0][0], opens)):
        return None
    if left.words[last][0] in _WORDS["objects"] or (
        opens in ("i", "we", "ben", "biz") and left.has_capital(last)
    ):
        return None  # "Samantha and I have decided"
    return _turkish(left, right) if turkish else _english(left, right)


def _english(left: _Piece, right: _Piece) -> str | None:
    begin, at = _opening(left), _opening(right)
    verb = next(
        (n for n in range(begin + 1, min(begin + _REACH, len(left.words))) if _acts(left, n)), 0
    )
    if not verb:
        return None
    first, behind = right.words[at][0], at + 1
    if first in _WORDS["pronouns"]:
        is_own = behind < len(right.words) and (
            _acts(right, behind) or right.words[behind][0] in _WORDS["adverbs"]
        )
        return "" if is_own else None
    owned = first in _WORDS["determiners"]
    if owned or right.has_capital(at):
        for n in range(behind, min(behind + _NEAR - (not owned), len(right.words))):
            if _acts(right, n):
                return ""
            if not (owned or right.has_capital(n) or right.words[n][0] in _WORDS["adverbs"]):
                return None
        return None
    if behind == len(right.words) or _RE["clauses"].search(left.text):
        return None
    moves = _acts(right, at) and right.words[behind][0] in _WORDS["prepositions"]
    if not (moves or is_english_verb(first, subject=False)):
        return None
    while verb > begin + 1 and left.words[verb - 1][0] in _WORDS["adverbs"]:
        verb -= 1
    return " ".join(left.text[left.words[begin][1] : left.words[verb - 1][2]].split())


def _acts(piece: _Piece, at: int) -> bool:
    return is_english_verb(piece.words[at][0], subject=True)


def _opening(piece: _Piece) -> int:
    """The word behind an expression of time or an adverb that opens a clause."""
    at, last = 0, len(piece.words) - 1
    while at < last:
        word = piece.words[at][0]
        leads = word in _WORDS["leads"] and at + 1 < last and not piece.has_capital(at + 1)
        is_day = word.endswith("day") and word != "day"
        if not (leads or is_day or word in _WORDS["adverbs"] or word in _WORDS["times"]):
            break
        at += 1
    return at


def _turkish(left: _Piece, right: _Piece) -> str | None:
    persons = [_person(piece.words[-1][0]) for piece in (left, right)]
    if 0 in persons:
        return None
    return "" if persons[1] != 3 or _turkish_subject(right) else _turkish_subject(left)


def _person(word: str) -> int:
    """The person that the ending of a Turkish verb names: 1, 2 or 3; 0 for no verb."""
    found = _RE["verb_tr"].fullmatch(word)
    if found is None or word in _WORDS["no_verbs_tr"]:
        return 0
    if found["denied"] or found["own"] or found["past"] in ("m", "k"):
        return 1
    return 2 if found["other"] or (found["past"] or "")[:1] == "n" else 3


def _turkish_subject(piece: _Piece) -> str:
    """A name without a case, or a pronoun, that a clause begins with; "" where none does."""
    at, last = 0, len(piece.words) - 1
    while at < last and piece.words[at][0] in _WORDS["openings_tr"]:
        at += 1
    word, start, end = piece.words[at]
    if word in _WORDS["pronouns_tr"]:
        return piece.text[start:end] if word not in ("o", "bu") or at < last else ""
    if at < last and piece.text[piece.words[at + 1][1]] in "'\u2019":
        return ""
    named = piece.has_capital(at) and (at or any(word in name.split() for name in piece.names))
    return piece.text[start:end] if named or word in _WORDS["kin_tr"] else ""
