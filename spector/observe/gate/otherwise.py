"""What an assistant, a tool or a document says otherwise than the user said it, or the user later.

Neither takes the place of the other: the tie has the user's word come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spector.language.worth import Wording, same_particulars
from spector.observe.gate.candidates import Candidate, Incoming

__all__ = ["said_otherwise"]

#: share of the content words beside values that both have
_SHARED: Final = 0.6
_USER: Final = "user_message"


def said_otherwise(new: Incoming, candidates: Sequence[Candidate]) -> list[int]:
    """Ids of what gives other values for the same, where one of the two is the user's word."""
    words = new.words
    return [
        old.id
        for old in candidates
        if (old.data_source == _USER) != (new.data_source == _USER)
        and not (old.is_knowledge or old.is_dormant or words.asks or old.words.asks)
        and words.modals == old.words.modals
        and not same_particulars(old.words, words)
        and len((said := _matter(old.words)) & (about := _matter(words)))
        >= _SHARED * max(1, len(said | about))
    ]


def _matter(text: Wording) -> set[str]:
    """Its content words without names and numbers."""
    names = {part for name in text.names for part in name.split()}
    return {
        term
        for form, term in text.forms.items()
        if form not in names and not any(map(str.isdigit, form))
    }
