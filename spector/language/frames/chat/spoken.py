"""A short message as people type it, read as values and the words that they are of.

Frames need a grammar that a chat does not have: "oh wait its thursday at 3 the dentist thing". Here
a message is a row of clauses, each with its values and the other words that say something.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from spector.language.frames.chat.amounts import Amount, values_and_rest
from spector.language.words import is_stop, plain
from spector.process import keeps

__all__ = ["Clause", "Spoken", "spoken"]

#: characters and words of a message that is read like this
_CHARS, _WORDS = 160, 24
_SPLIT: Final = re.compile(
    r"(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bmrs)(?<!\bst)(?<!\d)[.!](?:\s+|$)|[,;:](?!\d)\s*"
    r"|\s[-–—]+\s|\n+"
    r"|\s(?:and|but|so|because|cuz|bc|since(?= (?:they|we|he|she|it|the|my))|ve|ama"
    r"|cunku)\s(?!on\b)"
    r"|(?<=[a-z]{3}[dt][iu]) (?=\w)|(?<=[a-z]{3}[dt][iu]m) (?=\w)|(?<=[a-z]{3}d[iu]k) (?=\w)"
    r"|(?<=[a-z]{3}m[iu]s[iu]m) (?=\w)"
    r"|(?<=[a-z]{3}m[iu]s) (?=\w)"
)
#: takes back what was said
_TAKES_BACK: Final = re.compile(
    r"^\W*(?:(?:oh|ah|hm+|uh|um|hey|lol|haha|ya|ha|ay|aa|ok(?:ay)?|eh)\W+)*(?:no(?=\W+(?:wait"
    r"|sorry|actually"
    r"|its?\b|the|my|\d))|nope|nah|wait|oops|ups|sorry|scratch that|my bad|my mistake|correction"
    r"|typo"
    r"|edit|i meant?|actually|turns out|yok|hayir|pardon|dur|aslinda|yanlis|duzeltme|duzeltiyorum"
    r"|meger\w*|kusura bakma)\b"
    r"|\b(?:actually|i meant|typo|autocorrect|my mistake|turns out|scratch that|after all"
    r"|i was wrong|got (?:it|that|the \w+) wrong|mixed (?:it|that|them) up|mistyped|misread"
    r"|sorry$|pardon$|apparently"
    r"|diyecektim|demek istemistim|karistirdim|yanlis (?:yaz|soyle|hatirla|bil|oku|anla|gor)\w+"
    r"|yanlismis"
    r"|meger\w*|aslinda|duzeltiyorum)\b"
)
#: something is not as it was
_CHANGED: Final = re.compile(
    r"\b(?:now|nowadays|these days|any ?more|no longer|instead|from now on|as of|starting|already"
    r"|new|artik|simdi|bundan sonra|oldu(?:m|k|lar)?|olmus|yeni|itibaren)\b"
    r"|\b(?:chang|mov(?!ies?\b)|switch|lower|rais|reduc|increas|decreas|postpon|resched|renam|push|bump|shift"
    r"|delay|adjust|updat|upgrad|downgrad|extend|slipp?|upp|swap|reset|hik|cancel"
    r"|rearrang)\w{0,6}\b"
    r"|\bwent (?:up|down)\b|\bput (?:off|back)\b|\b(?:brought|cut|dropped|set|rose|jumped|fell)\b"
    r"|\b(?:degis|ertele|alin|kay|tasi|yuksel|dus|cik|indir|arttir|artir|azalt|cek|cevir|guncelle"
    r"|yenile)\w{0,8}[dtm][iu]\w{0,4}\b|\b\w+[ae] (?:aldi|kaldi|gecti|indi|yapti|dondu)\w{0,3}\b"
    r"|\byapti(?:k|lar)\b|\b(?:girdi|basti)\b"
)
#: someone has told it just now: "gelecekmis", "5 kiloymus"
_LEARNT: Final = re.compile(r"\b\w{2,}m[iu]s(?:lar|[iu]m|[iu]z)?$")
#: says nothing that is so
_OPEN: Final = re.compile(
    r"\?|\b(?:maybe|perhaps|might|would|could|should|if|unless|hope|wish|want(?:s|ed)?|wanna"
    r"|plan(?:ning|s)? (?:to|on)|planning"
    r"|thinking|considering|almost|nearly|let'?s|used to|back then|back (?:in|when)|when i was"
    r"|probably"
    r"|supposed|imagine|reportedly|heard|guess|think|says?|said|told|claims|belki|sanirim|galiba"
    r"|eger|keske|isti?yor\w*|planliyor\w*|dusunuyor\w*|eskiden|onceden|soyledi\w*|diyor\w*|dedi\w*"
    r"|herhalde|gibi|\w+[ae]?s[ae]m|\w+rd[iu]m|olsa\w*|iken|\w+yken|umarim)\b"
)
#: adds to what was said
_ADDS: Final = re.compile(
    r"\b(?:also|too|as well|another|other|besides|sometimes|both|either|second one|ayrica|bazen"
    r"|baska|bir de"
    r"|diger|oteki|yine de|(?<!['’])(?:da|de))\b"
)
#: tells of what is over
_PAST: Final = re.compile(
    r"\b(?:was|were|did|had|went|bought|ate|ran|met|saw|spent|paid|yesterday|today|tonight|last"
    r" (?:week|month|year|night|time)|ago|dun|gecen|bugun|eski|former|ex|previous|old|first)\b"
    r"|\b\w+(?:[iu]yordu|m[iu]st[iu])\w*\b|\b\w{2,}yd[iu]\b|\b\w{3,}[dt][iu]m\b"
)
#: words that say nothing of what a value is of
_IDLE: Final = frozenset(
    """oh wait nope nah no oops ups sorry scratch bad mistake correction typo edit meant mean
    actually turns out heads up btw fyi hey ok okay lol haha thing thats that this its im ive theyre
    hes shes were is are am be been now nowadays these days anymore any more longer instead new just
    got gets get getting pushed moved changed switched raised lowered bumped went goes going come
    comes coming  up down to from the a an my our your his her their they we he she it i me us you
    at in on for of by with as until till about honestly really still again already updated reset
    rescheduled postponed upped set cut dropped shifted delayed slipped took take takes have has
    having do does called named name starting effective news update wrong mixed misread after all
    not n't dont doesnt isnt there here so and or but use uses using bi bir yok ya hayir pardon dur
    aslinda yanlis yazmisim okumusum anlamisim yazdim soyledim duzeltme duzeltiyorum meger oldu
    olmus artik simdi yeni
    degisti degismis alindi ertelendi kaydirildi tasindi cikti cikardilar cikmis yaptilar kaldi
    diyecektim olarak bu su o ben biz benim bizim icin ile adi ismi adim ismim saat gunu gun var
    degil haberin olsun sene tam de da mi kusura bakma indi dustu yukseldi girdi basti aldik aldilar
    gecti hemen sonra dun yesterday karistirdim same one ones each per month monthly
    cancelled canceled rearranged""".split()
)
_TOKEN: Final = re.compile(r"[a-z][a-z]*(?:'[a-z]+)?")
#: the stem of a Turkish verb of the present or the future
_STEM: Final = re.compile(
    r"^(\w{2,}?)(?:[iu]yor|[ae]c[ae][kg]|[iuae]r(?=[iu][mz]$))(?:m[iu]s|[iu]m|[iu]z|l[ae]r)*$"
)
_OWNED: Final = re.compile(r"\b(?:his|her|their|your|onun|onlarin|senin|sizin)\b")


#: the Turkish word for work, which is an English verb without its sign
_WORK: Final = re.compile(r"\b[iİI]ş |^[iİ]s (?=\w+m\b)", re.IGNORECASE)


class Clause(NamedTuple):
    """A clause: its folded words, its values, and the words that they are of, in their order."""

    folded: str
    values: tuple[Amount, ...]
    topic: tuple[str, ...]


class Spoken(NamedTuple):
    """A short message.

    Attributes:
        folded: its words in small letters without accents.
        takes_back: it takes back what was said. changed: it says that something is not as it was.
        learnt: in Turkish, it tells what the speaker has heard.
        open: it says nothing that is so. adds: it adds to what was said. past: it tells of what
            is over. other: it is about what belongs to someone else.
    """

    folded: str
    clauses: tuple[Clause, ...]
    takes_back: bool
    changed: bool
    learnt: bool
    open: bool
    adds: bool
    past: bool
    other: bool

    @property
    def values(self) -> tuple[Amount, ...]:
        """Of all clauses."""
        return tuple(each for clause in self.clauses for each in clause.values)

    @property
    def topic(self) -> frozenset[str]:
        """The words of all clauses."""
        return frozenset(word for each in self.clauses for word in each.topic)


@keeps(256)
def spoken(text: str) -> Spoken | None:
    """A short message, read; None for a longer one."""
    if len(text) > _CHARS or text.count(" ") >= _WORDS:
        return None
    folded = " ".join(plain(_WORK.sub("isyeri ", text)).replace("’", "'").split())
    clauses = tuple(
        Clause(part, values, _topic(rest))
        for part in _SPLIT.split(folded) if part and part.strip()
        for values, rest in (values_and_rest(part.strip()),)
    )
    if not clauses:
        return None
    return Spoken(
        folded, clauses, _TAKES_BACK.search(folded) is not None,
        _CHANGED.search(folded) is not None,
        any(_LEARNT.search(each.folded) for each in clauses),
        _OPEN.search(folded) is not None, _ADDS.search(folded) is not None,
        _PAST.search(_TAKES_BACK.sub(" ", folded)) is not None, _OWNED.search(folded) is not None,
    )


def _topic(rest: str) -> tuple[str, ...]:
    words = (found.group() for found in _TOKEN.finditer(rest))
    bare = (re.sub(r"'(?:s|m|re|ve|ll|d|t)$", "", word).replace("'", "") for word in words)
    return tuple(
        _STEM.sub(r"\1", word) for word in bare
        if len(word) > 1 and word not in _IDLE and not is_stop(word)
    )
