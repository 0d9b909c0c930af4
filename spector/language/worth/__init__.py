"""How much a text says, and how it says it: what sleep keeps, and how two texts are compared."""

from __future__ import annotations

from spector.language.worth.density import content_density
from spector.language.worth.events import is_event, is_other_day
from spector.language.worth.extract import extract_of, sentences_of
from spector.language.worth.wording import Wording, same_particulars, same_words

__all__ = [
    "Wording",
    "content_density",
    "extract_of",
    "is_event",
    "is_other_day",
    "same_particulars",
    "same_words",
    "sentences_of",
]
