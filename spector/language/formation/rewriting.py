"""First person to third: "I prefer tea" of Ada is "Ada prefers tea". Only where asked for."""

from __future__ import annotations

from typing import Final

from spector.language.tables import patterns_of, word_lists
from spector.language.verbs import is_english_verb, regular_forms
from spector.language.words import plain

_WORDS: Final = word_lists("rewriting")
_RE: Final = patterns_of("rewriting")

#: characters of a rewritten text at most
_MOST: Final = 500
_SPECIAL: Final = {
    "am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "go": "goes",
    "ain't": "isn't", "'m": "is",
}  # fmt: skip
_CONTRACTED: Final = {"i'm": "is", "im": "is", "i've": "has", "ive": "has", "i'll": "will"}
_OBJECTS: Final = {"me": "{}", "my": "{}'s", "mine": "{}'s", "myself": "themselves"}


def rewritten(text: str, name: str) -> str:
    """A text in the third person, of at most 500 characters.

    Questions, quotations, code and what the rules cannot turn safely stay as they were said.
    """
    cleaned = _RE["fillers"].sub("", text).strip()
    if cleaned[:1].islower() and text.strip()[:1].isupper():
        cleaned = cleaned[:1].upper() + cleaned[1:]
    if _RE["unsafe"].search(cleaned) or not cleaned:
        return _short(text.strip())
    if not _RE["first"].search(cleaned) or _RE["others"].search(cleaned):
        return _short(cleaned)
    turned = _english(cleaned, name)
    return _short(cleaned if turned is None else turned)


def _short(text: str) -> str:
    if len(text) <= _MOST:
        return text
    cut = text[: _MOST + 1].rsplit(None, 1)[0] if " " in text[:_MOST] else text[:_MOST]
    return cut[:_MOST].rstrip()


def _english(text: str, name: str) -> str | None:
    pieces = _RE["word"].findall(text)
    out: list[str] = []
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        low = plain(piece)
        if low in _CONTRACTED and (low[1] == "'" or piece[:1] in "Ii"):
            out += [name, " ", _CONTRACTED[low]]
        elif low == "i":
            done = _subject(pieces, at, out, name)
            if done is None:
                return None
            at = done
            continue
        elif low in _OBJECTS:
            out.append(_OBJECTS[low].format(name))
        else:
            out.append(piece)
        at += 1
    return "".join(out)


def _subject(pieces: list[str], at: int, out: list[str], name: str) -> int | None:
    """Write "I VERB" as "NAME VERBs"; None where no verb follows."""
    out.append(name)
    at += 1
    while at < len(pieces):
        piece, low = pieces[at], plain(pieces[at])
        if piece.isspace() or low in _WORDS["adverbs"]:
            out.append(piece)
            at += 1
            continue
        verb = _third(low)
        if verb is None:
            return None
        out.append(verb)
        at += 1
        return _second_verb(pieces, at, out, low)
    return None


def _second_verb(pieces: list[str], at: int, out: list[str], first: str) -> int:
    """The verb of "I cook and bake" behind the first: of the same subject."""
    if first in _WORDS["unchanged"] or first in ("do", "don't", "am"):
        return at
    rest = pieces[at:]
    for n in range(len(rest) - 2):
        if rest[n] in (".", ";", "!", ","):
            break
        if plain(rest[n]) == "and" and rest[n + 1].isspace():
            low = plain(rest[n + 2])
            verb = _third(low)
            if (
                verb is not None
                and is_english_verb(low, subject=True)
                and low != verb
                and (n + 4 < len(rest) and rest[n + 3].isspace())
            ):
                out += [*rest[: n + 2], verb]
                return at + n + 3
            break
    return at


def _third(verb: str) -> str | None:
    if verb in _SPECIAL:
        return _SPECIAL[verb]
    if verb in _WORDS["unchanged"]:
        return verb
    if not is_english_verb(verb, subject=True):
        return None
    if _RE["past"].fullmatch(verb) or verb in _WORDS["irregular_past"]:
        return verb
    return regular_forms(verb)[0]
