"""What a message is before it is stored: filtered, or of a class, with its density."""

from __future__ import annotations

from spector.language.observing.classes import KINDS, Classified, classify
from spector.language.observing.density import density_of, substance_of
from spector.language.observing.filters import FILTERS, filter_of, kind_of_filter
from spector.language.observing.injection import is_injection
from spector.language.observing.keeping import keep_scores
from spector.language.observing.liking import only_likes
from spector.language.observing.sentences import Part, asks_to_keep, parts_of
from spector.language.observing.signals import alarm_of, is_hedged, tells_of_change

__all__ = [
    "FILTERS",
    "KINDS",
    "Classified",
    "Part",
    "alarm_of",
    "asks_to_keep",
    "classify",
    "density_of",
    "filter_of",
    "is_hedged",
    "is_injection",
    "keep_scores",
    "kind_of_filter",
    "only_likes",
    "parts_of",
    "substance_of",
    "tells_of_change",
]
