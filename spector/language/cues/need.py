"""Whether a cue needs memory, a value or what holds now; small talk, and long cues."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final

from spector.language.statements import ASKS_TR, ASSISTANTS, NOW, NOW_TR
from spector.language.tables import grammar_table, patterns_of, word_lists
from spector.language.words import Token, compose, is_turkish, plain, tokens
from spector.process import keeps

_WORDS: Final = word_lists("need")
_RE: Final = patterns_of("need")


ASKING: Final = _WORDS["asking"]


# Shortens a cue that takes too long to embed during a recall.

#: the first sentence gets at most one part in this many; a longer one is cut after a word
_SHARE: Final = 4
_GAP: Final = " \u2026 "
#: below this many bytes only one piece is kept
_LEAST: Final = 64
#: most characters of a partial word that is dropped at the start of the end
_WORD: Final = 64


def shorten_cue(cue: str, most_bytes: int) -> str:
    """The first sentence and the end of a cue, in at most ``most_bytes`` of UTF-8.

    The question is usually before or after a pasted text. Linear time.
    """
    cue = cue.strip()
    room = max(1, most_bytes)
    if len(cue.encode()) <= room:
        return cue
    if room < _LEAST:
        return _end(cue, room) or _start(cue, room)
    first = _start(cue, room // _SHARE)
    sentence = _RE["sentence_end"].search(first)
    if sentence is not None:
        first = first[: sentence.end()].strip()
    elif " " in first:
        first = first.rsplit(None, 1)[0]
    return first + _GAP + _end(cue, room - len((first + _GAP).encode()))


def _start(text: str, room: int) -> str:
    return text[:room].encode()[:room].decode(errors="ignore")


def _end(text: str, room: int) -> str:
    """As much of the end as fits, starting at a word if possible."""
    end = text[-room:].encode()[-room:].decode(errors="ignore")
    if len(end) < len(text) and not text[-len(end) - 1].isspace():
        cut = re.search(r"\s", end[:_WORD])
        end = end[cut.end() :] if cut else end
    return end.lstrip()


# Tells whether a cue asks how things are now, or when something was.

_LONGEST_CUE: Final = 2_000
_PHRASE_WORDS: Final = 6


@keeps(256)
def asks_when(cue: str) -> bool:
    """Whether a cue asks at what time something was."""
    if len(cue) > _LONGEST_CUE:
        return False
    folded = plain(cue).strip()
    return bool(
        _RE["when"].search(folded)
        or (_RE["when_tr"].search(folded) and _RE["past_tr"].search(folded))
    )


@keeps(256)
def asks_for_now(cue: str) -> bool:
    """Whether a cue asks how things are: a question in the present tense, or with "now"."""
    if len(cue) > _LONGEST_CUE or "\n" in cue.strip():
        return False
    folded = plain(cue).strip()
    if is_turkish(cue, folded) or ASKS_TR.search(folded):
        if _RE["before_tr"].search(folded) or _RE["past_tr"].search(folded):
            return False
        if NOW_TR.search(folded) or ASKS_TR.search(folded):
            return True
    if _RE["before"].search(folded):
        return False
    if folded.endswith("?") or _RE["asks"].match(folded):
        return bool(_RE["present"].search(folded) or NOW.search(folded))
    is_phrase = _RE["phrase"].match(folded) or NOW.search(folded)
    return bool(is_phrase) and len(folded.split()) <= _PHRASE_WORDS


# Tells whether a cue asks for a number, a day or an hour as it is now.

_LONGEST_VALUE_CUE: Final = 400


def asks_for_value(cue: str) -> bool:
    """Whether a cue asks for a value, and not for an old one."""
    folded = plain(cue[:_LONGEST_VALUE_CUE])
    return bool(_RE["asks_value"].search(folded)) and not _RE["before_value"].search(folded)


#: longer cues are never small talk
_MOST_CHARS: Final = 400
#: names that may stand beside a greeting ("Hi Ann Lee!")
_MOST_NAMES: Final = 2
#: more arguments than this are a message of its own
_MOST_ARGUMENTS: Final = 4
_LAUGHTER: Final = tuple(map(frozenset, ("ha", "he", "hi", "ho", "ja", "xd")))
#: phrases after which a capitalised word is the name of the addressee
_ADDRESSED: Final = frozenset(("greeting", "farewell", "thanks"))


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether memory is needed, and the rule that decided it."""

    needed: bool
    reason: str


def need_gate(cue: str) -> Decision:
    """Decide whether a cue is worth a recall.

    Skipped are: cues without a letter or digit ("...", emoji); a slash command with at most four
    words that ask nothing; known phrases, fillers and the addressee's name of up to two words.
    """
    command = _RE["command"].match(cue)
    if command:
        return _of_command(command.group(1), cue[command.end() :])
    if not any(char.isalnum() for char in cue):
        return Decision(False, "nothing but signs")
    if len(cue) > _MOST_CHARS:
        return Decision(True, "longer than small talk is")
    found = tokens(compose(cue).replace("\n", " . "))  # a line is a sentence
    return _of_phrases(found)


def skip_reason(decision: Decision) -> str:
    """The reason that a recall gives for skipping the search."""
    return f"small talk: {decision.reason}; memory was not consulted"


def _of_command(name: str, rest: str) -> Decision:
    arguments = [token.text for token in tokens(compose(rest[:2000])) if not token.sign]
    if len(arguments) > _MOST_ARGUMENTS or "?" in rest or ASKING & set(arguments):
        return Decision(True, f"the command /{name} carries a message")
    return Decision(False, f"slash command /{name}")


def _of_phrases(found: list[Token]) -> Decision:
    """Small talk if phrases cover every word; the reason names the first one's class."""
    phrases, longest_from = _phrases()
    words = [_undraw(token.text) for token in found]
    shouted = all(token.raw.isupper() for token in found if token.raw.isalpha())
    said: list[str] = []
    at = 0
    while at < len(found):
        if found[at].sign:
            at += 1
            continue
        length, what = _phrase_at(phrases, longest_from.get(words[at], 0), words, at)
        if what is None and _is_laughter(words[at]):
            length, what = 1, "acknowledgement"
        if what is None:
            length, what = _names_at(found, at, said, shouted), "name"
            if not length:
                return Decision(True, f'says "{found[at].raw[:40]}"')
        if what != "filler" or not said:
            said.append(what)
        at += length
    classes = [each for each in said if each not in ("filler", "name")]
    if not classes:
        return Decision(True, "no phrase of small talk")
    return Decision(False, classes[0])


def _phrase_at(
    phrases: dict[tuple[str, ...], str], longest: int, words: list[str], at: int
) -> tuple[int, str | None]:
    for length in range(min(longest, len(words) - at), 0, -1):
        what = phrases.get(tuple(words[at : at + length]))
        if what is not None:
            return length, what
    return 0, None


def _names_at(found: list[Token], at: int, said: list[str], shouted: bool) -> int:
    """How many words from a token on are the name of the addressee.

    An assistant; or, after a greeting, thanks or a farewell and at most a comma, up to two
    capitalised words at the end of a sentence that is not a question.
    """
    if not said:
        return 0
    if found[at].text in ASSISTANTS:
        return 1
    before = found[at - 1]
    if said[-1] not in _ADDRESSED or shouted or (before.sign and before.text != ","):
        return 0
    end = at
    while end < len(found) and found[end].raw[:1].isupper() and found[end].text not in ASKING:
        end += 1
    ended = end == len(found) or (found[end].sign and found[end].text != "?")
    return end - at if ended and end - at <= _MOST_NAMES else 0


def _undraw(word: str) -> str:
    """ "heyyyy" as "hey"."""
    return _RE["drawn_out"].sub(r"\1", word) if len(word) > 2 else word


def _is_laughter(word: str) -> bool:
    return len(word) >= 3 and any(set(word) <= letters for letters in _LAUGHTER)


@functools.cache
def _phrases() -> tuple[dict[tuple[str, ...], str], dict[str, int]]:
    """Folded words of each phrase -> its class, and first word -> longest phrase; made once."""
    listed: dict[tuple[str, ...], str] = {}
    for what, text in grammar_table("any", "need")["phrases"].items():
        for phrase in text.split(","):
            words = tuple(
                _undraw(token.text) for token in tokens(compose(" ".join(phrase.split())))
            )
            if words:
                listed.setdefault(words, what)
    longest: dict[str, int] = {}
    for words in listed:
        longest[words[0]] = max(len(words), longest.get(words[0], 0))
    return listed, longest
