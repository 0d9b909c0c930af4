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
from spector.language.words import plain

#: most characters of a condition
_MOST_OF_A_CONDITION: Final = 200
#: a sentence of at most this many words next to an instruction has no content ("Thanks!")
_FEW_WORDS: Final = 2
#: longest sentence that may instruct without a word like "always"
_SHORT: Final = 80

#: kinds of sentences: no instruction, a rule (perhaps not for the assistant), a rule about
#: answering, a permission that lifts a prohibition
_NONE, _RULE, _ANSWERING, _LEAVE = range(4)

#: words that end in a colon; in English and Turkish, those that head an order of the user
_LED: Final = re.compile(
    r"(?:^|(?<=[.!?\n]))[ \t>*#-]{0,16}([^:\uff1a.!?\n]{1,120})(?::(?=\s|$)|\uff1a)"
)
_GAP: Final = re.compile(r"[^\S\n]*")
_HEADING: Final = re.compile(
    r"(?:(?:the|a|an|my|our|your|one|two|three|some|these|this|here are|here is|new|more|another"
    r"|last|general|standing|important|also|and|ok|okay|hi|hey|hello|please|user|human|kullanici"
    r"|bir|iki|yeni|genel|onemli|benim|lutfen)\b[\s,]*){0,5}"
    r"(?:(?:rule|instruction|preference|request|reminder|note|order|wish|guideline|thing)s?"
    r"|ps|remember|(?:kural|talimat|tercih|rica|not|emir|emr)(?:lar|ler)?(?:im|imiz)?)?"
    r"(?: (?:for|about) (?:you|me|(?:your )?(?:answers|replies|answering)))?"
)
#: before an instruction: a label of the user, and politeness
_LEAD: Final = (
    r"\s*(?:(?:user|human|kullanici)\s*:\s*)?"
    r"(?:(?:please|lutfen|also|and|so|but|ok|okay|hey|hi)\b[\s,]*){0,3}"
)
_WISH: Final = (
    r"(?:(?:(?:i|we)(?:'d| would)? (?:want|need|like|prefer|expect) you to"
    r"|you (?:should|must|have to|need to)) )?"
)
_OPENS: Final = re.compile(
    _LEAD + _WISH + r"(?:(?P<rule>always|never(?! (?:forget|mind)\b)|make sure|be sure to"
    r"|do not|don't(?! (?:forget|mind)\b))"
    r"|(?P<since>from now on|in (?:the )?future|going forward)|(?P<whenever>whenever|every time)"
    r"|(?P<note>remember to|keep in mind|(?:don't|do not|never) forget))\b(?P<rest>[^.!?\n]*)"
)
#: after an opener: not an imperative, but a sentence without its "I" ("Never been there", "Don't
#: know", "Always happy to help"), or comfort
_ELIDED: Final = re.compile(
    r"(?: (?:\w+[^\We]ed|been|had|seen|heard|done|gone|got|felt|thought|known|met|made|told|found"
    r"|happy|glad|good|nice|great|fun|a|an|the|my|so|too|here|there|really"
    r"|worry|panic|doubt|know|think|mind|care|like|love|want|have|need|understand|believe|feel)\b"
    r"|,? ?(?:i|i'm|i'll|i've|we|we're|we'll|my|our|it|he|she|they|there)\b"
    r"(?!(?:'d like| would like| want| need| expect) you\b))"
)
#: substrings of texts that may instruct elsewhere; faster to search than the patterns
_ANYWHERE: Final = (
    "from now on", "going forward", " i ask", " i request", " i say", " i mention", " i tell you",
    " we ask", " we request", " we say", " we mention", " we tell you",
)  # fmt: skip
_FROM_NOW_ON: Final = re.compile(r"\b(?:from now on|going forward)\b")
#: condition that makes a sentence without an opener an instruction
_ASKED: Final = re.compile(
    r"\b(?:when|whenever|if|every time|each time) (?:i|we) (?:ask|request|say|mention|tell you)\b"
)
#: narrative sentences: "My boss laughs when I mention golf"
_TELLS: Final = re.compile(
    r"[\s,]*(?:he|she|they|it|this|that|there|my|his|her|their|our|everyone|everybody|who|what|how"
    r"|why|where|which|(?:i|we)(?!'d (?:like|prefer)| (?:want|need|prefer|like|expect|would)))\b"
)
_OF_ONESELF: Final = re.compile(
    r"\s*(?:i|i'm|i've|we|we're|my|our)\b(?!'d (?:like|prefer)"
    r"| (?:want|need|prefer|like|expect|would)\b)"
)
_YOU: Final = re.compile(r"\b(?:(?:can|could|would|will) you|please)\b")
_SENTENCE: Final = re.compile(r"[^.!?;\n]*(?:[.!?;\n]+|$)")
_WORD: Final = re.compile(r"[^\W_]+")

# -- instructions about answers -------------------------------------------------------------------

#: features of answers only
_FORM: Final = (
    r"(?:emojis?|emoticons?|markdown|jargon|slang|swearing|spoilers|disclaimers?"
    r"|(?:british|american) (?:spelling|english)|(?:metric|imperial) (?:units|system)|units"
    r"|metric|celsius|fahrenheit|bullets?|bullet points|bulleted lists?|small talk"
    r"|(?:\w+ )?(?:answers|replies|responses)"
    r"|(?:your|every|each|all|an) (?:answer|reply|response|explanation)s?)\b"
)
#: parts that answers may have
_PART: Final = (
    r"(?:words?|sentences?|paragraphs?|tables?|lists?|headings?|links?|sources?|citations?|examples?"
    r"|references|footnotes?|summar(?:y|ies)|code blocks?|abbreviations|exclamation marks)\b"
)
_FORM_TR: Final = r"\b(?:emoji|cevap|cevab|yanit|metrik|madde isaret|jargon)\w{0,12}\b"
_SO_TR: Final = (
    r"\b(?:turkce|ingilizce|almanca|fransizca|ispanyolca|kisa|kisaca|kisa ve \w{1,12}|uzun|net|oz"
    r"|resmi|samimi|sade|madde madde)"
)
#: languages in which one may be asked to answer
LANGUAGE: Final = (
    r"(?:simple |plain |british |american )?(?:english"
    r"|turkish|german|french|spanish|italian|portuguese|dutch|russian|arabic|chinese"
    r"|japanese|korean|polish|swedish|norwegian|danish|finnish|greek|czech|hungarian|romanian"
    r"|ukrainian|hindi|hebrew|persian|vietnamese|thai|indonesian)\b"
)
_MANNER: Final = (
    r"(?:brief|briefly|concise|concisely|short|shorter|succinct|terse|direct|blunt|formal|informal"
    r"|casual|polite|precise|specific|detailed|thorough|simple|gentle|kind|honest|friendly)\b"
)
#: a manner without an object: "Be kind", not "Be kind to Ann"
_SO: Final = _MANNER + r"(?=(?: (?:and|but|or) \w+)?(?: with me| please)?\s*(?:[,.!;]|when\b|$))"
_HEAD: Final = (
    r"[\s,]*(?:(?:also|just|only|please|always|never|try to|to|that|you|ever)\b[\s,]*){0,4}"
)
_TO_ANSWER: Final = (
    r"(?:answer|reply|respond)\b"
    r"(?! (?:to (?!me\b|my question)|(?:the|my|his|her|an?|any) (?!questions?\b)|(?:calls|e?mails)"
    r"\b))"
)
_ANSWERS: Final = re.compile(
    _HEAD
    + r"(?:"
    + _TO_ANSWER
    + r"|(?:suggest|recommend|cite|quote sources|summari[sz]e|translate)\b"
    r"|(?:call|address|tell|give|show|ask|remind|offer|correct|explain to|write to|write|speak to"
    r"|talk to) me\b|(?:write|speak|talk) (?:only )?(?:in )?"
    + LANGUAGE
    + r"|(?:be|keep (?:it|them|things)) (?:\w+ )?"
    + _SO
    + r"|(?:write|speak|talk) (?:\w+ )?"
    + _SO
    + r"|(?:use|include|add|give|provide|show|skip|omit|avoid|write|insert|put in|leave out)"
    r"(?: (?!my\b|his\b|her\b|our\b)[^\s,.]+){0,3} " + _PART + r")"
)
_OF_FORM: Final = re.compile(r"\b" + _FORM)
_OF_ANSWERS: Final = re.compile(rf"\b(?:{_FORM}|{_PART})|{_FORM_TR}|{_SO_TR} (?:yaz|konus|cevap)")
#: start of an instruction to answer or to act
_ACTS: Final = re.compile(
    _HEAD + r"(?:be (?:\w+ )?" + _MANNER + r"|answer|reply|respond|write|say|speak|talk|mention"
    r"|include|list|show|give|provide|tell|ask|add|send|use|format|start|begin|end|put|make|keep|check|avoid|stop|skip|assume"
    r"|treat|consider|prefer|quote|stay|stick|switch|call|address|round|spell|sign"
    r"|you(?: are|'re| will|'ll)|do not|don't|never|always)\b"
)
#: a short sentence that can only be an instruction
_SHORTLY: Final = re.compile(
    _LEAD
    + _WISH
    + r"(?:be (?:(?:more|very|as|less|a (?:bit|little) more) )?"
    + _SO
    + r"|keep (?:it|things|(?:\w+ )?(?:answers|replies|responses)) (?:\w+ )?"
    + _SO
    + r"|(?:no(?: more)?|(?:stop|quit|avoid|skip|drop)(?: using| adding| with)?"
    r"|(?:start |only )?(?:using|use)(?: only)?)(?: (?:the|all|any|your|so many))? "
    + _FORM
    + r"|(?:answer|reply|respond)(?: to me| me)?(?: only| always)?"
    r" (?:in|like|as|using|without|" + _MANNER + r")"
    r"|(?:speak|talk)(?: to me)? like\b|(?:write|speak|talk)(?: to me)?(?: only)? (?:in )?"
    + LANGUAGE
    + r"|stop (?:calling|addressing) me\b|(?:your|all|the) (?:answers|replies|responses)"
    r" (?:should|must|have to|need to)\b)(?! (?:to(?! me\b)|at|for|of|on|from) )"
)
#: "Call me Jo", not "Call me tomorrow" or "call me back": a name has a capital
_CALL_ME: Final = re.compile(
    r"\W*(?:(?:[Pp]lease|[Jj]ust|[Yy]ou (?:can|may))\W+)?[Cc]all me (\w+)(?: \w+)?[\s.!]*$"
)
#: permission to do what was forbidden, or not to do what was required
_MAY: Final = re.compile(
    _LEAD + r"(?:(?:feel free to|you (?:may|can|are (?:free|allowed|welcome) to"
    r"|(?:don't|do not|no longer) (?:have|need) to|needn't|need not))\b"
    r"|[^.!?]{0,60}\b(?:is|are) (?:fine|ok|okay|allowed|welcome) (?:again|now)\b)"
)

_AGAIN: Final = re.compile(r"\b(?:again|after all)\b")
#: ends what was asked for before, whatever that was; by itself it instructs nothing
_ENDS: Final = re.compile(
    _LEAD + r"(?:(?:stop|quit|drop|skip|lose|cut|enough|no more|no need|forget|scrap|never mind)\b"
    r"(?: (?:it|with|about|for|to|using|the|your|all|those|these|that|any|so many)\b){0,3}"
    r"(?: [\w'-]+){1,6})(?: (?:please|now|already|from now on))?[\s.!]*$"
)

# -- conditions -----------------------------------------------------------------------------------

#: start of a condition about the conversation
_CLAUSE: Final = re.compile(
    r"\b(?:when|whenever|if|every ?time|each time|any ?time|once) "
    r"(?:i|we|you|it comes to|(?:the|a) (?:topic|subject|question|conversation) is(?: about)?"
    r"|(?=asked|asking|talking|speaking|discussing))\b"
)
#: verb of asking in a condition, without its topic
_FRAME: Final = re.compile(
    r"[\s,]*(?:(?:'m|'re|am|are|is|ever|want to know|want to|would like to|need to)\s+){0,2}"
    r"(?:(?:ask|request|say|mention|tell|talk|speak|inquire|discuss|bring up|want|need)"
    r"(?:ed|ing)?\b"
    r"(?:\s+(?:you|me))?)?"
    r"(?:\s*\b(?:for|about|on|of|to|with|regarding|concerning|(?:a |any )?questions?|something"
    r"|anything|help|advice)\b){0,3}\s*"
)
_BEHIND: Final = re.compile(r"\s*(?:,|\bthen\b|:)")

# -- Turkish, where the verb comes last -----------------------------------------------------------

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
#: final imperative of a verb of answering; "olsun"
_IMPERATIVE_TR: Final = re.compile(
    r"\b(?:(?:cevapla|yanitla|yaz|kullan|soyle|oner|belirt|ekle|listele|goster|acikla|cevir|konus"
    r"|anlat|ozetle|sor|hatirlat|ver|koy|ol|al|tut|de|e[td]|bahse[td])"
    r"(?:y?[iu]n(?:[iu]z)?|m[ea](?:y[iu]n(?:[iu]z)?)?)?|(?:olsun|olmasin)(?:lar)?)"
    r"(?: lutfen)?[\s.!;]*$"
)
_FORBIDS_TR: Final = re.compile(r"\b\w{2,20}m[ea](?:y[iu]n(?:[iu]z)?|s[iu]n)?(?: lutfen)?[\s.!;]*$")
_ANSWERS_TR: Final = re.compile(
    _FORM_TR + "|" + _SO_TR + r" (?:cevap|yanit|yaz|konus|anlat|acikla|ol|tut)"
    r"|\b(?:oner|ozetle|hitap e[td]|cevapla|yanitla|listele)\w{0,8}(?: lutfen)?[\s.!;]*$"
    r"|\b(?:bana|benimle|beni) [^.!?]{0,60}$"
)
#: the same without a word like "always"
_SHORTLY_TR: Final = re.compile(
    r"[^,:]{0,40}?(?:\bemoji\w{0,8} (?:kullan|koy|ekle)|\b(?:cevap|yanit)lar\w{0,8} [^,]{0,30}\bol"
    r"|" + _SO_TR + r" (?:cevap ver|yanit ver|cevapla|yanitla|yaz|konus|anlat|ol|tut)"
    r"|\bbana \w+ (?:de(?:yin)?|diye hitap e[td]\w{0,4})[\s.!]*$)"
)
_MAY_TR: Final = re.compile(
    r"[^.!?]{0,80}(?:[ae]bilirsin(?:iz)?|zorunda degilsin(?:iz)?|(?:gerek|lazim) (?:yok|degil)"
    r"|serbest)(?: (?:artik|tekrar|yine|yeniden))?[\s.!]*$"
)
_NO_TOPIC_TR: Final = re.compile(
    r"(?:her zaman|hep|asla|hicbir zaman|sakin|bundan (?:sonra|boyle)|lutfen|eger|ne zaman|bana"
    r"|sana|senden|sizden|bir sey|soru)\b\s*"
)
_POSTPOSITION_TR: Final = re.compile(
    r"\s*\b(?:(?:hakkinda|ile ilgili|konusunda|icin)(?: bir sey)?|bir sey)\s*$"
)

_SHORT_ONES: Final = (_SHORTLY, _SHORTLY_TR, _MAY, _MAY_TR, _ENDS)

_FORBIDS: Final = re.compile(
    r"\b(?:never|don't|do not|doesn't|no|not|stop|quit|avoid|skip|drop|lose|enough|scrap|forget"
    r"|without|no longer|needn't"
    r"|asla|sakin|hicbir|olmasin(?:lar)?|degilsin(?:iz)?|yok)\b"
)


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
    first = _SENTENCE.match(folded)
    head = first.group() if first else ""
    called = _is_called(text) if " me " in head else False
    if not (
        called or _OPENS.match(folded) or _OPENS_TR.match(folded)
        or any(map(folded.__contains__, _ANYWHERE)) or any(map(folded.__contains__, _HINTS_TR))
        or (len(head) <= _SHORT and any(each.match(head) for each in _SHORT_ONES))
    ):  # fmt: skip
        return None
    if (own := _before_lead(own_words(text))) != text:
        return find_instruction(own) if own.strip() else None
    best, found, rest = _NONE, "", 0
    for n, match in enumerate(_SENTENCE.finditer(folded)):
        sentence = match.group()
        kind = _ANSWERING if called and not n else _kind(sentence, first=n == 0)
        says = len(_WORD.findall(sentence)) > _FEW_WORDS
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
    opened = _OPENS.match(found) or _OPENS_TR.match(found)
    notes = opened is not None and opened["note"] is not None
    whole = best == _ANSWERING and not (rest or notes or _OF_ONESELF.match(found))
    asked = _ASKED_TR.search(found)
    condition = _condition(found) if asked is None else _condition_tr(found[: asked.start()])
    return Instruction(whole, condition, False, found)


def _before_lead(text: str) -> str:
    """A text up to words that end in a colon and are no heading of an order of the user.

    What stands behind them is someone else's, or of a matter that they name: of words that a line
    goes on after to the end of the paragraph, which is left out, else all of the text.
    """
    out: list[str] = []
    done = at = 0
    while lead := _LED.search(text, at):
        at = lead.end()
        if _is_heading(plain(lead[1]).strip()):
            continue
        gap = _GAP.match(text, at)
        stop = end_of_words(text, gap.end() if gap else at)
        out += [text[done:at], " " * (stop - at)]
        done = at = stop
    return "".join((*out, text[done:]))


def _is_heading(lead: str) -> bool:
    """Whether words before a colon are an order's own: they order, or only say that one follows."""
    return (
        _HEADING.fullmatch(lead) is not None
        or any(each.match(lead) for each in (_OPENS, _OPENS_TR, _CLAUSE, _ASKED, _SHORTLY))
        or bool(_ASKED_TR.search(lead))
    )


def is_prohibition(sentence: str) -> bool:
    """True if a folded instruction forbids something."""
    return (len(_FORBIDS.findall(sentence)) % 2 == 1) or (
        not _FORBIDS.search(sentence) and _FORBIDS_TR.search(sentence) is not None
    )


def _is_called(text: str) -> bool:
    found = _CALL_ME.match(text)
    return found is not None and found[1][0].isupper() and not is_of_time(plain(found[1]))


def _kind(sentence: str, *, first: bool) -> int:
    """The kind of a sentence; openers count in the first sentence only."""
    if sentence.rstrip().endswith("?") and not _YOU.search(sentence):
        return _NONE
    short = first and len(sentence) <= _SHORT
    leave = (_MAY.match(sentence) or _MAY_TR.match(sentence)) if short else None
    if leave is not None:
        rest = sentence[leave.end() :]
        if (
            _OF_ANSWERS.search(sentence)
            or _ANSWERS.match(rest)
            or (_AGAIN.search(rest) and _ACTS.match(rest))
        ):
            return _LEAVE
        if not _ASKED.search(sentence):
            return _NONE
    if short and _SHORTLY.match(sentence):
        return _ANSWERING
    if short and _ENDS.match(sentence):
        return _LEAVE
    return max(_english(sentence, first=first), _turkish(sentence, first=first))


def _english(sentence: str, *, first: bool) -> int:
    asked = _ASKED.search(sentence)
    opened = _OPENS.match(sentence) if first else None
    if asked is not None:
        return _ANSWERING if _is_instructing(sentence, asked, opened) else _NONE
    if opened is not None:
        rest = opened["rest"]
        if opened["whenever"]:
            comma = rest.find(",")
            rest = rest[comma + 1 :]
            if comma >= 0 and _TELLS.match(rest):
                return _NONE
        elif opened["note"] is None and _ELIDED.match(rest):
            return _NONE
        sure = opened["rule"] or opened["whenever"]
        note = opened["note"] is not None
    else:
        later = _FROM_NOW_ON.search(sentence)
        if later is None or _TELLS.match(sentence) or _ELIDED.match(sentence, later.end()):
            return _NONE
        lead = re.match(_LEAD + _WISH, sentence)
        rest = sentence[lead.end() if lead else 0 : later.start()]
        rest = rest if _WORD.search(rest) else sentence[later.end() :]
        sure, note = None, False
    if _ANSWERS.match(rest) or _OF_FORM.search(rest):
        return _ANSWERING
    if note or not (sure or _ACTS.match(rest)):
        return _NONE
    return _RULE


def _is_instructing(sentence: str, asked: re.Match[str], opened: re.Match[str] | None) -> bool:
    """True if a sentence with "when I ask" is an instruction, not a story."""
    if opened is not None and asked.start() > opened.start():
        return True
    if not sentence[: asked.start()].strip(" ,"):
        comma = sentence.find(",", asked.end())
        return comma < 0 or not _TELLS.match(sentence, comma + 1)
    if not _TELLS.match(sentence):
        return True
    so = sentence.rfind(", so ", 0, asked.start())  # "I'm vegan, so suggest ... when I ask for ..."
    return so >= 0 and not _TELLS.match(sentence, so + len(", so "))


def _condition(sentence: str) -> str | None:
    """The condition of an instruction: the topic that a cue must have."""
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


def _turkish(sentence: str, *, first: bool) -> int:
    """The kind of a Turkish sentence: instructions end in an imperative, stories do not."""
    opened = _OPENS_TR.match(sentence) if first else None
    asked = _ASKED_TR.search(sentence)
    since = _ANYWHERE_TR.search(sentence)
    imperative = _IMPERATIVE_TR.search(sentence[-_SHORT:])
    if opened is None and asked is None and since is None:
        short = first and imperative and len(sentence) <= _SHORT
        return _ANSWERING if short and _SHORTLY_TR.match(sentence) else _NONE
    if not (imperative or _FORBIDS_TR.search(sentence[-_SHORT:])):
        return _NONE
    if (asked and imperative) or _ANSWERS_TR.search(sentence):
        return _ANSWERING
    return _NONE if opened and opened["note"] else _RULE


def _condition_tr(before: str) -> str | None:
    """The condition in the words before "sorduğumda"."""
    topic = before.rpartition(",")[2]
    lead = re.match(_LEAD, topic)
    topic = topic[lead.end() if lead else 0 :]
    while gone := _NO_TOPIC_TR.match(topic):
        topic = topic[gone.end() :]
    topic = _POSTPOSITION_TR.sub("", topic[-_MOST_OF_A_CONDITION:]).strip(" ,\"'")
    return topic if _WORD.search(topic) else None
