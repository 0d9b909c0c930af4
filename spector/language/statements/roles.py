"""Speakers that may instruct, and names that imitate their roles.

Texts of tools, documents and the agent itself are stored like any other memory, but only texts of
the user, or with the role of system or developer, can be instructions. The role decides. Without a
role, a text with a speaker or a source other than the user belongs to another speaker.

A name is compared as a reader would see it: compatibility characters folded, invisible characters
removed, lookalikes replaced by Latin letters, split words joined.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from spector.language.statements.speakers import (
    ASSISTANTS,
    USERS,
    Opening,
    later_openings,
    opening_of,
)
from spector.language.tables import grammar_table, patterns_of, word_lists
from spector.language.words import normalize_nfkc, normalize_unicode, plain
from spector.process import keeps

_RE: Final = patterns_of("roles")

#: roles besides the user's that may instruct
_PRINCIPALS: Final = frozenset(("system", "developer"))
#: names that are valid roles of a message
BARE_ROLES: Final = (ASSISTANTS | USERS) - {"model", "system"}
#: roles that a name must not imitate, folded
_ROLES: Final = ASSISTANTS | USERS | word_lists("roles")["roles"]
#: the same without marks and with decomposed Korean syllables, as names are compared
_BARE: Final = frozenset(
    "".join(char for char in normalize_unicode("NFD", role) if unicodedata.category(char) != "Mn")
    for role in _ROLES
)
#: roles and origins that are no names of persons
_NOBODY: Final = _ROLES | frozenset(
    "person document federation function tool_result summary data none unknown".split()
)
#: real names do not begin with these
_STEMS: Final = ("assistant", "developer", "system")
#: characters of a name that are compared; fewer are shown
_MOST_CHARS: Final = 256
_LONGEST: Final = max(map(len, _BARE))

#: invisible letters and a blank pattern; then invisible categories
_FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_INVISIBLE: Final = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Me", "Mn"))
_REVERSING: Final = re.compile("[\u061c\u200f\u202a-\u202e\u2066-\u2069]")
#: letters of other scripts that look like Latin ones
_LOOKALIKES: Final = str.maketrans(
    {
        letter: latin
        for letters, latins in grammar_table("any", "roles")["lookalikes"].values()
        for letter, latin in zip(letters, latins, strict=True)
    }
)
#: digits and signs in place of letters; one of them resembles two letters
_LEET: Final = tuple(str.maketrans("03457@$1!|", f"oeastas{3 * one}") for one in "li")
#: text before the first colon of a line; colons include lookalikes
_COLONS: Final = ":\u02d0\u02f8\u0589\u05c3\u1365\u1804\u2236\ua789\ufe13\ufe30\ufe55\uff1a"
_TURN: Final = re.compile(
    f"(?:^|(?<=[\n\r\x0b\x0c\x85\u2028\u2029]))[^\\S\n]*([^\\s{_COLONS}][^\n{_COLONS}]{{0,63}})"
    f"(?:\n[^\\S\n]{{0,16}})?([{_COLONS}])"
)
_TURN_WORDS: Final = 4
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_SPELT: Final = re.compile(r"[\w@$!|]+")


def person_of(role: str | None, speaker: str | None) -> str | None:
    """The name of the person who speaks; None for the user, an agent and whatever has no "I".

    Args:
        role: of the message: a name that is no role is that of the person.
        speaker: as the metadata name him, or the role.
    """
    name = role if speaker is None or speaker == role else speaker
    folded = plain(name or "").strip()
    if (
        name is None
        or not folded
        or folded in _NOBODY
        or (name == role and reads_like_a_role(name))
    ):
        return None
    return name


def may_instruct(role: str | None, name: str | None, source: str | None) -> bool:
    """True if the speaker of a text may instruct.

    Args:
        role: role of the message. It decides, unless ``name`` imitates another role.
        name: name of the speaker in the metadata.
        source: source of the message; what has one that is not the user never instructs.
    """
    if source is not None and plain(source.strip()) not in USERS:
        return False
    if role is not None:
        known = plain(role.strip())
        if known not in USERS and known not in _PRINCIPALS:
            return False
        return name is None or plain(name) in (known, *USERS) or not reads_like_a_role(name)
    return name is None or plain(name.strip()) in USERS


def speaker_opening(text: str) -> Opening | None:
    """The name at the start of a text, if it may be its speaker.

    "user:" and "assistant:" in their common forms are names of speakers. "system:", "developer:",
    "tool:" and names that imitate a role are not. Neither is the first name of a text with several
    speakers; replies of an assistant may have headings.
    """
    opening = opening_of(text)
    if opening is None:
        return None
    role = opening.folded in BARE_ROLES
    if not role and reads_like_a_role(opening.name):
        return None
    for other in later_openings(text, opening):  # then the text has several speakers
        is_role = other.folded in BARE_ROLES
        if other.folded != opening.folded and (is_role or (other.proper and not role)):
            return None
    return opening._replace(role=role)


def imitates_speaker(text: str) -> bool:
    """True if a line of a text begins like a turn of a speaker other than the user.

    The turn may have a role ("system: ...") or a name ("Eve: ..."), with any lookalike of a colon
    and any invisible characters. The speaker of such a text is not trusted.
    """
    texts = [text] if text.isascii() else [text, _RE["hidden"].sub("", text)]
    return any(map(_is_of_another, (found for each in texts for found in _TURN.finditer(each))))


def _is_of_another(turn: re.Match[str]) -> bool:
    name, colon = turn[1].strip(), turn[2]
    if len(name.split()) > _TURN_WORDS or plain(name) in USERS:
        return False
    if reads_like_a_role(name):
        return True
    after = turn.string[turn.end() : turn.end() + 1]
    opening = opening_of(f"{name}: .") if colon != ":" or not after.strip() else None
    return opening is not None and opening.proper


@keeps(4096)
def reads_like_a_role(name: str) -> bool:
    """True if a reader, human or model, may take a name for a role."""
    name = name[:_MOST_CHARS]
    if name.isascii():
        return _has_role(name.lower())
    known = normalize_nfkc(name)
    # Cherokee case folding gives capitals, which are the lookalikes of Latin letters
    forms = [known, *(form.translate(_LOOKALIKES) for form in (known, known.casefold()))]
    folded = {_folded(form) for form in forms}
    if _REVERSING.search(name):
        folded |= {each[::-1] for each in folded}
    return any(map(_has_role, folded))


def is_invisible(char: str) -> bool:
    """True if a character is invisible or merges with the one before it."""
    return char in _FILLERS or unicodedata.category(char) in _INVISIBLE


def _folded(name: str) -> str:
    """Visible characters in lower case, with lookalikes as Latin letters."""
    apart = normalize_unicode("NFD", name.lower())
    return "".join(_seen(char) for char in apart if not is_invisible(char)).lower()


def _seen(char: str) -> str:
    if char.isascii():
        return char
    like = _RE["like_latin"].fullmatch(unicodedata.name(char, ""))
    return like[1] if like else char


def _has_role(folded: str) -> bool:
    words = _LETTERS.findall(folded)
    if _is_role_in(words):
        return True
    if folded.isalpha():
        return False
    return any(
        _is_role_in(_LETTERS.findall(" ".join(_SPELT.findall(folded.translate(table)))))
        for table in _LEET
    )


def _is_role_in(words: list[str]) -> bool:
    """True if a word is a role, or consecutive words make one: "s y s t e m"."""
    for first in range(len(words)):
        joined = ""
        for word in words[first:]:
            joined += word
            if joined.startswith(_STEMS) or joined in _BARE or joined.removesuffix("s") in _BARE:
                return True
            if len(joined) > _LONGEST:
                break
    return False
