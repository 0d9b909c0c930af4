"""Extracts the statements of a text, and says which of its clauses are read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import date
from typing import Final

from spector.clock import from_ms
from spector.language.dates import DateExpression, Period, dates_in
from spector.language.frames.english import english_drafts
from spector.language.frames.predicates import (
    NAMED,
    SLOTS,
    is_label,
    is_single_valued,
    predicate_of,
    recurring_in,
)
from spector.language.frames.remarks import is_stated
from spector.language.frames.sentences import (
    AGENT,
    HEDGED_CONFIDENCE,
    RULE_CONFIDENCE,
    USER,
    Draft,
    Modality,
    Sentence,
    Statement,
    Word,
    sentences,
)
from spector.language.frames.turkish import is_english_sentence, is_turkish_sentence, turkish_drafts
from spector.language.frames.values import is_common_noun, limit_of, normal_value, past_time
from spector.language.statements import (
    ASSISTANTS,
    USERS,
    is_negated,
    is_of_now,
    opening_of,
    own_words,
    speaker_opening,
)
from spector.language.tables import grammar_table, only_language, word_lists
from spector.language.words import analyse, plain

_WORDS: Final = word_lists("frames")

# Assignments: "port = 8443", "Deadline: 9 May", where the left side names a slot.

#: words of the left and of the right side at most
_LEFT: Final = 4
_RIGHT: Final = 7
_ASSIGNED_OWNERS: Final = {"my": 1, "our": 0, "your": 2, "benim": 1, "the": 0}
_ASSIGNS: Final = frozenset((":", "="))


def assignments(sentence: Sentence, text: str) -> Iterator[Draft]:
    """The assignment that a whole sentence is, or none."""
    words = sentence.words
    at = next((n for n, word in enumerate(words[: _LEFT + 2]) if word.text in _ASSIGNS), 0)
    if not at or sentence.asks:
        return
    left = list(words[:at])
    owner = _ASSIGNED_OWNERS.get(left[0].text, 0)
    if left[0].text in _ASSIGNED_OWNERS:
        left.pop(0)
    right = list(words[at + 1 :])
    while right and right[-1].kind == "sign" and right[-1].text in ".;,!":
        right.pop()
    if right and right[0].raw in "\"'`“" and right[-1].raw in "\"'`”" and len(right) > 2:
        right = right[1:-1]
    if not left or len(left) > _LEFT or not 1 <= len(right) <= _RIGHT:
        return
    if any(word.kind != "word" for word in left) or any(
        word.kind == "sign" and word.text not in "-/" for word in right
    ):
        return
    noun = " ".join(word.text.replace("_", " ") for word in left)
    predicate, modifiers = predicate_of(noun)
    if predicate not in SLOTS or (len(right) > 3 and not any(map(str.isdigit, right[0].text))):
        return
    subject = modifiers
    if owner and modifiers:
        subject, predicate = "", f"{modifiers.replace(' ', '_')}_{predicate}"
    if not subject and not owner:
        if predicate in _WORDS["of_persons"]:
            return  # of a person that the line does not name
        subject, predicate = text[left[0].start : left[-1].end], "is"
    span = (right[0].start, right[-1].end)
    yield Draft(
        owner,
        subject,
        predicate,
        text[span[0] : span[1]],
        (left[0].start, left[-1].end),
        span,
        (words[0].start, span[1]),
        by_form=True,
        frame="assignment",
    )


# Words of chat at the ends of a sentence: they state nothing and end no value.

_CLOSERS, _OPENERS = (
    tuple(tuple(each.split()) for each in grammar_table("any", "frames")["talk"][name].split(","))
    for name in ("closers", "openers")
)
#: words of a row -> the rows; no row ends with another one, so that one of them at most fits
_CLOSERS_OF: Final = {
    n: frozenset(row for row in _CLOSERS if len(row) == n) for n in {len(row) for row in _CLOSERS}
}
#: an emoticon begins with one of these
_EYES: Final = frozenset(":;=")
_TALK_SIGNS: Final = frozenset(",-–—…")
#: words that a sentence keeps at least
_LEAST: Final = 2


def without_talk(words: Sequence[Word]) -> tuple[Word, ...]:
    """The words of a sentence without "btw", "bu arada" and smileys at its ends."""
    kept = list(words)
    while (end := _closing(kept)) < len(kept) and end >= _LEAST:
        del kept[end:]
    texts = [word.text for word in kept]
    for row in _OPENERS:
        if tuple(texts[: len(row)]) == row and len(kept) - len(row) >= _LEAST:
            kept = kept[len(row) :]
            while len(kept) > _LEAST and kept[0].raw in _TALK_SIGNS:
                kept.pop(0)
            break
    return tuple(kept)


def _closing(words: Sequence[Word]) -> int:
    """Where the last words of talk begin, with the signs around them; the length for none."""
    end = len(words)
    while end and words[end - 1].kind == "sign":
        end -= 1
        if words[end].text in _EYES and end + 1 < len(words):
            return _before_signs(words, end)  # ":)"
    for n, rows in _CLOSERS_OF.items():
        begin = end - n
        if begin > 0 and tuple([word.text for word in words[begin:end]]) in rows:
            return _before_signs(words, begin)
    return len(words)


def _before_signs(words: Sequence[Word], at: int) -> int:
    while at and words[at - 1].raw in _TALK_SIGNS:
        at -= 1
    return at


# What of a text is not understood: only what is understood whole hides what an older one says.

#: words beside a statement that leave it its speaker's
_LEADS: Final = frozenset(
    term for name in ("leads", "leads_tr") for term in analyse(" ".join(_WORDS[name])).content()
)
#: stands where something is stated, and signs that are not of plain sentences
_STATED: Final = "\0"
_SIGN: Final = re.compile(r"[^\0\w\s.,!?;'’\"“”…–—-]")
#: where a clause of a sentence begins
CLAUSE: Final = re.compile(r"[,;:()]\s|\s(?:and|but|ve|ama)\s|\s[-–—]\s", re.IGNORECASE)


def unread_clauses(
    text: str, statements: Sequence[Statement], now_ms: int
) -> tuple[frozenset[str], ...]:
    """Content of each clause of a text that none of its statements has, beside leads and days.

    What stands behind a label, in a play, a song or a joke has words that no frame knows. A clause
    that denies or supposes the rest ("NOT!"), small words behind it ("Wait, no."), signs that plain
    sentences do without ("Re:", "~~", "/s"), and a sentence that gives its reader a part ("You are
    the captain.") or is not so from some day until now ("from June on", "this week"), is a word of
    its own beside them, which no other text has.
    """
    own, unread = own_words(text), list[frozenset[str]]()
    today = from_ms(now_ms).date()
    first = min((each.span[0] for each in statements), default=0)
    opening = speaker_opening(own)
    named = opening.start if opening and opening.proper and not is_label(opening.name) else 0
    for start, end in sentence_spans(own):
        start = max(start, min(named, end))
        stated = [each for each in statements if meets((start, end), each.span)]
        words = " ".join(
            f"{each.subject} {each.predicate} {each.replaced or ''}" for each in stated
        )
        known = _LEADS.union(analyse(words.replace("_", " ")).content())
        spans = [each.span for each in stated]
        days = [
            each
            for each in dates_in(own[start:end], today)
            if not any(_is_in(each, start, one.object_span) for one in stated)
        ]
        spans += [(start + each.start, start + each.end) for each in days]
        part = own[start:end]
        for begin, stop in spans:
            before, after = part[: max(0, begin - start)], part[max(0, stop - start) :]
            part = before + _STATED * (end - start - len(before) - len(after)) + after
        rest = CLAUSE.split(part)
        clauses = [(frozenset(analyse(each).content()) - known) | _doubt(each) for each in rest]
        behind = CLAUSE.split(part[max(0, first - start) :])
        clauses += [frozenset({each}) for each in behind if _is_small(each)]
        passed = any(each.changed or each.tense == "past" for each in stated)
        lasts = all(_lasts(each.period, today, passed=passed) for each in days)
        if not lasts or not _is_plain(part) or any(each.subject == AGENT for each in stated):
            clauses.append(frozenset({own[start:end]}))
        unread += filter(None, clauses)
    return tuple(unread)


def _is_plain(text: str) -> bool:
    """Whether what stands beside statements is written as people speak, behind no label."""
    lead, colon, rest = text.rpartition(":")
    labels = analyse(lead).content()
    is_lead = bool(labels) and _LEADS.issuperset(labels)
    return not _SIGN.search(lead + rest) and (is_lead or not colon)


def _is_small(clause: str) -> bool:
    """Whether a clause has words, states nothing, and has none with content."""
    words = re.search(r"\w", clause)
    return bool(words) and _STATED not in clause and not analyse(clause).content()


def _doubt(clause: str) -> frozenset[str]:
    """A clause that denies or supposes, or is of another time, as a word of its own."""
    return frozenset({clause} if is_negated(clause) or not is_of_now(clause) else ())


def is_read(unread: Sequence[AbstractSet[str]], old_text: str, values: Sequence[str]) -> bool:
    """Whether clauses that state nothing are about an old text: it has their words, or they its
    value ("I left Initrode"), and more than that."""
    known, over = {*analyse(old_text).content()}, {*analyse(" ".join(values)).content()}
    return all((each <= known or each & over) and not each <= over for each in unread)


def _is_in(day: DateExpression, start: int, value: tuple[int, int]) -> bool:
    """Whether a day of a sentence is a value, or a number within one ("2000 a month")."""
    first, last = start + day.start, start + day.end
    is_whole = first <= value[0] and value[1] <= last
    return meets((first, last), value) and (is_whole or not day.relative)


def _lasts(period: Period, today: date, *, passed: bool) -> bool:
    """Whether what is said with a time is so now: since then, or for a change that is past."""
    if period.end is None:
        return period.first is not None and period.first <= today
    return passed and period.end <= today


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for at, char in enumerate(text):
        if char in ".!?\n;" and (at + 1 == len(text) or text[at + 1].isspace()):
            yield start, at + 1
            start = at + 1
    if text[start:].strip():
        yield start, len(text)


def meets(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


#: happens once, so its time does not make it another one
_ONCE: Final = frozenset("born_in born_on died_in died_on founded_in built_in".split())


#: statements of one sentence at most
_MOST: Final = 3
#: words of an object at most
_MOST_WORDS: Final = 8
_STATES: Final[tuple[Modality, ...]] = ("asserted", "hedged")
#: "parents' house": its value is what follows
_OWNERS: Final = re.compile(r"s['\u2019]\s+[^\W_]")
#: of a line, as much as may be the name that it opens with, and a word
_OPENING_CHARS: Final = 80


def extract(
    text: str,
    *,
    speaker: str | None = None,
    role: str = "user",
    reference_time: int | None = None,
    modalities: Collection[Modality] = _STATES,
    single_valued: Collection[str] = (),
) -> tuple[Statement, ...]:
    """The statements of a text in their order; empty where no frame is sure.

    Args:
        text: anything; the time taken grows with its length only. What it quotes states nothing.
        speaker: the name of the one who speaks, which "I" stands for. Without it "I" is ``user``,
            or ``agent`` for the roles of an assistant, and "you" is the other of the two;
            a named speaker leaves "you" open.
        role: of the message; in those of a tool or a document "I" stands for no one known.
        reference_time: of the message, milliseconds since 1970: what "tomorrow" is counted from.
        modalities: what is returned. Questions, conditions, reports and plans state nothing and are
            left out unless they are asked for.
        single_valued: predicates that have one value at a time beside those of the table.
    """
    out: list[Statement] = []
    text = own_words(text)
    language = only_language()
    first, second = persons_of(role)
    if speaker:
        first, second = speaker, ""
    turns = [] if speaker else turns_in(text)
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
            if not is_stated(text, made, first):
                continue
            key = (made.subject, made.predicate, made.object, made.polarity)
            if key not in seen:
                seen.add(key)
                value = normal_value(made.object, reference_time=reference_time)
                window = made.window or _recurring(draft, sentence, text) or _past(made, text)
                limit, common = _limits(made, sentence, text)
                kept.append(replace(made, value=value, window=window, limit=limit, common=common))
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


def persons_of(role: str) -> tuple[str, str]:
    """(I, you) of a message by its role."""
    folded = plain(role)
    if folded in ASSISTANTS:
        return AGENT, USER
    return (USER, AGENT) if folded in USERS else ("", "")


def turns_in(text: str) -> list[tuple[int, str, str]]:
    """(start, speaker, listener) of each turn of a transcript; one opening makes none."""
    found: list[tuple[int, str, str]] = []
    start = 0
    while 0 <= start < len(text):
        opening = opening_of(text[start : start + _OPENING_CHARS].partition("\n")[0])
        if opening is not None and predicate_of(opening.name)[0] not in SLOTS:
            if any(persons_of(opening.folded)):
                found.append((start, *persons_of(opening.folded)))
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
        if not owner or (
            owner == AGENT and draft.owner == 2 and draft.predicate in _WORDS["not_of_agent"]
        ):
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


def _limits(made: Statement, sentence: Sentence, text: str) -> tuple[str, bool]:
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
    return limit, is_common or is_common_noun(value, before)


def _recurring(draft: Draft, sentence: Sentence, text: str) -> str | None:
    """The times that come back beside what a statement says; its value is none of them."""
    first, last = draft.object_span
    return recurring_in(f"{text[sentence.start : first]} , {text[last : sentence.end]}")
