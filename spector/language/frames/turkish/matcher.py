"""Clauses of a Turkish sentence against the frames: the verb or the value stands at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from spector.language.frames.sentences import Sentence
from spector.language.frames.statement import Draft, Modality
from spector.language.frames.turkish import tables
from spector.language.frames.turkish.nominals import nominal
from spector.language.frames.turkish.objects import object_before, slot_before
from spector.language.frames.turkish.phrases import (
    Noun,
    Subject,
    clauses,
    nouns_of,
    subject_of,
)
from spector.language.frames.turkish.suffixes import Form
from spector.language.frames.turkish.tables import VerbFrame
from spector.language.words import plain

_ORDER: Final[tuple[Modality, ...]] = (
    "asserted",
    "hedged",
    "planned",
    "conditional",
    "reported",
    "asked",
)
#: verbs of becoming: what stands before them is a value
_BECOMES: Final = frozenset(("ol", "boşan", "evlen"))
#: frames whose subject has its own case ending; others begin a sentence
_ANYWHERE: Final = frozenset(("tr:slot", "tr:has"))
#: predicates of others than the speaker: what they did has too many wordings
_OF_OTHERS: Final = frozenset(
    """lives_in works_as works_at likes prefers uses drinks eats plays speaks studies
    has married_to born_in born_on grew_up_in supports located_in""".split()
)
#: with them a clause without a subject goes on with that of the one before: "..., artık ..."
_GOES_ON: Final = frozenset("artik simdi".split())
_TIMES: Final = frozenset("kere kez defa sefer".split())
_THINGS: Final = frozenset(("uses", "runs_on", "port", "works_at", "located_in"))


def turkish_drafts(sentence: Sentence, text: str) -> Iterator[Draft]:
    """The statements of one sentence, in order, with the modality of each."""
    nouns = nouns_of(sentence.words)
    whole = _modality(sentence, nouns)
    opens = True
    before: Subject | None = None
    for part in clauses(nouns):
        if not part:
            continue
        if part[0].text == "su" and len(part) > 1 and part[1].text.startswith("an"):
            part = part[2:] or part
        goes_on = part[0].text in _GOES_ON
        made = [
            each
            for each in _clause(part, text, before if goes_on else None)
            if opens or goes_on or each.owner or each.frame in _ANYWHERE
        ]
        opens = bool(made)
        before = subject_of(part, text) or (before if goes_on else None)
        for draft in made:
            changed = draft.changed or any(noun.text in tables.CHANGES for noun in part)
            added = draft.added or _adds(part)
            yield replace(
                draft,
                modality=max(whole, draft.modality, key=_ORDER.index),
                changed=changed,
                added=added,
            )


def _adds(part: Sequence[Noun]) -> bool:
    return any(noun.text == "ayrica" for noun in part) or any(
        noun.text in ("de", "da") and noun.kind == "word" for noun in part
    )


def _modality(sentence: Sentence, nouns: Sequence[Noun]) -> Modality:
    words = [noun.text for noun in nouns]
    if sentence.asks or any(word in tables.QUESTIONS for word in words):
        return "asked"
    if any(word in tables.CONDITIONS or _is_conditional(word) for word in words):
        return "conditional"
    if any(word in tables.REPORTS for word in words):
        return "reported"
    if any(word in tables.HEDGES for word in words):
        return "hedged"
    return "asserted"


def _is_conditional(word: str) -> bool:
    """-sa/-se behind a tense: "yaşarsam", "taşınırsak", "olsaydı"."""
    return len(word) > 5 and word.endswith(
        (
            "rsam",
            "rsem",
            "rsan",
            "rsen",
            "rsak",
            "rsek",
            "rsa",
            "rse",
            "saydi",
            "seydi",
            "saydim",
            "seydim",
            "yorsa",
            "yorsam",
        )
    )


def _clause(part: list[Noun], text: str, before: Subject | None) -> Iterator[Draft]:
    """The statements of one clause.

    Args:
        before: the subject of the clause before it, where this one goes on with it.
    """
    while len(part) > 1 and part[-1].text in tables.ADVERBS and part[-2].whole in tables.VERB_FORMS:
        part = part[:-1]
    last = part[-1]
    form = tables.VERB_FORMS.get(last.whole) if not last.suffix else None
    if form is None or (last.capital and len(part) > 1):
        yield from nominal(part, text)
        return
    if form.person == 2:
        return
    subject: Subject | None
    if form.person == 1:
        subject = Subject(1, "", (last.start, last.stop), 0)
        if part[0].text in ("ben", "biz"):
            subject = Subject(1, "", (part[0].start, part[0].stop), 1)
    else:
        goes_on = before and before._replace(after=0)
        subject = subject_of(part, text) or goes_on or _thing(part, text)
    renewed = slot_before(part, form, text)
    if renewed is not None:
        yield renewed
        return
    if subject is None:
        return
    for frame in tables.VERBS.get(form.stem, ()):
        made = list(_frame(part, frame, form, subject, text))
        if made:
            yield from made
            return
    if form.stem in _BECOMES and form.polarity and form.tense == "past":
        yield from nominal(part, text)


def _thing(part: Sequence[Noun], text: str) -> Subject | None:
    """A thing in one or two words at the start: "sunucu", "test sunucusu"."""
    at = 0
    while at < len(part) and part[at].text in tables.ADVERBS:
        at += 1
    if at + 2 >= len(part) or part[at].kind != "word" or part[at].text in tables.PRONOUNS:
        return None
    if part[at].capital and part[at + 1].capital and not part[at + 1].suffix:
        return None  # "Arda Turan": where a name ends is open
    end = at + 1
    if (
        end + 2 < len(part)
        and part[end].text.endswith(("si", "su", "i", "u"))
        and (part[end].kind == "word" and not part[end].suffix)
    ):
        end += 1
    span = (part[at].start, part[end - 1].stop)
    return Subject(0, text[span[0] : span[1]], span, end, thing=True)


def _frame(
    part: list[Noun],
    frame: VerbFrame,
    form: Form,
    subject: Subject,
    text: str,
) -> Iterator[Draft]:
    if frame.past and (form.tense != "past" or not form.polarity):
        return
    if frame.now and form.tense != "present":
        return
    if subject.thing and frame.predicate not in _THINGS:
        return
    if not subject.owner and frame.predicate not in _OF_OTHERS:
        return
    end = len(part) - 1
    if frame.preverb:
        if end < 1 or part[end - 1].text != plain(frame.preverb):
            return
        end -= 1
    found = object_before(part, end, frame, subject, text)
    if not found:
        return
    words = [noun.text for noun in part]
    if not _TIMES.isdisjoint(words):
        found = [each for each in found if _TIMES.isdisjoint(plain(each.value).split())]
    at = words.index("yerine") if "yerine" in words else 0
    instead = part[at - 1].raw if at else None
    for item in found:
        tense = "present" if frame.changes else form.tense
        yield Draft(
            subject.owner,
            subject.name,
            item.predicate or frame.predicate,
            item.value,
            subject.span,
            item.span,
            (min(subject.span[0], item.span[0]), max(part[-1].stop, item.span[1])),
            polarity=form.polarity == frame.polarity,
            modality=form.modality,
            tense=tense,
            replaced=item.replaced or instead,
            listed=len(found) > 1,
            changed=frame.changes or "artik" in words or instead is not None,
            frame=f"tr:{form.stem}",
        )
