"""Noun phrases and verb groups of English sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.english.vocabulary import FORMS, WORDS
from spector.language.frames.predicates import KIN
from spector.language.frames.sentences import Modality, Tense, Word

#: words of a phrase at most
_MOST: Final = 8
_QUOTES: Final = frozenset('"“”«»')


class Phrase(NamedTuple):
    """A noun phrase: words ``first`` to ``end``, without its article or possessive.

    Attributes:
        start: index of the first word with its article. owner: person of the possessive, 0 for
            none. article: ``a``, ``an``, ``the``, a number, or "".
    """

    start: int
    first: int
    end: int
    owner: int
    article: str


def text_of(words: Sequence[Word], first: int, end: int, text: str) -> str:
    """The words from ``first`` to ``end`` as they stand in the text, white space joined."""
    return " ".join(text[words[first].start : words[end - 1].end].split())


def quote_at(words: Sequence[Word], at: int) -> Phrase | None:
    """A title or name in quotation marks."""
    if at >= len(words) or words[at].raw not in _QUOTES:
        return None
    for end in range(at + 1, min(at + 12, len(words))):
        if words[end].raw in _QUOTES:
            inner = end - 1 if words[end - 1].raw in (",", ".") else end
            return Phrase(at, at + 1, inner, 0, '"') if inner > at + 1 else None
    return None


def phrase_at(words: Sequence[Word], at: int, *, subject: bool = False) -> Phrase | None:
    """The noun phrase that begins at a word, as far as closed classes can tell.

    With ``subject`` it also ends where a verb begins. His, her, its and their own nothing that is
    known, so phrases with them are none.
    """
    start = first = at
    owner, article = 0, ""
    if at < len(words):
        word = words[at]
        if word.text in words_of.POSSESSIVES:
            owner = words_of.POSSESSIVES[word.text]
            if owner == 3:
                return None
            first += 1
        elif word.text in ("some", "any", "several", "many", "another"):
            article = word.text
            first += 1
        elif (
            word.text in ("this", "these")
            and not subject
            and (first + 1 < len(words) and words[first + 1].text not in words_of.UNITS)
        ):
            article = "this"
            first += 1
        elif word.text in words_of.ARTICLES or word.text in words_of.NUMBERS:
            article = word.text
            first += word.text in words_of.ARTICLES
        elif word.kind == "number":
            article = word.text
    first += first < len(words) and words[first].text == "own"
    end = _end_of_phrase(words, first, subject)
    if end <= first or end - first > _MOST:
        return None
    return Phrase(start, first, end, owner, article)


def _end_of_phrase(words: Sequence[Word], first: int, subject: bool) -> int:
    end, joined = first, False
    while end < len(words) and end - first <= _MOST:
        word = words[end]
        if word.kind == "sign":
            break
        if word.kind == "suffix":
            if word.text != "'s" or end == first or not _is_noun(words, end + 1, end, False):
                break
            if subject and _is_copula(words, end):
                break
        elif word.text == "of":
            if (
                end == first
                or end + 1 >= len(words)
                or (
                    joined
                    and not (
                        words[end - 1].capital
                        and words[
                            min(end + 1 + (words[end + 1].text == "the"), len(words) - 1)
                        ].capital
                    )
                )
            ):
                break
            title = words[end + 1].capital and end + 2 < len(words) and words[end + 2].capital
            owned = words[end + 1].text in words_of.POSSESSIVES
            skip = 1 + (words[end + 1].text in words_of.ARTICLES or (owned and title))
            if (owned and not title) or not _is_noun(words, end + skip, end + skip, subject):
                break
            end += skip - 1
            joined = True
        elif not _is_noun(words, end, first, subject):
            break
        end += 1
    return end - 1 if end > first and words[end - 1].text == "of" else end


def _is_noun(words: Sequence[Word], at: int, first: int, subject: bool) -> bool:
    """Whether the word at an index may be part of a noun phrase."""
    if at >= len(words):
        return False
    word = words[at]
    if word.kind in ("sign", "suffix"):
        return False
    text = word.text
    if at > first and (text in words_of.NUMBERS or text == "a"):
        return False
    if at > first and text == "half":  # "the Istanbul half marathon", no "half the time"
        return (
            at + 1 < len(words)
            and words[at + 1].text not in ("a", "past")
            and (_is_noun(words, at + 1, at + 1, subject))
        )
    if text in words_of.STOPS and not (text in ("now", "may") and word.capital and at > 0):
        return False
    if text.endswith("ly") and text not in WORDS["ly"] and not word.capital:
        return False
    if word.capital and at > first:
        return True
    form = FORMS.get(text)
    if (
        subject
        and at > first
        and form is not None
        and (form.names & {"third", "past"} and not word.capital)
    ):
        return False
    if (
        subject
        and at > first
        and form is not None
        and words[at - 1].text in KIN
        and ("base" in form.names)
    ):
        return False
    if at > first and not word.capital:
        if text.endswith("ing") and text not in WORDS["noun_ing"] and len(text) > 4:
            return False
        if text.endswith("ed") and len(text) > 4 and not _is_noun(words, at + 1, at + 1, subject):
            return False
    return True


def _is_copula(words: Sequence[Word], at: int) -> bool:
    """Whether "'s" behind a subject stands for "is" or "has": by what follows it."""
    after = words[at + 1].text if at + 1 < len(words) else ""
    if after in words_of.ARTICLES or after in words_of.POSSESSIVES or after in words_of.ADVERBS:
        return True
    if after in words_of.STOPS or after.endswith("ing") or after.isdigit():
        return True
    verbs = (*words_of.BE, *words_of.HAVE, *words_of.MODALS)
    rest = [word.text for word in words[at + 1 : at + 6]]
    return not any(each in verbs or FORMS.get(each) for each in rest)


def is_modifier(words: Sequence[Word], at: int) -> bool:
    """Whether "and" or a comma goes on with another adjective: "a red and blue shirt"."""
    if at + 1 >= len(words) or words[at].text not in ("and", ",", "but"):
        return False
    after = words[at + 1].text
    verb = FORMS[after].names if after in FORMS else frozenset()
    if not verb <= ({"participle"} if words[at].text == "and" else {"ing", "participle"}):
        return False
    return (
        after not in words_of.STOPS
        and words[at + 1].kind == "word"
        and (after not in words_of.UNITS and not words[at + 1].capital)
    )


# Verb groups of English: a verb with its auxiliaries, its tense, its polarity, how it is meant.

_STOPPED: Final = frozenset("stopped stop stops quit gave ceased".split())
_STARTED: Final = frozenset("started began started start begin been kept keep".split())


class Group(NamedTuple):
    """A verb with its auxiliaries.

    Attributes:
        verb: its base form. start, end: indices; what follows begins at ``end``.
        ing: it is progressive.
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
        self, verb: str, start: int, end: int, *, tense: Tense | None = None, ing: bool = False
    ) -> Group:
        said = tense or self.tense, self.modality, self.polarity, self.changed, self.added
        return Group(verb, start, end, *said, ing)


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
    """Whether a form of have is the verb itself: no participle follows but "got"."""
    follows = _next_word(words, at)
    if follows == "got" and (words[at].text == "'s" or words[at].text in words_of.HAVE):
        return True
    form = FORMS.get(follows)
    is_helper = follows == "been" or (form is not None and "participle" in form.names)
    return words[at].text in words_of.HAVE and not is_helper


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
    elif word in WORDS["hedges"]:
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
    elif word in WORDS["plans"] and after == "to":
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
        return aux.group("be", start, at)
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
