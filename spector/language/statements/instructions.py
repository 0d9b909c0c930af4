"""Standing instructions in texts, and their conditions.

"Always answer in metric units" applies to every cue, "show calories when I ask for recipes" to cues
about recipes, which is its condition. A text about answering is an instruction to the assistant and
no other memory. "Never lend Tom money again" may instruct too, but is also an ordinary memory. Pure
functions over the `plain` form, no model, linear time. `spector.language.statements.roles` decides
which speakers may instruct.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from spector.language.statements.quoting import end_of_words, own_words
from spector.language.statements.speakers import is_of_time
from spector.language.tables import patterns_of
from spector.language.words import plain

_RE: Final = patterns_of("instructions")

#: most characters of a condition
_MOST_OF_A_CONDITION: Final = 200
#: a sentence of at most this many words next to an instruction has no content ("Thanks!")
_FEW_WORDS: Final = 2
#: longest sentence that may instruct without a word like "always"
_SHORT: Final = 80

#: kinds of sentences: no instruction, a rule (perhaps not for the assistant), a rule about
#: answering, a permission that lifts a prohibition
_NONE, _RULE, _ANSWERING, _LEAVE = range(4)

#: substrings of texts that may instruct elsewhere; faster to search than the patterns
_ANYWHERE: Final = (
    "from now on", "going forward", " i ask", " i request", " i say", " i mention", " i tell you",
    " we ask", " we request", " we say", " we mention", " we tell you",
)  # fmt: skip

_HINTS_TR: Final = ("bundan", "dugum", "digim", "tigim", "rsam", "rsem", "esem")

_SHORT_ONES: Final = (_RE["shortly"], _RE["shortly_tr"], _RE["may"], _RE["may_tr"], _RE["ends"])


@dataclass(frozen=True, slots=True)
class Instruction:
    """The instruction in a text.

    Attributes:
        whole: True if the text is only about answering, so that it is no other memory.
        condition: the topic that a cue must have, folded; None if it applies to every cue.
        lifts: True for what only ends other instructions ("You may use emojis again", "Drop the
            jokes").
        sentence: the sentence with the instruction, folded.
    """

    whole: bool
    condition: str | None
    lifts: bool = False
    sentence: str = field(default="", compare=False)


def find_instruction(text: str, folded: str | None = None) -> Instruction | None:
    """Find the standing instruction in a text; None if there is none.

    It is recognized by its beginning ("Always ...", "From now on ...", "Don't ...", "Bundan sonra
    ..."), by a condition anywhere ("... when I ask about X", "X sorduğumda ..."), or as a short
    text about the form of answers ("No emojis please"). What a text quotes, stories ("never been
    there", "she laughs when I mention him"), facts ("from now on Anna is my manager"), tasks and
    questions are not instructions. ``whole`` is False if the text is not about answering, has other
    sentences, or asks to keep something in mind; such a text is also an ordinary memory.
    """
    folded = plain(text) if folded is None else folded
    first = _RE["sentence"].match(folded)
    head = first.group() if first else ""
    called = _is_called(text) if " me " in head else False
    if not (
        called or _RE["opens"].match(folded) or _RE["opens_tr"].match(folded)
        or any(map(folded.__contains__, _ANYWHERE)) or any(map(folded.__contains__, _HINTS_TR))
        or (len(head) <= _SHORT and any(each.match(head) for each in _SHORT_ONES))
    ):  # fmt: skip
        return None
    if (own := _before_lead(own_words(text))) != text:
        return find_instruction(own) if own.strip() else None
    best, found, rest = _NONE, "", 0
    for n, match in enumerate(_RE["sentence"].finditer(folded)):
        sentence = match.group()
        kind = _ANSWERING if called and not n else _kind(sentence, first=n == 0)
        says = len(_RE["word"].findall(sentence)) > _FEW_WORDS
        says = says and (kind if not n else _kind(sentence, first=True)) < _ANSWERING
        if kind > best:
            rest += best == _RULE
            best, found = kind, sentence
        else:
            rest += says
    if best == _NONE:
        return None
    if best == _LEAVE:
        return Instruction(False, None, True, found)
    opened = _RE["opens"].match(found) or _RE["opens_tr"].match(found)
    notes = opened is not None and opened["note"] is not None
    whole = best == _ANSWERING and not (rest or notes or _RE["of_oneself"].match(found))
    asked = _RE["asked_tr"].search(found)
    condition = _condition(found) if asked is None else _condition_tr(found[: asked.start()])
    return Instruction(whole, condition, False, found)


def _before_lead(text: str) -> str:
    """A text up to words that end in a colon and are no heading of an order of the user.

    What stands behind them is someone else's, or of a matter that they name: of words that a line
    goes on after to the end of the paragraph, which is left out, else all of the text.
    """
    out: list[str] = []
    done = at = 0
    while lead := _RE["led"].search(text, at):
        at = lead.end()
        if _is_heading(plain(lead[1]).strip()):
            continue
        gap = _RE["gap"].match(text, at)
        stop = end_of_words(text, gap.end() if gap else at)
        out += [text[done:at], " " * (stop - at)]
        done = at = stop
    return "".join((*out, text[done:]))


def _is_heading(lead: str) -> bool:
    """Whether words before a colon are an order's own: they order, or only say that one follows."""
    return (
        _RE["heading"].fullmatch(lead) is not None
        or any(
            each.match(lead)
            for each in (_RE["opens"], _RE["opens_tr"], _RE["clause"], _RE["asked"], _RE["shortly"])
        )
        or bool(_RE["asked_tr"].search(lead))
    )


def is_prohibition(sentence: str) -> bool:
    """True if a folded instruction forbids something."""
    return (len(_RE["forbids"].findall(sentence)) % 2 == 1) or (
        not _RE["forbids"].search(sentence) and _RE["forbids_tr"].search(sentence) is not None
    )


def _is_called(text: str) -> bool:
    found = _RE["call_me"].match(text)
    return found is not None and found[1][0].isupper() and not is_of_time(plain(found[1]))


def _kind(sentence: str, *, first: bool) -> int:
    """The kind of a sentence; openers count in the first sentence only."""
    if sentence.rstrip().endswith("?") and not _RE["you"].search(sentence):
        return _NONE
    short = first and len(sentence) <= _SHORT
    leave = (_RE["may"].match(sentence) or _RE["may_tr"].match(sentence)) if short else None
    if leave is not None:
        rest = sentence[leave.end() :]
        if (
            _RE["of_answers"].search(sentence)
            or _RE["answers"].match(rest)
            or (_RE["again"].search(rest) and _RE["acts"].match(rest))
        ):
            return _LEAVE
        if not _RE["asked"].search(sentence):
            return _NONE
    if short and _RE["shortly"].match(sentence):
        return _ANSWERING
    if short and _RE["ends"].match(sentence):
        return _LEAVE
    return max(_english(sentence, first=first), _turkish(sentence, first=first))


def _english(sentence: str, *, first: bool) -> int:
    asked = _RE["asked"].search(sentence)
    opened = _RE["opens"].match(sentence) if first else None
    if asked is not None:
        return _ANSWERING if _is_instructing(sentence, asked, opened) else _NONE
    if opened is not None:
        rest = opened["rest"]
        if opened["whenever"]:
            comma = rest.find(",")
            rest = rest[comma + 1 :]
            if comma >= 0 and _RE["tells"].match(rest):
                return _NONE
        elif opened["note"] is None and _RE["elided"].match(rest):
            return _NONE
        sure = opened["rule"] or opened["whenever"]
        note = opened["note"] is not None
    else:
        later = _RE["from_now_on"].search(sentence)
        if (
            later is None
            or _RE["tells"].match(sentence)
            or _RE["elided"].match(sentence, later.end())
        ):
            return _NONE
        lead = _RE["lead_wish"].match(sentence)
        rest = sentence[lead.end() if lead else 0 : later.start()]
        rest = rest if _RE["word"].search(rest) else sentence[later.end() :]
        sure, note = None, False
    if _RE["answers"].match(rest) or _RE["of_form"].search(rest):
        return _ANSWERING
    if note or not (sure or _RE["acts"].match(rest)):
        return _NONE
    return _RULE


def _is_instructing(sentence: str, asked: re.Match[str], opened: re.Match[str] | None) -> bool:
    """True if a sentence with "when I ask" is an instruction, not a story."""
    if opened is not None and asked.start() > opened.start():
        return True
    if not sentence[: asked.start()].strip(" ,"):
        comma = sentence.find(",", asked.end())
        return comma < 0 or not _RE["tells"].match(sentence, comma + 1)
    if not _RE["tells"].match(sentence):
        return True
    so = sentence.rfind(", so ", 0, asked.start())  # "I'm vegan, so suggest ... when I ask for ..."
    return so >= 0 and not _RE["tells"].match(sentence, so + len(", so "))


def _condition(sentence: str) -> str | None:
    """The condition of an instruction: the topic that a cue must have."""
    found = _RE["clause"].search(sentence)
    if found is None:
        return None
    lead = _RE["lead"].match(sentence)
    begins = lead is not None and found.start() <= lead.end()
    begins = begins or sentence[: found.start()].rstrip().endswith(",")
    rest = sentence[found.end() :].rstrip(" .!?;\n")
    if begins:  # "When I ask for recipes, show calories"
        rest = _RE["behind"].split(rest, maxsplit=1)[0]
    framed = _RE["frame"].match(rest)
    topic = rest[framed.end() :] if framed else rest
    topic = topic.strip(" ,\"'")[:_MOST_OF_A_CONDITION]
    return topic if _RE["word"].search(topic) else None


def _turkish(sentence: str, *, first: bool) -> int:
    """The kind of a Turkish sentence: instructions end in an imperative, stories do not."""
    opened = _RE["opens_tr"].match(sentence) if first else None
    asked = _RE["asked_tr"].search(sentence)
    since = _RE["anywhere_tr"].search(sentence)
    imperative = _RE["imperative_tr"].search(sentence[-_SHORT:])
    if opened is None and asked is None and since is None:
        short = first and imperative and len(sentence) <= _SHORT
        return _ANSWERING if short and _RE["shortly_tr"].match(sentence) else _NONE
    if not (imperative or _RE["forbids_tr"].search(sentence[-_SHORT:])):
        return _NONE
    if (asked and imperative) or _RE["answers_tr"].search(sentence):
        return _ANSWERING
    return _NONE if opened and opened["note"] else _RULE


def _condition_tr(before: str) -> str | None:
    """The condition in the words before "sorduğumda"."""
    topic = before.rpartition(",")[2]
    lead = _RE["lead"].match(topic)
    topic = topic[lead.end() if lead else 0 :]
    while gone := _RE["no_topic_tr"].match(topic):
        topic = topic[gone.end() :]
    topic = _RE["postposition_tr"].sub("", topic[-_MOST_OF_A_CONDITION:]).strip(" ,\"'")
    return topic if _RE["word"].search(topic) else None
