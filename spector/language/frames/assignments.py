"""Assignments: "port = 8443", "Deadline: 9 May", where the left side names a slot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spector.language.frames.predicates import SLOTS, predicate_of
from spector.language.frames.sentences import Sentence
from spector.language.frames.statement import Draft

#: words of the left and of the right side at most
_LEFT: Final = 4
_RIGHT: Final = 7
_OWNERS: Final = {"my": 1, "our": 0, "your": 2, "benim": 1, "the": 0}
_OF_PERSONS: Final = frozenset(
    """is_named age works_as works_at lives_in birthday marital_status diet nationality email phone
    born_in height weight shoe_size blood_type salary""".split()
)
_SIGNS: Final = frozenset((":", "="))


def assignments(sentence: Sentence, text: str) -> Iterator[Draft]:
    """The assignment that a whole sentence is, or none."""
    words = sentence.words
    at = next((n for n, word in enumerate(words[: _LEFT + 2]) if word.text in _SIGNS), 0)
    if not at or sentence.asks:
        return
    left = list(words[:at])
    owner = _OWNERS.get(left[0].text, 0)
    if left[0].text in _OWNERS:
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
        if predicate in _OF_PERSONS:
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
