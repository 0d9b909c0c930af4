"""What a message is before it is stored: kept, doubtful or empty, and of which class."""

from __future__ import annotations

from spector.language.observing.filters import (
    FILTERS,
    KINDS,
    Classified,
    Worth,
    classify,
    judged,
    keep_scores,
    kind_of_filter,
    only_likes,
    substance_of,
    worth_keeping,
    worth_of_words,
)
from spector.language.observing.head import MOST_CHARS, head_for
from spector.language.observing.injection import consent_of, is_injection
from spector.language.observing.sentences import (
    alarm_of,
    asks_to_keep,
    corrected,
    is_answer,
    is_correction,
    is_hedged,
    news_of,
    parts_of,
    question_in,
    tells_of_change,
    tells_of_more,
)
