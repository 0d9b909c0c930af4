"""LoCoMo dialogue files: two speakers, dated sessions, turns with dialogue ids.

Dates have no zone and are read as UTC. A session has one date for all turns, so the n-th turn is n
seconds later, which keeps their order. The name of the speaker goes into ``speaker`` of the
metadata, where recall uses it; in the text it would be a word like any other and make all turns of
a person similar. The sample is the user id, which separates samples in one store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from spector.importers.entries import Entry, Format, Options, role_of_person
from spector.importers.reading import message
from spector.importers.sources import Head, SourceFile
from spector.importers.times import Spot

_SESSION = re.compile(r"^session_(\d+)$")
_DATE: Final = "1:56 pm on 8 May, 2023"
_AGAIN: Final = "fetch the file again"


def _recognizes(head: Head) -> bool:
    return head.shape != "text" and isinstance(head.first.get("conversation"), dict)


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """Yield every turn of every sample in order; questions and summaries are skipped."""
    for number, (place, sample) in enumerate(source.each_object(), 1):
        spot = Spot(source, options, place)
        if not isinstance(sample.get("conversation"), dict):
            raise spot.error('has no "conversation"', hint="is it a LoCoMo file? see --format")
        name = str(sample.get("sample_id") or f"conv-{number}")
        yield from _turns(sample["conversation"], name, spot)


FORMAT: Final = Format("locomo", "the LoCoMo dialogue files", read, _recognizes)


def _turns(conversation: dict[str, Any], sample: str, spot: Spot) -> Iterator[Entry]:
    numbers = sorted(int(found.group(1)) for key in conversation if (found := _SESSION.match(key)))
    for number in numbers:
        key = f"session_{number}"
        within = spot.at(f"{sample} {key}")
        start = within.local_time(_DATE, conversation.get(f"{key}_date_time"))
        turns = conversation[key]
        if not isinstance(turns, list):
            raise within.error("is not a list of turns", hint=_AGAIN)
        for position, turn in enumerate(turns):
            at = spot.at(f"{within.place} turn {position + 1}")
            if not isinstance(turn, dict):
                raise at.error("is not an object", hint=_AGAIN)
            text = str(turn.get("text") or "").strip()
            if caption := str(turn.get("blip_caption") or "").strip():
                text = f"{text} [shares {caption}]".strip()
            own_id = turn.get("dia_id")
            more = {name: turn[name] for name in ("dia_id", "speaker", "img_url") if turn.get(name)}
            yield message(
                at,
                text,
                role=role_of_person(str(turn.get("speaker") or "speaker"))[0],
                event_time=start + timedelta(seconds=position),
                user_id=sample,
                session_id=f"{sample}/{key}",
                source="locomo",
                metadata={"sample_id": sample, "session": number, **more},
                own_id=own_id if isinstance(own_id, str) else "",
                conversation=f"locomo/{sample}",
            )
