"""What a cue about the conversation is about: its topic, without the frame that asks for it.

"Walk me through the order in which I brought up the garden" asks for what the user said about the
garden. Its frame is what finds "I placed an order"; so the topic is embedded and looked up, the
frame says how the answer is to be put together and whose words are meant. The frames are grammar: a
question or an order, a verb of saying, its subject, "about". English and Turkish, linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from spector.read.plain import composed, plain

__all__ = ["ASSISTANT", "USER", "Frame", "Topic", "topic_of"]

#: whose words are meant when the cue says "I" and "you"
USER: Final = "user"
ASSISTANT: Final = "assistant"
#: longer cues are situations or documents, whatever they begin with
_MOST_CHARS: Final = 600
#: frames within frames: "a summary of (what I said about (our talks about (...)))"
_MOST_FRAMES: Final = 4


class Frame(StrEnum):
    """What is asked about the conversation."""

    NONE = ""  # nothing: the cue is about the world
    ORDER = "order"  # when one thing was said after another
    SUMMARY = "summary"  # all of it, in short
    SAID = "said"  # what was said or is known about something
    PROFILE = "profile"  # what is known about the user


@dataclass(frozen=True, slots=True)
class Topic:
    """How a cue is read.

    Attributes:
        kind: the frame; `Frame.NONE` for most cues.
        topic: what is left without it, as it was written: the cue itself without a frame, "" where
            everything is asked for ("summarize our conversation").
        speaker: whose words are meant: `USER`, `ASSISTANT`, a name as it was written, or None.
    """

    kind: Frame
    topic: str
    speaker: str | None = None

    @property
    def text(self) -> str:
        """What is embedded and looked up: the topic, with the name of whoever spoke of it."""
        if self.speaker in (None, USER, ASSISTANT):
            return self.topic
        return f"{self.speaker} {self.topic}".strip()

    @property
    def is_survey(self) -> bool:
        """Whether all there is would be an answer: of the user, or without any topic."""
        return self.kind is Frame.PROFILE or (self.kind is not Frame.NONE and not self.topic)

    @property
    def wants_many(self) -> bool:
        """Whether an answer is put together from many memories."""
        return self.kind in (Frame.ORDER, Frame.SUMMARY) or self.is_survey


# -- English ---------------------------------------------------------------------------------------

_LEAD: Final = (
    r"(?:(?:hey|hi|hello|ok|okay|so|well|now|and|also|thanks|please)[,!]? ){0,3}"
    r"(?:(?:can|could|would|will) you |i(?:'d| would) (?:like|love) (?:you )?(?:to )?"
    r"|i (?:want|need) (?:you )?(?:to )?|let me |let's |help me )?"
    r"(?:please |kindly |just |quickly |briefly )*"
)
#: an order to say something, up to what is to be said
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
#: those that are nothing but saying: what is said may follow without "about"
_SAY_THAT: Final = r"(?:say|says|said|tell|tells|told|mention(?:s|ed)?)"
_RAISE: Final = r"(?:mention(?:s|ed)?|(?:bring|brings|brought) up|raise[sd]?|discuss(?:es|ed)?)"
#: what two do: no single speaker is meant, but by "I"
_TALK: Final = (
    r"(?:talk(?:s|ed)?|speak|spoke|spoken|discuss(?:es|ed)?|chat(?:s|ted)?|cover(?:s|ed)?"
    r"|(?:go|gone|went) (?:over|through)|touch(?:es|ed)? on)"
)
_WHEN: Final = r"(?:(?:ever|already|just|previously|first|last|originally|also|so far) ){0,2}"
#: "I", "you", "Ann Lee": whoever says; nobody who is only described ("my sister")
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
#: what follows is no statement: "everything about it (is wrong)"
_NO_CLAIM: Final = r"(?!.*\b(?:is|are|was|were|seems?|makes?|made)\b)"

_SELF: Final = re.compile(
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

#: of a whole sentence; the first frame that fits counts, and what it leaves is looked at again
_OUTER: Final = (
    # "walk me through the order in which", "what was the sequence in which"
    (Frame.ORDER,
     rf"(?:{_GIVE} )?(?:what(?:'s| is| was| were) )?(?:in |by )?(?:the )?{_SIZE}{_ORDERED}"
     r" (?:in|by) which (?P<rest>.+)"),
    # "in what order did"
    (Frame.ORDER, rf"(?:{_GIVE} )?(?:in|by) (?:what|which) {_SIZE}{_ORDERED} (?P<rest>.+)"),
    # "give me a timeline of"
    (Frame.ORDER,
     rf"(?:(?:{_GIVE}|what(?:'s| is| was)) )?(?:a |the |my |our )?{_SIZE}"
     r"(?:timeline|time line|chronology|(?:order|sequence) of (?:events|things|topics))"
     r"(?: (?:of|on|about|for) (?P<rest>.+))?"),
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
#: of what a frame leaves: "(a summary of) our conversations about", "(the order in which) I raised"
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
_ENGLISH: Final = (
    tuple((frame, re.compile(f"{_LEAD}(?:{pattern})")) for frame, pattern in _OUTER),
    tuple((frame, re.compile(pattern)) for frame, pattern in _INNER),
)
#: of the user, whatever else is known: "describe me", "user preferences"
_PROFILE: Final = re.compile(
    rf"{_LEAD}(?:who am i|(?:tell (?:me|us) (?:more )?about|describe) (?P<self>{_SELF.pattern})"
    rf"|(?:{_GIVE} )?(?:what (?:are|is) )?(?:all |of )*(?:(?:the |this |current )*user(?:'s|s)?|my)"
    r"(?: (?:main|general|known|personal|stored))? (?:profile|facts|details|info|information"
    r"|background|memories|(?P<rest>preferences?|likes(?: and dislikes)?)))"
)
#: what stands before a clause that is left: "(in which order) did (Ann visit ...)"
_AUXILIARY: Final = re.compile(r"(?:did|do|does|have|has|had|were|was|that) ")
#: what says nothing of the topic at its end
_TAIL: Final = re.compile(
    r",? ?\b(?:so far|(?:the )?most(?: often)?|until now|up to now|to date|till now|over time"
    r"|chronologically|step by step|in order|in (?:chronological|the right|the correct|time) order"
    r"|in short|briefly|please|for me"
    r"|(?:throughout|in|across|over|during|from) (?:all (?:of )?)?(?:our|the|this|these|my|past)"
    r"(?: (?:past|previous|last|recent|different|entire|whole))?"
    r" (?:conversations?|chats?|discussions?|talks?|sessions?|messages)"
    r"|in (?:a few|one|two|three|four|five|\d{1,2}|short|simple)(?: short| brief)?"
    r" (?:sentences?|words|lines|paragraphs?|points|bullets?))$"
)
#: when it was said; the time of a cue is read elsewhere
_TIME: Final = re.compile(
    r"(?:yesterday|today|tonight|recently|lately|earlier(?: today)?|before"
    r"|(?:in |over )?(?:the |this )?(?:last|past|previous)(?: few)?"
    r" (?:days?|weeks?|months?|years?|time|sessions?|night)"
    r"|this (?:week|month|year|morning|evening)|(?:gecen|bu|son) (?:gun|hafta|ay|yil|sefer)"
    r"|dun|bugun|son zamanlarda)"
)
#: a sentence that says in which form the answer is wanted
_FORM: Final = re.compile(
    r"(?:please )?(?:(?:mention|list|name|include|give|limit|keep|use|write|answer|reply|respond"
    r"|make|be|order|sort|focus|stick)\b.*\b(?:only|most|more|than|exactly|short|brief|concise|order"
    r"|chronological\w*|bullets?|items?|points?|sentences?|words?|lines?|list|\d{1,3}|one|two|three"
    r"|four|five|six|seven|eight|nine|ten)\b.*|thanks?(?: you)?|thank you.*)"
)
_SENTENCE: Final = re.compile(r"[^.!?]*(?:[.!?](?!\s|$)[^.!?]*)*[.!?]*\s*")
_SIGNS: Final = " \t,;:.!?\"'`()[]-–—…"

# -- Turkish: the verb comes last, and its ending says who -----------------------------------------

_TELL_TR: Final = r"(?:soyle|de|anlat|belirt|paylas|yaz|sor|bahset)"
_TALK_TR: Final = r"(?P<talk>konus|tartis|gorus)"
_VERB_TR: Final = rf"(?:{_TELL_TR}|{_TALK_TR})"
#: "soyledim", "soylemistim", "soyledim mi", "soylemis miydim": the ending is whose words they are
_SAID_TR: Final = (
    rf"{_VERB_TR}(?:[dt][iu]|m[iu]s[dt][iu]|m[iu]s m[iu]yd[iu])(?P<end>m|n[iu]z|n|k|l[ae]r)?"
    r"(?: m[iu])?(?: acaba)?"
)
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
_ALL_TR: Final = r"(?:(?:butun |tum |her )?(?:sey|konu|bilgi|ani|gercek)\w{0,8})"

_TURKISH: Final = tuple(
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
         rf"(?P<rest>.*?){_ON_TR} {_OFTEN_TR}(?:(?:ne|neler|neyi|bir sey(?:ler)?) )?{_OFTEN_TR}"
         rf"{_SAID_TR}"),
        (Frame.SAID, rf"(?P<rest>.*?)(?:{_ON_TR})? ?\b{_OFTEN_TR}{_SAYING_TR} {_DO_TR}"),
        (Frame.SAID,
         rf"(?P<rest>.+?)[dt][ae]n {_OFTEN_TR}bahset(?:[dt]i|mis[dt]i|mis miydi)(?P<end>m|n|k)?"
         r"(?: mi)?"),
        (Frame.SAID,
         rf"(?P<rest>.*?)(?:{_ON_TR}|(?P<self>\bhakkimda(?:ki)?)) (?:baska )?"
         r"(?:(?:ne|neler) (?:biliyor|hatirliyor)(?:s[iu]n|s[iu]n[iu]z|[iu]z)?"
         rf"|(?:bildigin|hatirladigin)(?:iz)?"
         rf" {_ALL_TR}(?: {_DO_TR})?|{_ALL_TR}(?: {_DO_TR})?)"),
    )
)  # fmt: skip
#: of what a frame leaves: "(bahce) hakkinda soylediklerim(i ozetle)"
_INNER_TR: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<rest>.*?)(?:{_ON_TR})? ?\b{_OFTEN_TR}{_SAYING_TR}",
        rf"(?P<rest>.+?){_ON_TR}(?: {_ALL_TR})?",
    )
)
_PROFILE_TR: Final = re.compile(
    r"ben kimim|beni (?:ne kadar )?(?:taniyor musun|tanit|tarif et|anlat|ozetle)\w{0,6}"
    r"|(?:kullanici(?:nin)?|benim) (?:profili?m?|bilgileri?m?|(?P<rest>tercihleri?m?))"
    rf"(?:ni|i)?(?: (?:neler|nedir|{_DO_TR}))?"
)
_LEAD_TR: Final = re.compile(r"(?:(?:lutfen|bana|bize|peki|simdi) )+(?!bir\b)")
_SELF_TR: Final = re.compile(r"ben(?:im|i)?|(?:bu )?kullanici(?:nin|yi)?")
_OURS_TR: Final = re.compile(
    r"(?:(?:butun|tum|bu|son) )*(?:konusma|sohbet|gorusme|yazisma)(?:lar)?(?:imiz|miz|iniz)?"
    r"(?:i|in|nin|da|de|dan|den)?|bana"
)
_ENDS_TR: Final = {"m": USER, "n": ASSISTANT, "niz": ASSISTANT, "nuz": ASSISTANT}


#: every frame has one of these words; most cues have none, and need no further look
_HINT: Final = re.compile(
    r"\b(?:sa(?:y|ys|id)\b|t(?:ell|old)|mention|br(?:ing|ought) |rais|shar|descri|explain|report"
    r"|not(?:e|ed)\b|wr(?:ite|ote|itten)\b|ask|point|talk|sp(?:eak|oke)|discuss|chat|cover|went"
    r"|gone? |touch|order\b|sequence|timeline|time line|chronolog|from|summ?ar|sum up|recap"
    r"|overview|rundown|synopsis|catch me|fill me|bring me|about\b|who am i|user|know|remember"
    r"|recall|have (?:on|about)"
    r"|my (?:[a-z]+ )?(?:profile|facts|details|info|background|memor|prefer|likes))"
)
_HINT_TR: Final = re.compile(
    r"hakkinda|hakkimda|ilgili|konusunda|uzerine|sirayla|sirada|sirasi|kronoloj|zaman ci|zaman ak"
    r"|ozet|genel bakis|bahset|[dt][iu](?:g|kl[ae]r)[iu]|kimim|beni |benim|kullanici"
)


# -- reading ---------------------------------------------------------------------------------------


def topic_of(cue: str) -> Topic:
    """The topic of a cue about the conversation, what is asked about it, and whose words are meant.

    >>> topic_of("What did I say about my garden?")
    Topic(kind=<Frame.SAID: 'said'>, topic='my garden', speaker='user')

    A cue of several lines or of more than 600 characters, and one that no frame fits, is its own
    topic. A sentence beside the framed one belongs to the topic, unless it only says in which form
    the answer is wanted ("Mention only three.").
    """
    if len(cue) > 2 * _MOST_CHARS:
        return Topic(Frame.NONE, cue)
    return _topic_of(cue)


@lru_cache(maxsize=256)
def _topic_of(cue: str) -> Topic:
    whole = composed(cue).strip()
    folded = plain(whole)
    if len(whole) > _MOST_CHARS or "\n" in whole or not (
        _HINT.search(folded) or _HINT_TR.search(folded)
    ):
        return Topic(Frame.NONE, cue)
    sentences = [match.group() for match in _SENTENCE.finditer(whole) if match.group().strip()]
    wanted = sentences[:1]
    wanted += [each for each in sentences[1:] if not _FORM.fullmatch(_aligned(each).strip(_SIGNS))]
    for n, sentence in enumerate(wanted):
        found = _read(" ".join(sentence.strip(_SIGNS).split()))
        if found is not None:
            beside = [each.strip() for each in (*wanted[:n], *wanted[n + 1 :])]
            return Topic(found.kind, " ".join(filter(None, (*beside, found.topic))), found.speaker)
    return Topic(Frame.NONE, cue)


def _read(sentence: str) -> Topic | None:
    """The topic of a single sentence without signs around it; None when no frame fits."""
    folded = _aligned(sentence)
    if " " not in folded:
        return None  # a word to look up
    profile = _PROFILE.fullmatch(folded)
    if profile is not None:
        return Topic(Frame.PROFILE, _cut(sentence, profile, "rest"), USER)
    if _HINT_TR.search(folded) and (found := _read_turkish(sentence, folded)) is not None:
        return found
    kind, speaker, rest = Frame.NONE, None, sentence
    for depth in range(_MOST_FRAMES):
        step = _step(rest, _ENGLISH[min(depth, 1)])
        if step is None:
            break
        frame, rest, said_by, mutual = step
        kind = kind or frame
        if said_by is not None and not (mutual and kind is Frame.SUMMARY):
            speaker = speaker or said_by
    if kind is Frame.NONE:
        return None
    if auxiliary := _AUXILIARY.match(_aligned(rest)):
        rest = rest[auxiliary.end() :]
    if _SELF.fullmatch(_aligned(rest)):
        return Topic(Frame.PROFILE, "", USER)
    return Topic(kind, rest, speaker)


def _step(
    rest: str, patterns: Sequence[tuple[Frame, re.Pattern[str]]]
) -> tuple[Frame, str, str | None, bool] | None:
    """One frame taken off: what it asks, what it leaves, whose words, whether two talked."""
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
    """Who is meant by the subject of a verb of saying."""
    if folded in ("i", "me"):
        return USER
    if folded == "you":
        return ASSISTANT
    if folded in ("we", "he", "she", "it", "they", "people", "everyone", "anyone", "someone"):
        return None
    return USER if folded == "user" else written


def _read_turkish(sentence: str, folded: str) -> Topic | None:
    if lead := _LEAD_TR.match(folded):
        sentence, folded = sentence[lead.end() :], folded[lead.end() :]
    profile = _PROFILE_TR.fullmatch(folded)
    if profile is not None:
        return Topic(Frame.PROFILE, _cut(sentence, profile, "rest"), USER)
    for frame, pattern in _TURKISH:
        match = pattern.fullmatch(folded)
        if match is None:
            continue
        rest, speaker = _said_in_turkish(sentence, match, frame)
        for inner in _INNER_TR:
            if within := inner.fullmatch(_aligned(rest)):
                rest, more = _said_in_turkish(rest, within, frame)
                speaker = speaker or more
        bare = _aligned(rest)
        if match.groupdict().get("self") or _SELF_TR.fullmatch(bare):
            return Topic(Frame.PROFILE, "", USER)
        return Topic(frame, "" if _OURS_TR.fullmatch(bare) else rest, speaker)
    return None


def _said_in_turkish(text: str, match: re.Match[str], frame: Frame) -> tuple[str, str | None]:
    """What a frame leaves, and whose words are meant by the ending of its verb.

    Of a third person the sentence begins with the name: "Ayse dugun hakkinda ne dedi".
    """
    found = match.groupdict()
    rest = _trimmed(_cut(text, match, "rest"))
    if "end" not in found or (found.get("talk") and frame is Frame.SUMMARY):
        return rest, None
    word, _, more = rest.partition(" ")
    name, of, _ = word.replace("\u2019", "'").partition("'")
    if more and name[:1].isupper() and (of or not found["end"]):  # "Ayse'nin", or a third person
        return more, name
    return rest, _ENDS_TR.get(found["end"] or "")


def _trimmed(text: str) -> str:
    """Without what says nothing of the topic at its end; "" for a time alone."""
    text = text.strip(_SIGNS)
    while text and (tail := _TAIL.search(_aligned(text))):
        text = text[: tail.start()].strip(_SIGNS)
    return "" if _TIME.fullmatch(_aligned(text)) else text


def _cut(text: str, match: re.Match[str], name: str) -> str:
    """What a group has matched, in the words of the text; "" for nothing."""
    if match.groupdict().get(name) is None:
        return ""
    start, end = match.span(name)
    return text[start:end]


def _aligned(text: str) -> str:
    """The `plain` form of a `composed` text, character by character, so that places agree."""
    folded = plain(text)
    if len(folded) == len(text):
        return folded
    return "".join(each if len(each) == 1 else char for char in text for each in (plain(char),))
