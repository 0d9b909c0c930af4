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
from spector.language.words import normalize_nfkc, normalize_unicode, plain
from spector.process import keeps

#: roles besides the user's that may instruct
_PRINCIPALS: Final = frozenset(("system", "developer"))
#: names that are valid roles of a message
BARE_ROLES: Final = (ASSISTANTS | USERS) - {"model", "system"}
#: roles that a name must not imitate, folded
_ROLES: Final = (
    ASSISTANTS
    | USERS
    | frozenset(
        """admin administrator asistente assistente benutzer developer ferramenta function
    herramienta human instruction ipython memorie memory moderator model nutzer operator platform
    plugin prompt sistem sistema superuser sysadmin system systeme tool usuario utente utilisateur
    werkzeug
    anvandare assistent bruger bruker gebruiker uzytkownik
    \u043f\u043e\u043b\u044c\u0437\u043e\u0432\u0430\u0442\u0435\u043b\u044c
    \u0441\u0438\u0441\u0442\u0435\u043c\u0430
    \u0430\u0441\u0441\u0438\u0441\u0442\u0435\u043d\u0442
    \u7528\u6237 \u7528\u6236 \u7cfb\u7edf \u7cfb\u7d71 \u52a9\u624b \u52a9\u7406 \u5de5\u5177
    \u30e6\u30fc\u30b6\u30fc \u30b7\u30b9\u30c6\u30e0 \u30a2\u30b7\u30b9\u30bf\u30f3\u30c8
    \uc0ac\uc6a9\uc790 \uc2dc\uc2a4\ud15c""".split()
    )
)
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
#: "LATIN SMALL LETTER S WITH STROKE", "REGIONAL INDICATOR SYMBOL LETTER S"
_LIKE_LATIN: Final = re.compile(
    r"(?:.* )?(?:LATIN|REGIONAL INDICATOR SYMBOL) (?:.* )?(?:LETTER|CAPITAL) (?:[A-Z]{2,} )*([A-Z])"
    r"(?: WITH .+)?"
)
#: letters of other scripts that look like Latin ones
_LOOKALIKES: Final = str.maketrans({
    **dict(zip(  # Cyrillic
        "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u0501\u04bb"
        "\u051b\u0432\u043a\u043c\u043d\u0442\u0433\u0438\u043f\u0410\u0415\u041e"
        "\u0420\u0421\u0423\u0425\u0406\u0405\u0408\u0412\u041a\u041c\u041d\u0422",
        "aeopcyxisjdhqbkmhtrunAEOPCYXISJBKMHT", strict=True,
    )),
    **dict(zip(  # Greek
        "\u03bf\u03b1\u03b5\u03b9\u03c5\u03bd\u03c1\u03c4\u03ba\u03bc\u03c3\u0391"
        "\u0395\u039f\u0399\u03a1\u03a4\u039d\u039c\u03a5\u03a3",
        "oaeiuvptkmoAEOIPTNMYS", strict=True,
    )),
    **dict(zip(  # Armenian
        "\u057d\u0585\u0578\u0570\u0581",
        "uonhg", strict=True,
    )),
    **dict(zip(  # Cherokee
        "\u13da\u13ac\u13a1\u13a2\u13c7\u13aa\u13c6\u13de\u13d9\u13a0\u13df\u13bb"
        "\u13a9\u13cc\u13e2\u13be\u13f4\u13e6\u13c0",
        "SERTMAILVDCHYUPOBKG", strict=True,
    )),
    **dict(zip(  # Lisu
        "\ua4f4\ua4e2\ua4f0\ua4e3\ua4d4\ua4ec\ua4df\ua4f2\ua4ee\ua4e0\ua4f3\ua4e1"
        "\ua4f6\ua4f7",
        "USERTYMIANOLLD", strict=True,
    )),
})  # fmt: skip
#: digits and signs in place of letters; one of them resembles two letters
_LEET: Final = tuple(str.maketrans("03457@$1!|", f"oeastas{3 * one}") for one in "li")
#: text before the first colon of a line; colons include lookalikes
_COLONS: Final = ":\u02d0\u02f8\u0589\u05c3\u1365\u1804\u2236\ua789\ufe13\ufe30\ufe55\uff1a"
_TURN: Final = re.compile(
    f"(?:^|(?<=[\n\r\x0b\x0c\x85\u2028\u2029]))[^\\S\n]*([^\\s{_COLONS}][^\n{_COLONS}]{{0,63}})"
    f"(?:\n[^\\S\n]{{0,16}})?([{_COLONS}])"
)
#: invisible characters that may hide a name
_HIDDEN: Final = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
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
    texts = [text] if text.isascii() else [text, _HIDDEN.sub("", text)]
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
    like = _LIKE_LATIN.fullmatch(unicodedata.name(char, ""))
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
