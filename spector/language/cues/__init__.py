"""Rules for cues: kind, parts, topic, small talk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.language.cues.intent import (
        PARAMS,
        Params,
        is_name,
        kind_of,
        may_be_request,
        route_cue,
        split_cue,
    )
    from spector.language.cues.kinds import Intent, Kind
    from spector.language.cues.need import (
        ASKING,
        asks_for_now,
        asks_for_value,
        asks_when,
        need_gate,
        shorten_cue,
        skip_reason,
    )
    from spector.language.cues.topic import (
        ASSISTANT,
        USER,
        Frame,
        Topic,
        topic_of,
    )


__getattr__ = on_first_use(__name__)
