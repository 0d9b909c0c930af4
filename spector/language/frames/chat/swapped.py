"""What a short message says is over, or has another name now, in the words of a chat.

"my new boss is dave", "sold the civic and got a mazda", "josh and i broke up", "koşmayı bıraktım".
Names have no capitals here, so each rule asks for a word that says what has changed, and for the
old name or thing among the old words. "I left the bakery at 5" ends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from spector.language.entities import is_first_name
from spector.language.frames.chat.spoken import Spoken, spoken
from spector.language.frames.pairs import TITLES, met
from spector.language.frames.predicates import KIN
from spector.language.words import is_stop

__all__ = ["swapped"]

_LETTERS: Final = r"[a-z][a-z.'_-]*\d*"
_VALUE: Final = rf"(?P<v>(?:the |a |an )?{_LETTERS}(?: {_LETTERS}){{0,2}}(?: \d+)?)"
_NOUN: Final = rf"(?P<n>{_LETTERS}(?: {_LETTERS}){{0,2}}?)"
_NOW: Final = r"(?: (?:now|these days|nowadays|actually|instead|from now on|again))*"
#: "my boss is karen", "the dog's name is brisket", "marco took over as team lead"
_ROLE: Final = tuple(map(re.compile, (
    rf"^(?:my|our|the|her|his) (?P<new>new )?{_NOUN}(?:'s| is| are)(?P<named> called| named)?"
    rf"(?: now| actually)? {_VALUE}{_NOW}$",
    rf"^(?:my|our|the) {_NOUN}s?'?s? (?P<named>name)(?:'s| is) {_VALUE}{_NOW}$",
    rf"^{_VALUE}(?:'s| is) (?:now )?(?:my|our|the) (?P<new>new )?{_NOUN}{_NOW}$",
    rf"^(?:i |we |they )?(?P<given>changed|switched|updated|reset|renamed) (?:my|our|the) {_NOUN}"
    rf" to {_VALUE}{_NOW}$",
    rf"^{_VALUE} (?P<new>took over|takes over|stepped in|filled in|replaced \w+) as "
    rf"(?:my |our |the )?{_NOUN}(?: from .*)?$",
)))  # fmt: skip
_CORRECTS: Final = re.compile(
    r"^\W*(?:(?:oh|ah|hey|ok|well|so|and|but|honestly|btw|fyi|no|nope|wait|oops|ups|sorry|actually"
    r"|scratch that|my bad|i meant?|turns out|correction|pardon)\W+)+"
)
#: judge or measure, and name no one
_NO_NAMES: Final = re.compile(
    r"^(?:very|so|really|too|not|nice|great|good|bad|strict|kind|cool|awful|sick|away|late|here"
    r"|back|gone|happy"
    r"|sad|tired|busy|old|young|new|big|small|broken|slow|fast|\w+(?:ing|ed|ful|ous|able|ish"
    r"|less))\b"
)
#: one has, does or goes to: what "sold", "left" or "quit" ends
_HAS: Final = re.compile(
    r"\b(?:i|we|my|our|i'?m|we'?re|i'?ve)\b|\w(?:[aeiu]m|[iu]z|m[iu]z)\b"
)
_THING_GONE: Final = re.compile(
    r"\b(?:sold|traded(?: in)?|returned|ditched|got rid of|gave away|cancel+ed|dropped|scrapped"
    r"|closed|replaced|switched from|moved on from|stopped using|no longer use) (?:the |my |our )?"
    r"(?P<gone>[^,.;!]{2,40}?)(?= in\b| for\b| with\b| to\b| and\b| last\b| this\b|[,;.!]|$)"
    r"|^(?P<turkish>\S+(?: \S+)?) (?:satt[iu]|birakt[iu]|iade ett[iu]|iptal ett[iu]|sildi)[mk]\b"
)
_BOUGHT: Final = re.compile(r"\b(?:al|at|et|ye|ic|gor|ver)[dt][iu][mk]\b")
_THING_GOT: Final = re.compile(
    r"\b(?:got|bought|have|drive|driving|use|using|ride|riding|switched to|went (?:with|to)|own"
    r"|its|it's|joined|for"
    r"|with|to) (?:a |an |the |my )?\w|\b(?:ald[iu]|gect[iu])[mk]\b|\w+[iu]yor(?:um|uz)\b"
)
_JOB: Final = re.compile(
    r"\b(?:i|we)(?:'?m)? (?:work|working|teach|bartend|waitress)\b"
                         r"|calisiyorum\b"
)
_JOB_GONE: Final = re.compile(
    r"\b(?:left|quit|leaving|resigned from|got laid off from|got fired from|done with) (?:the "
    r"|my |our )?"
    r"(?P<gone>[^,.;!]{2,40}?)(?= and\b| last\b| this\b| in\b|[,;.!]|$)"
    r"|(?P<turkish>\S+)(?<=[dt][ae]n) (?:ayrild[iu]m|cikt[iu]m|istifa ett[iu]m|kovuld[iu]m)"
)
_JOB_GOT: Final = re.compile(
    r"\b(?:started|starting|joined|working|work|job|hired|now) (?:\w+ )?(?:at|with|for|as|in)\b"
    r"|\bnew job\b"
    r"|\bjoined\b|\b(?:basladim|calisiyorum|girdim)\b"
)
_PARTED: Final = re.compile(
    r"^(?:me and )?(?P<a>[a-z]+)(?: and (?:i|me))? (?:broke up|split up|separated|called it off)"
    r"(?: (?:last|this|in|a|yesterday|recently|again)\b.*)?$|\b(?:broke up|split up"
    r"|called it off) with (?P<b>[a-z]+)"
    r"|\b(?:dumped|divorced|left) (?P<e>[a-z]+)$"
    r"|^(?P<c>[a-z]+)(?:'?(?:y?la|y?le|[dt][ae]n)) (?:ayrildi[km]|bosandi[km]|bitti)\b"
)
_PAIR: Final = re.compile(
    r"\b(?:dating|seeing|engaged|married|together|boyfriend|girlfriend|fiancee?|husband|wife"
    r"|partner"
    r"|sevgili\w*|nisanli\w*|evli\w*|cikiyor\w*|beraber\w*|birlikte\w*)\b"
)
_STOPPED: Final = re.compile(
    r"^(?:i|we|ive|i've)?(?: have)?(?: just| recently| finally)? ?(?:stopped|quit|gave up|given up"
    r"|no longer do) (?:the )?(?P<verb>[a-z]+?)(?P<ing>ing)?(?: (?:a while ago|recently|anymore))?$"
    r"|^(?:artik )?(?:(?P<what>\w+) )?(?P<stem>\w{2,}?)m[ae]y[iu] (?:birakti[km]|kestim"
    r"|biraktim artik)$"
)
#: words that only say when and how often
_TIMES: Final = frozenset(
    """every each day daily morning mornings evening evenings night nights week weekly weekend
    weekends month year twice once times usually often always sometimes go goes work before after
    her sabah aksam gece gun gunu hafta ay ogle ogleden haftada gunde ayda kere kez defa sik hep
    sabahlari aksamlari geceleri cok""".split()
)
_INSTEAD: Final = re.compile(
    r"\b(?:instead of|rather than|not) (?P<gone>[^,;!]{2,40}?)(?: anymore| any more| now)?$"
    r"|(?P<turkish>\S+(?: \S+)?) degil\b"
)
_NO_MORE: Final = re.compile(r"(?P<what>\w{3,}) degil(?:im|iz)\b")
_ARTIK: Final = re.compile(r"\bartik\b")
_LIVES: Final = re.compile(
    r"\b(?:live|living|stay|staying|address is|adresim|oturuyor\w*|yasiyor\w*|kaliyor\w*)\b.*\d|"
    r"\d.*\b(?:oturuyor|yasiyor|kaliyor)\w*"
)
_MOVED: Final = re.compile(r"\b(?:moved|new (?:address|place|flat|apartment))\b|\btasindi[km]\b")
_ADDRESS: Final = re.compile(
    r"(?:its|it's|is|at|to|live at|:|^) ?(?:at |now )?\d{1,4}[a-z]? [a-z]{2,}(?: [a-z]+)?(?: now)?$"
    r"|\b(?:sokak|sok|cadde\w*|mahalle\w*|bulvar\w*) (?:no:? )?\d{1,4}"
)


def swapped(old: str, new: str) -> float:
    """How surely a new short message ends or renames what an old one states, 0..1."""
    before, after = spoken(old), spoken(new)
    if before is None or after is None or after.open or after.adds or before.open or (
        before.past or len(before.clauses) > 1 or after.other
    ):
        return 0.0
    rules = (
        _is_denied, _is_renamed, _is_gone, _is_parted, _is_stopped, _is_instead, _has_moved,
        _is_other_way,
    )
    return 0.975 if any(rule(before, after) for rule in rules) else 0.0


def _is_renamed(before: Spoken, after: Spoken) -> bool:
    """"my boss is karen", "my new boss is dave"."""
    for noun, value, named, _ in _roles(before):
        for noun_now, value_now, named_now, is_new in _roles(after):
            if value == value_now or noun != noun_now:
                continue
            if named_now == "given":
                return True
            if named and named_now:
                return after.takes_back or after.changed
            if (is_new or after.changed or after.takes_back) and _are_names(value, value_now):
                return True
            if _is_out(value, after):
                return True
    return False


def _roles(message: Spoken) -> Iterator[tuple[str, str, str, bool]]:
    """(noun, name, "named" or "given" or "", whether it is new) of each clause."""
    for clause in message.clauses:
        text = _CORRECTS.sub("", clause.folded).strip(" .!")
        for pattern in _ROLE:
            found = pattern.match(text)
            if found is not None and not _NO_NAMES.match(found["v"]):
                given = found.groupdict()
                noun = found["n"].removesuffix("'s").removeprefix("new ")
                yield noun, found["v"], (
                    "given" if given.get("given") else "named" if given.get("named") else ""
                ), bool(given.get("new"))


def _is_out(name: str, after: Spoken) -> bool:
    """Whether a message says of a name that he or it is gone: "rick's out"."""
    return any(
        re.search(rf"\b{re.escape(name)}(?:'s| is| has)? (?:{_OUT})\b", each.folded)
        for each in after.clauses
    )


_OUT: Final = (
    "out|gone|left|quit|retired|moved (?:out|away)|resigned|closed|cancel+ed|is out|died|ayrildi"
    "|gitti|tasindi|kapandi|istifa etti|birakti"
)


def _are_names(one: str, other: str) -> bool:
    return all(
        is_first_name(each.split()[0]) or each.split()[0].strip(".") in TITLES
        for each in (one, other)
    ) and len(one.split()) <= _FEW and len(other.split()) <= _FEW


def _is_gone(before: Spoken, after: Spoken) -> bool:
    """"sold the civic and got a mazda", "left the bakery, started at the post office"."""
    if not _HAS.search(before.folded) or _has_person(before) or _BOUGHT.search(before.folded):
        return False
    pairs = [(_THING_GONE, _THING_GOT)]
    if _JOB.search(before.folded):
        pairs = [(_JOB_GONE, _JOB_GOT)]
    for ends, begins in pairs:
        for clause in after.clauses:
            found = ends.search(clause.folded)
            if found is None:
                continue
            gone = _words(found["gone"] or found["turkish"])
            known = _words(before.folded)
            rest = f"{clause.folded[: found.start()]} | {clause.folded[found.end() :]}"
            others = [rest, *(each.folded for each in after.clauses if each is not clause)]
            if gone and met(gone, known) == gone and any(map(begins.search, others)):
                return True
    return False


def _has_person(message: Spoken) -> bool:
    return re.search(r"\b(?:his|her|their|he|she|they)\b", message.folded) is not None


def _is_denied(before: Spoken, after: Spoken) -> bool:
    """"apparently im not lactose intolerant", "fıstığa alerjim yokmuş" behind another clause."""
    if not after.clauses:
        return False
    one = before.clauses[0]
    for each in after.clauses:
        text = _CORRECTS.sub("", each.folded).removesuffix(" after all")
        if _NOT.search(text) and not _NOT.search(one.folded) and (
            _I_AM.sub("im ", _NOT.sub("", text)) == _I_AM.sub("im ", one.folded)
        ):
            return True
        if _VAR.search(one.folded) and _YOK.search(text) and one.topic and (
            set(each.topic) == set(one.topic)
        ):
            return True
    return False


_I_AM: Final = re.compile(r"^(?:i'm|i am|im) ")
_NOT: Final = re.compile(r"(?<=^im )not |(?<=^i'm )not |(?<=^i am )not ")
_VAR: Final = re.compile(r"\bvar$")
_YOK: Final = re.compile(r"\byok(?:mus|tu)?$")


def _is_parted(before: Spoken, after: Spoken) -> bool:
    """"josh and i broke up" of one who dates him."""
    text = " and ".join(each.folded for each in after.clauses)
    found = _PARTED.search(text)
    if found is None or not _PAIR.search(before.folded):
        return False
    name = next(each for each in found.groups() if each)
    if "seeing" in before.folded and f"seeing {name}" not in before.folded:
        return False
    return bool(met(frozenset((name,)), frozenset(re.findall(r"[a-z]+", before.folded)))) and (
        _HAS.search(before.folded) is not None)


def _is_stopped(before: Spoken, after: Spoken) -> bool:
    """"i stopped running" of one who runs every morning."""
    if not _HAS.search(before.folded):
        return False
    for clause in after.clauses:
        found = _STOPPED.match(clause.folded)
        if found is None:
            continue
        stem = found["stem"] or found["verb"]
        forms = {stem, f"{stem}ing", f"{stem}e", stem[:-1]} if found["ing"] else {stem}
        rest = [word for word in before.topic if word not in _TIMES and word != found["what"]]
        if len(rest) == 1 and rest[0] in forms and (found["ing"] or found["stem"]):
            return True
    return False


def _is_instead(before: Spoken, after: Spoken) -> bool:
    """"i see dr. ortiz now instead of dr lang"; "stajyer değilim artık"."""
    known = _words(before.folded)
    for clause in after.clauses:
        no_more = _NO_MORE.search(clause.folded)
        if no_more is not None and _ARTIK.search(clause.folded) and len(before.topic) == 1 and (
            met(frozenset((no_more["what"],)), before.topic)
        ):
            return True
        found = _INSTEAD.search(clause.folded)
        if found is None or not _HAS.search(before.folded):
            continue
        piece = found["gone"] or found["turkish"]
        gone = _words(piece)
        if gone and met(gone, known) == gone and after.changed and any(
            word.strip(".") in TITLES or _title_of(word) for word in piece.split()
        ):
            return True
    return False


def _title_of(word: str) -> bool:
    return any(word in (f"{each}a", f"{each}e", f"{each}i") for each in TITLES)


def _has_moved(before: Spoken, after: Spoken) -> bool:
    """"we live at 14 elm street", "we moved, its 8 oak lane now"."""
    return (
        _LIVES.search(before.folded) is not None and _HAS.search(before.folded) is not None
        and _MOVED.search(after.folded) is not None and KIN.isdisjoint(before.topic)
        and any(_ADDRESS.search(each.folded) for each in after.clauses)
    )


def _is_other_way(before: Spoken, after: Spoken) -> bool:
    """"kahveyi sade içerim", "kahveyi sütlü içiyorum artık": one word differs."""
    values = (*before.values, *after.values)
    if not (after.takes_back or _ARTIK.search(after.folded)) or values or len(after.topic) > _MANY:
        return False
    one, other = before.clauses[0].topic, after.clauses[0].topic
    differ = [at for at, (a, b) in enumerate(zip(one, other, strict=False))
              if not met(frozenset((a,)), frozenset((b,)))]  # fmt: skip
    return len(one) == len(other) > _FEW and len(differ) == 1 and 0 < differ[0] < len(one) - 1


_MANY: Final = 5
#: words of a sentence of which one may differ, less one
_FEW: Final = 2


#: of a number, in Turkish
_CASE: Final = re.compile(r"\b(\d+)[a-z]{1,3}\b")
_GENERAL: Final = frozenset(
    "the a an my our i we artik account subscription membership card plan hesap hesabimi".split())


def _words(piece: str) -> frozenset[str]:
    """The words of a piece of text that say something, titles left out."""
    return frozenset(
        word for word in re.findall(r"[a-z0-9]+", _CASE.sub(r"\1", re.sub(r"'\w+", "", piece)))
        if not is_stop(word) and word not in TITLES and not _title_of(word)
        and word not in _GENERAL
    )
