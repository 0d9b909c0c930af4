"""Turkish patterns of questions about the conversation; the verb comes last with its person.

Patterns as in `spector.language.cues.english`. Groups: ``end``, the personal ending of a verb of
saying; ``talk``, a verb that takes two speakers; ``self``, "about me" in one word.
"""

from __future__ import annotations

import re
from typing import Final

from spector.language.cues.english import Frame

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
