"""The prediction-error gate: creates, supersedes, elaborates, strengthens or skips a new memory."""

from __future__ import annotations

from spector.language.worth import Wording, is_event, same_particulars
from spector.observe.gate.bands import calibrated
from spector.observe.gate.candidates import Candidate, Incoming, candidate_of, statements_in
from spector.observe.gate.comparing import Comparer
from spector.observe.gate.decision import decide, decide_contradiction
from spector.observe.gate.judging import Judging, RuleJudge, stated, to_judge
from spector.observe.gate.made import Made, cosines
from spector.observe.gate.ordering import Ordering
from spector.observe.gate.settling import Settler
from spector.observe.gate.synthesis import merged_text
from spector.observe.gate.trust import (
    data_source_of,
    may_supersede,
    name_of_speaker,
    speaker_of,
)
from spector.observe.gate.vetoes import veto
from spector.records import Decision

__all__ = [
    "Candidate",
    "Comparer",
    "Decision",
    "Incoming",
    "Judging",
    "Made",
    "Ordering",
    "RuleJudge",
    "Settler",
    "Wording",
    "calibrated",
    "candidate_of",
    "cosines",
    "data_source_of",
    "decide",
    "decide_contradiction",
    "is_event",
    "may_supersede",
    "merged_text",
    "name_of_speaker",
    "same_particulars",
    "speaker_of",
    "stated",
    "statements_in",
    "to_judge",
    "veto",
]
