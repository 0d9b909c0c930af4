"""Statements of a text, with subjects resolved: the one entry to both languages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final, TypedDict

from spector.language.frames.assignments import assignments
from spector.language.frames.english import english_drafts
from spector.language.frames.limits import is_common_noun, limit_of, past_time
from spector.language.frames.predicates import NAMED, SLOTS, is_single_valued, predicate_of
from spector.language.frames.recurring import recurring_in
from spector.language.frames.sentences import Sentence, sentences
from spector.language.frames.statement import (
    AGENT,
    HEDGED_CONFIDENCE,
    RULE_CONFIDENCE,
    USER,
    Draft,
    Modality,
    Statement,
)
from spector.language.frames.talk import without_talk
from spector.language.frames.turkish import is_english_sentence, is_turkish_sentence, turkish_drafts
from spector.language.frames.values import normal_value
from spector.language.statements import ASSISTANTS, USERS, opening_of, own_words
from spector.language.tables import only_language
from spector.language.words import plain

#: happens once, so its time does not make it another one
_ONCE: Final = frozenset("born_in born_on died_in died_on founded_in built_in".split())


class _Limits(TypedDict):
    limit: str
    common: bool


#: statements of one sentence at most
_MOST: Final = 3
#: words of an object at most
_MOST_WORDS: Final = 8
_STATES: Final[tuple[Modality, ...]] = ("asserted", "hedged")
#: what a user says of his agent by the way, and orders it to be
#: "parents' house": its value is what follows
_OWNERS: Final = re.compile(r"s['\u2019]\s+[^\W_]")
_NOT_OF_AGENT: Final = frozenset(
    """is_a has had got wants likes uses makes works_as found spent did said tries""".split()
)
#: of a line, as much as may be the name that it opens with, and a word
_OPENING_CHARS: Final = 80


def extract(
    text: str,
    *,
    speaker: str | None = None,
    listener: str | None = None,
    role: str = "user",
    language: str | None = None,
    reference_time: int | None = None,
    modalities: Collection[Modality] = _STATES,
    single_valued: Collection[str] = (),
) -> tuple[Statement, ...]:
    """The statements of a text in their order; empty where no frame is sure.

    Args:
        text: anything; the time taken grows with its length only. What it quotes states nothing.
        speaker: the name of the one who speaks, which "I" stands for. Without it "I" is ``user``,
            or ``agent`` for the roles of an assistant, and "you" is the other of the two.
        listener: the name that "you" stands for; a speaker without a listener leaves "you" open.
        role: of the message; in those of a tool or a document "I" stands for no one known.
        language: "en" or "tr"; without it each sentence is judged by its own words.
        reference_time: of the message, milliseconds since 1970: what "tomorrow" is counted from.
        modalities: what is returned. Questions, conditions, reports and plans state nothing and are
            left out unless they are asked for.
        single_valued: predicates that have one value at a time beside those of the table.
    """
    out: list[Statement] = []
    text = own_words(text)
    language = language or only_language()
    first, second = _persons(role)
    if speaker:
        first, second = speaker, ""
    second = listener or second
    turns = [] if speaker else _turns(text)
    for said in sentences(text):
        sentence = said._replace(words=without_talk(said.words))
        while turns and turns[0][0] <= sentence.start:
            _, first, second = turns.pop(0)
        kept: list[Statement] = []
        seen: set[tuple[str, str, str, bool]] = set()
        for draft in _drafts(sentence, text, language):
            made = _resolved(draft, text, first, second, single_valued)
            if made is None or made.modality not in modalities or len(kept) >= _MOST:
                continue
            key = (made.subject, made.predicate, made.object, made.polarity)
            if key not in seen:
                seen.add(key)
                value = normal_value(made.object, reference_time=reference_time)
                window = made.window or _recurring(draft, sentence, text) or _past(made, text)
                kept.append(
                    replace(made, value=value, window=window, **_limits(made, sentence, text))
                )
        out += kept
    return tuple(out)


def _name_behind(draft: Draft, text: str) -> str:
    """The name that follows what someone is to a person: "Max" of "my dog Max"; "" for none.

    Of two dogs each is a subject of its own.
    """
    words = text[slice(*draft.subject_span)].split()
    first = len(words)
    while first > 1 and words[first - 1][:1].isupper() and words[first - 1].isalpha():
        first -= 1
    kin = plain("".join(words[first - 1 : first]))
    if first == len(words) or not kin.startswith(plain(draft.subject.split()[-1])[:2]):
        return ""
    return " ".join(words[first:])


def _persons(role: str) -> tuple[str, str]:
    """(I, you) of a message by its role."""
    folded = plain(role)
    if folded in ASSISTANTS:
        return AGENT, USER
    return (USER, AGENT) if folded in USERS else ("", "")


def _turns(text: str) -> list[tuple[int, str, str]]:
    """(start, speaker, listener) of each turn of a transcript; one opening makes none."""
    found: list[tuple[int, str, str]] = []
    start = 0
    while 0 <= start < len(text):
        opening = opening_of(text[start : start + _OPENING_CHARS].partition("\n")[0])
        if opening is not None and predicate_of(opening.name)[0] not in SLOTS:
            if any(_persons(opening.folded)):
                found.append((start, *_persons(opening.folded)))
            elif opening.proper:
                found.append((start, opening.name, ""))
        start = text.find("\n", start) + 1 or -1
    return found if len(found) > 1 else []


def _drafts(sentence: Sentence, text: str, language: str | None) -> Iterator[Draft]:
    found = list(assignments(sentence, text))
    if found:
        yield from found
        return
    if language == "en" or (language is None and not is_turkish_sentence(sentence, text)):
        found = list(english_drafts(sentence, text))
        if found or language == "en" or is_english_sentence(sentence):
            yield from found
            return
    found = list(turkish_drafts(sentence, text))
    if not found and language is None:  # "Ayşe drinks rakı": names and things of the other one
        found = list(english_drafts(sentence, text))
    yield from found


def _resolved(
    draft: Draft, text: str, first: str, second: str, single_valued: Collection[str]
) -> Statement | None:
    """A draft with its subject named; None where a name is missing or nothing can be quoted."""
    subject, kin = draft.subject, ""
    if draft.modality == "hedged" and (draft.owner == 2 or first == AGENT):
        return None  # a guess about another: "perhaps you are a nurse"
    if draft.owner:
        owner = first if draft.owner == 1 else second
        if not owner or (owner == AGENT and draft.owner == 2 and draft.predicate in _NOT_OF_AGENT):
            return None
        named = _name_behind(draft, text) if subject else ""
        whose = f"{owner}'s {subject}" if subject else owner
        subject, kin = (named, whose) if named else (whose, "")
    subject, value = " ".join(subject.split()), " ".join(draft.object.split())
    if not subject or not value or not draft.predicate or len(value.split()) > _MOST_WORDS:
        return None
    if plain(subject) == plain(value) or not text[slice(*draft.object_span)].strip():
        return None
    if _OWNERS.match(text, draft.object_span[1] - 1):
        return None
    hedged = draft.modality != "asserted"
    return Statement(
        subject=subject,
        predicate=draft.predicate,
        object=value,
        polarity=draft.polarity,
        modality=draft.modality,
        confidence=HEDGED_CONFIDENCE if hedged else RULE_CONFIDENCE,
        span=draft.span,
        subject_span=draft.subject_span,
        object_span=draft.object_span,
        single=not draft.listed
        and is_single_valued(draft.predicate, single_valued, by_form=draft.by_form),
        tense=draft.tense,
        replaced=draft.replaced,
        changed=draft.changed,
        added=draft.added,
        window=draft.window,
        frame=draft.frame,
        kin=kin,
    )


def _past(made: Statement, text: str) -> str | None:
    """When a state of the past was so: "I weighed 90 kg last year"."""
    if made.tense != "past" or not made.single or made.changed or made.predicate in _ONCE:
        return None
    return past_time(text[made.object_span[1] :])


def _limits(made: Statement, sentence: Sentence, text: str) -> _Limits:
    """What a statement is limited to, and whether its value is no name."""
    first, last = made.object_span
    before, value = text[sentence.start : first], text[first:last]
    own = made.subject_span[1] if made.subject_span[0] == sentence.start else sentence.start
    limit = limit_of(
        made.predicate,
        is_value=made.single,
        is_denied=not made.polarity,
        is_turkish=made.frame.startswith("tr"),
        before=text[own:first],
        value=value,
        behind=text[last : sentence.end],
    )
    # Turkish has no article, and a capital for each name
    is_bare = made.frame.startswith("tr") and made.predicate in NAMED and text != text.lower()
    is_common = is_bare and value.split()[-1][:1].islower()
    return {"limit": limit, "common": is_common or is_common_noun(value, before)}


def _recurring(draft: Draft, sentence: Sentence, text: str) -> str | None:
    """The times that come back beside what a statement says; its value is none of them."""
    first, last = draft.object_span
    return recurring_in(f"{text[sentence.start : first]} , {text[last : sentence.end]}")
