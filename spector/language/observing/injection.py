"""Injected instructions in a message, and the consent that it states."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

from spector.language.observing.sentences import patterns_of_all
from spector.language.statements import own_words
from spector.language.words import normalize_nfkc, plain

# What a text must have in it for a pattern to match: a way to leave out patterns that cannot.

#: pieces shorter than this are in nearly every text
_SHORTEST: Final = 3
#: with more alternatives than this a pattern is tried at once
_MOST: Final = 120


class Screen:
    """Patterns of which only those are tried that a text could match.

    What each of them needs is read from the pattern itself, so the answer is that of trying all.
    """

    def __init__(self, patterns: Iterable[re.Pattern[str]]) -> None:
        self._needs = [(each, needed_by(each)) for each in patterns]
        self._pieces = tuple({
            piece for _, needs in self._needs if needs is not None for piece in needs
        })  # fmt: skip

    def matches(self, text: str) -> bool:
        """Whether any of the patterns is in a text."""
        found = {each for each in self._pieces if each in text}
        return any(
            pattern.search(text) is not None
            for pattern, needs in self._needs
            if needs is None or not needs.isdisjoint(found)
        )


def needed_by(pattern: re.Pattern[str]) -> frozenset[str] | None:
    """Pieces of which each match has at least one; None where that cannot be said."""
    if pattern.flags & ~re.UNICODE:
        return None
    try:
        parsed = importlib.import_module("re._parser").parse(pattern.pattern)
        return _of_sequence(list(parsed))
    except Exception:  # no public interface: another Python may have another one
        return None


def _of_sequence(items: Sequence[Any]) -> frozenset[str] | None:
    """The best of what its parts need: the longest pieces, then the fewest."""
    found: list[frozenset[str]] = []
    word = ""
    for kind, value in [*items, (None, None)]:
        if str(kind) == "LITERAL":
            word += chr(value)
            continue
        if len(word) >= _SHORTEST:
            found.append(frozenset((word,)))
        word = ""
        own = None if kind is None else _of_item(str(kind), value)
        if own is not None:
            found.append(own)
    if not found:
        return None
    return min(found, key=lambda each: (-min(map(len, each)), len(each), sorted(each)))


def _of_item(kind: str, value: Any) -> frozenset[str] | None:
    if kind == "SUBPATTERN":
        return _of_sequence(list(value[-1]))
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and value[0] > 0:
        return _of_sequence(list(value[2]))
    if kind == "BRANCH":
        ways = [_of_sequence(list(each)) for each in value[1]]
        if all(each is not None for each in ways):
            pieces = frozenset().union(*(each for each in ways if each is not None))
            return pieces if len(pieces) <= _MOST else None
    return None


#: what a longer text says beyond this is not tried
_MOST_CHARS: Final = 20_000
#: letters of no width, soft hyphens, marks that turn the direction of writing
_UNSEEN: Final = re.compile(
    "[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
)
_SPACES: Final = re.compile(r"[^\S\n]+")
_LINES: Final = re.compile(r"\s*\n\s*")
#: signs that stand for a letter
_SIGNS: Final = str.maketrans("013457@$|!", "oieastasii")
#: letters of other scripts that look like Latin ones
_ALIKE: Final = str.maketrans("аеорсухіѕјκονρτυ", "aeopcyxisjkovptu")
#: letters one by one: "i g n o r e", "i-g-n-o-r-e"
_APART: Final = re.compile(r"(?<!\w)\w(?:[ .\-_*]\w){2,}(?!\w)")
#: longest run of letters that is taken for words, and longest word in it
_LONGEST_RUN: Final = 400
_LONGEST_WORD: Final = 16
#: words in a pattern
_LITERAL: Final = re.compile(r"(?<![\\a-z])[a-z]{2,}")
#: takes back what the speaker said, or a matter of his of which he then says what is so
_TAKEN_BACK: Final = re.compile(
    r"\b(?:ignore|disregard|forget|scrap|drop|skip|throw out|set aside|cancel|erase|delete|override"
    r"|(?:do not|don't) follow) (?:[^.!?;:\n]{0,60}?"
    r"(?:\b(?:i|we)(?:'ve| have| had)?(?: just| already)?"
    r" (?:told|said|say|gave|wrote|sent|set|left|mentioned|asked|made|put|typed|listed)\b"
    r"|\b(?:my|our)\b)[^.!?;,:\n]{0,60}"
    r"|[^.!?;:\n]{0,40}?(?:\b(?:about|regarding|before|on)\b[^.!?;,:\n]{1,40}|\b\w+)"
    r"[,;] (?=(?:i|i'm|we|my|our|it|it's|he|she|they|the) [^\n]{3}))"
    r"|\b\w+(?:[iu]m[iu]|[iu]m[iu]z[iu]|d[iu]g[iu]m\w*|dikler[iu]m\w*|(?<!lar)(?<!ler)[iu])"
    r" (?:unut|yok say|dikkate alma|iptal et|bos ver|gormezden gel|sil)[.,;]"
    r"(?= [^.!?\n]*(?:yor(?:um|uz)|[dt][iu](?:m|k)|\b\d|yaz|g[iu]n[iu])\b)"
)
#: what is the agent's own, or the store's
_OF_AGENT: Final = re.compile(
    r"\b(?:you(?:r|rs|'re)?|system|developers?|guidelines?|polic\w+|safety|filters?|moderation"
    r"|ethic\w*|ai|assistants?|users?|admins?|security|programming|confidential\w*|secrets?|models?"
    r"|sistem\w*|guvenlik\w*|sana|filtre\w*|gelistirici\w*)\b(?! (?:about|that)\b)"
)
_MARKS: Final = re.compile(r"(?<=\w)[*_~`]{1,8}|[*_~`]{1,8}(?=\w)")
_JOINERS: Final = re.compile(r"(?<=\w)[-_.+/]{1,8}(?=\w)")


def is_injection(text: str) -> bool:
    """True if a text commands the agent to drop its rules, takes a role or asks for its prompt.

    To take back what one has said oneself is a correction: that clause is not tried.
    """
    screen = _screen()
    return any(
        screen.matches(form) and screen.matches(_TAKEN_BACK.sub(_unless_of_agent, form))
        for form in _forms(text[:_MOST_CHARS])
    )


def _unless_of_agent(clause: re.Match[str]) -> str:
    return clause.group() if _OF_AGENT.search(clause.group()) else " "


def is_system_content(text: str) -> bool:
    """True if a text holds tags of a system, or is a heartbeat or a notice of the host program."""
    folded = plain(text[:_MOST_CHARS])
    return any(each.search(folded) for each in patterns_of_all("system"))


def _joined(letters: re.Match[str]) -> str:
    """Letters that stand apart as the words that patterns are made of, or else as one word."""
    word = re.sub(r"[ .\-_*]", "", letters.group())
    ends = [0] + [-1] * len(word)  # where the last word of a way to each place begins
    words = _words_of_attacks()
    for at in range(1, min(len(word), _LONGEST_RUN) + 1):
        for start in range(max(0, at - _LONGEST_WORD), at):
            if ends[start] >= 0 and word[start:at] in words:
                ends[at] = start
                break
    if len(word) > _LONGEST_RUN or ends[-1] < 0:
        return word
    parts, at = [], len(word)
    while at:
        parts.append(word[ends[at] : at])
        at = ends[at]
    return " ".join(reversed(parts))


@lru_cache(maxsize=1)
def _screen() -> Screen:
    return Screen(patterns_of_all("injection"))


@lru_cache(maxsize=1)
def _words_of_attacks() -> frozenset[str]:
    return frozenset(
        word for each in patterns_of_all("injection") for word in _LITERAL.findall(each.pattern)
    )


def _forms(text: str) -> Iterator[str]:
    """The text folded, and without its disguises where it has some."""
    seen = plain(_UNSEEN.sub("", normalize_nfkc(text)))
    first = _LINES.sub("\n", _SPACES.sub(" ", seen))
    yield first
    bare = _MARKS.sub("", first.translate(_ALIKE))
    together = _LINES.sub("\n", _SPACES.sub(" ", _APART.sub(_joined, seen.translate(_ALIKE))))
    for form in dict.fromkeys((
        bare, together, _JOINERS.sub(" ", bare), bare.translate(_SIGNS),
        together.replace("\n", " "),
    )):  # fmt: skip
        if form != first:
            yield form


# Whether a message asks that it not be remembered, and for how long.

_KEEP: Final = (
    r"(?:remember|store|save|record|log|memori[sz]e|retain|note(?: down)?|write down|jot down"
    r"|keep(?: a)?(?: record| note)?(?: of)?|commit|add|put|write|file|include)"
)
_KEPT: Final = r"(?:remembered|stored|saved|recorded|logged|memori[sz]ed|retained|noted|kept)"
#: what is meant: the message itself, or what it tells
_IT: Final = (
    r"(?:this|that|it|these|any of (?:this|that|it)|anything|the following"
    r"|what (?:i|we)\b[^.!?,;:]*"
    r"|(?:my|our|the|this|her|his|their)(?: \w+)? (?:pass ?words?|pins?|passcodes?|codes?|numbers?"
    r"|address|e-?mail|salary|names?|details|info(?:rmation)?|data|messages?|conversation|chat"
    r"|secrets?|diagnosis))"
)
#: ends the object: "this song" is another one than "this"
_NO_NOUN: Final = (
    r"(?=\s*(?:[.!?,;:)-]|$|\b(?:please|pls|but|down|from|of|about|in|into|to|on|anywhere|either|for|though|ok"
    r"|okay|until|till|because|as|since|and|yet|at all|i|my|we|part|bit|one|message|info|chat"
    r"|conversation|thing|secret)\b))"
)
_OF_MEMORY: Final = r"(?:your |the )?(?:memory|memories|notes|records?|profile|files|logs?)\b"
_UNWANTED: Final = re.compile(
    r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthey )(?<!\bwhy )\b(?:do not|don't|dont|never|please not"
    r"|no need to|rather not|(?:can|could|would|will) you(?: please)? not)"
    r"(?: you)?(?: ever| please| even| go and)? "
    + _KEEP
    + " "
    + _IT
    + _NO_NOUN
    + r"|\b(?:i|we)(?:'d| would)? (?:(?:don't|do not|dont) want you to|rather you did(?:n't| not)"
    r"|prefer you not to) "
    + _KEEP
    + " "
    + _IT
    + _NO_NOUN
    + r"|\byou (?:don't|do not) (?:have|need) to "
    + _KEEP
    + " "
    + _IT
    + _NO_NOUN
    + r"|\b(?:without|instead of) (?:remember|stor|sav|record|keep)ing "
    + _IT
    + _NO_NOUN
    + r"|\b(?:do not|don't|never) (?:add|put|save|store|write|include|commit|keep)\b[^.!?]{1,60}"
    r"\b(?:in|into|to|on) "
    + _OF_MEMORY
    + r"|\b(?:leave|keep) (?:this|that|it|these)(?: \w+)? (?:out of|off) "
    + _OF_MEMORY
    + r"|\b(?:off|not for) the record\b(?!-)|\bnot to be "
    + _KEPT
    + r"\b(?! by\b)"
    r"|\b(?:this|that|it) ?(?:is not|isn't|should(?: not|n't)|must(?: not|n't)|may not)(?: to)? be "
    + _KEPT
    + r"\b(?! by\b)"
    r"|\b(?:make sure|see that) (?:this|that|it) (?:isn't|is not|doesn't get|does not get) "
    + _KEPT
    + r"|\b(?:bunu|bunlari|sunu|bu (?:mesaji|bilgiyi|konusmayi|sohbeti|sifreyi)|soyleyeceg\w+"
    r"|soyledig\w+|anlatacag\w+|sifremi|numarami|adresimi)\b[^.!?]{0,30}\b(?:kaydetme|saklama"
    r"|hatirlama|not etme|not alma|aklinda tutma|hafizana (?:alma|ekleme|yazma)|kayda gecirme"
    r"|ezberleme|yazma|ekleme)(?:yin(?:iz)?|zsen\w*)?\b"
    r"|\b(?:kayit disi|kayda gecmesin|kaydedilmesin|saklanmasin|hafizana (?:alma|ekleme|yazma)\w*)"
    r"\b"
)
#: for longer than the message
_LASTING: Final = re.compile(
    r"\b(?:until|till|unless) (?:i|we) (?:say|tell|ask|let)\b|\bfrom (?:now|here) on\b"
    r"|\bfor the rest of\b|\b(?:this|the) (?:whole |entire )?(?:conversation|chat|session)\b"
    r"|\banything (?:i|we)\b|\b(?:soyleyene|diyene) kadar\b|\bbundan sonra\b"
    r"|\bwhat (?:i|we)(?:'m| am|'re| are)? (?:going to|about to|say next|will)\b"
    r"|\bbu (?:sohbet|konusma)\w*"
)
_RESUMED: Final = re.compile(
    r"\b(?:back on|on) the record\b|\b(?:you (?:can|may)|please|start|feel free to|from now on)"
    r"(?: now| please| start| go back to)* (?:remember|sav|stor|record|keep|not)(?:e|ing)?\b"
    r"[^.!?]{0,40}\b(?:again|now|once more)\b"
    r"|\b(?:yeniden|tekrar|artik) (?:kayde[td]|hatirla|sakla|not al)\w*"
)


def consent_of(text: str) -> Literal["no", "no more", "again"] | None:
    """What a message says of being remembered.

    ``no`` for itself, ``no more`` for all until it is taken back, ``again`` takes it back; None
    where it says nothing of it: "I don't remember this song", "don't forget the milk".
    """
    said = " ".join(plain(own_words(text)).replace("\u2019", "'").split())
    if _UNWANTED.search(said):
        return "no more" if _LASTING.search(said) else "no"
    return "again" if _RESUMED.search(said) else None
