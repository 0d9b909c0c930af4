"""Values that replace others: verbs of change, and what stands behind a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from spector.language.frames.english.groups import Group
from spector.language.frames.english.phrases import Phrase, phrase_at, quote_at, text_of
from spector.language.frames.english.slots import slot_at, value_at
from spector.language.frames.sentences import Word
from spector.language.frames.statement import Draft

#: verbs that give a slot another value, in the active or the passive
_CHANGE: Final = frozenset(
    """change move switch push postpone reschedule raise lower rename set update bump
    increase decrease reduce reset upgrade downgrade migrate drop climb jump""".split()
)
_SHIFT_WORDS: Final = {
    form: verb
    for verb in _CHANGE
    for form in (verb, f"{verb}d", f"{verb}ed", verb.rstrip("e") + "ing", f"{verb}s")
} | {
    "pushed": "push", "set": "set", "reset": "reset", "rose": "rise", "risen": "rise",
    "fell": "fall", "fallen": "fall", "dropped": "drop",
}  # fmt: skip


def trailing(words: Sequence[Word], at: int, text: str) -> tuple[bool, bool, str | None]:
    """(changed, added, replaced) as the words behind a value say: "now", "too", "instead of X"."""
    changed = added = False
    replaced: str | None = None
    for n in range(at, min(at + 8, len(words))):
        word = words[n].text
        after = words[n + 1].text if n + 1 < len(words) else ""
        if word in ("now", "nowadays", "anymore", "instead") or (word, after) in (
            ("any", "more"),
            ("these", "days"),
            ("no", "longer"),
            ("from", "now"),
        ):
            changed = True
        if word in ("too", "also") or (word, after) == ("as", "well"):
            added = True
        begin = n + 2 if (word, after) == ("instead", "of") else n + 1
        if (word, after) == ("instead", "of") or word == "not" or (word == "from" and n == at):
            phrase = quote_at(words, begin) or phrase_at(words, begin)
            if phrase is not None and replaced is None:
                replaced = text_of(words, phrase.first, phrase.end, text)
                changed = True
        if words[n].kind == "sign" and word not in ",":
            break
    return changed, added, replaced


def window_of(words: Sequence[Word], text: str) -> str | None:
    """The year or decade that a sentence is about: "in 2019", "back in 2005", "until 2010"."""
    for at in range(len(words) - 1):
        year = words[at + 1]
        if words[at].text in ("in", "during", "since", "until", "before") and (
            year.kind == "number" and len(year.text) == 4 and year.text[:2] in ("19", "20")
        ):
            return text[words[at].start : year.end]
    return None


def renewed(words: Sequence[Word], subject: Phrase, group: Group, text: str) -> Iterator[Draft]:
    """A slot that a verb of change gives another value: "I changed my email to X"."""
    if group.modality != "asserted" or not group.polarity:
        return
    passive = group.verb == "be" and group.end < len(words)
    verb = words[group.end].text if passive else words[group.end - 1].text
    if passive and verb in _SHIFT_WORDS:
        group = group._replace(end=group.end + 1)
    if subject.article in ("i", "we"):
        if verb not in _SHIFT_WORDS or passive:
            return
        phrase = phrase_at(words, group.end)
        slot = None if phrase is None else slot_at(words, phrase, text)
        at = group.end if phrase is None else phrase.end
    else:
        slot, at = slot_at(words, subject, text), group.end
        if verb not in _SHIFT_WORDS:
            return
    if slot is None or not slot.known:
        return
    replaced = None
    if at < len(words) and words[at].text == "from":
        old = phrase_at(words, at + 1)
        if old is None:
            return
        replaced, at = text_of(words, old.first, old.end, text), old.end
    if at >= len(words) or words[at].text not in ("to", "as"):
        return
    value = value_at(words, at + 1, slot, text)
    if value is None:
        return
    first, end = value.first, value.end
    span = (words[first].start, words[end - 1].end)
    yield Draft(
        slot.owner,
        slot.subject,
        slot.predicate,
        text_of(words, first, end, text),
        slot.span,
        span,
        (min(slot.span[0], span[0]), span[1]),
        tense="present",
        replaced=replaced,
        changed=True,
        by_form=True,
        frame="en:renewed",
    )
