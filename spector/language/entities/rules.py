"""Names that rules find in a text, in English and Turkish, without a model.

Names are written with capitals; lists of first names, places, organisations and technologies, the
words beside a name and Turkish case endings say what they name. What no rule can type is left out:
a wrong entity costs more than a missing one.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from spector.language.entities.words import Word, split_words
from spector.language.tables import grammar_table, word_lists
from spector.language.words import plain
from spector.process import keeps

_WORDS: Final = word_lists("entities")


class Mention(NamedTuple):
    """A name in a text: what it names, where it stands, and which rule found it."""

    name: str
    type: str
    start: int
    end: int
    rule: str
    confidence: float


_I: Final = frozenset("i me my mine myself i'm ben beni bana benim bende benden".split())
_YOU: Final = frozenset("you your yours yourself sen seni sana senin sende senden".split())
#: words that join the parts of a name
_INNER: Final = frozenset("of the de da van von der den la le el al and & ve".split())
#: words before a day or month that is not the name of a person
_BEFORE_CALENDAR: Final = frozenset("in on since until till by during last next this every".split())
#: a capital that begins a sentence proves nothing: these never open a name there
_OPENERS: Final = _WORDS["openers"] | _WORDS["calendar"]
#: first names that begin sentences as words
_WORDS_TOO: Final = frozenset("alan jordan madison ray art robin ruby hazel lily".split())
_SENTENCE_ENDS: Final = frozenset(".!?:;\n")
#: endings of a Turkish name behind its apostrophe that say "in", "from" or "to" a place
_LOCATIVE: Final = re.compile(r"['’](?:[dt][ae](?:n|ki)?|y?[ae])")
_WORD_BEFORE_PLACE: Final = frozenset("in to from near around at visiting toward".split())


@lru_cache(maxsize=1)
def _lexicon() -> dict[str, frozenset[str]]:
    named = grammar_table("any", "entities")["named"]
    return {key: frozenset(plain(text).split()) for key, text in named.items()}


def is_first_name(folded: str) -> bool:
    """Whether a folded word is a first name of the lists."""
    return folded in _lexicon()["persons"]


def person_mentions(text: str) -> Iterator[Mention]:
    """First and second person of a user's text: the entities ``user`` and ``agent``."""
    for word in split_words(text):
        low = plain(word.text)
        if low in _I:
            yield Mention("user", "user", word.start, word.end, "first person", 1.0)
        elif low in _YOU:
            yield Mention("agent", "agent", word.start, word.end, "second person", 1.0)


def is_technology(folded: str) -> bool:
    """Whether a folded word is a technology of the lists."""
    return folded in _lexicon()["tech"]


def speaker_mentions(text: str, speakers: Collection[str]) -> Iterator[Mention]:
    """Where those who are known to speak are named."""
    known = {plain(each) for each in speakers}
    for word in split_words(text) if known else ():
        if word.text[:1].isalpha() and plain(_bare(word.text)) in known:
            yield _made(text, word, word, "person", "known speaker", 0.95)


def rule_mentions(text: str, *, speakers: Collection[str] = ()) -> list[Mention]:
    """Names that rules can type, in the order of the text, none inside another.

    Args:
        speakers: Names that are known to speak: persons, however they are written.
    """
    return list(_rule_mentions(text, frozenset(plain(each) for each in speakers)))


@keeps(2048)
def _rule_mentions(text: str, known: frozenset[str]) -> tuple[Mention, ...]:
    """A message is looked at for names, for people and for what its pronouns mean."""
    words = split_words(text)
    found: list[Mention] = []
    at = 0
    while at < len(words):
        mention, at = _mention_at(text, words, at, known)
        if mention is not None:
            found.append(mention)
    return tuple(found)


def _mention_at(
    text: str, words: Sequence[Word], at: int, known: Collection[str]
) -> tuple[Mention | None, int]:
    """A mention that begins at a word, and where to go on."""
    lexicon, word = _lexicon(), words[at]
    low = plain(_bare(word.text))
    if low in known and word.text[:1].isalpha():
        return _made(text, word, word, "person", "known speaker", 0.95), at + 1
    if low in lexicon["tech"] and not _is_plain_word(word, low):
        return _made(text, word, word, "tech", "list", 0.9), at + 1
    if not _is_capital(word) or (_opens(text, word) and low in _OPENERS):
        return None, at + 1
    end = at + 1
    while end < len(words) and _continues(text, words, end):
        if plain(words[end - 1].text) in lexicon["titles_behind"]:
            break
        end += 1
    if _is_where(words, at, end):
        end -= 1
    run = words[at:end]
    kind = _kind_of(text, words, at, end)
    opens = len(run) > 1 and _opens(text, word)
    if kind is None or (opens and kind[1] in ("case ending", "preposition")):
        return None, at + 1 if opens else end  # the word that opens a sentence may be none of it
    return _made(text, run[0], run[-1], *kind), end


def _is_where(words: Sequence[Word], at: int, end: int) -> bool:
    """Whether the last word of a run is a place of its own: "Ayşe Yılmaz Ankara'da"."""
    lexicon, last = _lexicon(), words[end - 1]
    ending = words[end].text if end < len(words) and words[end].start == last.end else ""
    return (
        end - at > 1
        and bool(_LOCATIVE.fullmatch(ending))
        and (plain(last.text) in lexicon["places"] and plain(words[at].text) in lexicon["persons"])
    )


def _kind_of(text: str, words: Sequence[Word], at: int, end: int) -> tuple[str, str, float] | None:
    """What a run of capitalised words names: type, rule and confidence."""
    lexicon, run = _lexicon(), words[at:end]
    folded = [plain(_bare(each.text)) for each in run]
    before = plain(words[at - 1].text) if at else ""
    before_that = plain(words[at - 2].text) if at > 1 and before == "." else before
    behind = plain(_bare(words[end].text)) if end < len(words) else ""
    ends = folded if _INNER & set(folded) else folded[-1:]
    if len(run) > 1 and lexicon["org_ends"] & set(ends):
        return "org", "ending", 0.9
    if folded[-1] in lexicon["place_ends"] and len(run) > 1:
        return "place", "ending", 0.85
    if {before, before_that} & lexicon["titles"] or behind in lexicon["titles_behind"]:
        return "person", "title", 0.95
    if folded[-1] in lexicon["titles_behind"] and len(run) > 1:
        return "person", "title", 0.95
    if folded[0] in lexicon["titles"] and len(run) > 1:
        return "person", "title", 0.95
    whole = " ".join(folded)
    if whole in _WORDS["calendar"] and (
        before in _BEFORE_CALENDAR or whole not in lexicon["persons"]
    ):
        return None
    if whole in lexicon["places"]:
        return "place", "list", 0.9
    if whole in lexicon["org"]:
        return "org", "list", 0.9
    if folded[0] in lexicon["persons"] and (
        len(run) > 1 or not _opens(text, run[0]) or folded[0] not in _WORDS_TOO
    ):
        return "person", "first name", 0.9
    ending = words[end].text if end < len(words) and words[end].start == run[-1].end else ""
    if _LOCATIVE.fullmatch(ending) and not _opens(text, run[0]):
        return "place", "case ending", 0.7
    if before in _WORD_BEFORE_PLACE and before != "at":
        return "thing", "preposition", 0.6
    return None


def _made(text: str, first: Word, last: Word, kind: str, rule: str, confidence: float) -> Mention:
    end = last.start + len(_bare(last.text))
    return Mention(text[first.start : end], kind, first.start, end, rule, confidence)


def _bare(word: str) -> str:
    """A word without a full stop."""
    return word.rstrip(".") or word


def _is_capital(word: Word) -> bool:
    return word.text[:1].isupper() and any(each.isalpha() for each in word.text)


def _is_plain_word(word: Word, low: str) -> bool:
    """Names of technologies that are words as well count only with a capital: Go, Swift, Rust."""
    return low in _WORDS["common_tech"] and not word.text[:1].isupper()


def _continues(text: str, words: Sequence[Word], at: int) -> bool:
    """Whether a word goes on with the name before it."""
    gap = text[words[at - 1].end : words[at].start]
    if gap.strip(" ") or "\n" in gap:
        return False
    if _is_capital(words[at]):
        return words[at - 1].text not in _SENTENCE_ENDS
    follows = at + 1 < len(words) and _is_capital(words[at + 1])
    return words[at].text in _INNER and words[at].text not in ("and", "ve") and follows


def _opens(text: str, word: Word) -> bool:
    """Whether a word opens a sentence or a line."""
    before = text[: word.start].rstrip(" \t\"'“‘(*-•")
    return not before or before[-1] in _SENTENCE_ENDS


def merged(mentions: Iterable[Mention]) -> list[Mention]:
    """Mentions without those that overlap a more certain one, in the order of the text."""
    kept: list[Mention] = []
    for each in sorted(mentions, key=lambda m: (-m.confidence, -(m.end - m.start), m.start)):
        at = bisect.bisect(kept, each.start, key=lambda m: m.start)
        beside = kept[max(0, at - 1) : at + 1]
        if all(each.end <= other.start or other.end <= each.start for other in beside):
            kept.insert(at, each)
    return kept
