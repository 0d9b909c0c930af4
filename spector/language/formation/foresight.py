"""Plans: what is going to be done, and until when saying so is of use."""

from __future__ import annotations

import re
from typing import Final

from spector.language.tables import table_of
from spector.language.words import plain

__all__ = ["is_plan"]

_SENTENCE_END: Final = re.compile(r"[.!?;\n]+(?=\s|$)")
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")

_PLANNING: Final = re.compile(
    r"\b(?:(?:plan|plans|intend|intends|hope|hopes) to|(?:'m|am|is|are|'re|'s) "
    r"(?:planning|hoping|about) (?:to|on)|planning (?:to|on|a|an)|plan on|plans on"
    r"|have plans to|has plans to)\b"
)
_GOING: Final = re.compile(
    r"(?:\b(?:am|is|are)|'m|'s|'re|\bim)(?: not| also| still| just| really| definitely)* "
    r"(?:going to|gonna) (?!the\b|a\b|an\b|my\b|our\b|his\b|her\b|their\b|this\b|that\b)"
    r"(?=[a-z])"
)
_WILL: Final = re.compile(r"(?:\b(?:will|shall|won't)\b|'ll\b|\bwill not\b)")
#: a noun: "free will", "his will", "the will to"
_WILL_NOUN: Final = re.compile(
    r"\b(?:free|his|her|their|my|our|your|the|a|last|good|ill|strong|at|of) will\b|\bwill power\b"
    r"|\bwill and testament\b"
)
#: what "you", "it" and "this" will do is a guess or a promise of others, unless it has its day
_IMPERSONAL: Final = re.compile(
    r"\b(?:you|it|that|this|these|those|there|what|which|everything|nothing|anyone|everyone)\s*$"
)
_LASTING: Final = re.compile(r"\b(?:always|never|forever|every time|whenever)\b")
_CONDITION: Final = re.compile(r"\b(?:if|unless|would|wish)\b")
_MOVING: Final = re.compile(
    r"(?:\b(?:am|is|are)|'m|'s|'re)(?: not| also| still)* (?:going|coming|flying|leaving|meeting"
    r"|visiting|moving|travelling|traveling|starting|driving|having|getting|taking|seeing"
    r"|arriving|returning|attending|hosting|throwing|joining|running|giving|doing|playing)\b"
)
_MODAL_DUE: Final = re.compile(r"\b(?:need to|have to|has to|must|is due|are due|supposed to)\b")

_TURKISH_FUTURE: Final = re.compile(
    r"[a-z]{2,}(?:[ae]ca(?:g|k)|ece(?:g|k))(?:im|iz|sin|siniz|lar|ler|"
    r"tir|)$"
)
#: nouns and adjectives that look like the future tense
_NOT_FUTURE: Final = frozenset(
    """gelecek yiyecek icecek giyecek yakacak alacak verecek acacak cekecek sicacak tutacak
    olacak oyuncak kucak ocak bucak bicak sicak alcak ancak kolcak gidecek
    """.split()
) - {"olacak", "gidecek", "verecek", "cekecek", "acacak"}
_TURKISH_PLANS: Final = re.compile(
    r"\b(?:planliyor\w*|planladi\w*|niyetinde\w*|niyetim var|niyeti var|dusunuyor\w*|umuyor\w*"
    r"|hedefliyor\w*|planim var|plani var)\b"
)
_TURKISH_INFINITIVE: Final = re.compile(r"\w+m[ae](?:k|yi|ya|ye)\b")
_TURKISH_PRESENT: Final = re.compile(r"\w+yor(?:um|uz|sun|sunuz|lar|)$")
_TURKISH_DUE: Final = re.compile(r"\b(?:lazim|gerek|gerekiyor|zorunda\w*|mecbur\w*)\b")
#: what comes again does not end with its next day
_AGAIN: Final = re.compile(r"\b(?:every|each|daily|weekly|monthly|yearly|her)\b")
_CLAUSE_ENDS: Final = frozenset(("ve", "ama", "fakat", "cunku", "ancak", "sonra", "diye", "ki"))


def is_plan(text: str, *, turkish: bool, ahead: bool) -> bool:
    """Whether a text states what is going to be done.

    Args:
        ahead: it names a time after that of the message, which makes a plan of the present tense.
    """
    if ahead and _reminds(plain(text), "tr" if turkish else "en"):
        return True
    start = 0
    for found in (*_SENTENCE_END.finditer(text), None):
        end = found.end() if found is not None else len(text)
        sentence, start = text[start:end], end
        if not sentence.strip() or sentence.rstrip().endswith(("?", "\uff1f")):
            continue
        folded = plain(sentence)
        if _turkish(folded, ahead=ahead) if turkish else _english(sentence, folded, ahead=ahead):
            return True
    return False


def _reminds(folded: str, language: str) -> bool:
    """Whether a text asks for a reminder, once."""
    patterns = table_of(language, "observing").patterns["reminder"]
    return not _AGAIN.search(folded) and any(each.search(folded) for each in patterns)


def _english(sentence: str, folded: str, *, ahead: bool) -> bool:
    if _LASTING.search(folded):
        return False
    going = _GOING.search(folded)
    if going is not None and not ahead and _IMPERSONAL.search(folded[: going.start()]):
        going = None
    if _PLANNING.search(folded) or going:
        return not _CONDITION.search(folded)
    for found in _WILL.finditer(folded):
        if len(folded) == len(sentence) and sentence[found.start() : found.end()] == "Will" and (
            found.start() > 1 or not folded[found.end() :].startswith((" i ", " you ", " we "))
        ):
            continue  # a name
        if not ahead and _IMPERSONAL.search(folded[: found.start()]):
            continue
        before = folded[max(0, found.start() - 8) : found.end() + 14]
        if _WILL_NOUN.search(before) or _CONDITION.search(folded):
            continue
        return True
    if ahead and (_MOVING.search(folded) or _MODAL_DUE.search(folded)):
        return not _CONDITION.search(folded)
    return False


def _turkish(folded: str, *, ahead: bool) -> bool:
    words = [(found.group(), found.end()) for found in _WORD.finditer(folded)]
    if any(word in ("eger", "her zaman", "asla", "keske") for word, _ in words):
        return False
    for at, (word, end) in enumerate(words):
        last = at == len(words) - 1 and at > 0
        if not _TURKISH_FUTURE.match(word) or (
            word in _NOT_FUTURE and not (word == "gelecek" and last)
        ):
            continue
        bare = word.endswith(("cak", "cek"))
        behind = words[at + 1][0] if at + 1 < len(words) else ""
        closed = not behind or behind in _CLAUSE_ENDS or folded[end : end + 1] in ",.;!:"
        if not bare or closed:
            return True
    if _TURKISH_PLANS.search(folded) and _TURKISH_INFINITIVE.search(folded):
        return True
    return ahead and (
        any(_TURKISH_PRESENT.match(word) for word, _ in words) or bool(_TURKISH_DUE.search(folded))
    )
