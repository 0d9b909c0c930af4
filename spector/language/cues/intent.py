"""Kind, intent and route of a cue: cheap rules, no model, every decision with its reasons.

`kind_of` chooses the weights of the ranking formula; its rules were measured ("Ranking research" in
bench/log). `route_cue` adds intent and mode with default parameters for each. A route never
excludes a memory: it says what to favour, how many memories to read, and why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from spector.language.cues.kinds import Intent, Kind, Mode
from spector.language.cues.topic import Frame, topic_of
from spector.language.statements import FIRST_PERSON
from spector.language.words import is_turkish, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Search parameters of an intent.

    Attributes:
        vector_weight, lexical_weight: weights of similarity and words in a weighted sum of ranks or
            normalized scores (the rank-fusion option; the default formula weighs by `Kind`).
        limit: number of hits unless the caller gives one.
        sort: "relevance", "utility" or "newest", for a caller that lists instead of ranking.
        utility_boost: weight of a memory's utility in the score.
        include_superseded: also search superseded memories ("where did I live before?").
        hops: number of relations to follow from the best hits.
        categories: categories of memories to favour; empty for all.
    """

    vector_weight: float
    lexical_weight: float
    limit: int
    sort: str = "relevance"
    utility_boost: float = 0.0
    include_superseded: bool = False
    hops: int = 0
    categories: tuple[str, ...] = ()


#: parameters of each intent; procedural has the balanced weights of general
PARAMS: Final[Mapping[Intent, Params]] = MappingProxyType({
    Intent.FACTUAL: Params(vector_weight=0.6, lexical_weight=0.4, limit=10, utility_boost=0.2),
    Intent.TEMPORAL: Params(
        vector_weight=0.4, lexical_weight=0.6, limit=15, sort="newest", include_superseded=True
    ),
    Intent.CAUSAL: Params(vector_weight=0.3, lexical_weight=0.3, limit=20, hops=2),
    Intent.ENTITY_PROFILE: Params(
        vector_weight=0.5, lexical_weight=0.5, limit=15, sort="utility", utility_boost=0.3
    ),
    Intent.PREFERENCE: Params(
        vector_weight=0.5, lexical_weight=0.5, limit=10, sort="utility",
        categories=("preference", "correction"),
    ),
    Intent.PROCEDURAL: Params(
        vector_weight=0.5, lexical_weight=0.5, limit=10, categories=("procedure",)
    ),
    Intent.GENERAL: Params(vector_weight=0.5, lexical_weight=0.5, limit=10, utility_boost=0.2),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Route:
    """How a cue is to be searched, and the reasons."""

    intent: Intent
    mode: Mode
    kind: Kind
    params: Params
    reasons: tuple[str, ...]


# -- kind ------------------------------------------------------------------------------------------

_PAST: Final = re.compile(
    r"\b(?:did|was|were|have i|had|has|how many|how much|mentioned|said|told)\b"
    # "the book you recommended", but not "you need" and "can you feed"
    r"|(?<!\bcan )(?<!\bcould )(?<!\bwould )(?<!\bwill )(?<!\bshould )(?<!\bdo )"
    r"\byou(?:'ve| have)? (?!need|feed|proceed|embed|exceed|succeed)(?:\w+ed|gave|wrote|chose|made"
    r"|sent|showed|shown)\b"
)
#: asks to repeat something: "could you remind me when", "do you remember my"; not "remind me to",
#: which is a request
_TOLD_AGAIN: Final = re.compile(
    r"\bremind (?:me|us) (?!to\b)"
    r"|\b(?:can|could|would|will) you (?:please )?(?:tell|remind) (?:me|us) (?:again )?"
    r"(?:when|who|whose|whom|where|how (?:many|much|old|long|often)|if|whether|my|our"
    r"|(?:what|which)\b(?! (?:\w+ ){0,3}(?:should|can|could|would) ))"
    r"|\bdo you (?:still )?(?:remember|recall|know) (?:my|our|when|where|who|whose|what|which)\b"
)
_REQUEST: Final = re.compile(
    r"\b(?:recommend|suggest|advise|advice|tips?|ideas?|options?)\w*"
    r"|\b(?:can|could|would|will) you\b"
    r"|\bwhat(?:'?s| is| are) (?:some|the best|a good)\b"
    r"|\b(?:how|what|where|which) (?:\w+ ){0,3}(?:should|can|could|would) (?:i|we|you)\b"
    # "how do I take it apart", but not "how do I usually", "how do I like"
    r"|\bhow (?:\w+ )?do (?:i|we) (?!(?:usually|normally|always|typically|mostly|like|take|feel"
    r"|prefer|spell|pronounce|know|look)\b)"
    r"|\bdo (?:i|we) (?:need|have) to\b|\bwhat do (?:i|we) do (?:if|when|about|with|now)\b"
    r"|\b(?:what|which|how|where) (?:\w+ ){0,3}do you (?:think|say|propose|advise)\b"
    r"|\bhelp me\b|\b(?:good|best|better|right|suitable) (?:for|to) (?:me|us)\b"
    r"|\bi(?:'m| am) (?:looking|planning|trying|thinking|about|considering|interested)\b"
    r"|\bi(?:'m| am) in the mood\b"
    r"|(?<!\bdo )\bi (?:need|want|would like)\b|\bi'd like\b|\bplease\b|\bremind (?:me|us) to\b"
    r"|\bwhat (?:steps|tools|libraries|strategies)\b"
)
#: a question about a third person: "What advice does Ann give?", "Would Ann take that option?"
#: (matched in the original cue, because names have capitals)
_OTHERS: Final = re.compile(
    r"\b(?i:does|do|might|may|would|could|can|will|should) "
    r"(?:(?i:he|she|they)\b|(?!I\b)[A-ZÇĞİÖŞÜ])"
)
_PERSONS: Final = re.compile(r"\b(?:i|i'm|i'd|i've|me|my|we|our|you|your)\b")
_QUESTION: Final = re.compile(
    r"\s*(?:when|what|who|where|which|how|why|did|does|do|is|are|was|were|has|have|will|would|can"
    r"|could)\b"
)

_ORDERED: Final = re.compile(
    r"^(?:tell me|remind me(?! to\b)|show me|give me|list|describe|name|find|look up)\b"
    r"|\b(?:anlat|hatirlat|goster|listele|soyle|sirala)[.!]?$"
)
#: one or two words without punctuation
_LOOKUP: Final = re.compile(r"[^\s.!?,;:]+(?: [^\s.!?,;:]+)?")
_MOST_OF_A_LOOKUP: Final = 80
#: the same, with dots within a word ("node.js") and after an abbreviation ("dr. weiss")
_NAME: Final = re.compile(
    r"(?!.*\.\.)(?:[^\s!?,;:]*[^\s.!?,;:]|(?:[^\W\d_]{1,3}\.){1,4}(?= ))"
    r"(?: [^\s!?,;:]*[^\s.!?,;:])?"
)
#: question words that are also names, in English or Turkish
_CALLED: Final = frozenset({"can", "do", "kim", "will"})
_PRONOUNS: Final = frozenset({"he", "i", "it", "she", "they", "we", "you"})

_PAST_TR: Final = re.compile(
    r"\b(?:kac|soylemistim|soyledim|demistim|bahsetmistim|bahsettim|anlatmistim)\b"
    r"|\b\w+[dt][iu](?:m|n|k|niz|nuz|ler|lar)?\b"
    r"|\b\w+[dt][iu]g[iu]n(?:[iu]z)?\b"  # "onerdigin kitap": the book you recommended
)
_TOLD_AGAIN_TR: Final = re.compile(
    r"\bhatirlat(?:ir|abilir)? ?(?:m[iu]s[iu]n|m[iu]s[iu]n[iu]z)?[.!?]*$"
    r"|\b(?:ne|neydi|kim|kimdi|nerede|neresi|hangi|hangisi|kac)\b.*"
    r"\bsoyle(?:r|yebilir) m[iu]s[iu]n(?:[iu]z)?\b"
)
_REQUEST_TR: Final = re.compile(
    r"\b(?:oner|tavsiye|fikir|fikr|yardimci ol|yardim et|lutfen|istiyoru|isterim|ariyoru|planliyoru"
    r"|dusunuyoru)|\b(?:misin|musun|misiniz|musunuz)\b|\b\w+m[ae]l[iy]+(?:im|yim|iz|yiz)\b"
)
_QUESTION_TR: Final = re.compile(
    r"\b(?:ne|neler|neyi|neydi|kim|kimi|kimin|kimle|nerede|neresi|nereye|nereden|hangi|hangisi|nasil"
    r"|neden|nicin|niye|kac|mi|mu|midir|miydi|muydu)\b"
)


_ABOUT_TALK: Final[Mapping[Frame, str]] = MappingProxyType(
    {
        Frame.ORDER: "asks for an order of events",
        Frame.SUMMARY: "asks for a summary",
        Frame.SAID: "asks what was said or is known",
        Frame.PROFILE: "asks what is known about the user",
    }
)


def kind_of(cue: str) -> Kind:
    """Classify a cue as fact, talk or request; the first rule that matches decides.

    1. Several lines: talk.
    2. About the conversation (`spector.language.cues.topic`): fact.
    3. Asks to repeat something ("remind me when", "can you tell me my ..."): fact.
    4. Asks for help, without the past tense and not about a third person ("What advice does Ann
       give?"): request.
    5. Any other question, also of users about themselves ("what car do I drive?"): fact.
    6. "tell me ..." and one or two words ("deployment steps"): fact. Anything else: talk.
    """
    return _kind(cue)[0]


def _kind(cue: str) -> tuple[Kind, str]:
    stripped = cue.strip()
    if "\n" in stripped:
        return Kind.TALK, "several lines"
    topic = topic_of(cue)
    if topic.kind:
        return Kind.FACT, _ABOUT_TALK[topic.kind]
    folded = plain(stripped)
    turkish = is_turkish(cue, folded)
    if _TOLD_AGAIN.search(folded) or (turkish and _TOLD_AGAIN_TR.search(folded)):
        return Kind.FACT, "asks to repeat something"
    others = bool(_OTHERS.search(cue)) and not _PERSONS.search(folded)
    past = others or bool(_PAST.search(folded)) or (turkish and bool(_PAST_TR.search(folded)))
    if not past:
        words = _REQUEST.search(folded) or (turkish and _REQUEST_TR.search(folded))
        if words:
            return Kind.REQUEST, f'asks for help ("{words.group()[:30].strip()}")'
    if folded.endswith("?") or _QUESTION.match(folded):
        return Kind.FACT, "a question"
    if turkish and _QUESTION_TR.search(folded):
        return Kind.FACT, "a question"
    if _ORDERED.search(folded):
        return Kind.FACT, "asks by name"
    # "US" in "Which US cities" is not the pronoun
    first = bool(FIRST_PERSON.search(folded.replace("us", "") if "US" in cue else folded))
    if len(folded) <= _MOST_OF_A_LOOKUP and not first and _LOOKUP.fullmatch(folded):
        return Kind.FACT, "words to look up"
    return Kind.TALK, "no question and no request"


def is_name(cue: str) -> bool:
    """True if a cue is just a name of one or two words, not a question.

    "Where is Ann?" also has one content word, but it asks about her: a memory that only mentions
    her does not answer it.
    """
    folded = plain(cue).strip().rstrip(".,;:")
    if len(folded) > _MOST_OF_A_LOOKUP or not _NAME.fullmatch(folded):
        return False
    asking = (_QUESTION, _QUESTION_TR) if is_turkish(cue, folded) else (_QUESTION,)
    if not any(words.search(folded) for words in asking):
        return True
    first, _, second = folded.partition(" ")
    if first not in _CALLED or not second:
        return first in _CALLED
    written = cue.split()  # "Will Smith", but "will rain" and "Can Nerede"
    return (
        all(word[0].isupper() for word in written)
        and second not in _PRONOUNS
        and not any(words.fullmatch(second) for words in asking)
    )


# -- intent and mode -------------------------------------------------------------------------------

#: intents in the order in which they are tried, with English and Turkish patterns (the latter only
#: for cues that look Turkish)
_INTENTS: Final[tuple[tuple[Intent, re.Pattern[str], re.Pattern[str]], ...]] = (
    (
        Intent.CAUSAL,
        re.compile(
            r"\b(?:why|how come|what (?:caused|causes|led to|made|makes)|because of what"
            r"|(?:the )?(?:reason|cause|motivation)s? (?:for|of|behind|why)|what motivated"
            r"|what inspired|as a result of)\b"
        ),
        re.compile(r"\b(?:neden|nicin|niye|sebebi|nedeni|sonucunda|yol acti)\b"),
    ),
    (
        Intent.PROCEDURAL,
        re.compile(
            r"\b(?:how to|how do (?:i|you|we)|how (?:can|should) (?:i|we)|steps? (?:to|for)"
            r"|(?:procedure|workflow|process|instructions|recipe) (?:to|for)|guide to|tutorial)\b"
        ),
        re.compile(
            r"\b(?:nasil (?:yap|kur)\w{0,12}|adim adim|adimlari|tarifi|talimat\w{0,8})\b"
        ),
    ),
    (
        Intent.TEMPORAL,
        re.compile(
            r"\b(?:when|what (?:time|date|day|year|month)|which (?:date|day|year|month)|how long"
            r"|how (?:often|recently)|yesterday|today|tonight|tomorrow|last (?:week|month|year|time"
            r"|session|night|weekend)|earlier today|recently|lately|previously|ago|a while ago"
            r"|the other day|in what order|order in which|chronological(?:ly)?|timeline|since when"
            r"|before|after|until|\d{4})\b"
        ),
        re.compile(
            r"\b(?:ne zaman|ne kadar sure|hangi (?:gun|ay|yil|tarih)\w{0,5}"
            r"|kac (?:gun|hafta|ay|yil)|dun|bugun|yarin|gecen (?:hafta|ay|yil|sefer|gun)"
            r"|once|sonra|son zamanlarda|gecenlerde|beri|daha once|\d{4})\b"
        ),
    ),
    (
        Intent.PREFERENCE,
        re.compile(
            r"\b(?:prefer\w{0,8}|favou?rites?|likes?|dislikes?|hates?|loves?|enjoys?|tastes?"
            r"|would (?:i|he|she|they) (?:like|enjoy)|into)\b"
        ),
        re.compile(
            r"\b(?:tercih\w{0,10}|sever\w{0,6}|sevdig\w{0,6}|favori\w{0,5}|begen\w{0,8}|hoslan\w{0,8}|nefret\w{0,8})\b"
        ),
    ),
    (
        Intent.ENTITY_PROFILE,
        re.compile(
            r"^\s*(?:what do (?:you|we|i) know (?:about|of)|tell me (?:everything |more )?about"
            r"|who (?:is|are|was|were)\b|facts about|describe|what is .{1,40} like\b|profile of)"
        ),
        re.compile(r"\b(?:hakkinda (?:ne|neler)|kimdir|kim bu|tanit\w{0,6}|nasil biri\w{0,4})\b"),
    ),
)  # fmt: skip
_FACTUAL: Final = re.compile(
    r"^\s*(?:what|who|whom|whose|where|which|how|did|does|do|is|are|was|were|has|have|had|can|could"
    r"|will|would)\b"
)

_MODES: Final[Mapping[Intent, Mode]] = MappingProxyType(
    {
        Intent.CAUSAL: Mode.GRAPH_SEED,
        Intent.PROCEDURAL: Mode.STRUCTURED,
        Intent.TEMPORAL: Mode.TEMPORAL,
        Intent.ENTITY_PROFILE: Mode.STRUCTURED,
    }
)


def route_cue(cue: str) -> Route:
    """Intent, mode, kind and parameters of a cue.

    The first intent whose words are in the cue counts: a question for a reason or a procedure is
    more specific than a time in it. Talk of several lines uses similarity, whatever its words.
    If no rule matches, a question is factual and anything else general.
    """
    how, because = _kind(cue)
    reasons = [f"kind {how}: {because}"]
    folded = plain(cue)
    intent, word = _intent(cue, folded, how)
    reasons.append(f"intent {intent}: {word}")
    if how is Kind.FACT or intent in _MODES:
        mode = _MODES.get(intent, Mode.HYBRID)
        reasons.append(f"mode {mode}: by intent")
    else:
        mode = Mode.HYBRID if how is Kind.REQUEST else Mode.SEMANTIC
        reasons.append(f"mode {mode}: by kind")
    return Route(intent, mode, how, PARAMS[intent], tuple(reasons))


def _intent(cue: str, folded: str, how: Kind) -> tuple[Intent, str]:
    if how is Kind.TALK:
        return Intent.GENERAL, "talk"  # its words are not a question
    turkish = is_turkish(cue, folded)
    for intent, english, also in _INTENTS:
        found = english.search(folded) or (also.search(folded) if turkish else None)
        if found:
            return intent, f'"{found.group()[:40].strip()}"'
    if how is Kind.REQUEST:
        return Intent.PREFERENCE, "a request: preferences count"
    if _FACTUAL.match(folded) or folded.rstrip().endswith("?"):
        return Intent.FACTUAL, "a question"
    return Intent.GENERAL, "no rule matches"
