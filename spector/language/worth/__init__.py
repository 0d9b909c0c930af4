"""How much a text says, and how it says it: what sleep keeps, and how two texts are compared."""

from __future__ import annotations

from spector.language.worth.density import content_density
from spector.language.worth.events import is_event, is_other_event
from spector.language.worth.extract import extract_of, sentences_of
from spector.language.worth.repeats import without_repeats
from spector.language.worth.wording import NUMBER_WORDS, Wording, same_particulars, same_words
