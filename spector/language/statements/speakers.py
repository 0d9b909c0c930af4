"""Speakers named in a text itself, as in "Ann: hello".

These functions parse letters and signs of any script. `spector.write.speakers` compares with other
memories to decide whether such a name is a speaker.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from spector.language.words import plain
from spector.records import turn_before_in

_COLON: Final = re.compile("[:\uff1a]()()")
#: what relays put before a message: "[Ann]: ", "<Ann> ", "[from Ann (uid:77)] "
_TAG: Final = re.compile(
    r"\s{0,16}(?:\[(?:from )?([^\W\d_][^\[\]()<>\n:]{0,38})(?: \([^()\n]{0,40}\))?\]"
    r"|<([^\W\d_][^<>\n:/=]{0,38})>):?(?=\s)"
)
#: "yesterday [2026-11-24]", "last week [2026-11-16/2026-11-22]"
_NOTED_DAY: Final = re.compile(
    r"(?<=\S) \[(?:\d{4}(?:-\d\d){0,2}(?: \d\d:\d\d)?"
    r"|(?:\d{4}-\d\d-\d\d|\.\.)/(?:\d{4}-\d\d-\d\d|\.\.))\](?![(\]])"
)
#: white space, byte-order marks and zero-width characters before a name
UNSEEN: Final = " \t\n\ufeff\u200b\u200c\u200d\u2060\u00ad"
#: most characters and words of a name
_NAME_CHARS: Final = 40
_NAME_WORDS: Final = 4
#: most white space before a name
_INDENT: Final = 16
#: a title or initial may end in a full stop: "Dr.", "J.", "Prof."
_TITLE_CHARS: Final = 4
#: words of a name that need no capital: "van", "de", "al"
_PARTICLE_CHARS: Final = 3
_JOINTS: Final = frozenset("-'.\u2019\u02bc\u00b7\u2010\u2011\u30fb")
#: headings of notes and mails, which are not names, however they are written; as the speaker of
#: another memory they are
_HEADS: Final = frozenset(
    """answer date from important note question re reminder subject summary task title to todo
    update
    baslik cevap gorev guncelleme hatirlatma kimden kime konu not onemli ozet soru tarih
    yanit""".split()
)
_LONGEST_SPEAKER: Final = 200
#: greetings; text after a heading does not begin with one
_GREETS: Final = re.compile(
    r"\s*(?:hi|hello|hey|thanks|thank you|sorry|ok|okay|good (?:morning|evening|night)|merhaba"
    r"|selam|tesekkur\w*|gunaydin|iyi aksamlar)\b"
)
#: "I" in several languages, and endings of the first person in Turkish; for `plain` text
_I: Final = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|ich|mich|je|moi|yo|ik|jag|jeg|bana|beni|benim"
    r"|\u044f|\u043c\u043d\u0435|\w+(?:[iu]yoru|[ae]c[ae]g[iu]|m[iu]s[iu])m|\w{2,}[dt][iu]m)\b"
    r"|\bj'|[\u6211\u4ffa\u50d5\u79c1]|\u0623\u0646\u0627\b|\u092e\u0948"
)
_ASKS: Final = re.compile("[?\uff1f\u061f\u037e]")
#: characters of a text that are searched for speech
_SPOKEN_CHARS: Final = 2000


class Opening(NamedTuple):
    """The name that a text opens with.

    Attributes:
        name: the name as written, with single spaces.
        start: position of the text after it.
        proper: True if it is written like a name (capitalized in scripts with case, but not all in
            capitals) and is not a common heading ("Question:").
        role: True if it is a role of the user or the agent, see
            `spector.language.statements.roles.speaker_opening`.
    """

    name: str
    start: int
    proper: bool
    role: bool = False

    @property
    def folded(self) -> str:
        return folded_name(self.name)


def folded_name(name: str) -> str:
    """A name in the form for comparison: no case, no marks, single spaces."""
    return " ".join(plain(name).split())


def opening_of(text: str) -> Opening | None:
    """The name before the first colon of a text; None if there is no valid name.

    A name has one to four words of letters, marks, hyphens, apostrophes and full stops of initials,
    at most 40 characters, followed by a colon, white space and more text. So times ("10:30"),
    links, paths and shortcodes are not names.
    """
    found = _TAG.match(text) or _COLON.search(text, 0, _INDENT + _NAME_CHARS + 1)
    if found is None:
        return None
    raw = text[: found.start()].strip().lstrip(UNSEEN) or found[1] or found[2] or ""
    words = raw.split()
    start = found.end()
    while start < len(text) and text[start].isspace():
        start += 1
    spaced = start > found.end() or not found.group().endswith(":")
    if start == len(text) or not spaced or "\n" in raw or not 1 <= len(words) <= _NAME_WORDS:
        return None
    name = " ".join(words)
    if len(name) > _NAME_CHARS or not all(_is_word(word, n) for n, word in enumerate(words)):
        return None
    if len(words) == 1 and len(name) == 1 and _has_case(name):
        return None
    proper = _is_proper(words)
    if not proper and found[1] and found.group().endswith("]:"):
        return None  # "[link]: target" of Markdown
    return Opening(name, start, proper)


def later_openings(text: str, opening: Opening) -> Iterator[Opening]:
    """Names that later lines of a text open with, as in transcripts, mail headers and lists."""
    at = text.find("\n", opening.start)
    while at >= 0:
        at += 1
        line = text[at : at + _INDENT + _NAME_CHARS + 8]
        if _COLON.search(line):
            found = opening_of(line.partition("\n")[0])
            if found is not None:
                yield found
        at = text.find("\n", at)


def words_of(text: str, speaker: str | None) -> str:
    """A text without the name of its speaker at the start.

    The index has a field of its own for the speaker.
    """
    if not speaker or not _COLON.search(text, 0, _INDENT + _NAME_CHARS + 1):
        return text
    opening = opening_of(text)
    if opening is None or opening.folded != folded_name(speaker):
        return text
    return text[opening.start :]


def without_dates(text: str) -> str:
    """A text without the days that were noted behind its words, which change no ranking."""
    return _NOTED_DAY.sub("", text) if "[" in text else text


def searched_words(text: str, role: object, metadata: object) -> str:
    """What is embedded of a memory: what it answers or corrects, and its `words_of`."""
    words = without_dates(words_of(text, speaker_in(role, metadata)))
    before = turn_before_in(metadata)[1]
    return f"{before} {words}" if before else words


def speaker_in(role: object, metadata: object) -> str | None:
    """The speaker: ``speaker`` or ``name`` of the metadata, else the role of the message.

    A number or a list under these keys counts as a name too, and overrides the role.
    """
    if isinstance(metadata, Mapping):
        for key in ("speaker", "name"):
            name = metadata.get(key)
            if name is not None and (said := str(name).strip()):
                return said[:_LONGEST_SPEAKER]
    return role if isinstance(role, str) and role else None


def says_i(words: str) -> bool:
    """True for a first person or an initial greeting in one of several languages."""
    folded = plain(words[:_SPOKEN_CHARS]).replace("\u2019", "'")
    return _I.search(folded) is not None or _GREETS.match(folded) is not None


def is_question(words: str) -> bool:
    """True if a text has a question mark of any script."""
    return _ASKS.search(words, 0, _SPOKEN_CHARS) is not None


def _is_word(word: str, place: int) -> bool:
    """True for letters with marks and signs that names have; full stops only after titles.

    A title at the start may be in lower case: "dr. kim", but not "I went home. Kim".
    """
    if not word[0].isalpha():
        return False
    for char in word:
        if not (char.isalpha() or char in _JOINTS or unicodedata.category(char)[0] == "M"):
            return False
    stem = word.rstrip(".")
    if len(word) - len(stem) > 1:
        return False
    is_title = len(stem) <= _TITLE_CHARS and (not place or not word[0].islower())
    return stem == word or "." in stem or is_title


def _has_case(char: str) -> bool:
    return char.lower() != char.upper()


def _is_proper(words: list[str]) -> bool:
    cased = [word for word in words if _has_case(word[0])]
    folded = plain(" ".join(words))
    if folded in _HEADS or folded.removesuffix("s") in _HEADS:
        return False
    if not cased:
        return True
    if any(word[0].islower() and len(word) > _PARTICLE_CHARS for word in cased):
        return False
    if not cased[-1][0].isupper():
        return False
    letters = [word for word in cased if len(word) > 1 and "." not in word]
    return not (letters and all(map(str.isupper, letters)))
