"""Terms of a text: one analysis for memories and for cues.

    normal form (NFKC) -> words -> lower case -> stem -> accents folded off

A word is a run of letters, digits and marks. Scripts without spaces (Han, kana, Hangul, Thai, Lao,
Khmer, Burmese) give overlapping pairs of characters instead. Each text is taken for English or
Turkish as a whole; a word with a letter that only Turkish has is Turkish in any text.

**Terms** are strings. The kinds of terms cannot be confused, because words do not contain the
characters that mark the other kinds:

=========== ======================= ===========================================================
kind        looks like              made of
=========== ======================= ===========================================================
word        ``guitar``              a content word, stemmed
stop word   ``\\x1dthe``             a word on the list of its language, not stemmed
joined      ``inc 2219``            words joined by punctuation, at least one digit: ``INC-2219``
sign        ``\\\\x1c\\u732b``             an emoji, or one character of a script without spaces
=========== ======================= ===========================================================

An index stores 8 bytes of each: :func:`term_hash`, keyed, so that outsiders cannot construct
collisions.

Thread-safe.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final, NamedTuple

from spector.language.words.folding import normalize_nfkc
from spector.language.words.stemming import (
    ENGLISH,
    ENGLISH_STOP,
    STOP,
    TURKISH,
    TURKISH_HINTS,
    TURKISH_LETTER,
    TURKISH_MARKERS,
    terms_of,
)
from spector.process import keeps

#: bump when the same memory may give other terms or other chains
ANALYSIS_VERSION: Final = 4
JOIN: Final = " "
SIGN: Final = "\x1c"

#: most parts and characters of a joined identifier
_JOINED_PARTS: Final = 8
_JOINED_CHARS: Final = 80

_TURKISH_WORDS: Final = TURKISH_MARKERS | TURKISH_HINTS

_ASCII_WORD = re.compile(r"[a-z0-9]+")
#: also matches single words, so that a very long one is scanned only once
_JOINED = re.compile(r"[^\W_]+(?:[._/:@#+-][^\W_]+)*")
_JOINT = re.compile(r"[._/:@#+-]")
_DIGIT = re.compile(r"\d")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
#: scripts without spaces between words; the first four are syllables and ideographs
SPACELESS: Final = re.compile(
    "([\u3005\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\u1100-\u11ff\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff]+)"
)

#: symbols, pictures and flags of two letters; skin tones are left out, as parts of another emoji
_EMOJI = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}"
    "|[\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa"
    "\U0001f400-\U0001faff]"
)

_MONTHS: Final = (
    "january february march april may june july august september october november december".split()
)
_TURKISH_MONTHS: Final = (
    "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık".split()
)


@dataclass(frozen=True, slots=True)
class Term:
    """The term that a word of a cue is looked up as.

    Attributes:
        text: the term, see the table above.
        also: the term of the same word in the other language, if the language of the cue is not
            certain. A memory with either term has the word.
        anyway: look up both even in stores without Turkish texts.
    """

    text: str
    also: str = ""
    anyway: bool = False

    @property
    def forms(self) -> tuple[str, ...]:
        return (self.text, self.also) if self.also else (self.text,)


class Analysis(NamedTuple):
    """The terms of a text.

    Attributes:
        words: words and stop words in order.
        joined: joined identifiers, each once.
        turkish: True if the text was taken for Turkish.
        forms: the words in lower case, before stemming.
        signs: emoji and single characters of scripts without spaces, each once. They are looked up
            if a cue has nothing else, and do not count towards lengths.
    """

    words: list[str]
    joined: list[str]
    turkish: bool
    forms: list[str]
    signs: Sequence[str] = ()

    def content(self) -> list[str]:
        """Words without stop words."""
        return [word for word in self.words if word[0] != STOP]


def words(text: str) -> list[str]:
    """Terms of a text in order: words and stop words, then joined identifiers."""
    found = analyse(text)
    return found.words + found.joined


def analyse(text: str) -> Analysis:
    """The terms of a text.

    Args:
        text: any text; surrogates and control characters count as punctuation.
    """
    signs: list[str] = []
    if not text.isascii():  # most such texts have only an emoji or a dash beyond ASCII
        signs = [SIGN + each for each in dict.fromkeys(_EMOJI.findall(text))]
        text = _NOT_ASCII.sub(_plain_run, text)
    if text.isascii():
        lower = text.lower()
        forms = _ASCII_WORD.findall(lower)
        joined = _joined(lower) if _DIGIT.search(lower) else []
        turkish = not _TURKISH_WORDS.isdisjoint(forms) and _is_turkish(forms)
        return Analysis(terms_of(forms, turkish), joined, turkish, forms, signs)
    return _analyse_unicode(normalize_nfkc(text), signs)


def _analyse_unicode(text: str, signs: list[str]) -> Analysis:
    forms: list[str] = []
    raw = text.translate(_SEPARATED).split()
    special = TURKISH_LETTER.search(text) is not None
    turkish = special or not _TURKISH_WORDS.isdisjoint(map(str.lower, raw))
    turkish = turkish and _is_turkish(raw)
    spaceless = SPACELESS.search(text) is not None
    if spaceless:
        characters = dict.fromkeys("".join(SPACELESS.findall(text)))
        signs = [*signs, *(SIGN + each for each in characters)]
    for each in raw:
        form = _lower(each, turkish) if special or turkish else each.casefold()
        if not form[0].isalnum():  # a mark without a letter, as of an emoji
            form = form.lstrip("".join(c for c in form if not c.isalnum()))
            if not form:
                continue
        if spaceless:
            forms += _split_spaceless(form)
        else:
            forms.append(form)
    joined: list[str] = []
    if _DIGIT.search(text):
        joined = _joined("".join(_lower(each, turkish) for each in re.split(r"(\s+)", text)))
    return Analysis(terms_of(forms, turkish), joined, turkish, forms, signs)


def cue_terms(cue: str | Analysis) -> list[Term]:
    """The distinct terms to look up for a cue, the most informative kind first.

    Joined identifiers come first. Stop words are left out if anything else remains. A single
    character of a script without spaces is also looked up within words; emoji only if there are no
    words. The list is not cut: the index knows which terms are informative, their order does not.
    """
    found = analyse(cue) if isinstance(cue, str) else cue
    signs = frozenset(found.signs)
    plain = dict.fromkeys(SIGN + word if SIGN + word in signs else word for word in found.content())
    strong = [*found.joined, *plain] or [*found.signs] or list(dict.fromkeys(found.words))
    other = _in_the_other_language(found)
    return [
        Term(text, other[text], found.turkish) if text in other else Term(text) for text in strong
    ]


def _in_the_other_language(cue: Analysis) -> dict[str, str]:
    """Term of a cue -> its term in the other language (Turkish or English).

    The language of a few words may be uncertain. English-looking cues are looked up as Turkish only
    in stores with Turkish texts; Turkish cues are looked up as English everywhere.
    """
    other = ENGLISH if cue.turkish else TURKISH
    out: dict[str, str] = {}
    for form, term in zip(cue.forms, cue.words, strict=True):
        alternative = other[form]
        if term[0] != STOP and alternative != term and alternative[0] != STOP:
            out.setdefault(term, alternative)
    return out


def field_terms(
    speaker: str | None, at: date | datetime | int | None, *, turkish: bool = False
) -> tuple[str, ...]:
    """Terms of the speaker and the day: "Ann", 8 May 2023 -> ann, 8, may, 2023. Each once.

    Args:
        speaker: a name or a role.
        at: a day, a moment, or milliseconds since 1970 (both UTC); out of range counts as unknown.
        turkish: add the month in Turkish, for memories in Turkish.
    """
    day = _day_of(at)
    terms = list(analyse(speaker).content()) if speaker else []
    if day is not None:
        terms += _day_terms(day.toordinal(), turkish)
    return tuple(dict.fromkeys(terms))


@lru_cache(maxsize=4096)
def _day_terms(ordinal: int, turkish: bool) -> tuple[str, ...]:
    day = date.fromordinal(ordinal)
    names = [_MONTHS[day.month - 1]]
    parts = [str(day.day), *terms_of(names, False), str(day.year)]
    if turkish:
        parts.append(TURKISH[_TURKISH_MONTHS[day.month - 1]])
    return tuple(parts)


def _day_of(at: date | datetime | int | None) -> date | None:
    if isinstance(at, datetime):
        return at.astimezone(UTC).date() if at.tzinfo else at.date()
    if isinstance(at, int):
        days = at // 86_400_000 + 719_163
        return date.fromordinal(days) if 1 <= days <= 3_652_059 else None
    return at


def is_stop(term: str) -> bool:
    return term[:1] == STOP


def is_identifier(term: str) -> bool:
    """True for a joined term with a digit, like INC-2219 or 2026-10-02."""
    return JOIN in term


def is_sign(term: str) -> bool:
    """True for an emoji or a single character of a script without spaces."""
    return term[:1] == SIGN


# -- hashes ---------------------------------------------------------------------------------------


def term_hash(term: str, key: bytes = b"") -> int:
    """64-bit hash of a term: BLAKE2b of its UTF-8, keyed with the store's uuid."""
    raw = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
    return int.from_bytes(raw, "little")


@lru_cache(maxsize=1)
def fingerprint() -> int:
    """64-bit hash of everything that determines terms: version, Unicode tables, stemmers."""
    sample = (
        "running relational conditionally generously skies dying lying university "
        "evlerimizden kitapları toplantılar görüşmede книгами встречу βιβλίου σκύλοι գիրքը "
        "الاجتماع المدرسة लड़कियों किताबें புத்தகங்கள்"
    ).split()
    stems = [term for turkish in (False, True) for term in terms_of(sample, turkish)]
    line = "|".join([str(ANALYSIS_VERSION), unicodedata.unidata_version, *stems])
    return term_hash(line)


# -- words ----------------------------------------------------------------------------------------


#: invisible inside words: soft hyphen, joiners, word joiner, zero-width no-break space and
#: variation selectors
_INVISIBLE: Final = frozenset(
    (0xAD, 0x200C, 0x200D, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
)


class _Separated(dict[int, str | int]):
    """Table for ``str.translate``: digits to ASCII, letters and marks kept, the rest to spaces."""

    def __missing__(self, code: int) -> str | int:
        character = chr(code)
        category = unicodedata.category(character)
        value: str | int = " "
        if code in _INVISIBLE:
            value = ""
        elif category == "Nd":
            value = str(unicodedata.digit(character))
        elif category[0] in "LNM":
            value = code
        if len(self) < 200_000:
            self[code] = value
        return value


_SEPARATED: Final = _Separated()


@keeps(4096)
def _plain(run: str) -> str:
    """The ASCII form of characters beyond ASCII, if they have one; else the characters."""
    compatibles = normalize_nfkc(run)
    plain = compatibles if compatibles.isascii() else compatibles.translate(_SEPARATED)
    return plain if plain.isascii() else run


def _plain_run(found: re.Match[str]) -> str:
    run = found.group()
    return _plain(run) if len(run) <= 8 else run


def _lower(form: str, turkish: bool) -> str:
    """Lower case by the rules of the language; a word with a Turkish letter is Turkish."""
    if turkish or TURKISH_LETTER.search(form):
        return form.replace("İ", "i").replace("I", "ı").lower()
    return form.casefold()


def _is_turkish(forms: Iterable[str]) -> bool:
    """True if a text has more Turkish words (by list or letter) than English ones.

    Names have Turkish letters in any language, and "var", "bile" and the like are also words of
    other languages: each counts half.
    """
    turkish = english = 0
    for form in forms:
        lower = _lower(form, True)
        if lower in TURKISH_MARKERS:
            turkish += 2
        elif TURKISH_LETTER.search(form):
            turkish += 1 if form[0].isupper() else 2
        elif lower in TURKISH_HINTS:
            turkish += 1
        elif form.casefold() in ENGLISH_STOP:
            english += 2
    return turkish > max(1, english)


def _split_spaceless(form: str) -> list[str]:
    """Split runs of scripts without spaces into overlapping pairs; keep other parts whole."""
    out: list[str] = []
    for piece in SPACELESS.split(form):
        if not piece:
            continue
        if not SPACELESS.match(piece) or len(piece) == 1:
            out.append(piece)
        else:
            out += [piece[n : n + 2] for n in range(len(piece) - 1)]
    return out


def _joined(lower: str) -> list[str]:
    """Identifiers: words joined by punctuation, with a digit."""
    out: dict[str, None] = {}
    for found in _JOINED.findall(lower):
        if 3 <= len(found) <= _JOINED_CHARS and _JOINT.search(found) and _DIGIT.search(found):
            parts = _JOINT.split(found)
            if len(parts) <= _JOINED_PARTS:
                out[JOIN.join(parts)] = None
    return list(out)
