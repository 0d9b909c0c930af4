"""Matches the frames of an English sentence, as far as it asserts them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from spector.language.entities import is_first_name
from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.english.copula import copula
from spector.language.frames.english.objects import objects_at, renewed
from spector.language.frames.english.phrases import (
    Group,
    Phrase,
    group_at,
    joined_group,
    phrase_at,
    text_of,
)
from spector.language.frames.english.slots import (
    MARITAL,
    Slot,
    is_named,
    is_person,
    subject_name,
)
from spector.language.frames.english.vocabulary import FORMS, FRAMES, WORDS, VerbFrame
from spector.language.frames.predicates import KIN
from spector.language.frames.sentences import Draft, Modality, Sentence, Word, stricter

# How an English sentence is meant: asserted, hedged, planned, reported, conditional, asked.

#: what is played, supposed, dreamt of or made up, however it goes on
_UNREAL: Final = re.compile(
    r"\b(?:in (?:the|this|our|my|a) (?:\w+ )?(?:play|game|story|novel|movie|film|dream|scenario"
    r"|sketch|role ?-?play)\b(?! (?:on|at|last|against)\b)|role ?-?play\w*"
    r"|let ?'?s (?:say|assume|imagine|pretend)|let us (?:say|assume)|say (?:i|we) "
    r"|for (?:this|the) (?:exercise|example|test)|for (?:example|instance) ?[:,]"
    r"|my (?:character|line|lines) (?:is|are)|(?:dream|fantasi[sz]e)\w* (?:of|about)|as if"
    r"|just kidding|only joking|as a joke|jk)\b"
)


def is_unreal(words: Sequence[str]) -> bool:
    """Whether folded words say that something is played, supposed, dreamt of or made up."""
    return _UNREAL.search(" ".join(words)) is not None


#: what a question begins with, and its subject
_ASKING: Final = frozenset(("have", "has")).union(words_of.BE, words_of.DO, words_of.MODALS)
_ASKED: Final = words_of.PRONOUNS.union(words_of.POSSESSIVES, words_of.ARTICLES)


def sentence_modality(sentence: Sentence) -> Modality:
    words = [word.text for word in sentence.words]
    if sentence.asks or _is_inverted(words):
        return "asked"
    if not WORDS["conditions"].isdisjoint(words) or ("every", "time") in pairwise(words):
        return "conditional"
    if is_unreal(words):
        return "conditional"
    for at, word in enumerate(words):
        if word in WORDS["reports"] and not (at and words[at - 1] in ("i", "we", "'ve", "you")):
            return "reported"
    return "asserted"


def doubts(words: Sequence[Word]) -> bool:
    """Whether a sentence says that it is not sure: "maybe", "not sure"."""
    return any(
        word.text in WORDS["hedges"] or (word.text == "sure" and before.text in ("not", "n't"))
        for before, word in pairwise((words[0], *words))
    )


def _is_inverted(words: list[str]) -> bool:
    """Whether the words have the order of a question, whatever sign ends them."""
    at = 0
    while at < len(words) - 1 and (words[at] in words_of.INTRODUCTIONS or words[at] == ","):
        at += 1
    first, second = words[at], words[at + 1] if at + 1 < len(words) else ""
    if first in WORDS["questions"]:
        return first not in ("when", "while")
    if second == "n't" and at + 2 < len(words):
        second = words[at + 2]  # "Haven't you" asks, "Haven't talked" tells
    return first in _ASKING and second in _ASKED


def clause_modality(words: Sequence[Word], at: int) -> Modality:
    """What the words before a clause make of it: "I think", "Tom says"."""
    before = [word.text for word in words[max(0, at - 4) : at]]
    for at, word in enumerate(before):
        if word in WORDS["opinions"] and before[at + 1 : at + 2] != ["what"]:
            # "I don't think so" says rather the contrary
            return "conditional" if set(before[max(0, at - 2) : at]) & {"n't", "not"} else "hedged"
    return "asserted"


#: a clause behind them is never asserted, see `modality`
_PARTS: Final = WORDS["conditions"] | WORDS["reports"] | {"and", "but", "so", "then"}
#: a clause about oneself behind them is one's own
_LINKS: Final = WORDS["clause_verbs"] | frozenset(
    "ago you week weekend month year night morning evening summer winter".split()
)
_BEFORE_THAT: Final = WORDS["clause_verbs"] | {"now"}
_MINE: Final = frozenset("i we my our".split())
#: words at the beginning that say that something is new
_TURNS: Final = frozenset((("from", "now"), ("these", "days"), ("as", "of"), ("now", ",")))
#: words that begin sentences and are not names
_NO_NAMES: Final = (KIN - {"mom", "dad"}) | frozenset(
    """people kid man woman guy dude bro god food music water money art nature yoga
    health school everyone sport reading family society technology education""".split()
)
#: behind them a clause may leave its subject out
_JOINS: Final = ("and", "but", "then")
_FRONTS: Final = frozenset("in at on for of from during last this next every over".split())
_SIZES: Final = frozenset("little big older younger young oldest youngest".split())
#: between a verb and its object they change nothing: "bought myself a bike"
_BEFORE_OBJECTS: Final = (words_of.ADVERBS | {"myself", "ourselves"}) - {"very", "all", "both"}
_INTRODUCES: Final = (
    words_of.INTRODUCTIONS | words_of.ADVERBS | words_of.TIMES | words_of.UNITS
) - {"before", "whenever"}


def english_drafts(sentence: Sentence, text: str) -> Iterator[Draft]:
    """The statements of one sentence, in order, with the modality of each."""
    words = sentence.words
    whole, unsure = sentence_modality(sentence), doubts(words)
    turns = any(pair in _TURNS for pair in pairwise(word.text for word in words[:6]))
    subject: Phrase | None = None
    last: Group | None = None
    for at in range(len(words)):
        if not _may_begin(words, at):
            continue
        first = _skip_introductions(words, at)
        if first > at and _may_begin(words, first):
            continue
        found = _subject_at(words, first)
        group = None
        if found is not None:
            group = group_at(words, found.end, _is_third(words, found))
            known = group is not None or found.article in ("i", "we", "you")
            if not known and subject is not None and words[at - 1].text in _JOINS:
                group = joined_group(words, first, last, _is_third(words, subject))
                known, found = group is not None, subject
            subject = found if known else None
        elif subject is not None and at and words[at - 1].text in _JOINS:
            group = group_at(words, first, _is_third(words, subject))
        if subject is None or group is None:
            continue
        last = group
        meant = stricter(whole, stricter(clause_modality(words, at), group.modality))
        if unsure:
            meant = stricter(meant, "hedged")
        for draft in _frames(words, subject, group, text):
            draft.changed |= turns
            yield replace(draft, modality=stricter(meant, draft.modality))
    if unsure:
        whole = stricter(whole, "hedged")
    for draft in _named_kin(words, text):
        yield replace(draft, modality=whole)


def _named_kin(words: Sequence[Word], text: str) -> Iterator[Draft]:
    """What "my daughter Alma" takes for granted: her name."""
    for at in range(len(words) - 2):
        first = at + 1 + (words[at + 1].text in _SIZES)
        if words[at].text not in ("my", "your") or first + 1 >= len(words):
            continue
        kin, begin = words[first].text, first + 1
        end = begin
        while end < len(words) and words[end].capital and words[end].text not in words_of.STOPS:
            end += words[end].kind == "word" or len(words)
        if not begin < end <= len(words) or kin not in KIN or kin.endswith("s"):
            continue
        span = (words[begin].start, words[end - 1].end)
        yield Draft(
            words_of.POSSESSIVES[words[at].text],
            "",
            kin,
            text_of(words, begin, end, text),
            (words[at].start, words[at].end),
            span,
            (words[at].start, span[1]),
            frame="en:named-kin",
        )


# -- where clauses begin, and whose they are ------------------------------------------------------


def _may_begin(words: Sequence[Word], at: int) -> bool:
    if at == 0 or at >= len(words):
        return at == 0
    before = words[at - 1]
    if before.kind == "sign":
        return before.text not in "'/@#%*=+$&"
    if before.text in _PARTS:
        return True
    if words[at].text in ("i", "we") and _is_fronted(words, at):
        return True
    if words[at].text not in _MINE:
        return False
    if before.text == "that":  # "it is false that I": only what one says, knows or is glad of
        return at > 1 and words[at - 2].text in _BEFORE_THAT
    return before.text in _LINKS


def _is_fronted(words: Sequence[Word], at: int) -> bool:
    """Whether only "in May", "of all colours", "last summer in Rome" stands before a subject."""
    if at > 8 or words[0].text not in _FRONTS:
        return False
    return not any(
        word.text in FORMS
        or word.text in words_of.BE
        or word.text in words_of.RELATIVES
        or (word.kind == "sign" and word.text != ",")
        for word in words[:at]
    )


def _skip_introductions(words: Sequence[Word], at: int) -> int:
    """The first word that may belong to the subject, behind "well," and "last year,"."""
    first = at
    while (
        at < len(words)
        and (
            (words[at].text in _INTRODUCES and (at > first or words[at].text not in words_of.UNITS))
            or (words[at].kind == "sign" and words[at].text in ",:-")
        )
        and words[at].text not in ("this", "these", "both", "all")
    ):
        at += 1
    if at < len(words) - 2 and words[at].text in ("in", "as", "since", "for", "on", "at", "these"):
        comma = next((n for n in range(at, min(at + 8, len(words))) if words[n].text == ","), 0)
        person = next(
            (n for n in range(at, min(at + 6, len(words))) if words[n].text in ("i", "we", "my")), 0
        )
        if comma:
            return comma + 1
        if person and first == 0:
            return person
    return at


def _subject_at(words: Sequence[Word], at: int) -> Phrase | None:
    if at >= len(words):
        return None
    word = words[at].text
    if word in ("i", "we", "you"):
        return Phrase(at, at, at + 1, 2 if word == "you" else 1, word)
    if words[at].kind == "sign":
        return None
    found = phrase_at(words, at, subject=True)
    if (
        found is not None
        and found.article == "the"
        and found.end + 1 < len(words)
        and (words[found.end].text == "for")
    ):  # "the deadline for the report" is that of the report
        inner = phrase_at(words, found.end + 1, subject=True)
        if inner is not None:
            return found._replace(end=inner.end)
    return found


def _is_third(words: Sequence[Word], subject: Phrase) -> bool:
    if subject.article in ("i", "we", "you"):
        return False
    last = words[subject.end - 1].text
    if words[subject.first].capital and not subject.article and _agrees(words, subject.end):
        return True  # "James lives": a plural does not
    return not (
        (last.endswith("s") and not last.endswith("ss"))
        or last in ("parents", "children", "people", "police")
    )


def _agrees(words: Sequence[Word], at: int) -> bool:
    """Whether a verb has the form of the third person singular and no other one."""
    form = FORMS.get(words[at].text) if at < len(words) else None
    return form is not None and form.names == {"third"}


# -- frames ---------------------------------------------------------------------------------------


def _frames(words: Sequence[Word], subject: Phrase, group: Group, text: str) -> Iterator[Draft]:
    weds = group.verb == "get" and group.end < len(words) and words[group.end].text in MARITAL
    if group.verb in ("be", "become", "turn") or weds:
        if group.verb != "be":
            group = group._replace(changed=True, tense="present")
        changed = [] if group.verb == "turn" else list(renewed(words, subject, group, text))
        yield from changed or copula(words, subject, group, text)
        return
    person = subject.article in ("i", "we", "you")
    if person or not is_person(words, subject):
        yield from renewed(words, subject, group, text)
    name = "" if person else subject_name(words, subject, text)
    owned = person or is_person(words, subject) or _is_name(words, subject, group)
    span = (words[subject.start].start, words[subject.end - 1].end)
    for frame in FRAMES.get(group.verb, ()):
        is_of_thing = frame.predicate in WORDS["predicates_of_things"] and subject.article == "the"
        if not (owned or is_of_thing):
            continue
        if frame.past and (group.ing or group.tense != "past" or not group.polarity):
            continue
        if frame.now and group.tense != "present":
            continue
        if frame.predicate == "has" and any(
            word.text == "all" for word in words[group.start : group.end]
        ):
            continue  # "we all have our ways"
        if group.ing and frame.kind in ("had", "liked") and group.verb not in ("enjoy", "love"):
            continue
        begins = _object_start(words, group, frame, text)
        if begins is None:
            continue
        at, old = begins
        who = Slot(subject.owner, name, frame.predicate, True, span)
        made = list(objects_at(words, at, who, frame, group, text))
        if frame.predicate == "has" and _is_ahead(words):
            group = group._replace(modality="planned")
        for each in made:
            polarity = each.polarity == (group.polarity == frame.polarity)
            yield replace(
                each,
                modality=stricter(each.modality, group.modality),
                polarity=polarity,
                tense="present" if frame.changes else group.tense,
                changed=each.changed or group.changed or frame.changes,
                added=each.added or group.added,
                replaced=each.replaced or old,
            )
        if made:
            return


def _object_start(
    words: Sequence[Word], group: Group, frame: VerbFrame, text: str
) -> tuple[int, str | None] | None:
    """Where the object of a frame begins, and what "from X" names between a verb of change and its
    preposition; None without the preposition."""
    at, old = group.end, None
    while at < len(words) and words[at].text in _BEFORE_OBJECTS:
        at += 1
    if not frame.preposition:
        return at, None
    if frame.changes and at < len(words) and words[at].text == "from":
        gone = phrase_at(words, at + 1)
        if gone is not None:
            at, old = gone.end, text_of(words, gone.first, gone.end, text)
    if at >= len(words) or words[at].text != frame.preposition:
        return None
    return at + 1, old


def _is_ahead(words: Sequence[Word]) -> bool:
    """Whether "I have a meeting" is about a time to come: not a possession of now."""
    texts = [word.text for word in words]
    return any(word in ("tomorrow", "tonight", "upcoming") for word in texts) or any(
        pair == ("coming", "up")
        or pair == ("later", "today")
        or (
            pair[0] in ("next", "this", "coming", "on")
            and (pair[1] in words_of.UNITS - {"time", "day", "days"})
        )
        for pair in pairwise(texts)
    )


def _is_name(words: Sequence[Word], subject: Phrase, group: Group) -> bool:
    """A proper name, and not just the first word of a sentence in the plural or a gerund."""
    if subject.owner or subject.article:
        return False
    inside = words[subject.first : subject.end]
    if not all(word.capital or word.text in ("of", "'s", "van", "de") for word in inside):
        return False
    if subject.first == 0 and len(inside) == 1:
        only = inside[0].text
        alone = _agrees(words, group.start) or is_first_name(only)
        return (
            not only.endswith("ing" if alone else ("ing", "s", "ly", "ed"))
            and (only not in FORMS)
            and (only not in _INTRODUCES | words_of.VAGUE | _NO_NAMES)
        )
    return is_named(words, subject)
