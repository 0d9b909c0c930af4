"""The need gate: whether a cue needs memory at all.

A greeting, a confirmation or a command of the host program skips the embedding and the search. The
gate skips only cues that consist of known phrases from end to end, so a real question passes
whatever it begins with, and so does everything unknown.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from spector.language.cues.smalltalk import ASKING, FILLERS, PHRASES
from spector.language.statements import ASSISTANTS, Speakers
from spector.language.words import Token, compose, tokens

#: longer cues are never small talk
_MOST_CHARS: Final = 400
#: names that may stand beside a greeting ("Hi Ann Lee!")
_MOST_NAMES: Final = 2
_COMMAND: Final = re.compile(r"\s*/([a-z][a-z0-9_:-]{0,63})(?=\s|$)", re.IGNORECASE)
#: more arguments than this are a message of its own
_MOST_ARGUMENTS: Final = 4
_DRAWN_OUT: Final = re.compile(r"(.)\1{2,}")
_LAUGHTER: Final = tuple(map(frozenset, ("ha", "he", "hi", "ho", "ja", "xd")))
#: phrases after which a capitalised word is the name of the addressee
_ADDRESSED: Final = frozenset(("greeting", "farewell", "thanks"))


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether memory is needed, and the rule that decided it."""

    needed: bool
    reason: str


def need_gate(cue: str, speakers: Speakers | Iterable[str] = ()) -> Decision:
    """Decide whether a cue is worth a recall.

    Args:
        cue: any text.
        speakers: the known speakers of the store; a greeting may name them in any spelling.

    Skipped are: cues without a letter or digit ("...", emoji); a slash command with at most four
    words that ask nothing; known phrases, fillers and the addressee's name of up to two words.
    """
    command = _COMMAND.match(cue)
    if command:
        return _of_command(command.group(1), cue[command.end() :])
    if not any(char.isalnum() for char in cue):
        return Decision(False, "nothing but signs")
    if len(cue) > _MOST_CHARS:
        return Decision(True, "longer than small talk is")
    found = tokens(compose(cue).replace("\n", " . "))  # a line is a sentence
    known = speakers if isinstance(speakers, Speakers) else Speakers.of(speakers)
    return _of_phrases(found, known)


def skip_reason(decision: Decision) -> str:
    """The reason that a recall gives for skipping the search."""
    return f"small talk: {decision.reason}; memory was not consulted"


def _of_command(name: str, rest: str) -> Decision:
    arguments = [token.text for token in tokens(compose(rest[:2000])) if not token.sign]
    if len(arguments) > _MOST_ARGUMENTS or "?" in rest or ASKING & set(arguments):
        return Decision(True, f"the command /{name} carries a message")
    return Decision(False, f"slash command /{name}")


def _of_phrases(found: list[Token], known: Speakers) -> Decision:
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
            length, what = _names_at(found, at, said, known, shouted), "name"
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


def _names_at(found: list[Token], at: int, said: list[str], known: Speakers, shouted: bool) -> int:
    """How many words from a token on are the name of the addressee.

    A known speaker; or, after a greeting, thanks or a farewell and at most a comma, up to two
    capitalised words at the end of a sentence that is not a question.
    """
    if not said:
        return 0
    if found[at].text in known.first_words or found[at].text in ASSISTANTS:
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
    return _DRAWN_OUT.sub(r"\1", word) if len(word) > 2 else word


def _is_laughter(word: str) -> bool:
    return len(word) >= 3 and any(set(word) <= letters for letters in _LAUGHTER)


@functools.cache
def _phrases() -> tuple[dict[tuple[str, ...], str], dict[str, int]]:
    """Folded words of each phrase -> its class, and first word -> longest phrase; made once."""
    listed: dict[tuple[str, ...], str] = {}
    for what, text in (*PHRASES.items(), ("filler", FILLERS)):
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
