"""English verbs by their forms, and Turkish ones by their endings, as far as splitting needs it."""

from __future__ import annotations

import re
from typing import Final

_AUXILIARIES: Final = frozenset(
    """am is are was were be 'm 's 're has have had 've do does did will would shall should can
    could may might must isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't
    won't can't couldn't wouldn't 'll 'd ain't""".split()
)
_BASES: Final = """accept add agree allow answer apply arrive ask attend bake bark believe belong book borrow
    call cancel care carry change check clean climb close collect complete contain cook cost
    count create cry dance decide deliver depend describe design develop die discover discuss
    dislike drop earn email employ end enjoy enter expect explain fail finish fix follow found
    gather graduate greet handle happen hate head help hike hire hope hurry improve include invite
    join jump keep kick kill kiss know land laugh launch learn leave like listen live look love
    manage marry mention miss move need notice offer open order own pack paint park pass phone
    pick plan plant play prefer prepare present promise publish pull push quit raise reach
    realize receive recommend record refuse relax release remember remind rent repair reply report
    rest retire return review sail save schedule seem serve settle share shop show sign ski smile
    sound start stay stop study suffer suggest support switch talk taste teach test text thank
    touch train translate travel treat try turn type use visit volunteer wait walk want warn wash
    watch weigh welcome wish work worry""".split()
_IRREGULAR: Final = frozenset(
    """became began bet bit blew bought broke brought built burnt came caught chose cost cut dealt
    drank drew drove ate fell fed felt fought found flew forgot forgave froze gave got went grew
    heard held hid hit hurt kept knew laid led left lent let lay lost made meant met paid put quit
    read rode rang ran said sat saw sold sent set shook shone shot showed sang sank slept spoke
    spent stood stole stuck swam swore swept taught took threw told thought understood woke won
    wore wrote become begin break bring build buy catch choose come deal draw drink drive eat fall
    feed feel fight find fly forget forgive get give go grow hear hold lose make mean meet pay
    ride run say see sell send shake shoot sing sink sit sleep speak spend stand steal swim take
    tell think throw understand wake wear win write goes comes makes takes gives says gets sees
    eats drinks runs sits stands tells thinks finds flies keeps knows leads lies loses means meets
    pays puts reads rides sells sends sets sings sleeps speaks spends swims teaches wakes wears
    wins writes buys brings builds breaks begins becomes catches chooses draws drives falls feels
    fights forgets grows hears holds leaves""".split()
)
_ED: Final = re.compile(r"[a-z]{2,}ed")
_NOT_ED: Final = frozenset(
    "bed red need seed speed feed indeed hundred shed weed breed wed".split()
)
#: past, present, future, reported and aorist of any person, folded
_TURKISH: Final = re.compile(
    r"[a-z]{1,}(?:"
    r"[dt][iu](?P<past>m|n|k|niz|nuz|lar|ler|)"
    r"|(?:[iu]|)yor(?P<now>um|sun|uz|sunuz|lar|)(?:d[iu](?:m|n|k|lar)?)?"
    r"|(?:[ae]ca|ece)(?:k|g)(?P<later>im|sin|iz|siniz|lar|ler|)(?:ti(?:m|n|k|ler)?)?"
    r"|m[iu]s(?P<told>im|um|sin|sun|iz|uz|siniz|lar|ler|)(?:t[iu](?:m|n|k)?)?"
    r"|[aeiu]r(?P<always>im|um|sin|sun|iz|uz|lar|ler|)"
    r"|m[ae]z(?P<never>sin|siniz|lar|ler|)|m[ae]m"
    r")"
)
_TURKISH_NAMES: Final = frozenset(
    """simdi haydi hadi kedi yedi kendi pazartesi cumartesi sali var yok vardi hatirli doktor
    bilgisayar mudur memur kadar her kar bir diger biraz omer ender caner kenar duvar zarar karar
    haber eger peynir sehir demir nehir huzur yagmur tur cadir kultur onur ugur""".split()
)


def _forms() -> frozenset[str]:
    found = set(_BASES)
    for base in _BASES:
        if base.endswith("y") and base[-2] not in "aeiou":
            found |= {base[:-1] + "ies", base[:-1] + "ied"}
        elif base.endswith(("s", "sh", "ch", "x", "z", "o")):
            found |= {base + "es", base + "ed"}
        else:
            found |= {base + "s", base + ("d" if base.endswith("e") else "ed")}
    return frozenset(found)


_FORMS: Final = _forms()


def is_english_verb(word: str, *, subject: bool) -> bool:
    """Whether a folded word is a finite verb.

    Args:
        subject: a subject stands before it, so that a form which may be a noun is a verb.
    """
    if word in _AUXILIARIES or word in _IRREGULAR:
        return True
    if _ED.fullmatch(word) and word not in _NOT_ED:
        return True
    if word in _FORMS:
        return subject or word.endswith(("s", "ed"))
    return False


def is_turkish_verb(word: str) -> bool:
    """Whether a folded word is a finite verb by its ending."""
    if word in ("var", "yok", "vardi", "yoktu", "degil", "degildi"):
        return True
    return len(word) > 3 and word not in _TURKISH_NAMES and bool(_TURKISH.fullmatch(word))


def turkish_person(word: str) -> int:
    """The person that the ending of a Turkish verb names: 1, 2 or 3."""
    found = _TURKISH.fullmatch(word)
    if found is None:
        return 3
    ending = next((each for each in found.groups() if each), "")
    if word.endswith(("mam", "mem")) or ending in ("m", "k", "um", "uz", "im", "iz"):
        return 1
    return 2 if ending[:1] in "sn" and ending else 3
