"""Verb groups of English: a verb with its auxiliaries, its tense, its polarity, how it is meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.english.verbs import FORMS
from spector.language.frames.sentences import Word
from spector.language.frames.statement import Modality, Tense

#: "hope to", "want to": what follows is a plan
_PLANS: Final = frozenset(
    """want wants plan plans planning hope hopes hoping intend intends need needs try
    tries trying decide decided aim aims wish wishes wanted planned tried hoped""".split()
)
_STOPPED: Final = frozenset("stopped stop stops quit gave ceased".split())
_STARTED: Final = frozenset("started began started start begin been kept keep".split())


class Group(NamedTuple):
    """A verb with its auxiliaries.

    Attributes:
        verb: its base form. start, end: indices; what follows begins at ``end``.
        ing: it is progressive. passive: a participle follows "be", and stands at ``end``.
    """

    verb: str
    start: int
    end: int
    tense: Tense
    modality: Modality
    polarity: bool
    changed: bool = False
    added: bool = False
    ing: bool = False
    passive: bool = False


#: may stand between "do" and its verb
_AFTER_DO: Final = frozenset(("n't", "not", "still", "really", "also"))


@dataclass(slots=True)
class _Auxiliaries:
    """What the words before the main verb have said so far."""

    tense: Tense = "present"
    modality: Modality = "asserted"
    polarity: bool = True
    changed: bool = False
    added: bool = False
    been: bool = False
    have: bool = False
    helped: bool = False

    def group(
        self,
        verb: str,
        start: int,
        end: int,
        *,
        ing: bool = False,
        passive: bool = False,
        tense: Tense | None = None,
    ) -> Group:
        return Group(
            verb,
            start,
            end,
            tense or self.tense,
            self.modality,
            self.polarity,
            self.changed,
            self.added,
            ing,
            passive,
        )


def group_at(words: Sequence[Word], at: int, third: bool = False) -> Group | None:
    """The verb group that begins at a word; None where none does whose verb is known.

    Args:
        third: the subject is singular and neither speaks nor is spoken to.
    """
    start, aux = at, _Auxiliaries()
    while at < len(words):
        if _is_had(words, at):
            got = _next_word(words, at) == "got"
            tense: Tense = "past" if words[at].text == "had" and not got else "present"
            end = _behind(words, at, "got") if got else at + 1
            return aux.group("have", start, end, tense=tense)
        if words[at].text == "stand" and aux.helped and not aux.polarity:
            aux.polarity, aux.modality = True, "asserted"  # "I can't stand it"
            return aux.group("hate", start, at + 1)
        taken = _modified(words, at, aux) or _helped(words, at, aux)
        if not taken:
            break
        at += taken
    return _main_verb(words, start, at, aux, third)


def joined_group(words: Sequence[Word], at: int, last: Group | None, third: bool) -> Group | None:
    """The group of a verb that could be a noun: "work" in "I live in Paris and work as a nurse".

    None where it may belong to what comes before: "I will go and work", "I don't eat and drink".

    Args:
        last: the verb group before it, which has the same subject.
        third: as in :func:`group_at`.
    """
    group = group_at(words, at, third)
    if group is None or group.tense == "past":
        return group
    if last is None or (last.tense, last.modality, last.polarity) != ("present", "asserted", True):
        return None
    return None if any(word.text == "to" for word in words[last.end : at]) else group


def _is_had(words: Sequence[Word], at: int) -> bool:
    """Whether a form of have is the verb itself: no participle follows."""
    follows = _next_word(words, at)
    if words[at].text == "'s" or words[at].text in words_of.HAVE:
        if follows == "got":
            return True
        form = FORMS.get(follows)
        return (
            words[at].text in words_of.HAVE
            and follows != "been"
            and (form is None or "participle" not in form.names)
        )
    return False


def _modified(words: Sequence[Word], at: int, aux: _Auxiliaries) -> int:
    """How many words of negation, time or doubt begin here."""
    word, after = words[at].text, words[at + 1].text if at + 1 < len(words) else ""
    if word in ("not", "n't", "never"):
        aux.polarity = not aux.polarity
    elif word == "no" and after == "longer":
        aux.polarity, aux.changed = False, True
        return 2
    elif word in ("now", "nowadays", "currently"):
        aux.changed = True
    elif word == "also":
        aux.added = True
    elif word in words_of.HEDGES:
        aux.modality = "hedged"
    elif word in ("almost", "nearly", "barely", "hardly"):
        aux.modality = "conditional"
    elif word not in words_of.ADVERBS:
        return 0
    return 1


def _helped(words: Sequence[Word], at: int, aux: _Auxiliaries) -> int:
    """How many words of auxiliaries begin here."""
    word, after = words[at].text, words[at + 1].text if at + 1 < len(words) else ""
    if word in words_of.MODALS and not (words[at].capital and at):
        aux.modality, aux.helped = words_of.MODALS[word], True
    elif word == "used" and after == "to" and not aux.been:
        aux.tense, aux.helped = "past", True
        return 2
    elif word in words_of.DO and (after in _AFTER_DO or after in FORMS):
        aux.tense, aux.helped = words_of.DO[word], True
    elif word in words_of.HAVE or (word == "'s" and _next_word(words, at) == "been"):
        aux.have, aux.tense = True, "past"
    elif word == "been":
        aux.been, aux.tense = True, "past"
    elif word in words_of.BE or word == "be":
        aux.been, aux.tense = True, words_of.BE.get(word, aux.tense)
        if after == "going" and at + 2 < len(words) and words[at + 2].text == "to":
            aux.modality, aux.helped, aux.been = "planned", True, False
            return 3
    elif word in _PLANS and after == "to":
        aux.modality, aux.helped, aux.been = "planned", True, False
        return 2
    elif word in _STARTED and after == "to":
        aux.tense, aux.helped, aux.been, aux.have = "present", True, False, False
        return 2
    elif word in _STOPPED and (after.endswith("ing") or after == "up"):
        aux.polarity, aux.changed, aux.been, aux.have = False, True, True, False
        return 1 + (after == "up")
    elif word in _STARTED and after.endswith("ing") and after in FORMS:
        aux.been, aux.have, aux.tense = True, False, "present"
    elif word == "finished" and after.endswith("ing") and after in FORMS:
        aux.been, aux.have, aux.tense = True, False, "past"
    else:
        return 0
    return 1


def _main_verb(
    words: Sequence[Word], start: int, at: int, aux: _Auxiliaries, third: bool
) -> Group | None:
    form = FORMS.get(words[at].text) if at < len(words) and words[at].kind == "word" else None
    if form is None:
        return aux.group("be", start, at) if aux.been and at > start else None
    names, verb = form.names, form.lemma
    tense: Tense = aux.tense
    end, ing = at + 1, False
    if verb == "have" and aux.have:
        return aux.group("have", start, end, tense="present")
    if aux.been and "ing" in names:
        ing, tense = True, "present" if aux.have else tense
    elif aux.been:
        return aux.group("be", start, at, passive="participle" in names)
    elif (aux.have and "participle" in names) or (
        "past" in names
        and not aux.helped
        and not ("base" in names and verb in ("hurt", "cost", "quit"))
    ):
        tense = "past"
    elif not (
        (aux.helped and "base" in names)
        or (not aux.helped and names & ({"third"} if third else {"base"}))
    ):
        return None
    return aux.group(verb, start, end, ing=ing, tense=tense)


def _next_word(words: Sequence[Word], at: int) -> str:
    """The next word that is neither an adverb nor a negation."""
    for word in words[at + 1 : at + 5]:
        if word.text not in words_of.ADVERBS and word.text not in ("not", "n't", "never", "also"):
            return word.text
    return ""


def _behind(words: Sequence[Word], at: int, word: str) -> int:
    while words[at].text != word:
        at += 1
    return at + 1
