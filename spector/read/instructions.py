"""Instructions that hold until they are revoked: whether a text is one, and what it is about.

"Always answer in metric units" holds for every cue, "show calories when I ask for recipes" for
those about recipes: that is its condition. Pure functions over the `plain` form, no LLM, linear
time. Who may instruct is another question (`spector.read.roles`).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from spector.read.plain import is_turkish, plain

__all__ = ["Instruction", "instruction"]

#: characters of a condition that are read
_MOST_OF_A_CONDITION: Final = 200
#: words of a sentence that may stand beside an instruction and say nothing of their own ("Thanks!")
_FEW_WORDS: Final = 2

#: what may stand before an instruction: a label of the user's, and politeness
_LEAD: Final = (
    r"\s*(?:(?:user|human|kullanici)\s*:\s*)?"
    r"(?:(?:please|lutfen|also|and|so|but|ok|okay|hey|hi)\b[\s,]*){0,3}"
)
_OPENS: Final = re.compile(
    _LEAD + r"(?:(?P<rule>(?:you (?:should|must|have to|need to|may|can) )?(?:always|never)"
    r"|from now on|whenever|every time|in (?:the )?future|going forward|make sure"
    r"|be sure to|do not|don't)|(?P<note>remember to|keep in mind))\b(?P<rest>[^.!?\n]*)"
)
#: behind an opener: no imperative, but a sentence without its "I" ("Never been there", "Don't
#: know", "Always happy to help"), or comfort
_ELIDED: Final = re.compile(
    r"(?: (?:\w+[^\We]ed|been|had|seen|heard|done|gone|got|felt|thought|known|met|made|told|found"
    r"|happy|glad|good|nice|great|fun|a|an|the|my|so|too|here|there|really"
    r"|worry|panic|doubt|know|think|mind|care|like|love|want|have|need|understand|believe|feel)\b"
    r"|,? ?(?:i|i'm|i'll|i've|we|we're|we'll|my|our|it|he|she|they|there)\b"
    r"(?!(?:'d like| would like| want| need| expect) you\b))"
)
_WHENEVER: Final = ("whenever", "every time")
#: what a text must have that instructs anywhere else; quicker to look for than the expressions
_ANYWHERE: Final = (
    "from now on", "going forward", " i ask", " i request", " i say", " i mention", " i tell you",
    " we ask", " we request", " we say", " we mention", " we tell you",
)  # fmt: skip
_FROM_NOW_ON: Final = re.compile(r"\b(?:from now on|going forward)\b")
#: what makes an instruction of a sentence that does not begin like one
_ASKED: Final = re.compile(
    r"\b(?:when|whenever|if|every time|each time) (?:i|we) (?:ask|request|say|mention|tell you)\b"
)
#: sentences that tell of somebody: "My boss laughs when I mention golf"
_TELLS: Final = re.compile(
    r"[\s,]*(?:he|she|they|it|this|that|there|my|his|her|their|our|everyone|everybody|who|what|how"
    r"|why|where|which|(?:i|we)(?!'d (?:like|prefer)| (?:want|need|prefer|like|expect|would)))\b"
)
_OF_ONESELF: Final = re.compile(r"\s*(?:i|i'm|i've|we|we're|my|our)\b(?!'d (?:like|prefer)"
                                r"| (?:want|need|prefer|like|expect|would)\b)")
_YOU: Final = re.compile(r"\b(?:(?:can|could|would|will) you|please)\b")
_SENTENCE: Final = re.compile(r"[^.!?;\n]*(?:[.!?;\n]+|$)")
_WORD: Final = re.compile(r"[^\W_]+")

#: whose doing a condition is: the talk itself, not the world
_CLAUSE: Final = re.compile(
    r"\b(?:when|whenever|if|every ?time|each time|any ?time|once) "
    r"(?:i|we|you|it comes to|(?:the|a) (?:topic|subject|question|conversation) is(?: about)?"
    r"|(?=asked|asking|talking|speaking|discussing))\b"
)
#: what is said of the asking itself
_FRAME: Final = re.compile(
    r"[\s,]*(?:(?:'m|'re|am|are|is|ever|want to know|want to|would like to|need to)\s+){0,2}"
    r"(?:(?:ask|request|say|mention|tell|talk|speak|inquire|discuss|bring up|want|need)"
    r"(?:ed|ing)?\b"
    r"(?:\s+(?:you|me))?)?"
    r"(?:\s*\b(?:for|about|on|of|to|with|regarding|concerning|(?:a |any )?questions?|something"
    r"|anything|help|advice)\b){0,3}\s*"
)
_BEHIND: Final = re.compile(r"\s*(?:,|\bthen\b|:)")

_OPENS_TR: Final = re.compile(
    _LEAD + r"(?:(?P<rule>her zaman|hep|asla|hicbir zaman|sakin|bundan (?:sonra|boyle)|dikkat et"
    r"|emin ol)|(?P<note>unutma|aklinda (?:tut|bulunsun)))\b"
)
_ANYWHERE_TR: Final = re.compile(r"\bbundan (?:sonra|boyle)\b")
_ASKED_TR: Final = re.compile(
    r"\b(?:(?:sordugum|istedigim|soyledigim|dedigim|bahsettigim)(?:da|de| zaman)"
    r"|sorarsam|sorsam|istersem|istesem|soylersem|dersem|bahsedersem)\b"
)
_HINTS_TR: Final = ("bundan", "dugum", "digim", "tigim", "rsam", "rsem", "esem")
_NO_TOPIC_TR: Final = re.compile(
    r"(?:her zaman|hep|asla|hicbir zaman|sakin|bundan (?:sonra|boyle)|lutfen|eger|ne zaman|bana"
    r"|sana|senden|sizden|bir sey|soru)\b\s*"
)
_POSTPOSITION_TR: Final = re.compile(
    r"\s*\b(?:(?:hakkinda|ile ilgili|konusunda|icin)(?: bir sey)?|bir sey)\s*$"
)


class Instruction(NamedTuple):
    """``whole``: the text says nothing else, so it is no memory of anything. ``condition``: what a
    cue must be about, folded; None: it holds for every cue."""

    whole: bool
    condition: str | None


def instruction(text: str, folded: str | None = None) -> Instruction | None:
    """What a text tells to do until it is revoked; None for any other text.

    By its beginning ("Always ...", "From now on ...", "Don't ...", "Bundan sonra ..."), or by a
    condition anywhere ("... when I ask about X", "X sorduğumda ..."). A story ("never been there",
    "she laughs when I mention him") and a question are none. Of a text with other sentences, and of
    what one is to keep in mind, ``whole`` is False.
    """
    folded = plain(text) if folded is None else folded
    opened = _OPENS.match(folded)
    if opened or any(map(folded.__contains__, _ANYWHERE)):
        found = _english(folded)
        if found is not None:
            return found
    hinted = any(map(folded.__contains__, _HINTS_TR))
    if hinted and _ASKED_TR.search(folded):  # words of no other language
        return _turkish(folded)
    if (_OPENS_TR.match(folded) or (hinted and _ANYWHERE_TR.search(folded))) and (
        is_turkish(text, folded)
    ):
        return _turkish(folded)
    return None


def _english(folded: str) -> Instruction | None:
    found, rest = None, 0
    for n, match in enumerate(_SENTENCE.finditer(folded)):
        sentence = match.group()
        if found is None and _instructs(sentence, first=n == 0):
            found = sentence
        elif len(_WORD.findall(sentence)) > _FEW_WORDS:
            rest += 1
    if found is None:
        return None
    opened = _OPENS.match(found)
    notes = opened is not None and opened["note"] is not None
    whole = not rest and not notes and not _OF_ONESELF.match(found)
    return Instruction(whole, _condition(found))


def _instructs(sentence: str, *, first: bool) -> bool:
    """Whether one sentence tells what to do; a beginning counts in the first only."""
    if sentence.endswith("?") and not _YOU.search(sentence):
        return False
    asked = _ASKED.search(sentence)
    opened = _OPENS.match(sentence) if first else None
    if asked is None:
        if opened is not None and opened["rule"] in _WHENEVER:
            comma = sentence.find(",", opened.end("rule"))
            return comma < 0 or not _TELLS.match(sentence, comma + 1)
        if opened is not None:
            return opened["note"] is not None or not _ELIDED.match(opened["rest"])
        later = _FROM_NOW_ON.search(sentence)
        return later is not None and not (
            _TELLS.match(sentence) or _ELIDED.match(sentence, later.end())
        )
    if opened is not None and asked.start() > opened.start("rule"):
        return True
    if not sentence[: asked.start()].strip(" ,"):
        comma = sentence.find(",", asked.end())
        return comma < 0 or not _TELLS.match(sentence, comma + 1)
    if not _TELLS.match(sentence):
        return True
    so = sentence.rfind(", so ", 0, asked.start())  # "I'm vegan, so suggest ... when I ask for ..."
    return so >= 0 and not _TELLS.match(sentence, so + len(", so "))


def _condition(sentence: str) -> str | None:
    """What the cue must be about, in one sentence that instructs."""
    found = _CLAUSE.search(sentence)
    if found is None:
        return None
    lead = re.match(_LEAD, sentence)
    begins = lead is not None and found.start() <= lead.end()
    begins = begins or sentence[: found.start()].rstrip().endswith(",")
    rest = sentence[found.end() :].rstrip(" .!?;\n")
    if begins:  # "When I ask for recipes, show calories"
        rest = _BEHIND.split(rest, maxsplit=1)[0]
    framed = _FRAME.match(rest)
    topic = rest[framed.end() :] if framed else rest
    topic = topic.strip(" ,\"'")[:_MOST_OF_A_CONDITION]
    return topic if _WORD.search(topic) else None


def _turkish(folded: str) -> Instruction | None:
    found, rest = None, 0
    for n, match in enumerate(_SENTENCE.finditer(folded)):
        sentence = match.group()
        opened = n == 0 and _OPENS_TR.match(sentence)
        told = opened or _ANYWHERE_TR.search(sentence) or _ASKED_TR.search(sentence)
        if found is None and told and not sentence.endswith("?"):
            found = sentence
        elif len(_WORD.findall(sentence)) > _FEW_WORDS:
            rest += 1
    if found is None:
        return None
    opened = _OPENS_TR.match(found)
    notes = bool(opened and opened["note"])
    asked = _ASKED_TR.search(found)
    if asked is None:
        return Instruction(not rest and not notes, None)
    topic = found[: asked.start()].rpartition(",")[2]
    lead = re.match(_LEAD, topic)
    topic = topic[lead.end() if lead else 0 :]
    while gone := _NO_TOPIC_TR.match(topic):
        topic = topic[gone.end() :]
    topic = _POSTPOSITION_TR.sub("", topic[-_MOST_OF_A_CONDITION:]).strip(" ,\"'")
    return Instruction(not rest and not notes, topic if _WORD.search(topic) else None)
