"""Import a conversation and ask it: by meaning, by tag and time, by a rare word."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import spector
from spector.importers import iter_messages

SAMPLE = Path(str(files("spector.cli") / "data" / "sample_conversation.jsonl"))


def main() -> None:
    # the conversation ends on 2026-10-18; a clock of our own makes "now" the day after
    clock = spector.ManualClock(datetime(2026, 10, 19, 8, tzinfo=UTC))
    with (
        tempfile.TemporaryDirectory() as folder,
        spector.open(f"{folder}/mind", clock=clock) as memory,
    ):
        records = memory.remember_many(iter_messages(SAMPLE))
        print(f"{len(records)} turns imported")

        decisions = memory.recall(
            "why not Kafka?", k=3, tags=["decision"], time_range=("2026-09-07", "2026-09-14")
        )
        for hit in decisions:
            print(f"{hit.score:.2f}  {hit.event_time:%b %d}  {hit.text[:80]}")
        assert any("JetStream" in hit.text for hit in decisions)

        (rare,) = memory.recall("palimpsest", k=1)
        assert "palimpsest" in rare.text


if __name__ == "__main__":
    main()
