"""A question that asks for a value, and the sentence of a long message that gives one.

"How many beehives do I have?" is answered in the midst of a message that says much else: "...
after splitting the strong colonies there are now 9 beehives along the hedge, ...". Only the
sentence with the value is looked at; no frame is needed, and nothing is said about what it
replaces.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from spector.language.cues import asks_for_value
from spector.language.frames.amounts import Amount, values_and_rest
from spector.language.words import analyse, plain
from spector.process import keeps

_CHARS: Final = 4_000
_SENTENCES: Final = 40
#: words of a question that a sentence must have
_LEAST: Final = 2
_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE: Final = re.compile(r"(?<!\d)[.!?;\n]+\s+|\n+")
_COUNTS: Final = re.compile(
    r"\bhow many (?:total |different )?(?P<n>\w+(?: \w+){0,2})|\bkac (?P<k>\w+)"
)
#: says that a value is a new one
_NEW: Final = re.compile(
    r"\b(?:now|recently|new|newly|currently|latest|just|updated?|reach\w*|increas\w*|decreas\w*"
    r"|improv\w*|rais\w*|lower\w*|extend\w*|adjust\w*|reschedul\w*|mov(?:ed|ing)|push\w*|postpon\w*"
    r"|grew|grown|growth|rose|risen|went (?:up|down)|chang\w*|shift\w*|bump\w*|reduc\w*|drop\w*"
    r"|upgrad\w*"
    r"|expand\w*|instead|already|artik|simdi|yeni|oldu|son|guncel\w*|degis\w*|ertele\w*|yuksel\w*"
    r"|arttir\w*|artti|dustu|indi|cikti|alindi|kaydi\w*)\b"
)
_OWNER: Final = re.compile(r"\b([a-z]+)['’]s\b|\b((?:anne|baba|kardes|abi|abla|es)\w*[iu]n)\b")
_PLACES: Final = frozenset("first second third fourth fifth next final".split())
_NO_OWNERS: Final = frozenset("it that what there he she who let here how where today".split())
_NOTHING: Final = frozenset(analyse("how many much often total current time kac kadar").content())


class Given(NamedTuple):
    """A sentence that gives a value of the kind that is asked for.

    Attributes:
        values: kind and normal form of each. shared: words of the question that it has, by number.
        is_new: it says that something has changed.
    """

    values: frozenset[tuple[str, str]]
    shared: frozenset[int]
    is_new: bool


class ValueAsked(NamedTuple):
    """A question for a value as it is now.

    Attributes:
        words: that tell what it is of, each as it may begin.
        counted: how the words of what "how many" counts begin.
        places: in a row, which a sentence has to name as well: the first sprint.
    """

    words: tuple[frozenset[str], ...]
    counted: frozenset[str]
    places: frozenset[str]

    def given_in(self, text: str) -> Given | None:
        """The sentence of a text that answers best; None where none has a value and two words."""
        best: Given | None = None
        for folded, words, values in _sentences(text[:_CHARS]):
            shared = frozenset(n for n, keys in enumerate(self.words) if keys & words)
            if len(shared) < _LEAST or self._is_of_another(folded) or not self.places <= words:
                continue
            if best is not None and len(shared) <= len(best.shared):
                continue
            found = frozenset(
                (each.kind + each.unit, each.form)
                for each in values
                if not self.counted or self._is_count(each, folded)
            )
            if found:
                best = Given(found, shared, _NEW.search(folded) is not None)
        return best

    def _is_of_another(self, folded: str) -> bool:
        """Whether a sentence names an owner that the question does not name."""
        return any(
            not any((found[1] or found[2])[:_KEY] in keys for keys in self.words)
            for found in _OWNER.finditer(folded)
            if found[1] not in _NO_OWNERS
        )

    def _is_count(self, value: Amount, folded: str) -> bool:
        """Whether a number counts what is asked for, or says no noun."""
        if value.kind != "number":
            return False
        behind = re.findall(r"[a-z]+", folded[value.end : value.end + _NEAR])[:3]
        if any(word.startswith(tuple(self.counted)) for word in behind):
            return True
        return not re.match(r"\s*[a-z]{3,}", folded[value.end :]) and value.unit == ""


#: letters by which words with other endings are known
_STEM, _KEY = 4, 5
#: characters behind a number in which its noun stands
_NEAR: Final = 40


@keeps(64)
def value_asked(cue: str) -> ValueAsked | None:
    """The question that a cue asks for a value; None where it asks for none, or for an old one."""
    if not asks_for_value(cue):
        return None
    folded = plain(cue[:400])
    known = analyse(cue)
    words = tuple(
        frozenset((form[:_KEY], stem[:_KEY]))
        for form, stem in dict(zip(known.forms, known.words, strict=True)).items()
        if stem in known.content() and stem not in _NOTHING
    )
    found = _COUNTS.search(folded)
    noun = next(filter(None, found.groups())) if found else ""
    counted = frozenset(each[:_STEM] for each in analyse(noun).content())
    places = _PLACES & set(known.forms)
    return ValueAsked(words, counted, places) if len(words) >= _LEAST else None


@keeps(256)
def _sentences(text: str) -> tuple[tuple[str, frozenset[str], tuple[Amount, ...]], ...]:
    out = []
    for part in _SENTENCE.split(_CODE.sub(" . ", text))[:_SENTENCES]:
        if not any(map(str.isdigit, part)):
            continue
        folded = plain(part)
        values, _ = values_and_rest(folded)
        if values:
            found = analyse(part)
            keys = frozenset(each[:_KEY] for each in (*found.forms, *found.content()))
            out.append((folded, keys, values))
    return tuple(out)
