"""Texts as they are read: without their questions and echoes, with names in place of pronouns.

Nothing of this is kept; places of what was found are given for the text as it was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from spector.config import ObserveConfig
from spector.knowledge import Reading, ToName
from spector.language.cues import need_gate
from spector.language.entities import Whole
from spector.language.formation import Referents, form, in_place_of
from spector.language.frames import Statement
from spector.language.observing import (
    consent_of,
    is_answer,
    is_correction,
    parts_of,
    question_in,
    worth_of_words,
)
from spector.language.statements import USERS
from spector.language.tables import in_languages
from spector.language.words import plain
from spector.language.worth import without_repeats
from spector.observe.gate import Candidate, Incoming
from spector.observe.jobs import Moves, SessionMemory
from spector.observe.messages import Message
from spector.records import Note, Reference

#: origins of turns of a talk
_SPOKEN: Final = frozenset(("user_message", "assistant_message"))
#: characters of what is corrected that are kept with it
_MOST_CHARS: Final = 300
#: origins that say nothing of themselves that matters
MACHINES: Final = frozenset(("assistant_message", "system", "tool"))
#: predicates of a sentence that says who or what something is
_IDENTITY: Final = frozenset("is is_named is_called named_after works_as".split())
#: forms that say the same of a name by its role: "X is the N of Y", "the N of Y is X"
_ROLES: Final = frozenset("en:reversed en:slot tr:slot".split())


def to_name(
    text: str,
    message: Message,
    kept: str | None = None,
    notes: Sequence[Note] = (),
    before: str = "",
    event_ms: int | None = None,
) -> ToName:
    """A text of a message as one in which names are looked for.

    Args:
        kept: what is stored of it. notes: what is no word of the message in that. Days are left
            out, as they are of what is embedded: the model sees the text once.
        before: what it answers or corrects, which is embedded before it.
    """
    if kept is None:
        return ToName(text, message.role, message.speaker, None, event_ms)
    ahead = before and f"{before} "
    kept, moved, added = ahead + kept, -len(ahead), [(0, len(ahead))]
    for each in notes:
        start, end = each.start - moved, each.end - moved
        if each.kind == "date":
            kept, moved = kept[:start] + kept[end:], moved + end - start
        else:
            added.append((start, end))
    return ToName(text, message.role, message.speaker, Whole(kept, tuple(added)), event_ms)


def _days_named(message: Message, event_ms: int, config: ObserveConfig) -> frozenset[str]:
    """The days that a message names, as notes have them."""
    formed = in_languages(
        config.language,
        lambda: form(
            message.text,
            referents=Referents(),
            now_ms=event_ms,
            timezone=message.zone,
            annotate=True,
            reference_precision=config.reference_precision,
            speaker=message.speaker,
        ),
    )
    notes = (note for each in formed for note in each.notes)
    return frozenset(str(note.value) for note in notes if note.kind == "date")


def speaker_key(message: Message) -> str:
    """The one who speaks, as names are compared; "" for the user himself."""
    name = plain(message.speaker or message.role or "").strip()
    return "" if name in USERS else name


def after_turn(known: Referents, message: Message) -> Referents:
    """Who was named, and who waits for which answer, once a message has been said."""
    speaker, asked = speaker_key(message), question_in(message.text)
    if asked:
        return known.after(message.text, speaker=message.speaker, asked_by=speaker, asked=asked)
    waits = known.asked_by == speaker or not need_gate(message.text).needed
    return known.after(
        message.text,
        speaker=message.speaker,
        asked_by=known.asked_by if waits else None,
        asked=known.asked if waits else "",
    )


def turn_before(known: Referents, message: Message, before: str) -> tuple[str, str]:
    """What a message answers or corrects: ``("asked", question)``, ``("corrects", words)``, or two
    empty texts.

    Args:
        before: the last words of its speaker.
    """
    if message.data_source not in _SPOKEN:
        return "", ""
    asked = "" if known.asked_by in (None, speaker_key(message)) else known.asked
    if before and is_correction(message.text, before, asked):
        return "corrects", before[-_MOST_CHARS:]
    if asked and is_answer(message.text, asked, by_user=message.data_source == "user_message"):
        return "asked", asked
    return "", ""


def says_who(reading: Reading) -> bool:
    """Whether a text says who or what a name is, as "X is the N of Y" does."""
    names = {name for name, _ in reading.mentions}
    return any(
        stated.predicate in _IDENTITY
        or (stated.frame in _ROLES and {stated.subject, stated.object} <= names)
        for stated in (each.statement for each in reading.facts)
    )


def without_questions(text: str) -> str:
    """A text with spaces in place of sentences that only ask or order; nothing else moves."""
    out = text
    for part in parts_of(text):
        if part.kind in ("asks", "orders") and not part.said:
            end = part.start + len(part.text)
            out = out[: part.start] + " " * (end - part.start) + out[end:]
    return out if out.strip() else text


def resolved(
    text: str, references: Sequence[Reference], start: int, subject: str = ""
) -> tuple[str, Moves]:
    """A text with names in place of the words that surely stand for them.

    Args:
        subject: who the text is about, where another one before it says so.
    """
    out = f"{subject} " if subject else ""
    at, moved = 0, len(out)
    moves: Moves = [(0, moved)] if subject else []
    for each in references:
        place = each.start - start
        if each.chosen is None or text[place : place + len(each.word)] != each.word:
            continue
        name = in_place_of(text, place, each.word, each.chosen)
        out += text[at:place] + name
        at = place + len(each.word)
        moved += len(name) - len(each.word)
        moves.append((len(out), moved))
    return out + text[at:], moves


def moved_back(one: Statement, moves: Moves) -> Statement:
    """A statement of a resolved text with the places of the text before."""

    def back(place: tuple[int, int]) -> tuple[int, int]:
        return (_back(place[0], moves), max(_back(place[0], moves), _back(place[1], moves)))

    return replace(
        one,
        span=back(one.span),
        subject_span=back(one.subject_span),
        object_span=back(one.object_span),
    )


def _back(at: int, moves: Moves) -> int:
    moved = 0
    for end, by in moves:
        if at >= end:
            moved = by
    return max(0, at - moved)


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters, cut between words."""
    if len(text) <= most:
        return text
    head = text[: most + 1].rsplit(maxsplit=1)[0]
    return head if len(head) <= most else text[:most]


class Heard(NamedTuple):
    """A message as its session hears it.

    Attributes:
        news: what it says beside what the session has quoted.
        stopped: ``unwanted`` or ``echo``, where nothing of it is kept.
        off_record: what the session knows afterwards of the wish not to be remembered.
    """

    news: Message
    stopped: str | None
    off_record: str | None


def heard(
    message: Message,
    session: SessionMemory | None,
    off_record: str | None,
    now_ms: int,
    config: ObserveConfig,
) -> Heard:
    """What of a message may be kept, before it is read."""
    is_off, off_record = _off_record_after(message, off_record)
    if is_off:
        return Heard(message, "unwanted", off_record)
    news = message if session is None else _news_beside(message, session, now_ms, config)
    is_echo = news is not message and not any(map(str.isalnum, news.text))
    return Heard(news, "echo" if is_echo else None, off_record)


def is_retold(new: Incoming, candidates: Sequence[Candidate]) -> bool:
    """Whether an agent or a tool says nothing but what users have said."""
    if new.data_source not in MACHINES:
        return False
    known = [
        each.words
        for each in candidates
        if each.data_source == "user_message" and not each.is_knowledge
    ]
    rest = without_repeats(new.said, known)
    return rest != new.said and worth_of_words(rest, is_own=False).verdict == "empty"


def _off_record_after(message: Message, before: str | None) -> tuple[bool, str | None]:
    """Whether a message is not to be kept, and what its session knows of that afterwards.

    What a user does not want to be kept is not kept of the agent's answer either.
    """
    if message.data_source != "user_message":
        return before is not None, before
    consent = consent_of(message.text)
    if consent == "again":
        return False, None
    if consent == "no more" or before == "session":
        return True, "session"
    return consent == "no", "answer" if consent == "no" else None


def _news_beside(
    message: Message, session: SessionMemory, now_ms: int, config: ObserveConfig
) -> Message:
    """A message without what its session has quoted."""
    loosely = message.data_source in MACHINES
    rest = session.rest_of(message.text, loosely=loosely)
    if rest == message.text:
        return message
    dates = _days_named(message, now_ms, config)
    rest = session.rest_of(message.text, dates, loosely=loosely)
    return message if rest == message.text else replace(message, text=rest)
