"""Whether a message asks that it not be remembered, and for how long."""

from __future__ import annotations

import re
from typing import Final, Literal

from spector.language.statements import own_words
from spector.language.words import plain

_KEEP: Final = (
    r"(?:remember|store|save|record|log|memori[sz]e|retain|note(?: down)?|write down|jot down"
    r"|keep(?: a)?(?: record| note)?(?: of)?|commit|add|put|write|file|include)"
)
_KEPT: Final = r"(?:remembered|stored|saved|recorded|logged|memori[sz]ed|retained|noted|kept)"
#: what is meant: the message itself, or what it tells
_IT: Final = (
    r"(?:this|that|it|these|any of (?:this|that|it)|anything|the following"
    r"|what (?:i|we)\b[^.!?,;:]*"
    r"|(?:my|our|the|this|her|his|their)(?: \w+)? (?:pass ?words?|pins?|passcodes?|codes?|numbers?"
    r"|address|e-?mail|salary|names?|details|info(?:rmation)?|data|messages?|conversation|chat"
    r"|secrets?|diagnosis))"
)
#: ends the object: "this song" is another one than "this"
_NO_NOUN: Final = (
    r"(?=\s*(?:[.!?,;:)-]|$|\b(?:please|pls|but|down|from|of|about|in|into|to|on|anywhere|either|for|though|ok"
    r"|okay|until|till|because|as|since|and|yet|at all|i|my|we|part|bit|one|message|info|chat"
    r"|conversation|thing|secret)\b))"
)
_OF_MEMORY: Final = r"(?:your |the )?(?:memory|memories|notes|records?|profile|files|logs?)\b"
_UNWANTED: Final = re.compile(
    r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthey )(?<!\bwhy )\b(?:do not|don't|dont|never|please not"
    r"|no need to|rather not|(?:can|could|would|will) you(?: please)? not)"
    r"(?: you)?(?: ever| please| even| go and)? "
    + _KEEP
    + " "
    + _IT
    + _NO_NOUN
    + r"|\b(?:i|we)(?:'d| would)? (?:(?:don't|do not|dont) want you to|rather you did(?:n't| not)"
    r"|prefer you not to) "
    + _KEEP
    + " "
    + _IT
    + _NO_NOUN
    + r"|\byou (?:don't|do not) (?:have|need) to "
    + _KEEP
    + " "
    + _IT
    + _NO_NOUN
    + r"|\b(?:without|instead of) (?:remember|stor|sav|record|keep)ing "
    + _IT
    + _NO_NOUN
    + r"|\b(?:do not|don't|never) (?:add|put|save|store|write|include|commit|keep)\b[^.!?]{1,60}"
    r"\b(?:in|into|to|on) "
    + _OF_MEMORY
    + r"|\b(?:leave|keep) (?:this|that|it|these)(?: \w+)? (?:out of|off) "
    + _OF_MEMORY
    + r"|\b(?:off|not for) the record\b(?!-)|\bnot to be "
    + _KEPT
    + r"\b(?! by\b)"
    r"|\b(?:this|that|it) ?(?:is not|isn't|should(?: not|n't)|must(?: not|n't)|may not)(?: to)? be "
    + _KEPT
    + r"\b(?! by\b)"
    r"|\b(?:make sure|see that) (?:this|that|it) (?:isn't|is not|doesn't get|does not get) "
    + _KEPT
    + r"|\b(?:bunu|bunlari|sunu|bu (?:mesaji|bilgiyi|konusmayi|sohbeti|sifreyi)|soyleyeceg\w+"
    r"|soyledig\w+|anlatacag\w+|sifremi|numarami|adresimi)\b[^.!?]{0,30}\b(?:kaydetme|saklama"
    r"|hatirlama|not etme|not alma|aklinda tutma|hafizana (?:alma|ekleme|yazma)|kayda gecirme"
    r"|ezberleme|yazma|ekleme)(?:yin(?:iz)?|zsen\w*)?\b"
    r"|\b(?:kayit disi|kayda gecmesin|kaydedilmesin|saklanmasin|hafizana (?:alma|ekleme|yazma)\w*)"
    r"\b"
)
#: for longer than the message
_LASTING: Final = re.compile(
    r"\b(?:until|till|unless) (?:i|we) (?:say|tell|ask|let)\b|\bfrom (?:now|here) on\b"
    r"|\bfor the rest of\b|\b(?:this|the) (?:whole |entire )?(?:conversation|chat|session)\b"
    r"|\banything (?:i|we)\b|\b(?:soyleyene|diyene) kadar\b|\bbundan sonra\b"
    r"|\bwhat (?:i|we)(?:'m| am|'re| are)? (?:going to|about to|say next|will)\b"
    r"|\bbu (?:sohbet|konusma)\w*"
)
_RESUMED: Final = re.compile(
    r"\b(?:back on|on) the record\b|\b(?:you (?:can|may)|please|start|feel free to|from now on)"
    r"(?: now| please| start| go back to)* (?:remember|sav|stor|record|keep|not)(?:e|ing)?\b"
    r"[^.!?]{0,40}\b(?:again|now|once more)\b"
    r"|\b(?:yeniden|tekrar|artik) (?:kayde[td]|hatirla|sakla|not al)\w*"
)


def consent_of(text: str) -> Literal["no", "no more", "again"] | None:
    """What a message says of being remembered.

    ``no`` for itself, ``no more`` for all until it is taken back, ``again`` takes it back; None
    where it says nothing of it: "I don't remember this song", "don't forget the milk".
    """
    said = " ".join(plain(own_words(text)).replace("\u2019", "'").split())
    if _UNWANTED.search(said):
        return "no more" if _LASTING.search(said) else "no"
    return "again" if _RESUMED.search(said) else None
