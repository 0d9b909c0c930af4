"""Whether a short text is Turkish: by its letters, its frequent words, or its words of time."""

from __future__ import annotations

import re
from typing import Final

from spector.language.words import analyse, is_turkish, plain

__all__ = ["reads_turkish"]

_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_ENGLISH: Final = frozenset(
    """the is are was were am been i i'm you he she it we they my your his her our their of to in
    for with from and or but not this that these those will would have had has does did could should
    there what when where who how if as by about until since before after between next last
    first""".split()
)
_TURKISH: Final = frozenset(
    """pazartesi sali carsamba persembe cuma cumartesi pazar ocak subat nisan mayis haziran temmuz
    agustos eylul ekim kasim aralik gunu gunde haftada ayda yilda
    haftaya seneye hafta ay yil gun once onumuzdeki gectigimiz
    gelecek aksam sabah ogleden yarin dun bugun yilbasi bayrami ceyrek ve ile icin saat boyunca
    arasinda arasi itibaren beri kadar""".split()
)
_CONTRACTED: Final = ("'ve", "'s", "'re", "'ll", "n't", "'m", "'d")
#: endings of finite verbs that no English word has
_VERB: Final = re.compile(
    r"[a-z]+(?:iyor|uyor|yor)(?:um|sun|uz|sunuz|lar|du|dum|duk)?|[a-z]+(?:acag|eceg)(?:im|iz)"
    r"|[a-z]+(?:acak|ecek)(?:sin|lar|ler)?|[a-z]{3,}(?:dim|dum|dik|duk|tim|tum|tik|tuk)"
    r"|[a-z]+(?:mistim|mistik|mustum)"
)
#: case endings behind an apostrophe; English has 's, 't, 're, 've, 'll, 'd and 'm
_CASE: Final = re.compile(
    r"\w'(?:[dt][ae]n?(?:ki)?|n?d[ae]n?|y?[aeiu]|n?[iu]n|y?l[ae]|l[ae]r\w*|[iu]?nc[iu]\w*)\b"
)
_MOST_WORDS: Final = 200


def reads_turkish(text: str) -> bool:
    """Whether a text is to be read as Turkish; English words in it decide against it."""
    folded = plain(text[:4_000])
    words = _WORD.findall(folded)[:_MOST_WORDS]
    english = sum(word in _ENGLISH or word.endswith(_CONTRACTED) for word in words)
    if english * 4 > len(words):
        return False
    if is_turkish(text, folded) or analyse(text[:4_000]).turkish:
        return True
    if _CASE.search(folded) and english * 6 <= len(words):
        return True
    if english:
        return False
    return any(word in _TURKISH or _VERB.fullmatch(word) for word in words)
