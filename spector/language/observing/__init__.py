"""What a message is before it is stored: kept, doubtful or empty, and of which class."""

from __future__ import annotations

from spector.language.observing.classes import KINDS, Classified, classify
from spector.language.observing.consent import consent_of
from spector.language.observing.content import substance_of
from spector.language.observing.filters import (
    FILTERS,
    Worth,
    judged,
    kind_of_filter,
    worth_keeping,
    worth_of_words,
)
from spector.language.observing.head import head_for
from spector.language.observing.injection import is_injection
from spector.language.observing.keeping import keep_scores
from spector.language.observing.liking import only_likes
from spector.language.observing.sentences import asks_to_keep, news_of, parts_of
from spector.language.observing.signals import (
    alarm_of,
    is_hedged,
    tells_of_change,
    tells_of_more,
)
from spector.language.observing.turns import (
    corrected,
    is_answer,
    is_correction,
    question_in,
)
