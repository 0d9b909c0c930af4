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

from spector.importers.entries import (
    Entry,
    Format,
    Found,
    LeftOut,
    Message,
    Options,
    role_of_person,
)
from spector.importers.sources import Head, SourceFile
from spector.importers.times import local_time

_SESSION = re.compile(r"^session_(\d+)$")
_DATE: Final = "1:56 pm on 8 May, 2023"


def _recognizes(head: Head) -> bool:
    return head.shape != "text" and isinstance(head.first.get("conversation"), dict)


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """Yield every turn of every sample in order; questions and summaries are skipped."""
    for number, sample in source.each_object():
        conversation = sample.get("conversation")
        if not isinstance(conversation, dict):
            raise source.error(
                f"entry {number}", 'has no "conversation"', hint="is it a LoCoMo file? see --format"
            )
        name = str(sample.get("sample_id") or f"conv-{number}")
        yield from _turns(conversation, name, source, options)


FORMAT: Final = Format("locomo", "the LoCoMo dialogue files", read, _recognizes)


def _turns(
    conversation: dict[str, Any], sample: str, source: SourceFile, options: Options
) -> Iterator[Entry]:
    numbers = sorted(int(found.group(1)) for key in conversation if (found := _SESSION.match(key)))
    for number in numbers:
        key = f"session_{number}"
        place = f"{sample} {key}"
        start = local_time(_DATE, conversation.get(f"{key}_date_time"), source, place, options)
        turns = conversation[key]
        if not isinstance(turns, list):
            raise source.error(place, "is not a list of turns", hint="fetch the file again")
        for position, turn in enumerate(turns):
            text = _text(turn, source, f"{place} turn {position + 1}")
            if not text:
                yield LeftOut("no text", f"{place} turn {position + 1}")
                continue
            speaker = turn.get("speaker")
            message: Message = {
                "text": text,
                "role": role_of_person(str(speaker or "speaker"))[0],
                "event_time": start + timedelta(seconds=position),
                "user_id": sample,
                "session_id": f"{sample}/{key}",
                "source": "locomo",
                "metadata": _metadata(turn, sample, number),
            }
            own_id = turn.get("dia_id")
            yield Found(
                message,
                f"{place} turn {position + 1}",
                own_id if isinstance(own_id, str) else "",
                conversation=f"locomo/{sample}",
            )


def _metadata(turn: dict[str, Any], sample: str, session: int) -> dict[str, Any]:
    out: dict[str, Any] = {"sample_id": sample, "session": session}
    for key in ("dia_id", "speaker"):
        if turn.get(key):
            out[key] = turn[key]
    if turn.get("img_url"):
        out["img_url"] = turn["img_url"]
    return out


def _text(turn: object, source: SourceFile, place: str) -> str:
    if not isinstance(turn, dict):
        raise source.error(place, "is not an object", hint="fetch the file again")
    text = str(turn.get("text") or "").strip()
    caption = str(turn.get("blip_caption") or "").strip()
    if caption:
        text = f"{text} [shares {caption}]".strip()
    return text
