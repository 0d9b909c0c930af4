"""The topic of a cue about the conversation, without the frame of the question.

"Walk me through the order in which I brought up the garden" asks for what the user said about the
garden, but its frame would find "I placed an order". So only the topic is embedded and looked up;
the frame determines the form of the answer and the speaker. Frames are patterns of grammar: a
question or a request, a verb of saying, its subject, "about". English and Turkish, linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from spector.language.words import compose, plain
from spector.process import keeps

# English patterns of questions about the conversation: frames around a topic.
#
# Every pattern matches a whole sentence in `plain` form without surrounding signs. Groups: ``rest``
# or ``raised``, the remaining topic; ``who``, the subject of a verb of saying; ``talk``, a verb that
# takes two speakers.


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


# Turkish patterns of questions about the conversation; the verb comes last with its person.
#
# Patterns as in `spector.language.cues.topic`. Groups: ``end``, the personal ending of a verb of
# saying; ``talk``, a verb that takes two speakers; ``self``, "about me" in one word.

_TELL_TR: Final = r"(?:soyle|de|anlat|belirt|paylas|yaz|sor|bahset)"
_TALK_TR: Final = r"(?P<talk>konus|tartis|gorus)"
_VERB_TR: Final = rf"(?:{_TELL_TR}|{_TALK_TR})"
#: "soyledim", "soylemistim", "soyledim mi", "soylemis miydim": the ending is the speaker
_SAID_TR: Final = (
    rf"{_VERB_TR}(?:[dt][iu]|m[iu]s[dt][iu]|m[iu]s m[iu]yd[iu])(?P<end>m|n[iu]z|n|k|l[ae]r)?"
    r"(?: m[iu])?(?: acaba)?"
)
#: the question particle ("soyledim mi", "soylemis miydim"); without it, it is a statement
_MI_TR: Final = r"(?=.* m[iu](?:yd[iu]\w{0,3})?(?: acaba)?$)"
#: "soyledigim her sey", "konustuklarimiz"
_SAYING_TR: Final = (
    rf"{_VERB_TR}[dt][iu](?:g|kl[ae]r)[iu](?P<end>m[iu]z|n[iu]z|m|n)?(?:[iy]|n[iu])?"
    r"(?: (?:her )?(?:sey|konu)\w{0,6})?"
)
_ON_TR: Final = r"(?: hakkinda(?:ki)?|(?:'?y?l[ae]| ile) ilgili| konusunda(?:ki)?| uzerine)"
_OFTEN_TR: Final = (
    r"(?:(?:sana|size|bana|bize|simdiye kadar|daha once|bugune kadar|hic|en son|ilk|tam olarak) )"
    r"{0,3}"
)
_DO_TR: Final = (
    r"(?:anlat|listele|sirala|goster|ver|yaz|say|soyle|cikar|hazirla|yap|gec|olustur|dok)\w{0,6}"
    r"(?: m[iu]s[iu]n(?:[iu]z)?)?(?: lutfen)?"
)
#: "konusmalarimizi": our talks
_TALKS_TR: Final = (
    r"(?:konusma|sohbet|gorusme|yazisma)(?:l[ae]r)?(?:imiz|miz|iniz)?(?:i|in|nin|da|de|dan|den)?"
)
_ALL_TR: Final = r"(?:(?:butun |tum |her )?(?:sey|konu|bilgi|ani|gercek)\w{0,8})"

TURKISH: Final = tuple(
    (frame, re.compile(pattern))
    for frame, pattern in (
        (Frame.ORDER, rf"(?P<rest>.*?) ?\b(?:hangi|ne) sira(?:yla|da) {_SAID_TR}"),
        (Frame.ORDER,
         r"(?P<rest>.*?) ?\b(?:sirasiyla|sirayla|kronolojik (?:olarak|sirayla|siraya gore|sirada)"
         rf"|(?:zaman|tarih) sirasi(?:yla|na gore)) {_DO_TR}"),
        (Frame.ORDER,
         r"(?P<rest>.*?)(?: icin)? ?\b(?:bir )?(?:zaman (?:cizelgesi|cizgisi|akisi)|kronoloji"
         rf"|kronolojik (?:siralama|liste))\w{{0,4}}(?: {_DO_TR})?"),
        (Frame.SUMMARY,
         r"(?P<rest>.*?)(?: icin)? ?\b(?:(?:kisaca|bana|genel olarak) )*"
         r"(?:ozetle(?:r m[iu]s[iu]n(?:[iu]z)?|y[iu]n|)(?: lutfen)?"
         rf"|(?:(?:kisa|genel) )?(?:bir )?(?:ozet(?:i|ini)?|genel bakis) {_DO_TR})"),
        (Frame.SAID,
         rf"(?P<rest>.*?){_ON_TR} {_OFTEN_TR}(?:ne|neler|neyi) {_OFTEN_TR}{_SAID_TR}"),
        (Frame.SAID,
         rf"{_MI_TR}(?P<rest>.*?){_ON_TR} {_OFTEN_TR}(?:bir sey(?:ler)? )?{_OFTEN_TR}{_SAID_TR}"),
        (Frame.SAID, rf"(?P<rest>.*?)(?:{_ON_TR})? ?\b{_OFTEN_TR}{_SAYING_TR} {_DO_TR}"),
        (Frame.SAID,
         rf"(?P<rest>.*?){_ON_TR} {_OFTEN_TR}(?:ne|neler) {_SAYING_TR}"
         r" (?:hatirliyor|biliyor) m[iu]s[iu]n(?:[iu]z)?"),
        # "neler hatirliyorsun", without a topic
        (Frame.SAID,
         rf"{_OFTEN_TR}(?:baska )?(?:ne|neler) (?:biliyor|hatirliyor)s[iu]n(?:[iu]z)?"),
        # "gecen hafta ne konustuk"
        (Frame.SAID,
         rf"{_OFTEN_TR}(?:(?P<rest>.+) )?(?:ne|neler|hangi konulari) {_TALK_TR}(?:[dt][iu])k"),
        (Frame.SAID,
         rf"{_MI_TR}(?P<rest>.+?)[dt][ae]n {_OFTEN_TR}bahset(?:[dt]i|mis[dt]i|mis miydi)"
         r"(?P<end>m|n|k)?(?: mi)?(?: acaba)?"),
        (Frame.SAID,
         rf"(?P<rest>.*?)(?:{_ON_TR}|(?P<self>\bhakkimda(?:ki)?)) (?:baska )?"
         r"(?:(?:ne|neler) (?:biliyor|hatirliyor)(?:s[iu]n|s[iu]n[iu]z|[iu]z)?"
         rf"|(?:bildigin|hatirladigin)(?:iz)?"
         rf" {_ALL_TR}(?: {_DO_TR})?|{_ALL_TR}(?: {_DO_TR})?)"),
    )
)  # fmt: skip
#: patterns of the rest: "(bahce) hakkinda soylediklerim(i ozetle)"
INNER_TR: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<rest>.*?)(?:{_ON_TR})? ?\b{_OFTEN_TR}{_SAYING_TR}",
        rf"(?P<rest>.+?){_ON_TR}(?: (?:{_ALL_TR}|{_TALKS_TR}))?",
    )
)
PROFILE_TR: Final = re.compile(
    r"ben kimim|beni (?:ne kadar )?(?:taniyor musun|tanit|tarif et|anlat|ozetle)\w{0,6}"
    r"|(?:kullanici(?:nin)?|benim) (?:profili?m?|bilgileri?m?|(?P<rest>tercihleri?m?))"
    rf"(?:ni|i)?(?: (?:neler|nedir|{_DO_TR}))?"
)
LEAD_TR: Final = re.compile(r"(?:(?:lutfen|bana|bize|sana|size|peki|simdi) )+(?!bir\b)")
SELF_TR: Final = re.compile(r"ben(?:im|i)?|(?:bu )?kullanici(?:nin|yi)?")
OURS_TR: Final = re.compile(rf"(?:(?:butun|tum|bu|son) )*{_TALKS_TR}|bana|hangi konulari")
HINT_TR: Final = re.compile(
    r"\bne(?:ler)? (?:konus|tartis|gorus)|konulari"
    r"|hakkinda|hakkimda|ilgili|konusunda|uzerine|sirayla|sirada|sirasi|kronoloj|zaman ci|zaman ak"
    r"|ne(?:ler)? (?:bil|hatirl)iyors|ozet|genel bakis|bahset|[dt][iu](?:g|kl[ae]r)[iu]|kimim|beni "
    r"|benim|kullanici"
)


#: the speakers that "I" and "you" in a cue refer to
USER: Final = "user"
ASSISTANT: Final = "assistant"
#: longer cues are situations or documents
_MOST_CHARS: Final = 600
#: most nested frames: "a summary of (what I said about (our talks about (...)))"
_MOST_FRAMES: Final = 4
#: characters of a cue that asks for a whole, and its words
_MOST_OF_WHOLE: Final = 80
_WORD: Final = re.compile(r"\w+")
_SENTENCE: Final = re.compile(r"[^.!?]*(?:[.!?](?!\s|$)[^.!?]*)*[.!?]*\s*")
_SIGNS: Final = " \t,;:.!?\"'`()[]-–—…"
_POINTING: Final = frozenset(("it", "that", "this", "them", "these", "those", "one"))
#: Turkish genitive
_OF_TR: Final = re.compile(r"\w{2,}[iu]n$")
#: what a whole is called or done with; whose it is, and how it is asked for; and what may be beside
_WHOLE: Final = frozenset(
    """background brief briefing catch digest discuss discussed everything highlights history
    important overview picture profile recap recapitulate rundown summarise summarize summary talk
    talked""".split()
)
_WHOSE: Final = frozenset(
    """chat chats client conversation conversations customer describe discuss discussed discussion
    discussions give i know me my myself our remember session sessions show talked talks tell us
    user users we write you your""".split()
)
_BESIDE: Final = frozenset(
    """a about all an and are been can complete could did do far for from full had has have in is
    key last main make month most of on please previous s short so some that the things this time to
    today until up was week were what with would yesterday""".split()
)
#: personal ending of a verb -> speaker
_ENDS_TR: Final = {"m": USER, "n": ASSISTANT, "niz": ASSISTANT, "nuz": ASSISTANT}


@dataclass(frozen=True, slots=True)
class Topic:
    """A cue, split into frame and topic.

    Attributes:
        kind: the frame; `Frame.NONE` for most cues.
        topic: the cue without its frame, as written; "" if everything is asked for ("summarize our
            conversation").
        speaker: the speaker asked about: `USER`, `ASSISTANT`, a name as written, or None.
    """

    kind: Frame
    topic: str
    speaker: str | None = None

    @property
    def text(self) -> str:
        """The text to embed and look up: the topic with the name of the speaker."""
        if self.speaker in (None, USER, ASSISTANT):
            return self.topic
        return f"{self.speaker} {self.topic}".strip()

    @property
    def is_survey(self) -> bool:
        """True if the cue asks for everything: about the user, or without a topic."""
        return self.kind is Frame.PROFILE or (self.kind is not Frame.NONE and not self.topic)

    @property
    def wants_many(self) -> bool:
        """True if the answer needs many memories."""
        return self.kind in (Frame.ORDER, Frame.SUMMARY) or self.is_survey


def topic_of(cue: str) -> Topic:
    """Split a cue about the conversation into topic, frame and speaker.

    >>> topic_of("What did I say about my garden?")
    Topic(kind=<Frame.SAID: 'said'>, topic='my garden', speaker='user')

    A cue of several lines or of more than 600 characters, or without a matching frame, is its own
    topic. Other sentences belong to the topic, unless they are only about the form of the answer
    ("Mention only three.").
    """
    if len(cue) > 2 * _MOST_CHARS:
        return Topic(Frame.NONE, cue)
    return _topic_of(cue)


@keeps(256)
def _topic_of(cue: str) -> Topic:
    whole = compose(cue).strip()
    folded = plain(whole)
    found = _framed(cue, whole, folded)
    return Topic(Frame.SUMMARY, "") if not found.is_survey and _is_of_whole(folded) else found


def _framed(cue: str, whole: str, folded: str) -> Topic:
    if (
        len(whole) > _MOST_CHARS
        or "\n" in whole
        or not (HINT.search(folded) or HINT_TR.search(folded))
    ):
        return Topic(Frame.NONE, cue)
    sentences = [match.group() for match in _SENTENCE.finditer(whole) if match.group().strip()]
    wanted = [
        each for n, each in enumerate(sentences)
        if not n or not FORM.fullmatch(_aligned(each).strip(_SIGNS))
    ]  # fmt: skip
    for n, sentence in enumerate(wanted):
        found = _read(" ".join(sentence.strip(_SIGNS).split()))
        if found is not None:
            beside = [each.strip() for each in (*wanted[:n], *wanted[n + 1 :])]
            return Topic(found.kind, " ".join(filter(None, (*beside, found.topic))), found.speaker)
    return Topic(Frame.NONE, cue)


def _is_of_whole(folded: str) -> bool:
    """Whether a cue has no word but those by which a whole is asked for ("a profile of me")."""
    if len(folded) > _MOST_OF_WHOLE:
        return False
    words = set(_WORD.findall(folded))
    whole = words & _WHOLE
    return words <= _WHOLE | _WHOSE | _BESIDE and bool(whole and (len(whole) > 1 or words & _WHOSE))


def _read(sentence: str) -> Topic | None:
    """The topic of a sentence without surrounding signs; None if no frame matches."""
    folded = _aligned(sentence)
    if " " not in folded:
        return None  # a single word to look up
    profile = PROFILE.fullmatch(folded)
    if profile is not None:
        return Topic(Frame.PROFILE, _cut(sentence, profile, "rest"), USER)
    if HINT_TR.search(folded) and (found := _read_turkish(sentence, folded)) is not None:
        return found
    kind, speaker, rest = Frame.NONE, None, sentence
    for depth in range(_MOST_FRAMES):
        step = _step(rest, english()[min(depth, 1)])
        if step is None:
            break
        frame, rest, said_by, mutual = step
        kind = kind or frame
        if said_by is not None and not (mutual and kind is Frame.SUMMARY):
            speaker = speaker or said_by
    if kind is Frame.NONE:
        return None
    if auxiliary := AUXILIARY.match(_aligned(rest)):
        rest = rest[auxiliary.end() :]
    bare = _aligned(rest)
    if SELF.fullmatch(bare):
        # what others said about the user, or to others, is only a few memories
        return None if speaker not in (None, USER) else Topic(Frame.PROFILE, "", USER)
    # "summarize it" refers to something outside the cue
    return None if bare in _POINTING else Topic(kind, rest, speaker)


def _step(
    rest: str, patterns: Sequence[tuple[Frame, re.Pattern[str]]]
) -> tuple[Frame, str, str | None, bool] | None:
    """Remove one frame: (kind, rest, speaker, True if two speakers talked)."""
    folded = _aligned(rest)
    for frame, pattern in patterns:
        match = pattern.fullmatch(folded)
        if match is None:
            continue
        found = match.groupdict()
        said_by = None
        if found.get("who") is not None:
            said_by = _speaker(_cut(rest, match, "who"), found["who"])
        left = "raised" if found.get("raised") is not None else "rest"
        return frame, _trimmed(_cut(rest, match, left)), said_by, found.get("talk") is not None
    return None


def _speaker(written: str, folded: str) -> str | None:
    """The speaker that the subject of a verb of saying refers to."""
    if folded in ("i", "me"):
        return USER
    if folded == "you":
        return ASSISTANT
    if folded in ("we", "he", "she", "it", "they", "people", "everyone", "anyone", "someone"):
        return None
    return USER if folded == "user" else written


def _read_turkish(sentence: str, folded: str) -> Topic | None:
    if lead := LEAD_TR.match(folded):
        sentence, folded = sentence[lead.end() :], folded[lead.end() :]
    profile = PROFILE_TR.fullmatch(folded)
    if profile is not None:
        return Topic(Frame.PROFILE, _cut(sentence, profile, "rest"), USER)
    for frame, pattern in TURKISH:
        match = pattern.fullmatch(folded)
        if match is None:
            continue
        rest, speaker = _said_in_turkish(sentence, match, frame)
        for inner in INNER_TR:
            if within := inner.fullmatch(_aligned(rest)):
                rest, more = _said_in_turkish(rest, within, frame)
                speaker = speaker or more
        bare = _aligned(rest)
        if match.groupdict().get("self") or SELF_TR.fullmatch(bare):
            return Topic(Frame.PROFILE, "", USER)
        return Topic(frame, "" if OURS_TR.fullmatch(bare) else rest, speaker)
    return None


def _said_in_turkish(text: str, match: re.Match[str], frame: Frame) -> tuple[str, str | None]:
    """The rest of a frame, and the speaker by the ending of its verb.

    A third person is named at the start of the sentence: "Ayse dugun hakkinda ne dedi".
    """
    found = match.groupdict()
    rest = _trimmed(_cut(text, match, "rest"))
    if "end" not in found or (found.get("talk") and frame is Frame.SUMMARY):
        return rest, None
    word, _, more = rest.partition(" ")
    name, of, _ = word.replace("\u2019", "'").partition("'")
    if more and name[:1].isupper() and (of or not found["end"]):  # "Ayse'nin", or a third person
        return more, name
    if more and found["end"] == "n" and _OF_TR.search(_aligned(word)):
        return rest, None  # "doktorun soyledikleri": a description, not a name
    return rest, _ENDS_TR.get(found["end"] or "")


def _trimmed(text: str) -> str:
    """Strip trailing phrases that do not belong to the topic; "" for a time alone."""
    text = text.strip(_SIGNS)
    while text and (tail := TAIL.search(_aligned(text))):
        text = text[: tail.start()].strip(_SIGNS)
    return "" if TIME.fullmatch(_aligned(text)) else text


def _cut(text: str, match: re.Match[str], name: str) -> str:
    """The original text that a group matched; "" if it did not match."""
    if match.groupdict().get(name) is None:
        return ""
    start, end = match.span(name)
    return text[start:end]


def _aligned(text: str) -> str:
    """The `plain` form of a text from `compose`, with the same length and positions."""
    folded = plain(text)
    if len(folded) == len(text):
        return folded
    return "".join(each if len(each) == 1 else char for char in text for each in (plain(char),))
