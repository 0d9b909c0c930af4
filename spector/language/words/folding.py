"""Unicode folding of texts, their tokens, and keys of names."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

# Unicode normalization of untrusted text in linear time, and folding for comparison.

#: quadratic cost does not matter for shorter text
_SHORT: Final = 1000
#: no language has more than 30 marks on a letter (UAX #15, stream-safe text)
_LONG_RUN: Final = re.compile(b"\1{32,}")
_QUOTES: Final = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\uff07": "'", "\u0131": "i",
    "\u2013": "-", "\u2014": "-", "\u2212": "-", "\uff1f": "?", "\u061f": "?", "\uff01": "!",
})  # fmt: skip


def normalize_unicode(form: Literal["NFC", "NFD"], text: str) -> str:
    """`unicodedata.normalize` in linear time.

    The library sorts the marks of a letter by insertion, with the GIL held: 80 KB of alternating
    marks above and below take seconds. So long runs are sorted first. That does not change the
    result, because marks of one class keep their order.
    """
    if len(text) <= _SHORT or text.isascii():
        return unicodedata.normalize(form, text)
    classes = bytes(map(bool, map(unicodedata.combining, text)))
    pieces: list[str] = []
    done = 0
    for run in _LONG_RUN.finditer(classes):
        each = text[run.start() : run.end()]  # a mark may decompose into two
        parts = "".join(unicodedata.normalize("NFD", mark) for mark in each)
        pieces += (text[done : run.start()], *sorted(parts, key=unicodedata.combining))
        done = run.end()
    return unicodedata.normalize(form, "".join((*pieces, text[done:])))


def normalize_nfkc(text: str) -> str:
    """NFKC in linear time.

    Characters are decomposed one by one first, because some decompose into marks (the halfwidth
    voiced sound mark), and only :func:`normalize_unicode` handles runs of those. The parts are
    joined rather than translated: where the allocator cannot grow memory in place, a translation
    that outgrows the text is copied for each character.
    """
    if len(text) <= _SHORT or text.isascii():
        return unicodedata.normalize("NFKC", text)
    return normalize_unicode("NFC", "".join(map(_APART.__getitem__, text)))


def plain(text: str) -> str:
    """Fold a text: lower case, no marks, ``ı`` to ``i``, straight quotes and dashes.

    The result may have another length than the text, so positions do not correspond.
    """
    if text.isascii():
        return text.lower()
    apart = normalize_unicode("NFD", text.lower().translate(_QUOTES))
    return "".join(filter(is_no_mark, apart))


def is_no_mark(char: str) -> bool:
    """False for a combining mark, which belongs to the character before it."""
    return char.isascii() or not unicodedata.combining(char)


class _Apart(dict[str, str]):
    """Character -> its compatibility decomposition, cached on first use."""

    def __missing__(self, character: str) -> str:
        value = unicodedata.normalize("NFKD", character)
        if len(self) < 200_000:
            self[character] = value
        return value


_APART: Final = _Apart()


#: a run of digits, a run of letters, or one sign
_TOKEN: Final = re.compile(r"(?P<digits>[0-9]+)|(?P<word>[^\W0-9_]+)|(?P<sign>[^\w\s]|_)")
#: letters that only Turkish and related languages have, before folding
_TURKISH_LETTERS: Final = re.compile("[ğĞşŞıİ]")
#: frequent Turkish words that are not English words (folded)
_TURKISH_WORDS: Final = frozenset(
    """acaba bana beni benim bize bizim boyle cok daha degil evet gecen gibi hafta hangi hayir
    hangisi icin istiyorum kac musun misin nasil nasilsin neden nerede nereye neydi nicin niye oner
    onerir ondan onun bugun yarin senin simdi sonra soyle tamam tavsiye veya yok zaman merhaba selam
    tesekkurler lutfen""".split()
)
#: Turkish words that are also names or words of other languages: two of them are needed
_TURKISH_HINTS: Final = frozenset(
    "bir mi mu ne kim dun var ama ve sen ile sana o bu su ben".split()
)


class Token(NamedTuple):
    """One word, number or sign of a text, with its position."""

    text: str  # folded
    raw: str
    start: int
    end: int
    sign: bool = False


def compose(text: str) -> str:
    """NFC without marks that did not combine with a letter, such as the dot of a small "İ".

    Regular expressions do not match a mark as a letter, so it would split its word.
    """
    if text.isascii():
        return text
    return "".join(filter(is_no_mark, normalize_unicode("NFC", text)))


def wording_of(text: str) -> str:
    """The text in lower case with single spaces and without a final full stop."""
    return " ".join(text.casefold().split()).rstrip(".! ")


def within(most: int, text: str, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    """(start, end) of the stretches between some ends, the longer ones cut after a space.

    Rules that look around in a sentence read at most so many characters at once, so that all of a
    text costs linear time, whatever it is.
    """
    start = 0
    for end in (*ends, len(text)):
        while end - start > most:
            stop = text.rfind(" ", start + most // 2, start + most) + 1 or start + most
            yield start, stop
            start = stop
        if end > start:
            yield start, end
        start = end


def tokens(text: str) -> list[Token]:
    """Words, numbers and signs of a text from `compose`, each folded like `plain`."""
    found = []
    for match in _TOKEN.finditer(text):
        piece = match.group()
        folded = piece.lower() if piece.isascii() else plain(piece)
        found.append(Token(folded, piece, match.start(), match.end(), match.lastgroup == "sign"))
    return found


def is_turkish(text: str, folded: str) -> bool:
    """True if a text may be Turkish, by its letters or its most frequent words."""
    if not text.isascii() and _TURKISH_LETTERS.search(text):
        return True
    hints = 0
    for match in re.finditer(r"[a-z]+", folded):
        word = match.group()
        if word in _TURKISH_WORDS:
            return True
        hints += word in _TURKISH_HINTS
    return hints >= 2


# Deterministic keys of facts, concepts and entities.
#
# A fact's key is a hash of its three parts, so two stores give one fact one key. A concept's key
# folds case, accents and what separates words: ``coffee_mug`` and ``CoffeeMug`` are one concept.

_SPACE: Final = re.compile(r"\s+")
#: where a word begins in what `_cases` gives
_CAMEL: Final = re.compile(r"(?<=[a0])(?=A)|(?<=A)(?=Aa)")
_BETWEEN: Final = re.compile(r"[\s_\-./]+")
#: words that tie others together and name nothing, folded; English, then Turkish
STOP_WORDS: Final = frozenset(
    """a an and are as at be by for from in into is it its of off on onto or over than that the
    their then this to under up was were with
    bir bu da de degil gibi icin ile ise ki mi mu ne o su ve veya ya""".split()
)


def fact_key(subject: str, predicate: str, object: str) -> str:
    """32 hex digits of SHA-256 over ``subject|predicate|object``.

    The parts are put into NFC, trimmed, their white space folded to one space and lower-cased; a
    ``|`` or ``\\`` in a part is escaped, so that no two triples share a spelling.
    """
    parts = (_SPACE.sub(" ", unicodedata.normalize("NFC", each).strip()) for each in
             (subject, predicate, object))  # fmt: skip
    line = "|".join(each.lower().replace("\\", "\\\\").replace("|", "\\|") for each in parts)
    return hashlib.sha256(line.encode()).hexdigest()[:32]


def folded(name: str) -> str:
    """A name as names are compared: no case, no accents, single spaces."""
    return _SPACE.sub(" ", plain(name)).strip()


def normalize_tokens(text: str) -> list[str]:
    """The words of an identifier, lower-cased, without stop words; accents stay.

    ``navigate_to_kitchen`` gives ``navigate``, ``kitchen``; ``graspObject`` gives ``grasp``,
    ``object``. Split at white space, ``_ - . /`` and inside camel case.
    """
    words = ((compose(each.lower()), folded(each)) for each in _pieces(text))
    return [word for word, key in words if key and key not in STOP_WORDS]


def concept_key(name: str) -> str:
    """A concept's name without case, accents and what separates its words."""
    return "".join(map(folded, _pieces(name)))


def _pieces(text: str) -> Iterator[str]:
    """The parts of an identifier, also of one in camel case and with letters of any alphabet."""
    for each in _BETWEEN.split(text):
        ends = [*(found.start() for found in _CAMEL.finditer(_cases(each))), len(each)]
        for start, end in zip((0, *ends), ends, strict=False):
            yield each[start:end]


def _cases(text: str) -> str:
    """``A`` for a capital, ``a`` for a small letter, ``0`` for a digit, one for each character."""
    return "".join(
        "A" if each.isupper() else "a" if each.islower() else "0" if each.isdigit() else each
        for each in text
    )


def slug(name: str) -> str:
    """A name as it stands in an entity's URI: folded, other signs as one ``-``."""
    return re.sub(r"[\W_]+", "-", folded(name)).strip("-")


def entity_uri(name: str, sort: str) -> str:
    """``entity://person/ada-lovelace``: the deterministic address of an entity."""
    return f"entity://{sort}/{slug(name)}"
