"""What a message leaves and what takes its place: "sold the Civic, it's a Mazda these days".

One clause says that something is over, and names nothing that the old text does not; another one
says what there is now. Both are needed: who left a job may still tell of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from spector.language.entities import is_first_name
from spector.language.frames.pairs.akin import met
from spector.language.frames.pairs.lines import SHIFTS, TURNS, Line, is_past

__all__ = ["LEAVES", "leaves_for"]

Words = Callable[[str], frozenset[str]]

_END: Final = r"(?= for\b| in\b| at\b| last\b| this\b| on\b| because\b|[,;.!]|$)"
#: what one gives up, behind the verb
_GIVES_UP: Final = re.compile(
    r"\b(?:left|leaving|sold|traded(?: in)?|returned|gave (?:away|up)|dropped|dropping|ditched"
    r"|ditching|scrap(?:ped)?|cancel+ed|quit|quitting|closed|done with|broke up with|parted with"
    r"|got rid of|retired|finished with|no more|forget(?: about)?|stopped (?:using|seeing|taking))"
    r" (?P<gone>[^,.;!]{2,50}?)(?: in)?" + _END
)
#: what is over, before the verb
_IS_OVER: Final = re.compile(
    r"^(?P<gone>[^,.;!]{2,50}?)(?:'s| is| has| have| was)? (?:left|quit|resigned|retired|closed"
    r"|shut|sold|cancel+ed|gone|over|off|out|fell through|fallen through|broke down|moved away)\b"
    r"|^(?P<ex>[^,.;!]{2,30}?) and i (?:broke|split) up\b"
)
_TURKISH: Final = re.compile(
    r"^(?:artik )?(?P<gone>[^,.;!]{2,50}?) (?:sat|birak|kapat|kapan|ayril|devret|iade et|iptal et"
    r"|vazgec)\w{0,3}(?:[dt][iu]|m[iu]s)\w{0,3}$|^(?P<off>[^,.;!]{2,50}?) iptal\b"
)
#: one of these is in each message that leaves something
LEAVES: Final = (_GIVES_UP, _IS_OVER, re.compile(
    r" (?:sat|birak|kapat|kapan|ayril|devret|iade et|iptal|vazgec)"))
#: says what there is now
_THERE_IS: Final = re.compile(
    r"^(?:so |and |then |now )?(?:it's|it is|i|i'm|we|we're|\w{3,}ing)\b"
    r"|\b(?:these days|from (?:this|next))"
    r"|\boldu(?:m|k|lar)?$|\b\w{2,}[iu]yor(?:um|uz)\b"
)
_OWN: Final = re.compile(
    r"\b(?:i|i'm|my|we|we're|our)\b|\b\w+(?:[iu]m|[iu]yor(?:um|uz)|[iu]m[iu]z)\b"
)


def leaves_for(
    before: Line, clauses: Sequence[Line], said: Callable[[Line], frozenset[str]], words: Words,
) -> bool:
    """Whether a message says that what an old sentence is about is over, and what there is now.

    Args:
        said: the content words of a sentence. words: those of a piece of text.
    """
    known = said(before)
    for each in clauses:
        for piece in _gone(each.folded):
            named = "'" in piece
            gone = words(_ENDINGS.sub("", piece)) - _ARTICLES
            if not gone or met(gone, known) != gone or not (
                named or _is_special(gone, before)
            ):
                continue
            rest = known - met(known, gone)
            if len(rest) <= 1 and _IS_MINE_TO_END.search(each.folded) and (
                _OWN.search(before.folded)
            ):
                return True  # "I stopped taking the tablets": nothing else was said
            others = [
                other for other in clauses
                if other is not each and said(other) - met(said(other), known)
            ]
            if any(met(rest, said(other)) and not is_past(other) for other in others):
                return True
            if _OWN.search(before.folded) and any(_is_there(other) for other in others):
                return True
    return False


#: it is the speaker who ends something
_IS_MINE_TO_END: Final = re.compile(
    r"\b(?:i|we)(?:'ve)?\b|^(?:sold|quit|left|dropped|cancel+ed|ditched)\b|[dt][iu](?:m|k)$"
)
#: behind a name that opens a sentence
_IS_MINE: Final = ("is", "my")
#: of a name, behind its apostrophe
_ENDINGS: Final = re.compile(r" ?['’]\w+")
_ARTICLES: Final = frozenset("the a an my our this that".split())


def _gone(folded: str) -> Iterator[str]:
    for pattern in (_GIVES_UP, _IS_OVER, _TURKISH):
        found = pattern.search(folded)
        if found is not None:
            yield next(each for each in found.groups() if each)


def _is_special(gone: frozenset[str], before: Line) -> bool:
    """Whether what is over has a name or a number in the old sentence, or two words."""
    named = frozenset(
        word for at, (word, raw) in enumerate(zip(before.row, before.raw, strict=True))
        if (raw[:1].isupper() and (at or is_first_name(word) or before.row[1:3] == _IS_MINE))
        or any(map(str.isdigit, word))
    )
    return len(gone) > 1 or bool(met(gone, named)) or bool(
        named and met(gone, frozenset(part for word in named for part in re.split(r"\W", word))))


def _is_there(line: Line) -> bool:
    if SHIFTS.search(line.folded) and not TURNS.search(line.folded):
        return False
    return bool(_THERE_IS.search(line.folded) or TURNS.search(line.folded)) and not is_past(line)
