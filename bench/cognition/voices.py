"""Rows 25 to 27: chats, pairs and messages by writers who saw no rule (see voices/README.md).

Each is measured on lists that nobody of the project had seen when they were first measured, and on
those of development. Row 25 is a promise: what was observed is found at least as well as what was only remembered.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import spector
from bench.cognition.score import Score, scores
from bench.data import json_lines
from spector.clock import ManualClock

__all__ = ["chats", "messages", "pairs"]

_FOLDER: Final = Path(__file__).parent / "voices"
#: how the figures call them -> folder
_PARTS: Final = {"unseen": "held", "written last": "last", "development": "."}
_BEGIN: Final = "2026-03-02T10:00:00+00:00"
#: importance up to which junk is as good as dropped
_DULL: Final = 0.2


def rows_of(name: str, part: str) -> list[dict[str, Any]]:
    return json_lines(_FOLDER / part / f"{name}.jsonl")


def _on_each(measure: Callable[[str], Iterator[Score]]) -> Callable[[], list[Score]]:
    """A row on the unseen lists, then on those of development."""

    @functools.wraps(measure)
    def row() -> list[Score]:
        return [
            replace(each, what=f"{name}: {each.what}")
            for name, part in _PARTS.items()
            for each in measure(part)
        ]

    return row


@_on_each
def chats(part: str) -> Iterator[Score]:
    """Row 25: any@3 and any@10 of the turn that answers, in percent of the questions."""
    observed, remembered = (list(_ranks(way, part)) for way in (True, False))
    shares = [
        [100 * sum(rank < k for rank in ranks) / len(ranks) for ranks in (observed, remembered)]
        for k in (1, 3, 10)
    ]
    yield from scores(
        "chats",
        questions=len(observed),
        found=" · ".join(f"{one:.1f} / {other:.1f}" for one, other in shares),
        margin=min(one - other for one, other in shares[1:]),
    )


def _ranks(observes: bool, part: str) -> Iterator[int]:
    """The place of the first hit with the answer, of each question; 99 where there is none."""
    clock = ManualClock(datetime.fromisoformat(_BEGIN))
    with spector.open(":memory:", clock=clock) as memory:
        for n, chat in enumerate(rows_of("chats", part)):
            made = []
            session = memory.session(f"s{n}", user_id=f"u{n}")
            for turn in chat["turns"]:
                clock.advance(seconds=40)
                if observes:
                    result = session.observe({"role": turn["role"], "content": turn["text"]})
                    made.append({each.id for each in result.records})
                else:
                    kept = memory.remember(turn["text"], user_id=f"u{n}", role=turn["role"])
                    made.append({kept.id})
            session.end()
            clock.advance(days=4)
            for each in chat["questions"]:
                hits = memory.recall(each["question"], user_id=f"u{n}", k=10)
                right = made[each["turn"]]
                yield next(
                    (
                        at
                        for at, hit in enumerate(hits)
                        if right & {hit.id, *hit.also} or each["answer"] in hit.text
                    ),
                    99,
                )


@_on_each
def pairs(part: str) -> Iterator[Score]:
    """Row 26: what observing makes of two messages of one user, weeks apart."""
    for name in ("changes", "stays"):
        rows, right, hidden = rows_of(name, part), 0, 0
        clock = ManualClock(datetime.fromisoformat(_BEGIN))
        with spector.open(":memory:", clock=clock) as memory:
            for n, row in enumerate(rows):
                near = rows[max(0, n - 3) : n]
                beside = [each["old"] for each in near if each["matter"] != row["matter"]]
                made = []
                for text in (*beside, row["old"], row["new"]):
                    clock.advance(days=5)
                    made.append(memory.observe(text, user_id=f"u{n}"))
                hits = [hit.id for hit in memory.recall(row["question"], user_id=f"u{n}", k=10)]
                old, new = (
                    min(
                        (hits.index(id_) for each in one.records if (id_ := each.id) in hits),
                        default=99,
                    )
                    for one in made[-2:]
                )
                right += new < old if name == "changes" else old == 0
                hidden += any(each.superseded for each in made[-1].units)
        share = 100 * right / len(rows)
        yield from scores(name, pairs=len(rows), share=share, hidden=hidden)


@_on_each
def messages(part: str) -> Iterator[Score]:
    """Row 27: which messages are kept."""
    kept, dull = {True: 0, False: 0}, 0
    rows = rows_of("messages", part)
    with spector.open(":memory:") as memory:
        for n, row in enumerate(rows):
            result = memory.observe({"role": row["role"], "content": row["text"]}, user_id=f"u{n}")
            kept[row["content"]] += result.stored
            dull += not row["content"] and all(
                each.record is None or each.importance.composite <= _DULL for each in result.units
            )
    content = sum(row["content"] for row in rows)
    share, junk = kept[True] / content, 1 - dull / (len(rows) - content)
    yield from scores("messages", messages=len(rows), share=share, junk=junk, dull=_DULL)
