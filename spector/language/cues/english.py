"""English patterns of questions about the conversation: frames around a topic.

Every pattern matches a whole sentence in `plain` form without surrounding signs. Groups: ``rest``
or ``raised``, the remaining topic; ``who``, the subject of a verb of saying; ``talk``, a verb that
takes two speakers.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from typing import Final


class Frame(StrEnum):
    """The kind of question about the conversation."""

    NONE = ""  # the cue is not about the conversation
    ORDER = "order"  # the order in which things were said
    SUMMARY = "summary"  # a summary of it
    SAID = "said"  # what was said or is known about something
    PROFILE = "profile"  # what is known about the user


_LEAD: Final = (
    r"(?:(?:hey|hi|hello|ok|okay|so|well|now|and|also|thanks|please)[,!]? ){0,3}"
    r"(?:(?:can|could|would|will) you |i(?:'d| would) (?:like|love) (?:you )?(?:to )?"
    r"|i (?:want|need) (?:you )?(?:to )?|let me |let's |help me )?"
    r"(?:please |kindly |just |quickly |briefly )*"
)
#: a request to say something, without its object
_GIVE: Final = (
    r"(?:give|show|tell|get|write|make|create|build|provide|prepare|produce|draw up|put together"
    r"|list|remind|find|describe|outline|reconstruct|lay out|walk|take|guide|run|lead|name|recall"
    r"|recount|generate|compile|do|have|see|know|hear|explain|summari[sz]e|recap|sum up"
    r"|do you (?:still )?(?:remember|recall|know))"
    r"(?: (?:for )?(?:me|us))?(?: (?:through|with|of|about|up))?"
)
_SIZE: Final = (
    r"(?:(?:very |quite )?(?:short|brief|quick|concise|complete|full|comprehensive|detailed|general"
    r"|high-level|rough|clear|good|thorough|overall|chronological|exact|correct|right)"
    r"(?:,? (?:and|but))?,? ){0,3}"
)
_SAY: Final = (
    r"(?:say|says|said|tell|tells|told|mention(?:s|ed)?|(?:bring|brings|brought) up|raise[sd]?"
    r"|share[sd]?|describe[sd]?|explain(?:s|ed)?|report(?:s|ed)?|note[sd]?|write|wrote|written"
    r"|ask(?:s|ed)?|point(?:s|ed)? out)"
)
#: verbs that need no "about" before their object
_SAY_THAT: Final = r"(?:say|says|said|tell|tells|told|mention(?:s|ed)?)"
_RAISE: Final = r"(?:mention(?:s|ed)?|(?:bring|brings|brought) up|raise[sd]?|discuss(?:es|ed)?)"
#: verbs that take two speakers: only "I" means a single one
_TALK: Final = (
    r"(?:talk(?:s|ed)?|speak|spoke|spoken|discuss(?:es|ed)?|chat(?:s|ted)?|cover(?:s|ed)?"
    r"|(?:go|gone|went) (?:over|through)|touch(?:es|ed)? on)"
)
_WHEN: Final = r"(?:(?:ever|already|just|previously|first|last|originally|also|so far) ){0,2}"
#: "I", "you", "Ann Lee": the subject; not a description ("my sister")
_WHO: Final = (
    r"(?P<who>(?!(?:my|your|our|his|her|their|its|the|a|an|this|that|these|those|any|some|what|who"
    r"|did|do|does|have|has|had|would|could|should|can|will|might|is|are|was|were)\b)"
    r"[^\W\d_][\w-]*(?: (?!(?:i|we|you|he|she|they|have|had|has|did|ever|already|just|first|last"
    r"|also|said|told|mentioned)\b)[^\W\d_][\w-]*)?)"
)
_HAVE: Final = r"(?:'ve|'d|'s| have| had| has| did)?"
_TO: Final = r"(?: (?:to |with )?(?!about\b|on\b|of\b|regarding\b|that\b)[^\W\d_][\w-]*){0,2}?"
_ABOUT: Final = r"(?: (?:about|on|of|regarding|concerning|around))"
_VERB: Final = rf"(?:(?P<say>{_SAY})|(?P<talk>{_TALK}))"
#: "did I ...", "have we ...", and "I have ..."
_ASKED: Final = rf"(?:did|do|does|have|has|had) {_WHO} {_WHEN}"
_STATED: Final = rf"{_WHO}{_HAVE} {_WHEN}"
#: excludes statements: "everything about it (is wrong)"
_NO_CLAIM: Final = r"(?!.*\b(?:is|are|was|were|seems?|makes?|made)\b)"

SELF: Final = re.compile(
    r"(?:me|myself|us|ourselves|(?:the |this |your |the current )?user|who i am)"
    r"(?: (?:so far|yet|personally|in general|overall|already|as a person))?"
)
_KNOW: Final = (
    r"(?:know|knew|remember|recall|learn|learned|learnt|store|stored|save|saved|have|noted"
    r"|understand)(?: (?:stored|saved|noted|on (?:file|record)))?"
)
_DETAILS: Final = (
    r"(?:facts?|things?|details?|info|information|memories|knowledge|notes|points|topics?|aspects?"
    r"|parts|issues|subjects|events|stuff)"
)
_MANY: Final = (
    r"(?:(?:different|various|several|main|key|known|stored|important|relevant|personal|many) )*"
)

#: "the garden" of "about the garden"
_ON: Final = rf"{_ABOUT} (?P<rest>.+)"
_ORDERED: Final = r"(?:order|sequence)"
_TIMELINE: Final = (
    r"(?:timeline|time line|chronology|(?:order|sequence) of (?:events|things|topics))"
)

#: patterns of whole sentences; the first match counts, and its rest is matched again
_OUTER: Final = (
    # "walk me through the order in which", "what was the sequence in which"
    (Frame.ORDER,
     rf"(?:{_GIVE} )?(?:what(?:'s| is| was| were) )?(?:in |by )?(?:the )?{_SIZE}{_ORDERED}"
     r" (?:in|by) which (?P<rest>.+)"),
    # "in what order did"
    (Frame.ORDER, rf"(?:{_GIVE} )?(?:in|by) (?:what|which) {_SIZE}{_ORDERED} (?P<rest>.+)"),
    # "give me a timeline of"
    (Frame.ORDER,
     rf"(?:(?:{_GIVE}|what(?:'s| is| was)) )?(?:a |the |my |our )?{_SIZE}{_TIMELINE}"
     r" (?:of|on|about|for) (?P<rest>.+)"),
    (Frame.ORDER, rf"{_GIVE} (?:a |the |my |our )?{_SIZE}{_TIMELINE}"),
    # "list the places I mentioned in chronological order"
    (Frame.ORDER,
     rf"{_GIVE} (?P<rest>.+?),? (?:(?:in|by) (?:(?:chronological|time|the right|the correct) )?"
     r"order|chronologically|in the order (?:in which |that )?(?:i|we|you|they|it|he|she)\b.*"
     r"|from (?:the )?(?:first|earliest|oldest) to (?:the )?(?:last|latest|newest))"),
    (Frame.SUMMARY,
     rf"(?:{_GIVE} )?(?:a |an |the )?{_SIZE}(?:summary|overview|recap|rundown|synopsis)"
     r"(?:(?: (?:of|on|about|for|regarding|covering))+ (?P<rest>.+))?"),
    (Frame.SUMMARY,
     r"(?:summari[sz]e|recap|recapitulate|sum up|catch me up on|fill me in on"
     r"|bring me up to (?:speed|date) on)(?: for (?:me|us))? (?P<rest>.+)"),
    # "what do you know about me", "do you remember anything about the garden"
    (Frame.SAID,
     rf"(?:what (?:(?:all|else|exactly|{_DETAILS}) )?)?(?:do|did|have|can) (?:you|we) {_WHEN}"
     rf"{_KNOW}(?: (?:anything|something|everything|much))?{_ON}"),
    # "what do you remember", without a topic
    (Frame.SAID, rf"what (?:(?:all|else|exactly) )?(?:do|did|have) you (?:still )?{_WHEN}"
                 r"(?:know|remember|recall|learn(?:ed|t)|stored|saved|noted)(?: so far)?"),
    (Frame.SAID, rf"what (?:else )?(?:can|could) you tell (?:me|us){_ON}"),
    (Frame.SAID, rf"(?:{_GIVE} )?(?:all|everything|anything|whatever|what) (?:that )?"
                 rf"(?:you|we)(?:'ve| have)? {_WHEN}{_KNOW}{_ON}"),
    (Frame.SAID, rf"anything{_ON}"),
    # "what did I say about", "which topics did we discuss", "what did I say I wanted"
    (Frame.SAID, rf"(?:{_GIVE} )?(?:what|which) (?:(?:all|else|exactly|{_DETAILS}) )?{_ASKED}"
                 rf"{_VERB}{_TO}(?:{_ON}|{_ABOUT})"),
    (Frame.SAID, rf"(?:{_GIVE} )?what {_ASKED}{_SAY_THAT}(?: (?:to )?(?:me|you|us))?"
                 r"(?: (?:that )?(?P<rest>(?:i|we|my|our)\b.+))?"),
    (Frame.SAID, rf"(?:what|which) {_DETAILS} {_ASKED}{_VERB}(?: (?P<rest>.+))?"),
    # "when did Ann first mention", "did I ever tell you about"
    (Frame.SAID, rf"(?:when )?{_ASKED}(?:{_VERB}{_TO}{_ON}|{_RAISE} (?P<raised>.+))"),
    (Frame.SAID, rf"{_ASKED}{_SAY_THAT}(?: (?:to )?(?:me|you|us))?"
                 r" (?:(?:anything|something|much|a word) about|that) (?P<rest>.+)"),
    # "everything I said about", "tell me what Ann said about", "list the topics we discussed"
    (Frame.SAID, rf"(?:all|everything) (?:that )?{_NO_CLAIM}{_STATED}{_VERB}(?:{_TO}{_ON})?"),
    (Frame.SAID, rf"{_GIVE} (?:all |everything |anything |whatever |what )?(?:(?:of )?the )?"
                 rf"(?:{_DETAILS} )?(?:that |which )?{_STATED}{_VERB}"
                 rf"(?:{_TO}(?:{_ON}|{_ABOUT})|{_TO})"),
    # "list all facts about"
    (Frame.SAID, rf"(?:{_GIVE}|what are) (?:all |every |any |some )?(?:of )?(?:the )?{_MANY}"
                 rf"{_DETAILS}(?: (?:that )?(?:you|we)(?:'ve| have)? {_KNOW})?{_ON}"),
    (Frame.SAID, rf"{_GIVE} (?:all|everything){_ON}"),
    (Frame.SAID, rf"(?:all|everything|(?:all|every) (?:the )?{_MANY}{_DETAILS}) about {_NO_CLAIM}"
                 r"(?P<rest>.+)"),
)  # fmt: skip
#: patterns of the rest: "(a summary of) our conversations about", "(the order in which) I raised"
_INNER: Final = (
    (Frame.SAID, rf"(?:did |do |have |has |had )?(?:all |everything |anything |whatever |what )?"
                 rf"(?:(?:of )?the )?{_MANY}(?:{_DETAILS} )?(?:that |which )?{_STATED}{_VERB}"
                 rf"(?:{_TO}(?:{_ON}|{_ABOUT})|(?: (?P<raised>.+))?)"),
    (Frame.SAID, r"(?:(?:all|the|every|any) )*(?P<rest>[^\W\d_][\w' -]*?) (?:that |which )?"
                 rf"(?P<who>i|we|you){_HAVE} {_WHEN}{_VERB}{_TO}{_ABOUT}?"),
    (Frame.SAID, r"(?:all (?:of )?)?(?:our|the|this|these|my|your)"
                 r"(?: (?:whole|entire|past|previous|recent|last|earlier))?"
                 r" (?:conversations?|chats?|discussions?|talks?|sessions?|messages|dialogue"
                 r"|exchanges?|history)(?: (?:we(?:'ve| have)? had|with you|together|so far))?"
                 rf"(?:{_ON})?"),
    (Frame.SAID, rf"(?:all |everything |anything |whatever |what )(?:that )?"
                 rf"(?:you|we)(?:'ve| have)? {_WHEN}{_KNOW}{_ON}"),
    (Frame.SAID, rf"(?:all |every )?(?:of )?(?:the )?{_MANY}{_DETAILS}{_ON}"),
    (Frame.SAID, rf"(?:all|everything){_ON}"),
)  # fmt: skip


@cache
def english() -> tuple[tuple[tuple[Frame, re.Pattern[str]], ...], ...]:
    """The outer frames and those within them; compiled for the first cue with a word of `HINT`."""
    return (
        tuple((frame, re.compile(f"{_LEAD}(?:{pattern})")) for frame, pattern in _OUTER),
        tuple((frame, re.compile(pattern)) for frame, pattern in _INNER),
    )


#: questions about the user: "describe me", "user preferences"
PROFILE: Final = re.compile(
    rf"{_LEAD}(?:who am i|(?:tell (?:me|us) (?:more )?about|describe) (?P<self>{SELF.pattern})"
    rf"|(?:{_GIVE} )?(?:what (?:are|is) )?(?:all |of )*(?:(?:the |this |current )*user(?:'s|s)?|my)"
    r"(?: (?:main|general|known|personal|stored))? (?:profile|facts|details|info|information"
    r"|background|memories|(?P<rest>preferences?|likes(?: and dislikes)?)))"
)
#: an auxiliary before the rest: "(in which order) did (Ann visit ...)"
AUXILIARY: Final = re.compile(r"(?:did|do|does|have|has|had|were|was|that) ")
#: trailing phrases that do not belong to the topic
TAIL: Final = re.compile(
    r",? ?\b(?:so far|(?:the )?most(?: often)?|until now|up to now|to date|till now|over time"
    r"|chronologically|step by step|in order|in (?:chronological|the right|the correct|time) order"
    r"|in short|briefly|please|for me"
    r"|(?:throughout|in|across|over|during|from) (?:all (?:of )?)?(?:our|the|this|these|my|past)"
    r"(?: (?:past|previous|last|recent|different|entire|whole))?"
    r" (?:conversations?|chats?|discussions?|talks?|sessions?|messages)"
    r"|in (?:a few|one|two|three|four|five|\d{1,2}|short|simple)(?: short| brief)?"
    r" (?:sentences?|words|lines|paragraphs?|points|bullets?))$"
)
#: a time without a topic; the time of a cue is read elsewhere
TIME: Final = re.compile(
    r"(?:yesterday|today|tonight|recently|lately|earlier(?: today)?|before"
    r"|(?:in |over )?(?:the |this )?(?:last|past|previous)(?: few)?"
    r" (?:days?|weeks?|months?|years?|time|sessions?|night)"
    r"|this (?:week|month|year|morning|evening)|(?:gecen|bu|son) (?:gun|hafta|ay|yil|sefer)"
    r"|dun|bugun|son zamanlarda)"
)
#: a sentence about the form of the answer
FORM: Final = re.compile(
    r"(?:please )?(?:(?:mention|list|name|include|give|limit|keep|use|write|answer|reply|respond"
    r"|make|be|order|sort|focus|stick)\b.*\b(?:only|most|more|than|exactly|short|brief|concise|order"
    r"|chronological\w*|bullets?|items?|points?|sentences?|words?|lines?|list|\d{1,3}|one|two|three"
    r"|four|five|six|seven|eight|nine|ten)\b.*|thanks?(?: you)?|thank you.*)"
)
#: every frame has one of these words; most cues have none, so no pattern is tried
HINT: Final = re.compile(
    r"\b(?:sa(?:y|ys|id)\b|t(?:ell|old)|mention|br(?:ing|ought) |rais|shar|descri|explain|report"
    r"|not(?:e|ed)\b|wr(?:ite|ote|itten)\b|ask|point|talk|sp(?:eak|oke)|discuss|chat|cover|went"
    r"|gone? |touch|order\b|sequence|timeline|time line|chronolog|from|summar|sum up|recap"
    r"|overview|rundown|synopsis|catch me|fill me|bring me|about\b|who am i|user|know|remember"
    r"|recall|have (?:on|about)"
    r"|stored|saved|learn"
    r"|my (?:[a-z]+ )?(?:profile|facts|details|info|background|memor|prefer|likes))"
)
