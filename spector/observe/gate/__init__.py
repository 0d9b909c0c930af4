"""The prediction-error gate: creates, supersedes, elaborates, strengthens or skips a new memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.observe.gate.bands import calibrated, merged_text
    from spector.observe.gate.candidates import (
        Candidate,
        Comparer,
        Incoming,
        Made,
        candidate_of,
        cosines,
        data_source_of,
        incoming_of,
        may_supersede,
        name_of_speaker,
        speaker_of,
        statements_in,
    )
    from spector.observe.gate.contradiction import veto
    from spector.observe.gate.decision import decide, decide_contradiction
    from spector.observe.gate.judging import (
        Judging,
        Ordering,
        RuleJudge,
        judgement,
        stated,
        to_judge,
    )


__getattr__ = on_first_use(__name__)
