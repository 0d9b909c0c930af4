"""Finite verbs of English by their forms."""

from __future__ import annotations

import re
from typing import Final

from spector.language.tables import word_lists

_WORDS: Final = word_lists("verbs")
_ED: Final = re.compile(r"[a-z]{2,}ed")


def regular_forms(verb: str) -> list[str]:
    """The third person, past, participle and -ing of a verb that follows the rules."""
    if verb.endswith("e"):
        return [f"{verb}s", f"{verb}d", f"{verb}d", f"{verb[:-1]}ing"]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return [f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb[:-1]}ied", f"{verb}ing"]
    third = f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{verb}s"
    return [third, f"{verb}ed", f"{verb}ed", f"{verb}ing"]


_FORMS: Final = frozenset(
    form for base in _WORDS["bases"] for form in (base, *regular_forms(base)[:2])
)


def is_english_verb(word: str, *, subject: bool) -> bool:
    """Whether a folded word is a finite verb.

    Args:
        subject: a subject stands before it, so that a form which may be a noun is a verb.
    """
    if word in _WORDS["auxiliaries"] or word in _WORDS["irregular"]:
        return True
    if _ED.fullmatch(word) and word not in _WORDS["no_ed"]:
        return True
    if word in _FORMS:
        return subject or word.endswith(("s", "ed"))
    return False
