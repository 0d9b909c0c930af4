"""Finite verbs of English by their forms."""

from __future__ import annotations

import re
from typing import Final

from spector.language.tables import word_lists

_WORDS: Final = word_lists("verbs")
_ED: Final = re.compile(r"[a-z]{2,}ed")


def _forms() -> frozenset[str]:
    found = set(_WORDS["bases"])
    for base in _WORDS["bases"]:
        if base.endswith("y") and base[-2] not in "aeiou":
            found |= {base[:-1] + "ies", base[:-1] + "ied"}
        elif base.endswith(("s", "sh", "ch", "x", "z", "o")):
            found |= {base + "es", base + "ed"}
        else:
            found |= {base + "s", base + ("d" if base.endswith("e") else "ed")}
    return frozenset(found)


_FORMS: Final = _forms()


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
