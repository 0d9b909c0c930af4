"""Rules for cues: kind, parts, topic, small talk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.language.cues.compound import split_cue
    from spector.language.cues.intent import (
        PARAMS,
        Params,
        is_name,
        kind_of,
        route_cue,
    )
    from spector.language.cues.kinds import Intent, Kind
    from spector.language.cues.long_cue import shorten_cue
    from spector.language.cues.need import need_gate, skip_reason
    from spector.language.cues.present import asks_for_now, asks_when
    from spector.language.cues.smalltalk import ASKING
    from spector.language.cues.topic import (
        ASSISTANT,
        USER,
        Frame,
        Topic,
        topic_of,
    )
    from spector.language.cues.value import asks_for_value


__getattr__ = on_first_use(__name__)
